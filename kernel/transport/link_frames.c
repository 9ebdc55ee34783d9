/*
 * The far transport, as the kernel drives it: see link_frames.h. Data: the transport,
 * whether it is at work, when the cards were last looked at, and what came how quickly.
 */
#include "link_frames.h"

#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/devices/time.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "net/nic.h"
#include "net/shm/region.h"
#include "cards.h"
#include "link_shm.h"
#include "membership.h"
#include "upcall.h"
#include "wait.h"

#define BUDGET      64u            /* frames of one look */
#define LOOKS       16u            /* most of them in one interrupt */
#define FLOOD_NS    10000UL        /* for the application, when frames do not end */
#define TRIES       64u            /* each of 200 ms at most */
#define LEISURE_NS  1000000UL      /* what is due may be late by, if nobody waits, */
#define MOST_LEISURE_NS 8000000UL  /* and at most, where that was early enough so far */
#define QUICK_NS    1000000UL      /* between frames that come and go quickly, at most */
#define SILENT_NS   1000000UL      /* between looks at a card whose interrupts do not arrive */
#define QUIET_NS    1000000000UL   /* without a region: nobody needs a node that hears nothing */
#define TICK_NS     1500000000UL   /* the battery-backed clock goes on by a second until then */
#define MOST_NODES  65535u         /* a card's address has 16 bits for the node */
#define LINGER_NS   10000000000UL  /* ... or has lingered for so long */

struct frames *link_frames;

static struct nic *nic, *bulk;     /* null without one */
static bool armed;                 /* they interrupt at arrivals */
static bool alert;                 /* ... at all that nobody has looked at */
static bool busy;                  /* the transport is at work */
static uint64_t looked_ns;         /* when they were last looked at */
static uint64_t heard_ns;          /* when it last had something */
static uint64_t heard_after_ns;    /* and how long after the time before, */
static uint64_t heard_before_ns;   /* and the same of that */
static uint64_t leisure_ns = LEISURE_NS; /* that, while frames come and go quickly */
static bool flooded;               /* frames are left that nobody will interrupt for */


static void interrupts(bool on)
{
	nic->ops->interrupts(nic, on);
	if (bulk)
		bulk->ops->interrupts(bulk, on);
	armed = on;
	alert = false;
}

/* ---- start ---- */

/* A board's is the next second of its battery-backed clock, and its life begins with that:
 * so it is a later one even if the board is switched on again at once. */
static uint32_t incarnation(void)
{
	uint64_t deadline, before, wall;
	uint32_t life;

	if (parameters.incarnation)
		return parameters.incarnation;
	deadline = deadline_in(TICK_NS);
	before = wall = wall_ns();
	while (wall == before && now_ns() < deadline)
		wall = wall_ns();
	life = (uint32_t)(wall / 1000000000UL) << 8;
	return life ? life : 1u << 8;
}

void link_frames_start(void)
{
	struct link_config config;
	uint64_t bytes;

	if (!parameters.frames)
		return;
	if (node.size > MOST_NODES)
		panic("command line: n=%u, but a machine has at most %u nodes", node.size,
		      MOST_NODES);
	nic = card(0);
	bulk = parameters.bulk ? card(1) : 0;
	config = frames_config(node.id, node.size, incarnation(), nic, bulk);
	config.strict = parameters.strict;
	/* boards are switched on one by one; of a region's dead the launcher tells */
	config.patience = node.region ? LINK_NEVER :
			  deadline_in(parameters.patience * 1000000000UL);
	if (node.region) /* a living node may get no core for seconds */
		config.tries = TRIES;
	config.check_payload = parameters.crc;
	config.keyed = parameters.keyed;
	memcpy(config.key, parameters.key, sizeof(config.key));
	bytes = frames_bytes(&config, &own_view()->limits);
	link_frames = frames_open(memory_take(bytes, PAGE_BYTES), &config, nic, bulk,
				  own_view(), 0);
	if (!link_frames)
		panic("the link over card 0 cannot be: its frames are too short");
	interrupts(parameters.control != CONTROL_POLL);
}

/* ---- the port of net/frames/ ---- */

uint64_t frames_port_now(void *unused)
{
	(void)unused;
	return now_ns();
}

/* Only this node's one processor touches its block, with interrupts off. */
int frames_port_lock(void *unused)
{
	(void)unused;
	return 1;
}

void frames_port_unlock(void *unused)
{
	(void)unused;
}

/* A waiter looks by itself. */
void frames_port_wake(void *unused, uint32_t events, int upcall)
{
	(void)unused, (void)events;
	if (upcall)
		upcall_look();
}

void frames_port_lost(void *unused, uint32_t nid)
{
	(void)unused, (void)nid;
	membership_given_up();
}

/* ---- looking ---- */

bool link_frames_is_busy(void)
{
	return busy;
}

static void leave(void)
{
	busy = false;
	membership_look();
}

uint32_t link_frames_poll(void)
{
	struct frames_look look;

	if (busy)
		return 0;
	busy = true;
	look = frames_poll(link_frames, BUDGET);
	looked_ns = look.at;
	alert = armed && look.is_all;
	if (look.frames) {
		heard_before_ns = heard_after_ns;
		heard_after_ns = looked_ns - heard_ns;
		heard_ns = looked_ns;
	}
	leave();
	return look.frames + look.is_news;
}

/* Whether the application shall call when it finds no event. It may write there too, and
 * then only itself waits. */
static void tell(bool holds)
{
	uint64_t *calls = this_process()->calls;

	if (calls)
		*calls = holds || parameters.control != CONTROL_INTERRUPT;
}

void link_frames_flush(void)
{
	if (busy)
		return;
	tell(false);
	busy = true;
	frames_pause(link_frames, 0);
	leave();
}

/* A card whose interrupts do not arrive is looked at by a timer, and so is what a flood has
 * left: for that there is no interrupt. */
static struct frames_wants wants(uint64_t late)
{
	struct frames_wants wants = frames_wants(link_frames, late);
	uint64_t card;

	if (__builtin_expect(flooded || nic->silent, 0)) {
		card = looked_ns + (flooded ? FLOOD_NS : SILENT_NS);
		if (card < wants.at)
			wants.at = card;
	}
	return wants;
}

/* Twice at least: a grant and the answers to what it brings come one behind the other, too, and
 * nothing for long after that. */
static bool is_quick(void)
{
	return heard_after_ns <= QUICK_NS && heard_before_ns <= QUICK_NS;
}

/* While frames come and go quickly as late as arm_leisurely will want it when the next one
 * comes: then that finds it set. What waits to be sent again is acknowledged until then. Others
 * wait for what is due, and do not wake in vain. */
uint64_t link_frames_alarm_at(void)
{
	uint64_t early = heard_ns + leisure_ns, at;

	if (!is_quick() || early <= looked_ns || nic->silent)
		return wants(0).at;
	at = wants(early).at;
	return at < early || at == NEVER ? at : early;
}

/* The timer while the application computes: mostly an acknowledgement is due soon, and
 * leaves with a message before that, or messages that wait for company are, and leave when
 * the application waits or the peer acknowledges what is under way. To set the timer for
 * them each time costs more than the message, so they may be somewhat late; where messages come
 * and go quickly and none waits for company, by more. */
static inline void arm_leisurely(uint64_t due, bool holds)
{
	uint64_t early = looked_ns + (is_quick() && !holds ? leisure_ns : LEISURE_NS);

	timer_arm_by(due > looked_ns && due < early ? early : due);
}

/* Watchdog: whether from this time on nothing has happened for so long that an arrival may
 * interrupt. */
static bool is_long_ago(uint64_t ns, uint64_t now)
{
	return parameters.control == CONTROL_WATCHDOG &&
	       now - ns >= parameters.watchdog_us * 1000UL;
}

/* Watchdog: a timer looks at cards that may have something and do not interrupt. */
static void set_timer(void)
{
	struct frames_wants now = wants(0);

	arm_leisurely(now.at, now.holds);
	if (parameters.control == CONTROL_WATCHDOG && !alert)
		timer_arm_by(looked_ns + parameters.watchdog_us * 1000UL);
}

void link_frames_look(void)
{
	link_frames_flush();
	if (parameters.control == CONTROL_INTERRUPT)
		return;
	link_frames_poll();
	set_timer();
}

bool link_frames_is_alert(void)
{
	return alert;
}

bool link_frames_rest(void)
{
	uint32_t pending;

	if (busy)
		return true;
	pending = frames_pending(link_frames);
	frames_pause(link_frames, 1);  /* it may send, and find that others have left */
	if (!armed)
		interrupts(true);
	if ((!alert && link_frames_poll()) || frames_pending(link_frames) != pending)
		return false;
	flooded = false;
	return true;
}

/* What comes from now on interrupts, and all that has come before was looked at: only then
 * may the application go on. But a flood leaves it some time. */
static void look_until_alert(void)
{
	uint32_t looks = 0;

	while (!alert && looks++ < LOOKS)
		link_frames_poll();
	flooded = !alert;
}

void link_frames_resume(void)
{
	if (busy)
		return;
	if (armed && parameters.control == CONTROL_POLL)
		interrupts(false);
	else if (armed)
		look_until_alert();
	set_timer();
}

void link_frames_enter(uint64_t *calls)
{
	this_process()->calls = calls;
	tell(false);
	link_frames_resume();
}

/* What senders may wait for is acknowledged at once, as before a halt: they would wait for the
 * timer else, which may be late. Watchdog: cards whose interrupts are off interrupt again when
 * nothing comes any more. */
static void look_now(void)
{
	link_frames_poll();
	if (!armed && is_long_ago(heard_ns, looked_ns))
		interrupts(true);
	if (armed)
		look_until_alert();
	busy = true;
	frames_pause(link_frames, 1);
	leave();
}

void link_frames_arrival(bool computing)
{
	alert = false;
	if (!computing)
		return;
	leisure_ns = LEISURE_NS;
	if (parameters.control == CONTROL_INTERRUPT || is_long_ago(looked_ns, now_ns()))
		look_now();
	else
		interrupts(false);
	set_timer();
}

/* A timer that goes off in vain costs as much as a message: while messages come and go less and
 * less often. Who was late is soon early enough again. */
static void learn_leisure(uint64_t now, bool in_vain)
{
	if (now - heard_ns > QUICK_NS)
		heard_after_ns = NEVER;
	if (!in_vain || !is_quick())
		leisure_ns = LEISURE_NS;
	else if (leisure_ns < MOST_LEISURE_NS)
		leisure_ns *= 2;
}

void link_frames_alarm(bool computing)
{
	uint64_t now = now_ns();
	bool due = wants(0).at <= now;

	learn_leisure(now, !computing && !due);
	if (!computing)
		return;
	if (due || is_long_ago(heard_ns, now))
		look_now();
	set_timer();
}

/* ---- operations ---- */

/* What is sent to a node that has not booted is lost: wait for it, where that shows. */
static inline void meet_once(uint32_t nid)
{
	if (__builtin_expect(!membership_is_up(nid), 0))
		membership_await(nid);
}

/* An operation, or a signal if `args` is null, that has found no room yet. */
struct attempt {
	const struct initiator_args *args;
	uint32_t nid, news;        /* the signal */
	int result;
};

static bool is_started(void *arg)
{
	struct attempt *attempt = arg;

	busy = true;
	attempt->result = attempt->args ? frames_start(link_frames, attempt->args) :
			  frames_signal(link_frames, attempt->nid, attempt->news);
	leave();
	return attempt->result != FRAMES_AGAIN;
}

__attribute__((noinline, cold))
static int wait_to_start(struct attempt *attempt)
{
	wait_until(is_started, attempt, NEVER, "room for a message to another node");
	return attempt->result;
}

int link_frames_start_operation(const struct initiator_args *args)
{
	int result;

	meet_once(args->target_nid);
	busy = true;
	result = frames_start(link_frames, args);
	leave();
	if (__builtin_expect(result == FRAMES_AGAIN, 0))
		result = wait_to_start(&(struct attempt){ .args = args });
	if (__builtin_expect(membership_is_dead(args->target_nid), 0))
		link_frames_ended(args->target_nid, 0);
	tell(frames_wants(link_frames, 0).holds);
	set_timer();
	return result;
}

bool link_frames_brief(const struct initiator_args *args)
{
	enum frames_brief done;
	uint64_t due;

	if (args->target_nid >= node.size || !membership_is_up(args->target_nid))
		return false;
	busy = true;
	done = frames_brief(link_frames, args, &due);
	leave();
	if (__builtin_expect(done == FRAMES_SENT, 1)) {
		arm_leisurely(due, frames_wants(link_frames, 0).holds);
	} else {
		tell(frames_wants(link_frames, 0).holds);
		set_timer();
	}
	return done != FRAMES_OTHER;
}

bool link_frames_signal(uint32_t nid, uint32_t news)
{
	if (membership_is_dead(nid))
		return false;
	meet_once(nid);
	wait_to_start(&(struct attempt){ .nid = nid, .news = news });
	set_timer();
	return true;
}

/* ---- death and end ---- */

/* It comes by a doorbell, too, while the application computes, and lets others send. */
void link_frames_ended(uint32_t nid, uint32_t next)
{
	busy = true;
	frames_ended(link_frames, nid, next);
	leave();
	set_timer();
}

static bool is_quiet(void *unused)
{
	(void)unused;
	return frames_pending(link_frames) == 0 && now_ns() - heard_ns >= QUIET_NS;
}

void link_frames_linger(void)
{
	uint64_t end = deadline_in(LINGER_NS);

	if (!link_frames)
		return;
	if (!node.region) {
		/* quiet is what only time makes: a halt must not last longer than that */
		while (now_ns() < end && !wait_until(is_quiet, 0, deadline_in(QUIET_NS),
		                                     "the other nodes to be quiet"))
			continue;
		return;
	}
	membership_await_end();
}
