/*
 * The far transport, as the kernel drives it: see link_frames.h. Data: the transport, whether it is
 * at work, when the cards were last polled and what had been copied by then, whether frames come
 * steadily, and the timer's slack.
 *
 * The timer's rule. The timer is set for the link's earliest deadline, but while the application
 * computes not before slack_ns after the last poll. Frames that are due by then mostly leave with a
 * message before it, and an emulator's timer costs more than a message. A halted node delays only
 * retransmissions, until slack_ns after the last arrival, and only while frames come steadily.
 * The slack is SLACK_NS. While frames come steadily to a halted node it doubles, up to
 * MOST_SLACK_NS, each time that the timer expires and nothing is due.
 * It returns to SLACK_NS once something was due, frames no longer come steadily, or the card or the
 * timer interrupts the application. Messages that are delayed for a batch wait SLACK_NS at most.
 * docs/measurements.md has the constants with what each gives.
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

#define BUDGET      64u            /* most frames of one poll */
#define MOST_POLLS  16u            /* most polls in one interrupt */
#define FLOOD_NS    10000UL        /* pause for the application in a flood of frames */
#define TRIES       64u            /* timeouts before a peer is given up, each of 200 ms at most: a
                                      living node may get no core for seconds */
#define SLACK_NS    1000000UL      /* the timer may be this late */
#define MOST_SLACK_NS 8000000UL    /* and this late while it expires with nothing due */
#define STEADY_NS   1000000UL      /* longest gap between arrivals of a steady exchange */
#define STEADY      2u             /* arrivals in a row that start one: a grant and the answers to
                                      its parts also come close together, and then a pause
                                      follows */
#define SILENT_NS   1000000UL      /* period of polling a card whose interrupts do not arrive */
#define QUIET_NS    1000000000UL   /* without a region: a node in silence for this long is no longer
                                      needed */
#define LIFE_SHIFT  8u              /* a second of the clock is 256 incarnations: failures in
                                       it count up without reaching the next one's */
#define MOST_NODES  65535u         /* a card's address has 16 bits for the node */
#define LINGER_NS   10000000000UL  /* longest time that a node lingers for the others */

struct frames *link_frames;

static struct nic *nic, *bulk;     /* null without one */
static bool armed;                 /* they interrupt at new arrivals, */
static bool alert;                 /* and everything that came before has been handled */
static bool busy;                  /* the transport is at work */
static uint64_t polled_ns;         /* time of the last poll */
static uint64_t received_ns;       /* time of the last poll that found frames */
static uint32_t steady;            /* such polls in a row, each at most STEADY_NS after the one
                                      before; at most STEADY */
static uint64_t slack_ns = SLACK_NS; /* see above */
static uint64_t copied;            /* bytes that messages to this node itself had copied by then */
static bool frames_left;           /* frames are left for which no interrupt will come */

static void interrupts(bool on)
{
	nic->ops->interrupts(nic, on);
	if (bulk)
		bulk->ops->interrupts(bulk, on);
	armed = on;
	alert = false;
}

/* ---- start ---- */

/* A board's incarnation is the next second of its battery-backed clock, and its life begins at that
 * second. So it is later than the one before, even if the board is switched on again at once. */
static uint32_t incarnation(void)
{
	uint32_t life;

	if (parameters.incarnation)
		return parameters.incarnation;
	life = (uint32_t)wall_next_second() << LIFE_SHIFT;
	return life ? life : 1u << LIFE_SHIFT;
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
	config = link_defaults(node.id, node.size, incarnation());
	config.announce = bulk ? LINK_ANNOUNCE : 0;
	config.strict = parameters.strict;
	/* boards are switched on one by one; in a region the launcher reports deaths */
	config.boot_deadline = node.region ? LINK_NEVER :
			  deadline_in(parameters.patience * NS_PER_S);
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

void frames_port_upcall(void *unused)
{
	(void)unused;
	upcall_check();
}

void frames_port_lost(void *unused, uint32_t nid)
{
	(void)unused, (void)nid;
	membership_given_up();
}

/* ---- polling ---- */

bool link_frames_is_busy(void)
{
	return busy;
}

static void leave(void)
{
	busy = false;
	membership_check();
}

uint32_t link_frames_poll(void)
{
	struct frames_poll_result polled;

	if (busy)
		return 0;
	busy = true;
	if (node.counters[COUNTER_COPIED_BYTES] != copied) {
		copied = node.counters[COUNTER_COPIED_BYTES];
		frames_note_writes(link_frames);
	}
	polled = frames_poll(link_frames, BUDGET);
	polled_ns = polled.at;
	alert = armed && polled.is_all;
	if (polled.frames) {
		if (polled_ns - received_ns > STEADY_NS)
			steady = 0;
		else if (steady < STEADY)
			steady++;
		received_ns = polled_ns;
	}
	leave();
	return polled.frames + polled.is_news;
}

/* Tells the application whether to call when it finds no event. If the application writes to this
 * word, it harms only itself. */
static void set_calls(bool delays)
{
	uint64_t *calls = this_process()->calls;

	if (calls)
		*calls = delays || parameters.control != CONTROL_INTERRUPT;
}

void link_frames_flush(void)
{
	if (busy)
		return;
	set_calls(false);
	busy = true;
	frames_pause(link_frames, 0);
	leave();
}

/* A timer polls a card whose interrupts do not arrive, and handles the rest of a flood, for which
 * no interrupt comes. */
static struct frames_next_poll next_poll(uint64_t late)
{
	struct frames_next_poll next = frames_next_poll(link_frames, late);
	uint64_t card;

	if (__builtin_expect(frames_left || nic->silent, 0)) {
		card = polled_ns + (frames_left ? FLOOD_NS : SILENT_NS);
		if (card < next.at)
			next.at = card;
	}
	return next;
}

static bool is_steady(void)
{
	return steady == STEADY;
}

/* When a halt must end for the link: as late as the timer may expire after the next frame.
 * Retransmissions can wait that long; anything due earlier ends the halt. */
uint64_t link_frames_alarm_at(void)
{
	uint64_t slack = received_ns + slack_ns, at;

	if (!is_steady() || slack <= polled_ns || nic->silent)
		return next_poll(0).at;
	at = next_poll(slack).at;
	return at < slack || at == NEVER ? at : slack;
}

/* Sets the timer while the application computes. */
static inline void arm_with_slack(uint64_t due, bool delays)
{
	uint64_t slack = polled_ns + (is_steady() && !delays ? slack_ns : SLACK_NS);

	ktimer_arm_by(due > polled_ns && due < slack ? slack : due);
}

/* Watchdog: whether nothing has happened since `ns` for long enough that an arrival may
 * interrupt. */
static bool is_long_ago(uint64_t ns, uint64_t now)
{
	return parameters.control == CONTROL_WATCHDOG &&
	       now - ns >= parameters.watchdog_us * NS_PER_US;
}

/* Watchdog: sets the timer that polls cards which do not interrupt. */
static void set_timer(void)
{
	struct frames_next_poll now = next_poll(0);

	arm_with_slack(now.at, now.delays);
	if (parameters.control == CONTROL_WATCHDOG && !alert)
		ktimer_arm_by(polled_ns + parameters.watchdog_us * NS_PER_US);
}

void link_frames_progress(void)
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
	frames_pause(link_frames, 1);  /* it may send, and learn of deaths */
	if (!armed)
		interrupts(true);
	if ((!alert && link_frames_poll()) || frames_pending(link_frames) != pending)
		return false;
	frames_left = false;
	return true;
}

/* Polls until everything that has come was handled, and new arrivals interrupt: only then may the
 * application continue. A flood gives it some time nevertheless. */
static void poll_until_alert(void)
{
	uint32_t polls = 0;

	while (!alert && polls++ < MOST_POLLS)
		link_frames_poll();
	frames_left = !alert;
}

void link_frames_resume(void)
{
	if (busy)
		return;
	if (armed && parameters.control == CONTROL_POLL)
		interrupts(false);
	else if (armed)
		poll_until_alert();
	set_timer();
}

void link_frames_enter(uint64_t *calls)
{
	this_process()->calls = calls;
	set_calls(false);
	link_frames_resume();
}

/* Polls now. Frames that a sender may wait for are acknowledged at once, as before a halt:
 * otherwise the sender would wait for the timer, which may be late. Watchdog: enables the cards'
 * interrupts when nothing comes any more. */
static void poll_now(void)
{
	link_frames_poll();
	if (!armed && is_long_ago(received_ns, polled_ns))
		interrupts(true);
	if (armed)
		poll_until_alert();
	busy = true;
	frames_pause(link_frames, 1);
	leave();
}

void link_frames_serve(void)
{
	if (busy)
		return;
	poll_now();
	set_timer();
}

void link_frames_arrival(bool computing)
{
	alert = false;
	if (!computing)
		return;
	slack_ns = SLACK_NS;
	if (parameters.control == CONTROL_INTERRUPT || is_long_ago(polled_ns, now_ns()))
		poll_now();
	else
		interrupts(false);
	set_timer();
}

static void adapt_slack(uint64_t now, bool in_vain)
{
	if (now - received_ns > STEADY_NS)
		steady = 0;
	if (!in_vain || !is_steady())
		slack_ns = SLACK_NS;
	else if (slack_ns < MOST_SLACK_NS)
		slack_ns *= 2;
}

void link_frames_alarm(bool computing)
{
	uint64_t now = now_ns();
	bool due = next_poll(0).at <= now;

	adapt_slack(now, !computing && !due);
	if (!computing)
		return;
	if (due || is_long_ago(received_ns, now))
		poll_now();
	set_timer();
}

/* ---- operations ---- */

/* Frames to a node that has not booted are lost: waits for it, if its state is visible. */
static inline void await_boot(uint32_t nid)
{
	if (__builtin_expect(!membership_is_up(nid), 0))
		membership_await(nid);
}

/* An operation (or a signal, if `args` is null) that waits for room. */
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

	await_boot(args->target_nid);
	busy = true;
	result = frames_start(link_frames, args);
	leave();
	if (__builtin_expect(result == FRAMES_AGAIN, 0))
		result = wait_to_start(&(struct attempt){ .args = args });
	if (__builtin_expect(membership_is_dead(args->target_nid), 0))
		link_frames_ended(args->target_nid, 0);
	set_calls(frames_next_poll(link_frames, 0).delays);
	set_timer();
	return result;
}

bool link_frames_fast_put(const struct initiator_args *args)
{
	enum frames_fast done;
	uint64_t due;

	if (args->target_nid >= node.size || !membership_is_up(args->target_nid))
		return false;
	busy = true;
	done = frames_fast_put(link_frames, args, &due);
	leave();
	if (__builtin_expect(done == FRAMES_SENT, 1)) {
		arm_with_slack(due, frames_next_poll(link_frames, 0).delays);
	} else {
		set_calls(frames_next_poll(link_frames, 0).delays);
		set_timer();
	}
	return done != FRAMES_OTHER;
}

bool link_frames_signal(uint32_t nid, uint32_t news)
{
	if (membership_is_dead(nid))
		return false;
	await_boot(nid);
	wait_to_start(&(struct attempt){ .nid = nid, .news = news });
	set_timer();
	return true;
}

/* ---- death and end ---- */

/* Also called from a doorbell while the application computes. Ending a peer lets other flows send. */
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
	return frames_pending(link_frames) == 0 && now_ns() - received_ns >= QUIET_NS;
}

void link_frames_linger(void)
{
	uint64_t end = deadline_in(LINGER_NS);

	if (!link_frames)
		return;
	if (!node.region) {
		/* no event reports quiet: bound each halt */
		while (now_ns() < end && !wait_until(is_quiet, 0, deadline_in(QUIET_NS),
		                                     "the other nodes to be quiet"))
			continue;
		return;
	}
	membership_await_end();
}
