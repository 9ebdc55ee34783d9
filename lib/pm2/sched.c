/*
 * The scheduler. Ready threads are in one queue, round robin; a thread that waits switches to the
 * next one itself. If none is ready, the scheduler runs on its own stack: it looks for messages,
 * then halts. Owns its stack, the queue of sleepers, and the timer.
 */
#include "inner.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_US     1000u
#define AGAIN_US      100u              /* retry of a preemption, or of a change of mode */

struct pm2_state pm2;

static void *stack;

uint64_t pm2_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- queues ---- */

void pm2_append(struct pm2_queue *queue, struct pm2_thread *thread)
{
	thread->next = 0;
	thread->before = queue->last;
	if (queue->last)
		queue->last->next = thread;
	else
		queue->first = thread;
	queue->last = thread;
}

void pm2_remove(struct pm2_queue *queue, struct pm2_thread *thread)
{
	if (thread->before)
		thread->before->next = thread->next;
	else
		queue->first = thread->next;
	if (thread->next)
		thread->next->before = thread->before;
	else
		queue->last = thread->before;
}

/* ---- the timer ---- */

static void set_timer(uint64_t at)
{
	uint64_t now = pm2_now();
	uint64_t us = at > now ? (at - now + NS_PER_US - 1) / NS_PER_US : 1;
	struct itimerval timer = { .it_value = { .tv_sec = (time_t)(us / 1000000),
						 .tv_usec = (suseconds_t)(us % 1000000) } };

	pm2.timer_at = at;
	pm2.counters.timers++;
	setitimer(ITIMER_REAL, &timer, 0);
}

void pm2_arm(void)
{
	uint64_t at = pm2.timer_at, turn;

	pm2_set_mode(INTERRUPTS);
	if (pm2.mode == POLLS) {        /* arrivals would not interrupt: try again */
		turn = pm2_now() + AGAIN_US * NS_PER_US;
		if (turn < at)
			at = turn;
	}
	if ((pm2.ready.first || pm2.quick.first) && pm2.quantum_us) {
		turn = pm2_now() + (uint64_t)pm2.quantum_us * NS_PER_US;
		if (turn < at)          /* the timer may be set for a sleeper */
			at = turn;
	}
	if (pm2.sleeping.first && pm2.sleeping.first->wake_at < at)
		at = pm2.sleeping.first->wake_at;
	if (at < pm2.timer_at)
		set_timer(at);
}

/* ---- switching ---- */

/* The current thread stops here; it is already in its queue. */
__attribute__((always_inline))
static inline void stop(struct pm2_thread *to)
{
	struct pm2_thread *from = pm2.current;

	from->kept_errno = *pm2.errno_at;
	pm2.current = to;
	pm2_switch(from, to);
	*pm2.errno_at = from->kept_errno;
}

/* The next thread, or the scheduler. A stack that was too small may have destroyed the descriptor
 * of the next thread, so it is checked before that is used. */
static inline void next(void)
{
	struct pm2_thread *to = pm2.ready.first;

	pm2_check_stack(pm2.current);
	if (!to || pm2.quick.first) {
		stop(&pm2.scheduler);
		return;
	}
	pm2_remove(&pm2.ready, to);
	to->state = RUNS;
	pm2.counters.switches++;
	stop(to);
}

void pm2_to_scheduler(void)
{
	pm2_check_stack(pm2.current);
	stop(&pm2.scheduler);
}

void pm2_block(enum state state)
{
	pm2.current->state = (uint8_t)state;
	next();
}

void pm2_yield(void)
{
	if (!pm2_may())
		return;
	pm2_enter();
	if (++pm2.yields % POLL_EVERY == 0 && pm2.nodes > 1)
		pm2_poll();
	if (pm2.ready.first || pm2.quick.first) {
		pm2_ready(pm2.current);
		next();
	}
	pm2_leave();
}

static void wake(void)
{
	uint64_t now = pm2.sleeping.first ? pm2_now() : 0;

	while (pm2.sleeping.first && pm2.sleeping.first->wake_at <= now) {
		struct pm2_thread *thread = pm2.sleeping.first;

		pm2_remove(&pm2.sleeping, thread);
		pm2_ready(thread);
	}
}

int pm2_sleep(uint64_t us)
{
	struct pm2_thread *self, *after;
	uint64_t now;

	if (!pm2_may())
		return PM2_ESTATE;
	pm2_enter();
	now = pm2_now();
	self = pm2.current;
	self->wake_at = us < (NO_TIME - now) / NS_PER_US ? now + us * NS_PER_US : NO_TIME - 1;
	for (after = pm2.sleeping.last; after && after->wake_at > self->wake_at; )
		after = after->before;
	self->before = after;
	self->next = after ? after->next : pm2.sleeping.first;
	*(after ? &after->next : &pm2.sleeping.first) = self;
	*(self->next ? &self->next->before : &pm2.sleeping.last) = self;
	pm2_block(SLEEPS);
	pm2_leave();
	return PM2_OK;
}

/* ---- preemption ---- */

/* Makes sleepers and arrivals ready. Lets them run, if this thread may be preempted. */
static void preempt(void)
{
	pm2_poll();
	wake();
	if ((pm2.ready.first || pm2.quick.first) && pm2.quantum_us && !pm2.current->unpreempted) {
		pm2.counters.preemptions++;
		pm2_ready(pm2.current);
		next();
	}
	pm2_leave();
}

static void allow_signal(void)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, 0);
}

void pm2_late(void)
{
	pm2_enter();
	pm2.late = 0;
	preempt();
}

/* SIGALRM, from the timer or the handler of messages. If the program is in a function of the C
 * library that is not reentrant, preemption is put off. The signal is blocked meanwhile: another
 * one would interrupt this function, which is outside of the C library, and preempt inside it. */
void pm2_tick(int number, void *info, void *context)
{
	(void)number, (void)context;
	pm2.timer_at = NO_TIME;
	if (pm2.busy) {
		pm2.late = 1;
		return;
	}
	if (((siginfo_t *)info)->si_code != SI_KERNEL) {
		set_timer(pm2_now() + AGAIN_US * NS_PER_US);
		return;
	}
	pm2_enter();
	allow_signal();                 /* for the thread that runs next */
	preempt();
}

void pm2_preempt_off(void)
{
	if (pm2_may())
		pm2.current->unpreempted++;
}

void pm2_preempt_on(void)
{
	if (!pm2_may() || !pm2.current->unpreempted)
		return;
	pm2_enter();
	pm2.current->unpreempted--;
	pm2_leave();
}

/* ---- the scheduler ---- */

static void work(void)
{
	struct pm2_thread *thread;

	if (pm2.departs || pm2.ends)
		pm2_expect();
	if ((thread = pm2.departs) != 0) {
		pm2.departs = 0;
		pm2_depart(thread);
	}
	if ((thread = pm2.ends) != 0) {
		pm2.ends = 0;
		pm2_ended(thread);
	}
	while ((thread = pm2.quick.first) != 0) {
		pm2_remove(&pm2.quick, thread);
		pm2_serve_quick(thread);
	}
	wake();
}

static void scheduler(void)
{
	for (;;) {
		struct pm2_thread *to;

		work();
		if (!pm2.ready.first) {
			pm2_set_mode(POLLS);
			pm2_poll();
			if (!pm2.ready.first && !pm2.quick.first)
				pm2_wait(pm2.sleeping.first ? pm2.sleeping.first->wake_at :
							      NO_TIME);
			continue;
		}
		to = pm2.ready.first;
		pm2_remove(&pm2.ready, to);
		to->state = RUNS;
		pm2.current = to;
		pm2.counters.switches++;
		pm2_switch(&pm2.scheduler, to);
	}
}

int pm2_scheduler_open(void)
{
	stack = aligned_alloc(64, PM2_QUICK_STACK);
	if (!stack)
		return PM2_ENOMEM;
	pm2_prepare(&pm2.scheduler, (char *)stack + PM2_QUICK_STACK, scheduler);
	pm2.scheduler.canary = stack;
	*pm2.scheduler.canary = CANARY;
	return PM2_OK;
}

void pm2_scheduler_close(void)
{
	free(stack);
}
