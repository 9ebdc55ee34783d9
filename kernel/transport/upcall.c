/*
 * Upcalls. All state is in struct process: the queues with a handler, the library's entry, whether
 * an upcall is wanted, whether the timer has expired, whether an upcall runs, and the interrupted
 * context.
 */
#include "upcall.h"

#include <margay/abi.h>
#include <stdatomic.h>
#include <stddef.h>

#include "drivers/ivshmem.h"
#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/syscall.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "net/portals/eq.h"
#include "net/shm/region.h"
#include "link_shm.h"

#define FXSAVE_BYTES   512u
#define MXCSR_START    0x1f80u     /* no exception traps, round to nearest: as at main */

static bool has_xsave;

void upcall_start(void)
{
	uint64_t bytes = FXSAVE_BYTES;

	has_xsave = cpuid(1, 0).ecx & CPUID1_ECX_XSAVE;
	if (has_xsave)
		bytes = cpuid(CPUID_XSAVE, 0).ebx; /* for the components that XCR0 enables */
	this_process()->upcalls.vector_state = memory_take(bytes, PAGE_BYTES);
}

/* Sets the flag that entry.asm and trap.c check. */
static void decide(void)
{
	const struct upcalls *upcalls = &this_process()->upcalls;

	this_cpu()->upcall = ((upcalls->wanted && upcalls->queues) || upcalls->timer) &&
	                     !upcalls->running;
}

/* No upcall is wanted. While the flag is set no node rings, so it may stay set only if a doorbell
 * is on its way, or an upcall is wanted that can run, or one runs. */
static void settle(void)
{
	this_process()->upcalls.wanted = false;
	if (node.own)
		atomic_exchange(&node.own->upcall, 0);
}

static bool is_text(uint64_t at)
{
	return at - APP_BASE < this_process()->segment.rodata_offset;
}

bool upcall_may_enter(uint64_t at, uint64_t top)
{
	return is_text(at) && top % 16 == 0 && user_range(top - 16, 16, USER_WRITE);
}

void upcall_add(handle_t eq, uint64_t at, uint64_t top)
{
	struct upcalls *upcalls = &this_process()->upcalls;

	if (upcalls->queues == UPCALL_QUEUES) /* a process has no more of them */
		return;
	upcalls->queue[upcalls->queues++] = eq;
	upcalls->entry = at;
	upcalls->stack = top;
}

void upcall_remove(handle_t eq)
{
	struct upcalls *upcalls = &this_process()->upcalls;

	for (uint32_t i = 0; i < upcalls->queues; i++)
		if (upcalls->queue[i] == eq)
			upcalls->queue[i] = upcalls->queue[--upcalls->queues];
	if (!upcalls->queues)
		upcall_remove_all();
	decide();
}

void upcall_remove_all(void)
{
	this_process()->upcalls.queues = 0;
	settle();
	decide();
}

static bool any_unhandled(void)
{
	const struct upcalls *upcalls = &this_process()->upcalls;

	for (uint32_t i = 0; i < upcalls->queues; i++)
		if (eq_unhandled(own_view(), upcalls->queue[i]))
			return true;
	return false;
}

void upcall_check_queues(void)
{
	this_process()->upcalls.wanted |= any_unhandled();
	decide();
}

bool upcall_ring(uint32_t nid)
{
	if (atomic_exchange(&region_node(node.region, nid)->upcall, 1))
		return false;
	ivshmem_ring(nid);
	return true;
}

void upcall_bell(void)
{
	if (!node.own || !atomic_load(&node.own->upcall))
		return;
	if (this_process()->upcalls.queues)
		this_process()->upcalls.wanted = true;
	else
		settle();              /* the queue is gone; senders to the next one must ring */
	decide();
}

void upcall_timer(void)
{
	this_process()->upcalls.timer = true;
	decide();
}

int64_t sys_timer(uint64_t ns, uint64_t entry, uint64_t stack)
{
	struct upcalls *upcalls = &this_process()->upcalls;

	if (ns != UINT64_MAX) {
		if (!upcall_may_enter(entry, stack))
			return -EINVAL;
		upcalls->entry = entry;
		upcalls->stack = stack;
	}
	upcalls->timer = false;
	decide();
	ktimer_alarm(deadline_in(ns));
	return 0;
}

/* ---- entering and leaving ---- */

static void save_vectors(uint8_t *vector_state)
{
	uint32_t initial = MXCSR_START;

	if (has_xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(vector_state), "a"(~0u), "d"(~0u)
		                 : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" : : "r"(vector_state) : "memory");
	__asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(initial));
}

static void restore_vectors(const uint8_t *vector_state)
{
	if (has_xsave)
		__asm__ volatile("xrstor64 (%0)" : : "r"(vector_state), "a"(~0u), "d"(~0u)
		                 : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" : : "r"(vector_state) : "memory");
}

void upcall_enter(struct trap_frame *frame)
{
	struct upcalls *upcalls = &this_process()->upcalls;

	upcalls->interrupted = *frame;
	__asm__ volatile("rdfsbase %0" : "=r"(upcalls->thread_pointer));
	save_vectors(upcalls->vector_state);
	frame->rsi = upcalls->timer;
	frame->rdx = upcalls->interrupted.rip;
	frame->r8 = upcalls->interrupted.rsp;
	upcalls->wanted = false;
	upcalls->timer = false;
	upcalls->running = true;
	decide();
	frame->rip = upcalls->entry;
	frame->rsp = upcalls->stack;
	frame->rflags = RFLAGS_ONE | RFLAGS_IF;
	frame->rdi = upcalls->interrupted.rip + 1; /* with rbp, the caller in a backtrace, which
	                                              expects the end of the instruction */
}

__attribute__((externally_visible)) /* entry.asm */
void upcall_enter_from_call(struct trap_frame *frame)
{
	frame->rcx = frame->rip;      /* as sysret leaves them */
	frame->r11 = frame->rflags;
	upcall_enter(frame);
	frame->rdi--;                 /* it is the end of an instruction */
}

/* MARGAY_MORE_*. */
static int64_t more(struct upcalls *upcalls)
{
	int64_t left = any_unhandled() ? MARGAY_MORE_EVENTS : 0;

	if (upcalls->timer)
		left |= MARGAY_MORE_TIMER;
	upcalls->timer = false;
	return left;
}

int64_t sys_upcall_return(uint64_t detour)
{
	struct upcalls *upcalls = &this_process()->upcalls;
	int64_t left;

	if (!upcalls->running || (detour && !is_text(detour)))
		return -EINVAL;
	left = more(upcalls);
	if (left)
		return left;
	settle();
	left = more(upcalls);
	if (left)
		return left;
	upcalls->running = false;
	decide();
	restore_vectors(upcalls->vector_state);
	__asm__ volatile("wrfsbase %0" : : "r"(upcalls->thread_pointer));
	*user_frame() = upcalls->interrupted;
	if (detour) {
		user_frame()->rip = detour;
		user_frame()->rsp -= MARGAY_DETOUR;
	}
	cpu_trap_return(user_frame());
}
