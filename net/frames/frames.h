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
 * free; an answer never waits for either, and who starts an operation leaves a record for
 * requests. A target that sends no acknowledgement though one was
 * asked for tells so with an ACK whose `link` word is FRAMES_NO_ACK.
 *
 * If the answer arrives before the link has heard that the request has, the
 * answer shows as much: SEND_END comes first all the same. Only payload in pieces
 * that was not copied must stay findable until the link is through with it: then
 * the answer is refused until that is heard of.
 *
 * Who lost a peer (link.h) ends what it would have ended with NI_FAIL. Messages
 * of a process to itself do not come here.
 *
 * All functions want the exclusion of the link; the block's lock is taken here.
 */
#ifndef NET_FRAMES_FRAMES_H
#define NET_FRAMES_FRAMES_H
#include "../link/link.h"
#include "../portals/initiator.h"

#define FRAMES_AGAIN   1           /* no record free: nothing happened, call again later */
#define FRAMES_NO_ACK  1u          /* message.link of an ACK that is none */

enum frames_counter {
	FRAMES_COPIED_IN,          /* bytes copied from frames into the segment */
	FRAMES_COPIED_OUT,         /* bytes copied before they were sent */
	FRAMES_BAD,                /* messages with headers that cannot be, dropped */
	FRAMES_COUNTERS
};

struct frames;

/* Bytes that frames_open needs; 0: the configuration cannot be. */
uint64_t frames_bytes(const struct link_config *config, const struct block_limits *limits);

/*
 * Join the view's process to its card, in `memory` (64-byte aligned). Sets the
 * card's context and calls up. `context` is the port's. Null: as link_open.
 */
struct frames *frames_open(void *memory, const struct link_config *config, struct nic *nic,
			   struct process_view *view, void *context);

/* Long messages' payload goes by this card (link_bulk), without a copy. Sets the card's
 * context and calls up. Once, after frames_open. */
void frames_bulk(struct frames *frames, struct nic *nic);

/* Start an operation of any kind (initiator_start): 0, an enum portals_error, or
 * FRAMES_AGAIN. What becomes of it shows in the events. */
int frames_start(struct frames *frames, const struct initiator_args *args);

/*
 * The same for the plainest puts, to nodes that are known: initiator_brief, and all of the
 * message is written where the card reads it, its few bytes of payload as well.
 */
enum frames_brief {
	FRAMES_OTHER,              /* it is another: nothing has happened, frames_start knows */
	FRAMES_QUEUED,             /* done */
	FRAMES_SENT                /* done, and it has left or waits with others already:
	                              frames_deadline can only have become that of frames_due */
};

enum frames_brief frames_brief(struct frames *frames, const struct initiator_args *args);

/* Send a message without payload, answer or record of its own: BARRIER. 0 or FRAMES_AGAIN. */
int frames_signal(struct frames *frames, const struct message *message);

/* Nothing more is sent for a while: link_flush. frames_holds: 1 if that would send anything. */
void frames_flush(struct frames *frames);
int frames_holds(const struct frames *frames);

uint64_t frames_deadline(const struct frames *frames);
uint64_t frames_due(const struct frames *frames);
int frames_only_resends(const struct frames *frames, uint64_t at); /* link_only_resends */
void frames_rest(struct frames *frames);               /* link_rest */
void frames_tick(struct frames *frames);

struct link *frames_link(struct frames *frames);
uint64_t frames_counter(const struct frames *frames, enum frames_counter counter);
/* Messages that the link has not yet reported as sent, and answers kept room for. */
uint32_t frames_pending(const struct frames *frames);

/* ---- the port ---- */

uint64_t frames_port_now(void *context);                  /* ns */
int frames_port_lock(void *context);                      /* 0: the block is broken */
void frames_port_unlock(void *context);
/* So many events were recorded (0: a barrier's round has come, or a peer is lost); with
 * `upcall` one of them is for a handler. */
void frames_port_wake(void *context, uint32_t events, int upcall);

#endif
