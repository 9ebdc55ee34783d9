/*
 * The engine's constants and layouts are those of include/portals3.h, which the
 * engine may not include.
 */
#include <portals3.h>
#include <stddef.h>
#include "../../net/portals/block.h"
#include "../../net/portals/types.h"
#include "../../libc-glue/eq_reader.h"
#include "check.h"

TEST(abi_results)
{
	CHECK_IS(PTL_OK, -PORTALS_OK);
	CHECK_IS(PTL_FAIL, -PORTALS_FAIL);
	CHECK_IS(PTL_NO_INIT, -PORTALS_NO_INIT);
	CHECK_IS(PTL_NO_SPACE, -PORTALS_NO_SPACE);
	CHECK_IS(PTL_SEGV, -PORTALS_SEGV);
	CHECK_IS(PTL_AC_INDEX_INVALID, -PORTALS_AC_INDEX_INVALID);
	CHECK_IS(PTL_EQ_INVALID, -PORTALS_EQ_INVALID);
	CHECK_IS(PTL_HANDLE_INVALID, -PORTALS_HANDLE_INVALID);
	CHECK_IS(PTL_IFACE_INVALID, -PORTALS_IFACE_INVALID);
	CHECK_IS(PTL_MD_INVALID, -PORTALS_MD_INVALID);
	CHECK_IS(PTL_ME_INVALID, -PORTALS_ME_INVALID);
	CHECK_IS(PTL_NI_INVALID, -PORTALS_NI_INVALID);
	CHECK_IS(PTL_PID_INVALID, -PORTALS_PID_INVALID);
	CHECK_IS(PTL_PROCESS_INVALID, -PORTALS_PROCESS_INVALID);
	CHECK_IS(PTL_PT_INDEX_INVALID, -PORTALS_PT_INDEX_INVALID);
	CHECK_IS(PTL_SR_INDEX_INVALID, -PORTALS_SR_INDEX_INVALID);
	CHECK_IS(PTL_MD_ILLEGAL, -PORTALS_MD_ILLEGAL);
	CHECK_IS(PTL_MD_IN_USE, -PORTALS_MD_IN_USE);
	CHECK_IS(PTL_MD_NO_UPDATE, -PORTALS_MD_NO_UPDATE);
	CHECK_IS(PTL_ME_IN_USE, -PORTALS_ME_IN_USE);
	CHECK_IS(PTL_ME_LIST_TOO_LONG, -PORTALS_ME_LIST_TOO_LONG);
	CHECK_IS(PTL_PT_FULL, -PORTALS_PT_FULL);
	CHECK_IS(PTL_EQ_EMPTY, -PORTALS_EQ_EMPTY);
	CHECK_IS(PTL_EQ_DROPPED, -PORTALS_EQ_DROPPED);
}

TEST(abi_constants)
{
	CHECK_IS(PTL_MD_OP_PUT, MD_OP_PUT);
	CHECK_IS(PTL_MD_OP_GET, MD_OP_GET);
	CHECK_IS(PTL_MD_MANAGE_REMOTE, MD_MANAGE_REMOTE);
	CHECK_IS(PTL_MD_TRUNCATE, MD_TRUNCATE);
	CHECK_IS(PTL_MD_ACK_DISABLE, MD_ACK_DISABLE);
	CHECK_IS(PTL_MD_IOVEC, MD_IOVEC);
	CHECK_IS(PTL_MD_MAX_SIZE, MD_MAX_SIZE);
	CHECK_IS(PTL_MD_EVENT_START_DISABLE, MD_EVENT_START_DISABLE);
	CHECK_IS(PTL_MD_EVENT_END_DISABLE, MD_EVENT_END_DISABLE);
	CHECK_IS(PTL_MD_THRESH_INF, MD_THRESH_INF);
	CHECK_IS(PTL_UNLINK, UNLINK_AUTO);
	CHECK_IS(PTL_RETAIN, UNLINK_NEVER);
	CHECK_IS(PTL_INS_BEFORE, INSERT_BEFORE);
	CHECK_IS(PTL_INS_AFTER, INSERT_AFTER);
	CHECK_IS(PTL_ACK_REQ, ACK_YES);
	CHECK_IS(PTL_NO_ACK_REQ, ACK_NO);
	CHECK_IS(PTL_NI_OK, NI_OK);
	CHECK_IS(PTL_NI_FAIL, NI_FAIL);
	CHECK_IS(PTL_NI_DROPPED, NI_DROPPED);
	CHECK_IS(PTL_EQ_NONE, EQ_NONE);
	CHECK_IS(PTL_NID_ANY, ANY_ID);
	CHECK_IS(PTL_PID_ANY, ANY_ID);
	CHECK_IS(PTL_UID_ANY, ANY_ID);
	CHECK_IS(PTL_JID_ANY, ANY_ID);
	CHECK_IS(PTL_PT_INDEX_ANY, ANY_ID);
	CHECK_IS(PTL_JID_NONE, JID_SYSTEM);
}

TEST(abi_events)
{
	CHECK_IS(PTL_EVENT_GET_START, EVENT_GET_START);
	CHECK_IS(PTL_EVENT_GET_END, EVENT_GET_END);
	CHECK_IS(PTL_EVENT_PUT_START, EVENT_PUT_START);
	CHECK_IS(PTL_EVENT_PUT_END, EVENT_PUT_END);
	CHECK_IS(PTL_EVENT_GETPUT_START, EVENT_GETPUT_START);
	CHECK_IS(PTL_EVENT_GETPUT_END, EVENT_GETPUT_END);
	CHECK_IS(PTL_EVENT_REPLY_START, EVENT_REPLY_START);
	CHECK_IS(PTL_EVENT_REPLY_END, EVENT_REPLY_END);
	CHECK_IS(PTL_EVENT_SEND_START, EVENT_SEND_START);
	CHECK_IS(PTL_EVENT_SEND_END, EVENT_SEND_END);
	CHECK_IS(PTL_EVENT_ACK, EVENT_ACK);
	CHECK_IS(PTL_EVENT_UNLINK, EVENT_UNLINK);
	CHECK_IS(EVENT_SLOT_WORDS * 8, EVENT_SLOT_BYTES);
	CHECK(EVENT_WRITING_FLAG == EVENT_WRITING);
}

TEST(abi_registers)
{
	CHECK_IS(PTL_SR_DROP_COUNT, STAT_DROPPED);
	CHECK_IS(PTL_SR_MESSAGES_IN, STAT_MESSAGES_IN);
	CHECK_IS(PTL_SR_MESSAGES_OUT, STAT_MESSAGES_OUT);
	CHECK_IS(PTL_SR_BYTES_IN, STAT_BYTES_IN);
	CHECK_IS(PTL_SR_BYTES_OUT, STAT_BYTES_OUT);
	CHECK_IS(PTL_SR_COPIED, STAT_COPIED);
	CHECK_IS(PTL_SR_BUSY, STAT_BUSY);
	CHECK_IS(PTL_SR_FAILED, STAT_FAILED);
	CHECK_IS(PTL_SR_ME_USED, STAT_ME_USED);
	CHECK_IS(PTL_SR_OP_HIGH, STAT_OP_HIGH);
	CHECK_IS(PTL_SR_NID, STAT_NID);
	CHECK_IS(PTL_SR_JID, STAT_JID);
	CHECK_IS(PTL_SR_PIECE_USED, STAT_PIECE_USED);
	CHECK_IS(PTL_SR_PIECE_HIGH, STAT_PIECE_HIGH);
	CHECK_IS(PTL_SR_COUNT, STAT_COUNT);
}

#define SAME(type, field, other, path) \
	CHECK_IS(offsetof(type, field), offsetof(other, path)); \
	CHECK_IS(sizeof(((type *)0)->field), sizeof(((other *)0)->path))

TEST(abi_layouts)
{
	CHECK_IS(sizeof(ptl_md_t), sizeof(struct md_args));
	SAME(ptl_md_t, start, struct md_args, start);
	SAME(ptl_md_t, length, struct md_args, length);
	SAME(ptl_md_t, threshold, struct md_args, threshold);
	SAME(ptl_md_t, max_size, struct md_args, max_size);
	SAME(ptl_md_t, options, struct md_args, options);
	SAME(ptl_md_t, user_ptr, struct md_args, user_ptr);
	SAME(ptl_md_t, eq_handle, struct md_args, eq_handle);
	CHECK_IS(sizeof(ptl_event_t), sizeof(struct event));
	SAME(ptl_event_t, type, struct event, head.type);
	SAME(ptl_event_t, initiator.nid, struct event, head.nid);
	SAME(ptl_event_t, initiator.pid, struct event, head.pid);
	SAME(ptl_event_t, uid, struct event, head.uid);
	SAME(ptl_event_t, jid, struct event, head.jid);
	SAME(ptl_event_t, pt_index, struct event, head.pt_index);
	SAME(ptl_event_t, match_bits, struct event, head.match_bits);
	SAME(ptl_event_t, rlength, struct event, head.rlength);
	SAME(ptl_event_t, mlength, struct event, head.mlength);
	SAME(ptl_event_t, offset, struct event, head.offset);
	SAME(ptl_event_t, md_handle, struct event, head.md_handle);
	SAME(ptl_event_t, md, struct event, md);
	SAME(ptl_event_t, hdr_data, struct event, hdr_data);
	SAME(ptl_event_t, link, struct event, link);
	SAME(ptl_event_t, ni_fail_type, struct event, fail);
	SAME(ptl_event_t, sequence, struct event, sequence);
}
