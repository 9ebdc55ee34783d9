/*
 * ptl_long BYTES COUNT: every rank but 0 puts COUNT messages of about BYTES bytes to rank 0, four
 * pending at a time, each to its own place; rank 0 compares every byte and those around it, and
 * then allows the next one. Puts of one rank must end in order. Rank 0 prints how many it has
 * taken.
 */
#include <string.h>

#include "../../apps/job.h"

enum { PORTAL = 1, WINDOW = 4, EDGE = 64 };

static struct job job;
static size_t stride;          /* distance between places in bytes */

/* Lengths vary around BYTES, so that the last parts vary too. */
static size_t length_of(size_t bytes, long i)
{
	return bytes - (size_t)(i % 3) * 1000 + (size_t)(i % 5);
}

static uint64_t word_of(int rank, long i, size_t at)
{
	return ((uint64_t)rank << 40 ^ (uint64_t)i << 20 ^ at) * 0x9e3779b97f4a7c15ULL;
}

static void send_all(size_t bytes, long count)
{
	ptl_process_id_t target = margay_process(0);
	ptl_handle_eq_t go, own;
	char *place = aligned_alloc(64, WINDOW * stride);

	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &go), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_expose(&job, PORTAL, 0, job_memory(place, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE |
	                                       PTL_MD_EVENT_START_DISABLE, go), PTL_RETAIN);
	job_barrier(&job);
	for (long i = 0; i < count + WINDOW; i++) {
		if (i >= WINDOW)
			job_good_event(go);
		if (i < count) {
			uint64_t *words = (uint64_t *)(place + i % WINDOW * stride);
			size_t length = length_of(bytes, i);
			ptl_handle_md_t md;

			for (size_t at = 0; 8 * at < length; at++)
				words[at] = word_of(job.rank, i, at);
			job_check(PtlMDBind(job.ni, job_memory(words, length, PTL_MD_EVENT_START_DISABLE |
			                                       PTL_MD_EVENT_END_DISABLE, own),
			                    PTL_RETAIN, &md), "PtlMDBind");
			job_check(PtlPut(md, PTL_ACK_REQ, target, PORTAL, 0, job.rank,
			                 i % WINDOW * stride + EDGE, i), "PtlPut");
			if (job_good_event(own).mlength != length)
				exit(3);
			job_check(PtlMDUnlink(md), "PtlMDUnlink");
		}
	}
}

static void verify(const char *place, int rank, long i, size_t length)
{
	const char *at = place + i % WINDOW * stride + EDGE;

	for (size_t n = 0; n < length; n++)
		if (at[n] != (char)(word_of(rank, i, n / 8) >> 8 * (n % 8))) {
			fprintf(stderr, "byte %zu of message %ld of rank %d is wrong\n", n, i, rank);
			exit(1);
		}
	for (size_t n = 0; n < EDGE; n++)
		if (at[(long)n - EDGE] || at[length + n]) {
			fprintf(stderr, "message %ld of rank %d: written outside\n", i, rank);
			exit(1);
		}
}

static void take_all(size_t bytes, long count)
{
	char *places = calloc(job.size - 1, WINDOW * stride);
	long taken[64] = { 0 };
	ptl_handle_eq_t eq;
	ptl_handle_md_t go;

	if (!places)
		return fprintf(stderr, "ptl_long: no memory (--mem)\n"), exit(1);
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	for (int rank = 1; rank < job.size; rank++)
		job_expose(&job, PORTAL, rank, job_memory(places + (rank - 1) * WINDOW * stride,
		                                          WINDOW * stride, PTL_MD_OP_PUT |
		                                          PTL_MD_MANAGE_REMOTE |
		                                          PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(places, 0, 0, PTL_EQ_NONE), PTL_RETAIN, &go),
	          "PtlMDBind");
	job_barrier(&job);
	for (long n = 0; n < (job.size - 1) * count; n++) {
		ptl_event_t event = job_good_event(eq);
		int rank = (int)event.match_bits;
		long i = (long)event.hdr_data;
		char *place = places + (rank - 1) * WINDOW * stride;

		if (i != taken[rank]++ || event.mlength != length_of(bytes, i)) {
			fprintf(stderr, "message %ld of rank %d is out of order\n", i, rank);
			exit(1);
		}
		verify(place, rank, i, event.mlength);
		memset(place + i % WINDOW * stride, 0, event.mlength + 2 * EDGE);
		job_check(PtlPut(go, PTL_NOACK_REQ, event.initiator, PORTAL, 0, 0, 0, 0), "PtlPut");
	}
	printf("took %ld\n", (job.size - 1) * count);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	long count = argc > 2 ? atol(argv[2]) : 0;

	stride = (bytes + 4096) & ~63ul;
	job_start(&job);
	if (job.size < 2 || bytes < 4096 || count < WINDOW)
		return fprintf(stderr, "ptl_long: BYTES COUNT, on 2 ranks or more\n"), 2;
	if (job.rank == 0)
		take_all(bytes, count);
	else
		send_all(bytes, count);
	job_barrier(&job);
	job_end(&job);
	return 0;
}
