/*
 * upcall_ends HOW: a process that ends in its event handler, or is interrupted while it waits for
 * standard input.
 *   exit     the handler calls exit(7)
 *   fault    it writes to a null pointer while main computes
 *   deep     it overflows its stack, and returns
 *   stdin    main reads standard input; the handler prints when it was called often
 *            enough, and then input may arrive
 *   poll     the same in poll, after one that times out
 *   death    rank 0 puts forever; the handler gets the event of rank 1's death
 *   main     main returns while another rank keeps the handler busy
 */
#include "ptl.h"
#include <poll.h>
#include <unistd.h>

static const char *how;
static int waits_for_input;
static volatile unsigned long handled, computed;
static struct roles r;

static void say(const char *text)
{
	CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static __attribute__((noinline)) void write_somewhere(volatile char *at)
{
	*at = 1;
}

static __attribute__((noinline)) unsigned long deep(unsigned long left)
{
	volatile unsigned long here[32] = { left };

	return left ? deep(left - 1) + here[0] : 0;
}

static void handler(ptl_event_t *event)
{
	handled++;
	if (strcmp(how, "exit") == 0) {
		printf("the handler ends it\n");
		exit(7);
	}
	if (strcmp(how, "fault") == 0)
		write_somewhere(NULL);
	if (strcmp(how, "deep") == 0)
		deep(240);                 /* about 70 KB */
	if (waits_for_input && handled == 100)
		say("handled\n");
	if (strcmp(how, "death") == 0 && event->type == PTL_EVENT_ACK &&
	    event->ni_fail_type == PTL_NI_FAIL) {
		say(PtlEventKindStr(event->type));
		say(" failed\n");
		_exit(0);
	}
}

static void at_end(void)
{
	say("in order\n");
}

static __attribute__((noinline)) void compute(void)
{
	for (;;)
		computed++;
}

/* The last rank puts to rank 0, forever if requested. */
static void put_often(int rank, long count)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r.job.ni, memory(r.out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &md), PTL_OK);
	for (long i = 0; i != count; i++)
		EQUAL(PtlPut(md, PTL_NOACK_REQ, margay_process(rank), PT, 0, 1, 0, i), PTL_OK);
}

/* Rank 1 is killed while it waits. */
static void wait_for_death(ptl_handle_eq_t eq)
{
	ptl_handle_md_t md;
	ptl_event_t event;

	if (r.job.rank == 0) {
		EQUAL(PtlMDBind(r.job.ni, memory(r.out, 8, PTL_MD_THRESH_INF, 0, eq), PTL_RETAIN,
		                &md), PTL_OK);
		say("rank 0 puts\n");
		for (;;) {
			EQUAL(PtlPut(md, PTL_ACK_REQ, margay_process(1), PT, 0, 1, 0, 0), PTL_OK);
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		}
	}
	say("rank 1 waits\n");
	PtlEQWait(r.eq, &event);
}

int main(int argc, char **argv)
{
	ptl_handle_eq_t eq;
	char text[16] = "";
	struct pollfd input = { .fd = 0, .events = POLLIN };
	ssize_t bytes;

	how = argc > 1 ? argv[1] : "";
	waits_for_input = strcmp(how, "stdin") == 0 || strcmp(how, "poll") == 0;
	open_roles(&r);
	atexit(at_end);
	EQUAL(PtlEQAlloc(r.job.ni, 128, handler, &eq), PTL_OK);
	attach(&r, 1, 0, memory(r.in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	                        r.job.rank == 0 ? eq : PTL_EQ_NONE), PTL_RETAIN);
	if (strcmp(how, "poll") == 0 && r.job.rank == 0)
		EQUAL(poll(&input, 1, 1), 0);  /* the input comes after the first message */
	sync_ranks(&r);
	if (strcmp(how, "death") == 0)
		wait_for_death(eq);
	if (r.job.rank == r.job.size - 1)
		put_often(0, waits_for_input ? 100 : strcmp(how, "main") == 0 ? 3000 : 1);
	if (r.job.rank != 0)
		return 0;
	if (strcmp(how, "main") == 0) {
		while (!handled)
			;
		return 3;
	}
	if (!waits_for_input)
		compute();
	if (strcmp(how, "poll") == 0) {
		EQUAL(poll(&input, 1, -1), 1);
		EQUAL(input.revents, POLLIN);
	}
	bytes = read(0, text, sizeof text - 1);
	printf("%zd bytes after %lu: %s", bytes, handled, text);
	return 0;
}
