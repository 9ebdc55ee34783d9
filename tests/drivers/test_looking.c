/*
 * How the kernel looks at its network cards (link_frames.c) and waits (wait.c), with a card,
 * a link and a clock that the tests move step by step: whatever happens at whatever moment,
 * nobody sleeps over it, and the timer is set for what the link wants.
 *
 * A step is each look at the clock and each call of the card. At the step that a test
 * chooses a frame arrives, or the card is through with a send.
 */
#define KERNEL_X86_H               /* the places of these two are taken here */
#define KERNEL_CPU_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../host/check.h"

struct trap_frame { uint64_t cs; };
struct cpu { uint8_t upcall; };

static struct cpu cpu;
static struct cpu *this_cpu(void) { return &cpu; }
static void cpu_halt(void);
static void cpu_relax(void) { }
static uint64_t rdtsc(void) { return 0; }

#include "../../kernel/link_frames.c"
#include "../../kernel/wait.c"

enum { STEP_NS = 100, STEPS = 300, NO_STEP = 1 << 30 };
enum what { FRAME, COMPLETION, NOTHING };

static struct {
	uint64_t now, timer;           /* ns; the timer is set for, or NEVER */
	uint64_t deadline;             /* the link's, */
	bool only_resends;             /* only to send something again */
	uint32_t step, at;             /* how many there were, and when it happens */
	enum what what;
	uint32_t frames, completions;  /* that the card has and nobody has looked at */
	bool wanted, armed, interrupt; /* it shall interrupt; it may; it does */
	uint32_t pending;              /* sends of the link */
	uint32_t end_at_rest;          /* of them, so many once the node is about to halt */
	bool holds;                    /* messages that wait for company */
	uint32_t taken, ticks;         /* frames and times that the link has heard of */
	bool over;                     /* what is waited for has ended */
	jmp_buf asleep;
} is;

static struct nic fake_nic;
static const struct nic_ops fake_ops;

/* ---- what happens ---- */

static void step(void)
{
	if (is.step++ != is.at)
		return;
	is.frames += is.what == FRAME;
	is.completions += is.what == COMPLETION;
	if (is.what == FRAME && is.armed)      /* a send that is through does not interrupt */
		is.interrupt = true;
}

uint64_t now_ns(void)
{
	step();
	return is.now += STEP_NS;
}

static void interrupt(void)
{
	is.interrupt = is.armed = false;
	link_frames_arrival(false);
}

static void cpu_halt(void)
{
	step();
	if (is.interrupt) {
		interrupt();
	} else if (is.timer != NEVER) {
		if (is.timer > is.now)
			is.now = is.timer;
		is.timer = NEVER;
		link_frames_alarm(false);
	} else if (is.step <= is.at && is.at != NO_STEP) {
		is.step = is.at;               /* time goes by */
		step();
		if (is.interrupt)
			interrupt();
	} else {
		longjmp(is.asleep, 1);
	}
}

static uint32_t fake_poll(struct nic *card_, uint32_t budget)
{
	uint32_t n;

	(void)card_, (void)budget;
	step();
	if (is.completions) {
		is.completions = 0;
		is.pending--;
		is.over = true;
	}
	step();
	n = 0;
	do {
		n += is.frames;
		is.frames = 0;
		is.armed = is.wanted;
		step();
	} while (is.frames);
	is.taken += n;
	is.over |= n > 0;
	step();
	return n;
}

static void fake_interrupts(struct nic *card_, int on)
{
	(void)card_;
	step();
	is.wanted = is.armed = on;
	step();
}

static const struct nic_ops fake_ops = { .poll = fake_poll, .interrupts = fake_interrupts };

/* ---- the kernel around ---- */

struct node node;
struct parameters parameters;
struct process_view own_view;
uint32_t upcall_queues;

void timer_arm(uint64_t deadline) { is.timer = deadline; }
void timer_arm_within(uint64_t deadline, uint64_t early)
{
	if (deadline < is.timer || deadline - is.timer > early)
		is.timer = deadline;
}
void timer_arm_by(uint64_t deadline) { is.timer = deadline < is.timer ? deadline : is.timer; }
uint64_t tsc_to_ns(uint64_t tsc) { return tsc; }
uint64_t wall_ns(void) { return 0; }
void upcall_look_again(void) { }
void requests_serve(void) { }
void link_look_for_deaths(void) { }
bool link_is_dead(uint32_t nid) { return nid == 5; }
void ivshmem_ring(uint32_t peer) { (void)peer; }
struct nic *card(uint32_t number) { return number ? 0 : &fake_nic; }
void *memory_take(uint64_t bytes, uint64_t align) { return aligned_alloc(align, bytes); }
void panic(const char *format, ...) { (void)format; abort(); }

/* ---- the link ---- */

struct frames { int unused; };
static struct frames fake_frames;

struct link_config link_defaults(uint32_t id, uint32_t nodes, uint32_t life)
{
	return (struct link_config){ .node = id, .nodes = nodes, .incarnation = life };
}

uint64_t frames_bytes(const struct link_config *config, const struct block_limits *block)
{
	(void)config, (void)block;
	return PAGE_BYTES;
}

struct frames *frames_open(void *memory, const struct link_config *config, struct nic *of,
			   struct process_view *view, void *context)
{
	(void)config, (void)of, (void)view, (void)context;
	free(memory);
	return &fake_frames;
}

/* Both let others send, which may want to be looked after soon. */
static void soon(void) { is.deadline = is.now + 2000; }

uint64_t frames_deadline(const struct frames *frames) { (void)frames; return is.deadline; }
uint64_t frames_due(const struct frames *frames) { (void)frames; return is.deadline; }
int frames_only_resends(const struct frames *frames, uint64_t at)
{
	(void)frames;
	return is.only_resends && at == is.deadline;
}
void frames_tick(struct frames *frames) { (void)frames; is.ticks++; is.deadline = NEVER; }
void frames_rest(struct frames *frames)
{
	(void)frames;
	is.pending -= is.end_at_rest;
	is.end_at_rest = 0;
}
int frames_holds(const struct frames *frames) { (void)frames; return is.holds; }
void frames_flush(struct frames *frames) { (void)frames; }
struct link *frames_link(struct frames *frames) { (void)frames; return 0; }
int link_bulk_is_idle(const struct link *link) { (void)link; return 0; }
uint32_t link_sends_used(const struct link *link) { (void)link; return is.pending; }
uint32_t link_sends_to(const struct link *link, uint32_t id, enum link_lane lane)
{
	(void)link, (void)id, (void)lane;
	return 0;
}
uint32_t frames_pending(const struct frames *frames) { (void)frames; return is.pending; }
void frames_bulk(struct frames *frames, struct nic *of) { (void)frames, (void)of; }
int frames_signal(struct frames *frames, const struct message *message)
{
	(void)frames, (void)message;
	return 0;
}
enum frames_brief frames_brief(struct frames *frames, const struct initiator_args *args)
{
	(void)frames, (void)args;
	return FRAMES_OTHER;
}
uint64_t frames_counter(const struct frames *frames, enum frames_counter counter)
{
	(void)frames, (void)counter;
	return 0;
}
uint64_t link_counter(const struct link *link, enum link_counter counter)
{
	(void)link, (void)counter;
	return 0;
}
uint32_t link_peer_bytes(const struct link *link, uint32_t id) { (void)link, (void)id; return 0; }
void link_give_up(struct link *link, uint64_t now, uint32_t id) { (void)link, (void)now, (void)id; soon(); }
void link_renewed(struct link *link, uint64_t now, uint32_t id, uint32_t life)
{
	(void)link, (void)now, (void)id, (void)life;
	soon();
}

/* ---- the tests ---- */

static void begin(enum control control, enum what what, uint32_t at)
{
	is.now = 1000000;
	is.timer = is.deadline = NEVER;
	is.step = is.frames = is.completions = is.taken = is.ticks = 0;
	is.at = NO_STEP;
	is.wanted = is.armed = is.interrupt = is.over = false;
	is.pending = 1;
	fake_nic = (struct nic){ .ops = &fake_ops };
	parameters = (struct parameters){ .frames = true, .control = control, .watchdog_us = 200 };
	node = (struct node){ .size = 8 };
	busy = flooded = armed = alert = is.only_resends = false;
	heard_ns = heard_after_ns = 0;
	leisure_ns = LEISURE_NS;
	link_frames_start();
	is.step = 0;
	is.what = what;
	is.at = at;
}

static bool is_over(void *unused)
{
	(void)unused;
	return is.over;
}

static void waits(enum control control, enum what what, uint32_t at)
{
	begin(control, what, at);
	if (setjmp(is.asleep)) {
		check_differs(__FILE__, __LINE__, what == FRAME ? "slept over a frame at step" :
			      "slept over a completion at step", at, -1);
		return;
	}
	CHECK(wait_until(is_over, 0, NEVER, "the test"));
}

/* Of the end of a send the card says no more than that it is so when it is looked at. */
TEST(who_waits_sleeps_over_nothing)
{
	for (uint32_t at = 0; at < STEPS; at++)
		for (int control = CONTROL_INTERRUPT; control <= CONTROL_WATCHDOG; control++) {
			waits((enum control)control, FRAME, at);
			waits((enum control)control, COMPLETION, at);
		}
}

/* As one waits for the console within the link's own work, when nothing may look. */
TEST(what_comes_while_nobody_may_look_is_looked_at_later)
{
	begin(CONTROL_INTERRUPT, FRAME, NO_STEP);
	CHECK(!wait_until(is_over, 0, is.now + 1000, "the test"));
	busy = true;
	is.at = is.step;
	CHECK(!wait_until(is_over, 0, is.now + 1000, "the test"));
	busy = false;
	CHECK_IS(is.frames, 1);
	if (setjmp(is.asleep)) {
		check_differs(__FILE__, __LINE__, "slept over a frame", 1, 0);
		return;
	}
	CHECK(wait_until(is_over, 0, NEVER, "the test"));
}

TEST(an_application_is_interrupted_by_what_comes)
{
	for (uint32_t at = 0; at < STEPS; at++) {
		begin(CONTROL_INTERRUPT, FRAME, at);
		link_frames_resume();
		while (is.step <= at)
			step();
		if (is.interrupt)
			link_frames_arrival(true);
		CHECK_IS(is.taken, 1);
		CHECK(is.armed);
	}
}

TEST(the_links_time_is_served_while_one_waits)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.deadline = is.now + 500000;
	CHECK(!wait_until(is_over, 0, is.now + 1000000, "the test"));
	CHECK_IS(is.ticks, 1);
}

/* Nor does who hears something now and then. */
TEST(who_hears_nothing_does_not_wake_in_vain)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	heard_ns = is.now;
	heard_after_ns = 2000000;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	heard_ns = is.now;
	heard_after_ns = 100000;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK(node.counters[COUNTER_HALTS] <= 2);
	CHECK_IS(is.ticks, 0);
}

/* Waits in vain for 2 ms, after a frame, and what was sent is due again soon. */
static uint64_t halts_of_quick(bool only_resends)
{
	uint64_t before = node.counters[COUNTER_HALTS];

	leisure_ns = MOST_LEISURE_NS;
	heard_ns = is.now;
	heard_after_ns = 100000;
	is.deadline = is.now + 500000;
	is.only_resends = only_resends;
	CHECK(!wait_until(is_over, 0, is.now + 2000000, "the test"));
	CHECK_IS(leisure_ns, LEISURE_NS);       /* late by that, or nothing comes any more */
	return node.counters[COUNTER_HALTS] - before;
}

TEST(who_exchanges_frames_quickly_wakes_less_and_less_for_the_timer)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.pending = 0;
	CHECK_IS(halts_of_quick(true), 1);
	CHECK_IS(halts_of_quick(false), 2);
	for (uint64_t ns = 2 * LEISURE_NS; ns < 32 * LEISURE_NS; ns *= 2) {
		heard_ns = is.now;
		heard_after_ns = 100000;
		is.deadline = is.now + 40000000;
		link_frames_alarm(false);       /* in vain */
		CHECK_IS(leisure_ns, ns < MOST_LEISURE_NS ? ns : MOST_LEISURE_NS);
	}
	link_frames_arrival(true);              /* it computes: somebody may wait for it */
	CHECK_IS(leisure_ns, LEISURE_NS);
}

TEST(who_computes_while_messages_wait_sets_the_timer_soon)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	leisure_ns = MOST_LEISURE_NS;
	for (uint32_t holds = 0; holds < 2; holds++) {
		is.holds = holds;
		is.timer = NEVER;
		heard_ns = looked_ns = is.now;
		heard_before_ns = heard_after_ns = QUICK_NS;
		is.deadline = is.now + 50000;
		set_timer();
		CHECK_IS(is.timer, looked_ns + (holds ? LEISURE_NS : MOST_LEISURE_NS));
	}
	is.holds = false;
	leisure_ns = LEISURE_NS;
}

TEST(what_ends_when_the_node_is_about_to_halt_is_not_slept_over)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.pending = 2;
	is.end_at_rest = 1;
	CHECK(!link_frames_rest());
	CHECK(link_frames_rest());
	is.pending = 0;
}

/* Two frames close together are no exchange. */
TEST(who_hears_two_frames_after_a_pause_does_not_wake_in_vain)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.now += 100 * QUICK_NS;
	for (uint32_t i = 0; i < 2; i++) {
		is.frames++;
		link_frames_poll();
		CHECK(!is_quick());
	}
	is.over = false;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
	is.frames++;
	link_frames_poll();
	CHECK(!is_quick());
	for (uint32_t i = 0; i < 2; i++) {
		is.frames++;
		link_frames_poll();
	}
	CHECK(is_quick());
}

TEST(a_timer_that_is_no_longer_wanted_does_not_wake)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	heard_after_ns = 15000000;
	is.deadline = is.now + 40000000;
	timer_arm(is.now + 1000000);
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
}

static int starts(struct frames *frames, const struct initiator_args *args)
{
	(void)frames, (void)args;
	soon();
	return 0;
}

static void do_one(void)
{
	struct initiator_args args = { .target_nid = 1 };

	link_frames_do(starts, &args);
}

static void look_at_deadline(void)
{
	is.deadline = 1000;                     /* long ago; the tick wants another one */
	link_frames_look();
	soon();
	link_frames_look();
}

/* 1 ms late at most: the application computes, and may send before that. */
static bool is_set(void)
{
	return is.deadline != NEVER && is.timer <= is.deadline + 1000000;
}

TEST(the_timer_is_set_for_what_the_link_wants)
{
	static void (*const ways[])(void) = { do_one, look_at_deadline };

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		begin(CONTROL_POLL, NOTHING, NO_STEP);
		ways[i]();
		CHECK(is_set());
	}
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	link_frames_lost(2);
	CHECK(is_set());
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	link_frames_renewed(2, 512);
	CHECK(is_set());
}
