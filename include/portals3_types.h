/*
 * The results, types and constants of <portals3.h>, which includes this; programs include that.
 * Origins are marked as there.
 */
#ifndef PORTALS3_TYPES_H
#define PORTALS3_TYPES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results ------------------------------------------------------------ */

enum {
	PTL_OK               = 0,      PTL_FAIL             = 1,
	PTL_NO_INIT          = 2,      PTL_NO_SPACE         = 3,
	PTL_SEGV             = 4,      PTL_AC_INDEX_INVALID = 5,
	PTL_EQ_INVALID       = 6,      PTL_HANDLE_INVALID   = 7,
	PTL_IFACE_INVALID    = 8,      PTL_MD_INVALID       = 9,
	PTL_ME_INVALID       = 10,     PTL_NI_INVALID       = 11,
	PTL_PID_INVALID      = 12,     PTL_PROCESS_INVALID  = 13,
	PTL_PT_INDEX_INVALID = 14,     PTL_SR_INDEX_INVALID = 15,
	PTL_MD_ILLEGAL       = 16,
	PTL_MD_IN_USE        = 17,
	PTL_MD_NO_UPDATE     = 18,
	PTL_ME_IN_USE        = 19,
	PTL_ME_LIST_TOO_LONG = 20,
	PTL_PT_FULL          = 21,
	PTL_EQ_EMPTY         = 22,
	PTL_EQ_DROPPED       = 23,
	PTL_ATOMIC_INVALID   = 24,      /* [M] */
	PTL_UNKNOWN_ERROR    = 25       /* no call returns it; from the public 3.3 library */
};

/* ---- types -------------------------------------------------------------- */

typedef uint64_t ptl_size_t, ptl_match_bits_t, ptl_hdr_data_t, ptl_seq_t, ptl_sr_value_t;
typedef uint32_t ptl_interface_t;
typedef uint32_t ptl_nid_t, ptl_pid_t, ptl_uid_t, ptl_jid_t;
typedef uint32_t ptl_pt_index_t, ptl_ac_index_t, ptl_sr_index_t;
typedef uint32_t ptl_ni_fail_t;
typedef uint32_t ptl_time_t;            /* milliseconds */

typedef uint64_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t, ptl_handle_me_t, ptl_handle_md_t, ptl_handle_eq_t;

#define PTL_INVALID_HANDLE  ((ptl_handle_any_t)~0ULL)   /* of no object */
#define PTL_HANDLE_NONE     ((ptl_handle_any_t)0)       /* of no object */
#define PTL_EQ_NONE         ((ptl_handle_eq_t)0)        /* descriptor without events */

#define PTL_IFACE_DEFAULT   ((ptl_interface_t)0)        /* the only interface */
#define PTL_NID_ANY         ((ptl_nid_t)0xffffffffU)
#define PTL_PID_ANY         ((ptl_pid_t)0xffffffffU)
#define PTL_UID_ANY         ((ptl_uid_t)0xffffffffU)
#define PTL_JID_ANY         ((ptl_jid_t)0xffffffffU)
#define PTL_JID_NONE        ((ptl_jid_t)0)              /* job of system processes [M] */
#define PTL_PT_INDEX_ANY    ((ptl_pt_index_t)0xffffffffU)
#define PTL_MD_THRESH_INF   (-1)
#define PTL_TIME_FOREVER    ((ptl_time_t)0xffffffffU)

typedef struct {
	ptl_nid_t nid;          /* node */
	ptl_pid_t pid;          /* process on that node */
} ptl_process_id_t;

/* The number of each object, or the highest index. The comment has this machine's maximum, and the
 * result of a call that would exceed what was granted. */
typedef struct {
	int max_mes;            /* match entries: 10240; PTL_NO_SPACE */
	int max_mds;            /* memory descriptors: 10240; PTL_NO_SPACE */
	int max_eqs;            /* event queues: 64; PTL_NO_SPACE */
	int max_ac_index;       /* highest index of an access control entry: 63, at least 1;
	                           PTL_AC_INDEX_INVALID, messages are discarded */
	int max_pt_index;       /* highest portal index: 63; PTL_PT_INDEX_INVALID, messages
	                           are discarded */
	int max_md_iovecs;      /* pieces of one descriptor: 256 (4096 of all together:
	                           PTL_NO_SPACE [M]); PTL_MD_ILLEGAL */
	int max_me_list;        /* match entries of one portal: 10240; PTL_ME_LIST_TOO_LONG */
	int max_getput_md;      /* bytes that PtlGetPut exchanges: 64; PTL_MD_ILLEGAL */
} ptl_ni_limits_t;

typedef enum { PTL_RETAIN, PTL_UNLINK } ptl_unlink_t;
typedef enum { PTL_INS_BEFORE, PTL_INS_AFTER } ptl_ins_pos_t;
typedef enum { PTL_ACK_REQ, PTL_NO_ACK_REQ } ptl_ack_req_t;
#define PTL_NOACK_REQ PTL_NO_ACK_REQ    /* [3.0] */

/*
 * A memory descriptor. The kernel keeps a copy; no call changes the caller's. All bytes at `start`
 * must lie in the application's memory, and be writable by the application if PTL_MD_OP_PUT is set.
 *
 * With PTL_MD_SPAN [M] the descriptor may be larger than that memory. It may include holes and
 * read-only data, or, with a start of 0 and a length of UINT64_MAX, every address, so that offsets
 * are addresses. Each operation's bytes are checked instead. A call that sends bytes which the
 * application may not read, or fetches into bytes which it may not write, returns PTL_SEGV. An
 * arriving request for bytes (after truncation) that the application may not write, or for a get
 * not read, is discarded and counted like one that no descriptor accepts, and leaves the descriptor
 * unchanged. start + length may be at most 2^64.
 */
typedef struct {
	void           *start;      /* first byte; anything if length is 0. With PTL_MD_IOVEC
	                               the array of pieces, 8-byte aligned */
	ptl_size_t      length;     /* bytes; with PTL_MD_IOVEC the number of pieces */
	int             threshold;  /* operations until it is inactive (or unlinked);
	                               PTL_MD_THRESH_INF: no limit; 0: inactive from the start */
	ptl_size_t      max_size;   /* with PTL_MD_MAX_SIZE: inactive (or unlinked) when fewer bytes
	                               than this remain after the local offset */
	unsigned int    options;    /* PTL_MD_* */
	void           *user_ptr;   /* returned in events, not interpreted */
	ptl_handle_eq_t eq_handle;  /* where its events go, or PTL_EQ_NONE */
} ptl_md_t;

#define PTL_MD_OP_PUT               0x001   /* accepts puts */
#define PTL_MD_OP_GET               0x002   /* accepts gets */
#define PTL_MD_MANAGE_REMOTE        0x004   /* the initiator's offset counts; else a local
                                               offset that starts at 0 and advances */
#define PTL_MD_TRUNCATE             0x008   /* truncate a longer message instead of rejecting it */
#define PTL_MD_ACK_DISABLE          0x010   /* acknowledge nothing */
#define PTL_MD_IOVEC                0x020   /* start is an array of ptl_md_iovec_t: see there */
#define PTL_MD_MAX_SIZE             0x040   /* max_size counts (not with MANAGE_REMOTE) */
#define PTL_MD_EVENT_START_DISABLE  0x080   /* record no *_START events */
#define PTL_MD_EVENT_END_DISABLE    0x100   /* record no *_END events; with both, only ACK
                                               and UNLINK are recorded */
#define PTL_MD_EVENT_DROPPED        0x200   /* at the initiator: an ACK with PTL_NI_DROPPED reports
                                               that a put which asked for an ack was discarded;
                                               without it such a put ends with SEND_END. The option
                                               counts that is set when the put starts [M: an
                                               extension] */
#define PTL_MD_SPAN                 0x400   /* the memory need not be the application's: each
                                               operation's bytes are checked, see ptl_md_t. Not
                                               with PTL_MD_IOVEC [M: an extension] */
#define PTL_MD_EVENT_UNLINK_DISABLE 0x800   /* record no UNLINK event [M: an extension] */

/*
 * A piece of a descriptor with PTL_MD_IOVEC. The pieces together, in order, are one buffer for
 * every purpose: offsets, truncation, max_size. The call that takes the descriptor copies the
 * array, which may be reused at once [M]. Each piece is checked like the memory of a plain
 * descriptor. Pieces may be empty, and may overlap: then shared bytes have the value that was
 * written last, in no particular order [M]. A put between overlapping memory of one process behaves
 * like memmove only if neither side has pieces [M].
 */
typedef struct {
	void      *iov_base;    /* first byte; anything if iov_len is 0 */
	ptl_size_t iov_len;     /* bytes */
} ptl_md_iovec_t;

/*
 * Events. At the target: PUT_* of a put or an atomic operation, GET_* of a get, GETPUT_* of
 * PtlGetPut and PtlFetchAtomic. At the initiator: sending records SEND_START, SEND_END, and ACK if
 * one was requested; the reply records REPLY_START, REPLY_END. PtlGetPut and PtlFetchAtomic record
 * both, each in the queue of its own descriptor. UNLINK: the descriptor has been unlinked
 * automatically; it is the last event with that descriptor's handle, except for outstanding acks.
 * START comes before END; both, and a put's ACK, have the same `link`. [3.3, M]
 */
typedef enum {
	PTL_EVENT_GET_START, PTL_EVENT_GET_END,
	PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
	PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END,
	PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END,
	PTL_EVENT_SEND_START, PTL_EVENT_SEND_END,
	PTL_EVENT_ACK,
	PTL_EVENT_UNLINK
} ptl_event_kind_t;

/* ptl_event_t.ni_fail_type. In START and UNLINK events it is PTL_NI_OK. */
#define PTL_NI_OK       0U  /* the operation was executed */
#define PTL_NI_FAIL     1U  /* the peer has died or cannot be reached, and may have executed it
                               before; with PUT_END the memory may be partly written [M] */
#define PTL_NI_DROPPED  2U  /* the target discarded the request: mlength is 0; with
                               REPLY_*, and with ACK if PTL_MD_EVENT_DROPPED is set [M] */

typedef struct {
	ptl_event_kind_t type;
	ptl_pt_index_t   pt_index;      /* as the request named it, like match_bits, rlength */
	ptl_process_id_t initiator;     /* the sender of the message: PUT, GET, GETPUT: the initiator;
	                                   ACK, REPLY: the target that answered; SEND, UNLINK:
	                                   this process */
	ptl_uid_t        uid;           /* its user, */
	ptl_jid_t        jid;           /* and its job, as its kernel stated them [P] */
	ptl_match_bits_t match_bits;
	ptl_size_t       rlength;       /* bytes requested */
	ptl_size_t       mlength;       /* bytes moved (SEND: bytes sent; PTL_CSWAP: half) */
	ptl_size_t       offset;        /* PUT, GET, GETPUT: where in this descriptor; SEND, ACK,
	                                   REPLY: the request's remote offset, echoed */
	ptl_handle_md_t  md_handle;     /* this process's descriptor */
	ptl_md_t         md;            /* its state after the operation (threshold!); all zero
	                                   in an ACK whose descriptor is gone */
	ptl_hdr_data_t   hdr_data;      /* as the initiator gave it; 0 for a get */
	uint32_t         link;          /* pairs the events of one operation [M: 32 bits] */
	ptl_ni_fail_t    ni_fail_type;  /* PTL_NI_* */
	volatile ptl_seq_t sequence;    /* counts the queue's events: +1 from event to event */
} ptl_event_t;

/*
 * A handler of a queue: called once for every event of it, in order, while the application computes
 * or waits (an upcall [P, M]). It runs on a separate stack of 64 KiB; registers, floating-point
 * state and errno are saved. Handlers do not nest: events for any of them wait until it returns.
 * *event is a copy. PtlEQGet, PtlEQWait and PtlEQPoll return an event after the handler has seen
 * it, and never call the handler themselves. A program need not take the events at all: for replies
 * a queue has room as soon as the handler was called. A handler that comes too late gets the oldest
 * event left; then `sequence` has jumped by the number of lost events.
 *
 * It interrupts the program anywhere, as a signal handler does, so it must not call functions that
 * are not reentrant (malloc, stdio). It must return, or end the process by exit. longjmp out of it
 * is not supported: no handler would be called any more. Context, in <portals3.h>, says which
 * Portals calls it may make. [3.3, M]
 */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);
#define PTL_EQ_HANDLER_NONE ((ptl_eq_handler_t)0)

/* A handler of a queue that fills (PtlEQAllocFilling), called with that queue. An upcall like the
 * others, with the same rules. [M] */
typedef void (*ptl_eq_filling_t)(ptl_handle_eq_t eq);

/* Status registers of PtlNIStatus. [3.3] has only the first; the others are [M].
 * Counters count from PtlNIInit. */
enum {
	PTL_SR_DROP_COUNT,      /* messages discarded */
	PTL_SR_MESSAGES_IN,     /* messages accepted: puts, gets, acks, replies */
	PTL_SR_MESSAGES_OUT,    /* puts and gets started */
	PTL_SR_BYTES_IN,        /* bytes written into this process */
	PTL_SR_BYTES_OUT,       /* bytes read from it */
	PTL_SR_COPIED,          /* bytes that the link had to copy once more than necessary */
	PTL_SR_BUSY,            /* times that all operation records were in use */
	PTL_SR_FAILED,          /* operations that ended with a failure */
	PTL_SR_REFUSED,         /* gets, and puts with an ack request, that their target discarded,
	                           whether events report it or not */
	PTL_SR_ME_USED, PTL_SR_ME_HIGH,     /* match entries in use, and the most ever */
	PTL_SR_MD_USED, PTL_SR_MD_HIGH,
	PTL_SR_EQ_USED, PTL_SR_EQ_HIGH,
	PTL_SR_OP_USED, PTL_SR_OP_HIGH,     /* operations under way */
	PTL_SR_NID, PTL_SR_PID,             /* this process's ids: PtlGetId, PtlGetUid ... */
	PTL_SR_UID, PTL_SR_JID,
	PTL_SR_PIECE_USED, PTL_SR_PIECE_HIGH, /* pieces of PTL_MD_IOVEC descriptors */
	PTL_SR_EVENT_SLOTS,                 /* not a counter: slots of all event queues together */
	PTL_SR_INLINE,                      /* not a counter: when PtlPut, PtlPutRegion or PtlAtomic
	                                       sends at most this many bytes, they have been read
	                                       when it returns, whatever becomes of the message: the
	                                       source may be changed, even before SEND_END. All
	                                       ones: any number */
	PTL_SR_COUNT
};

#define PTL_ATOMIC_LONGEST 16384        /* most bytes that PtlAtomic changes [M] */

/* Operations of PtlAtomic and PtlFetchAtomic on each element of the target's memory [4]: the result
 * for the element and the operand that was sent. */
typedef enum {
	PTL_MIN, PTL_MAX, PTL_SUM,      /* sums wrap around */
	PTL_BOR, PTL_BAND, PTL_BXOR,    /* bitwise */
	PTL_SWAP,                       /* the operand */
	PTL_CSWAP,                      /* the new value if the element equals the compared
	                                   one, else what it was */
	PTL_PROD,                       /* products of integers wrap around */
	PTL_LOR, PTL_LAND, PTL_LXOR,    /* logical: 1 or 0; nonzero is true */
	PTL_NOOP                        /* unchanged; PtlFetchAtomic only */
} ptl_op_t;

/* Types of its elements, little-endian, at any address: integers of 1, 2, 4 or 8 bytes, float and
 * double. All operations take all types, except bitwise ones on floating-point numbers. These round
 * to nearest and keep denormals, whatever MXCSR is in either process. A NaN in memory stays. A NaN
 * operand makes a sum or a product NaN, and is never a minimum or maximum; for PTL_LOR and the like
 * it is not 0. PTL_MIN and PTL_MAX do not exchange 0 and -0. PTL_CSWAP compares all bits: 0 is not
 * -0, a NaN equals itself. */
typedef enum {
	PTL_INT8_T, PTL_UINT8_T, PTL_INT16_T, PTL_UINT16_T,
	PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T, PTL_UINT64_T,
	PTL_FLOAT, PTL_DOUBLE
} ptl_datatype_t;

#ifdef __cplusplus
}
#endif
#endif
