/*
 * Threads as nodes: the port of net/shm/lock.c with a semaphore per node as its doorbell, and one
 * process (a block and a segment) into which several threads deliver, each acting as a kernel that
 * maps it. For the tests named concurrent_*.
 */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H
#include "../../lib/portals/eq_reader.h"
#include "../../net/portals/deliver.h"
#include "../../net/portals/eq.h"
#include "../../net/shm/lock.h"
#include "../../net/shm/region.h"
#include "check.h"

extern _Atomic int threads_rings[REGION_MAX_NODES];   /* bells that were rung */
extern _Atomic int threads_halts[REGION_MAX_NODES];   /* times that a node halted */
extern _Atomic int threads_lost;   /* halts not ended by a doorbell within 20 s */

/* Make a region of `nodes` living nodes, with no doorbell rung and all counts 0. Only one at a
 * time. */
const struct region *threads_region(uint32_t nodes);

#define SHARED_BASE  0x40000000ULL   /* the owner's address of its segment */
#define SHARED_JOB   7u

/* The process that the threads share: node 0 is its owner. */
struct shared {
	struct process_view view;
	uint8_t *map;             /* the segment between its canaries */
	uint64_t used;            /* bytes of the segment that shared_memory has allocated */
};

void shared_open(struct shared *shared, const struct block_limits *limits, uint64_t segment);

/* Checks that every pool is empty, nothing is pending and no canary has changed. */
void shared_close(struct shared *shared);

/* Allocate bytes of the segment, aligned to a cache line; returns their offset. */
uint64_t shared_memory(struct shared *shared, uint64_t bytes);

void shared_lock(struct shared *shared, const struct shm_member *self);
void shared_unlock(struct shared *shared, const struct shm_member *self);

/* A queue whose reader lies in the segment, as an application's does. */
struct eq_reader *shared_eq(struct shared *shared, const struct shm_member *self,
			    uint32_t count);

/* A payload's byte i depends on its key only. Lengths need no alignment. */
void payload_fill(uint8_t *at, uint64_t key, uint64_t bytes);
int payload_is(const uint8_t *at, uint64_t key, uint64_t bytes);

/* Numbers from the environment, for longer runs than the default. */
uint64_t setting(const char *name, uint64_t otherwise);

#endif
