/*
 * The process: its end, its names, its queries about the system, and waits for another thread. Owns
 * the handler of its end.
 */
#include "linux.h"

#include <string.h>
#include "enter.h"
#include "syscall.h"


/* Operations of SYS_futex. musl uses those without bits, libstdc++ those with bits. libstdc++'s
 * bits are all ones, and its time is absolute. */
enum { FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE = 3, FUTEX_WAIT_BITS = 9, FUTEX_WAKE_BITS };
#define FUTEX_REALTIME 0x100
#define FUTEX_FLAGS 0x180       /* private, and the clock */

int (*process_end_handler)(int status);

_Noreturn void linux_exit(int status)
{
	int (*handler)(int) = process_end_handler;

	process_end_handler = NULL;     /* it may exit itself */
	if (handler)
		status = handler(status);
	for (;;)
		glue_call1(SYS_EXIT, status);
}

long linux_getpid(void)
{
	return glue_call1(SYS_GETPID, 0);
}

long linux_uname(struct utsname *to)
{
	*to = (struct utsname){ .sysname = "Margay", .release = MARGAY_VERSION,
				.version = "compute node kernel", .machine = "x86_64" };
	memcpy(to->nodename, glue_start.node_name,
	       strnlen(glue_start.node_name, sizeof glue_start.node_name));
	return 0;
}

/* Random bytes from the processor. */
long linux_getrandom(void *to, size_t bytes)
{
	uint32_t features, others[3];
	char *next = to, *end = next + bytes;

	__asm__("cpuid" : "=a"(others[0]), "=b"(others[1]), "=c"(features), "=d"(others[2])
		: "a"(1), "c"(0));
	if (!(features & 1u << 30))
		return glue_missing("getrandom");
	while (next < end) {
		size_t left = (size_t)(end - next);
		size_t piece = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
		uint64_t random;
		uint8_t good;

		__asm__ volatile("rdrand %0; setc %1" : "=r"(random), "=q"(good) : : "cc");
		if (!good)
			continue;
		memcpy(next, &random, piece);
		next += piece;
	}
	return (long)bytes;
}

static rlim_t limit_of(int resource)
{
	switch (resource) {
	case RLIMIT_STACK:
		return glue_start.stack_bytes;
	case RLIMIT_DATA:
	case RLIMIT_AS:
	case RLIMIT_RSS:
		return glue_start.heap_end + glue_start.stack_bytes - APP_BASE;
	case RLIMIT_NOFILE:
		return MARGAY_OPEN_FILES;
	case RLIMIT_CORE:
		return 0;
	case RLIMIT_NPROC:
		return 1;
	default:
		return RLIM_INFINITY;
	}
}

/* The limits are the node's: none can be raised; a lowered one is not stored. */
long linux_prlimit(int resource, const struct rlimit *limit, struct rlimit *old)
{
	rlim_t most;

	if (resource < 0 || resource >= RLIM_NLIMITS)
		return -EINVAL;
	most = limit_of(resource);
	if (limit && limit->rlim_cur > limit->rlim_max)
		return -EINVAL;
	if (limit && limit->rlim_max > most)
		return -EPERM;
	if (old)
		*old = (struct rlimit){ most, most };
	return 0;
}

long linux_sysinfo(struct sysinfo *to)
{
	memset(to, 0, offsetof(struct sysinfo, __reserved));
	to->uptime = glue_now_ns() / 1000000000;
	to->totalram = glue_start.heap_end + glue_start.stack_bytes - APP_BASE;
	to->freeram = memory_free_bytes();
	to->procs = 1;
	to->mem_unit = 1;
	return 0;
}

long linux_sched_getaffinity(size_t bytes, void *to)
{
	static const uint64_t first = 1;

	if (bytes < sizeof first)
		return -EINVAL;
	memcpy(to, &first, sizeof first);
	return sizeof first;
}

/* ---- waits for another thread ---- */

/* Only an event queue's handler runs besides the program: if there is one, it may change the
 * word. */
static _Noreturn void wait_for_ever(void)
{
	static const char text[] = "margay: the program waits for a lock, condition or semaphore "
				   "that only another thread could free, and there is none\n";

	glue_say(text);
	for (;;)
		glue_call1(SYS_KILLED, SIGABRT);
}

struct futex {
	volatile int *word;
	int value;                      /* that it has */
	unsigned long handled;          /* signals_handled when the wait began */
};

static int has_changed(const void *argument)
{
	const struct futex *futex = argument;

	return *futex->word != futex->value || signals_handled != futex->handled;
}

/* Only a handler without SA_RESTART ends the wait, as on Linux even if it changed the word. After
 * each handler the word may have nothing left that could change it. */
static long futex_wait(volatile int *word, int value, int64_t ns)
{
	struct futex futex = { word, value, 0 };
	uint64_t end = glue_now_ns() + (uint64_t)ns;
	unsigned long before = signals_interrupting;

	if (*word != value)
		return -EAGAIN;
	while (*word == value) {
		/* An upcall at this moment may clear signal_timer and set signal_due: read in this
		 * order, one of them is set. */
		if (ns == INT64_MAX && !__atomic_load_n(&signal_timer, __ATOMIC_ACQUIRE) &&
		    !signal_due && !(upcall_has_queues && upcall_has_queues()))
			wait_for_ever();
		futex.handled = signals_handled;
		if (!wait_for_change(has_changed, &futex, end))
			return -ETIMEDOUT;
		if (signals_interrupting != before)
			return -EINTR;
	}
	return 0;
}

long linux_futex(volatile int *word, int operation, int value, const struct timespec *timeout)
{
	int64_t ns = timeout ? time_ns(timeout) : INT64_MAX;
	struct timespec now;

	if (ns < 0)
		return -EINVAL;
	switch (operation & ~FUTEX_FLAGS) {
	case FUTEX_WAIT_BITS:
		if (timeout) {
			linux_clock_gettime(operation & FUTEX_REALTIME ? CLOCK_REALTIME
								       : CLOCK_MONOTONIC, &now);
			ns -= time_ns(&now);
		}
		return futex_wait(word, value, ns > 0 ? ns : 0);
	case FUTEX_WAIT:
		return futex_wait(word, value, ns);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITS:
	case FUTEX_REQUEUE:
		return 0;
	default:
		return -ENOSYS;
	}
}
