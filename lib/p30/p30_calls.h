/*
 * What p30.c and p30_eq.c share: the calls of 3.3 under other names, and the functions that each
 * file provides for the other. It includes both versions' headers; after it, the names are those of
 * 3.0.
 */
#ifndef P30_CALLS_H
#define P30_CALLS_H
#include <margay.h>
#include <portals3.h>

typedef ptl_process_id_t ptl33_process_id_t;
typedef ptl_nid_t ptl33_nid_t;
typedef ptl_jid_t ptl33_jid_t;
typedef ptl_ni_limits_t ptl33_ni_limits_t;
typedef ptl_sr_value_t ptl33_sr_value_t;
typedef ptl_unlink_t ptl33_unlink_t;
typedef ptl_ins_pos_t ptl33_ins_pos_t;
typedef ptl_ack_req_t ptl33_ack_req_t;
typedef ptl_md_t ptl33_md_t;
typedef ptl_event_t ptl33_event_t;

enum {
	ACK33 = PTL_ACK_REQ, NO_ACK33 = PTL_NO_ACK_REQ, MD_IN_USE33 = PTL_MD_IN_USE,
	START_DISABLE33 = PTL_MD_EVENT_START_DISABLE, MAX_SIZE33 = PTL_MD_MAX_SIZE,
	GET_END33 = PTL_EVENT_GET_END, PUT_END33 = PTL_EVENT_PUT_END,
	REPLY_END33 = PTL_EVENT_REPLY_END, SEND_END33 = PTL_EVENT_SEND_END,
	ACK_EVENT33 = PTL_EVENT_ACK, NI_OK33 = PTL_NI_OK,
};
#define ANY33 0xffffffffU       /* of node, process, user and job */
_Static_assert(PTL_NID_ANY == ANY33 && PTL_PID_ANY == ANY33 && PTL_UID_ANY == ANY33 &&
	       PTL_JID_ANY == ANY33, "one wildcard");
_Static_assert(PTL_RETAIN == 0 && PTL_UNLINK == 1 && PTL_INS_BEFORE == 0 && PTL_INS_AFTER == 1,
	       "3.0 has the same");
_Static_assert(PTL_MD_OP_PUT == 1 && PTL_MD_OP_GET == 2 && PTL_MD_MANAGE_REMOTE == 4 &&
	       PTL_MD_TRUNCATE == 8 && PTL_MD_ACK_DISABLE == 16, "3.0 has the same");

/* The same functions, reached after p30.h has renamed them. */
#define KEEP(name) static __typeof__(Ptl##name) *const ptl33_##name __attribute__((unused)) = \
	Ptl##name;
KEEP(Init) KEEP(Fini) KEEP(NIInit) KEEP(NIFini) KEEP(NIBarrier) KEEP(NIStatus) KEEP(NIHandle)
KEEP(NIDist) KEEP(GetId) KEEP(GetJid) KEEP(MEAttach) KEEP(MEInsert) KEEP(MEUnlink)
KEEP(MDAttach) KEEP(MDInsert) KEEP(MDBind) KEEP(MDUnlink) KEEP(MDUpdate) KEEP(EQAlloc)
KEEP(EQFree) KEEP(EQGet) KEEP(EQWait) KEEP(EQPoll) KEEP(ACEntry) KEEP(Put) KEEP(Get)
#undef KEEP

static const ptl_eq_handler_t ptl33_no_handler __attribute__((unused)) = PTL_EQ_HANDLER_NONE;
#undef PTL_NOACK_REQ
#undef PTL_EQ_NONE
#undef PTL_IFACE_DEFAULT
#undef PTL_PT_INDEX_ANY
#undef PTL_MD_THRESH_INF
#undef PTL_MD_OP_PUT
#undef PTL_MD_OP_GET
#undef PTL_MD_MANAGE_REMOTE
#undef PTL_MD_TRUNCATE
#undef PTL_MD_ACK_DISABLE

#define P30_BESIDE_PORTALS3
#define P30_MAX_OFFSET
#include <p30.h>
/* These files define both forms, under their linker names. */
#undef PtlMDAttach
#undef PtlMDInsert
#undef PtlMDBind
#undef PtlMDUpdate
#undef PtlGet
int p30_MDAttach(ptl_handle_me_t match, ptl_md_t mem_desc, ptl_unlink_t unlink,
		 ptl_handle_md_t *handle);
int p30_MDInsert(ptl_handle_md_t current, ptl_md_t mem_desc, ptl_unlink_t unlink,
		 ptl_ins_pos_t position, ptl_handle_md_t *handle);
int p30_MDBind(ptl_handle_ni_t ni, ptl_md_t mem_desc, ptl_handle_md_t *handle);
int p30_MDUpdate(ptl_handle_md_t mem_desc, ptl_md_t *old_md, ptl_md_t *new_md,
		 ptl_handle_eq_t testq);
int p30_GetSent(ptl_handle_md_t mem_desc, ptl_process_id_t target, ptl_pt_index_t portal,
		ptl_ac_index_t cookie, ptl_match_bits_t match_bits, ptl_size_t offset);

#define HANDLE_INDEX(h) ((unsigned int)((h) & 0xffff))  /* in its pool */

/* p30.c: a process of a job, a descriptor's state. */
ptl_process_id_t p30_process(ptl33_process_id_t process, ptl33_jid_t job);
ptl_md_t p30_md(const ptl33_md_t *md);

/* p30_eq.c: p30_gather moves new events into the library's ring, and p30_record puts an event behind
 * them that the kernel does not have. p30_update is PtlMDUpdate by the rules of 3.0, under which
 * some events do not count. p30_forget frees all queues. */
int p30_update(ptl_handle_md_t md, ptl33_md_t *before, ptl33_md_t *after, ptl_handle_eq_t testq);
void p30_gather(ptl_handle_eq_t eq);
void p30_record(ptl_handle_eq_t eq, const ptl_event_t *event);
void p30_forget(void);
#endif
