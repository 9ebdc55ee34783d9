/*
 * Faults of the application: describes and ends it. The kernel's own faults use the same texts
 * (panic_report.c). No state.
 */
#include "fault.h"

#include <margay/abi.h>

#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/cpu/vectors.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "net/shm/region.h"
#include "exit.h"
#include "report.h"

#define CAUSE_BYTES 200u
#define NULL_END    0x10000UL      /* addresses below are a null pointer plus an offset */
#define LOW_END     APP_EVENTS
#define ERROR_IDT   2u             /* of an error code: it names a vector */
#define INT_OPCODE  0xcd           /* int: the vector follows */

struct exception { const char *text; unsigned signal; };

/* SDM vol. 3, table 6-1 */
static const struct exception exceptions[VECTOR_EXCEPTIONS] = {
	[0]  = { "division by zero or overflow of a division", SIGNAL_FPE },
	[1]  = { "debug exception", SIGNAL_TRAP },
	[VECTOR_NMI] = { "non-maskable interrupt", SIGNAL_BUS },
	[VECTOR_BREAKPOINT] = { "breakpoint", SIGNAL_TRAP },
	[4]  = { "overflow", SIGNAL_SEGV },
	[5]  = { "bound range exceeded", SIGNAL_SEGV },
	[VECTOR_ILLEGAL] = { "illegal instruction", SIGNAL_ILL },
	[7]  = { "no floating-point unit", SIGNAL_ILL },
	[VECTOR_DOUBLE_FAULT] = { "double fault", SIGNAL_BUS },
	[10] = { "invalid task segment", SIGNAL_BUS },
	[11] = { "segment not present", SIGNAL_BUS },
	[12] = { "stack segment fault (address not canonical)", SIGNAL_BUS },
	[VECTOR_PROTECTION] = { "general protection (privileged instruction, or address not "
	                        "canonical)", SIGNAL_SEGV },
	[VECTOR_PAGE_FAULT] = { "page fault", SIGNAL_SEGV },
	[16] = { "floating-point exception", SIGNAL_FPE },
	[17] = { "misaligned access", SIGNAL_BUS },
	[VECTOR_MACHINE_CHECK] = { "machine check", SIGNAL_BUS },
	[19] = { "SIMD floating-point exception", SIGNAL_FPE },
	[20] = { "virtualisation exception", SIGNAL_BUS },
	[21] = { "control protection", SIGNAL_SEGV },
};

/* The node whose slice of the region this physical address is in, or -1. */
static int node_at(uint64_t physical)
{
	uint64_t offset = physical - node.region_physical;

	if (!node.region || offset < node.region->slices ||
	    offset - node.region->slices >= node.region->nodes * node.region->slice_bytes)
		return -1;
	return (int)((offset - node.region->slices) / node.region->slice_bytes);
}

/* Describes the part of the segment or of the address space that an address is in. */
static void describe_place(uint64_t address, char *out, size_t bytes)
{
	const struct segment *s = &this_process()->segment;
	uint64_t offset = address - APP_BASE;
	int owner;

	if (address < NULL_END)
		format_text(out, bytes, "null pointer");
	else if (address < LOW_END)
		format_text(out, bytes, "kernel address");
	else if (address < APP_BASE)
		format_text(out, bytes, "event queues, which are read only");
	else if (offset < s->rodata_offset)
		format_text(out, bytes, "program text");
	else if (offset < s->data_offset)
		format_text(out, bytes, "read-only data");
	else if (offset - s->guard_offset < PAGE_BYTES)
		format_text(out, bytes, "stack overflow: page under the stack of %lu bytes",
		            s->bytes - s->stack_offset);
	else if (offset >= s->stack_offset && offset < s->bytes)
		format_text(out, bytes, "stack");
	else if (offset < s->bytes)
		format_text(out, bytes, "data");
	else if (address >= DIRECT_BASE && address < DIRECT_END &&
	         (owner = node_at(memory_physical((const void *)address))) >= 0 && (uint32_t)owner != node.id)
		format_text(out, bytes, "memory of node %d", owner);
	else if (address >= DIRECT_BASE)
		format_text(out, bytes, "kernel address");
	else
		format_text(out, bytes, "address outside the segment");
}

static void describe_page_fault(const struct trap_frame *frame, char *out, size_t bytes)
{
	uint64_t address = READ_CR(2);
	char place[80];

	describe_place(address, place, sizeof(place));
	format_text(out, bytes, "%s at 0x%016lx (%s)",
	            frame->error & PAGE_FAULT_FETCH ? "execution" :
	            frame->error & PAGE_FAULT_WRITE ? "write" : "read", address, place);
}

/* Describes the bytes at rip: 0x62 begins AVX-512 (SDM vol. 2, 2.7), 0x0f 0x0b is ud2. */
static void describe_illegal(const struct trap_frame *frame, char *out, size_t bytes)
{
	const uint8_t *at = frame->cs & 3 ? user_range(frame->rip, 4, USER_READ) : NULL;

	if (!at)
		format_text(out, bytes, "illegal instruction");
	else if (at[0] == 0x0f && at[1] == 0x0b)
		format_text(out, bytes, "illegal instruction (ud2: the program stops itself there)");
	else
		format_text(out, bytes, "illegal instruction (bytes %02x %02x %02x %02x%s): this "
		            "processor does not have it; compile without -march=native",
		            at[0], at[1], at[2], at[3], at[0] == 0x62 ? ", AVX-512" : "");
}

/* A general protection fault has an error code if a vector or a selector caused it (SDM vol. 3,
 * 6.13). The vector is read from the instruction, as QEMU 7.2 puts twice its number there. */
static void describe_protection(const struct trap_frame *frame, char *out, size_t bytes)
{
	const uint8_t *at = frame->cs & 3 ? user_range(frame->rip, 2, USER_READ) : NULL;

	if (frame->error & ERROR_IDT && at && at[0] == INT_OPCODE)
		format_text(out, bytes, "general protection (int 0x%02x: not for applications)", at[1]);
	else if (frame->error && !(frame->error & ERROR_IDT))
		format_text(out, bytes, "general protection (segment selector 0x%04lx: not for "
		            "applications)", frame->error & 0xffff);
	else
		format_text(out, bytes, "%s", exceptions[VECTOR_PROTECTION].text);
}

unsigned fault_describe(const struct trap_frame *frame, char *out, size_t bytes)
{
	const struct exception *exception = &exceptions[frame->vector % VECTOR_EXCEPTIONS];

	if (frame->vector == VECTOR_PAGE_FAULT)
		describe_page_fault(frame, out, bytes);
	else if (frame->vector == VECTOR_PROTECTION)
		describe_protection(frame, out, bytes);
	else if (frame->vector == VECTOR_ILLEGAL)
		describe_illegal(frame, out, bytes);
	else if (exception->text)
		format_text(out, bytes, "%s", exception->text);
	else
		format_text(out, bytes, "exception %lu", frame->vector);
	return exception->text ? exception->signal : (unsigned)SIGNAL_BUS;
}

void fault_application(const struct trap_frame *frame)
{
	char cause[CAUSE_BYTES];
	unsigned signal = fault_describe(frame, cause, sizeof(cause));

	report_application(frame, cause, signal);
	end_by_signal(signal);
}

void fault_bad_pointer(const char *call, uint64_t address, uint64_t bytes)
{
	char cause[CAUSE_BYTES], place[80];

	describe_place(address, place, sizeof(place));
	format_text(cause, sizeof(cause),
	            "bad system call pointer: %s with %lu bytes at 0x%016lx (%s)", call, bytes,
	            address, place);
	report_call(cause, SIGNAL_SEGV);
	end_by_signal(SIGNAL_SEGV);
}
