/*
 * Messages over frames, inside: see frames.h. Private to net/frames/.
 */
#ifndef NET_FRAMES_STATE_H
#define NET_FRAMES_STATE_H
#include "frames.h"

enum sending_kind {
	OUT_SEND,                  /* PUT, ATOMIC, GETPUT, FETCH_ATOMIC: ends with initiator_sent,
	                              if initiator_start has not done that */
	OUT_GET,                   /* nothing to end, unless it fails */
	OUT_REPLY,                 /* from a granted range: ends with deliver_end */
	OUT_NOTE                   /* ACK, REPLY of bytes at hand, BARRIER; or it is over */
};

/* A message that is being sent: in the link's struct link_message. */
struct sending {
	struct grant grant;        /* the range that is sent */
	uint8_t kind;              /* enum sending_kind */
	uint8_t sent;              /* OUT_SEND: initiator_sent was called */
	uint8_t is_inline;         /* the payload is in the link's record */
};

_Static_assert(sizeof(struct sending) <= LINK_USER_WORDS * sizeof(uint64_t), "it fits");
_Static_assert(sizeof(struct message) == LINK_HEADER_BYTES, "as sent");
_Static_assert(DELIVER_OPERAND_BYTES <= LINK_ROOM_BYTES, "operands fit");

/* A message that arrives in parts: in the link's struct link_target. */
struct incoming {
	struct grant grant;
	struct message answer;     /* of a PUT */
	uint32_t node;
	uint8_t  reserved;         /* 1: a record for the answer is kept */
};

_Static_assert(sizeof(struct incoming) <= sizeof(struct link_target), "it fits");

struct frames {
	struct link *link;
	struct nic *nic, *bulk;    /* bulk: null without one */
	struct process_view *view;
	void *context;             /* of the port */
	uint64_t looked;           /* ns: when the cards were last looked at */
	uint64_t bulk_looked;      /* the bulk card */
	uint32_t nodes;            /* of the job */
	int looking;               /* they are being looked at: it is that time still */
	struct link_message **by_op; /* operation record to the OUT_SEND that awaits its answer */
	uint32_t reserved;         /* records kept for answers */
	uint64_t copied_in, copied_out, bad; /* struct frames_figures */
};

static inline uint64_t frames_now(const struct frames *frames)
{
	return frames->looking ? frames->looked : frames_port_now(frames->context);
}

/* ---- out.c ---- */

/* Where bytes [at, at + bytes) of a granted range are: how many pieces, 0: not in `most`. */
uint32_t out_spans(struct frames *frames, const struct grant *grant, uint64_t at, uint32_t bytes,
		   struct nic_piece *pieces, uint32_t most);
/* The answer to a send has come: SEND_END, if it is not out yet. 0: that cannot be
 * before the link is through with the send, so the answer is too early. Lock held. */
int out_answered(struct frames *frames, const struct message *answer, uint32_t *events,
		 int *upcall);
/* Send an answer for which a record was kept: a REPLY from `grant`'s range, or
 * `bytes` bytes at hand. */
void out_answer(struct frames *frames, const struct message *answer, const struct grant *grant,
		const void *payload, uint32_t bytes);

#endif
