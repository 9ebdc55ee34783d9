/*
 * Waiting: for data from other ranks, for answers, and for the end of a process. Owns the queues
 * `arrivals` and `calls`.
 *
 * Every message that is not for VMMC_SPIN memory leaves an event in `arrivals`, or with a
 * notification in `notices`, which wakes the node. The events themselves are ignored, so the queue
 * may overrun. A process that is silent during a wait gets a ping every VMMC_PING_MS; its kernel
 * acknowledges it, or the link reports that it is gone.
 */
#include "state.h"

enum {
	LOOKS = 200,      /* checks of the condition before the node halts */
	MOST = 64,         /* events skipped between two checks */
	LAST = 3           /* index of `calls` among the queues of a wait */
};

#define PING_SEEN 0x80000000u  /* in a ping's number: its target had been seen before the ping */

int vmmc_ping(int rank, uint64_t header)
{
	return vmmc_put(vmmc.requesting, NULL, 0, PTL_ACK_REQ, margay_process(rank), PORTAL_PING, 0,
	                0, header);
}

static int ping(int rank)
{
	uint32_t seen = vmmc.lives[rank] == LIFE_SEEN ? PING_SEEN : 0;

	return vmmc_ping(rank, vmmc_header(KIND_PING, (uint32_t)rank | seen));
}

void vmmc_learn(int rank, ptl_ni_fail_t fail, int seen)
{
	if (fail == PTL_NI_FAIL)
		vmmc_bury(rank, LIFE_DEAD);
	else if (fail == PTL_NI_OK)
		vmmc.lives[rank] = LIFE_SEEN;
	else if (seen)
		vmmc_bury(rank, LIFE_LEFT);
}

/* An event of `calls`: an ack of a request of this process, or an answer. */
static void take(const ptl_event_t *event)
{
	uint32_t number = (uint32_t)event->hdr_data;
	struct call *call = &vmmc.call;

	if (event->type == PTL_EVENT_PUT_END) {
		if (event->match_bits == call->number && event->ni_fail_type == PTL_NI_OK)
			call->answered = 1;
		return;
	}
	if (event->type != PTL_EVENT_ACK)
		return;
	switch (event->hdr_data >> 32) {
	case KIND_PING:
		if (vmmc.pinging == (int)(number & ~PING_SEEN))
			vmmc.pinging = -1;
		vmmc_learn((int)(number & ~PING_SEEN), event->ni_fail_type, !!(number & PING_SEEN));
		break;
	case KIND_FENCE:
		/* Two messages have this number: the one to the data is answered only if it
		 * was refused. */
		if (number != call->number)
			break;
		if (event->pt_index == PORTAL_DATA) {
			call->refused = event->ni_fail_type;
			break;
		}
		/* fall through */
	default:
		if (number == call->number) {
			call->acked = 1;
			call->fail = event->ni_fail_type;
		}
	}
}

/* Drops events that only wake; those beyond MOST wake the node again. */
static void forget(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	for (int i = 0; i < MOST && PtlEQGet(eq, &event) != PTL_EQ_EMPTY; i++)
		;
}

/* Milliseconds to halt at most; -1: the time is over. */
static int64_t slice(int64_t now, int64_t end, int64_t next_ping, int rank)
{
	int64_t most = end < 0 ? VMMC_PING_MS : end - now;

	if (end >= 0 && most <= 0)
		return -1;
	if (rank < 0)
		return end < 0 ? (int64_t)PTL_TIME_FOREVER : most;
	if (next_ping > now && next_ping - now < most)
		return next_ping - now;
	return most < VMMC_PING_MS ? most : VMMC_PING_MS;
}

int vmmc_wait_for(int (*ready)(void *argument), void *argument, int rank, int timeout)
{
	/* Two have handlers, which may have changed the condition. */
	ptl_handle_eq_t queues[] = { vmmc.arrivals, vmmc.notices, vmmc.sent, vmmc.calls };
	int64_t now, end, next_ping, most;
	ptl_event_t event;
	int which, found;

	for (int look = 0; look < LOOKS; look++)
		if (ready(argument))
			return VMMC_OK;
	now = vmmc_now();
	end = timeout < 0 ? -1 : now + timeout;
	next_ping = now + VMMC_PING_MS;
	for (;;) {
		for (int i = 0; i < LAST; i++)
			forget(queues[i]);
		if (ready(argument))
			return VMMC_OK;
		if (rank >= 0 && vmmc.lives[rank] >= LIFE_LEFT)
			return VMMC_EDEAD;
		now = vmmc_now();
		if (rank >= 0 && now >= next_ping && vmmc.pinging != rank) {
			if (ping(rank) == PTL_OK)
				vmmc.pinging = rank;
			next_ping = now + VMMC_PING_MS;
		}
		most = slice(now, end, next_ping, rank);
		if (most < 0)
			return VMMC_ETIMEDOUT;
		found = PtlEQPoll(queues, LAST + 1, (ptl_time_t)most, &event, &which);
		if (found == PTL_FAIL)          /* no event comes any more: see VMMC_EFAIL */
			return VMMC_EFAIL;
		if ((found == PTL_OK || found == PTL_EQ_DROPPED) && which == LAST)
			take(&event);
	}
}

int vmmc_wait_until(int (*ready)(void *argument), void *argument, int rank, int timeout)
{
	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	if (!ready || rank >= vmmc.size)
		return VMMC_EINVAL;
	return vmmc_wait_for(ready, argument, rank, timeout);
}

struct change {
	const volatile uint32_t *word;
	uint32_t old;
};

static int changed(void *argument)
{
	const struct change *change = argument;

	return *change->word != change->old;
}

int vmmc_wait(const volatile uint32_t *word, uint32_t old, int rank, int timeout)
{
	struct change change = { .word = word, .old = old };

	return word ? vmmc_wait_until(changed, &change, rank, timeout) : VMMC_EINVAL;
}
