/*
 * ptl_filling: queues with a handler that is called when they fill (rule 37), while the receiver
 * computes, takes events, waits or sleeps. Rank 0 sends, rank 1 (or rank 0 itself) receives. Prints
 * "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"
#include <time.h>

enum { SLOTS = 64, LEVEL = 48, MANY = 20000 };

static struct roles roles;
static char window[64];
static ptl_handle_eq_t queue;
static ptl_handle_me_t entry;
static ptl_handle_md_t source;
static volatile uint64_t calls;       /* of the handler */
static volatile uint64_t taken;       /* events that the handler took */
static volatile uint64_t done;        /* events taken in all */
static uint8_t seen[MANY];            /* how often each event was seen */
static uint64_t takes;                /* how many events it takes at each call */

/* The handler may interrupt this at any instruction, and takes the next events. */
static int take_one(void)
{
	ptl_event_t event;
	int rc = PtlEQGet(queue, &event);

	if (rc == PTL_EQ_EMPTY)
		return 0;
	EQUAL(rc, PTL_OK);             /* no event is lost, */
	CHECK(event.hdr_data < MANY);
	EQUAL(seen[event.hdr_data]++, 0);  /* none arrives twice */
	__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
	return 1;
}

static void on_filling(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	EQUAL(eq, queue);
	EQUAL(PtlEQWait(eq, &event), PTL_FAIL);
	calls++;
	for (uint64_t i = 0; i < takes && take_one(); i++)
		taken++;
}

static void open_queue(struct roles *r, uint64_t takes_)
{
	calls = taken = done = 0;
	memset(seen, 0, sizeof seen);
	takes = takes_;
	if (r->target) {
		EQUAL(PtlEQAllocFilling(r->job.ni, SLOTS, on_filling, &queue), PTL_OK);
		entry = attach(r, 1, 0, memory(window, sizeof window, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                               PTL_MD_MANAGE_REMOTE, queue), PTL_RETAIN);
	}
	if (r->initiator)
		EQUAL(PtlMDBind(r->job.ni, memory(window, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
		                PTL_RETAIN, &source), PTL_OK);
	sync_ranks(r);
}

static void close_queue(struct roles *r)
{
	sync_ranks(r);
	if (r->target) {
		EQUAL(PtlMEUnlink(entry), PTL_OK);
		EQUAL(PtlEQFree(queue), PTL_OK);
	}
	if (r->initiator)
		EQUAL(PtlMDUnlink(source), PTL_OK);
}

/* Sends puts number `from` to `to` - 1; all have been carried out when it returns. */
static void send_all(struct roles *r, uint64_t from, uint64_t to)
{
	if (r->initiator) {
		for (uint64_t i = from; i < to; i++)
			EQUAL(PtlPut(source, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, i), PTL_OK);
		put_dropped(r, 8, 99, 0);
	}
	sync_ranks(r);
}

static void wait_for_calls(uint64_t wanted)
{
	while (calls < wanted)
		; /* computes without a Portals call */
}

/* No call at one event less than the level; one call at the level, though the receiver only
 * computes; none for later events; another one after the queue was below the level. */
static void case_levels(struct roles *r)
{
	open_queue(r, 0);
	send_all(r, 0, LEVEL - 1);
	EQUAL(calls, 0);
	sync_ranks(r);
	if (r->initiator)
		EQUAL(PtlPut(source, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, LEVEL - 1), PTL_OK);
	if (r->target)
		wait_for_calls(1);
	sync_ranks(r);
	send_all(r, LEVEL, LEVEL + 10);
	EQUAL(calls, r->target);
	if (r->target)
		for (int i = 0; i < 10; i++)       /* down to the level, not below */
			EQUAL(take_one(), 1);
	send_all(r, LEVEL + 10, LEVEL + 11);
	EQUAL(calls, r->target);
	if (r->target)
		for (int i = 0; i < 2; i++)
			EQUAL(take_one(), 1);
	sync_ranks(r);
	if (r->initiator)
		EQUAL(PtlPut(source, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, LEVEL + 11), PTL_OK);
	if (r->target) {
		wait_for_calls(2);
		while (take_one())
			;
		EQUAL(done, LEVEL + 12);
	}
	close_queue(r);
}

/* Only the handler takes events, and none is lost while the sender keeps to a window. */
static void case_handler_takes(struct roles *r)
{
	enum { ROUNDS = 200 };

	open_queue(r, UINT64_MAX);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		send_all(r, i * LEVEL, (i + 1) * LEVEL);
		if (r->target)
			wait_for_calls(i + 1);
		EQUAL(calls, r->target ? i + 1 : 0);
		EQUAL(taken, calls * LEVEL);
		sync_ranks(r);
	}
	close_queue(r);
}

/* Both the program and the handler, which interrupts it anywhere, take events; the sender gets a
 * credit back for each one taken. */
static void case_with_get(struct roles *r)
{
	static volatile uint64_t credit;
	ptl_handle_me_t credits = 0;
	ptl_handle_md_t back = 0;
	ptl_process_id_t to = margay_process(0);
	uint64_t given = 0;

	credit = 0;
	if (r->initiator)
		credits = attach(r, 2, 0, memory((void *)&credit, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                                 PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	open_queue(r, 5);
	if (r->target)
		EQUAL(PtlMDBind(r->job.ni, memory(&given, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
		                PTL_RETAIN, &back), PTL_OK);
	for (uint64_t sent = 0; (r->initiator && sent < MANY) || (r->target && done < MANY);) {
		if (r->initiator && sent < MANY && sent - credit < SLOTS) {
			EQUAL(PtlPut(source, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, sent), PTL_OK);
			sent++;
		}
		if (!r->target)
			continue;
		take_one();
		given = done;
		if (given % 8 == 0 || given + 8 > MANY)
			EQUAL(PtlPut(back, PTL_NO_ACK_REQ, to, PT, 0, 2, 0, 0), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMDUnlink(back), PTL_OK);
	close_queue(r);
	if (r->initiator)
		EQUAL(PtlMEUnlink(credits), PTL_OK);
}

/* Asleep in the kernel, in PtlEQWait for another queue. */
static void case_asleep(struct roles *r)
{
	ptl_event_t event;

	open_queue(r, 0);
	if (r->target && !r->initiator) {
		ptl_handle_me_t me = attach(r, 3, 0, memory(r->in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);

		sync_ranks(r);
		EQUAL(PtlEQWait(r->eq, &event), PTL_OK);
		EQUAL(calls, 1);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	} else {
		sync_ranks(r);
	}
	if (r->initiator) {
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		for (uint64_t i = 0; i < LEVEL; i++)
			EQUAL(PtlPut(source, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, i), PTL_OK);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		if (r->target)
			EQUAL(calls, 1);
		else
			put_ok(r, 8, 3, 0, 8);
	}
	close_queue(r);
}

static void case_arguments(struct roles *r)
{
	ptl_handle_eq_t eq, none;

	EQUAL(PtlEQAllocFilling(r->job.ni, 4, NULL, &eq), PTL_OK);
	expect_empty(eq);
	EQUAL(PtlEQFree(eq), PTL_OK);
	EQUAL(PtlEQFree(eq), PTL_EQ_INVALID);
	EQUAL(PtlEQAllocFilling(r->job.ni, 0, on_filling, &none), PTL_NO_SPACE);
	EQUAL(PtlEQAllocFilling(r->job.ni + 1, 4, on_filling, &none), PTL_NI_INVALID);
	EQUAL(PtlEQAllocFilling(r->job.ni, 1 << 20, on_filling, &none), PTL_NO_SPACE);
	EQUAL(PtlEQAllocFilling(r->job.ni, 4, on_filling, &eq), PTL_OK);
	EQUAL(PtlEQFree(eq), PTL_OK);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "levels", case_levels }, { "handler_takes", case_handler_takes },
		{ "with_get", case_with_get }, { "asleep", case_asleep },
		{ "arguments", case_arguments },
	};

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
