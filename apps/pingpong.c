/*
 * Latency and bandwidth between ranks 0 and 1, by message size.
 *
 *     tools/margay run -n 2 build/apps/pingpong.elf [LARGEST]
 *
 * Latency: a message goes there and back; half of the round trip is shown. Bandwidth: rank 0 puts a
 * stream of messages, at most WINDOW of them unacknowledged. Further ranks only wait; a job of one
 * rank measures messages to itself.
 */
#include "job.h"
#include <string.h>

enum {
	PORTAL = 4,
	ECHO_BITS = 1,             /* matched by memory whose puts are events */
	STREAM_BITS = 2,           /* matched by memory that records nothing */
	WINDOW = 64,
	LARGEST = 1 << 20
};

struct pingpong {
	struct job job;
	ptl_process_id_t peer;
	ptl_handle_eq_t in, out;   /* arrivals of ECHO_BITS; our own puts */
	char *buffer, *data;       /* written by the peer; sent */
};

static void expose(struct pingpong *p, uint64_t bits, unsigned options, size_t largest)
{
	ptl_md_t md = job_memory(p->buffer, largest, options | PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	                         bits == ECHO_BITS ? p->in : PTL_EQ_NONE);

	job_expose(&p->job, PORTAL, bits, md, PTL_RETAIN);
}

static ptl_handle_md_t bind(struct pingpong *p, size_t bytes, unsigned options)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(p->job.ni, job_memory(p->data, bytes, options, p->out), PTL_RETAIN, &md),
	          "PtlMDBind");
	return md;
}

static void put(struct pingpong *p, ptl_handle_md_t md, uint64_t bits, ptl_ack_req_t ack)
{
	job_check(PtlPut(md, ack, p->peer, PORTAL, 0, bits, 0, 0), "PtlPut");
}

/* Seconds for half a round trip. Both ranks call it; a put records no event here. */
static double echo(struct pingpong *p, size_t bytes, int rounds)
{
	ptl_handle_md_t md = bind(p, bytes, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	double start = job_seconds();

	for (int round = 0; round < rounds; round++) {
		if (p->job.rank == 0)
			put(p, md, ECHO_BITS, PTL_NOACK_REQ);
		job_good_event(p->in);
		if (p->job.rank == 1)
			put(p, md, ECHO_BITS, PTL_NOACK_REQ);
	}
	start = (job_seconds() - start) / rounds / (p->job.size > 1 ? 2 : 1);
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	return start;
}

/* Seconds for one message of a stream. Only rank 0 calls it. */
static double stream(struct pingpong *p, size_t bytes, int count)
{
	ptl_handle_md_t md = bind(p, bytes, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE);
	double start = job_seconds();

	for (int sent = 0, acked = 0; acked < count; ) {
		if (sent < count && sent - acked < WINDOW) {
			put(p, md, STREAM_BITS, PTL_ACK_REQ);
			sent++;
		} else {
			job_good_event(p->out);
			acked++;
		}
	}
	start = (job_seconds() - start) / count;
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	return start;
}

static void measure(struct pingpong *p, size_t bytes)
{
	int count = bytes <= 4096 ? 2000 : bytes <= 65536 ? 500 : 60;
	double half = echo(p, bytes, count), one;

	if (p->job.rank != 0)
		return;
	one = stream(p, bytes, count);
	printf("%9zu %12.2f %12.3f %14.0f\n", bytes, half * 1e6, bytes / one / 1e6, 1 / one);
}

int main(int argc, char **argv)
{
	static struct pingpong p;
	size_t largest = argc > 1 ? strtoul(argv[1], NULL, 0) : LARGEST;

	job_start(&p.job);
	p.peer = margay_process(p.job.size > 1 ? !p.job.rank : 0);
	p.buffer = malloc(largest);
	p.data = calloc(1, largest);
	if (largest == 0 || !p.buffer || !p.data) {
		fprintf(stderr, "pingpong: no memory for messages of %zu bytes\n", largest);
		return 1;
	}
	job_check(PtlEQAlloc(p.job.ni, 64, PTL_EQ_HANDLER_NONE, &p.in), "PtlEQAlloc");
	job_check(PtlEQAlloc(p.job.ni, 4 * WINDOW, PTL_EQ_HANDLER_NONE, &p.out), "PtlEQAlloc");
	expose(&p, ECHO_BITS, PTL_MD_EVENT_START_DISABLE, largest);
	expose(&p, STREAM_BITS, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, largest);
	job_barrier(&p.job);
	if (p.job.rank == 0)
		printf("%9s %12s %12s %14s\n", "bytes", "half rtt us", "MB/s", "messages/s");
	if (p.job.rank < 2)
		for (size_t bytes = 1; bytes <= largest; bytes *= 4)
			measure(&p, bytes);
	job_end(&p.job);
	return 0;
}
