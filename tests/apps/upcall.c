/*
 * Event handlers: rank 0 sends messages, rank 1 has the handlers (rank 0 itself if the job has one
 * rank); further ranks only enter the barriers. One line per case.
 */
#include "ptl.h"
#include <errno.h>
#include <margay/abi.h>

enum { BITS = 1, BACK = 2, PLAIN = 3, WORD = 4, MANY = 10000, BURST = 100, FEW = 50 };

static struct roles r;
static ptl_handle_md_t out;        /* 8 bytes to put */
static ptl_handle_eq_t eq;         /* with a handler, in `target` and `both` */
static ptl_handle_me_t me;
static volatile uint64_t handled, depth;
static volatile uint64_t word;     /* target of puts without events */
static uint64_t first;             /* sequence number of a case's first event */

static void look_at(const ptl_event_t *event)
{
	EQUAL(event->type, PTL_EVENT_PUT_END);
	EQUAL(event->hdr_data, handled);
	if (handled == 0)
		first = event->sequence;
	EQUAL(event->sequence, first + handled);
}

static void count_it(ptl_event_t *event)
{
	EQUAL(depth++, 0);
	look_at(event);
	/* only the handler's copy: PtlEQGet must not see this */
	memset(event, 0xee, sizeof *event);
	depth--;
	handled++;
}

/* A queue with a handler for puts to BITS, at one rank only. */
static void open_queue(int who, ptl_size_t slots, ptl_eq_handler_t handler)
{
	handled = 0;
	if (!who)
		return;
	EQUAL(PtlEQAlloc(r.job.ni, slots, handler, &eq), PTL_OK);
	me = attach(&r, BITS, 0, memory(r.in, 8, PTL_MD_THRESH_INF,
	                                PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
}

static void close_queue(int who)
{
	ptl_event_t event;

	if (!who)
		return;
	EQUAL(PtlMEUnlink(me), PTL_OK);
	EQUAL(PtlEQFree(eq), PTL_OK);
	EQUAL(PtlEQGet(eq, &event), PTL_EQ_INVALID);
}

static void put_to(ptl_process_id_t to, uint64_t bits, uint64_t hdr_data)
{
	EQUAL(PtlPut(out, PTL_NOACK_REQ, to, PT, 0, bits, 0, hdr_data), PTL_OK);
}

static void put_burst(uint64_t count)
{
	for (uint64_t i = 0; r.initiator && i < count; i++)
		put_to(r.to, BITS, i);
}

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Slow puts, which arrive while the target waits. */
static void put_slowly(uint64_t count)
{
	for (uint64_t i = 0; r.initiator && i < count; i++) {
		pause_ms(3);
		put_to(r.to, BITS, i);
	}
}

/* The doorbell may arrive a little later than the other side's next message. */
static void wait_handled(uint64_t count)
{
	while (r.target && handled < count)
		;
	if (r.target)
		EQUAL(handled, count);
}

/* The handler sees every event once, in order, while the target computes. */
static void order(void)
{
	open_queue(r.target, 1024, count_it);
	sync_ranks(&r);
	if (r.target && !r.initiator)
		for (uint64_t told = 0; told < MANY; told += 512) {
			wait_handled(told);
			put_to(margay_process(0), BACK, 0);      /* next 512 */
		}
	for (uint64_t i = 0; r.initiator && i < MANY; i++) {
		if (!r.target && i % 512 == 0)
			expect(r.own, PTL_EVENT_PUT_END);
		put_to(r.to, BITS, i);
		if (r.target)
			EQUAL(handled, i + 1);                    /* at the end of the call */
	}
	wait_handled(MANY);
	close_queue(r.target);
}

/* A handler's puts to its own queue are handled after it has returned. */
static void put_again(ptl_event_t *event)
{
	uint64_t now = handled;

	count_it(event);
	depth++;
	if (now + 1 < MANY / 10)
		put_to(margay_process(r.job.rank), BITS, now + 1);
	EQUAL(handled, now + 1);
	depth--;
}

static void masked(void)
{
	open_queue(r.target, 4, put_again);
	sync_ranks(&r);
	put_burst(1);
	wait_handled(MANY / 10);
	close_queue(r.target);
}

/* Handlers answer each other; the application only watches. */
static void answer(ptl_event_t *event)
{
	EQUAL(event->hdr_data, handled);
	handled++;
	if (event->hdr_data + r.initiator < 1000)
		put_to(event->initiator, BITS, event->hdr_data + r.initiator);
}

static void pingpong(int asleep)
{
	int both = r.initiator || r.target;

	if (r.job.size == 1)
		return;
	open_queue(both, 4, answer);
	sync_ranks(&r);
	put_burst(1);
	while (both && handled < 1000)
		if (asleep)
			pause_ms(1000);
	sync_ranks(&r);
	close_queue(both);
}

static void pingpong_computing(void)
{
	pingpong(0);
}

static void pingpong_asleep(void)
{
	pingpong(1);
}

/* A wait for another queue continues after upcalls. */
static void wait_elsewhere(void)
{
	open_queue(r.target, 2 * BURST, count_it);
	sync_ranks(&r);
	put_slowly(BURST);
	if (r.initiator)
		put_to(r.to, PLAIN, 5);
	if (r.target) {
		ptl_event_t event;

		EQUAL(PtlEQWait(r.eq, &event), PTL_OK);
		EQUAL(event.hdr_data, 5);
		wait_handled(BURST);
	}
	close_queue(r.target);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

/* Timeouts are kept, however many upcalls interrupt them. */
static void poll_timeout(void)
{
	ptl_handle_eq_t eqs[2];
	uint64_t start;
	ptl_event_t event;
	int which;

	open_queue(r.target, 2 * BURST, count_it);
	eqs[0] = r.eq;
	eqs[1] = r.own;
	sync_ranks(&r);
	put_slowly(BURST);
	while (r.target && !r.initiator && handled == 0) {
		start = now_ns();
		EQUAL(PtlEQPoll(eqs, 2, 200, &event, &which), PTL_EQ_EMPTY);
		CHECK(now_ns() - start >= 200000000);
	}
	wait_handled(BURST);
	close_queue(r.target);
}

static void sleep_on(void)
{
	open_queue(r.target, 2 * BURST, count_it);
	sync_ranks(&r);
	put_slowly(BURST);
	while (r.target && !r.initiator && handled == 0) {
		uint64_t start = now_ns();
		struct timespec left = { 1, 1 };

		EQUAL(nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, &left), 0);
		CHECK(now_ns() - start >= 200000000);
		EQUAL(left.tv_sec + left.tv_nsec, 0);
	}
	wait_handled(BURST);
	close_queue(r.target);
}

/* The job's barrier waits in PtlEQWait; its own queue has no handler. */
static void barrier(void)
{
	open_queue(r.target, 2 * BURST, count_it);
	sync_ranks(&r);
	put_slowly(BURST);
	sync_ranks(&r);
	wait_handled(BURST);
	close_queue(r.target);
}

/* PtlNIBarrier continues after any number of upcalls. */
static void ni_barrier(void)
{
	open_queue(r.target, 2 * BURST, count_it);
	EQUAL(PtlNIBarrier(r.job.ni), PTL_OK);
	put_slowly(BURST);
	EQUAL(PtlNIBarrier(r.job.ni), PTL_OK);
	wait_handled(BURST);
	EQUAL(PtlNIBarrier(r.job.ni), PTL_OK);
	close_queue(r.target);
}

/* PtlEQGet returns events that the handler has seen, and never calls it. */
static void with_get(void)
{
	ptl_event_t event;

	open_queue(r.target, 2 * BURST, count_it);
	sync_ranks(&r);
	put_burst(BURST);
	for (uint64_t i = 0; r.target && i < BURST;) {
		int result = PtlEQGet(eq, &event);

		if (result == PTL_EQ_EMPTY)
			continue;
		EQUAL(result, PTL_OK);
		CHECK(handled > i);
		EQUAL(event.type, PTL_EVENT_PUT_END);
		EQUAL(event.hdr_data, i);
		EQUAL(event.sequence, first + i);
		i++;
	}
	if (r.target)
		EQUAL(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	close_queue(r.target);
}

/* Waits for a queue with a handler, alone and together with others. */
static void with_wait(void)
{
	ptl_handle_eq_t eqs[2];
	ptl_event_t event;
	uint64_t plain = 0, seen = 0;
	int which;

	open_queue(r.target, BURST, count_it);
	eqs[0] = r.eq;
	eqs[1] = eq;
	sync_ranks(&r);
	for (uint64_t i = 0; r.initiator && i < FEW; i++) {
		put_to(r.to, BITS, i);
		put_to(r.to, PLAIN, i);
	}
	while (r.target && plain + seen < 2 * FEW - 1) {
		EQUAL(PtlEQPoll(eqs, 2, 20000, &event, &which), PTL_OK);
		EQUAL(event.hdr_data, which ? seen++ : plain++);
		CHECK(handled >= seen);
	}
	if (r.target) {
		ptl_handle_eq_t last = plain < FEW ? r.eq : eq;

		EQUAL(PtlEQWait(last, &event), PTL_OK);
		EQUAL(event.hdr_data, FEW - 1);
		EQUAL(PtlEQPoll(eqs, 2, 1, &event, &which), PTL_EQ_EMPTY);
	}
	close_queue(r.target);
}

/* A late handler gets the oldest remaining event. */
static uint64_t late[8];

static void be_late(ptl_event_t *event)
{
	CHECK(handled < 8);
	late[handled] = event->sequence;
	if (handled++ > 0)
		return;
	if (r.initiator) {
		for (int i = 0; i < 20; i++)
			put_to(r.to, BITS, 0);
	} else {
		put_to(margay_process(0), BACK, 0);
		while (!word)
			;
	}
}

static void overrun(void)
{
	ptl_event_t event;

	word = 0;
	open_queue(r.target, 4, be_late);
	sync_ranks(&r);
	put_burst(1);
	if (r.initiator && !r.target) {
		expect(r.own, PTL_EVENT_PUT_END);
		for (int i = 0; i < 20; i++)
			put_to(r.to, BITS, 0);
		put_to(r.to, WORD, 0);
	}
	wait_handled(5);
	if (r.target) {
		for (int i = 1; i < 5; i++)
			EQUAL(late[i], late[0] + 16 + i);
		for (int i = 1; i < 5; i++) {
			EQUAL(PtlEQGet(eq, &event), i == 1 ? PTL_EQ_DROPPED : PTL_OK);
			EQUAL(event.sequence, late[i]);
		}
		EQUAL(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	}
	close_queue(r.target);
}

/* A handler starts a get whose reply needs the only slot of its queue. */
static ptl_handle_md_t fetch;

static void get_back(ptl_event_t *event)
{
	EQUAL(event->type, handled % 2 ? PTL_EVENT_REPLY_END : PTL_EVENT_PUT_END);
	if (handled++ % 2 == 0)
		EQUAL(PtlGet(fetch, margay_process(0), PT, 0, BACK, 0), PTL_OK);
	else
		EQUAL(event->mlength, 8);
}

static void reply(void)
{
	char back[8];

	open_queue(r.target, 1, get_back);
	if (r.target)
		EQUAL(PtlMDBind(r.job.ni, memory(back, 8, PTL_MD_THRESH_INF, 0, eq), PTL_RETAIN,
		                &fetch), PTL_OK);
	sync_ranks(&r);
	put_burst(1);
	wait_handled(2);
	if (r.target)
		EQUAL(PtlMDUnlink(fetch), PTL_OK);
	close_queue(r.target);
}

/* A doorbell for a freed queue must not stop doorbells for the next queue. */
static void late_bells(void)
{
	for (int round = 0; round < 300; round++) {
		open_queue(r.target, 4, count_it);
		sync_ranks(&r);
		put_burst(1);
		wait_handled(1);
		close_queue(r.target);
		sync_ranks(&r);
	}
}

/* Calls forbidden in a handler return an error; its calls do not change the program's errno. */
static void forbidden(ptl_event_t *event)
{
	ptl_handle_eq_t other;
	ptl_handle_ni_t ni;
	int which;

	EQUAL(PtlEQAlloc(r.job.ni, 4, PTL_EQ_HANDLER_NONE, &other), PTL_FAIL);
	EQUAL(PtlEQAlloc(r.job.ni, 4, forbidden, &other), PTL_FAIL);
	EQUAL(PtlEQFree(eq), PTL_FAIL);
	EQUAL(PtlEQGet(eq, event), PTL_FAIL);
	EQUAL(PtlEQGet(r.eq, event), PTL_EQ_EMPTY); /* it has no handler */
	EQUAL(PtlEQWait(eq, event), PTL_FAIL);
	EQUAL(PtlEQWait(r.eq, event), PTL_FAIL);
	EQUAL(PtlEQPoll(&r.eq, 1, 0, event, &which), PTL_FAIL);
	EQUAL(PtlInit(&which), PTL_FAIL);
	PtlFini();                             /* has no result, and no effect here */
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_FAIL);
	EQUAL(PtlNIFini(r.job.ni), PTL_FAIL);
	EQUAL(PtlNIBarrier(r.job.ni), PTL_FAIL);
	errno = 98;
	handled++;
}

static void in_handler(void)
{
	ptl_handle_ni_t again;

	open_queue(r.target, 4, forbidden);
	errno = 7;
	sync_ranks(&r);
	put_burst(1);
	wait_handled(1);
	EQUAL(errno, 7);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &again), PTL_OK);
	EQUAL(PtlNIFini(again), PTL_OK);
	close_queue(r.target);
}

/* Queues with and without handlers share the pool. */
static void arguments(void)
{
	static ptl_handle_eq_t all[70];
	ptl_event_t event;
	int made = 0, which;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_UPCALL_RETURN) : "rcx", "r11", "memory");
	EQUAL(result, -EINVAL);
	EQUAL(PtlEQAlloc(r.job.ni, 0, count_it, &all[0]), PTL_NO_SPACE);
	EQUAL(PtlEQAlloc(PTL_INVALID_HANDLE, 4, count_it, &all[0]), PTL_NI_INVALID);
	while (made < 70 && PtlEQAlloc(r.job.ni, 4, made % 2 ? count_it : PTL_EQ_HANDLER_NONE,
	                               &all[made]) == PTL_OK)
		made++;
	CHECK(made > 50 && made < 64);
	for (int i = 0; i < made; i++)
		EQUAL(PtlEQGet(all[i], &event), PTL_EQ_EMPTY);
	EQUAL(PtlEQPoll(all, made, 1, &event, &which), PTL_EQ_EMPTY);
	for (int i = 0; i < made; i++)
		EQUAL(PtlEQFree(all[i]), PTL_OK);
	for (int i = 0; i < made; i++) {
		EQUAL(PtlEQFree(all[i]), PTL_EQ_INVALID);
		EQUAL(PtlEQWait(all[i], &event), PTL_EQ_INVALID);
		EQUAL(PtlEQPoll(&all[i], 1, 0, &event, &which), PTL_EQ_INVALID);
	}
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
#define CASE(name) { #name, name }
		CASE(order), CASE(masked), CASE(pingpong_computing), CASE(pingpong_asleep),
		CASE(wait_elsewhere), CASE(poll_timeout), CASE(sleep_on), CASE(barrier),
		CASE(ni_barrier), CASE(with_get), CASE(with_wait), CASE(overrun), CASE(reply),
		CASE(late_bells), CASE(in_handler), CASE(arguments),
	};
	open_roles(&r);
	EQUAL(PtlMDBind(r.job.ni, memory(r.out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &out), PTL_OK);
	attach(&r, BACK, 0, memory(r.in + 64, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
	                                  PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, r.own), PTL_RETAIN);
	attach(&r, PLAIN, 0, memory(r.in + 128, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
	                                PTL_MD_MANAGE_REMOTE, r.eq), PTL_RETAIN);
	attach(&r, WORD, 0, memory((void *)&word, 8, PTL_MD_THRESH_INF,
	                                PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sync_ranks(&r);
		cases[i].run();
		sync_ranks(&r);
		expect_empty(r.eq);
		if (r.job.rank == 0)
			printf("ok %s\n", cases[i].name);
	}
	job_end(&r.job);
	return 0;
}
