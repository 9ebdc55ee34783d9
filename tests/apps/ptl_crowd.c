/*
 * ptl_crowd SEED ROUNDS: all ranks send to all. First all ranks put into one array of rank 0 (many
 * to one); then each rank puts blocks of random length to random offsets of areas that other ranks
 * keep for it, with up to WINDOW puts pending, and gets them back. The seed determines the contents
 * of each area.
 */
#include "check.h"
#include "job.h"
#include <string.h>

enum { PT_MANY = 3, PT_AREA = 4, AREA = 4096, WINDOW = 16, MANY = 50 };

static struct job job;
static ptl_handle_eq_t in, own;
static char (*areas)[AREA];     /* areas[r] is for rank r's messages */
static char (*sent)[AREA];      /* expected contents of this rank's area at rank r */

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static void take(ptl_event_kind_t kind)
{
	ptl_event_t event = job_good_event(own);

	EQUAL(event.type, kind);
	EQUAL(event.mlength, event.rlength);
}

/* Every rank writes its own words of rank 0's array; rank 0 counts the events. */
static void many_to_one(uint64_t *counts)
{
	uint64_t value = 1000 + job.rank;
	unsigned options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(&value, sizeof value, options, own), PTL_RETAIN, &md),
	          "PtlMDBind");
	for (int i = 0; i < MANY; i++) {
		job_check(PtlPut(md, PTL_ACK_REQ, margay_process(0), PT_MANY, 0, job.rank,
		                 8 * (job.rank * MANY + i), i), "PtlPut");
		take(PTL_EVENT_ACK);
	}
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	if (job.rank == 0) {
		int seen[64] = { 0 };

		for (int i = 0; i < MANY * job.size; i++) {
			ptl_event_t event = job_good_event(in);

			EQUAL(event.type, PTL_EVENT_PUT_END);
			/* in order within each pair */
			EQUAL(event.hdr_data, seen[event.match_bits]++);
		}
		for (int i = 0; i < MANY * job.size; i++)
			EQUAL(counts[i], 1000 + i / MANY);
		printf("many to one: %d puts\n", MANY * job.size);
	}
	job_barrier(&job);
}

/* Put a block of random bytes to a random rank; `sent` keeps a copy. */
static void put_block(uint64_t *state, char *block, uintptr_t slot)
{
	int to = next(state) % job.size;
	size_t offset = next(state) % AREA, bytes = next(state) % (AREA - offset + 1);
	ptl_md_t md = job_memory(block, bytes, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
	                         own);
	ptl_handle_md_t handle;

	for (size_t b = 0; b < bytes; b++)
		block[b] = next(state) >> 40;
	memcpy(sent[to] + offset, block, bytes);
	md.user_ptr = (void *)slot;
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	job_check(PtlPut(handle, PTL_ACK_REQ, margay_process(to), PT_AREA, 0, job.rank, offset, 0),
	          "PtlPut");
}

/* Puts `rounds` blocks with up to WINDOW pending. */
static void scatter(uint64_t seed, int rounds)
{
	static char block[WINDOW][AREA];
	uint64_t state = seed * 64 + job.rank;

	for (int started = 0, acked = 0; acked < rounds; ) {
		uintptr_t slot = started;

		if (started >= WINDOW || started == rounds) {
			ptl_event_t ack = job_good_event(own);

			EQUAL(ack.type, PTL_EVENT_ACK);
			EQUAL(ack.mlength, ack.rlength);
			job_check(PtlMDUnlink(ack.md_handle), "PtlMDUnlink");
			slot = (uintptr_t)ack.md.user_ptr;
			acked++;
		}
		if (started < rounds) {
			put_block(&state, block[slot], slot);
			started++;
		}
	}
}

/* Gets every area back and compares it. */
static void compare(void)
{
	static char got[AREA];
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(got, AREA, PTL_MD_EVENT_START_DISABLE, own), PTL_RETAIN,
	                    &md), "PtlMDBind");
	for (int from = 0; from < job.size; from++) {
		job_check(PtlGet(md, margay_process(from), PT_AREA, 0, job.rank, 0), "PtlGet");
		take(PTL_EVENT_REPLY_END);
		if (memcmp(got, sent[from], AREA)) {
			fprintf(stderr, "rank %d's area at rank %d is wrong\n", job.rank, from);
			exit(1);
		}
	}
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 200;
	uint64_t *counts;
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	job_start(&job);
	areas = calloc(job.size, AREA);
	sent = calloc(job.size, AREA);
	counts = calloc(job.size * MANY, sizeof *counts);
	CHECK(areas && sent && counts);
	job_check(PtlEQAlloc(job.ni, 4096, PTL_EQ_HANDLER_NONE, &in), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 4 * WINDOW, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	for (int from = 0; from < job.size; from++)
		job_expose(&job, PT_AREA, from, job_memory(areas[from], AREA, PTL_MD_OP_PUT |
		           PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	job_check(PtlMEAttach(job.ni, PT_MANY, (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY }, 0, ~0ULL,
	                      PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	job_check(PtlMDAttach(me, job_memory(counts, job.size * MANY * sizeof *counts, PTL_MD_OP_PUT |
	                      PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, in), PTL_RETAIN, &md),
	          "PtlMDAttach");
	job_barrier(&job);
	many_to_one(counts);
	scatter(seed, rounds);
	compare();
	job_end(&job);
	if (job.rank == 0)
		printf("all to all: %d ranks, seed %llu\n", job.size, (unsigned long long)seed);
	return 0;
}
