/*
 * Events of Portals, and waiting for them. Called by the application's one thread, and by upcalls
 * that find it outside of the library; upcalls take no events from queues themselves.
 */
#include "core.h"

struct event nx_copy(const ptl_event_t *event)
{
	return (struct event){
		.type = event->type, .fail = event->ni_fail_type,
		.source = nx_rank_of(event->initiator), .portal = event->pt_index,
		.bits = event->match_bits, .header = event->hdr_data, .offset = event->offset,
		.length = event->rlength, .user = event->md.user_ptr,
	};
}

void nx_event(int queue, const struct event *event)
{
	if (queue == QUEUE_EARLY)
		nx_early_event(event);
	else if (event->type == PTL_EVENT_REPLY_END || event->type == PTL_EVENT_PUT_END)
		nx_rx_event(event);
	else
		nx_tx_event(event);
}

/* Discards the events of a queue that upcalls have handled. */
static void discard(int queue)
{
	ptl_event_t event;
	int rc;

	do
		rc = PtlEQGet(nx.queues[queue], &event);
	while (rc == PTL_OK || rc == PTL_EQ_DROPPED);
}

static void take(int queue)
{
	ptl_event_t event;

	while (PtlEQGet(nx.queues[queue], &event) == PTL_OK) {
		const struct event copy = nx_copy(&event);

		nx_event(queue, &copy);
	}
}

void nx_take_early(void)
{
	if (!nx.hand) {
		take(QUEUE_EARLY);
		return;
	}
	if (!nx.in_upcall) {
		discard(QUEUE_EARLY);
		discard(QUEUE_HAND);
	}
	nx.hand->drain();
}

void nx_progress(void)
{
	take(QUEUE_RX);
	take(QUEUE_TX);
	nx_take_early();
	if (nx.queued && !nx.in_upcall) {
		discard(QUEUE_CREDIT);
		nx_send_queued();
	}
	if (nx.waiting.first || nx.unfetched.first)
		nx_post_waiting();
	if (nx.lost && !nx.in_upcall)
		nx_end_lost();
	if (nx.hand)
		nx.hand->call();
}

/* A rank died over shared memory while it wrote into this one's structures: nothing more comes. */
__attribute__((noinline, cold))
static void all_gone(void)
{
	nx.broken = nx.lost = 1;
	for (int rank = 0; rank < nx.size; rank++)
		nx_gone((uint32_t)rank, PTL_NI_FAIL);
}

/* Operations that wait for room in Portals try again after a millisecond. Those that wait for a
 * peer probe it from time to time, by the clock, as other messages may come all the time. */
void nx_block(void)
{
	uint32_t waits = nx.sends + nx.named;
	ptl_time_t most = nx.short_of_room ? 1 : waits ? PROBE_MS : PTL_TIME_FOREVER;
	struct event copy;
	ptl_event_t event;
	int queue;
	int rc = PtlEQPoll(nx.queues, nx.queue_count, most, &event, &queue);

	if (waits && dclock() >= nx.probe_at) {
		nx.probe_at = dclock() + PROBE_MS * 1e-3;
		nx_probe();
	}
	nx.short_of_room = 0;
	if (rc == PTL_FAIL)
		all_gone();
	if (rc != PTL_OK || queue == QUEUE_CREDIT ||
	    (nx.hand && (queue == QUEUE_EARLY || queue == QUEUE_HAND)))
		return;
	copy = nx_copy(&event);
	nx_event(queue, &copy);
}

int nx_wait(struct request *r)
{
	while (r->state != DONE) {
		nx_progress();
		if (r->state != DONE)
			nx_block();
	}
	return r->error;
}
