/*
 * ptl_lives WHAT: the test kills and restarts rank 1; what the others and its next life see of
 * that.
 *
 *   barrier   All ranks pass a barrier. Rank 0 prints "waits" and enters another, as do the
 *             others except rank 1, until that is killed. The barrier fails for all of them,
 *             and so do later ones, at once also for the next life.
 *   put       Rank 0 puts to rank 1 continuously, and prints "talks" when it has an answer. The
 *             test stops rank 1, makes the file "stopped", and kills rank 1 when rank 0 has
 *             printed that puts are "under way" since then. Only these fail: puts that rank 0
 *             starts right afterwards arrive at the next life.
 */
#include "check.h"
#include "job.h"
#include <string.h>
#include <unistd.h>

enum { PT = 4, BYTES = 40000, PUTS = 5, ROUNDS = 3, LOOK_MS = 10 };

static struct job job;

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

/* ---- barriers ---- */

static void barrier(int life)
{
	if (life == 1) {
		/* A rank that has passed the last barrier knows that all have passed the earlier
		 * ones. */
		for (int i = 1; i <= ROUNDS; i++)
			CHECK(PtlNIBarrier(job.ni) == PTL_OK || (i == ROUNDS && job.rank != 0));
		if (job.rank == 0)
			say("waits");
		while (job.rank == 1)
			sleep(1);
	}
	for (int i = 0; i < ROUNDS; i++)
		EQUAL(PtlNIBarrier(job.ni), PTL_FAIL);
	say("no barrier any more");
}

/* ---- messages ---- */

static char bytes[BYTES];

static char byte_of(int life, int i)
{
	return (char)(i * 7 + i / 256 + life);
}

static void fill(int life)
{
	for (int i = 0; i < BYTES; i++)
		bytes[i] = byte_of(life, i);
}

static void put(ptl_handle_md_t md, uint64_t bits)
{
	job_check(PtlPut(md, PTL_ACK_REQ, margay_process(1), PT, 0, bits, 0, 0), "PtlPut");
}

static int ack(void)
{
	ptl_event_t event = job_event(job.eq);

	EQUAL(event.type, PTL_EVENT_ACK);
	return event.ni_fail_type;
}

/* Put until rank 1 accepts it in this life: it may not have an entry yet. */
static void put_until_taken(ptl_handle_md_t md, int life)
{
	int result;

	fill(life);
	do {
		put(md, (uint64_t)life);
		result = ack();
		CHECK(result == PTL_NI_OK || result == PTL_NI_DROPPED);
	} while (result != PTL_NI_OK);
}

static int put_some(ptl_handle_md_t md)
{
	for (int i = 0; i < PUTS; i++)
		put(md, 1);
	return PUTS;
}

/* Put until the puts that are pending when rank 1 dies have failed, and all have ended. */
static void put_until_death(ptl_handle_md_t md)
{
	int open = 0, failed = 0, is_stopped = 0, which, rc;
	ptl_event_t event;

	do {
		if (!is_stopped && !failed && access("stopped", F_OK) == 0) {
			is_stopped = 1;
			open += put_some(md);
			say("under way");
		}
		if (open == 0)
			open += put_some(md);
		while (open && (rc = PtlEQPoll(&job.eq, 1, LOOK_MS, &event, &which)) != PTL_EQ_EMPTY) {
			job_check(rc, "PtlEQPoll");
			EQUAL(event.type, PTL_EVENT_ACK);
			CHECK(event.ni_fail_type == PTL_NI_FAIL ||
			      (event.ni_fail_type == PTL_NI_OK && !failed));
			failed += event.ni_fail_type != PTL_NI_OK;
			open--;
		}
	} while (open || !failed);
}

static void sender(void)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(bytes, BYTES, PTL_MD_EVENT_START_DISABLE |
	                                       PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED,
	                                       job.eq),
	                    PTL_RETAIN, &md), "PtlMDBind");
	put_until_taken(md, 1);
	say("talks");
	put_until_death(md);
	put_until_taken(md, 2);
	say("arrived");
}

static void receiver(int life)
{
	job_expose(&job, PT, (uint64_t)life, job_memory(bytes, BYTES, PTL_MD_OP_PUT |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, job.eq), PTL_RETAIN);
	EQUAL(job_good_event(job.eq).type, PTL_EVENT_PUT_END);
	for (int i = 0; i < BYTES; i++)
		EQUAL(bytes[i], byte_of(life, i));
	while (life == 1)
		job_event(job.eq);
}

int main(int argc, char **argv)
{
	const char *life = getenv("MARGAY_LIFE");

	CHECK(argc == 2 && life);
	job_start(&job);
	if (strcmp(argv[1], "barrier") == 0)
		barrier(atoi(life));
	else if (job.rank == 0)
		sender();
	else
		receiver(atoi(life));
	PtlFini();
	return 0;
}
