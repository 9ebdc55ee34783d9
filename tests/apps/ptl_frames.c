/*
 * ptl_frames CASE: special cases of messages over frames, from rank 0 to rank 1.
 *
 *   looks    rank 1 waits with PtlEQGet, PtlEQPoll without time, and PtlNIStatus alone
 *   quiet    rank 1 computes, until nothing has interrupted it for QUIET_S
 *   asked    rank 1 answers PUTS puts, polling with PtlEQGet, and prints the number of its card's
 *            interrupts: "arrivals N"
 *   calls    the value of margay_start.calls while nothing is deferred: argv[2]
 *   unlink   a descriptor is unlinked, or replaced, right after the put that sends it
 *   leaves   rank 0's main returns while its puts are in flight
 *   stays    rank 1's main returns while rank 0 still needs acknowledgements of its puts
 *
 * Prints "ok CASE".
 */
#include "ptl.h"
#include <margay/abi.h>
#include <margay/counters.h>
#include <unistd.h>

enum { PUTS = 40, LONG = 300000, TRIES = 100 };
#define QUIET_S 0.05

static char area[LONG + PUTS];
static const char *wanted = "";    /* of case calls */

extern struct margay_start __glue_start; /* libmargay's copy; not public */

static void expose(struct roles *r, size_t bytes)
{
	if (r->target)
		attach(r, 1, 0, memory(area, bytes, PTL_MD_THRESH_INF,
		                       PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	sync_ranks(r);
}

static ptl_handle_md_t bind(struct roles *r, void *start, size_t bytes)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(start, bytes, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_OK);
	return md;
}

static void send(struct roles *r, ptl_handle_md_t md, uint64_t offset, uint64_t data)
{
	EQUAL(PtlPut(md, PTL_NO_ACK_REQ, r->to, PT, 0, 1, offset, data), PTL_OK);
}

static void looks(struct roles *r)
{
	ptl_sr_value_t before = status(r, PTL_SR_BYTES_IN);
	ptl_event_t event;
	int which;

	expose(r, 8);
	for (uint64_t i = 0; i < PUTS; i++) {
		if (r->initiator)
			send(r, bind(r, r->out, 8), 0, i);
		if (r->target && i % 3 == 0)
			while (PtlEQGet(r->eq, &event) == PTL_EQ_EMPTY)
				continue;
		if (r->target && i % 3 == 1)
			while (PtlEQPoll(&r->eq, 1, 0, &event, &which) == PTL_EQ_EMPTY)
				continue;
		if (r->target && i % 3 == 2) {
			while (status(r, PTL_SR_BYTES_IN) < before + 8 * (i + 1))
				continue;
			EQUAL(PtlEQGet(r->eq, &event), PTL_OK);
		}
		if (r->target)
			EQUAL(event.hdr_data, i);
		sync_ranks(r);
	}
}

static uint64_t counter(enum counter which)
{
	uint64_t counters[COUNTER_COUNT];

	margay_counters(counters, COUNTER_COUNT);
	return counters[which];
}

/* At first acknowledgements are still in flight. */
static void quiet(struct roles *r)
{
	for (int i = 0; r->target && i < TRIES; i++) {
		uint64_t before = counter(COUNTER_INTERRUPTS);
		double end = job_seconds() + QUIET_S;

		while (job_seconds() < end)
			continue;
		if (counter(COUNTER_INTERRUPTS) == before)
			return;
	}
	CHECK(!r->target);
}

/* A rank's turn begins when the other one's message has arrived. */
static void asked(struct roles *r)
{
	ptl_process_id_t other = margay_process(!r->job.rank);
	ptl_handle_md_t md = bind(r, r->out, 8);
	uint64_t before;
	ptl_event_t event;

	attach(r, 1, 0, memory(area, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	                       r->eq), PTL_RETAIN);
	sync_ranks(r);
	before = counter(COUNTER_CARD_INTERRUPTS);
	for (int i = 0; i < PUTS; i++) {
		if (r->initiator) {
			EQUAL(PtlPut(md, PTL_NO_ACK_REQ, other, PT, 0, 1, 0, i), PTL_OK);
			expect(r->eq, PTL_EVENT_PUT_END);
		} else {
			while (PtlEQGet(r->eq, &event) == PTL_EQ_EMPTY)
				continue;
			EQUAL(PtlPut(md, PTL_NO_ACK_REQ, other, PT, 0, 1, 0, i), PTL_OK);
		}
	}
	if (r->target)
		printf("arrivals %lu\n",
		       (unsigned long)(counter(COUNTER_CARD_INTERRUPTS) - before));
	sync_ranks(r);
}

/* "none": there is no such word; "0", "1": its value, which must not change. */
static void calls(struct roles *r)
{
	const volatile uint64_t *word = (const volatile uint64_t *)__glue_start.calls;

	for (int i = 0; i < PUTS; i++) {
		sync_ranks(r);
		EQUAL(word != 0, strcmp(wanted, "none") != 0);
		EQUAL(word && *word, strcmp(wanted, "1") == 0);
	}
}

static void unlink_at_once(struct roles *r)
{
	ptl_handle_md_t md;
	ptl_md_t other = memory(area, LONG, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), old;

	expose(r, LONG);
	for (int i = 0; r->initiator && i < PUTS; i++) {
		memset(area, i, LONG);
		md = bind(r, area, LONG);
		send(r, md, 0, i);
		if (i % 2)
			EQUAL(PtlMDUpdate(md, &old, &other, PTL_EQ_NONE), PTL_OK);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	for (int i = 0; r->target && i < PUTS; i++)
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).hdr_data, i);
	for (int i = 0; r->target && i < LONG; i++)
		EQUAL(area[i], PUTS - 1);
	sync_ranks(r);
}

static void leaves(struct roles *r)
{
	expose(r, sizeof area);
	if (r->initiator) {
		memset(area, 5, LONG);
		for (int i = 0; i < PUTS; i++)
			send(r, bind(r, area, LONG), i, i);
		exit(0);
	}
	for (int i = 0; i < PUTS; i++)
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).mlength, LONG);
	for (int i = 0; i < LONG + PUTS - 1; i++)
		EQUAL(area[i], 5);
	puts("ok leaves");
	exit(0);
}

static void stays(struct roles *r)
{
	ptl_event_t ack;

	expose(r, 8);
	if (r->target) {
		expect(r->eq, PTL_EVENT_PUT_END);
		exit(0);
	}
	put_ok(r, 8, 1, 0, 8);
	do
		usleep(20000);             /* until rank 1 has left */
	while ((ack = put(r, 8, 1, 0, 0)).ni_fail_type == PTL_NI_OK);
	EQUAL(ack.ni_fail_type, PTL_NI_DROPPED);
	puts("ok stays");
	exit(0);
}

int main(int argc, char **argv)
{
	static struct roles r;
	static const struct test_case cases[] = {
		{ "looks", looks }, { "quiet", quiet }, { "asked", asked }, { "calls", calls },
		{ "unlink", unlink_at_once }, { "leaves", leaves }, { "stays", stays },
	};

	if (argc > 2)
		wanted = argv[2];
	open_roles(&r);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run(&r);
			if (r.target)
				printf("ok %s\n", argv[1]);
			return 0;
		}
	return 2;
}
