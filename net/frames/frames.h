/*
 * A process's messages over frames: connects the engine (net/portals) with the link (net/link).
 * It starts operations, carries out arriving messages, and sends the answers. The kernel and Linux
 * programs compile the same files; lock, clock and upcalls are port functions (at the end).
 *
 * Example: a PtlPut with an acknowledgement (the initiator is on the left):
 *
 *   initiator_start, link_send            --frames-->  begin: deliver_begin; reserve a record
 *                                                      for the answer
 *                                                      data:  deliver_data, per fragment
 *                                                      end:   deliver_end, PUT_END
 *   whole: deliver_inline, ACK            <--answer--  link_send of the ACK
 *   sent:  initiator_sent, SEND_END       <--acks----
 *
 * Messages of up to 64 bytes are copied when they are sent, and without an ack their SEND_END is
 * recorded then. The target carries them out with deliver_inline. A request is refused (LINK_BUSY)
 * while there is no free operation record or no record for its answer. An answer needs neither,
 * and the start of an operation always leaves one operation record for requests. If an ack was
 * requested but the target's descriptor disables it, the target sends an ACK with FRAMES_NO_ACK
 * in its `link` byte.
 *
 * The answer may arrive before the link knows that the request has arrived. As the answer proves
 * that, SEND_END is recorded before the answer's events. There is one exception: while the link may
 * still need payload of an iovec descriptor that was not copied, the descriptor must not go, so the
 * answer is refused until the link has finished.
 *
 * When a peer is lost, operations that it would have completed end with NI_FAIL. Messages of a
 * process to itself do not come here.
 *
 * The user starts operations. It calls frames_poll when a card interrupts, at the time that
 * frames_next_poll returns, and while it waits. The user must serialise all calls; the block's lock
 * is acquired here.
 */
#ifndef NET_FRAMES_FRAMES_H
#define NET_FRAMES_FRAMES_H
#include "../link/link.h"
#include "../portals/initiator.h"

#define FRAMES_AGAIN   1           /* no record is free: nothing happened, call again later */
#define FRAMES_NO_ACK  1u          /* message.link of an ACK: the target does not acknowledge */

struct frames;

/* Bytes that frames_open needs; 0: the configuration is invalid. config->announce is 0, or more than
 * ATOMIC_LONGEST: otherwise operands may be applied twice after a loss. */
uint64_t frames_bytes(const struct link_config *config, const struct block_limits *limits);

/*
 * Connect the view's process to its cards, in `memory` (64-byte aligned). Sets the cards' context
 * and callbacks. With a bulk card (`bulk` may be null) and config->announce the payload of long
 * messages is received without a copy; either all nodes have a bulk card or none has. `context` is
 * the argument of the port functions. Null: as link_open. All processes of the job have the same
 * pid, uid and jid, as plain puts do not carry them.
 */
struct frames *frames_open(void *memory, const struct link_config *config, struct nic *nic,
			   struct nic *bulk, struct process_view *view, void *context);

/* ---- start an operation ---- */

/* Start an operation of any kind (initiator_start): 0, an enum portals_error, or FRAMES_AGAIN.
 * Events show the result of the operation. */
int frames_start(struct frames *frames, const struct initiator_args *args);

/*
 * The fast path of a plain put: a short one without an ack to a known node, to the process with the
 * caller's pid, if initiator_fast_put accepts it. The whole message, with its payload, is written
 * where the card reads it.
 */
enum frames_fast {
	FRAMES_OTHER,              /* nothing has happened: call frames_start */
	FRAMES_QUEUED,             /* started */
	FRAMES_SENT                /* started; the message has left or is delayed with others. Of
	                              frames_next_poll only the time may have changed, to *due */
};

enum frames_fast frames_fast_put(struct frames *frames, const struct initiator_args *args,
				 uint64_t *due);

/* Send a BARRIER message to a process of the job. `news`: a round, or a BLOCK_BARRIER_ constant of
 * block.h. A PING is not sent while other requests to that node are unacknowledged, as these show
 * as well whether it lives. 0 or FRAMES_AGAIN. */
int frames_signal(struct frames *frames, uint32_t node, uint32_t news);

/* ---- progress ---- */

/* The result of a poll. */
struct frames_poll_result {
	uint64_t at;               /* ns: time of the poll; it is read once */
	uint32_t frames;           /* frames received from the cards */
	uint8_t  is_all;           /* 1: the cards had no more frames */
	uint8_t  is_news;          /* 1: a message has ended, or a timer has expired: the event that
	                              the user waits for may have come without a frame */
};

/* Receive up to `budget` frames from each card, and handle timers that have expired. */
struct frames_poll_result frames_poll(struct frames *frames, uint32_t budget);

/* Something other than the cards and these functions may have written to the process's memory, as a
 * put to this node itself does. Called before the next frames_poll. */
void frames_note_writes(struct frames *frames);

/* The user will send nothing for a while: send messages that are delayed for a batch
 * (net/link/batch.c). With `halts` it is about to halt: also send acknowledgements that a peer may
 * wait for, and make the time of frames_next_poll exact. */
void frames_pause(struct frames *frames, int halts);

/* Messages that the link has not yet reported as sent, and records reserved for answers. */
uint32_t frames_pending(const struct frames *frames);

/* ---- what wakes a waiter ---- */

struct frames_next_poll {
	uint64_t at;               /* ns: when to call frames_poll, if no frame comes before; may be
	                              too early. LINK_NEVER: not at all */
	uint8_t  delays;           /* 1: messages are delayed for a batch */
};

/* Retransmissions may be put off until `late` (ns). */
struct frames_next_poll frames_next_poll(const struct frames *frames, uint64_t late);

/* ---- a peer is lost or renewed ---- */

/* The user knows that a node has died. `next`: the incarnation of its next life, 0 if there is
 * none. All that was under way with it ends with NI_FAIL. */
void frames_ended(struct frames *frames, uint32_t node, uint32_t next);

/* ---- figures ---- */

struct frames_figures {
	struct link_figures link;
	uint64_t copied_in;        /* bytes copied from frames into the segment */
	uint64_t copied_out;       /* bytes copied before they were sent */
	uint64_t bad;              /* messages dropped because their header was invalid */
};

struct frames_figures frames_figures(const struct frames *frames);

/* ---- the port ---- */

uint64_t frames_port_now(void *context);                  /* ns */
int frames_port_lock(void *context);                      /* 0: the block's lock is dead */
void frames_port_unlock(void *context);
void frames_port_upcall(void *context);                   /* an event for a handler was recorded */
/* This node has restarted or cannot be reached. All operations with it have ended, and their events
 * are recorded. */
void frames_port_lost(void *context, uint32_t node);

#endif
