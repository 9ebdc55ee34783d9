/*
 * The system call table, and the calls about the process itself. Data: which
 * missing calls were reported.
 */
#include "kernel/base/syscall.h"

#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/time.h"
#include "kernel/portals/portals.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/exit.h"
#include "kernel/report/fault.h"
#include "kernel/report/report.h"
#include "kernel/transport/cards.h"
#include "kernel/transport/wait.h"

#define MISSING_NAMES 64u          /* after this many different names, no more lines */
#define MISSING_NAME  40u
#define SIGNALS       65u          /* real-time ones included */

typedef void (*handler)(void);     /* entry.asm calls each with its own arguments */

/* entry.asm */
__attribute__((externally_visible)) extern const handler syscall_table[SYS_COUNT];
const handler syscall_table[SYS_COUNT] = {
#define X(NAME, name, args) [SYS_##NAME] = (handler)sys_##name,
	MARGAY_SYSCALLS(X)
#undef X
};

int64_t sys_getpid(void)
{
	return this_process()->pid;
}

int64_t sys_exit(uint64_t status)
{
	end_by_exit((unsigned)status);
}

int64_t sys_end_job(uint64_t status)
{
	end_with_the_job((unsigned)status);
}

int64_t sys_killed(uint64_t signal)
{
	if (signal < 1 || signal >= SIGNALS)
		return -EINVAL;
	report_call(signal == SIGNAL_ALRM ? "ended by alarm or a timer, as it has no handler" :
	            "ended by abort, raise or kill", (unsigned)signal);
	end_by_signal((unsigned)signal);
}

int64_t sys_nanosleep(uint64_t ns)
{
	return wait_time_or_upcall(deadline_in(ns), "the end of a nanosleep") ? 0 : -EINTR;
}

int64_t sys_rusage(uint64_t address)
{
	struct margay_rusage *usage = user_range(address, sizeof(*usage), USER_WRITE);
	uint64_t halted_ns = node.counters[COUNTER_HALTED_NS], ran_ns;

	if (!usage)
		fault_bad_pointer("getrusage", address, sizeof(*usage));
	portals_count();
	ran_ns = now_ns() - this_process()->started_ns;
	*usage = (struct margay_rusage){
		.user_ns = ran_ns > halted_ns ? ran_ns - halted_ns : 0,
		.halted_ns = halted_ns,
		.messages = node.counters[COUNTER_MESSAGES],
	};
	return 0;
}

int64_t sys_flush(void)
{
	WRITE_CR(3, READ_CR(3));
	return 0;
}

/* True the first time that a name is seen. */
static bool is_new(const char *name)
{
	static uint32_t seen[MISSING_NAMES];
	static uint32_t names;
	uint32_t hash = string_hash(name, strlen(name));

	for (uint32_t i = 0; i < names; i++)
		if (seen[i] == hash)
			return false;
	if (names == MISSING_NAMES)
		return false;
	seen[names++] = hash;
	return true;
}

/* Copies the text, with bytes other than printable ASCII as \xNN. */
static void escape(char *to, size_t room, const char *from)
{
	size_t used = 0;

	for (; *from && used + sizeof("\\xNN") <= room; from++)
		used += format_text(to + used, room - used,
		                    *from >= ' ' && *from <= '~' ? "%c" : "\\x%02x", (uint8_t)*from);
	to[used] = 0;
}

int64_t syscall_unknown(uint64_t number);

__attribute__((externally_visible)) /* entry.asm */
int64_t syscall_unknown(uint64_t number)
{
	char name[MISSING_NAME];

	format_text(name, sizeof(name), "system call %lu", number);
	count(COUNTER_SYSCALLS_MISSING, 1);
	if (is_new(name))
		console_line("rank %u: %s: no such system call (ENOSYS)", this_process()->rank,
		             name);
	return -ENOSYS;
}

int64_t sys_missing(uint64_t address, uint64_t bytes)
{
	const char *from = user_range(address, bytes, USER_READ);
	char name[MISSING_NAME], shown[4 * MISSING_NAME];

	if (!from)
		fault_bad_pointer("missing", address, bytes);
	if (bytes > sizeof(name) - 1)
		bytes = sizeof(name) - 1;
	memcpy(name, from, bytes);
	name[bytes] = 0;
	count(COUNTER_SYSCALLS_MISSING, 1);
	if (is_new(name)) {
		escape(shown, sizeof(shown), name);
		console_line("rank %u: %s: not available on this kernel (ENOSYS)", this_process()->rank,
		             shown);
	}
	return -ENOSYS;
}

int64_t sys_backtrace(void)
{
	console_begin_report();
	console_line("rank %u (node %u): backtrace", this_process()->rank, node.id);
	report_application_frames(user_frame());
	console_end_report();
	return 0;
}

int64_t sys_counters(uint64_t address, uint64_t n)
{
	uint64_t wanted = n < COUNTER_COUNT ? n : COUNTER_COUNT;
	uint64_t *out = user_range(address, wanted * sizeof(*out), USER_WRITE);

	if (!out)
		fault_bad_pointer("margay_counters", address, wanted * sizeof(*out));
	portals_count();
	cards_count();
	memcpy(out, node.counters, wanted * sizeof(*out));
	return COUNTER_COUNT;
}
