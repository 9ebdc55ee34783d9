/*
 * Signals: of the process to itself, by raise, kill and abort, and of its timers.
 * A handler is called as a function, within the call that lets the signal through.
 * Nothing interrupts a program that computes: the signal of a timer comes at the
 * end of the next call that would enter Linux, or ends a wait. A fault ends the
 * process, whatever its handlers are. Owns the actions, the mask, what is pending
 * and the one timer.
 */
#include "linux.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "syscall.h"

#define SIGNALS 64
#define NS      1000000000ULL

static struct linux_action actions[SIGNALS + 1];
static uint64_t blocked, pending;
static unsigned long handled;           /* signals that a handler was called for */
static unsigned long interrupting;      /* those of them whose action is without SA_RESTART */
static stack_t alternative = { .ss_flags = SS_DISABLE };
uint64_t signal_timer;                  /* monotonic ns at which SIGALRM comes; 0: not set */
static uint64_t timer_period;           /* ns; 0: it comes once */

static uint64_t bit(int number)
{
	return 1ULL << (number - 1);
}

static int is_signal(int number)
{
	return number > 0 && number <= SIGNALS;
}

static void default_action(int number)
{
	switch (number) {
	case SIGCHLD:
	case SIGURG:
	case SIGCONT:
	case SIGWINCH:
		return;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		glue_missing("kill(SIGSTOP)");
		return;
	}
	for (;;)
		glue_call1(SYS_KILLED, number);
}

static void let_through(void);

static void deliver(int number)
{
	struct linux_action action = actions[number];
	uint64_t before = blocked;

	if (action.handler == SIG_IGN)
		return;
	if (action.handler == SIG_DFL) {
		default_action(number);
		return;
	}
	if (action.flags & SA_RESETHAND)
		actions[number].handler = SIG_DFL;
	blocked |= action.mask;
	if (!(action.flags & SA_NODEFER))
		blocked |= bit(number);
	handled++;
	interrupting += !(action.flags & SA_RESTART);
	if (action.flags & SA_SIGINFO) {
		void (*handler)(int, siginfo_t *, void *) = (void *)action.handler;
		siginfo_t info = { .si_signo = number, .si_code = SI_USER };
		ucontext_t context = { 0 };

		info.si_pid = (pid_t)linux_getpid();
		memcpy(&context.uc_sigmask, &before, sizeof before);
		handler(number, &info, &context);
	} else {
		action.handler(number);
	}
	blocked = before;
	let_through();
}

/* Delivers what is pending and not blocked. */
static void let_through(void)
{
	while (pending & ~blocked) {
		int number = __builtin_ctzl(pending & ~blocked) + 1;

		pending &= ~bit(number);
		deliver(number);
	}
}

long linux_kill(int pid, int number)
{
	if (pid != linux_getpid() && pid != 0)
		return -ESRCH;
	if (number == 0)
		return 0;
	if (!is_signal(number))
		return -EINVAL;
	pending |= bit(number);
	let_through();
	return 0;
}

long linux_sigaction(int number, const struct linux_action *action, struct linux_action *old)
{
	if (!is_signal(number) || (action && (number == SIGKILL || number == SIGSTOP)))
		return -EINVAL;
	if (old)
		*old = actions[number];
	if (action)
		actions[number] = *action;
	return 0;
}

static void set_blocked(uint64_t set)
{
	blocked = set & ~(bit(SIGKILL) | bit(SIGSTOP));
}

long linux_sigprocmask(int how, const uint64_t *set, uint64_t *old)
{
	uint64_t before = blocked;

	if (set) {
		switch (how) {
		case SIG_BLOCK:
			set_blocked(blocked | *set);
			break;
		case SIG_UNBLOCK:
			set_blocked(blocked & ~*set);
			break;
		case SIG_SETMASK:
			set_blocked(*set);
			break;
		default:
			return -EINVAL;
		}
	}
	if (old)
		*old = before;
	let_through();
	return 0;
}

long linux_sigpending(uint64_t *set)
{
	*set = pending;
	return 0;
}

/* Handlers run on the ordinary stack: no signal comes when that is used up. */
long linux_sigaltstack(const stack_t *stack, stack_t *old)
{
	if (stack && (stack->ss_flags & ~SS_DISABLE))
		return -EINVAL;
	if (stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size < MINSIGSTKSZ)
		return -ENOMEM;
	if (old)
		*old = alternative;
	if (stack)
		alternative = *stack;
	return 0;
}

/* ---- timers ---- */

void signal_tick(void)
{
	uint64_t now = glue_now_ns();

	if (now < signal_timer)
		return;
	signal_timer = timer_period ? now + timer_period : 0;
	pending |= bit(SIGALRM);
	let_through();
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS + (uint64_t)time->tv_usec * 1000;
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){ (time_t)(ns / NS), (suseconds_t)(ns % NS / 1000) };
}

long linux_getitimer(int which, struct itimerval *old)
{
	uint64_t now = glue_now_ns();

	if (which != ITIMER_REAL)
		return -EINVAL;
	old->it_interval = to_timeval(timer_period);
	old->it_value = to_timeval(signal_timer > now ? signal_timer - now : signal_timer != 0);
	return 0;
}

/* Timers of CPU time are not there: nothing would interrupt the program. */
long linux_setitimer(int which, const struct itimerval *timer, struct itimerval *old)
{
	uint64_t ns;

	if (which != ITIMER_REAL)
		return glue_missing("setitimer(ITIMER_VIRTUAL)");
	if (timer->it_value.tv_sec < 0 || timer->it_value.tv_usec < 0 ||
	    timer->it_value.tv_usec >= 1000000)
		return -EINVAL;
	if (old)
		linux_getitimer(which, old);
	ns = microseconds(&timer->it_value);
	timer_period = microseconds(&timer->it_interval);
	signal_timer = ns ? glue_now_ns() + ns : 0;
	return 0;
}

long linux_alarm(unsigned seconds)
{
	uint64_t now = glue_now_ns();
	uint64_t left = signal_timer > now ? (signal_timer - now + NS - 1) / NS : 0;

	timer_period = 0;
	signal_timer = seconds ? now + seconds * NS : 0;
	return (long)left;
}

/* ---- waits ---- */

long signal_due_ns(void)
{
	uint64_t now = glue_now_ns();

	if (!signal_timer)
		return -1;
	return signal_timer > now ? (long)(signal_timer - now) : 0;
}

int signal_interrupts(void)
{
	unsigned long before = interrupting;

	if (signal_timer)
		signal_tick();
	return interrupting != before;
}

int wait_once(uint64_t end)
{
	uint64_t now = glue_now_ns(), until = end;

	if (now >= end)
		return 0;
	if (signal_timer && signal_timer < until)
		until = signal_timer;
	until = until > now ? until - now : 0;
	glue_call1(SYS_NANOSLEEP, (long)(until > INT64_MAX ? INT64_MAX : until));
	if (signal_timer)
		signal_tick();
	return 1;
}

long wait_until(uint64_t end)
{
	unsigned long before = handled;

	while (wait_once(end))
		if (handled != before)
			return -EINTR;
	return 0;
}

long linux_pause(void)
{
	return wait_until(~0UL);
}

long linux_sigsuspend(const uint64_t *mask)
{
	uint64_t before = blocked;
	unsigned long count = handled;

	set_blocked(*mask);
	let_through();
	if (handled == count)
		linux_pause();
	blocked = before;
	let_through();
	return -EINTR;
}

/* The wait ends at a signal of the set, which is blocked as a rule, so that no handler
 * is called. */
long linux_sigtimedwait(const uint64_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int64_t ns = timeout ? time_ns(timeout) : INT64_MAX;
	uint64_t end = glue_now_ns() + (uint64_t)ns;
	int number;

	if (ns < 0)
		return -EINVAL;
	while (!(pending & *set))
		if (!wait_once(end))
			return -EAGAIN;
	number = __builtin_ctzl(pending & *set) + 1;
	pending &= ~bit(number);
	if (info) {
		*info = (siginfo_t){ .si_signo = number, .si_code = SI_USER };
		info->si_pid = (pid_t)linux_getpid();
	}
	return number;
}
