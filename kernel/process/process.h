/*
* The kernel's data of each process.
 *
 * A process is a process block, a segment and a processor. A node has one process today. With a
 * rank per core there would be several of these, and nothing in here would be shared. Shared data
 * are in node.h (identity, region, counters), in membership.c, and in the transports (peers' views,
 * cards); data of a processor are in struct cpu.
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H
#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/cpu/cpu.h"
#include "net/portals/process.h"

/*
 * The application's memory: one physically contiguous piece.
 *
 *   offset 0        text | read-only data     the application may not write these
 *   data_offset     data, bss, heap
 *   guard_offset    one page, not mapped for the application
 *   stack_offset    stack, up to `bytes`
 *
 * Virtual address = APP_BASE + offset, physical = physical + offset. Kernels
 * use the two supervisor aliases, whose addresses differ by 512 KiB modulo
 * 1 MiB (docs/measurements.md, The emulator's translation cache).
 */
struct segment {
	uint64_t physical;         /* a multiple of 2 MiB */
	uint64_t bytes;            /* a multiple of 4096 */
	uint64_t rodata_offset;    /* text ends here */
	uint64_t data_offset;      /* what the application may write starts here */
	uint64_t guard_offset;     /* = stack_offset - 4096 */
	uint64_t stack_offset;
	bool code_on_stack;        /* it runs code on the stack (trampolines) */
	uint8_t *alias;            /* physical address modulo 2 MiB is kept */
	uint8_t *shifted;          /* 512 KiB off */
};

/* The place of this node's process block. */
struct block_place {
	uint64_t physical;
	uint64_t bytes;
	uint8_t *pointer;          /* supervisor */
};

#define UPCALL_QUEUES 64u          /* event queues of a process (block limits) */

/* PtlNIInit and PtlNIFini (portals.c). */
#define INTERFACE_COUNTERS 8u      /* counters of the node that the block has (portals.c) */

struct interface {
	uint32_t users;            /* PtlNIInit calls without their PtlNIFini */
	handle_t handle;
	ptl_ni_limits_t granted;   /* valid while there are users */
	bool opened_before;        /* the block is not fresh: PtlNIInit formats it again */
	uint64_t before[INTERFACE_COUNTERS]; /* the node's counters when it was last formatted */
};

/* PtlNIBarrier (barrier.c): a call that an upcall interrupts is repeated, and continues. */
struct barrier {
	uint32_t round;            /* of the one under way */
	bool under_way;            /* entered and neither passed nor failed */
	bool sent;                 /* this round's message, or this process is counted */
	bool failed;               /* for ever: the others' counts mean nothing any more */
};

/* Handlers of event queues, and the application's timer (upcall.c). */
struct upcalls {
	uint32_t queues;           /* queues with a handler, */
	handle_t queue[UPCALL_QUEUES]; /* and which */
	uint64_t entry, stack;     /* of the library, user addresses */
	bool wanted;               /* an event for a handler may be there */
	bool timer;                /* the timer has expired, and the library does not know yet */
	bool running;
	struct trap_frame interrupted; /* valid while running, as the next two are */
	uint64_t thread_pointer;   /* FS base */
	uint8_t *vector_state;     /* x87, SSE, AVX ... as xsave or fxsave writes it */
};

struct process {
	uint32_t rank;             /* in the job */
	uint32_t pid, uid, jid;    /* Portals identity; pid is the one that getpid returns */
	struct block_place block;  /* region: set while booting; without one: by portals_start */
	struct process_view view;  /* the engine's, of the block; its memory is set by the first
	                              PtlNIInit */
	struct segment segment;    /* set after portals_start, before the application runs */
	uint64_t started_ns;       /* when the application was entered */
	uint64_t *calls;           /* margay_start.calls; null: over shared memory, or the
	                              application has not been entered */
	struct interface interface;
	struct barrier barrier;
	struct upcalls upcalls;
};

extern struct process process_boot;

/* The process of the processor that runs this. */
static inline struct process *this_process(void)
{
	return &process_boot;
}

/* Its view, for the engine's calls on behalf of this process. */
static inline struct process_view *own_view(void)
{
	return &this_process()->view;
}

#endif
