/*
 * The data phase of deliver: copies between a granted range and the runner's
 * memory or another range. Called without the lock, or by deliver_inline with
 * it. Each piece of an iovec descriptor is read from the block when it is
 * needed, and then checked against the segment. See deliver.h.
 */
#include "deliver.h"
#include "iovec.h"
#include "md.h"
#include "range.h"
#include "../port.h"

int deliver_span(const struct process_view *view, const struct grant *grant, uint64_t at,
		 struct span *span)
{
	uint32_t index = HANDLE_INDEX(grant->md);

	if (at >= grant->bytes) {
		*span = (struct span){ 0, 0 };
		return DELIVER_OK;
	}
	if (!grant->pieces) {
		*span = (struct span){ grant->offset + at, grant->bytes - at };
		return DELIVER_OK;
	}
	if (index >= view->limits.mds ||
	    md_span(view, &view->mds[index], grant->offset + at, grant->bytes - at, span))
		return DELIVER_DAMAGED;
	return DELIVER_OK;
}

/* Copy bytes [at, at + bytes) of a range, as far as it goes, to or from `memory`. */
static int copy(const struct process_view *view, const struct grant *grant, uint64_t at,
		uint8_t *memory, uint64_t bytes, int write)
{
	struct span span;

	if (at >= grant->bytes)
		return DELIVER_OK;
	if (bytes > grant->bytes - at)
		bytes = grant->bytes - at;
	if (!grant->pieces) {
		uint8_t *range = view->memory + grant->offset + at;

		move_short(write ? range : memory, write ? memory : range, bytes);
		return DELIVER_OK;
	}
	while (bytes) {
		if (deliver_span(view, grant, at, &span))
			return DELIVER_DAMAGED;
		if (span.bytes > bytes)
			span.bytes = bytes;
		if (write)
			port_move(view->memory + span.offset, memory, span.bytes);
		else
			port_move(memory, view->memory + span.offset, span.bytes);
		at += span.bytes;
		memory += span.bytes;
		bytes -= span.bytes;
	}
	return DELIVER_OK;
}

int deliver_data(const struct process_view *view, const struct grant *grant, uint64_t at,
		 const void *source, uint64_t bytes)
{
	return copy(view, grant, at, (uint8_t *)source, bytes, 1);
}

int deliver_read(const struct process_view *view, const struct grant *grant, uint64_t at,
		 void *to, uint64_t bytes)
{
	return copy(view, grant, at, to, bytes, 0);
}

void range_move(void *to, const void *from, uint64_t bytes)
{
	port_move(to, from, bytes);
}

int range_pieces(const struct process_view *view, struct grant grant, void *memory, int write)
{
	return copy(view, &grant, 0, memory, grant.bytes, write);
}

int deliver_copy(const struct process_view *view, const struct grant *grant,
		 const struct process_view *source, const struct grant *from)
{
	uint64_t bytes = grant->bytes < from->bytes ? grant->bytes : from->bytes;
	struct span span;

	for (uint64_t at = 0; at < bytes; at += span.bytes) {
		if (deliver_span(source, from, at, &span))
			return DELIVER_DAMAGED;
		if (deliver_data(view, grant, at, source->memory + span.offset, span.bytes))
			return DELIVER_DAMAGED;
	}
	return DELIVER_OK;
}
