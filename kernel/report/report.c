/*
 * Reports of registers and backtraces, as lines on the kernel's stream. The launcher adds function,
 * file and line to the addresses. No state. Called by system calls, by exceptions, during a panic,
 * and for a request of the launcher (region_requests.c), even in a doorbell's interrupt.
 */
#include "report.h"

#include <margay/abi.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "unwind.h"

#define FRAMES 32u                 /* a longer backtrace */
#define FEW    10u                 /* shows this many and the number of the others */
#define COUNTED 1000000u           /* most frames that are counted */

/* What a frame pointer points to. */
struct stack_frame { uint64_t rbp, rip; };

const char *signal_name(unsigned signal)
{
	static const char *const names[] = {
		[1] = "SIGHUP", [2] = "SIGINT", [SIGNAL_QUIT] = "SIGQUIT", [SIGNAL_ILL] = "SIGILL",
		[SIGNAL_TRAP] = "SIGTRAP", [SIGNAL_ABRT] = "SIGABRT", [SIGNAL_BUS] = "SIGBUS",
		[SIGNAL_FPE] = "SIGFPE", [9] = "SIGKILL", [10] = "SIGUSR1",
		[SIGNAL_SEGV] = "SIGSEGV", [12] = "SIGUSR2", [13] = "SIGPIPE", [SIGNAL_ALRM] = "SIGALRM",
		[15] = "SIGTERM",
	};

	if (signal < sizeof(names) / sizeof(names[0]) && names[signal])
		return names[signal];
	return signal < 32 ? "another signal" : "a real-time signal";
}

void report_registers(const struct trap_frame *f)
{
	console_line("  rip %016lx rsp %016lx rflags %08lx", f->rip, f->rsp, f->rflags);
	console_line("  rax %016lx rbx %016lx rcx %016lx rdx %016lx", f->rax, f->rbx, f->rcx,
	             f->rdx);
	console_line("  rsi %016lx rdi %016lx rbp %016lx r8  %016lx", f->rsi, f->rdi, f->rbp,
	             f->r8);
	console_line("  r9  %016lx r10 %016lx r11 %016lx r12 %016lx", f->r9, f->r10, f->r11,
	             f->r12);
	console_line("  r13 %016lx r14 %016lx r15 %016lx", f->r13, f->r14, f->r15);
}

/* At a system call: what entry.asm stores. */
static void report_arguments(const struct trap_frame *f)
{
	console_line("  rip %016lx rsp %016lx rflags %08lx rbp %016lx", f->rip, f->rsp, f->rflags,
	             f->rbp);
	console_line("  rdi %016lx rsi %016lx rdx %016lx r10 %016lx", f->rdi, f->rsi, f->rdx,
	             f->r10);
	console_line("  r8  %016lx r9  %016lx", f->r8, f->r9);
}

static void line_of(unsigned number, uint64_t rip)
{
	console_line("  #%u 0x%016lx", number, rip);
}

static bool in_application_text(uint64_t rip)
{
	return rip >= APP_BASE && rip < (uint64_t)margay_app_text_end;
}

/* The return address that no frame pointer leads to. After a jump to a bad address it is on top of
 * the stack; in a function without a frame it is nearby. */
static const uint64_t *frameless_return(const struct trap_frame *frame)
{
	uint64_t slot = frame->rsp;

	if (in_application_text(frame->rip) && !unwind_slot(frame->rip, frame->rsp, &slot))
		return NULL;
	return user_range(slot, sizeof(uint64_t), USER_READ);
}

/* The return address that a frame pointer leads to, and the next frame pointer: higher, or 0.
 * 0 at the end of the chain. */
static uint64_t next_caller(uint64_t *rbp)
{
	const struct stack_frame *at;
	uint64_t here = *rbp;

	if (!here || here % sizeof(uint64_t))
		return 0;
	at = user_range(here, sizeof(*at), USER_READ);
	if (!at || !in_application_text(at->rip))
		return 0;
	*rbp = at->rbp > here ? at->rbp : 0;
	return at->rip;
}

static unsigned count_callers(uint64_t rbp)
{
	unsigned callers = 0;

	while (callers < COUNTED && next_caller(&rbp))
		callers++;
	return callers;
}

void report_application_frames(const struct trap_frame *frame)
{
	const uint64_t *back = frameless_return(frame);
	uint64_t rbp = frame->rbp, rip;
	unsigned number = 0, callers, most;

	line_of(number++, frame->rip);
	if (back && in_application_text(*back))
		line_of(number++, *back);
	callers = count_callers(rbp);
	most = number + callers > FRAMES ? FEW : FRAMES;
	for (; number < most && (rip = next_caller(&rbp)); callers--)
		line_of(number++, rip);
	if (callers)
		console_line("  ... %u more frames", callers);
}

void report_kernel_frames(uint64_t rip, uint64_t rbp)
{
	const uint64_t low = (uint64_t)kernel_stack, high = (uint64_t)kernel_stack_top;
	unsigned number = 0;

	if (rip)
		line_of(number++, rip);
	while (number < FRAMES && rbp % sizeof(uint64_t) == 0 && rbp >= low &&
	       rbp <= high - sizeof(struct stack_frame)) {
		const struct stack_frame *at = (const struct stack_frame *)rbp;

		if (at->rip < (uint64_t)margay_kernel_start ||
		    at->rip >= (uint64_t)margay_kernel_text_end)
			break;
		line_of(number++, at->rip);
		if (at->rbp <= rbp)
			break;
		rbp = at->rbp;
	}
}

static void report_cause(const char *cause, unsigned signal)
{
	console_line("rank %u (node %u): %s, signal %u (%s)", this_process()->rank, node.id, cause,
	             signal, signal_name(signal));
	if (this_process()->upcalls.running)
		console_line("  in an event handler (upcall)");
}

void report_application(const struct trap_frame *frame, const char *cause, unsigned signal)
{
	console_begin_report();
	report_cause(cause, signal);
	report_registers(frame);
	report_application_frames(frame);
	console_end_report();
}

void report_call(const char *cause, unsigned signal)
{
	console_begin_report();
	report_cause(cause, signal);
	report_arguments(user_frame());
	report_application_frames(user_frame());
	console_end_report();
}
