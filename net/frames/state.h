/*
 * Messages over frames, inside: see frames.h. Private to net/frames/.
 */
#ifndef NET_FRAMES_STATE_H
#define NET_FRAMES_STATE_H
#include "frames.h"

#define NO_RECORD  0xffffu

enum record_kind {
	OUT_SEND,                  /* PUT, ATOMIC, GETPUT, FETCH_ATOMIC: ends with initiator_sent,
	                              if initiator_start has not done that */
	OUT_GET,                   /* nothing to end, unless it fails */
	OUT_REPLY,                 /* from a granted range: ends with deliver_end */
	OUT_NOTE                   /* ACK, REPLY of bytes at hand, BARRIER */
};

/* A message that the link is sending. */
struct record {
	uint16_t next;             /* free */
	uint8_t  kind;             /* enum record_kind */
	struct outgoing out;       /* header and payload; of an answer without `sends` */
};

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
	struct record *records;
	uint16_t *by_op;           /* operation record to the OUT_SEND that awaits its answer */
	uint32_t room;             /* of `records`: as many as the link's */
	uint16_t free;             /* first free one, or NO_RECORD */
	uint16_t used;             /* how many are not */
	uint32_t reserved;         /* records kept for answers */
	uint64_t copied_in, copied_out, bad; /* struct frames_figures */
};

static inline uint64_t frames_now(const struct frames *frames)
{
	return frames->looking ? frames->looked : frames_port_now(frames->context);
}

/* ---- out.c ---- */

uint32_t out_gather(void *context, uint64_t source, uint64_t at, uint32_t bytes,
		    struct nic_piece *pieces, uint32_t most);
/* Where bytes [at, at + bytes) of a granted range are: how many pieces, 0: not in `most`. */
uint32_t out_spans(struct frames *frames, const struct grant *grant, uint64_t at, uint32_t bytes,
		   struct nic_piece *pieces, uint32_t most);
void out_sent(void *context, uint64_t source, int fail);
/* The answer to a send has come: SEND_END, if it is not out yet. 0: that cannot be
 * before the link is through with the send, so the answer is too early. Lock held. */
int out_answered(struct frames *frames, const struct message *answer, uint32_t *events,
		 int *upcall);
/* Send an answer for which a record was kept: a REPLY from `grant`'s range, or
 * `bytes` bytes at hand. */
void out_answer(struct frames *frames, const struct message *answer, const struct grant *grant,
		const void *payload, uint32_t bytes);

/* ---- in.c ---- */

int in_whole(void *context, uint32_t node, uint32_t lane, const void *header,
	     const void *payload, uint32_t bytes);
int in_begin(void *context, uint32_t node, uint32_t lane, const void *header, uint64_t length,
	     struct link_target *target);
void in_data(void *context, struct link_target *target, uint64_t at, const void *payload,
	     uint32_t bytes);
uint32_t in_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
		  struct nic_piece *pieces, uint32_t most);
void in_end(void *context, struct link_target *target, int fail);
void in_lost(void *context, uint32_t node);

#endif
