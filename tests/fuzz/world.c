/*
 * The fuzzers' world: two processes whose blocks and segments are between inaccessible pages, the
 * loop over the steps, the count of basic blocks. Owns all state of an input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fuzz.h"

#define GUARD  (32ULL << 20)      /* beyond the reach of any 16-bit index */

struct fuzz fuzz;
uint64_t fuzz_block_bytes;

static const struct block_limits limits = {
	.portals = PORTALS, .acs = 4, .mes = MES, .mds = MDS, .eqs = EQS, .ops = OPS,
	.slots = SLOTS, .pieces = PIECES
};

/* A pending change of a block at a given edge. */
static struct {
	uint32_t edge;
	uint32_t bytes;
	void *at;
	uint64_t value;
} later;
static uint32_t edges;
static int tracing;

void fuzz_fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

/* The engine calls this at each of its basic blocks: see build.mk. */
void fuzz_edge(void);
void fuzz_edge(void)
{
	if (++edges > MOST_EDGES)
		fuzz_fail("a call does not end");
	if (edges == later.edge)
		memcpy(later.at, &later.value, later.bytes);
}

struct process_view *fuzz_enter(struct process *process)
{
	edges = 0;
	fuzz.touched |= 1u << (process - fuzz.processes);
	return &process->view;
}

void fuzz_damage_at(uint32_t edge, void *at, uint64_t value, uint32_t bytes)
{
	later.edge = edge;
	later.at = at;
	later.value = value;
	later.bytes = bytes;
}

uint8_t *guarded(uint64_t bytes)
{
	uint8_t *map = mmap(0, bytes + 2 * GUARD, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED || mprotect(map + GUARD, bytes, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(1);
	}
	return map + GUARD;
}

static void make(struct process *process, uint32_t nid)
{
	struct process_view *view = &process->view;

	fuzz_block_bytes = block_bytes(&limits);
	process->segment = guarded(SEGMENT);
	process->fresh = malloc(fuzz_block_bytes);
	process->shadow_block = malloc(fuzz_block_bytes);
	process->shadow_segment = malloc(SEGMENT);
	*view = (struct process_view){ .memory = process->segment, .bytes = SEGMENT, .base = BASE,
				       .nid = nid, .pid = 1, .uid = 1000, .jid = JOB,
				       .usable = { DATA, GUARD_PAGE, STACK } };
	MUST(view_init(view, guarded(fuzz_block_bytes), fuzz_block_bytes, &limits) == 0);
	block_init(view);
	block_open(view);
	memcpy(process->fresh, view->block, fuzz_block_bytes);
	process->before = *view;
}

void fuzz_reset(int damaging)
{
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct process *process = &fuzz.processes[p];

		if (!process->segment)
			make(process, p);
		memcpy(process->view.block, process->fresh, fuzz_block_bytes);
		memcpy(process->shadow_block, process->fresh, fuzz_block_bytes);
		for (uint32_t i = 0; i < SEGMENT; i++)
			process->segment[i] = (uint8_t)(i * 7 + i / 251 + p * 85);
		memcpy(process->shadow_segment, process->segment, SEGMENT);
		memset(process->mes, 0, sizeof(process->mes));
		memset(process->mds, 0, sizeof(process->mds));
		memset(process->eqs, 0, sizeof(process->eqs));
		process->open = 1;
	}
	memset(fuzz.post, 0, sizeof(fuzz.post));
	memset(fuzz.sends, 0, sizeof(fuzz.sends));
	memset(fuzz.opened, 0, sizeof(fuzz.opened));
	fuzz.posted = 0;
	fuzz.damaging = damaging;
	later.edge = 0;
}

/* FUZZ_TRACE=1 prints an input's steps. */
static void trace(const struct step *step)
{
	static const char *const names[STEP_KINDS] = { FUZZ_STEPS(STEP_NAME) };

	fprintf(stderr, "%-13s p=%u a=%02x b=%02x c=%02x d=%02x e=%02x f=%02x "
		"x=%04x y=%04x z=%04x w=%04x\n", names[step->kind % STEP_KINDS], step->p & 1,
		step->a, step->b, step->c, step->d, step->e, step->f, step->x, step->y, step->z,
		step->w);
}

static void carry_out(const struct step *step)
{
	struct process *process = &fuzz.processes[step->p & 1];
	uint32_t kind = step->kind % STEP_KINDS;

	if (tracing)
		trace(step);

	fuzz.touched = 0;
	edges = 0;
	memory_forbid();
	if (kind >= STEP_DAMAGE) {
		if (fuzz.damaging)
			step_damage(process, step);
		return;
	}
	if (kind >= STEP_DELIVER)
		step_deliver(process, step);
	else if (kind >= STEP_PUT)
		step_initiate(process, step);
	else if (kind >= STEP_MD_ATTACH)
		step_descriptor(process, step);
	else
		step_owner(process, step);
	later.edge = 0;
	for (uint32_t p = 0; p < PROCESSES; p++)
		MUST(!memcmp(&fuzz.processes[p].view, &fuzz.processes[p].before,
			     sizeof(struct process_view)));
	if (fuzz.damaging)
		return;
	memory_check();
	for (uint32_t p = 0; p < PROCESSES; p++)
		if (fuzz.touched >> p & 1)
			check_consistency(&fuzz.processes[p]);
}

void fuzz_run(const uint8_t *data, size_t size, int damaging)
{
	struct step step;

	tracing = getenv("FUZZ_TRACE") != 0;
	fuzz_reset(damaging);
	if (getenv("FUZZ_FAIL"))
		fuzz_fail("asked to fail");
	for (size_t i = 0; i < MOST_STEPS && (i + 1) * sizeof(step) <= size; i++) {
		memcpy(&step, data + i * sizeof(step), sizeof(step));
		carry_out(&step);
	}
}
