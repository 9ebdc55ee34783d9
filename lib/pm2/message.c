/*
 * Messages between nodes: puts to the address that the memory has on both nodes. Owns the peers,
 * the event queues and the descriptors.
 *
 *   PM2_PORTAL      match bits of a kind: all of memory; an event in the current mode's queue
 *                   PM2_SILENT: all of memory, without an event
 *   PM2_ASK_PORTAL  no memory: a probe whether the node lives
 *
 * Arrivals go into one of two queues. POLLS: one that is polled while the scheduler has nothing to
 * run. INTERRUPTS: one whose handler raises SIGALRM, so that a thread that computes is interrupted.
 * The number of unread arrivals is bounded: each sender may have `window` messages there, and the
 * node returns credit once half of them are taken.
 */
#include "inner.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_ALL    1024u             /* arrivals in each of the queues */
#define WINDOW_LEAST  4u
#define WINDOW_MOST   64u
#define CREDITS       6u                /* messages of a peer that need no credit */
#define UPDATES       8u                /* attempts to change the mode */
#define NS_PER_MS     1000000u
#define BROKEN_US     1000u

static volatile int rung;               /* the queue of INTERRUPTS may have events */
static const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };

/* ---- death ---- */

static void fail(struct message *message)
{
	if (message->thread)
		pm2_stayed(message->thread);
}

/* Declares what is on a dead node lost, but not before all threads that were leaving for it are known
 * to have arrived there, or to be here again. */
static void bury(int node)
{
	if (!pm2.peers[node].leaving)
		pm2_bury(node);
}

static void dead(int node)
{
	struct peer *peer = &pm2.peers[node];
	struct message *message = peer->first;

	if (peer->dead)
		return;
	peer->dead = 1;
	peer->first = 0;
	while (message) {
		struct message *next = message->next;

		pm2.queued--;
		fail(message);
		message = next;
	}
	bury(node);
	if (pm2.ending && pm2.main.state == WAITS) {
		pm2.main.error = PM2_EDEAD;
		pm2_ready(&pm2.main);
	}
}

/* ---- sending ---- */

static int put(ptl_handle_md_t md, int node, uint64_t at, uint64_t bytes, uint64_t bits,
	       uint64_t to, uint64_t header)
{
	return PtlPutRegion(md, at, bytes, PTL_NOACK_REQ, pm2.peers[node].process, PM2_PORTAL, 0,
			    bits, to, header);
}

static int has_credit(const struct peer *peer)
{
	return peer->sent - peer->returned < pm2.window;
}

/* The message must not be touched after this: its thread may be back already. A put without an ack
 * waits for room by itself; if it fails, there is no node to send to. */
static void send_now(int node, struct message *message)
{
	struct peer *peer = &pm2.peers[node];
	unsigned leaves = message->thread != 0;

	peer->sent++;
	peer->leaving += leaves;        /* until its SEND_END */
	if (leaves)                     /* not while it waits: it is lost if this node dies meanwhile */
		pm2_place(message->thread, node);
	if (put(leaves ? pm2.noted : pm2.plain, node, message->at, message->bytes, message->bits,
		message->to, message->header) == PTL_OK)
		return;
	peer->leaving -= leaves;
	fail(message);
}

void pm2_send(int node, struct message *message)
{
	struct peer *peer = &pm2.peers[node];

	if (peer->dead) {
		fail(message);
		return;
	}
	if (!peer->first && has_credit(peer)) {
		send_now(node, message);
		return;
	}
	message->next = 0;
	if (!peer->first)
		peer->last = &peer->first;
	*peer->last = message;
	peer->last = &message->next;
	pm2.queued++;
}

static void send_waiting(int node)
{
	struct peer *peer = &pm2.peers[node];

	while (peer->first && has_credit(peer)) {
		struct message *message = peer->first, *next = message->next;

		peer->first = next;
		pm2.queued--;
		send_now(node, message);
	}
}

void pm2_tell(int node, enum kind kind, uint64_t header)
{
	put(pm2.plain, node, 0, 0, kind, 0, header);
}

void pm2_copy(int node, const void *memory, uint64_t bytes)
{
	put(pm2.plain, node, (uintptr_t)memory, bytes, PM2_SILENT, (uintptr_t)memory, 0);
}

/* ---- receiving ---- */

static int rank_of(ptl_process_id_t process)
{
	return (int)(process.nid - pm2.peers[0].process.nid);
}

static void taken(int from)
{
	struct peer *peer = &pm2.peers[from];

	if (++peer->unacked < (pm2.window + 1) / 2 || peer->dead)
		return;
	pm2_tell(from, KIND_CREDIT, peer->unacked);
	peer->unacked = 0;
}

static struct pm2_thread *thread_of(const ptl_event_t *event)
{
	return (struct pm2_thread *)(event->hdr_data & ((1ULL << PM2_NODE_SHIFT) - 1));
}

/* The SEND_END of a thread that was sent. If it has arrived, it may be anywhere by now. */
static void has_left(const ptl_event_t *event)
{
	int node = (int)(event->hdr_data >> PM2_NODE_SHIFT);
	struct peer *peer = &pm2.peers[node];

	peer->leaving--;
	if (event->ni_fail_type != PTL_NI_OK) {
		pm2_stayed(thread_of(event));
		dead(node);
	}
	if (peer->dead)
		bury(node);
}

/* Each node tells rank 0 that it leaves; rank 0 tells all when all have. */
static void leaves(int from)
{
	pm2.ended++;
	if (pm2.self != 0 && from == 0)
		pm2.ended = (unsigned)pm2.nodes;
	if (pm2.ended < (unsigned)pm2.nodes)
		return;
	for (int node = 1; node < pm2.nodes && pm2.self == 0; node++)
		pm2_tell(node, KIND_LEAVE, 0);
	if (pm2.ending && pm2.main.state == WAITS)
		pm2_ready(&pm2.main);
}

/* ---- threads that a dead node was sending to a living one ---- */

/* At the threads' home: asks a node for the next thread after `after`. */
static void ask_for(int node, pm2_thread_t after)
{
	pm2_thread_t name = pm2_suspect(node, after);

	pm2.peers[node].asked = name != 0;
	if (name)
		put(pm2.plain, node, 0, 0, KIND_ASK, (uint64_t)pm2_sender_of(name), name);
}

/* At the thread's home. A name is not used again while its record exists. The thread may have moved
 * since. */
static void answered(int from, const ptl_event_t *event)
{
	pm2_thread_t name = event->hdr_data;
	struct record *record = pm2_record(name);

	pm2.peers[from].asked = 0;
	if (!record)                    /* it has ended meanwhile: the others next time */
		return;
	if ((event->match_bits & PM2_KIND) == KIND_LOST && record->use == LIVES &&
	    pm2_place_of(name) == from && pm2.peers[pm2_sender_of(name)].dead)
		pm2_finish(name, 0, PM2_EDEAD);
	ask_for(from, name);
}

static void probe(int node)
{
	struct peer *peer = &pm2.peers[node];

	if (!peer->probed && !peer->dead)
		peer->probed = PtlPutRegion(pm2.asked, 0, 0, PTL_ACK_REQ, peer->process,
					    PM2_ASK_PORTAL, 0, 0, 0, (uint64_t)node) == PTL_OK;
}

/* At the node that was asked. Nothing more arrives from a node that is known to be dead here. A
 * thread that has moved on, or the message of its end, may still wait for credit. */
static void answer(int from, const ptl_event_t *event)
{
	pm2_thread_t name = event->hdr_data;
	int sender = (int)(event->offset % (uint64_t)pm2.nodes), is_lost;

	if (pm2_home(name) != from)
		return;
	is_lost = pm2.peers[sender].dead && !pm2.queued &&
		(pm2_thread_of(name)->name != name || pm2_thread_of(name)->state == AWAY);
	probe(sender);
	pm2_tell(from, is_lost ? KIND_LOST : KIND_ANSWER, name);
}

static void arrived(const ptl_event_t *event)
{
	int from = rank_of(event->initiator);

	if (event->ni_fail_type != PTL_NI_OK) { /* the sender died while it was arriving */
		dead(from);
		return;
	}
	switch (event->match_bits & PM2_KIND) {
	case KIND_THREAD:
		pm2_arrived(thread_of(event));
		break;
	case KIND_END:
		pm2_finish(event->hdr_data, pm2_thread_of(event->hdr_data)->result, PM2_OK);
		break;
	case KIND_FREE:
		pm2_slots_give((void *)(event->hdr_data & ~(PM2_SLOT - 1ULL)),
			       (uint32_t)(event->hdr_data & (PM2_SLOT - 1)));
		break;
	case KIND_CREDIT:
		pm2.peers[from].returned += (uint32_t)event->hdr_data;
		send_waiting(from);
		return;
	case KIND_LEAVE:
		leaves(from);
		return;
	case KIND_ASK:
		answer(from, event);
		return;
	case KIND_ANSWER:
	case KIND_LOST:
		answered(from, event);
		return;
	}
	taken(from);
}

static void handle(const ptl_event_t *event)
{
	int node;

	switch (event->type) {
	case PTL_EVENT_PUT_END:
		arrived(event);
		break;
	case PTL_EVENT_SEND_END:
		has_left(event);
		break;
	case PTL_EVENT_ACK:
		node = (int)event->hdr_data;
		pm2.peers[node].probed = 0;
		if (event->ni_fail_type != PTL_NI_OK)
			dead(node);
		break;
	default:
		break;
	}
}

static void drain(ptl_handle_eq_t queue)
{
	ptl_event_t event;

	while (PtlEQGet(queue, &event) == PTL_OK)
		handle(&event);
}

void pm2_poll(void)
{
	if (pm2.nodes == 1)
		return;
	drain(pm2.queues[POLLS]);
	if (rung) {
		rung = 0;
		drain(pm2.queues[INTERRUPTS]);
	}
}

/* An upcall. It only wakes: the interrupted code takes the event. */
static void ring(ptl_event_t *event)
{
	if (event->type != PTL_EVENT_PUT_END)
		return;
	rung = 1;
	if (!pm2.busy)
		kill(getpid(), SIGALRM);
	else
		pm2.late = 1;
}

/* ---- modes ---- */

static ptl_md_t everything(unsigned options, ptl_handle_eq_t queue)
{
	return (ptl_md_t){
		.length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_SPAN | PTL_MD_EVENT_START_DISABLE, .eq_handle = queue,
	};
}

#define INCOMING (PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE)

/* A message that is arriving keeps the descriptor unchanged. It may be long, and others may follow:
 * then the mode stays. Arrivals are found in either, but in POLLS they do not interrupt. */
void pm2_set_mode(enum mode mode)
{
	ptl_md_t wanted;

	if (pm2.mode == mode || pm2.nodes == 1)
		return;
	wanted = everything(INCOMING, pm2.queues[mode]);
	for (unsigned i = 0; i < UPDATES && pm2.mode != mode; i++) {
		if (PtlMDUpdate(pm2.incoming, 0, &wanted, PTL_EQ_NONE) != PTL_MD_NO_UPDATE)
			pm2.mode = mode;
		pm2_poll();
	}
}

/* Without this the answer may come before the scheduler runs, and interrupt it. */
void pm2_expect(void)
{
	if (!pm2.ready.first && !pm2.quick.first)
		pm2_set_mode(POLLS);
}

/* ---- waiting ---- */

/* Marks the nodes for which something waits: for a thread, also the node that has sent it. */
static void mark(void)
{
	for (int node = 0; node < pm2.nodes; node++)
		pm2.peers[node].wanted = node != pm2.self &&
			(pm2.peers[node].first || (pm2.ending && (node == 0 || pm2.self == 0)));
	for (uint64_t slot = 0; slot < pm2.share; slot++) {
		if (pm2.records[slot].use != LIVES || !pm2.records[slot].joiner)
			continue;
		pm2.peers[pm2_place_of(pm2_name_in(slot))].wanted = 1;
		pm2.peers[pm2_sender_of(pm2_name_in(slot))].wanted = 1;
	}
	pm2.peers[pm2.self].wanted = 0;
}

static void ask(void)
{
	mark();
	for (int node = 0; node < pm2.nodes; node++) {
		struct peer *peer = &pm2.peers[node];

		if (!peer->wanted)
			continue;
		if (peer->dead)
			bury(node);     /* a thread was being moved there */
		else if (!peer->asked)
			ask_for(node, 0);
		probe(node);
	}
}

/* A node died over shared memory while it wrote into this one's structures: nothing comes any
 * more. */
static void all_dead(void)
{
	for (int node = 0; node < pm2.nodes; node++)
		if (node != pm2.self) {
			pm2.peers[node].leaving = 0;
			dead(node);
			bury(node);
		}
	usleep(BROKEN_US);              /* for threads that sleep */
}

/* Messages may arrive, and threads wake, all the time. So the clock decides when to probe, not a
 * wait without events. */
void pm2_wait(uint64_t until)
{
	ptl_time_t most = PTL_TIME_FOREVER;
	ptl_event_t event;
	int asks = pm2.awaited || pm2.queued || pm2.ending;
	int which, rc;

	if (asks)
		most = PROBE_MS;
	if (until != NO_TIME) {
		uint64_t now = pm2_now(), ms = until > now ? (until - now - 1) / NS_PER_MS + 1 : 0;

		if (most == PTL_TIME_FOREVER || ms < most)
			most = ms < PTL_TIME_FOREVER ? (ptl_time_t)ms : PTL_TIME_FOREVER - 1;
	}
	rc = PtlEQPoll(pm2.queues, 2, most, &event, &which); /* an event may be in either */
	if (rc == PTL_OK)
		handle(&event);
	else if (rc == PTL_FAIL)
		all_dead();
	if (asks && pm2_now() >= pm2.ask_at) {
		pm2.ask_at = pm2_now() + (uint64_t)PROBE_MS * NS_PER_MS;
		ask();
	}
}

/* ---- opening ---- */

static int attach(ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_match_bits_t ignored,
		  ptl_md_t md, ptl_handle_me_t *entry, ptl_handle_md_t *handle)
{
	int rc = PtlMEAttach(pm2.ni, portal, any_process, bits, ignored, PTL_UNLINK, PTL_INS_AFTER,
			     entry);

	return rc == PTL_OK ? PtlMDAttach(*entry, md, PTL_RETAIN, handle) : rc;
}

static int open_queues(void)
{
	unsigned nodes = (unsigned)pm2.nodes, arrivals, rc;

	pm2.window = EVENTS_ALL / nodes;
	if (pm2.window < WINDOW_LEAST)
		pm2.window = WINDOW_LEAST;
	if (pm2.window > WINDOW_MOST)
		pm2.window = WINDOW_MOST;
	arrivals = nodes * (pm2.window + CREDITS);
	rc = (unsigned)PtlEQAlloc(pm2.ni, arrivals + nodes * (pm2.window + 1),
				  PTL_EQ_HANDLER_NONE, &pm2.queues[POLLS]);
	if (rc == PTL_OK)
		rc = (unsigned)PtlEQAlloc(pm2.ni, arrivals, ring, &pm2.queues[INTERRUPTS]);
	return (int)rc;
}

int pm2_messages_open(void)
{
	ptl_md_t asked = everything(PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, PTL_EQ_NONE);
	ptl_handle_md_t handle;
	int rc;

	pm2.peers = calloc((size_t)pm2.nodes, sizeof(*pm2.peers));
	if (!pm2.peers)
		return PTL_NO_SPACE;
	for (int node = 0; node < pm2.nodes; node++)
		pm2.peers[node].process = margay_process(node);
	rc = open_queues();
	asked.eq_handle = pm2.queues[POLLS];
	if (rc == PTL_OK)
		rc = attach(PM2_PORTAL, 0, PM2_KIND, everything(INCOMING, pm2.queues[POLLS]),
			    &pm2.entries[0], &pm2.incoming);
	if (rc == PTL_OK)
		rc = attach(PM2_PORTAL, PM2_SILENT, 0,
			    everything(INCOMING | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
			    &pm2.entries[1], &handle);
	if (rc == PTL_OK)
		rc = attach(PM2_ASK_PORTAL, 0, 0,
			    everything(PTL_MD_OP_PUT | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
			    &pm2.entries[2], &handle);
	if (rc == PTL_OK)
		rc = PtlMDBind(pm2.ni, everything(0, pm2.queues[POLLS]), PTL_RETAIN, &pm2.noted);
	if (rc == PTL_OK)
		rc = PtlMDBind(pm2.ni, everything(PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
			       PTL_RETAIN, &pm2.plain);
	if (rc == PTL_OK)
		rc = PtlMDBind(pm2.ni, asked, PTL_RETAIN, &pm2.asked);
	return rc;
}

void pm2_messages_close(void)
{
	for (int i = 0; i < 3; i++)
		PtlMEUnlink(pm2.entries[i]);
	PtlMDUnlink(pm2.noted);
	PtlMDUnlink(pm2.plain);
	PtlMDUnlink(pm2.asked);
	for (int i = 0; i < 2; i++)
		PtlEQFree(pm2.queues[i]);
	free(pm2.peers);
	pm2.peers = 0;
}
