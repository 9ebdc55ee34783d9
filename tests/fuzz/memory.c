/*
 * What a step may change: only permitted bytes of a segment, and nothing in the other process's
 * block. Owns the map of the bytes that the current step may write.
 */
#include <string.h>
#include "fuzz.h"

static uint8_t allowed[PROCESSES][SEGMENT];
static int any[PROCESSES];        /* some bytes are permitted */

void memory_forbid(void)
{
	for (uint32_t p = 0; p < PROCESSES; p++) {
		if (any[p])
			memset(allowed[p], 0, SEGMENT);
		any[p] = 0;
	}
}

void memory_allow(struct process *process, struct range range)
{
	uint32_t p = (uint32_t)(process - fuzz.processes);

	if (range.offset > SEGMENT || range.bytes > SEGMENT - range.offset)
		return;
	any[p] = 1;
	memset(allowed[p] + range.offset, 1, range.bytes);
}

static void check_segment(struct process *process, uint32_t p)
{
	if (!any[p]) {
		MUST(!memcmp(process->segment, process->shadow_segment, SEGMENT));
		return;
	}
	for (uint32_t i = 0; i < SEGMENT; i++)
		MUST(process->segment[i] == process->shadow_segment[i] || allowed[p][i]);
	memcpy(process->shadow_segment, process->segment, SEGMENT);
}

/* The engine's word for filling of each queue: any event may change it. */
static void allow_filled(struct process *process)
{
	for (uint32_t i = 0; i < EQS; i++) {
		const struct eq *eq = eq_lookup(&process->view, process->eqs[i]);

		if (eq && eq->handler == EQ_HANDLER_FILLING)
			memory_allow(process, (struct range){ eq->read_index + 8, 8 });
	}
}

void memory_check(void)
{
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct process *process = &fuzz.processes[p];

		allow_filled(process);
		check_segment(process, p);
		if (!(fuzz.touched >> p & 1))
			MUST(block_unchanged(process));
		else
			memcpy(process->shadow_block, process->view.block, fuzz_block_bytes);
	}
}

int block_unchanged(const struct process *process)
{
	return !memcmp(process->shadow_block, process->view.block, fuzz_block_bytes);
}
