/*
 * What this node is: its place in the job, its part of the shared region, its
 * application's segment. There is one, `node`; it is filled in boot order
 * (start.c) and constant from the application's start on, but for `counters`.
 */
#ifndef KERNEL_NODE_H
#define KERNEL_NODE_H
#include <margay/counters.h>
#include <stdbool.h>
#include <stdint.h>

struct region;
struct region_node;

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
	uint8_t *alias;            /* physical address modulo 2 MiB is kept */
	uint8_t *shifted;          /* 512 KiB off */
};

/* Where this node's process block is. */
struct block_place {
	uint64_t physical;
	uint64_t bytes;
	uint8_t *pointer;          /* supervisor */
};

struct node {
	uint32_t id;               /* below size; the doorbell id too */
	uint32_t rank, size;       /* in the job */
	uint32_t pid, uid, jid;    /* Portals identity; pid is the one that getpid returns */
	char     name[32];         /* "node3", or what the command line said */
	bool     stats;            /* write the counters to STREAM_STATS at the end */
	uint64_t tsc_hz;

	const struct region *region; /* NULL: no shared region; else its checked copy, in this
	                              kernel's memory (region_open) */
	uint64_t region_physical;
	uint64_t region_bytes;     /* mapped: the whole BAR */
	struct region_node *own;   /* this node's entry in the region, or NULL */

	struct block_place block;  /* region: set; without one: made by portals_start */
	struct segment segment;    /* set after portals_start, before the application runs */

	uint64_t counters[COUNTER_COUNT];
};

extern struct node node;

static inline void count(enum counter which, uint64_t by)
{
	node.counters[which] += by;
}

/*
 * What the messages' part of the kernel provides (portals*.c, link_shm.c).
 * Interrupts are off in all of them.
 */
void portals_start(void);  /* once, region checked and mapped, no segment yet: may call
                              memory_take and memory_map_events */
void portals_stop(void);   /* once, before the node ends, whatever ended the application;
                              may wait; never fails */

#endif
