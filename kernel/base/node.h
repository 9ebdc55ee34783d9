/*
 * What this node is: its place in the job and in the shared region. There is one, `node`. It is
 * filled in during boot (start.c) and constant once the application starts, except `counters`. Data
 * per process is in process.h, data per processor in cpu.h.
 */
#ifndef KERNEL_NODE_H
#define KERNEL_NODE_H
#include <margay/counters.h>
#include <stdbool.h>
#include <stdint.h>

struct region;
struct region_node;

struct node {
	uint32_t id;               /* below size; the doorbell id too */
	uint32_t size;             /* nodes of the job */
	char     name[32];         /* "node3", or what the command line said */
	bool     stats;            /* write the counters to STREAM_STATS at the end */
	uint64_t tsc_hz;

	const struct region *region; /* NULL: no shared region; else its checked copy, in this
	                              kernel's memory (region_open) */
	uint64_t region_physical;
	uint64_t region_bytes;     /* mapped: the whole BAR */
	struct region_node *own;   /* this node's entry in the region, or NULL */

	uint64_t counters[COUNTER_COUNT];
};

extern struct node node;

static inline void count(enum counter which, uint64_t by)
{
	node.counters[which] += by;
}

#endif
