/*
 * The message header: what one kernel tells another one about an operation. Only kernels make and
 * read it (rule 28). Of an application's data it contains only arguments of the call. 112 bytes,
 * little-endian; in shared memory it is passed by pointer, in a frame it is copied unchanged. Of a
 * plain put only five fields are sent (net/frames/state.h).
 *
 * The source is the sender of this message, the target its receiver. In an ACK or REPLY they are
 * those of the request, swapped.
 */
#ifndef NET_PORTALS_MESSAGE_H
#define NET_PORTALS_MESSAGE_H
#include <stddef.h>
#include "types.h"

enum message_operation {
	MESSAGE_NONE,
	MESSAGE_PUT,            /* payload: length bytes, source -> target */
	MESSAGE_GET,            /* no payload; answered by REPLY */
	MESSAGE_ACK,            /* no payload; answers PUT, ATOMIC */
	MESSAGE_REPLY,          /* payload: mlength bytes; answers GET, GETPUT, FETCH_ATOMIC */
	MESSAGE_GETPUT,         /* payload: length bytes; answered by REPLY */
	MESSAGE_ATOMIC,         /* payload: length bytes of operands, CSWAP twice as many */
	MESSAGE_FETCH_ATOMIC,   /* payload as of ATOMIC; answered by REPLY */
	MESSAGE_BARRIER,        /* no payload; pt_index is the barrier's round, or a
	                         * BLOCK_BARRIER_ constant (block.h) */
	MESSAGE_OPERATIONS
};

struct message {
	uint8_t  operation;         /* enum message_operation */
	uint8_t  ack_request;       /* PUT, ATOMIC: enum ack_req; ACK_YES only if md and eq are named */
	uint8_t  fail;              /* ACK, REPLY: enum fail_type; requests: NI_OK */
	uint8_t  atomic_operation;  /* ATOMIC, FETCH_ATOMIC: enum atomic_operation; else 0 */
	uint8_t  datatype;          /* ATOMIC, FETCH_ATOMIC: enum atomic_type; else 0 */
	uint8_t  zero[2];
	uint8_t  link;              /* for the link's own use; the engine sets 0 and never reads it */
	union {
		struct { uint32_t source_nid, source_pid; };
		uint64_t source;    /* both */
	};
	uint32_t target_nid;
	uint32_t target_pid;
	union {                     /* of the source */
		struct { uint32_t uid, jid; };
		uint64_t user;      /* both */
	};
	uint32_t pt_index;          /* ACK, REPLY: echoed; BARRIER: round, or other news */
	uint32_t cookie;            /* access control entry at the target; answers: 0 */
	uint64_t match_bits;        /* answers: echoed */
	uint64_t offset;            /* request: remote offset; answers: echoed */
	uint64_t length;            /* bytes requested; answers: echoed */
	uint64_t mlength;           /* answers: bytes manipulated; requests: 0 */
	uint64_t md_handle;         /* the initiator's descriptor; if there are two, that of the
	                               reply; answers: echoed */
	uint64_t eq_handle;         /* the initiator's event queue or EQ_NONE; answers: echoed */
	uint64_t op_handle;         /* the initiator's operation record or 0; answers: echoed */
	uint64_t hdr_data;          /* the initiator's, GET: 0; answers: echoed */
	uint64_t sequence;          /* number of the operation at its initiator; answers: echoed */
};

_Static_assert(sizeof(struct message) == 112, "message header is 112 bytes");
_Static_assert(offsetof(struct message, source_nid) == 8, "identity");
_Static_assert(offsetof(struct message, pt_index) == 32, "addressing");
_Static_assert(offsetof(struct message, match_bits) == 40, "addressing");
_Static_assert(offsetof(struct message, md_handle) == 72, "handles");
_Static_assert(offsetof(struct message, hdr_data) == 96, "data of the header");

/* Whether a request is answered by a REPLY with payload, and not by an ACK. */
static inline int message_fetches(uint8_t operation)
{
	return operation == MESSAGE_GET || operation == MESSAGE_GETPUT ||
	       operation == MESSAGE_FETCH_ATOMIC;
}

/* Whether the initiator awaits an answer to this request. */
static inline int message_is_answered(const struct message *message)
{
	return message_fetches(message->operation) ||
	       ((message->operation == MESSAGE_PUT || message->operation == MESSAGE_ATOMIC) &&
		message->ack_request == ACK_YES);
}

/* Bytes of payload that a message carries, by its header. The length of a message from the wire is
 * not checked here; it may be anything. */
static inline uint64_t message_payload(const struct message *message)
{
	switch (message->operation) {
	case MESSAGE_PUT:
	case MESSAGE_GETPUT:
		return message->length;
	case MESSAGE_ATOMIC:
	case MESSAGE_FETCH_ATOMIC:
		return message->atomic_operation == ATOMIC_CSWAP && message->length < 1u << 16 ?
			2 * message->length : message->length;
	case MESSAGE_REPLY:
		return message->mlength;
	default:
		return 0;
	}
}

/* Options that the target's descriptor must have for an operation. */
static inline uint32_t message_wants(uint8_t operation)
{
	return operation == MESSAGE_PUT || operation == MESSAGE_ATOMIC ? MD_OP_PUT :
	       operation == MESSAGE_GET ? MD_OP_GET : MD_OP_PUT | MD_OP_GET;
}

/*
 * Make the answer to a request that was not carried out (rules 16 and 22), with `fail` and a
 * manipulated length of 0: a REPLY if it fetches, an ACK if it is a PUT or ATOMIC that requests an
 * ack. Returns 1 and sets *answer if the initiator awaits one, else 0. A transport that cannot
 * reach the target delivers this answer on the initiator's own view. Needs no lock.
 */
int message_refuse(const struct message *request, enum fail_type fail, struct message *answer);

#endif
