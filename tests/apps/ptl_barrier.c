/*
 * ptl_barrier HOW ROUNDS: PtlNIBarrier among all ranks of the job.
 *
 *   rounds   ROUNDS barriers, one after the other; before each, a rank chosen by the
 *            round writes the round's number into every other rank's memory, and after it
 *            they all check. A rank that left too early would see the previous number.
 *   late     the ranks initialise their interfaces one after the other, each 5 ms later;
 *            the first ones wait in the barrier. Then all close and open them again.
 *   handlers all but one rank wait in the barrier while that one puts to them; their
 *            handlers are called meanwhile, and the barrier continues.
 *   death    all ranks enter barriers until a barrier fails; the test kills one.
 */
#include "check.h"
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { PT = 4, MOST = 1024, TABLE_BYTES = MOST * sizeof(uint64_t) };

static ptl_handle_ni_t ni;

static void open_interface(void)
{
	EQUAL(PtlInit(&(int){ 0 }), PTL_OK);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Memory that all may write: word r belongs to rank r. */
static void expose(uint64_t *table)
{
	ptl_md_t md = { .start = table, .length = TABLE_BYTES, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, .eq_handle = PTL_EQ_NONE };
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	EQUAL(PtlMEAttach(ni, PT, (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY }, 1, 0, PTL_RETAIN,
	                  PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMDAttach(me, md, PTL_RETAIN, &handle), PTL_OK);
}

/* Writes `value` into this rank's word at every rank; returns when it has arrived. */
static void tell(ptl_handle_eq_t eq, uint64_t value)
{
	ptl_md_t md = { .start = &value, .length = sizeof value, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
	                .eq_handle = eq };
	ptl_handle_md_t from;
	ptl_event_t ack;

	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &from), PTL_OK);
	for (int to = 0; to < margay_size(); to++) {
		EQUAL(PtlPut(from, PTL_ACK_REQ, margay_process(to), PT, 0, 1,
		             margay_rank() * sizeof value, 0), PTL_OK);
		EQUAL(PtlEQWait(eq, &ack), PTL_OK);
		EQUAL(ack.ni_fail_type, PTL_NI_OK);
	}
	EQUAL(PtlMDUnlink(from), PTL_OK);
}

static void rounds(uint64_t count)
{
	static volatile uint64_t table[MOST];
	ptl_handle_eq_t eq;

	open_interface();
	EQUAL(PtlNIBarrier(ni ^ 1ULL << 30), PTL_NI_INVALID);
	EQUAL(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	expose((uint64_t *)table);
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	for (uint64_t round = 1; round <= count; round++) {
		int teller = round % margay_size();

		if (margay_rank() == teller)
			tell(eq, round);
		EQUAL(PtlNIBarrier(ni), PTL_OK);
		EQUAL(table[teller], round);
	}
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	PtlFini();
	EQUAL(PtlNIBarrier(ni), PTL_NO_INIT);
}

static void late(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		sleep_ms(5 * ((margay_rank() + i) % margay_size()));
		open_interface();
		EQUAL(PtlNIBarrier(ni), PTL_OK);
		EQUAL(PtlNIBarrier(ni), PTL_OK);
		PtlFini();
	}
}

static volatile unsigned handled, failed_inside;

static void handler(ptl_event_t *event)
{
	handled += event->type == PTL_EVENT_PUT_END;
	failed_inside += PtlNIBarrier(ni) == PTL_FAIL;
}

static void handlers(uint64_t count)
{
	enum { PUTS = 5 };
	static char sink[64];
	ptl_md_t md = { .start = sink, .length = 8, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };
	ptl_handle_md_t from;
	ptl_handle_me_t me;
	unsigned wanted = 0;

	open_interface();
	EQUAL(PtlEQAlloc(ni, 64, handler, &md.eq_handle), PTL_OK);
	EQUAL(PtlMEAttach(ni, PT, (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY }, 1, 0, PTL_RETAIN,
	                  PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMDAttach(me, md, PTL_RETAIN, &from), PTL_OK);
	md.eq_handle = PTL_EQ_NONE;
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &from), PTL_OK);
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	for (uint64_t round = 0; round < count; round++) {
		int last = round % margay_size();

		if (margay_rank() == last) {
			for (int i = 0; i < PUTS * margay_size(); i++) {
				int to = i % margay_size();

				if (i / margay_size() % 2)
					nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
				if (to != last)
					EQUAL(PtlPut(from, PTL_NO_ACK_REQ, margay_process(to), PT, 0, 1, 0, 0), PTL_OK);
			}
		} else {
			wanted += PUTS;
		}
		EQUAL(PtlNIBarrier(ni), PTL_OK);
		while (handled < wanted)          /* the last doorbell may be in flight */
			sleep_ms(1);
	}
	EQUAL(failed_inside, wanted);
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	PtlFini();
}

static void death(void)
{
	bool running = margay_rank() != 0;
	int rc;

	open_interface();
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	while ((rc = PtlNIBarrier(ni)) == PTL_OK) {
		if (!running) {   /* a rank in the second barrier has passed the first */
			puts("running");
			fflush(stdout);
			running = true;
		}
		if (margay_rank() == 1)
			sleep_ms(1);              /* the others wait for this one */
	}
	EQUAL(rc, PTL_FAIL);
	EQUAL(PtlNIBarrier(ni), PTL_FAIL);
	printf("rank %d: %s\n", margay_rank(), PtlErrorStr(rc));
	fflush(stdout);
	PtlFini();
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "rounds") == 0)
		rounds(count);
	else if (strcmp(argv[1], "late") == 0)
		late(count);
	else if (strcmp(argv[1], "handlers") == 0)
		handlers(count);
	else
		death();
	if (margay_rank() == 0)
		puts("done");
	return 0;
}
