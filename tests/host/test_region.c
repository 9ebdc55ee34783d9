/*
 * The check of the shared region's header (net/shm/region.c): a good one
 * passes, and each way to damage it is named.
 */
#include "check.h"

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
	struct region_header *copy = malloc(MAPPED > 0x10000 ? 0x10000 : MAPPED);
	int result;

	memcpy(copy, &header, sizeof(header));
	result = region_check(copy, MAPPED);
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
	DAMAGED(h.nodes = 65, REGION_BAD_NODES);
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

/* Less mapped than a header needs: nothing of it is read. */
TEST(region_too_small)
{
	struct region_header *none = calloc(1, 1);

	CHECK_IS(region_check(none, 0), REGION_NO_MAGIC);
	CHECK_IS(region_check(none, 4096), REGION_NO_MAGIC);
	free(none);
}

/* Random headers never make the check read or accept what does not fit. */
TEST(region_random)
{
	uint64_t seed = 7;

	for (int i = 0; i < 200000; i++) {
		struct region_header h = good();
		uint64_t *words = (uint64_t *)&h;

		words[2 + check_random(&seed) % (sizeof(h) / 8 - 3)] =
			check_random(&seed) >> check_random(&seed) % 64;
		if (region_check(&h, MAPPED) == 0) {
			CHECK(h.slices + h.nodes * h.slice_bytes <= MAPPED);
			CHECK(h.segment_offset + h.segment_bytes <= h.slice_bytes);
			CHECK(h.stdin_ring + h.stdin_bytes <= h.slices);
		}
	}
}
