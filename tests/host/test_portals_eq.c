/*
 * The library's side of event queues (lib/portals/portals_eq.c), compiled here unchanged, over a
 * kernel that this file simulates: rule 21. The simulated kernel counts system calls, so that
 * unnecessary ones are found.
 */
#include <stdlib.h>
#include <string.h>
#include <margay/abi.h>
#include "world.h"

/* In place of lib/portals/portals_calls.h: the kernel. */
#define PORTALS_CALLS_H
static unsigned int portals_inits = 1;
static struct margay_start glue_start;
static int call3(unsigned long number, unsigned long a, unsigned long b, unsigned long c);
static int call6(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d, unsigned long e, unsigned long f);
void portals_call_filling(void);
int portals_has_filling(void);
static uint64_t glue_now_ns(void);
void portals_forget_queues(void);
#undef HANDLE_INDEX       /* both sides define it */
#include "../../lib/portals/portals_eq.c"

#define LOWEST  4096u         /* the segment is all memory of this process above this address */
#define MS      1000000ULL

/* The simulated kernel's state. */
static struct {
	struct process_view view;
	uint64_t now;             /* ns */
	int waits;                /* calls of SYS_EQ_WAIT */
	int idle;                 /* how many of these return without an event */
	uint64_t timeouts[8];     /* their timeouts */
	handle_t deposits;        /* the queue that then gets an event; none: the timeout ends */
} node;

static void deposit(handle_t eq, uint64_t number)
{
	struct event_head head = { .match_bits = number };

	CHECK_IS(eq_record(&node.view, eq_lookup(&node.view, eq), &head, EVENT_PUT_END, 0, number,
			   0, NI_OK), 1);
}

static int call3(unsigned long number, unsigned long a, unsigned long b, unsigned long c)
{
	if (number == SYS_EQ_FREE)
		return -eq_free(&node.view, a);
	CHECK_IS(number, SYS_EQ_WAIT);
	CHECK(b >= 1 && eq_lookup(&node.view, *(handle_t *)a));
	if (node.waits < 8)
		node.timeouts[node.waits] = c;
	node.waits++;
	if (node.idle-- > 0) {            /* as if a handler was called meanwhile */
		node.now += MS;
		return PTL_OK;
	}
	if (node.deposits) {
		deposit(node.deposits, 77);
		return PTL_OK;
	}
	node.now += c;
	return PTL_EQ_EMPTY;
}

static int call6(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d, unsigned long e, unsigned long f)
{
	struct margay_eq *out = (struct margay_eq *)d;
	struct eq_info info;
	int error = eq_alloc(&node.view, b, c, e ? EQ_HANDLER_FILLING : EQ_NO_HANDLER, &info);

	CHECK_IS(number, SYS_EQ_ALLOC);
	CHECK_IS(a, 1);
	CHECK_IS(f & MARGAY_EQ_FILLING, e != 0);
	if (error)
		return -error;
	*out = (struct margay_eq){ info.handle,
		(uint64_t)(node.view.slots + info.first_slot * EVENT_SLOT_BYTES), info.count };
	return PTL_OK;
}

static uint64_t glue_now_ns(void)
{
	return node.now;
}

/* No queue has a handler here. */
int upcall_is_running(void) { return 0; }
unsigned long upcall_stack(void) { return 4096; }
void upcall_entry(void) { }
int upcall_eq_free(ptl_handle_eq_t eq) { return (void)eq, PTL_EQ_INVALID; }
int upcall_eq_is_there(ptl_handle_eq_t eq) { return (void)eq, 0; }
int upcall_is_queue(ptl_handle_eq_t eq) { return (void)eq, 0; }
void upcall_forget_queues(void) { }
volatile int signal_due;
void signal_tick(void) { }

int upcall_eq_get(ptl_handle_eq_t eq, ptl_event_t *event)
{
	return (void)eq, (void)event, PTL_EQ_INVALID;
}

int upcall_eq_alloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
		    ptl_handle_eq_t *eq)
{
	return (void)ni, (void)count, (void)handler, (void)eq, PTL_FAIL;
}

static void node_open(void)
{
	uint64_t bytes = block_bytes(&test_limits);

	memset(&node, 0, sizeof(node));
	node.view = (struct process_view){ .memory = (uint8_t *)LOWEST, .base = LOWEST,
					   .bytes = ~0ULL >> 1, .pid = 1 };
	CHECK_IS(view_init(&node.view, aligned_alloc(BLOCK_PAGE, bytes), bytes, &test_limits), 0);
	memset(node.view.block, 0, bytes);
	block_init(&node.view);
	block_open(&node.view);
	portals_inits = 1;
}

static void node_close(void)
{
	portals_forget_queues();
	free(node.view.block);
}

static ptl_handle_eq_t queue(ptl_size_t count)
{
	ptl_handle_eq_t eq = PTL_INVALID_HANDLE;

	CHECK_IS(PtlEQAlloc(1, count, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	return eq;
}

TEST(rule21_get_takes_events_without_the_kernel)
{
	ptl_handle_eq_t eq;
	ptl_event_t event;

	node_open();
	eq = queue(4);
	CHECK_IS(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	deposit(eq, 5);
	CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
	CHECK_IS(event.match_bits, 5);
	CHECK_IS(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	for (uint64_t i = 0; i < 6; i++)
		deposit(eq, i);
	CHECK_IS(PtlEQGet(eq, &event), PTL_EQ_DROPPED);
	CHECK_IS(event.match_bits, 2);
	CHECK_IS(PtlEQWait(eq, &event), PTL_OK);
	CHECK_IS(event.match_bits, 3);
	CHECK_IS(node.waits, 0);
	node_close();
}

TEST(rule21_wait_goes_on_until_an_event)
{
	ptl_handle_eq_t eq;
	ptl_event_t event;

	node_open();
	eq = queue(4);
	node.idle = 2;
	node.deposits = eq;
	CHECK_IS(PtlEQWait(eq, &event), PTL_OK);
	CHECK_IS(event.hdr_data, 77);
	CHECK_IS(node.waits, 3);
	for (int i = 0; i < 3; i++)
		CHECK_IS(node.timeouts[i], ~0ULL);
	node_close();
}

TEST(rule21_poll_honours_its_timeout)
{
	ptl_handle_eq_t eqs[2];
	ptl_event_t event;
	int which = -1;

	node_open();
	eqs[0] = queue(4);
	eqs[1] = queue(4);
	CHECK_IS(PtlEQPoll(eqs, 2, 0, &event, &which), PTL_EQ_EMPTY);
	CHECK_IS(node.waits, 0);
	CHECK_IS(PtlEQPoll(eqs, 2, 5, &event, &which), PTL_EQ_EMPTY);
	CHECK_IS(node.waits, 1);
	CHECK_IS(node.timeouts[0], 5 * MS);
	CHECK_IS(node.now, 5 * MS);
	/* an event that a handler took is not awaited again */
	node.idle = 2;
	CHECK_IS(PtlEQPoll(eqs, 2, 5, &event, &which), PTL_EQ_EMPTY);
	CHECK_IS(node.waits, 4);
	CHECK_IS(node.timeouts[1], 5 * MS);
	CHECK_IS(node.timeouts[2], 4 * MS);
	CHECK_IS(node.timeouts[3], 3 * MS);
	CHECK_IS(which, -1);
	/* an event before the timeout */
	node.deposits = eqs[1];
	node.idle = 0;
	CHECK_IS(PtlEQPoll(eqs, 2, PTL_TIME_FOREVER, &event, &which), PTL_OK);
	CHECK_IS(node.timeouts[4], ~0ULL);
	CHECK_IS(which, 1);
	node_close();
}

TEST(rule21_poll_is_fair)
{
	ptl_handle_eq_t eqs[3];
	int seen[3] = { 0 }, which;
	ptl_event_t event;

	node_open();
	for (int i = 0; i < 3; i++) {
		eqs[i] = queue(8);
		for (uint64_t n = 0; n < 6; n++)
			deposit(eqs[i], n);
	}
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 3; i++) {
			CHECK_IS(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_OK);
			CHECK(which >= 0 && which < 3);
			seen[which % 3]++;
			CHECK_IS(event.match_bits, round);
		}
		for (int i = 0; i < 3; i++)
			CHECK_IS(seen[i], round + 1);
	}
	node_close();
}

TEST(rule33_queues_that_are_not_there)
{
	ptl_handle_eq_t eqs[65], eq;
	ptl_event_t event;
	int which;

	node_open();
	eq = queue(4);
	for (int i = 0; i < 65; i++)
		eqs[i] = eq;
	CHECK_IS(PtlEQPoll(eqs, 64, 0, &event, &which), PTL_EQ_EMPTY);
	CHECK_IS(PtlEQPoll(eqs, 65, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_IS(PtlEQPoll(eqs, 0, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_IS(PtlEQPoll(eqs, -1, 0, &event, &which), PTL_EQ_INVALID);
	eqs[1] = eq + 1;
	CHECK_IS(PtlEQPoll(eqs, 2, 0, &event, &which), PTL_EQ_INVALID);
	CHECK_IS(PtlEQGet(eq + 1, &event), PTL_EQ_INVALID);
	CHECK_IS(PtlEQGet(~0ULL, &event), PTL_EQ_INVALID);
	CHECK_IS(PtlEQGet(0, &event), PTL_EQ_INVALID);
	CHECK_IS(PtlEQWait(eq + 1, &event), PTL_EQ_INVALID);
	CHECK_IS(PtlEQFree(eq + 1), PTL_EQ_INVALID);
	CHECK_IS(PtlEQFree(eq), PTL_OK);
	CHECK_IS(PtlEQFree(eq), PTL_EQ_INVALID);
	CHECK_IS(PtlEQGet(eq, &event), PTL_EQ_INVALID);
	CHECK_IS(node.waits, 0);
	portals_inits = 0;
	CHECK_IS(PtlEQGet(eq, &event), PTL_NO_INIT);
	CHECK_IS(PtlEQAlloc(1, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_INIT);
	CHECK_IS(PtlEQPoll(eqs, 1, 0, &event, &which), PTL_NO_INIT);
	node_close();
}

/* ---- queues that fill ---- */

static int filled;                /* calls of the handler */
static int taken;                 /* events that it takes at each call */

static void on_filling(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	filled++;
	for (int i = 0; i < taken; i++)
		CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
}

/* The engine records an event, and an upcall follows if it asks for one. */
static void arrive(ptl_handle_eq_t eq, uint64_t number)
{
	deposit(eq, number);
	if (eq_calls(&node.view, eq_lookup(&node.view, eq), 1))
		portals_call_filling();
}

TEST(rule37_the_handler_comes_once_for_each_filling)
{
	ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
	ptl_event_t event;

	node_open();
	filled = taken = 0;
	CHECK_IS(PtlEQAllocFilling(1, 8, on_filling, &eq), PTL_OK);
	for (uint64_t i = 0; i < 5; i++)
		arrive(eq, i);
	CHECK_IS(filled, 0);
	arrive(eq, 5);
	CHECK_IS(filled, 1);
	arrive(eq, 6);
	arrive(eq, 7);
	portals_call_filling();                             /* an upcall for another reason */
	CHECK_IS(filled, 1);
	CHECK_IS(PtlEQGet(eq, &event), PTL_OK);          /* 7 are left: not below the limit */
	CHECK_IS(event.hdr_data, 0);
	arrive(eq, 8);
	CHECK_IS(filled, 1);
	for (int i = 1; i < 4; i++)
		CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
	arrive(eq, 9);                                   /* 6 again */
	CHECK_IS(filled, 2);
	for (int i = 4; i < 10; i++) {
		CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
		CHECK_IS(event.hdr_data, i);
	}
	CHECK_IS(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	CHECK_IS(node.waits, 0);                         /* and no kernel was entered */
	CHECK_IS(PtlEQFree(eq), PTL_OK);
	CHECK_IS(portals_has_filling(), 0);
	node_close();
}

TEST(rule37_the_handler_takes_events)
{
	ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
	ptl_event_t event;

	node_open();
	filled = 0, taken = 3;
	CHECK_IS(PtlEQAllocFilling(1, 4, on_filling, &eq), PTL_OK);
	for (uint64_t i = 0; i < 7; i++)
		arrive(eq, i);
	CHECK_IS(filled, 2);
	CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
	CHECK_IS(event.hdr_data, 6);
	CHECK_IS(PtlEQFree(eq), PTL_OK);
	node_close();
}

/* During PtlEQGet the handler is deferred: the library asks the kernel for another upcall at the
 * end. */
TEST(rule37_the_handler_waits_for_eqget)
{
	ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
	struct eq_reader *queue;
	ptl_event_t event;

	node_open();
	filled = 0, taken = 1;
	CHECK_IS(PtlEQAllocFilling(1, 4, on_filling, &eq), PTL_OK);
	queue = queue_of(eq);
	arrive(eq, 0);
	arrive(eq, 1);
	queue->reading = 1;
	arrive(eq, 2);
	CHECK_IS(filled, 0);
	CHECK_IS(eq_unhandled(&node.view, eq), 0);       /* no further upcall is needed */
	CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
	CHECK_IS(event.hdr_data, 0);
	CHECK_IS(node.waits, 1);
	CHECK_IS(eq_unhandled(&node.view, eq), 1);       /* an upcall is needed now */
	portals_call_filling();
	CHECK_IS(filled, 1);
	CHECK_IS(eq_unhandled(&node.view, eq), 0);
	CHECK_IS(PtlEQGet(eq, &event), PTL_OK);
	CHECK_IS(event.hdr_data, 2);
	CHECK_IS(node.waits, 1);
	CHECK_IS(PtlEQFree(eq), PTL_OK);
	node_close();
}
