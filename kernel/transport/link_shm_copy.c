/*
 * Copies of payload between segments, see link_shm_copy.h. The own segment has two aliases, so
 * every copy can avoid thrashing the emulator's translation cache.
 */
#include "link_shm_copy.h"

#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "net/port.h"
#include "net/portals/iovec.h"

/* Copies whose two ends differ by less than this modulo COLLISION_PERIOD
 * thrash the emulator's translation cache (docs/measurements.md). */
#define COLLISION_PERIOD  0x100000UL
#define COLLISION_MARGIN  (2 * PAGE_BYTES)

/* The alias of a byte of the own segment that does not collide with `other`. */
static uint8_t *own_alias(uint64_t offset, const uint8_t *other)
{
	uint8_t *alias = this_process()->segment.alias + offset;
	uint64_t apart = (uint64_t)(other - alias) + COLLISION_MARGIN;

	if ((apart & (COLLISION_PERIOD - 1)) >= 2 * COLLISION_MARGIN)
		return alias;
	return this_process()->segment.shifted + offset;
}

/* Copies one contiguous piece to another. */
static void copy_piece(const struct process_view *to, uint64_t at, const struct process_view *from,
                       uint64_t offset, uint64_t bytes)
{
	uint8_t *t = to->memory + at;
	const uint8_t *f = from->memory + offset;

	if (to != own_view()) {
		f = own_alias(offset, t);
	} else if (from != own_view()) {
		t = own_alias(at, f);
	} else if (at - offset < bytes || offset - at < bytes) {
		port_move(t, f, bytes); /* needs both in one mapping */
		return;
	} else {
		f = own_alias(offset, t);
	}
	port_copy(t, f, bytes);
}

int link_shm_copy(const struct process_view *to, const struct grant *dest,
              const struct process_view *from, const struct grant *source)
{
	uint64_t bytes = dest->bytes < source->bytes ? dest->bytes : source->bytes, here;
	struct span into, out;

	for (uint64_t at = 0; at < bytes; at += here) {
		if (deliver_span(to, dest, at, &into) || deliver_span(from, source, at, &out))
			return DELIVER_DAMAGED;
		here = into.bytes < out.bytes ? into.bytes : out.bytes;
		if (here > bytes - at)
			here = bytes - at;
		copy_piece(to, into.offset, from, out.offset, here);
	}
	count(COUNTER_COPIED_BYTES, bytes);
	return DELIVER_OK;
}
