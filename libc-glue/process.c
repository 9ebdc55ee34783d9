/*
 * The process: its end, its signals to itself, its names, what it may ask about
 * the system. Owns the signal mask, which only remembers what is blocked:
 * signals come from the process itself alone, by raise and kill.
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "heap.h"
#include "syscall.h"

#define PAGE 4096

static sigset_t blocked, pending;

void _exit(int status)
{
	for (;;)
		glue_call1(SYS_EXIT, status);
}

int _getpid(void)
{
	return (int)glue_call1(SYS_GETPID, 0);
}

/* Ends here when raise finds no handler: the signal's default action. */
int _kill(int pid, int signal)
{
	if (pid != _getpid()) {
		errno = ESRCH;
		return -1;
	}
	switch (signal) {
	case SIGCHLD:
	case SIGURG:
	case SIGCONT:
	case SIGWINCH:
		return 0;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return (int)glue_missing("kill(SIGSTOP)");
	}
	for (;;)
		glue_call1(SYS_KILLED, signal);
}

/* A handler may see the signal, but cannot keep the process from ending by it. */
void abort(void)
{
	blocked &= ~(sigset_t)(1u << SIGABRT);
	raise(SIGABRT);
	for (;;)
		glue_call1(SYS_KILLED, SIGABRT);
}

int kill(pid_t pid, int signal)
{
	if (pid != _getpid() && pid != 0) {
		errno = ESRCH;
		return -1;
	}
	if (signal < 0 || signal >= NSIG) {
		errno = EINVAL;
		return -1;
	}
	if (signal == 0)
		return 0;
	if (blocked & (1u << signal)) {
		pending |= 1u << signal;
		return 0;
	}
	return raise(signal);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t before = blocked;

	if (set) {
		sigset_t wanted = *set & ~(sigset_t)(1u << SIGKILL | 1u << SIGSTOP);

		switch (how) {
		case SIG_BLOCK:
			blocked |= wanted;
			break;
		case SIG_UNBLOCK:
			blocked &= ~*set;
			break;
		case SIG_SETMASK:
			blocked = wanted;
			break;
		default:
			errno = EINVAL;
			return -1;
		}
	}
	if (old)
		*old = before;
	for (int signal = 1; signal < NSIG; signal++)
		if (pending & ~blocked & (1u << signal)) {
			pending &= ~(sigset_t)(1u << signal);
			raise(signal);
		}
	return 0;
}

int sigpending(sigset_t *set)
{
	*set = pending;
	return 0;
}

static struct sigaction actions[NSIG];

/* A handler of sigaction stays; signal's is reset before it is called. */
static void dispatch(int number)
{
	struct sigaction action = actions[number];
	sigset_t before = blocked;

	signal(number, dispatch);
	blocked |= action.sa_mask;
	action.sa_handler(number);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	void (*before)(int);

	if (number <= 0 || number >= NSIG || number == SIGKILL || number == SIGSTOP) {
		errno = EINVAL;
		return -1;
	}
	before = signal(number, SIG_IGN);
	if (old) {
		*old = actions[number];
		if (before != dispatch)
			*old = (struct sigaction){ .sa_handler = before };
	}
	if (!action) {
		signal(number, before);
		return 0;
	}
	actions[number] = *action;
	if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
		signal(number, action->sa_handler);
	else
		signal(number, dispatch);
	return 0;
}

/* There is no command interpreter. */
int system(const char *command)
{
	return command ? (int)glue_missing("system") : 0;
}

int gethostname(char *name, size_t bytes)
{
	size_t length = strnlen(glue_start.node_name, sizeof glue_start.node_name);

	if (length >= bytes) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, glue_start.node_name, length);
	name[length] = '\0';
	return 0;
}

int getpagesize(void)
{
	return PAGE;
}

long sysconf(int name)
{
	switch (name) {
	case _SC_PAGESIZE:
		return PAGE;
	case _SC_NPROCESSORS_CONF:
	case _SC_NPROCESSORS_ONLN:
		return 1;
	case _SC_PHYS_PAGES:
		return (long)((glue_start.heap_end + glue_start.stack_bytes - APP_BASE) / PAGE);
	case _SC_AVPHYS_PAGES:
		return (long)((glue_start.heap_end - heap_break()) / PAGE);
	case _SC_CLK_TCK:
		return 1000000;
	case _SC_OPEN_MAX:
		return 64;
	case _SC_ARG_MAX:
		return 4096;
	case _SC_HOST_NAME_MAX:
		return sizeof glue_start.node_name - 1;
	case _SC_VERSION:
		return 200809;
	case _SC_MONOTONIC_CLOCK:
	case _SC_TIMERS:
		return 200809;
	case _SC_CHILD_MAX:
	case _SC_STREAM_MAX:
	case _SC_THREADS:
	case _SC_JOB_CONTROL:
	case _SC_FSYNC:
		return -1;
	default:
		errno = EINVAL;
		return -1;
	}
}

/* Every process is the job's owner; there are no others. */
uid_t getuid(void)
{
	return 0;
}

uid_t geteuid(void)
{
	return 0;
}

gid_t getgid(void)
{
	return 0;
}

gid_t getegid(void)
{
	return 0;
}

pid_t getppid(void)
{
	return 0;
}

int issetugid(void)
{
	return 0;
}

/* Random bytes from the processor; at most 256 in a call. */
int getentropy(void *to, size_t bytes)
{
	uint32_t features, others[3];
	char *next = to;

	if (bytes > 256) {
		errno = EIO;
		return -1;
	}
	__asm__("cpuid" : "=a"(others[0]), "=b"(others[1]), "=c"(features), "=d"(others[2])
		: "a"(1), "c"(0));
	if (!(features & 1u << 30))
		return (int)glue_missing("getentropy");
	while (bytes) {
		size_t piece = bytes < sizeof(uint64_t) ? bytes : sizeof(uint64_t);
		uint64_t random;
		uint8_t good;

		__asm__ volatile("rdrand %0; setc %1" : "=r"(random), "=q"(good) : : "cc");
		if (!good)
			continue;
		memcpy(next, &random, piece);
		next += piece;
		bytes -= piece;
	}
	return 0;
}

mode_t umask(mode_t mode)
{
	static mode_t current = 022;
	mode_t before = current;

	current = mode & 0777;
	return before;
}
