/*
 * Names of Portals results and events, and the calls that are not there yet:
 * they return what portals3.h says. No data, no system calls.
 */
#include <portals3.h>

const char *PtlErrorStr(int error)
{
	static const char *const names[] = {
#define NAME(name) [name] = #name
		NAME(PTL_OK), NAME(PTL_FAIL), NAME(PTL_NO_INIT), NAME(PTL_NO_SPACE),
		NAME(PTL_SEGV), NAME(PTL_AC_INDEX_INVALID), NAME(PTL_EQ_INVALID),
		NAME(PTL_HANDLE_INVALID), NAME(PTL_IFACE_INVALID), NAME(PTL_MD_INVALID),
		NAME(PTL_ME_INVALID), NAME(PTL_NI_INVALID), NAME(PTL_PID_INVALID),
		NAME(PTL_PROCESS_INVALID), NAME(PTL_PT_INDEX_INVALID),
		NAME(PTL_SR_INDEX_INVALID), NAME(PTL_MD_ILLEGAL), NAME(PTL_MD_IN_USE),
		NAME(PTL_MD_NO_UPDATE), NAME(PTL_ME_IN_USE), NAME(PTL_ME_LIST_TOO_LONG),
		NAME(PTL_PT_FULL), NAME(PTL_EQ_EMPTY), NAME(PTL_EQ_DROPPED),
	};

	if (error < 0 || error >= (int)(sizeof(names) / sizeof(names[0])))
		return "not a Portals result";
	return names[error];
}

const char *PtlEventKindStr(ptl_event_kind_t kind)
{
	static const char *const names[] = {
		NAME(PTL_EVENT_GET_START), NAME(PTL_EVENT_GET_END),
		NAME(PTL_EVENT_PUT_START), NAME(PTL_EVENT_PUT_END),
		NAME(PTL_EVENT_GETPUT_START), NAME(PTL_EVENT_GETPUT_END),
		NAME(PTL_EVENT_REPLY_START), NAME(PTL_EVENT_REPLY_END),
		NAME(PTL_EVENT_SEND_START), NAME(PTL_EVENT_SEND_END),
		NAME(PTL_EVENT_ACK), NAME(PTL_EVENT_UNLINK),
#undef NAME
	};

	if ((unsigned int)kind >= sizeof(names) / sizeof(names[0]))
		return "not a Portals event";
	return names[kind];
}

int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance)
{
	(void)ni, (void)process, (void)distance;
	return PTL_FAIL;
}

int PtlNIBarrier(ptl_handle_ni_t ni)
{
	(void)ni;
	return PTL_FAIL;
}

int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		   ptl_unlink_t unlink, ptl_handle_me_t *me)
{
	(void)ni, (void)pt_index, (void)match_id, (void)match_bits, (void)ignore_bits;
	(void)unlink, (void)me;
	return PTL_FAIL;
}

int PtlMDInsert(ptl_handle_md_t base, ptl_md_t md, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_md_t *handle)
{
	(void)base, (void)md, (void)unlink, (void)position, (void)handle;
	return PTL_FAIL;
}

int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t test_eq)
{
	(void)md, (void)old_md, (void)new_md, (void)test_eq;
	return PTL_FAIL;
}

int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
	       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index)
{
	(void)ni, (void)ac_index, (void)match_id, (void)uid, (void)jid, (void)pt_index;
	return PTL_FAIL;
}

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
		 ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	(void)md, (void)local_offset, (void)length, (void)ack_req, (void)target;
	(void)pt_index, (void)ac_index, (void)match_bits, (void)remote_offset, (void)hdr_data;
	return PTL_FAIL;
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	(void)md, (void)local_offset, (void)length, (void)target;
	(void)pt_index, (void)ac_index, (void)match_bits, (void)remote_offset;
	return PTL_FAIL;
}

int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	      ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	(void)get_md, (void)put_md, (void)target, (void)pt_index, (void)ac_index;
	(void)match_bits, (void)remote_offset, (void)hdr_data;
	return PTL_FAIL;
}
