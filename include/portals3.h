/*
 * Portals 3: messages between processes of a job. This header is the reference: each call has its
 * contract, and where it comes from. Its types and constants are in <portals3_types.h>, which it
 * includes.
 *
 * Names, types, constants and prototypes are those of Portals 3.3 (SAND2006-0420, below [3.3]).
 * Lists of descriptors per match entry and PtlNIBarrier come from Portals 3.0 (SAND99-2959, [3.0]),
 * the names of the atomic operations from Portals 4 [4]. [P] is the paper by Brightwell et al. on
 * Portals 3.0, [M] marks a choice of Margay.
 *
 * General rules
 * - Context: every call may be made anywhere in the application's one thread, from main on, but not
 *   in a signal handler that interrupted another Portals call. An event handler may make all calls
 *   but PtlInit, PtlFini, PtlNIInit, PtlNIFini, PtlNIBarrier, PtlEQAlloc, PtlEQAllocFilling,
 *   PtlEQFree, PtlEQWait, PtlEQPoll, and PtlEQGet of a queue with a handler for each event: these
 *   return PTL_FAIL there [M] (PtlFini does nothing). It may take events of another queue by
 *   PtlEQGet if the program takes none of that queue. The handler of a queue that fills may take
 *   events of that queue.
 * - Blocking: PtlEQWait, PtlEQPoll, PtlNIBarrier and PtlNIFini wait. Other calls do not [M], with
 *   two exceptions: the first message to a node waits while that node boots, and a message waits
 *   while its target has too many under way. PtlEQGet, PtlHandleIsEqual and the functions that
 *   return texts make no system call; every other call is one system call (PtlGetId two).
 * - Ownership: memory that a pointer argument names is read or written only during the call, and
 *   stays the caller's. A descriptor's memory belongs to the messages while the descriptor exists.
 *   A put's source may be reused after SEND_END; the data of an arriving put is complete at
 *   PUT_END.
 * - Units: lengths and offsets are bytes; times are milliseconds.
 * - Results: PTL_OK or another PTL_* value below. After an error nothing has changed, except where
 *   the call says so. Any call may return PTL_NO_INIT before PtlInit and PtlNIInit, PTL_SEGV for a
 *   pointer argument outside the application's memory (or, for a result, not writable), and
 *   PTL_FAIL if the kernel finds this process's structures damaged by a node that died while
 *   changing them. Where the library itself stores a result (PtlInit, PtlGetId, PtlGetUid,
 *   PtlGetJid, PtlEQ*) a bad pointer is a page fault.
 * - Handles are unique for ever: the handle of an object that is gone never names a later one [M].
 *   Handles are 64 bits wide [M].
 * - Data moves directly between the memories of two applications. Messages between two processes
 *   are delivered in the order in which they were started [P]. The target need not make a call for
 *   that, nor be running [P].
 * - No connections: no process sets anything up before it sends to another [P].
 */
#ifndef PORTALS3_H
#define PORTALS3_H
#include <portals3_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the interface ------------------------------------------------------ */

/* Initialises the library; *max_interfaces becomes 1 (it may be null [M]). May be
 * called again. PTL_OK. [3.3] */
int PtlInit(int *max_interfaces);

/* Undoes PtlInit, and every PtlNIInit that has not been undone. Waits like PtlNIFini. [3.3] */
void PtlFini(void);

/*
 * Initialises the interface: from now on messages are accepted, access control
 * has its defaults (see PtlACEntry), all counters are 0. `pid` is PTL_PID_ANY or
 * the pid that this process already has.
 *   desired   limits that the application wants; null: the maximum. A field from 1
 *             (for an index 0, for max_ac_index 1) to the machine's maximum is
 *             granted exactly and enforced [M]; any other value gets the maximum [M]
 *   actual    null, or gets the granted limits
 * A second call returns the same handle [3.3] and the same limits, whatever it
 * wants, and must be undone by a second PtlNIFini [M]. PTL_IFACE_INVALID,
 * PTL_PID_INVALID. [3.3]
 */
int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
	      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni);

/* Frees everything of the interface; messages that arrive from now on are discarded. Waits until no
 * message is being delivered into this process's memory. PTL_NI_INVALID; PTL_FAIL if one has not
 * ended within 10 s over shared memory, as after damage by another node [M]. [3.3] */
int PtlNIFini(ptl_handle_ni_t ni);

/* Reads a status register. PTL_NI_INVALID, PTL_SR_INDEX_INVALID. [3.3] */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value);

/* Returns the interface of an object (or of an interface). PTL_HANDLE_INVALID:
 * no such object exists. [3.3] */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/* Distance to a process of the job: 0 to this one, 1 to all others [M].
 * PTL_NI_INVALID; PTL_PROCESS_INVALID: a wildcard, or the job has no such
 * process. [3.3] */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/*
 * Waits for all processes of the job: returns when each of them has called it as often as this one.
 * It also waits for processes that have not yet booted or called PtlNIInit; one that ends without
 * the call keeps the others waiting [M]. Uses no portal, entry, descriptor or event, and guarantees
 * nothing about messages under way. PTL_NI_INVALID; PTL_FAIL: a process of the job has died, was
 * restarted, or cannot be reached; then every barrier fails, in its next life too [M]. [3.0]
 */
int PtlNIBarrier(ptl_handle_ni_t ni);

/* This process's ids, set by the launcher. PTL_NI_INVALID. [3.3] */
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id);
int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);

/* ---- match entries ------------------------------------------------------ */

/*
 * Puts a new match entry at the head (PTL_INS_BEFORE) or the tail (PTL_INS_AFTER) of a portal's
 * list. It matches a request whose initiator matches `match_id` (each field may be a wildcard; an
 * id that no process has is legal and matches nothing [M]) if ((match_bits ^ request's bits) &
 * ~ignore_bits) == 0. A request goes to the first entry that matches and whose first descriptor
 * accepts it. The entry accepts nothing until it has a descriptor. With PTL_UNLINK the entry is
 * unlinked together with its last descriptor, whether that unlinks itself or PtlMDUnlink does.
 * PTL_NI_INVALID, PTL_PT_INDEX_INVALID, PTL_ME_LIST_TOO_LONG, PTL_NO_SPACE. [3.3]
 */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me);

/* The same on the lowest portal [M] without a match entry; its index is stored
 * in *pt_index. PTL_NI_INVALID, PTL_PT_FULL: there is none, PTL_NO_SPACE. [3.3] */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		   ptl_unlink_t unlink, ptl_handle_me_t *me);

/* Puts a new entry directly before or after `base`. PTL_ME_INVALID,
 * PTL_ME_LIST_TOO_LONG, PTL_NO_SPACE. [3.3] */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me);

/* Removes an entry with its descriptors; records no event. PTL_ME_INVALID;
 * PTL_ME_IN_USE while an operation on one of them is under way. [3.3] */
int PtlMEUnlink(ptl_handle_me_t me);

/* ---- memory descriptors ------------------------------------------------- */

/*
 * Gives a match entry its descriptor. With PTL_UNLINK the descriptor is unlinked when an operation
 * brings its threshold to 0 (or leaves less than max_size): it leaves the list at once, and is
 * freed, with an UNLINK event, when its last operation has ended. PTL_ME_INVALID; PTL_ME_IN_USE:
 * the entry has one; PTL_SEGV: memory (of a piece, or the array of them) that is not the
 * application's, or that it may not write itself although it accepts puts; PTL_MD_ILLEGAL: options,
 * threshold, too many pieces, PTL_MD_SPAN with pieces; PTL_EQ_INVALID; PTL_NO_SPACE: descriptors or
 * pieces. [3.3]
 */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Adds a descriptor to an entry's list, directly before or after `base`, which is in that list.
 * Only the first of a list accepts messages; when it is gone, the next one becomes the first [P].
 * PTL_MD_INVALID: `base` is attached to no entry, or is being unlinked; else as PtlMDAttach.
 * [3.0] */
int PtlMDInsert(ptl_handle_md_t base, ptl_md_t md, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_md_t *handle);

/* Makes a descriptor without a match entry, for operations that this process starts.
 * PTL_NI_INVALID; else as PtlMDAttach. [3.3] */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle);

/* Removes a descriptor; records no event. PTL_MD_INVALID; PTL_MD_IN_USE while an operation is under
 * way: a put until SEND_END, a get until its reply has ended; an outstanding ack does not count.
 * Like PtlMDUpdate, it first waits until operations that this process has started end; they fail if
 * their target cannot be reached for long (docs/bare-metal.md). If one has not ended after 10 s
 * plus 1 us a byte, the descriptor stays in use (boards have no such limit). [3.3, M] */
int PtlMDUnlink(ptl_handle_md_t md);

/*
 * Copies a descriptor out, and replaces it, in one step that is atomic against all
 * messages.
 *   old_md    null, or gets the descriptor before the call, with its threshold, unless
 *             an argument is wrong
 *   new_md    null: PTL_OK, nothing is replaced. Otherwise all its fields take effect,
 *             the local offset is 0 again, and the descriptor is active. Its handle, its
 *             place in the list and PTL_UNLINK stay; setting the threshold to 0 does not
 *             unlink it
 *   test_eq   PTL_EQ_NONE, or a queue that must be empty for an update: it has no event
 *             that has not been taken, and no message under way will record one in it. An
 *             ack or a reply that has not come yet does not count [M]
 * PTL_MD_NO_UPDATE: new_md was not applied, because test_eq is not empty or an
 * operation on the descriptor is under way [M]. So a program that finds no event of an early
 * message, and then updates a descriptor from threshold 0 with that queue as test_eq, has
 * missed no message. PTL_MD_INVALID (also if it is being unlinked); PTL_SEGV,
 * PTL_MD_ILLEGAL, PTL_EQ_INVALID: new_md, as PtlMDAttach, or test_eq;
 * PTL_NO_SPACE: pieces. [3.3]
 */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t test_eq);

/* PtlMEInsert next to `base`, PtlMDAttach of `md`, active at once, and PtlMDUpdate's test of
 * test_eq (PTL_EQ_NONE: none), in one step that is atomic against all messages [M]. After an error
 * nothing exists and both handles are unchanged; after PTL_MD_NO_UPDATE look for the message, and
 * call again. PTL_NI_INVALID; PTL_ME_INVALID: `base`; PTL_ME_LIST_TOO_LONG; PTL_SEGV,
 * PTL_MD_ILLEGAL, PTL_EQ_INVALID: md, as PtlMDAttach, or test_eq; PTL_MD_NO_UPDATE; PTL_NO_SPACE:
 * entries, descriptors, pieces. [the public 3.3 library; not in the report] */
int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink,
		ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle, ptl_handle_eq_t test_eq);

/* ---- event queues ------------------------------------------------------- */

/*
 * A queue for at least `count` events. It is circular: a late reader loses the oldest events and
 * gets PTL_EQ_DROPPED. A full queue rejects no put and no get, but discards replies. `handler`
 * (<portals3_types.h>) may be PTL_EQ_HANDLER_NONE. PTL_NI_INVALID; PTL_NO_SPACE: queues, or slots
 * (8192 of all queues together, or the number of MARGAY_EVENT_SLOTS of <margay.h> [M]), or a count
 * of 0. [3.3]
 */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
	       ptl_handle_eq_t *eq);

/*
 * A queue like that of PtlEQAlloc without a handler: PtlEQGet, PtlEQWait and PtlEQPoll take its
 * events. But when events that have not been taken fill three quarters of its slots (rounded up),
 * `handler` is called once, while the application computes or waits. It is called again only after
 * the queue was less full in between. It comes as soon as an upcall can; by then there may be more
 * events, or fewer. It may take events of this queue by PtlEQGet, but of no other queue from which
 * the program takes events. If it would come in the middle of a PtlEQGet of this queue, it comes at
 * the end of that call. A null handler makes an ordinary queue. Errors of PtlEQAlloc. [M]
 */
int PtlEQAllocFilling(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_filling_t handler,
		      ptl_handle_eq_t *eq);

/* Frees a queue. Descriptors that name it record nothing from now on [M]; acks for
 * it are discarded; its handler is no longer called. PTL_EQ_INVALID. [3.3] */
int PtlEQFree(ptl_handle_eq_t eq);

/*
 * Takes the oldest event. Never blocks, never enters the kernel.
 * PTL_OK: *event is the next one. PTL_EQ_DROPPED: *event is the oldest one left, and some before it
 * are lost. PTL_EQ_EMPTY, PTL_EQ_INVALID. [3.3]
 */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/* The same, but waits for an event: it spins for a short while, then halts; handlers of any queue
 * are called meanwhile. PTL_OK, PTL_EQ_DROPPED, PTL_EQ_INVALID. [3.3] */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/*
 * The same for `size` queues (1 to 64), for at most `timeout` ms, and never less when it returns
 * PTL_EQ_EMPTY (0: look once; PTL_TIME_FOREVER: no limit). *which is the index of the queue that
 * had the event. No queue starves: of those with an event, it takes the one that PtlEQPoll served
 * longest ago [M]. PTL_OK, PTL_EQ_DROPPED, PTL_EQ_EMPTY at the timeout, PTL_EQ_INVALID if any of
 * the handles is bad or size is out of range. [3.3]
 */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event,
	      int *which);

/* ---- access control ----------------------------------------------------- */

/*
 * Sets an entry. From now on a request that names it (its `ac_index`) is admitted if its
 * initiator's nid, pid, uid and jid, and the portal that it names, are those of the entry; each may
 * be a wildcard (PTL_*_ANY). The sender's kernel states the identity [P]. At PtlNIInit entry 0
 * admits every process of this job to all portals, entry 1 every process of job PTL_JID_NONE, all
 * others none [P]; so programs pass 0. An id that no process has is legal [M]. Acks and replies are
 * not checked [P]. PTL_NI_INVALID, PTL_AC_INDEX_INVALID, PTL_PT_INDEX_INVALID: neither
 * PTL_PT_INDEX_ANY nor a portal. [3.3]
 */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
	       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index);

/* ---- operations --------------------------------------------------------- */

/*
 * All of them start a message and return; events report how it ends. `target` is its process,
 * `pt_index` a portal there, `ac_index` an access control entry there. remote_offset counts if the
 * target's descriptor has PTL_MD_MANAGE_REMOTE. Common errors: PTL_MD_INVALID: handle, or the
 * descriptor is inactive; PTL_PROCESS_INVALID: a wildcard, or no such node; PTL_NO_SPACE: too many
 * operations under way that await an answer; an operation without an answer waits for room instead
 * [M]; PTL_SEGV: memory of a descriptor with PTL_MD_SPAN that the application may not read, or, for
 * fetches, not write. If the target discards the message, for whatever reason, the call still
 * succeeds and the target counts it. A fetching operation then ends with PTL_NI_DROPPED [M]. A put
 * ends without an ACK event, as in 3.0 and 3.3, unless its descriptor has PTL_MD_EVENT_DROPPED [M];
 * PTL_SR_REFUSED counts it if it asked for an ack. If the target dies, the outstanding answer comes
 * with PTL_NI_FAIL.
 */

/*
 * Sends the whole of a descriptor's memory. With PTL_ACK_REQ an ACK event follows, if the
 * descriptor has an event queue and the target's does not disable acks; if the message is
 * discarded, only with PTL_MD_EVENT_DROPPED. hdr_data arrives in the target's events. Uses up 1 of
 * the descriptor's threshold, and 1 for the ack if one comes and any is left. Common errors. [3.3]
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
 * Fetches into the whole of a descriptor's memory. REPLY_END has the result: mlength bytes, and
 * PTL_NI_OK, _DROPPED or _FAIL. Uses up 1 of the threshold when the reply comes. A reply is
 * discarded, without any event, if the descriptor's event queue has no room for its events. Common
 * errors, and PTL_SEGV: memory that the application may not write. [3.3]
 */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/* The same for `length` bytes into the descriptor from local_offset on. Errors of
 * PtlGet, and PTL_MD_ILLEGAL: the region is not inside the descriptor. [3.3] */
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/*
 * Exchanges memory with the target's in one step: the old contents come into get_md, the bytes of
 * put_md replace them. No other PtlGetPut, PtlAtomic or PtlFetchAtomic comes between. The whole of
 * put_md is sent, at most max_getput_md bytes. The target's descriptor must accept both puts and
 * gets. mlength bytes move in either direction, and the reply is truncated to the size of get_md.
 * put_md gets SEND events and uses up 1 of its threshold, get_md REPLY events and 1 when the reply
 * comes; both may be one descriptor. There is no ack. Common errors of either descriptor;
 * PTL_MD_ILLEGAL: put_md is too long; PTL_SEGV: get_md is not writable by the application; with
 * PTL_MD_SPAN as many of its bytes as are sent must be writable. [3.3, M]
 */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	      ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/* ---- atomic operations [M] ---------------------------------------------- */

/*
 * Like PtlPutRegion, but `operation` is applied to the target's memory, element by element, with
 * the sent elements as operands. `length` is the number of bytes changed at the target: a multiple
 * of the element's size, at most PTL_ATOMIC_LONGEST, with PTL_CSWAP at most 64; 0 changes nothing.
 * Up to 64 bytes change in one step, of a longer operation each element: atomic against PtlGetPut,
 * PtlAtomic and PtlFetchAtomic on the same process (not against its own instructions, puts and
 * gets). If one side dies, some elements of a longer operation may have changed. With PTL_CSWAP
 * twice that many bytes are sent: length bytes of values to compare with, then length bytes of new
 * values. Operands of more than 64 bytes must not overlap the memory that they change. The target's
 * descriptor must accept puts; truncation leaves whole elements. Errors of PtlPutRegion, and
 * PTL_ATOMIC_INVALID: operation, datatype or length, a bitwise operation on floating-point numbers,
 * or PTL_NOOP, which only PtlFetchAtomic has.
 */
int PtlAtomic(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
	      ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
	      ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);

/*
 * The same, of at most 64 bytes, and the old value comes into get_md, from local_get_offset on.
 * PTL_NOOP sends operands as well, and ignores them. Events as for PtlGetPut; the target's
 * descriptor must accept both puts and gets. Errors of PtlAtomic (put_md) and PtlGetRegion
 * (get_md).
 */
int PtlFetchAtomic(ptl_handle_md_t get_md, ptl_size_t local_get_offset,
		   ptl_handle_md_t put_md, ptl_size_t local_put_offset, ptl_size_t length,
		   ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		   ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		   ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);

/* ---- helpers ------------------------------------------------------------ */

/* 1 if both are the same handle, else 0. [3.3] */
int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b);

/* Names, for messages: "PTL_MD_INVALID", "PTL_EVENT_PUT_END", "PTL_NI_DROPPED" (of a ni_fail_type;
 * `ni` is ignored). Constant texts, even for an unknown value; never null. [M; 3.3's
 * implementations have them] */
const char *PtlErrorStr(int error);
const char *PtlEventKindStr(ptl_event_kind_t kind);
const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail);

#ifdef __cplusplus
}
#endif
#endif
