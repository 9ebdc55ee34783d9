/*
 * Threads as nodes: see threads.h. Owns the bells and the region's memory.
 */
#include "threads.h"
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CANARY        0xa5
#define CANARY_BYTES  4096u

static _Alignas(4096) uint8_t region_memory[REGION_NODES + REGION_MAX_NODES * sizeof(struct region_node)];
static sem_t bells[REGION_MAX_NODES];
_Atomic int threads_rings[REGION_MAX_NODES], threads_halts[REGION_MAX_NODES], threads_lost;

void shm_port_ring(const struct shm_member *self, uint32_t node)
{
	(void)self;
	threads_rings[node]++;
	sem_post(&bells[node]);
}

void shm_port_halt(const struct shm_member *self, uint32_t owner)
{
	struct timespec end;

	(void)owner;
	threads_halts[self->node]++;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	if (sem_timedwait(&bells[self->node], &end))
		threads_lost++;
}

uint64_t shm_port_spin_ns(const struct shm_member *self)
{
	struct timespec now;

	(void)self;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

const struct region *threads_region(uint32_t nodes)
{
	static struct region region;

	memset(region_memory, 0, sizeof(region_memory));
	region = (struct region){ .shared = (void *)region_memory, .nodes = nodes };
	threads_lost = 0;
	for (uint32_t i = 0; i < REGION_MAX_NODES; i++) {
		sem_init(&bells[i], 0, 0);
		threads_rings[i] = threads_halts[i] = 0;
	}
	return &region;
}

void shared_open(struct shared *shared, const struct block_limits *limits, uint64_t segment)
{
	struct process_view *view = &shared->view;
	uint64_t bytes = block_bytes(limits);

	memset(shared, 0, sizeof(*shared));
	shared->map = malloc(segment + 2 * CANARY_BYTES);
	memset(shared->map, CANARY, CANARY_BYTES);
	memset(shared->map + CANARY_BYTES, 0, segment);
	memset(shared->map + CANARY_BYTES + segment, CANARY, CANARY_BYTES);
	view->memory = shared->map + CANARY_BYTES;
	view->bytes = segment;
	view->base = SHARED_BASE;
	view->nid = 0;
	view->pid = 1;
	view->uid = 1000;
	view->jid = SHARED_JOB;
	CHECK_IS(view_init(view, aligned_alloc(BLOCK_PAGE, bytes), bytes, limits), 0);
	memset(view->block, 0, bytes);
	block_init(view);
	block_open(view);
}

void shared_close(struct shared *shared)
{
	struct process_view *view = &shared->view;

	for (uint32_t i = STAT_ME_USED; i < STAT_NID; i += 2) {
		uint64_t used = 1;

		CHECK_IS(block_status(view, i, &used), 0);
		CHECK_IS(used, 0);
	}
	CHECK_IS(block_pending(view), 0);
	for (uint32_t i = 0; i < CANARY_BYTES; i++)
		if (shared->map[i] != CANARY || view->memory[view->bytes + i] != CANARY) {
			check_failed(__FILE__, __LINE__, "canaries are whole");
			break;
		}
	free(view->block);
	free(shared->map);
}

uint64_t shared_memory(struct shared *shared, uint64_t bytes)
{
	uint64_t offset = shared->used;

	shared->used += (bytes + 63) & ~63ULL;
	if (shared->used > shared->view.bytes) {
		check_failed(__FILE__, __LINE__, "the segment is large enough");
		abort();
	}
	return offset;
}

void shared_lock(struct shared *shared, const struct shm_member *self)
{
	if (shm_lock_acquire((struct shm_lock *)shared->view.block->lock, shared->view.nid, self) != SHM_LOCK_OK)
		abort();
}

void shared_unlock(struct shared *shared, const struct shm_member *self)
{
	shm_lock_release((struct shm_lock *)shared->view.block->lock, shared->view.nid, self);
}

struct eq_reader *shared_eq(struct shared *shared, const struct shm_member *self, uint32_t count)
{
	uint64_t offset = shared_memory(shared, sizeof(struct eq_reader));
	struct eq_reader *reader = (struct eq_reader *)(shared->view.memory + offset);
	struct eq_info info = { 0 };

	shared_lock(shared, self);
	CHECK_IS(eq_alloc(&shared->view, count, SHARED_BASE + offset +
			  offsetof(struct eq_reader, next), 0, &info), 0);
	shared_unlock(shared, self);
	reader->handle = info.handle;
	reader->slots = (const event_word *)(shared->view.slots +
					     info.first_slot * EVENT_SLOT_BYTES);
	reader->mask = info.count - 1;
	eq_advance(reader, reader->next);
	return reader;
}

/* Word i of a payload; the last one may be cut. */
static uint64_t word_of(uint64_t key, uint64_t i)
{
	uint64_t x = (key + i + 1) * 0x9e3779b97f4a7c15ULL;

	return x ^ x >> 29;
}

void payload_fill(uint8_t *at, uint64_t key, uint64_t bytes)
{
	for (uint64_t i = 0; i * 8 < bytes; i++) {
		uint64_t word = word_of(key, i), left = bytes - i * 8;

		memcpy(at + i * 8, &word, left < 8 ? left : 8);
	}
}

int payload_is(const uint8_t *at, uint64_t key, uint64_t bytes)
{
	for (uint64_t i = 0; i * 8 < bytes; i++) {
		uint64_t word = word_of(key, i), left = bytes - i * 8;

		if (memcmp(at + i * 8, &word, left < 8 ? left : 8))
			return 0;
	}
	return 1;
}

uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, 0, 0) : otherwise;
}
