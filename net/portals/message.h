/*
 * The message header: what one kernel tells another about an operation. Only
 * kernels make and read it (rule 28): no application's word is in it but the
 * arguments of its call. 128 bytes, little-endian, the same in shared memory
 * (passed by pointer) and in a frame (copied as it is).
 *
 * The source is who sent this message, the target is who shall take it: in an
 * ACK or a REPLY they are those of the request, swapped.
 */
#ifndef NET_PORTALS_MESSAGE_H
#define NET_PORTALS_MESSAGE_H
#include <stddef.h>
#include "types.h"

enum message_operation {
	MESSAGE_NONE,
	MESSAGE_PUT,            /* payload: length bytes, source -> target */
	MESSAGE_GET,            /* no payload; answered by REPLY */
	MESSAGE_ACK,            /* no payload; answers PUT */
	MESSAGE_REPLY,          /* payload: mlength bytes; answers GET */
	MESSAGE_GETPUT,         /* reserved */
	MESSAGE_ATOMIC,         /* reserved */
	MESSAGE_FETCH_ATOMIC,   /* reserved */
	MESSAGE_OPERATIONS
};

struct message {
	uint8_t  operation;         /* enum message_operation */
	uint8_t  ack_request;       /* PUT: enum ack_req; ACK_YES only if md and eq are named */
	uint8_t  fail;              /* ACK, REPLY: enum fail_type; requests: NI_OK */
	uint8_t  atomic_operation;  /* reserved, 0 */
	uint8_t  datatype;          /* reserved, 0 */
	uint8_t  zero[3];
	uint32_t source_nid;
	uint32_t source_pid;
	uint32_t target_nid;
	uint32_t target_pid;
	uint32_t uid;               /* of the source */
	uint32_t jid;               /* of the source */
	uint32_t pt_index;          /* ACK, REPLY: echoed */
	uint32_t cookie;            /* access control entry at the target; answers: 0 */
	uint64_t match_bits;        /* answers: echoed */
	uint64_t offset;            /* request: remote offset; answers: echoed */
	uint64_t length;            /* bytes requested; answers: echoed */
	uint64_t mlength;           /* answers: bytes manipulated; requests: 0 */
	uint64_t md_handle;         /* the initiator's descriptor; answers: echoed */
	uint64_t eq_handle;         /* the initiator's event queue or EQ_NONE; answers: echoed */
	uint64_t op_handle;         /* the initiator's operation record or 0; answers: echoed */
	uint64_t hdr_data;          /* PUT: the initiator's; answers: echoed */
	uint64_t sequence;          /* number of the operation at its initiator; answers: echoed */
	uint64_t counter_handle;    /* reserved, 0 */
	uint32_t list_selector;     /* reserved, 0 */
	uint32_t link;              /* for the link's own use; the engine neither sets nor reads it */
};

_Static_assert(sizeof(struct message) == 128, "message header is 128 bytes");
_Static_assert(offsetof(struct message, source_nid) == 8, "identity");
_Static_assert(offsetof(struct message, pt_index) == 32, "addressing");
_Static_assert(offsetof(struct message, match_bits) == 40, "addressing");
_Static_assert(offsetof(struct message, md_handle) == 72, "handles");
_Static_assert(offsetof(struct message, hdr_data) == 96, "data of the header");
_Static_assert(offsetof(struct message, counter_handle) == 112, "reserved fields");

/*
 * Make the answer to a request that was not carried out (rules 16 and 22):
 * to a GET a REPLY, to a PUT that asked for an ack an ACK, of length 0 and with
 * `fail`. Returns 1 and fills *answer if somebody waits for one, else 0.
 * For whoever finds that the target cannot be reached: the answer then goes to
 * deliver_begin on the initiator's own view. Needs no lock.
 */
int message_refuse(const struct message *request, enum fail_type fail, struct message *answer);

#endif
