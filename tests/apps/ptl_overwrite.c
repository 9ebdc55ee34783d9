/*
 * ptl_overwrite ROUNDS: rank 1 puts to rank 0, without waiting, messages of all lengths to overlapping
 * places, every second round in memory of several pieces. What rank 0 has in the end is what the same
 * writes leave if they are made one after the other (rule 30). Prints "ok overwrite".
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "job.h"

enum { PT = 4, BYTES = 1 << 20, PUTS = 24, PIECES = 5 };

static struct job job;
static ptl_handle_eq_t eq;
static unsigned char memory[2][BYTES], expected[BYTES], out[PUTS][BYTES];
static ptl_md_iovec_t pieces[PIECES];
static unsigned state;

static unsigned below(unsigned limit)
{
	state = state * 1103515245u + 12345u;
	return (state >> 8) % limit;
}

struct write {
	unsigned at, bytes, value;
};

/* Of the same round and number it is the same on both ranks. */
static struct write next_write(unsigned round, unsigned number)
{
	static const unsigned longest[] = { 64, 128, 4096, 65536, 200000, BYTES };
	struct write write;

	state = round * PUTS + number + 1;
	below(2);
	write.bytes = 1 + below(longest[below(sizeof longest / sizeof *longest)]);
	write.at = below(4) ? below(BYTES - write.bytes + 1) : 0;
	write.value = 1 + below(255);
	return write;
}

static void attach(void)
{
	const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = job_memory(memory[0], BYTES, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
	                         PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq);
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	job_check(PtlMEAttach(job.ni, PT, any, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	job_check(PtlMDAttach(me, md, PTL_RETAIN, &handle), "PtlMDAttach");
	for (unsigned i = 0; i < PIECES; i++)
		pieces[i] = (ptl_md_iovec_t){ memory[1] + i * (BYTES / PIECES),
		                              i + 1 < PIECES ? BYTES / PIECES :
		                              BYTES - i * (BYTES / PIECES) };
	md.start = pieces;
	md.length = PIECES;
	md.options |= PTL_MD_IOVEC;
	job_check(PtlMEAttach(job.ni, PT, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	job_check(PtlMDAttach(me, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

static void put_round(unsigned round)
{
	ptl_handle_md_t md[PUTS];

	for (unsigned i = 0; i < PUTS; i++) {
		struct write write = next_write(round, i);

		memset(out[i], (int)write.value, write.bytes);
		job_check(PtlMDBind(job.ni, job_memory(out[i], write.bytes,
		                                       PTL_MD_EVENT_START_DISABLE |
		                                       PTL_MD_EVENT_END_DISABLE, eq),
		                    PTL_RETAIN, &md[i]), "PtlMDBind");
	}
	for (unsigned i = 0; i < PUTS; i++)
		job_check(PtlPut(md[i], PTL_ACK_REQ, margay_process(0), PT, 0, round % 2,
		                 next_write(round, i).at, 0), "PtlPut");
	for (unsigned acks = 0; acks < PUTS; acks++)
		EQUAL(job_good_event(eq).type, PTL_EVENT_ACK);
	for (unsigned i = 0; i < PUTS; i++)
		while (PtlMDUnlink(md[i]) == PTL_MD_IN_USE)
			;
}

static void check_round(unsigned round)
{
	const unsigned char *found = memory[round % 2];

	for (unsigned i = 0; i < PUTS; i++) {
		struct write write = next_write(round, i);

		memset(expected + write.at, (int)write.value, write.bytes);
	}
	for (unsigned i = 0; i < BYTES; i++)
		if (found[i] != expected[i]) {
			printf("round %u: byte %u is %u, should be %u\n", round, i, found[i],
			       expected[i]);
			exit(1);
		}
	memcpy(memory[(round + 1) % 2], expected, BYTES);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 4 * PUTS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	if (job.rank == 0)
		attach();
	for (unsigned round = 0; round < rounds; round++) {
		job_check(PtlNIBarrier(job.ni), "PtlNIBarrier");
		if (job.rank == 1)
			put_round(round);
		job_check(PtlNIBarrier(job.ni), "PtlNIBarrier");
		if (job.rank == 0)
			check_round(round);
	}
	if (job.rank == 0)
		puts("ok overwrite");
	job_end(&job);
	return 0;
}
