/*
 * Portals 3.0, for programs written to the report SAND99-2959.
 *
 * Include this instead of <portals3.h>. Names, fields, argument orders and enumerators are the
 * report's. The calls are thin layers on those of portals3.h, whose general rules hold here too.
 * One application may use both versions, one per source file: the names of this file are macros,
 * and the linker sees names that begin with p30_. Handles of match entries, descriptors and the
 * interface are the same in both; a queue belongs to the version that allocated it.
 *
 * Where the report is silent or its sources differ (docs/portals.md has the table):
 * - PtlMDBind's descriptor stays until PtlMDUnlink, even at threshold 0.
 * - An event's descriptor may be called mem_desc (report) or md (Cplant's header).
 * - PtlNIDist takes a double * (report) or an unsigned long * (Cplant's header).
 * - Memory outside the application is PTL_SEGV, other invalid descriptors are
 *   PTL_ILL_MD (the report has PTL_ILL_MD for both).
 * - A full queue rejects no put and no get (as in 3.3; in 3.0 it does).
 * - An operation that was discarded or failed records only SENT, as in 3.0: no ack, no reply.
 *   PTL_SR_DROP_COUNT counts it.
 * - A match entry for all ranks of the own group matches every process that
 *   access control admits.
 * - PtlGet records no SENT, as in the report.
 * - PtlMDUnlink and PtlMEUnlink also return PTL_INUSE while an operation
 *   is under way.
 *
 * Extensions of Cplant's library that are later than the report. The macros must be defined before
 * this file is included (-D), in each source file that needs them:
 * - P30_SENT_FOR_GET: PtlGet records SENT, before its REPLY. It uses none of the threshold.
 * - P30_MAX_OFFSET: a descriptor has the field max_offset, which must be filled in. Once its
 *   local offset is greater, it accepts nothing more, and is unlinked with PTL_UNLINK.
 * - PtlEQWait_timeout is always available.
 */
#ifndef P30_H
#define P30_H
#if defined(PORTALS3_H) && !defined(P30_BESIDE_PORTALS3)
#error "p30.h and portals3.h use the same names: include one per file"
#endif
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results; with the numbers of portals3.h where that has the same result ---- */

#define PTL_OK            0
#define PTL_FAIL          1
#define PTL_NOINIT        2
#define PTL_NOSPACE       3
#define PTL_SEGV          4
#define PTL_AC_INV_INDEX  5
#define PTL_INV_EQ        6
#define PTL_INV_HANDLE    7
#define PTL_INIT_INV      8    /* no such interface */
#define PTL_INV_MD        9
#define PTL_INV_ME        10
#define PTL_INV_NI        11
#define PTL_INV_PROC      13
#define PTL_INV_PTINDEX   14
#define PTL_PT_INV_INDEX  PTL_INV_PTINDEX    /* the report writes both */
#define PTL_INV_SR_INDX   15
#define PTL_INV_REG       PTL_INV_SR_INDX    /* likewise */
#define PTL_ILL_MD        16
#define PTL_NOUPDATE      18
#define PTL_INUSE         19
#define PTL_ML_TOOLONG    20
#define PTL_EQ_EMPTY      22
#define PTL_EQ_DROPPED    23
#define PTL_INIT_DUP      32   /* this interface is initialised */
#define PTL_INV_PSIZE     33   /* portal table of that size */
#define PTL_INV_ASIZE     34   /* access control table of that size */
#define PTL_ADDR_UNKNOWN  35   /* PtlTransId */

/* Names of results, by their number; not in the report, but in Cplant. */
extern const char *const ptl_err_str[];

/* ---- types ---- */

typedef uint64_t ptl_size_t;
typedef uint64_t ptl_match_bits_t;
typedef uint64_t ptl_hdr_data_t;
typedef uint64_t ptl_seq_t;
typedef uint32_t ptl_interface_t;
typedef uint32_t ptl_pt_index_t;
typedef uint32_t ptl_ac_index_t;
typedef uint32_t ptl_sr_index_t;
typedef uint64_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_me_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_eq_t;
typedef int ptl_id_t;           /* node, process, group or rank */

/* These differ from the types of the same names in 3.3. */
#define ptl_sr_value_t   p30_sr_value_t
#define ptl_process_id_t p30_process_id_t
#define ptl_md_t         p30_md_t
#define ptl_event_t      p30_event_t
#define ptl_event_kind_t p30_event_kind_t
#define ptl_unlink_t     p30_unlink_t
#define ptl_ins_pos_t    p30_ins_pos_t
#define ptl_ack_req_t    p30_ack_req_t

typedef long ptl_sr_value_t;
typedef int ptl_unlink_t;       /* PTL_RETAIN, PTL_UNLINK */
typedef int ptl_ins_pos_t;      /* PTL_INS_* */
typedef int ptl_ack_req_t;      /* PTL_ACK_REQ, PTL_NOACK_REQ */

#define PTL_EQ_NONE        ((ptl_handle_eq_t)0)
#define PTL_IFACE_DEFAULT  ((ptl_interface_t)0)
#define PTL_ID_ANY         ((ptl_id_t)-1)
#define PTL_PT_INDEX_ANY   ((ptl_pt_index_t)0xffffffffU)
#define PTL_MD_THRESH_INF  (-1)
#define PTL_SR_DROP_COUNT  0
#define PTL_RETAIN         0
#define PTL_UNLINK         1
#define PTL_INS_BEFORE     0
#define PTL_INS_AFTER      1
#define PTL_ACK_REQ        0
#define PTL_NOACK_REQ      1

typedef enum { PTL_ADDR_NID, PTL_ADDR_GID, PTL_ADDR_BOTH } ptl_addr_kind_t;

/*
 * A process, by node and process number, or by group (its job) and rank. In an argument, addr_kind
 * says which pair is filled in; with PTL_ADDR_BOTH the first pair counts. Calls and events return
 * both.
 */
typedef struct {
	ptl_addr_kind_t addr_kind;
	ptl_id_t nid, pid;
	ptl_id_t gid, rid;        /* rid is -1 for a process of another job */
} ptl_process_id_t;

typedef struct {
	void           *start;      /* first byte; anything if length is 0 */
	ptl_size_t      length;     /* bytes */
	int             threshold;  /* operations left, or PTL_MD_THRESH_INF */
	unsigned int    options;    /* PTL_MD_* */
	void           *user_ptr;   /* returned in events */
	ptl_handle_eq_t eventq;     /* where its events go, or PTL_EQ_NONE */
#ifdef P30_MAX_OFFSET
	ptl_size_t      max_offset; /* largest local offset at which it accepts a message */
#else
	ptl_size_t      p30_unused; /* ignored */
#endif
} ptl_md_t;

#define PTL_MD_OP_PUT         0x01
#define PTL_MD_OP_GET         0x02
#define PTL_MD_MANAGE_REMOTE  0x04
#define PTL_MD_TRUNCATE       0x08
#define PTL_MD_ACK_DISABLE    0x10

/* Each is recorded when the operation has ended. There are no START and no UNLINK events: a
 * descriptor with PTL_UNLINK is gone when an event shows it with threshold 0. */
#define PTL_EVENT_ACK p30_event_ack
typedef enum {
	PTL_EVENT_GET,          /* target: a get was answered */
	PTL_EVENT_PUT,          /* target: a put's data has arrived */
	PTL_EVENT_REPLY,        /* initiator: a get's data has arrived */
	PTL_EVENT_ACK,          /* initiator: the target has accepted a put */
	PTL_EVENT_SENT          /* initiator: a put's memory may be reused */
} ptl_event_kind_t;

typedef struct {
	ptl_event_kind_t type;
	ptl_seq_t        sequence;    /* grows from event to event, not always by 1 */
	ptl_process_id_t initiator;
	ptl_pt_index_t   portal;
	ptl_match_bits_t match_bits;
	ptl_size_t       rlength;     /* bytes requested */
	ptl_size_t       mlength;     /* bytes moved */
	ptl_size_t       offset;
	union {                       /* the descriptor after the operation */
		ptl_md_t mem_desc;
		ptl_md_t md;
	};
	ptl_hdr_data_t   hdr_data;
} ptl_event_t;

/* ---- the calls: their names for the linker ---- */

#define PtlInit       p30_Init
#define PtlFini       p30_Fini
#define PtlNIInit     p30_NIInit
#define PtlNIFini     p30_NIFini
#define PtlNIBarrier  p30_NIBarrier
#define PtlNIStatus   p30_NIStatus
#define PtlNIHandle   p30_NIHandle
#define PtlGetId      p30_GetId
#define PtlTransId    p30_TransId
#define PtlMEAttach   p30_MEAttach
#define PtlMEInsert   p30_MEInsert
#define PtlMEUnlink   p30_MEUnlink
#ifdef P30_MAX_OFFSET
#define PtlMDAttach   p30_MDAttachMax
#define PtlMDInsert   p30_MDInsertMax
#define PtlMDBind     p30_MDBindMax
#define PtlMDUpdate   p30_MDUpdateMax
#else
#define PtlMDAttach   p30_MDAttach
#define PtlMDInsert   p30_MDInsert
#define PtlMDBind     p30_MDBind
#define PtlMDUpdate   p30_MDUpdate
#endif
#define PtlMDUnlink   p30_MDUnlink
#define PtlEQAlloc    p30_EQAlloc
#define PtlEQFree     p30_EQFree
#define PtlEQCount    p30_EQCount
#define PtlEQGet      p30_EQGet
#define PtlEQWait     p30_EQWait
#define PtlEQWait_timeout p30_EQWait_timeout
#define PtlACEntry    p30_ACEntry
#define PtlPut        p30_Put
#ifdef P30_SENT_FOR_GET
#define PtlGet        p30_GetSent
#else
#define PtlGet        p30_Get
#endif

/* ---- the interface ---- */

int PtlInit(void);
void PtlFini(void);

/*
 * A portal table of ptl_size entries and an access control table of acl_size, but at least 2: 0 is
 * legal. PTL_INIT_DUP, PTL_INIT_INV; PTL_INV_PSIZE: less than 1, or too many; PTL_INV_ASIZE: too
 * many.
 */
int PtlNIInit(ptl_interface_t interface, ptl_pt_index_t ptl_size, ptl_ac_index_t acl_size,
	      ptl_handle_ni_t *ni);
int PtlNIFini(ptl_handle_ni_t ni);

/* Blocks until every process of the group has called it. */
int PtlNIBarrier(ptl_handle_ni_t ni);
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value);
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/* This process, and the number of processes in its group. */
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id, ptl_id_t *gsize);

/* Fills in both pairs of a process of this group. PTL_ADDR_UNKNOWN: no such process. */
int PtlTransId(ptl_handle_ni_t ni, ptl_process_id_t old_id, ptl_process_id_t *new_id);

/* PtlNIDist(ni, process, distance *): 0 to oneself, 1 to every other node. */
int p30_NIDist(ptl_handle_ni_t ni, ptl_process_id_t process, double *distance);
int p30_NIDistLong(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/* ---- match entries ---- */

/* Begins the list of a portal. PTL_INUSE: it has one (made by this file's calls). */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t index, ptl_process_id_t matchid,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignorebits, ptl_unlink_t unlink,
		ptl_handle_me_t *me);
int PtlMEInsert(ptl_handle_me_t current, ptl_process_id_t matchid, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignorebits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me);
int PtlMEUnlink(ptl_handle_me_t me);

/* ---- memory descriptors; `handle` of Attach and Insert may be null ---- */

int PtlMDAttach(ptl_handle_me_t match, ptl_md_t mem_desc, ptl_unlink_t unlink,
		ptl_handle_md_t *handle);
int PtlMDInsert(ptl_handle_md_t current, ptl_md_t mem_desc, ptl_unlink_t unlink,
		ptl_ins_pos_t position, ptl_handle_md_t *handle);
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t mem_desc, ptl_handle_md_t *handle);
int PtlMDUnlink(ptl_handle_md_t mem_desc);

/* old_md and new_md may be null. PTL_NOUPDATE: testq has an event, or an operation under way will
 * record one there, or one on the descriptor is under way. */
int PtlMDUpdate(ptl_handle_md_t mem_desc, ptl_md_t *old_md, ptl_md_t *new_md,
		ptl_handle_eq_t testq);

/* ---- event queues ---- */

/* For at least `count` events. */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_handle_eq_t *eventq);
int PtlEQFree(ptl_handle_eq_t eventq);

/* The number of events that PtlEQGet would return now; at most `count` of PtlEQAlloc. */
int PtlEQCount(ptl_handle_eq_t eventq, ptl_size_t *count);
int PtlEQGet(ptl_handle_eq_t eventq, ptl_event_t *event);
int PtlEQWait(ptl_handle_eq_t eventq, ptl_event_t *event);

/* The same, but PTL_EQ_EMPTY if none has come after `timeout` seconds; 0 or less: look once. */
int PtlEQWait_timeout(ptl_handle_eq_t eventq, ptl_event_t *event, int timeout);

/* ---- access control, operations ---- */

/* A process given by group and rank is admitted only if it is in that group. */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t index, ptl_process_id_t matchid,
	       ptl_pt_index_t portal);
int PtlPut(ptl_handle_md_t mem_desc, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t portal, ptl_ac_index_t cookie, ptl_match_bits_t match_bits,
	   ptl_size_t offset, ptl_hdr_data_t hdr_data);
int PtlGet(ptl_handle_md_t mem_desc, ptl_process_id_t target, ptl_pt_index_t portal,
	   ptl_ac_index_t cookie, ptl_match_bits_t match_bits, ptl_size_t offset);

#ifdef __cplusplus
}
static inline int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, double *distance)
{
	return p30_NIDist(ni, process, distance);
}
static inline int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process,
			    unsigned long *distance)
{
	return p30_NIDistLong(ni, process, distance);
}
#elif !defined(P30_BESIDE_PORTALS3)
#define PtlNIDist(ni, process, distance) \
	_Generic((distance), unsigned long *: p30_NIDistLong, default: p30_NIDist) \
		((ni), (process), (distance))
#endif
#endif
