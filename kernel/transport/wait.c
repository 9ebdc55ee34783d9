/*
 * Waiting: spins first, then halts. What the processor waits for, and whether it
 * does so inside another wait, is in its struct cpu.
 */
#include "wait.h"

#include <stdatomic.h>
#include <stddef.h>

#include "kernel/base/node.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/time.h"
#include "net/shm/region.h"
#include "link_frames.h"
#include "membership.h"
#include "region_requests.h"
#include "upcall.h"

/* Time to spin: enough for an answer on its way, less than the cost of a doorbell and a halt on
 * both sides, as the peer may need this core. A frame takes longer, and a node that spins holds up
 * the emulator's threads, so a wait for frames looks once and halts. */
#define SPIN_NS 2000u

/* Setting the timer wakes the emulator's main loop; a timer that ends a halt too early also wakes
 * this processor. So a timer that is too early by no more than this is kept. */
#define EARLY_WAKE_NS 8000000u

/* A faulty kernel may clear this node's sleep flag, so that no doorbell comes, or change the node
 * table without ringing. So a waiting node looks at both at least this often. The timer stays armed
 * from one halt to the next, so that halts do not pay for it. */
#define LOOK_NS 1000000000UL

static uint64_t looked;            /* ns: when this node last looked because of that */

const char *wait_what_for(void)
{
	return this_cpu()->waits_for;
}

static void set_sleeping(uint32_t value)
{
	if (node.own)
		atomic_store_explicit(&node.own->sleeping, value, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void wait_halted(void)
{
	struct cpu *cpu = this_cpu();
	bool outermost = !cpu->halted;
	uint64_t before = rdtsc();

	cpu->halted = true;
	cpu_halt();
	cpu->halted = !outermost;
	count(COUNTER_HALTS, 1);
	if (outermost)
		count(COUNTER_HALTED_NS, tsc_to_ns(rdtsc()) - tsc_to_ns(before));
}

static bool spin(bool (*ready)(void *), void *arg, uint64_t until, bool once)
{
	if (link_frames) {
		if (!link_frames_is_alert())
			link_frames_poll();
		return ready(arg);
	}
	if (once)
		return ready(arg);
	do {
		if (ready(arg))
			return true;
		cpu_relax();
	} while (now_ns() < until);
	return false;
}

/* Halts, unless a frame has come. The timer is set at most once, for whatever is due first. */
static void halt(uint64_t deadline)
{
	uint64_t wake = deadline, early = 0, look = deadline_in(LOOK_NS);

	if (link_frames) {
		if (!link_frames_rest())
			return;
		if (link_frames_alarm_at() < wake)
			wake = link_frames_alarm_at();
		early = EARLY_WAKE_NS;
	}
	if (node.own && look < wake) {
		wake = look;
		early = LOOK_NS;
	}
	ktimer_arm_within(wake, early);
	wait_halted();
	if (!link_frames && deadline != NEVER)
		ktimer_arm(NEVER);
	if (node.own && now_ns() - looked >= LOOK_NS) {
		looked = now_ns();
		membership_bell();
	}
}

/* All kinds of waiting; `interruptible`: an upcall ends it; `once`: it does not spin. */
static bool await(bool (*ready)(void *arg), void *arg, uint64_t deadline, const char *what_for,
                  bool interruptible, bool once)
{
	struct cpu *cpu = this_cpu();
	const char *outer = cpu->waits_for;
	uint64_t spin_end = deadline_in(SPIN_NS);
	bool is_ready;

	cpu->waits_for = what_for;
	if (link_frames)
		link_frames_flush();
	is_ready = spin(ready, arg, spin_end < deadline ? spin_end : deadline, once);
	while (!is_ready && !(interruptible && upcall_is_due()) && now_ns() < deadline) {
		set_sleeping(1);
		/* Over frames nothing can have happened since: other nodes only send, or ring. */
		is_ready = !link_frames && ready(arg);
		if (!is_ready)
			halt(deadline);
		set_sleeping(0);
		if (link_frames)
			link_frames_poll();
		region_requests_serve();
		is_ready = ready(arg); /* serving a request may have used up what was there */
	}
	if (link_frames)
		link_frames_resume();
	cpu->waits_for = outer;
	return is_ready;
}

bool wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline, const char *what_for)
{
	return await(ready, arg, deadline, what_for, false, false);
}

static enum wait_end end_of(bool is_ready, uint64_t deadline)
{
	if (is_ready)
		return WAIT_READY;
	return now_ns() < deadline ? WAIT_UPCALL : WAIT_TIMEOUT;
}

enum wait_end wait_or_upcall(bool (*ready)(void *arg), void *arg, uint64_t deadline,
                             const char *what_for)
{
	return end_of(await(ready, arg, deadline, what_for, true, false), deadline);
}

enum wait_end wait_halted_or_upcall(bool (*ready)(void *arg), void *arg, uint64_t deadline,
                                    const char *what_for)
{
	return end_of(await(ready, arg, deadline, what_for, true, true), deadline);
}

static bool never(void *unused)
{
	(void)unused;
	return false;
}

void wait_time(uint64_t deadline, const char *what_for)
{
	wait_until(never, NULL, deadline, what_for);
}

bool wait_time_or_upcall(uint64_t deadline, const char *what_for)
{
	return wait_or_upcall(never, NULL, deadline, what_for) == WAIT_TIMEOUT;
}
