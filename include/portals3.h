/*
 * Portals 3: the messages of this machine.
 *
 * Names, types, constants and prototypes are those of Portals 3.3
 * (SAND2006-0420, below [3.3]); lists of descriptors per match entry and
 * PtlNIBarrier come from Portals 3.0 (SAND99-2959, [3.0]). [P] is the paper by
 * Brightwell et al. on Portals 3.0, [M] is a choice of Margay, stated where it
 * is made.
 *
 * General rules
 * - Every call may be made from any place of the application's one thread, but
 *   not from a signal handler that interrupted another Portals call.
 * - No call blocks but PtlEQWait, PtlEQPoll and PtlNIFini. PtlEQGet enters no
 *   kernel at all.
 * - Lengths and offsets are bytes. Times are milliseconds.
 * - The result is PTL_OK or another PTL_* value below. After an error nothing
 *   has changed. Any call may return PTL_NO_INIT before PtlInit and PtlNIInit,
 *   PTL_SEGV for a pointer argument that is not in the application's memory,
 *   and PTL_FAIL if the kernel finds this process's structures damaged.
 * - Handles name one object for ever: a handle of something that is gone is
 *   never taken for its successor [M]. Handles are 64 bits wide [M].
 * - Data moves straight between the memories of two applications. A descriptor's
 *   memory belongs to the messages while the descriptor exists; a put's source
 *   may be reused after SEND_END, what a put brought is in place at PUT_END.
 * - Messages between two processes are delivered in the order in which they
 *   were started [P]. The target need not call anything for that [P].
 *
 * Not there yet, and what they return until they are: PtlMEAttachAny,
 * PtlMDInsert, PtlMDUpdate, PtlACEntry, PtlPutRegion, PtlGetRegion, PtlGetPut,
 * PtlNIDist, PtlNIBarrier: PTL_FAIL. PTL_MD_IOVEC: PTL_MD_ILLEGAL. A handler
 * given to PtlEQAlloc: PTL_FAIL.
 */
#ifndef PORTALS3_H
#define PORTALS3_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results ------------------------------------------------------------ */

enum {
	PTL_OK               = 0,
	PTL_FAIL             = 1,
	PTL_NO_INIT          = 2,
	PTL_NO_SPACE         = 3,
	PTL_SEGV             = 4,
	PTL_AC_INDEX_INVALID = 5,
	PTL_EQ_INVALID       = 6,
	PTL_HANDLE_INVALID   = 7,
	PTL_IFACE_INVALID    = 8,
	PTL_MD_INVALID       = 9,
	PTL_ME_INVALID       = 10,
	PTL_NI_INVALID       = 11,
	PTL_PID_INVALID      = 12,
	PTL_PROCESS_INVALID  = 13,
	PTL_PT_INDEX_INVALID = 14,
	PTL_SR_INDEX_INVALID = 15,
	PTL_MD_ILLEGAL       = 16,
	PTL_MD_IN_USE        = 17,
	PTL_MD_NO_UPDATE     = 18,
	PTL_ME_IN_USE        = 19,
	PTL_ME_LIST_TOO_LONG = 20,
	PTL_PT_FULL          = 21,
	PTL_EQ_EMPTY         = 22,
	PTL_EQ_DROPPED       = 23
};

/* ---- types -------------------------------------------------------------- */

typedef uint64_t ptl_size_t;
typedef uint64_t ptl_match_bits_t;
typedef uint64_t ptl_hdr_data_t;
typedef uint64_t ptl_seq_t;
typedef uint64_t ptl_sr_value_t;
typedef uint32_t ptl_interface_t;
typedef uint32_t ptl_nid_t;
typedef uint32_t ptl_pid_t;
typedef uint32_t ptl_uid_t;
typedef uint32_t ptl_jid_t;
typedef uint32_t ptl_pt_index_t;
typedef uint32_t ptl_ac_index_t;
typedef uint32_t ptl_sr_index_t;
typedef uint32_t ptl_ni_fail_t;
typedef uint32_t ptl_time_t;            /* milliseconds */

typedef uint64_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_me_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_eq_t;

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

/* How many of each there are, or the highest index. */
typedef struct {
	int max_mes;            /* match entries */
	int max_mds;            /* memory descriptors */
	int max_eqs;            /* event queues */
	int max_ac_index;       /* highest index of an access control entry */
	int max_pt_index;       /* highest portal index */
	int max_md_iovecs;      /* pieces of one descriptor */
	int max_me_list;        /* match entries of one portal */
	int max_getput_md;      /* bytes that PtlGetPut exchanges */
} ptl_ni_limits_t;

typedef enum { PTL_RETAIN, PTL_UNLINK } ptl_unlink_t;
typedef enum { PTL_INS_BEFORE, PTL_INS_AFTER } ptl_ins_pos_t;
typedef enum { PTL_NO_ACK_REQ, PTL_ACK_REQ } ptl_ack_req_t;
#define PTL_NOACK_REQ PTL_NO_ACK_REQ

/*
 * A memory descriptor. The kernel keeps a copy; PtlMDAttach and PtlMDBind do
 * not change the caller's.
 */
typedef struct {
	void           *start;      /* first byte; anything if length is 0 */
	ptl_size_t      length;     /* bytes */
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
#define PTL_MD_IOVEC                0x020   /* start is an array of ptl_md_iovec_t */
#define PTL_MD_MAX_SIZE             0x040   /* max_size counts (not with MANAGE_REMOTE) */
#define PTL_MD_EVENT_START_DISABLE  0x080   /* record no *_START events */
#define PTL_MD_EVENT_END_DISABLE    0x100   /* record no *_END events; with both, only ACK
                                               and UNLINK are recorded */

typedef struct {
	void      *iov_base;
	ptl_size_t iov_len;
} ptl_md_iovec_t;

/*
 * Events. At the target: PUT_*, GET_*. At the initiator: a put gives SEND_START,
 * SEND_END, and ACK if one was asked for; a get gives REPLY_START, REPLY_END.
 * UNLINK: the descriptor has been unlinked automatically; it is the last event
 * with that descriptor's handle, but for acks that are still to come.
 * START comes before END; both, and a put's ACK, have the same `link`.
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
#define PTL_NI_FAIL     1U  /* the peer has died or cannot be reached; with PUT_END the
                               memory may be partly written [M] */
#define PTL_NI_DROPPED  2U  /* the target discarded the request: mlength is 0 [M] */

typedef struct {
	ptl_event_kind_t type;
	ptl_process_id_t initiator;     /* who sent the message: PUT, GET: the initiator; ACK,
	                                   REPLY: the target that answered; SEND: this process */
	ptl_uid_t        uid;           /* its user */
	ptl_jid_t        jid;           /* its job */
	ptl_pt_index_t   pt_index;      /* as the request named it, like match_bits, rlength */
	ptl_match_bits_t match_bits;
	ptl_size_t       rlength;       /* bytes requested */
	ptl_size_t       mlength;       /* bytes moved (SEND: bytes sent) */
	ptl_size_t       offset;        /* PUT, GET: where in this descriptor; SEND, ACK, REPLY:
	                                   the request's remote offset, echoed */
	ptl_handle_md_t  md_handle;     /* this process's descriptor */
	ptl_md_t         md;            /* its state after the operation (threshold!); all zero
	                                   in an ACK whose descriptor is gone */
	ptl_hdr_data_t   hdr_data;      /* of the put; 0 for a get */
	uint32_t         link;          /* pairs the events of one operation [M: 32 bits] */
	ptl_ni_fail_t    ni_fail_type;  /* PTL_NI_* */
	volatile ptl_seq_t sequence;    /* counts the queue's events: +1 from event to event */
} ptl_event_t;

/* A handler is called for every event of its queue. Not there yet. */
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
	PTL_SR_ME_USED, PTL_SR_ME_HIGH,     /* match entries in use, and the most ever */
	PTL_SR_MD_USED, PTL_SR_MD_HIGH,
	PTL_SR_EQ_USED, PTL_SR_EQ_HIGH,
	PTL_SR_OP_USED, PTL_SR_OP_HIGH,     /* operations under way */
	PTL_SR_NID, PTL_SR_PID,             /* this process's ids: PtlGetId, PtlGetUid ... */
	PTL_SR_UID, PTL_SR_JID,
	PTL_SR_PIECE_USED, PTL_SR_PIECE_HIGH,   /* pieces of iovec descriptors */
	PTL_SR_COUNT
};

/* ---- the interface ------------------------------------------------------ */

/* Prepare the library; *max_interfaces becomes 1. May be called again. [3.3] */
int PtlInit(int *max_interfaces);

/* Undo PtlInit, and PtlNIInit if that is still needed. [3.3] */
void PtlFini(void);

/*
 * Initialise the interface: from now on messages are accepted. `pid` is
 * PTL_PID_ANY or the pid that this process has anyway. `desired` may be null;
 * `actual` may be null, and gets what is granted: the machine's limits, which
 * are at least what is reported here whatever was asked for [M]. A second call
 * returns the same handle [3.3] and must be undone by a second PtlNIFini [M].
 * PTL_IFACE_INVALID, PTL_PID_INVALID. [3.3]
 */
int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
	      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni);

/* Free everything of the interface. Messages that arrive from now on are
 * discarded. Blocks until no message is being carried out in this process's
 * memory any more. PTL_NI_INVALID. [3.3] */
int PtlNIFini(ptl_handle_ni_t ni);

/* Read a status register. PTL_NI_INVALID, PTL_SR_INDEX_INVALID. [3.3] */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value);

/* The interface that an object belongs to. PTL_HANDLE_INVALID. [3.3] */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/* Distance to a process. Not there yet: PTL_FAIL. [3.3] */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/* Wait for all processes of the job. Not there yet: PTL_FAIL. [3.0] */
int PtlNIBarrier(ptl_handle_ni_t ni);

/* This process's ids, set by whoever started it. PTL_NI_INVALID. [3.3] */
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id);
int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);

/* ---- match entries ------------------------------------------------------ */

/*
 * Put a new match entry at the head (PTL_INS_BEFORE) or the tail (PTL_INS_AFTER)
 * of a portal's list. It matches a request whose initiator fits `match_id`
 * (each field may be a wildcard) if ((match_bits ^ request's bits) &
 * ~ignore_bits) == 0. The entry accepts nothing until it has a descriptor.
 * With PTL_UNLINK it goes when its last descriptor goes, by itself or by
 * PtlMDUnlink. PTL_NI_INVALID, PTL_PT_INDEX_INVALID, PTL_NO_SPACE. [3.3]
 */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me);

/* The same on a portal that is not in use. Not there yet: PTL_FAIL. [3.3] */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		   ptl_unlink_t unlink, ptl_handle_me_t *me);

/* Put a new entry right before or after `base`. PTL_ME_INVALID, PTL_NO_SPACE. [3.3] */
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
 * PTL_SEGV: memory outside the application; PTL_MD_ILLEGAL: options or
 * threshold; PTL_EQ_INVALID; PTL_NO_SPACE. [3.3]
 */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Add a descriptor to an entry's list, next to `base`. Not there yet: PTL_FAIL. [3.0] */
int PtlMDInsert(ptl_handle_md_t base, ptl_md_t md, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_md_t *handle);

/* A descriptor of no match entry, for operations that this process starts.
 * Errors as for PtlMDAttach, and PTL_NI_INVALID. [3.3] */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Remove a descriptor; records no event. PTL_MD_INVALID; PTL_MD_IN_USE while an
 * operation is under way: a put until SEND_END, a get until its reply has
 * ended; an awaited ack does not count. [3.3, M] */
int PtlMDUnlink(ptl_handle_md_t md);

/* Copy the descriptor out and replace it if `test_eq` is empty. Not there yet:
 * PTL_FAIL. [3.3] */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t test_eq);

/* ---- event queues ------------------------------------------------------- */

/*
 * A queue for at least `count` events, circular: who reads too late loses the
 * oldest ones and is told (PTL_EQ_DROPPED). A full queue rejects no put and no
 * get; it discards replies. `handler` must be PTL_EQ_HANDLER_NONE as yet, else
 * PTL_FAIL. PTL_NI_INVALID, PTL_NO_SPACE. [3.3]
 */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
	       ptl_handle_eq_t *eq);

/* Free a queue. Descriptors that name it record nothing from now on; acks for
 * it are discarded. PTL_EQ_INVALID. [3.3] */
int PtlEQFree(ptl_handle_eq_t eq);

/*
 * Take the oldest event. Never blocks, never enters the kernel.
 * PTL_OK: *event is the next one. PTL_EQ_DROPPED: *event is the oldest one
 * that is still there, and some before it are lost. PTL_EQ_EMPTY, PTL_EQ_INVALID. [3.3]
 */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/* The same, but waits for an event: for a short while by looking, then halted.
 * PTL_OK, PTL_EQ_DROPPED, PTL_EQ_INVALID. [3.3] */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/*
 * The same for `size` queues (1 to 64), at most `timeout` ms (0: look once;
 * PTL_TIME_FOREVER: no limit). *which is the index of the queue that had the
 * event. The queues are served in turn, so that none starves another [M].
 * PTL_OK, PTL_EQ_DROPPED, PTL_EQ_EMPTY at the end of the time, PTL_EQ_INVALID
 * if any of the handles is bad or size is out of range. [3.3]
 */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event,
	      int *which);

/* ---- access control ----------------------------------------------------- */

/*
 * Set an entry. Not there yet: PTL_FAIL. The defaults are in force: entry 0
 * admits every process of this job to all portals, entry 1 every process of
 * job PTL_JID_NONE; the others admit nobody. So programs pass 0. [P, 3.3]
 */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
	       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index);

/* ---- operations --------------------------------------------------------- */

/*
 * Send the whole of a descriptor's memory to `target`. `ac_index` names the
 * target's access control entry. With PTL_ACK_REQ an ACK event follows, if the
 * descriptor has an event queue and the target's does not disable acks; it also
 * follows, with PTL_NI_DROPPED, if the target discarded the message [M], and
 * with PTL_NI_FAIL if the target died. remote_offset counts if the target's
 * descriptor says PTL_MD_MANAGE_REMOTE. hdr_data arrives in the target's events.
 * Uses up 1 of the descriptor's threshold, and 1 for the ack if any is left.
 * PTL_MD_INVALID: handle, or inactive; PTL_PROCESS_INVALID: a wildcard, or no
 * such node; PTL_NO_SPACE: too many operations under way. That the target
 * discards the message is no error of this call. [3.3]
 */
int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	   ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* The same for a part of the descriptor. Not there yet: PTL_FAIL. [3.3] */
int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
		 ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/*
 * Fetch as many bytes as the descriptor has from `target` into it. REPLY_END
 * says how it went: mlength bytes, PTL_NI_OK, _DROPPED or _FAIL. Uses up 1 of
 * the threshold when the reply comes. A reply is discarded, without any event,
 * if the descriptor's event queue has no room for its events. Errors as for
 * PtlPut. [3.3]
 */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* The same for a part of the descriptor. Not there yet: PTL_FAIL. [3.3] */
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* Exchange memory with the target's. Not there yet: PTL_FAIL. [3.3] */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	      ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* ---- helpers ------------------------------------------------------------ */

/* 1 if both are the same handle, else 0. [3.3] */
int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b);

/* Names, for messages: "PTL_MD_INVALID", "PTL_EVENT_PUT_END". Never null. [3.3] */
const char *PtlErrorStr(int error);
const char *PtlEventKindStr(ptl_event_kind_t kind);

#ifdef __cplusplus
}
#endif
#endif
