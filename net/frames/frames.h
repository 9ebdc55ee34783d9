/*
 * A process's messages over frames: the engine (net/portals) on one side, the
 * link (net/link) on the other. It starts operations, carries out what arrives,
 * and sends the answers. The kernel and Linux programs compile the same files;
 * lock, clock and waking come through the port at the end.
 *
 * An operation's way, here PtlPut with an acknowledgement (A's calls on the left):
 *
 *   initiator_start, link_send            --frames-->  begin: deliver_begin, and a record
 *                                                      for the answer is kept
 *                                                      data:  deliver_data, per fragment
 *                                                      end:   deliver_end, PUT_END
 *   whole: deliver_inline, ACK            <--answer--  link_send of the ACK
 *   sent:  initiator_sent, SEND_END       <--acks----
 *
 * Messages of up to 64 bytes are copied when they are sent: without an ack their
 * SEND_END is recorded then. On arrival they go through deliver_inline. A request is
 * refused (LINK_BUSY) while no operation record or no record for its answer is
 * free; an answer never waits for either, and the start of an operation leaves a record for
 * requests. A target that sends no acknowledgement though one was
 * asked for says so with an ACK whose `link` byte is FRAMES_NO_ACK.
 *
 * If the answer arrives before the link has heard that the request has, the
 * answer shows as much: SEND_END comes first all the same. Only payload in pieces
 * that was not copied must stay findable until the link is through with it: then
 * the answer is refused until that is heard of.
 *
 * The loss of a peer ends what it would have ended with NI_FAIL. Messages of a process to
 * itself do not come here.
 *
 * The user starts operations, and calls frames_poll when a card interrupts, when the time
 * comes that frames_wants names, and while it waits. All functions want one exclusion; the
 * block's lock is taken here.
 */
#ifndef NET_FRAMES_FRAMES_H
#define NET_FRAMES_FRAMES_H
#include "../link/link.h"
#include "../portals/initiator.h"

#define FRAMES_AGAIN   1           /* no record free: nothing happened, call again later */
#define FRAMES_NO_ACK  1u          /* message.link of an ACK that is none */

struct frames;

/*
 * What suits a job of `nodes` nodes with these cards; everything may be changed before
 * frames_open. With a bulk card, which may be null, the payload of long messages goes by
 * that, without a copy; all nodes have one or none has.
 */
struct link_config frames_config(uint32_t node, uint32_t nodes, uint32_t incarnation,
				 const struct nic *nic, const struct nic *bulk);

/* Bytes that frames_open needs; 0: the configuration cannot be. */
uint64_t frames_bytes(const struct link_config *config, const struct block_limits *limits);

/*
 * Join the view's process to its cards, in `memory` (64-byte aligned). Sets the
 * cards' context and calls up. `context` is the port's. Null: as link_open.
 */
struct frames *frames_open(void *memory, const struct link_config *config, struct nic *nic,
			   struct nic *bulk, struct process_view *view, void *context);

/* ---- start an operation ---- */

/* Start an operation of any kind (initiator_start): 0, an enum portals_error, or
 * FRAMES_AGAIN. What becomes of it shows in the events. */
int frames_start(struct frames *frames, const struct initiator_args *args);

/*
 * The same for the plainest puts, to nodes that are known: initiator_fast_put, and all of the
 * message is written where the card reads it, its few bytes of payload as well.
 */
enum frames_fast {
	FRAMES_OTHER,              /* it is another: nothing has happened, frames_start knows */
	FRAMES_QUEUED,             /* done */
	FRAMES_SENT                /* done, and it has left or waits with others already: of what
	                              frames_wants says only the time has changed, to *due */
};

enum frames_fast frames_fast_put(struct frames *frames, const struct initiator_args *args,
				 uint64_t *due);

/* Tell a process of the job news of a barrier, a round or BLOCK_BARRIER_ of block.h, by a
 * BARRIER message. A PING is not sent while other requests to that node are unacknowledged:
 * they ask the same. 0 or FRAMES_AGAIN. */
int frames_signal(struct frames *frames, uint32_t node, uint32_t news);

/* ---- progress ---- */

struct frames_look {
	uint64_t at;               /* ns: the time of it, which stands still meanwhile */
	uint32_t frames;           /* that the cards had */
	uint8_t  is_all;           /* 1: they had no more */
	uint8_t  is_news;          /* 1: messages were sent, or time has come: what the user
	                              waits for may have ended even without a frame */
};

/* Take up to `budget` frames from each card, and do what it is time for. */
struct frames_look frames_poll(struct frames *frames, uint32_t budget);

/* The user sends nothing more for a while: messages that are delayed for a batch
 * (net/link/batch.c) leave. With `halts` it is about to halt, too: what a sender may wait for is
 * acknowledged, and frames_wants names the latest time that it can. */
void frames_pause(struct frames *frames, int halts);

/* Messages that the link has not yet reported as sent, and answers kept room for. */
uint32_t frames_pending(const struct frames *frames);

/* ---- what wakes a waiter ---- */

struct frames_wants {
	uint64_t at;               /* ns: frames_poll has something to do then, if no frame comes
	                              before; perhaps too early. LINK_NEVER: nothing */
	uint8_t  delays;           /* 1: messages are delayed for a batch */
};

/* Retransmissions may wait until `late` (ns). */
struct frames_wants frames_wants(const struct frames *frames, uint64_t late);

/* ---- a peer is lost or renewed ---- */

/* The user knows that a node's life has ended. `next`: the incarnation of its next life,
 * 0 if there is none. What was under way with it ends with NI_FAIL. */
void frames_ended(struct frames *frames, uint32_t node, uint32_t next);

/* ---- figures ---- */

struct frames_figures {
	uint64_t link[LINK_COUNTERS_END];  /* enum link_counter */
	uint64_t copied_in;                /* bytes copied from frames into the segment */
	uint64_t copied_out;               /* bytes copied before they were sent */
	uint64_t bad;                      /* messages with headers that cannot be, dropped */
	uint64_t peer_bytes;               /* of state that the peers take */
	uint32_t sends_high;               /* most messages that were being sent at once, */
	uint32_t parts_high;               /* that were being received in parts, */
	uint32_t early_high;               /* and short ones that had come too early */
	uint32_t records;                  /* of the link, in use now */
};

struct frames_figures frames_figures(const struct frames *frames);

/* ---- the port ---- */

uint64_t frames_port_now(void *context);                  /* ns */
int frames_port_lock(void *context);                      /* 0: the block is broken */
void frames_port_unlock(void *context);
/* So many events were recorded (0: a barrier's round has come); with `upcall` one of them is
 * for a handler. */
void frames_port_wake(void *context, uint32_t events, int upcall);
/* Everything with this node was over, and what it has ended is recorded: the node was restarted
 * or cannot be reached. */
void frames_port_lost(void *context, uint32_t node);

#endif
