/*
 * Portals 3: the messages of this machine. This header is the reference: each
 * call with its contract, and where that comes from.
 *
 * Names, types, constants and prototypes are those of Portals 3.3
 * (SAND2006-0420, below [3.3]); lists of descriptors per match entry and
 * PtlNIBarrier come from Portals 3.0 (SAND99-2959, [3.0]), the names of the
 * atomic operations from Portals 4 [4]. [P] is the paper by Brightwell et al. on
 * Portals 3.0, [M] is a choice of Margay, stated where it is made.
 *
 * General rules
 * - Context: every call may be made from any place of the application's one
 *   thread, from main on, but not from a signal handler that interrupted
 *   another Portals call. From an event handler all may be made but PtlInit,
 *   PtlFini, PtlNIInit, PtlNIFini, PtlNIBarrier, PtlEQAlloc, PtlEQFree, PtlEQGet,
 *   PtlEQWait and PtlEQPoll: these return PTL_FAIL there [M] (PtlFini does
 *   nothing; PtlEQGet of a queue without a handler does not look).
 * - Blocking: PtlEQWait, PtlEQPoll, PtlNIBarrier and PtlNIFini wait; no other
 *   call does [M], but that the first message to a node waits while that node
 *   boots, and a message while its target has too many under way. PtlEQGet,
 *   PtlHandleIsEqual and the texts enter no kernel at all; every other call is one
 *   system call (PtlGetId two).
 * - Ownership: what a pointer argument names is read or written during the call
 *   only, and stays the caller's. A descriptor's memory belongs to the messages
 *   while the descriptor exists; a put's source may be reused after SEND_END,
 *   what a put brought is in place at PUT_END.
 * - Units: lengths and offsets are bytes; times are milliseconds.
 * - Results: PTL_OK or another PTL_* value below. After an error nothing has
 *   changed, but where the call says so. Any call may return PTL_NO_INIT before
 *   PtlInit and PtlNIInit, PTL_SEGV for a pointer argument that is not in the
 *   application's memory (or, for a result, not writable there), and PTL_FAIL if
 *   the kernel finds this process's structures damaged by a node that died while
 *   changing them. Where the library itself stores a result (PtlInit, PtlGetId,
 *   PtlGetUid, PtlGetJid, PtlEQ*) a bad pointer is a fault like any other.
 * - Handles name one object for ever: a handle of something that is gone is
 *   never taken for its successor [M]. Handles are 64 bits wide [M].
 * - Data moves straight between the memories of two applications. Messages
 *   between two processes are delivered in the order in which they were started
 *   [P]. The target need not call anything for that, nor be running [P].
 * - No connection: no process prepares for another before it sends [P].
 */
#ifndef PORTALS3_H
#define PORTALS3_H
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
	PTL_UNKNOWN_ERROR    = 25       /* no call returns it; the public 3.3 library has it */
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

/* How many of each there are, or the highest index. Behind each: this machine's
 * maximum, and what the call returns that would exceed what was granted. */
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
 * A memory descriptor. The kernel keeps a copy; no call changes the caller's.
 * `start` must lie in the application's memory with all its bytes, and be
 * writable by the application if PTL_MD_OP_PUT is set.
 */
typedef struct {
	void           *start;      /* first byte; anything if length is 0. With PTL_MD_IOVEC
	                               the array of pieces, 8-byte aligned */
	ptl_size_t      length;     /* bytes; with PTL_MD_IOVEC the number of pieces */
	int             threshold;  /* operations until it is inactive (or unlinked);
	                               PTL_MD_THRESH_INF: for ever; 0: inactive from the start */
	ptl_size_t      max_size;   /* with PTL_MD_MAX_SIZE: inactive (or unlinked) when fewer
	                               bytes than this remain behind the local offset */
	unsigned int    options;    /* PTL_MD_* */
	void           *user_ptr;   /* returned in events, not interpreted */
	ptl_handle_eq_t eq_handle;  /* where its events go, or PTL_EQ_NONE */
} ptl_md_t;

#define PTL_MD_OP_PUT               0x001   /* accepts puts */
#define PTL_MD_OP_GET               0x002   /* accepts gets */
#define PTL_MD_MANAGE_REMOTE        0x004   /* the initiator's offset counts; else a local
                                               offset that starts at 0 and advances */
#define PTL_MD_TRUNCATE             0x008   /* cut what is too long instead of rejecting it */
#define PTL_MD_ACK_DISABLE          0x010   /* acknowledge nothing */
#define PTL_MD_IOVEC                0x020   /* start is an array of ptl_md_iovec_t: see there */
#define PTL_MD_MAX_SIZE             0x040   /* max_size counts (not with MANAGE_REMOTE) */
#define PTL_MD_EVENT_START_DISABLE  0x080   /* record no *_START events */
#define PTL_MD_EVENT_END_DISABLE    0x100   /* record no *_END events; with both, only ACK
                                               and UNLINK are recorded */
#define PTL_MD_EVENT_DROPPED        0x200   /* at the initiator: an ACK with PTL_NI_DROPPED tells
                                               that a put which asked for an ack was discarded;
                                               without it such a put ends with SEND_END. It is
                                               the option of when the put starts that counts
                                               [M: an extension] */

/*
 * A piece of a descriptor with PTL_MD_IOVEC. The pieces together, in order, are
 * one buffer for every purpose: offsets, truncation, max_size. The array is
 * copied by the call that takes the descriptor and may be reused at once [M];
 * each piece is checked like the memory of a plain descriptor. Pieces may be
 * empty, and may overlap: then the bytes that two have are those that were
 * written last, in no particular order [M]. A put from and to overlapping memory
 * of one process behaves like memmove only if neither side has pieces [M].
 */
typedef struct {
	void      *iov_base;    /* first byte; anything if iov_len is 0 */
	ptl_size_t iov_len;     /* bytes */
} ptl_md_iovec_t;

/*
 * Events. At the target: PUT_* of a put or an atomic operation, GET_* of a get,
 * GETPUT_* of PtlGetPut and PtlFetchAtomic. At the initiator: what is sent gives
 * SEND_START, SEND_END, and ACK if one was asked for; what comes back gives
 * REPLY_START, REPLY_END; PtlGetPut and PtlFetchAtomic give both, each in the
 * queue of its own descriptor. UNLINK: the descriptor has been unlinked
 * automatically; it is the last event with that descriptor's handle, but for
 * acks that are still to come. START comes before END; both, and a put's ACK,
 * have the same `link`. [3.3, M]
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
#define PTL_NI_OK       0U  /* the operation was carried out */
#define PTL_NI_FAIL     1U  /* the peer has died or cannot be reached, and may have carried
                               it out before; with PUT_END the memory may be partly
                               written [M] */
#define PTL_NI_DROPPED  2U  /* the target discarded the request: mlength is 0; with
                               REPLY_*, and with ACK if PTL_MD_EVENT_DROPPED is set [M] */

typedef struct {
	ptl_event_kind_t type;
	ptl_process_id_t initiator;     /* who sent the message: PUT, GET, GETPUT: the initiator;
	                                   ACK, REPLY: the target that answered; SEND, UNLINK:
	                                   this process */
	ptl_uid_t        uid;           /* its user, */
	ptl_jid_t        jid;           /* and its job, as its kernel stated them [P] */
	ptl_pt_index_t   pt_index;      /* as the request named it, like match_bits, rlength */
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
 * A handler of a queue: called once for every event of it, in order, while the
 * application computes or waits (an upcall [P, M]), on a stack of its own of
 * 64 KiB; registers, floating-point state and errno are saved. Handlers do not
 * nest: what comes for any of them meanwhile waits until it returns. *event is a
 * copy. PtlEQGet, PtlEQWait and PtlEQPoll give an event after the handler has seen
 * it, and never call the handler themselves; a program need not take it at all:
 * for replies a queue has room as soon as the handler was called. A handler that
 * comes too late gets the oldest event that is still there: then `sequence` has
 * jumped, by as many as are lost.
 *
 * It interrupts the program anywhere, as a signal handler does: functions that
 * are not reentrant (malloc, stdio) are not for it. It must return, or end the
 * process by exit; longjmp out of it is not supported: no handler would be called
 * any more. What it may call of Portals stands above under Context. [3.3, M]
 */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);
#define PTL_EQ_HANDLER_NONE ((ptl_eq_handler_t)0)

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
	PTL_SR_REFUSED,         /* gets, and puts that asked for an ack, that their target
	                           discarded, whether events tell it or not */
	PTL_SR_ME_USED, PTL_SR_ME_HIGH,     /* match entries in use, and the most ever */
	PTL_SR_MD_USED, PTL_SR_MD_HIGH,
	PTL_SR_EQ_USED, PTL_SR_EQ_HIGH,
	PTL_SR_OP_USED, PTL_SR_OP_HIGH,     /* operations under way */
	PTL_SR_NID, PTL_SR_PID,             /* this process's ids: PtlGetId, PtlGetUid ... */
	PTL_SR_UID, PTL_SR_JID,
	PTL_SR_PIECE_USED, PTL_SR_PIECE_HIGH, /* pieces of PTL_MD_IOVEC descriptors */
	PTL_SR_COUNT
};

/* What PtlAtomic and PtlFetchAtomic do with each element of the target's memory
 * [4]: the result of the operation on it and on the operand that was sent. */
typedef enum {
	PTL_MIN, PTL_MAX, PTL_SUM,      /* sums wrap around */
	PTL_BOR, PTL_BAND, PTL_BXOR,    /* bit by bit */
	PTL_SWAP,                       /* the operand */
	PTL_CSWAP                       /* the new value if the element equals the compared
	                                   one, else what it was */
} ptl_op_t;

/* Its elements: integers of 1, 2, 4 or 8 bytes, little-endian, at any address. */
typedef enum {
	PTL_INT8_T, PTL_UINT8_T, PTL_INT16_T, PTL_UINT16_T,
	PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T, PTL_UINT64_T
} ptl_datatype_t;

/* ---- the interface ------------------------------------------------------ */

/* Prepare the library; *max_interfaces becomes 1 (it may be null [M]). May be
 * called again. PTL_OK. [3.3] */
int PtlInit(int *max_interfaces);

/* Undo PtlInit, and every PtlNIInit that was not undone. Waits as PtlNIFini. [3.3] */
void PtlFini(void);

/*
 * Initialise the interface: from now on messages are accepted, access control
 * has its defaults (see PtlACEntry), all counters are 0. `pid` is PTL_PID_ANY or
 * the pid that this process has anyway.
 *   desired   what the application wants; may be null: as much as there is. A
 *             field of 1 (for an index 0, for max_ac_index 1) up to the machine's
 *             maximum is granted exactly and enforced [M]; less or more gets the
 *             maximum [M]
 *   actual    may be null; gets what is granted
 * A second call returns the same handle [3.3] and the same limits, whatever it
 * wants, and must be undone by a second PtlNIFini [M]. PTL_IFACE_INVALID,
 * PTL_PID_INVALID. [3.3]
 */
int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
	      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni);

/* Free everything of the interface; messages that arrive from now on are
 * discarded. Waits until no message is being carried out in this process's
 * memory any more. PTL_NI_INVALID; PTL_FAIL if one has not ended within 10 s over
 * shared memory, as after damage by another node [M]. [3.3] */
int PtlNIFini(ptl_handle_ni_t ni);

/* Read a status register. PTL_NI_INVALID, PTL_SR_INDEX_INVALID. [3.3] */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value);

/* The interface that an object (or an interface) belongs to. PTL_HANDLE_INVALID:
 * the handle names nothing that exists. [3.3] */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/* Distance to a process of the job: 0 to this one, 1 to all others [M].
 * PTL_NI_INVALID; PTL_PROCESS_INVALID: a wildcard, or the job has no such
 * process. [3.3] */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/*
 * Wait for all processes of the job: returns when each of them has called it as
 * often as this one. One that has not yet called PtlNIInit, or has not booted, is
 * waited for like any other; one that ends without the call keeps the others
 * waiting [M]. Uses no portal, entry, descriptor or event, and says nothing about
 * messages under way. PTL_NI_INVALID; PTL_FAIL: a process of the job has died, was
 * started again, or cannot be reached, from then on for ever, in its next life too [M].
 * [3.0]
 */
int PtlNIBarrier(ptl_handle_ni_t ni);

/* This process's ids, set by whoever started it. PTL_NI_INVALID. [3.3] */
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id);
int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);

/* ---- match entries ------------------------------------------------------ */

/*
 * Put a new match entry at the head (PTL_INS_BEFORE) or the tail (PTL_INS_AFTER)
 * of a portal's list. It matches a request whose initiator fits `match_id`
 * (each field may be a wildcard; an id that no process has is legal and matches
 * nothing [M]) if ((match_bits ^ request's bits) & ~ignore_bits) == 0. A request
 * goes to the first entry that matches and whose first descriptor accepts it.
 * The entry accepts nothing until it has a descriptor. With PTL_UNLINK it goes
 * when its last descriptor goes, by itself or by PtlMDUnlink. PTL_NI_INVALID,
 * PTL_PT_INDEX_INVALID, PTL_ME_LIST_TOO_LONG, PTL_NO_SPACE. [3.3]
 */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me);

/* The same on the lowest portal [M] without a match entry, whose index is stored
 * in *pt_index. PTL_NI_INVALID, PTL_PT_FULL: there is none, PTL_NO_SPACE. [3.3] */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		   ptl_unlink_t unlink, ptl_handle_me_t *me);

/* Put a new entry right before or after `base`. PTL_ME_INVALID,
 * PTL_ME_LIST_TOO_LONG, PTL_NO_SPACE. [3.3] */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me);

/* Remove an entry with its descriptors; records no event. PTL_ME_INVALID;
 * PTL_ME_IN_USE while an operation on one of them is under way. [3.3] */
int PtlMEUnlink(ptl_handle_me_t me);

/* ---- memory descriptors ------------------------------------------------- */

/*
 * Give a match entry its descriptor. With PTL_UNLINK the descriptor goes when
 * an operation brings its threshold to 0 (or leaves less than max_size): at
 * once from the list, and for good, with an UNLINK event, when its last
 * operation has ended. PTL_ME_INVALID; PTL_ME_IN_USE: the entry has one;
 * PTL_SEGV: memory (of a piece, or the array of them) that is not the
 * application's, or that it may not write itself and opens to puts;
 * PTL_MD_ILLEGAL: options, threshold, too many pieces; PTL_EQ_INVALID;
 * PTL_NO_SPACE: descriptors or pieces. [3.3]
 */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Add a descriptor to an entry's list, right before or after `base`, which is one
 * of them. Only the first of a list accepts messages; when it goes, the next one
 * becomes the first [P]. PTL_MD_INVALID: `base` is attached to no entry, or about
 * to go; else as PtlMDAttach. [3.0] */
int PtlMDInsert(ptl_handle_md_t base, ptl_md_t md, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_md_t *handle);

/* A descriptor of no match entry, for operations that this process starts.
 * PTL_NI_INVALID; else as PtlMDAttach. [3.3] */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Remove a descriptor; records no event. PTL_MD_INVALID; PTL_MD_IN_USE while an
 * operation is under way: a put until SEND_END, a get until its reply has
 * ended; an awaited ack does not count. Waits for those that this process has
 * started, as PtlMDUpdate does: until they have ended, with failure if their target
 * cannot be reached for long (docs/bare-metal.md). One that does not end in 10 s and
 * 1 us a byte leaves the descriptor in use (not between boards). [3.3, M] */
int PtlMDUnlink(ptl_handle_md_t md);

/*
 * Copy a descriptor out, and replace it, in one step against all messages.
 *   old_md    may be null; gets the descriptor as it is, threshold included, with
 *             every result but the errors of an argument
 *   new_md    may be null: PTL_OK, nothing is replaced. Else all that it says
 *             comes into force, the local offset is 0 again, the descriptor
 *             active. Its handle, its place in the list and PTL_UNLINK stay;
 *             updating the threshold to 0 does not unlink
 *   test_eq   PTL_EQ_NONE, or a queue that must be empty for an update: no event
 *             that was not taken, and no message under way that will still record
 *             one in it
 * PTL_MD_NO_UPDATE: new_md was not applied, because test_eq is not empty or an
 * operation on the descriptor is under way [M]. So who finds no event of an early
 * message, and then updates a descriptor from threshold 0 with that queue as
 * test, has missed none. PTL_MD_INVALID (also about to go); PTL_SEGV,
 * PTL_MD_ILLEGAL, PTL_EQ_INVALID: new_md, as PtlMDAttach, or test_eq;
 * PTL_NO_SPACE: pieces. [3.3]
 */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t test_eq);

/* PtlMEInsert beside `base`, PtlMDAttach of `md`, active at once, and PtlMDUpdate's test of
 * test_eq (PTL_EQ_NONE: none) in one step against all messages [M]. After any error nothing
 * exists and both handles are as they were: after PTL_MD_NO_UPDATE look for the message, and
 * call again. PTL_NI_INVALID; PTL_ME_INVALID: `base`; PTL_ME_LIST_TOO_LONG; PTL_SEGV,
 * PTL_MD_ILLEGAL, PTL_EQ_INVALID: md, as PtlMDAttach, or test_eq; PTL_MD_NO_UPDATE;
 * PTL_NO_SPACE: entries, descriptors, pieces. [the public 3.3 library; not in the report] */
int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink,
		ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle, ptl_handle_eq_t test_eq);

/* ---- event queues ------------------------------------------------------- */

/*
 * A queue for at least `count` events, circular: who reads too late loses the
 * oldest ones and is told (PTL_EQ_DROPPED). A full queue rejects no put and no
 * get; it discards replies. `handler` (above) may be PTL_EQ_HANDLER_NONE.
 * PTL_NI_INVALID; PTL_NO_SPACE: queues, or slots (8192 of all together [M]); also
 * for a count of 0. [3.3]
 */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
	       ptl_handle_eq_t *eq);

/* Free a queue. Descriptors that name it record nothing from now on [M]; acks for
 * it are discarded; its handler is not called any more. PTL_EQ_INVALID. [3.3] */
int PtlEQFree(ptl_handle_eq_t eq);

/*
 * Take the oldest event. Never blocks, never enters the kernel.
 * PTL_OK: *event is the next one. PTL_EQ_DROPPED: *event is the oldest one
 * that is still there, and some before it are lost. PTL_EQ_EMPTY, PTL_EQ_INVALID. [3.3]
 */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/* The same, but waits for an event: for a short while by looking, then halted;
 * handlers of any queue are called meanwhile. PTL_OK, PTL_EQ_DROPPED,
 * PTL_EQ_INVALID. [3.3] */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/*
 * The same for `size` queues (1 to 64), at most `timeout` ms, never less when it
 * returns PTL_EQ_EMPTY (0: look once; PTL_TIME_FOREVER: no limit). *which is the
 * index of the queue that had the event. The queues are served in turn: of those
 * that have an event the one whose last turn in a PtlEQPoll is longest ago, so that
 * none starves another [M]. PTL_OK, PTL_EQ_DROPPED, PTL_EQ_EMPTY at the end of the
 * time, PTL_EQ_INVALID if any of the handles is bad or size is out of range. [3.3]
 */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event,
	      int *which);

/* ---- access control ----------------------------------------------------- */

/*
 * Set an entry: from now on a request that names it (its `ac_index`) is admitted
 * if its initiator's nid, pid, uid and jid, and the portal that it names, are
 * those of the entry; each may be a wildcard (PTL_*_ANY). The identity is the one
 * that the sender's kernel states [P]. At PtlNIInit entry 0 admits every process
 * of this job to all portals, entry 1 every process of job PTL_JID_NONE, all
 * others nobody [P]: so programs pass 0. An id that no process has is legal [M].
 * Acks and replies are not asked [P]. PTL_NI_INVALID, PTL_AC_INDEX_INVALID,
 * PTL_PT_INDEX_INVALID: neither PTL_PT_INDEX_ANY nor a portal. [3.3]
 */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
	       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index);

/* ---- operations --------------------------------------------------------- */

/*
 * All start a message and return; how it ends is told by events. `target` is
 * its process, `pt_index` a portal there, `ac_index` an access control entry
 * there. remote_offset counts if the target's descriptor says
 * PTL_MD_MANAGE_REMOTE. Common errors: PTL_MD_INVALID: handle, or the descriptor
 * is inactive; PTL_PROCESS_INVALID: a wildcard, or no such node; PTL_NO_SPACE:
 * too many operations under way. That the target discards the message, whatever
 * the reason, is no error of the call: the target counts it. What fetches then ends
 * with PTL_NI_DROPPED [M]. A put ends without an ACK event, as in 3.0 and 3.3, unless
 * its descriptor has PTL_MD_EVENT_DROPPED [M]; PTL_SR_REFUSED counts it if it asked for
 * an ack. If the target died, the answer that is awaited comes with PTL_NI_FAIL.
 */

/*
 * Send the whole of a descriptor's memory. With PTL_ACK_REQ an ACK event follows,
 * if the descriptor has an event queue and the target's does not disable acks. If
 * the message is discarded one follows with PTL_MD_EVENT_DROPPED only. hdr_data
 * arrives in the target's events. Uses up 1 of the descriptor's threshold, and 1 for
 * the ack if one comes and any is left. Common errors. [3.3]
 */
int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	   ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* The same for `length` bytes of the descriptor from local_offset on. Common
 * errors, and PTL_MD_ILLEGAL: the region is not inside the descriptor. [3.3] */
int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
		 ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/*
 * Fetch as many bytes as the descriptor has into it. REPLY_END says how it went:
 * mlength bytes, PTL_NI_OK, _DROPPED or _FAIL. Uses up 1 of the threshold when
 * the reply comes. A reply is discarded, without any event, if the descriptor's
 * event queue has no room for its events. Common errors, and PTL_SEGV: memory
 * that the application may not write. [3.3]
 */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* The same for `length` bytes into the descriptor from local_offset on. Errors of
 * PtlGet, and PTL_MD_ILLEGAL: the region is not inside the descriptor. [3.3] */
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/*
 * Exchange memory with the target's in one step: what was there comes into
 * get_md, what put_md has comes there. No other PtlGetPut, PtlAtomic or
 * PtlFetchAtomic comes between. The whole of put_md is sent, at most
 * max_getput_md bytes; the target's descriptor must accept both puts and gets;
 * mlength bytes move in either direction, and the reply is cut to what get_md
 * has room for. put_md gets SEND events and uses up 1 of its threshold, get_md
 * REPLY events and 1 when the reply comes; both may be one descriptor. There is
 * no ack. Common errors of either descriptor; PTL_MD_ILLEGAL: put_md is too long;
 * PTL_SEGV: get_md is not writable by the application. [3.3, M]
 */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	      ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* ---- atomic operations [M] ---------------------------------------------- */

/*
 * As PtlPutRegion, but `operation` is applied to the target's memory, element by
 * element, with what is sent as operands. All of it is done at once, atomic
 * against PtlGetPut, PtlAtomic and PtlFetchAtomic on the same process (not
 * against its own instructions, puts and gets). `length` is what is changed at
 * the target: a multiple of the element's size, at most 64; 0 changes nothing.
 * With PTL_CSWAP 2 * length bytes are sent: length bytes of values to compare
 * with, then length bytes of new values. The target's descriptor must accept
 * puts; truncation leaves whole elements. Errors of PtlPutRegion, and
 * PTL_ATOMIC_INVALID: operation, datatype or length.
 */
int PtlAtomic(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
	      ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
	      ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);

/*
 * The same, and what was there before comes into get_md, from local_get_offset
 * on. Events as for PtlGetPut; the target's descriptor must accept both puts and
 * gets. Errors of PtlAtomic (put_md) and PtlGetRegion (get_md).
 */
int PtlFetchAtomic(ptl_handle_md_t get_md, ptl_size_t local_get_offset,
		   ptl_handle_md_t put_md, ptl_size_t local_put_offset, ptl_size_t length,
		   ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		   ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		   ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);

/* ---- helpers ------------------------------------------------------------ */

/* 1 if both are the same handle, else 0. [3.3] */
int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b);

/* Names, for messages: "PTL_MD_INVALID", "PTL_EVENT_PUT_END", "PTL_NI_DROPPED" (of a
 * ni_fail_type; `ni` is not looked at). Constant texts, also
 * for a value that is none of them; never null. [M; 3.3's implementations have
 * them] */
const char *PtlErrorStr(int error);
const char *PtlEventKindStr(ptl_event_kind_t kind);
const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail);

#ifdef __cplusplus
}
#endif
#endif
