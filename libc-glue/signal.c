/*
 * Signals of the process to itself, by raise, kill and abort, and by its timer. A handler of the
 * first kind is called as a function, inside the call that delivers the signal. The timer's signal
 * interrupts the program where it is (detour.c), but not inside the C library, whose functions
 * (malloc, stdio) need not be reentrant then. There it waits for the end of the next call that
 * would enter Linux, or ends a wait, or comes a little later, when a retry finds the program
 * outside. The same holds for a signal that an event queue's handler sends. A fault ends the
 * process, whatever its handlers are. Owns the actions, the mask, the pending signals and the one
 * timer.
 */
#include "linux.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "enter.h"
#include "syscall.h"

#define SIGNALS 64
#define NS      1000000000ULL
#define NO_TIME (~0ULL)

/* A signal that found the program inside the library is retried after this time, which doubles with
 * each retry. */
#define RETRY_LEAST_NS 20000ULL
#define RETRY_MOST_NS  10000000ULL

static struct linux_action actions[SIGNALS + 1];
static uint64_t blocked;
static volatile uint64_t pending;       /* upcalls add to it */
static volatile uint64_t queued;        /* those of them that sigqueue has sent */
static union sigval values[SIGNALS + 1];        /* of these */
unsigned long signals_handled;
unsigned long signals_interrupting;
static stack_t alternative = { .ss_flags = SS_DISABLE };
volatile int signal_due;
uint64_t signal_timer;                  /* monotonic ns of the next SIGALRM; 0: not set */
static uint64_t timer_period;           /* ns; 0: it comes once */
static uint64_t retry_at = NO_TIME;     /* monotonic ns of the next retry */
static uint64_t retry_ns = RETRY_LEAST_NS;
static uint64_t armed_at = NO_TIME;     /* expiry of the kernel's timer */
/* What wait_for_change waits for, or null; null while a handler runs, which may never return. */
static int (*volatile awaits)(const void *);
static const void *volatile awaits_argument;

extern const char margay_libc_start[], margay_libc_end[]; /* linker.ld */

static uint64_t bit(int number)
{
	return 1ULL << (number - 1);
}

static int is_signal(int number)
{
	return number > 0 && number <= SIGNALS;
}

static int is_ignored_by_default(int number)
{
	return number == SIGCHLD || number == SIGURG || number == SIGCONT || number == SIGWINCH;
}

static void default_action(int number)
{
	if (is_ignored_by_default(number))
		return;
	switch (number) {
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

static void deliver(siginfo_t info)
{
	int number = info.si_signo;
	struct linux_action action = actions[number];
	uint64_t before = blocked;
	int (*waits)(const void *) = awaits;
	const void *argument = awaits_argument;

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
	signals_handled++;
	signals_interrupting += !(action.flags & SA_RESTART);
	awaits = NULL;
	if (action.flags & SA_SIGINFO) {
		void (*handler)(int, siginfo_t *, void *) = (void *)action.handler;
		ucontext_t context = { 0 };

		memcpy(&context.uc_sigmask, &before, sizeof before);
		handler(number, &info, &context);
	} else {
		action.handler(number);
	}
	awaits_argument = argument;
	awaits = waits;
	blocked = before;
}

/* Shared with upcalls. */
static void add(int number)
{
	__atomic_fetch_or(&pending, bit(number), __ATOMIC_RELAXED);
}

/* An upcall's sigqueue changes nothing as long as the signal is pending. */
static siginfo_t take(int number)
{
	siginfo_t info = { .si_signo = number, .si_code = SI_USER };

	info.si_pid = (pid_t)linux_getpid();
	if (queued & bit(number)) {
		info.si_code = SI_QUEUE;
		info.si_value = values[number];
		__atomic_fetch_and(&queued, ~bit(number), __ATOMIC_SEQ_CST);
	}
	__atomic_fetch_and(&pending, ~bit(number), __ATOMIC_SEQ_CST);
	return info;
}

/* A signal that an event queue's handler has sent waits for that handler's end, unless it ends the
 * process. */
static uint64_t deliverable(void)
{
	uint64_t now = pending & ~blocked;

	if (upcall_is_running())
		for (int number = 1; number <= SIGNALS; number++)
			if (actions[number].handler != SIG_DFL)
				now &= ~bit(number);
	return now;
}

/* Delivers pending signals that are not blocked. `code` goes to the handler, which may need it,
 * unless sigqueue has sent the signal: SI_KERNEL if the program was interrupted outside of all
 * functions of the library, else SI_USER. */
static void let_through(int code)
{
	uint64_t now;

	signal_due = 0;
	while ((now = deliverable()) != 0) {
		siginfo_t info = take(__builtin_ctzl(now) + 1);

		if (info.si_code == SI_USER)
			info.si_code = code;
		deliver(info);
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
	add(number);
	let_through(SI_USER);
	return 0;
}

/* A signal is pending only once, with the value of the first. */
long linux_sigqueue(int pid, int number, const siginfo_t *info)
{
	if ((pid == linux_getpid() || pid == 0) && is_signal(number) && !(pending & bit(number))) {
		values[number] = info->si_value;
		__atomic_fetch_or(&queued, bit(number), __ATOMIC_SEQ_CST);
	}
	return linux_kill(pid, number);
}

long linux_sigaction(int number, const struct linux_action *action, struct linux_action *old)
{
	if (!is_signal(number) || (action && (number == SIGKILL || number == SIGSTOP)))
		return -EINVAL;
	if (old)
		*old = actions[number];
	if (!action)
		return 0;
	actions[number] = *action;
	if (action->handler == SIG_IGN ||
	    (action->handler == SIG_DFL && is_ignored_by_default(number)))
		take(number);           /* a pending one is discarded */
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
	let_through(SI_USER);
	return 0;
}

long linux_sigpending(uint64_t *set)
{
	*set = pending;
	return 0;
}

/* Handlers run on the ordinary stack: no signal is delivered on stack overflow. */
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
	int before = errno;

	if (!upcall_is_running())
		let_through(SI_USER);
	errno = before;
}

__attribute__((used)) void signal_interrupts(void)
{
	int before = errno;

	let_through(SI_KERNEL);
	errno = before;
}

static uint64_t earliest(void)
{
	return signal_timer && signal_timer < retry_at ? signal_timer : retry_at;
}

/* Sets the kernel's timer for the earliest deadline. An upcall may change both deadlines and the
 * kernel's timer before `armed_at` is stored; then the timer is set once more. */
static void arm(void)
{
	uint64_t at, now;

	while ((at = earliest()) != armed_at) {
		now = glue_now_ns();
		if (at == NO_TIME)
			glue_call1(SYS_TIMER, -1);
		else
			glue_call3(SYS_TIMER, (long)(at > now ? at - now : 0), (long)upcall_entry,
				   (long)upcall_stack());
		armed_at = at;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
}

/* The kernel's timer has expired: raises SIGALRM if it was time. It may have been an earlier timer,
 * which the program is just replacing. */
static void expire(void)
{
	uint64_t now = glue_now_ns();

	armed_at = retry_at = NO_TIME;
	if (signal_timer && signal_timer <= now) {
		/* The next whole period after the first expiry, so that delays do not add up. */
		signal_timer = timer_period ?
			now + timer_period - (now - signal_timer) % timer_period : 0;
		add(SIGALRM);
	}
}

static int in_library(uint64_t rip)
{
	return rip >= (uintptr_t)margay_libc_start && rip < (uintptr_t)margay_libc_end;
}

static void retry_later(void)
{
	if (retry_at != NO_TIME)
		return;
	retry_at = glue_now_ns() + retry_ns;
	retry_ns = retry_ns * 2 < RETRY_MOST_NS ? retry_ns * 2 : RETRY_MOST_NS;
}

long signal_upcall(int timer, uint64_t rip, uint64_t rsp)
{
	long detour = 0;

	if (timer)
		expire();
	if (pending & ~blocked) {
		signal_due = in_library(rip);
		if (!signal_due) {
			detour_prepare();
			*(uint64_t *)(rsp - MARGAY_DETOUR) = rip;
			detour = (long)signal_detour;
			retry_ns = RETRY_LEAST_NS;
		} else {
			retry_later();
		}
	} else if (awaits && awaits(awaits_argument)) {
		retry_later();          /* the wait may be about to begin: another upcall ends it */
	}
	arm();
	return detour;
}

/* Starts the timer, `ns` from now; 0 stops it. */
static long start_timer(uint64_t ns, uint64_t period)
{
	if (ns && !upcall_stack())
		return -ENOMEM;
	timer_period = period;
	signal_timer = ns ? glue_now_ns() + ns : 0;
	arm();
	return 0;
}

/* -1: invalid. More than 2^63 ns count as so many. */
static int64_t microseconds(const struct timeval *time)
{
	struct timespec same = { time->tv_sec, time->tv_usec * 1000 };

	return time->tv_usec < 0 || time->tv_usec >= 1000000 ? -1 : time_ns(&same);
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){ (time_t)(ns / NS), (suseconds_t)(ns % NS / 1000) };
}

long linux_getitimer(int which, struct itimerval *old)
{
	uint64_t now = glue_now_ns(), left = signal_timer > now ? signal_timer - now : 0;

	if (which != ITIMER_REAL)
		return -EINVAL;
	old->it_interval = to_timeval(timer_period);
	/* 0 would mean that it does not run. */
	old->it_value = to_timeval(signal_timer && left < 1000 ? 1000 : left);
	return 0;
}

/* There are no timers of CPU time. As on Linux, null stops the timer. */
long linux_setitimer(int which, const struct itimerval *timer, struct itimerval *old)
{
	static const struct itimerval none;
	int64_t ns, period;

	if (!timer)
		timer = &none;
	ns = microseconds(&timer->it_value);
	period = microseconds(&timer->it_interval);
	if (which != ITIMER_REAL)
		return glue_missing("setitimer(ITIMER_VIRTUAL)");
	if (ns < 0 || period < 0)
		return -EINVAL;
	if (old)
		linux_getitimer(which, old);
	return start_timer((uint64_t)ns, (uint64_t)period);
}

long linux_alarm(unsigned seconds)
{
	uint64_t now = glue_now_ns();
	uint64_t left = signal_timer > now ? (signal_timer - now + NS - 1) / NS : 0;

	start_timer(seconds * NS, 0);
	return (long)left;
}

/* ---- waits ---- */

int signal_ends_call(void)
{
	unsigned long before = signals_interrupting;

	if (signal_due)
		signal_tick();
	return signals_interrupting != before;
}

enum wait { WAIT_OVER, WAIT_MORE, WAIT_INPUT };

/* One wait; also for input if `fd` is not -1. */
static enum wait wait_step(int fd, uint64_t end)
{
	uint64_t now = glue_now_ns(), ns = end - now > INT64_MAX ? INT64_MAX : end - now;
	long result = 0;

	if (now >= end)
		return WAIT_OVER;
	if (!signal_due)
		result = fd < 0 ? glue_call1(SYS_NANOSLEEP, (long)ns) :
			 glue_call3(SYS_READY, fd, (long)ns, 0);
	if (signal_due)
		signal_tick();
	return result > 0 ? WAIT_INPUT : WAIT_MORE;
}

int wait_once(uint64_t end)
{
	return wait_step(-1, end) != WAIT_OVER;
}

int wait_for_change(int (*changed)(const void *), const void *argument, uint64_t end)
{
	int result = 1;

	retry_ns = RETRY_LEAST_NS;
	awaits_argument = argument;
	awaits = changed;
	while (result && !changed(argument))
		result = wait_once(end);
	awaits = NULL;
	return result;
}

long wait_until(uint64_t end)
{
	return wait_for(-1, end, NULL);
}

long wait_for(int fd, uint64_t end, const uint64_t *mask)
{
	uint64_t before = blocked;
	unsigned long count = signals_handled;
	enum wait step = WAIT_MORE;

	if (mask) {
		set_blocked(*mask);
		let_through(SI_USER);
	}
	while (step == WAIT_MORE && signals_handled == count)
		step = wait_step(fd, end);
	if (mask) {
		blocked = before;
		let_through(SI_USER);
	}
	return step == WAIT_INPUT ? 1 : step == WAIT_OVER ? 0 : -EINTR;
}

long linux_pause(void)
{
	return wait_until(~0UL);
}

long linux_sigsuspend(const uint64_t *mask)
{
	return wait_for(-1, ~0UL, mask);
}

static int has_come(const void *set)
{
	return (pending & *(const uint64_t *)set) != 0;
}

/* Waits for a signal of the set, which is usually blocked, so that no handler is called. */
long linux_sigtimedwait(const uint64_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int64_t ns = timeout ? time_ns(timeout) : INT64_MAX;
	uint64_t end = glue_now_ns() + (uint64_t)ns;
	siginfo_t taken;
	int number;

	if (ns < 0)
		return -EINVAL;
	if (!wait_for_change(has_come, set, end))
		return -EAGAIN;
	number = __builtin_ctzl(pending & *set) + 1;
	taken = take(number);
	if (info)
		*info = taken;
	return number;
}
