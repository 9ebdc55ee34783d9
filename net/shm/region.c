/*
 * Opening a shared region: copying its header and checking the copy. A node does this
 * once, when it boots; the host tests do it with damaged headers.
 */
#include "region.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the node table ends. */
static uint64_t table_end(uint32_t nodes)
{
	return REGION_NODES + nodes * sizeof(struct region_node);
}

/* [offset, offset + bytes) lies in [first, limit) and starts at a multiple of align. */
static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t first, uint64_t limit,
                    uint64_t align)
{
	return offset % align == 0 && offset >= first && offset <= limit &&
	       bytes <= limit - offset;
}

/* Whether these bytes make a ring: a header and a power of two of data bytes. */
static bool is_ring(uint64_t bytes)
{
	uint64_t data = bytes - sizeof(struct region_ring);

	return bytes > sizeof(struct region_ring) && data >= REGION_RING_LEAST &&
	       (data & (data - 1)) == 0;
}

static int check(const struct region_header *h, uint64_t mapped)
{
	uint64_t end = table_end(h->nodes);

	if (h->magic != REGION_MAGIC)
		return REGION_NO_MAGIC;
	if (h->version != REGION_VERSION)
		return REGION_OTHER_VERSION;
	if (h->nodes < 1 || h->nodes > REGION_MAX_NODES)
		return REGION_BAD_NODES;
	if (h->bytes > mapped || h->slice_bytes == 0 || h->slice_bytes % REGION_ALIGN ||
	    h->slice_bytes > h->bytes ||
	    !lies_in(h->slices, h->nodes * h->slice_bytes, end, h->bytes, REGION_ALIGN))
		return REGION_BAD_SIZE;
	if (h->files > h->bytes / sizeof(struct region_file) ||
	    !lies_in(h->file_table, h->files * sizeof(struct region_file), end,
	             h->slices, 64) ||
	    !lies_in(h->stdin_ring, h->stdin_bytes, end, h->slices, 64) ||
	    !is_ring(h->stdin_bytes) ||
	    !lies_in(h->block_offset, h->block_bytes, 0, h->slice_bytes, 4096) ||
	    !lies_in(h->console_offset, h->console_bytes, h->block_offset + h->block_bytes,
	             h->slice_bytes, 4096) ||
	    !is_ring(h->console_bytes) ||
	    !lies_in(h->segment_offset, h->segment_bytes, h->console_offset + h->console_bytes,
	             h->slice_bytes, REGION_ALIGN) ||
	    h->segment_bytes == 0 || h->segment_bytes % 4096)
		return REGION_BAD_LAYOUT;
	return 0;
}

/* Atomic loads, so that the compiler reads each word once: later checks see the same values. */
void region_copy(void *to, const void *shared, uint64_t bytes)
{
	const uint64_t *from = shared;
	uint64_t *word = to;

	for (uint64_t i = 0; i < bytes / 8; i++)
		word[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

int region_open(struct region *region, void *shared, uint64_t mapped)
{
	struct region_header header = { 0 };
	int error;

	if (mapped < table_end(1))
		return REGION_NO_MAGIC;
	region_copy(&header, shared, sizeof(header));
	error = check(&header, mapped);
	if (error)
		return error;
	*region = (struct region){
		.shared = shared,
		.nodes = header.nodes, .files = header.files, .bytes = header.bytes,
		.slices = header.slices, .slice_bytes = header.slice_bytes,
		.block_offset = header.block_offset, .block_bytes = header.block_bytes,
		.console_offset = header.console_offset, .console_bytes = header.console_bytes,
		.segment_offset = header.segment_offset, .segment_bytes = header.segment_bytes,
		.stdin_ring = header.stdin_ring, .stdin_bytes = header.stdin_bytes,
		.file_table = header.file_table,
	};
	return 0;
}

const char *region_error_text(int error)
{
	switch (error) {
	case REGION_NO_MAGIC:      return "no header (was it made by margay run?)";
	case REGION_OTHER_VERSION: return "layout of another version (image and launcher differ)";
	case REGION_BAD_NODES:     return "number of nodes out of range";
	case REGION_BAD_SIZE:      return "slices do not fit into it";
	case REGION_BAD_LAYOUT:    return "parts of a slice overlap or are misaligned";
	default:                   return "unknown error";
	}
}
