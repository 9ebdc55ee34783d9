/*
 * The kernel's polling of its network cards (link_frames.c) and its waiting (wait.c), with a card,
 * a link and a clock that a test moves step by step. This file includes those two; each test
 * program includes it once.
 *
 * Each reading of the clock and each call of the card is a step. At the step that a test chooses a
 * frame arrives, or the card completes a send.
 */
#ifndef TESTS_DRIVERS_LOOKING_H
#define TESTS_DRIVERS_LOOKING_H
#define KERNEL_X86_H               /* these two headers are replaced here */
#define KERNEL_CPU_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/host/check.h"

struct trap_frame { uint64_t cs; };
struct cpu { uint8_t upcall; bool halted; const char *waits_for; };

static struct cpu cpu;
static struct cpu *this_cpu(void) { return &cpu; }
static void cpu_halt(void);
static void cpu_relax(void) { }
static uint64_t rdtsc(void) { return 0; }

#include "kernel/transport/link_frames.c"
#include "kernel/transport/wait.c"

enum { STEP_NS = 100, STEPS = 300, NO_STEP = 1 << 30, WATCHDOG_NS = 200000, TURN_NS = 1000 };
enum what { FRAME, COMPLETION, NOTHING };

static struct {
	uint64_t now, timer;           /* ns; the time for which the timer is set, or NEVER */
	uint64_t deadline;             /* the link's deadline, */
	bool only_resends;             /* which is only for a retransmission */
	uint32_t step, at;             /* steps so far; the step of the event */
	enum what what;
	uint32_t frames, completions;  /* at the card, not yet polled by the kernel */
	bool wanted, armed, interrupt; /* interrupts: requested; enabled; raised */
	uint32_t arrivals, alarms;     /* interrupts of the card and of the timer */
	uint32_t pending;              /* sends of the link */
	uint32_t end_at_rest;          /* how many of these end when the node is about to halt */
	uint32_t rests;                /* times that acknowledgements were sent before a halt */
	bool delays;                   /* messages are delayed for a batch */
	uint32_t taken, ticks;         /* frames and ticks that the link has received */
	bool over;                     /* the awaited event has happened */
	jmp_buf asleep;
} is;

static struct nic fake_nic;
static const struct nic_ops fake_ops;

/* ---- events ---- */

static void frame_comes(void)
{
	is.frames++;
	is.interrupt |= is.armed;
}

static void step(void)
{
	if (is.step++ != is.at)
		return;
	if (is.what == FRAME)
		frame_comes();
	is.completions += is.what == COMPLETION; /* the end of a send does not interrupt */
}

uint64_t now_ns(void)
{
	step();
	return is.now += STEP_NS;
}

static void interrupt(bool computing)
{
	is.interrupt = is.armed = false;
	is.arrivals++;
	link_frames_arrival(computing);
}

static void alarm(bool computing)
{
	is.timer = NEVER;
	is.alarms++;
	link_frames_alarm(computing);
}

static void cpu_halt(void)
{
	step();
	if (is.interrupt) {
		interrupt(false);
	} else if (is.timer != NEVER) {
		if (is.timer > is.now)
			is.now = is.timer;
		alarm(false);
	} else if (is.step <= is.at && is.at != NO_STEP) {
		is.step = is.at;               /* time passes */
		step();
		if (is.interrupt)
			interrupt(false);
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

/* ---- the rest of the kernel ---- */

struct node node;
struct parameters parameters;
struct process process_boot;

void ktimer_arm(uint64_t deadline) { is.timer = deadline; }
void ktimer_arm_within(uint64_t deadline, uint64_t early)
{
	if (deadline < is.timer || deadline - is.timer > early)
		is.timer = deadline;
}
void ktimer_arm_by(uint64_t deadline) { is.timer = deadline < is.timer ? deadline : is.timer; }
uint64_t tsc_to_ns(uint64_t tsc) { return tsc; }
uint64_t wall_next_second(void) { return 0; }
void upcall_check_queues(void) { }
void region_requests_serve(void) { }
void membership_bell(void) { }
uint64_t *membership_up = &(uint64_t){ ~0ULL };
bool membership_news;
bool membership_await(uint32_t nid) { (void)nid; return true; }
bool membership_is_dead(uint32_t nid) { return nid == 5; }
void membership_settle(void) { }
void membership_await_end(void) { }
void membership_given_up(void) { }
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
			   struct nic *bulk_card, struct process_view *view, void *context)
{
	(void)config, (void)of, (void)bulk_card, (void)view, (void)context;
	free(memory);
	return &fake_frames;
}

/* Both let others send, which may need a poll soon. */
static void soon(void) { is.deadline = is.now + 2000; }

struct frames_next_poll frames_next_poll(const struct frames *frames, uint64_t late)
{
	bool may_wait = is.only_resends && is.deadline < late;

	(void)frames;
	return (struct frames_next_poll){
		.at = is.deadline == NEVER && is.pending ? polled_ns + SILENT_NS :
		      may_wait ? late : is.deadline,
		.delays = is.delays,
	};
}
struct frames_poll_result frames_poll(struct frames *frames, uint32_t budget)
{
	struct frames_poll_result result = { .at = now_ns() };
	uint32_t pending = is.pending;

	(void)frames;
	result.frames = fake_poll(&fake_nic, budget);
	result.is_all = result.frames < budget;
	if (is.deadline <= result.at) {
		is.ticks++;
		is.deadline = NEVER;
		result.is_news = 1;
	}
	result.is_news |= is.pending != pending;
	return result;
}
void frames_note_writes(struct frames *frames)
{
	(void)frames;
}

void frames_pause(struct frames *frames, int halts)
{
	(void)frames;
	if (halts) {
		is.rests++;
		is.pending -= is.end_at_rest;
		is.end_at_rest = 0;
	}
}
uint32_t frames_pending(const struct frames *frames) { (void)frames; return is.pending; }
int frames_signal(struct frames *frames, uint32_t to, uint32_t news)
{
	(void)frames, (void)to, (void)news;
	return 0;
}
int frames_start(struct frames *frames, const struct initiator_args *args)
{
	(void)frames, (void)args;
	soon();
	return 0;
}
enum frames_fast frames_fast_put(struct frames *frames, const struct initiator_args *args,
				 uint64_t *due)
{
	(void)frames, (void)args, (void)due;
	return FRAMES_OTHER;
}
void frames_ended(struct frames *frames, uint32_t id, uint32_t next)
{
	(void)frames, (void)id, (void)next;
	soon();
}

/* ---- a test begins ---- */

static void begin(enum control control, enum what what, uint32_t at)
{
	is.now = 1000000;
	is.timer = is.deadline = NEVER;
	is.step = is.frames = is.completions = is.taken = is.ticks = 0;
	is.arrivals = is.alarms = 0;
	is.at = NO_STEP;
	is.wanted = is.armed = is.interrupt = is.over = false;
	is.pending = 1;
	fake_nic = (struct nic){ .ops = &fake_ops };
	parameters = (struct parameters){ .frames = true, .control = control, .incarnation = 256,
	                                   .watchdog_us = WATCHDOG_NS / 1000 };
	node = (struct node){ .size = 8 };
	busy = frames_left = armed = alert = is.only_resends = false;
	received_ns = polled_ns = 0;
	steady = STEADY;
	slack_ns = SLACK_NS;
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
#endif
