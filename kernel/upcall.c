/*
 * Upcalls. Data: the queues that have a handler, where the library wants to be
 * entered, whether an upcall is wanted and whether one runs, and what it has
 * interrupted.
 */
#include "upcall.h"

#include <margay/abi.h>
#include <stdatomic.h>
#include <stddef.h>

#include "../drivers/ivshmem.h"
#include "../net/portals/eq.h"
#include "../net/shm/region.h"
#include "errno.h"
#include "link_shm.h"
#include "memory.h"
#include "node.h"
#include "syscall.h"
#include "uaccess.h"
#include "x86.h"

#define QUEUES         64u         /* event queues of a process (block limits) */
#define FXSAVE_BYTES   512u
#define MXCSR_START    0x1f80u     /* no exception traps, round to nearest: as at main */

uint32_t upcall_queues;            /* how many have a handler, */
static handle_t queues[QUEUES];    /* and which */
static uint64_t entry, stack;      /* of the library, user addresses */
static bool wanted;                /* an event for a handler may be there */
static bool running;

static struct trap_frame interrupted; /* valid while running, as the next two are */
static uint64_t thread_pointer;    /* FS base */
static uint8_t *vector_state;      /* x87, SSE, AVX ... as xsave or fxsave writes it */
static bool has_xsave;

/* vectors.asm: back to what `frame` says; it lies at the top of the kernel stack. */
_Noreturn void trap_return(struct trap_frame *frame);

void upcall_start(void)
{
	uint64_t bytes = FXSAVE_BYTES;

	has_xsave = cpuid(1, 0).ecx & CPUID1_ECX_XSAVE;
	if (has_xsave)
		bytes = cpuid(CPUID_XSAVE, 0).ebx; /* for the components that XCR0 enables */
	vector_state = memory_take(bytes, PAGE_BYTES);
}

/* What entry.asm and trap.c look at. */
static void decide(void)
{
	this_cpu()->upcall = wanted && !running && upcall_queues;
}

/* Nothing is wanted. While the flag is set nobody rings: so it may stay set only if a
 * bell is on its way, or an upcall is wanted that can come, or one runs. */
static void settle(void)
{
	wanted = false;
	if (node.own)
		atomic_exchange(&node.own->upcall, 0);
}

bool upcall_may_enter(uint64_t at, uint64_t top)
{
	return at - APP_BASE < node.segment.rodata_offset && top % 16 == 0 &&
	       user_range(top - 16, 16, USER_WRITE);
}

void upcall_add(handle_t eq, uint64_t at, uint64_t top)
{
	if (upcall_queues == QUEUES) /* a process has no more of them */
		return;
	queues[upcall_queues++] = eq;
	entry = at;
	stack = top;
}

void upcall_remove(handle_t eq)
{
	for (uint32_t i = 0; i < upcall_queues; i++)
		if (queues[i] == eq)
			queues[i] = queues[--upcall_queues];
	if (!upcall_queues)
		upcall_remove_all();
	decide();
}

void upcall_remove_all(void)
{
	upcall_queues = 0;
	settle();
	decide();
}

static bool any_unhandled(void)
{
	for (uint32_t i = 0; i < upcall_queues; i++)
		if (eq_unhandled(&own_view, queues[i]))
			return true;
	return false;
}

void upcall_look_again(void)
{
	wanted |= any_unhandled();
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
	if (upcall_queues)
		wanted = true;
	else
		settle();              /* the queue is gone; the next one's senders must ring */
	decide();
}

bool upcall_is_running(void)
{
	return running;
}

/* ---- entering and leaving ---- */

static void save_vectors(void)
{
	uint32_t initial = MXCSR_START;

	if (has_xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(vector_state), "a"(~0u), "d"(~0u)
		                 : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" : : "r"(vector_state) : "memory");
	__asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(initial));
}

static void restore_vectors(void)
{
	if (has_xsave)
		__asm__ volatile("xrstor64 (%0)" : : "r"(vector_state), "a"(~0u), "d"(~0u)
		                 : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" : : "r"(vector_state) : "memory");
}

void upcall_enter(struct trap_frame *frame)
{
	interrupted = *frame;
	__asm__ volatile("rdfsbase %0" : "=r"(thread_pointer));
	save_vectors();
	wanted = false;
	running = true;
	decide();
	frame->rip = entry;
	frame->rsp = stack;
	frame->rflags = RFLAGS_ONE | RFLAGS_IF;
	frame->rdi = interrupted.rip + 1; /* with rbp, the caller in a backtrace, which takes
	                                     it for the end of the instruction */
}

void upcall_enter_from_call(struct trap_frame *frame)
{
	frame->rcx = frame->rip;      /* as sysret would leave them */
	frame->r11 = frame->rflags;
	upcall_enter(frame);
	frame->rdi--;                 /* it is the end of an instruction */
}

int64_t sys_upcall_return(void)
{
	if (!running)
		return -EINVAL;
	if (any_unhandled())
		return 1;
	settle();
	if (any_unhandled())
		return 1;
	running = false;
	restore_vectors();
	__asm__ volatile("wrfsbase %0" : : "r"(thread_pointer));
	*user_frame() = interrupted;
	trap_return(user_frame());
}
