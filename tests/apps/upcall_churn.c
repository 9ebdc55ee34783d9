/*
 * Rank 0 makes and frees queues with handlers, and sometimes its interface, while all other ranks
 * put constantly: an upcall may interrupt those calls at any instruction. Each handler must see
 * only its own queue's events, in order, and none after PtlEQFree has returned.
 *
 *   upcall_churn TENTHS        tenths of a second, and 100 calls at least
 */
#include "ptl.h"

enum { QUEUES = 4 };

static volatile int open[QUEUES];   /* from the start of PtlEQAlloc to the end of PtlEQFree */
static volatile uint64_t next[QUEUES];     /* lowest expected sequence number */
static volatile uint64_t calls, stop;
static ptl_handle_md_t own;                /* puts to this process */

static void look_at(const ptl_event_t *event, uintptr_t queue)
{
	calls++;
	EQUAL(event->type, PTL_EVENT_PUT_END);
	EQUAL((uintptr_t)event->md.user_ptr, queue);
	EQUAL(event->match_bits, queue);
	CHECK(open[queue]);
	CHECK(event->sequence >= next[queue]);
	next[queue] = event->sequence + 1;
}

#define HANDLER(n) static void handler##n(ptl_event_t *event) { look_at(event, n); }
HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)
static const ptl_eq_handler_t handlers[QUEUES] = { handler0, handler1, handler2, handler3 };

static void put_until_told(struct roles *r)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &md), PTL_OK);
	for (uint64_t i = r->job.rank; !stop; i++)
		EQUAL(PtlPut(md, PTL_NOACK_REQ, margay_process(0), PT, 0, i % QUEUES, 0, i), PTL_OK);
}

struct made {
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	char memory[8];
};

static void make(ptl_handle_ni_t ni, struct made *m, uintptr_t queue)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = memory(m->memory, 8, PTL_MD_THRESH_INF,
	                     PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
	ptl_handle_md_t handle;

	open[queue] = 1;
	EQUAL(PtlEQAlloc(ni, 8, handlers[queue], &m->eq), PTL_OK);
	md.eq_handle = m->eq;
	md.user_ptr = (void *)queue;
	EQUAL(PtlMEAttach(ni, PT, any_process, queue, 0, PTL_RETAIN, PTL_INS_AFTER, &m->me), PTL_OK);
	EQUAL(PtlMDAttach(m->me, md, PTL_RETAIN, &handle), PTL_OK);
}

static void unmake(struct made *m, uintptr_t queue, int queue_first)
{
	ptl_event_t event;
	int result;

	if (queue_first)
		EQUAL(PtlEQFree(m->eq), PTL_OK);
	while ((result = PtlMEUnlink(m->me)) == PTL_ME_IN_USE)
		;
	EQUAL(result, PTL_OK);
	if (!queue_first)
		EQUAL(PtlEQFree(m->eq), PTL_OK);
	open[queue] = 0;
	EQUAL(PtlEQGet(m->eq, &event), PTL_EQ_INVALID);
}

/* Reopen the interface while the others' puts arrive; some queues may be left open. */
static ptl_handle_ni_t start_again(ptl_handle_ni_t ni)
{
	EQUAL(PtlNIFini(ni), PTL_OK);
	for (int i = 0; i < QUEUES; i++)
		open[i] = 0;
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	EQUAL(PtlMDBind(ni, memory("8 bytes", 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &own), PTL_OK);
	for (int i = 0; i < QUEUES; i++)
		next[i] = 0;
	return ni;
}

static void churn(struct roles *r, double seconds)
{
	static struct made made[QUEUES];
	ptl_handle_ni_t ni = start_again(r->job.ni);
	double end = job_seconds() + seconds;
	unsigned rounds = 0, there = 0;
	uint32_t random = 1;

	while (job_seconds() < end || calls < 100) {
		unsigned queue;

		random = random * 1664525 + 1013904223;
		queue = random >> 24 & (QUEUES - 1);
		if (there >> queue & 1)
			unmake(&made[queue], queue, random >> 20 & 1);
		else
			make(ni, &made[queue], queue);
		there ^= 1u << queue;
		for (volatile uint32_t i = random >> 8 & 255; i > 0; i--)
			;
		if (r->job.size == 1)
			for (uint64_t i = 0; i < QUEUES; i++)
				EQUAL(PtlPut(own, PTL_NOACK_REQ, margay_process(0), PT, 0, i, 0, 0),
				      PTL_OK);
		if (++rounds % 64 == 0) {
			ni = start_again(ni);
			there = 0;
		}
	}
	/* The next queue's handler is called in spite of late doorbells. */
	for (int round = 0; r->job.size > 1 && round < 50; round++) {
		uint64_t before;

		ni = start_again(ni);
		before = calls;
		make(ni, &made[0], 0);
		while (calls == before)
			;
	}
	fprintf(stderr, "%u rounds, %lu calls\n", rounds, (unsigned long)calls);
	EQUAL(PtlNIFini(ni), PTL_OK);
}

int main(int argc, char **argv)
{
	static struct roles r;
	ptl_handle_md_t md;

	open_roles(&r);
	attach(&r, 99, 0, memory((void *)&stop, 8, PTL_MD_THRESH_INF,
	                         PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	sync_ranks(&r);
	if (r.job.rank != 0) {
		put_until_told(&r);
		PtlFini();
		return 0;
	}
	churn(&r, argc > 1 ? atof(argv[1]) / 10 : 1);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &r.job.ni), PTL_OK);
	EQUAL(PtlMDBind(r.job.ni, memory(r.out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &md), PTL_OK);
	for (int i = 1; i < r.job.size; i++)
		EQUAL(PtlPut(md, PTL_NOACK_REQ, margay_process(i), PT, 0, 99, 0, 0), PTL_OK);
	PtlFini();
	printf("ok churn\n");
	return 0;
}
