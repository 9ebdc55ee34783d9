/*
 * Grants: whether the granted range is memory that a descriptor had when its owner made it,
 * whatever the block contains now.
 */
#include "fuzz.h"

/* The next contiguous part of a descriptor from logical byte `at` on. */
static struct range part_of(const struct known *md, uint64_t at)
{
	for (uint32_t i = 0; i < md->pieces; at -= md->memory[i++].bytes)
		if (at < md->memory[i].bytes)
			return (struct range){ md->memory[i].offset + at, md->memory[i].bytes - at };
	return (struct range){ 0, 0 };
}

/* An iovec's range is logical: resolve it span by span, as runners do. */
static void check_spans(struct process *process, const struct known *md,
			const struct grant *grant)
{
	struct span span;

	/* deliver_inline may have unlinked it: memory_check will tell */
	if (!md_lookup(&process->view, grant->md))
		return;
	for (uint64_t at = 0; at < grant->bytes; at += span.bytes) {
		struct range range = part_of(md, grant->offset + at);

		if (deliver_span(fuzz_enter(process), grant, at, &span)) {
			MUST(fuzz.damaging);
			return;
		}
		MUST(span.bytes > 0 && span.bytes <= grant->bytes - at);
		MUST(span.offset <= SEGMENT && span.bytes <= SEGMENT - span.offset);
		MUST_IF_WHOLE(span.offset == range.offset && span.bytes <= range.bytes);
	}
}

void check_grant(struct process *process, const struct grant *grant, struct known *md)
{
	const struct known *known = known_md(process, grant->md);

	*md = known ? *known : (struct known){ .handle = HANDLE_NONE };
	MUST_IF_WHOLE(known);
	if (grant->pieces) {
		check_spans(process, md, grant);
		return;
	}
	MUST(grant->offset <= SEGMENT && grant->bytes <= SEGMENT - grant->offset);
	if (fuzz.damaging || grant->bytes == 0)
		return;
	MUST(md->pieces == 1 && grant->offset >= md->memory[0].offset);
	MUST(grant->offset + grant->bytes <= md->memory[0].offset + md->memory[0].bytes);
}

void memory_allow_grant(struct process *process, const struct known *md,
			const struct grant *grant)
{
	struct range range = { grant->offset, grant->bytes };

	if (!grant->pieces) {
		memory_allow(process, range);
		return;
	}
	for (uint64_t at = 0; at < grant->bytes; at += range.bytes) {
		range = part_of(md, grant->offset + at);
		if (range.bytes == 0)
			return;
		if (range.bytes > grant->bytes - at)
			range.bytes = grant->bytes - at;
		memory_allow(process, range);
	}
}
