/*
 * The system calls that start messages: put and get. The initiator's half runs
 * under the own block's lock, then the link carries the message to its target,
 * then the initiator's half is finished. All of it happens within the call: a
 * link that needed time would finish it in its interrupt.
 */
#include <margay/abi.h>
#include <portals3.h>

#include "../net/portals/initiator.h"
#include "../net/portals/md.h"
#include "link_shm.h"
#include "node.h"
#include "syscall.h"
#include "uaccess.h"

_Static_assert(PTL_NI_OK == NI_OK && PTL_NI_FAIL == NI_FAIL && PTL_NI_DROPPED == NI_DROPPED,
               "failure types are the public ones");

/* MARGAY_TARGET and MARGAY_WHERE, taken apart. */
static struct initiator_args arguments(uint64_t md, uint64_t target, uint64_t where,
                                       uint64_t match_bits, uint64_t remote_offset,
                                       uint64_t hdr_data)
{
	return (struct initiator_args){
		.md = md, .length = LENGTH_WHOLE,
		.target_nid = (uint32_t)target, .target_pid = (uint32_t)(target >> 32),
		.pt_index = where & 0xffff, .cookie = where >> 16 & 0xffff,
		.ack = where >> 32 & 1,
		.match_bits = match_bits, .remote_offset = remote_offset,
		.hdr_data = hdr_data,
	};
}

/* Flattened, as is sys_get: the whole path of a message becomes one function,
 * which takes a third less instructions than the calls from file to file. */
__attribute__((flatten))
int64_t sys_put(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args =
		arguments(md, target, where, match_bits, remote_offset, hdr_data);
	struct message message, answer;
	struct message unused;
	struct grant from, none;
	bool answered;
	int error, result;

	if (args.target_nid >= node.size)
		return PTL_PROCESS_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = initiator_put(&own_view, &args, &message, &from);
	link_unlock();
	if (error)
		return -error;

	result = link_put(&message, &from, &answered, &answer);
	if (result == DELIVER_DAMAGED)
		answered = message_refuse(&message, NI_FAIL, &answer);

	if (!link_lock())
		return PTL_FAIL;
	initiator_sent(&own_view, &message, &from,
	               result == DELIVER_DAMAGED ? NI_FAIL : NI_OK);
	if (answered) /* an ack is complete when it has begun */
		deliver_begin(&own_view, &answer, node.id, &none, &unused);
	else
		initiator_unanswered(&own_view, &message);
	link_unlock();
	return PTL_OK;
}

/* A reply writes into the descriptor: the application itself must be allowed to. */
static int reply_range(handle_t handle)
{
	const struct md *md = md_lookup(&own_view, handle);

	if (!md)
		return PORTALS_MD_INVALID;
	return user_range(md->user.start, md->user.length, USER_WRITE) ? 0 : PORTALS_SEGV;
}

__attribute__((flatten))
int64_t sys_get(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset)
{
	struct initiator_args args = arguments(md, target, where, match_bits, remote_offset, 0);
	struct message message, answer;
	int error;

	if (args.target_nid >= node.size)
		return PTL_PROCESS_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = reply_range(md);
	if (!error)
		error = initiator_get(&own_view, &args, &message);
	link_unlock();
	if (error)
		return -error;

	if (link_get(&message) && message_refuse(&message, NI_FAIL, &answer))
		link_deliver_answer(&answer);
	return link_is_broken() ? PTL_FAIL : PTL_OK; /* broken: no reply can be recorded */
}
