/*
 * Opening a shared region (net/shm/region.c): a valid header is accepted, and each kind of damage
 * is reported. Later damage has no effect.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../net/shm/region.h"

#define MAPPED (64ULL << 20)

static struct region_header good(void)
{
	return (struct region_header){
		.magic = REGION_MAGIC, .version = REGION_VERSION, .nodes = 3, .bytes = MAPPED,
		.slices = 0x200000, .slice_bytes = 0x1000000,
		.block_offset = 0, .block_bytes = 0x180000,
		.console_offset = 0x180000, .console_bytes = 0x10000 + sizeof(struct region_ring),
		.segment_offset = 0x200000, .segment_bytes = 0xe00000,
		.stdin_ring = 0x9000, .stdin_bytes = 0x1000 + sizeof(struct region_ring),
		.file_table = 0x8000, .files = 2,
	};
}

static int checked(struct region_header header)
{
	struct region_header *copy = malloc(sizeof(header));
	struct region region;
	int result;

	memcpy(copy, &header, sizeof(header));
	result = region_open(&region, copy, MAPPED);
	free(copy);
	return result;
}

TEST(region_good)
{
	CHECK_IS(checked(good()), 0);
}

#define DAMAGED(change, error) \
	do { \
		struct region_header h = good(); \
		change; \
		CHECK_IS(checked(h), error); \
		CHECK(region_error_text(error)[0]); \
	} while (0)

TEST(region_damaged)
{
	DAMAGED(h.magic++, REGION_NO_MAGIC);
	DAMAGED(h.version++, REGION_OTHER_VERSION);
	DAMAGED(h.nodes = 0, REGION_BAD_NODES);
	DAMAGED(h.nodes = REGION_MAX_NODES + 1, REGION_BAD_NODES);
	DAMAGED(h.nodes = 4, REGION_BAD_SIZE);
	DAMAGED(h.bytes = MAPPED * 2, REGION_BAD_SIZE);
	DAMAGED(h.slices = 4096, REGION_BAD_SIZE);
	DAMAGED(h.slice_bytes = 0, REGION_BAD_SIZE);
	DAMAGED(h.slice_bytes = 1ULL << 63, REGION_BAD_SIZE);
	DAMAGED(h.slice_bytes += 4096, REGION_BAD_SIZE);
	DAMAGED(h.block_offset = 8, REGION_BAD_LAYOUT);
	DAMAGED(h.block_bytes = ~0ULL, REGION_BAD_LAYOUT);
	DAMAGED(h.console_offset = 0, REGION_BAD_LAYOUT);
	DAMAGED(h.console_bytes += 1, REGION_BAD_LAYOUT);
	DAMAGED(h.console_bytes = 64, REGION_BAD_LAYOUT);
	DAMAGED(h.console_bytes = sizeof(struct region_ring) + 16, REGION_BAD_LAYOUT);
	DAMAGED(h.segment_offset = 0, REGION_BAD_LAYOUT);
	DAMAGED(h.segment_offset += 4096, REGION_BAD_LAYOUT);
	DAMAGED(h.segment_bytes += 0x200000, REGION_BAD_LAYOUT);
	DAMAGED(h.segment_bytes = 0, REGION_BAD_LAYOUT);
	DAMAGED(h.file_table = 0, REGION_BAD_LAYOUT);
	DAMAGED(h.files = ~0u, REGION_BAD_LAYOUT);
	DAMAGED(h.stdin_ring = h.slices, REGION_BAD_LAYOUT);
	DAMAGED(h.stdin_bytes = 0, REGION_BAD_LAYOUT);
}

/* Fewer bytes are mapped than a header has: none is read. */
TEST(region_too_small)
{
	struct region_header *none = calloc(1, 1);

	struct region region;

	CHECK_IS(region_open(&region, none, 0), REGION_NO_MAGIC);
	CHECK_IS(region_open(&region, none, 4096), REGION_NO_MAGIC);
	free(none);
}

static int lies_in(uint64_t offset, uint64_t bytes, uint64_t from, uint64_t to)
{
	return offset >= from && offset <= to && bytes <= to - offset;
}

/* Random headers never make the check read out of bounds or accept places that do not fit. */
TEST(region_random)
{
	uint64_t seed = 7;
	int taken = 0;

	for (int i = 0; i < 200000; i++) {
		struct region_header h = good();
		uint64_t *words = (uint64_t *)&h;
		struct region r;

		words[2 + check_random(&seed) % (sizeof(h) / 8 - 3)] =
			check_random(&seed) >> check_random(&seed) % 64;
		if (region_open(&r, &h, MAPPED) == 0) {
			uint64_t table = REGION_NODES + r.nodes * sizeof(struct region_node);

			CHECK(r.slice_bytes <= MAPPED);
			CHECK(lies_in(r.slices, r.nodes * r.slice_bytes, table, MAPPED));
			CHECK(lies_in(r.block_offset, r.block_bytes, 0, r.slice_bytes));
			CHECK(lies_in(r.console_offset, r.console_bytes,
				      r.block_offset + r.block_bytes, r.slice_bytes));
			CHECK(lies_in(r.segment_offset, r.segment_bytes,
				      r.console_offset + r.console_bytes, r.slice_bytes));
			CHECK(lies_in(r.stdin_ring, r.stdin_bytes, table, r.slices));
			CHECK(r.files <= MAPPED / sizeof(struct region_file));
			CHECK(lies_in(r.file_table, r.files * sizeof(struct region_file), table,
				      r.slices));
			taken++;
		}
	}
	CHECK(taken > 1000);
}

/* Another kernel overwrites the header of an open region: the addresses in use stay the same. */
TEST(region_damaged_later)
{
	uint64_t words[REGION_NODES / 8] = { 0 };
	struct region_header *shared = (struct region_header *)words;
	struct region region;

	*shared = good();
	CHECK_IS(region_open(&region, shared, MAPPED), 0);
	memset(shared, 0xff, sizeof(*shared));
	CHECK_IS(region.nodes, 3);
	CHECK_IS(region.segment_bytes, good().segment_bytes);
	CHECK(region_slice(&region, 2) == (uint8_t *)words + good().slices + 2 * good().slice_bytes);
	CHECK((uint8_t *)region_node(&region, 2) == (uint8_t *)words + REGION_NODES + 2 * 256);
}

struct writer {
	struct region_header *shared;
	_Atomic int stop;
};

/* Both values are valid for `nodes` alone, but not with the rest of the header. */
static void *write_nodes(void *arg)
{
	struct writer *writer = arg;

	while (!writer->stop)
		for (uint32_t i = 0; i < 1000; i++)
			__atomic_store_n(&writer->shared->nodes, i & 1 ? 3 : 60, __ATOMIC_RELAXED);
	return 0;
}

/* The values that were checked are used, though another node changes them meanwhile. */
TEST(concurrent_region_open)
{
	struct region_header shared = good();
	struct writer writer = { .shared = &shared };
	struct region region;
	pthread_t thread;
	int opened = 0;

	pthread_create(&thread, 0, write_nodes, &writer);
	/* On a busy machine the writer may rest for long where it has written what is wrong. */
	for (int i = 0; i < 200000 || opened == 0; i++)
		if (region_open(&region, &shared, MAPPED) == 0) {
			CHECK_IS(region.nodes, 3);
			opened++;
		}
	writer.stop = 1;
	pthread_join(thread, 0);
}
