/*
 * The state of messages over frames: see frames.h. Private to net/frames/.
 */
#ifndef NET_FRAMES_STATE_H
#define NET_FRAMES_STATE_H
#include "frames.h"

/* What the engine must be told when a message has been sent. */
enum sending_kind {
	OUT_SEND,                  /* PUT, ATOMIC, GETPUT, FETCH_ATOMIC: initiator_sent, unless
	                              initiator_start has called it */
	OUT_GET,                   /* nothing, unless it fails */
	OUT_REPLY,                 /* a REPLY from a granted range: deliver_end */
	OUT_NOTE                   /* nothing: ACK, REPLY with copied payload, BARRIER, or a
	                              message that has ended */
};

/* A message that is being sent: the user's part of a struct link_message. */
struct sending {
	struct grant grant;        /* the range that is sent */
	uint8_t kind;              /* enum sending_kind */
	uint8_t sent;              /* OUT_SEND: 1 if initiator_sent was called */
	uint8_t is_inline;         /* 1: the payload is in the link's record */
};

_Static_assert(sizeof(struct sending) <= LINK_USER_WORDS * sizeof(uint64_t), "it fits");
_Static_assert(sizeof(struct message) == LINK_HEADER_BYTES, "as sent");
_Static_assert(DELIVER_OPERAND_BYTES <= LINK_ROOM_BYTES, "operands fit");

/* The header of a plain put (frames_fast_put). The source node is that of the frame. All other ids
 * are the receiver's own, as all processes of a job have the same pid, uid and jid. */
struct plain_put {
	uint32_t pt_index, cookie; /* these and the next are those of struct message */
	uint64_t match_bits, offset, hdr_data;
};

_Static_assert(sizeof(struct plain_put) == LINK_PUT_BYTES, "as sent");
_Static_assert(LINK_FAST_BYTES <= DELIVER_INLINE_BYTES, "its payload is copied in one step");

/* A message that is being received in several frames: in the link's struct link_target. */
struct incoming {
	struct grant grant;
	struct message answer;     /* the ACK of a PUT or ATOMIC */
	uint8_t  reserved;         /* 1: a record for the answer is reserved */
	uint8_t  is_atomic;        /* 1: the payload is applied, not copied */
	uint8_t  operation;        /* ATOMIC: enum atomic_operation */
	uint8_t  datatype;         /* ATOMIC: enum atomic_type */
	uint8_t  failed;           /* 1: a step failed */
};

_Static_assert(sizeof(struct incoming) <= sizeof(struct link_target), "it fits");

struct frames {
	struct link *link;
	struct nic *nic, *bulk;    /* the ordinary card; the bulk card, or null */
	struct process_view *view;
	void *context;             /* argument of frames_port_* */
	uint64_t polled_at;        /* ns: when the cards were last polled */
	uint64_t bulk_polled_at;   /* ns: when the bulk card was last polled */
	int polling;               /* 1: a poll is in progress, and `polled_at` is its time */
	struct link_message **by_op; /* by index of an operation record: the OUT_SEND that awaits
	                                the answer */
	int upcall;                /* 1: an event for a handler was recorded since the lock was
	                              taken */
	uint64_t copied_in, copied_out, bad; /* as in struct frames_figures */
};

/* Note whether the engine has just recorded an event for a handler. Lock held. */
static inline void note_upcall(struct frames *frames, const struct grant *grant)
{
	frames->upcall |= grant->upcall;
}

/* Release the lock. Then, if an upcall was noted, ask for it. */
static inline void unlock(struct frames *frames)
{
	int upcall = frames->upcall;

	frames->upcall = 0;
	frames_port_unlock(frames->context);
	if (upcall)
		frames_port_upcall(frames->context);
}

/* The time; during a poll it is that of the poll, as reading the clock is expensive. */
static inline uint64_t frames_now(const struct frames *frames)
{
	return frames->polling ? frames->polled_at : frames_port_now(frames->context);
}

/* ---- out.c ---- */

/* The addresses of bytes [at, at + bytes) of a granted range: returns the number of pieces, 0 if
 * they need more than `most`. */
uint32_t out_spans(struct frames *frames, const struct grant *grant, uint64_t at, uint32_t bytes,
		   struct nic_piece *pieces, uint32_t most);
/* The answer to a send has come: record SEND_END, unless that was done. 0: SEND_END cannot be
 * recorded before the link has finished the send, so the answer is early. Lock held. */
int out_answered(struct frames *frames, const struct message *answer);
/* A node is lost. Sends to it that the link has still to end keep their records: link_port_sent
 * records SEND_END, and then the answer that will not come. Before block_peer_died; lock held. */
void out_lost(struct frames *frames, uint32_t node);
/* Send an answer for which a record is reserved. The payload of a REPLY is `grant`'s range or, if
 * that is null, copied from `payload`. */
void out_answer(struct frames *frames, const struct message *answer, const struct grant *grant,
		const void *payload);

#endif
