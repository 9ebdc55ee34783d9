/*
 * The calls that start messages, for the application; portals3.h has the
 * contracts. No data.
 */
#include "portals_calls.h"

#define INDEX_CLAMP      0xffffu        /* no portal and no access control entry */

/* Portal index, access control index and ack request as MARGAY_WHERE packs
 * them; what does not fit names nothing that exists. */
static inline unsigned long where(ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, int ack)
{
	if (pt_index > INDEX_CLAMP)
		pt_index = INDEX_CLAMP;
	if (ac_index > INDEX_CLAMP)
		ac_index = INDEX_CLAMP;
	return MARGAY_WHERE(pt_index, ac_index, ack == PTL_ACK_REQ);
}

int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	   ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	return glue_inits ? call6(SYS_PUT, md, MARGAY_TARGET(target.nid, target.pid),
			     where(pt_index, ac_index, ack_req), match_bits, remote_offset,
			     hdr_data) : PTL_NO_INIT;
}

int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	return glue_inits ? call5(SYS_GET, md, MARGAY_TARGET(target.nid, target.pid),
			     where(pt_index, ac_index, 0), match_bits, remote_offset)
		     : PTL_NO_INIT;
}
