/*
 * The system calls that start operations. To a node that is near (link_shm.h) the
 * initiator's half runs under the own block's lock, then the link carries the
 * message to its target, then the initiator's half is finished, all within the
 * call. To others the message is queued (link_frames.h), and the rest happens when
 * frames arrive.
 */
#include <margay/abi.h>
#include <portals3.h>

#include "../net/portals/initiator.h"
#include "../net/portals/iovec.h"
#include "../net/portals/md.h"
#include "cpu.h"
#include "link_frames.h"
#include "link_shm.h"
#include "node.h"
#include "portals.h"
#include "syscall.h"
#include "uaccess.h"
#include "upcall.h"

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
		.pt_index = (uint32_t)where, .cookie = (uint32_t)(where >> 32),
		.match_bits = match_bits, .remote_offset = remote_offset,
		.hdr_data = hdr_data,
	};
}

/* The same from memory; false: PTL_SEGV. Copied once: the engine sees what was
 * checked. */
static bool read_arguments(uint64_t address, struct initiator_args *args)
{
	const struct margay_operation *from = user_range(address, sizeof(*from), USER_READ);
	struct margay_operation in;

	if (!from)
		return false;
	in = *from;
	*args = (struct initiator_args){
		.md = in.md, .local_offset = in.local_offset,
		/* a length that names all of a descriptor is not the application's to say */
		.length = in.length - (in.length == LENGTH_WHOLE),
		.target_nid = in.target_nid, .target_pid = in.target_pid,
		.pt_index = in.pt_index, .cookie = in.ac_index, .ack = in.ack == PTL_ACK_REQ,
		.atomic_operation = in.operation < UINT8_MAX ? (uint8_t)in.operation : UINT8_MAX,
		.datatype = in.datatype < UINT8_MAX ? (uint8_t)in.datatype : UINT8_MAX,
		.match_bits = in.match_bits, .remote_offset = in.remote_offset,
		.hdr_data = in.hdr_data, .put_md = in.put_md, .put_offset = in.put_offset,
	};
	return true;
}

/* To a node that is not near; `call` does all that put and the others do here. */
static int64_t far(link_frames_call *call, const struct initiator_args *args)
{
	return args->target_nid < node.size ? -link_frames_do(call, args) : PTL_PROCESS_INVALID;
}

/* A short message's payload is gathered from pieces, or fetched, by way of a
 * buffer; the own block's lock is held. */
static void count_detour(uint64_t bytes)
{
	own_view.block->started.counters[STAT_COPIED] += bytes;
}

static bool in_one_step(const struct message *message)
{
	return message->operation == MESSAGE_ATOMIC || link_is_short(message);
}

/* The initiator's half of a put, once its payload has left or cannot. */
static int64_t finish(const struct message *message, struct grant *from, int result,
                      bool answers, struct message *answer)
{
	bool failed = result == DELIVER_DAMAGED;
	struct message unused;
	struct grant none;

	if (failed)
		answers = message_refuse(message, NI_FAIL, answer);
	if (!link_lock())
		return PTL_FAIL;
	if (from->pieces && in_one_step(message))
		count_detour(from->bytes);
	initiator_sent(&own_view, message, from, failed ? NI_FAIL : NI_OK);
	if (answers) /* an ack is complete when it has begun */
		deliver_begin(&own_view, answer, node.id, &none, &unused);
	else
		initiator_unanswered(&own_view, message);
	link_unlock();
	upcall_look();
	return PTL_OK;
}

/* As put_locked, once it has started, for payload that is too long for one step. */
__attribute__((noinline, flatten))
static int64_t put_long(const struct message *message, struct grant *from)
{
	struct message answer;
	struct grant to;
	int result;

	to.answers = 0;
	result = link_put(message, from, &to, &answer);
	return finish(message, from, result, to.answers, &answer);
}

/* A put or an atomic operation; the own block's lock is held, and given back. */
static int64_t put_locked(const struct initiator_args *args)
{
	struct message message, answer;
	struct grant from, to;
	int error, result;

	to.answers = 0;
	error = initiator_put(&own_view, args, &message, &from);
	link_unlock();
	if (error)
		return -error;

	if (!in_one_step(&message)) { /* copies: the others' need no memory */
		struct message long_message = message;
		struct grant source = from;

		return put_long(&long_message, &source);
	}
	result = link_short(&message, &from, &to, &answer, 0);
	return finish(&message, &from, result, to.answers, &answer);
}

static int64_t put(const struct initiator_args *args)
{
	if (!link_is_near(args->target_nid))
		return far(frames_put, args);
	if (!link_lock())
		return PTL_FAIL;
	return put_locked(args);
}

/*
 * A reply writes into [offset, offset + length) of the descriptor, or all of it:
 * the application itself must be allowed to. What is no region of it, or no
 * descriptor, is found by the engine.
 */
static int reply_range(handle_t handle, uint64_t offset, uint64_t length)
{
	const struct md *md = md_lookup(&own_view, handle);
	struct span span;
	uint64_t end;

	if (!md)
		return PORTALS_MD_INVALID;
	if (length > md->room || offset > md->room - length)
		length = md->room, offset = 0;
	for (end = offset + length; offset < end; offset += span.bytes) {
		if (md_span(&own_view, md, offset, end - offset, &span))
			return PORTALS_FAIL;
		if (!user_range(APP_BASE + span.offset, span.bytes, USER_WRITE))
			return PORTALS_SEGV;
	}
	return PORTALS_OK;
}

/* What was fetched in one step arrives; the own block's lock is held. */
static void take_short(const struct message *message, int result, struct message *reply,
                       const uint8_t *fetched)
{
	struct message unused;
	struct grant grant;

	if (result == DELIVER_DAMAGED)
		message_refuse(message, NI_FAIL, reply);
	count(COUNTER_COPIED_BYTES, reply->mlength);
	count_detour(reply->mlength);
	deliver_inline(&own_view, reply, fetched, &grant, &unused, 0);
}

/* What fetches, to a node that is not near. */
static int64_t fetch_far(link_frames_call *call, const struct initiator_args *args)
{
	int error;

	if (args->target_nid >= node.size)
		return PTL_PROCESS_INVALID;
	error = reply_range(args->md, args->local_offset, args->length);
	return -(error ? error : link_frames_do(call, args));
}

static int64_t get(const struct initiator_args *args)
{
	struct message message, answer;
	uint8_t fetched[DELIVER_INLINE_BYTES];
	struct grant there;
	int error, result;

	if (!link_is_near(args->target_nid))
		return fetch_far(frames_get, args);
	if (!link_lock())
		return PTL_FAIL;
	error = reply_range(args->md, args->local_offset, args->length);
	if (!error)
		error = initiator_get(&own_view, args, &message);
	link_unlock();
	if (error)
		return -error;

	if (link_is_short(&message)) {
		result = link_short(&message, 0, &there, &answer, fetched);
		if (!link_lock())
			return PTL_FAIL;
		take_short(&message, result, &answer, fetched);
		link_unlock();
		upcall_look();
		return PTL_OK;
	}
	if (link_get(&message) && message_refuse(&message, NI_FAIL, &answer))
		link_deliver_answer(&answer);
	upcall_look();
	return link_is_broken() ? PTL_FAIL : PTL_OK; /* broken: no reply can be recorded */
}

/* Send and fetch. */
static int64_t exchange(const struct initiator_args *args)
{
	struct message message, answer;
	uint8_t fetched[DELIVER_INLINE_BYTES];
	struct grant from, to;
	int error, result;

	if (!link_is_near(args->target_nid))
		return fetch_far(frames_exchange, args);
	if (!link_lock())
		return PTL_FAIL;
	error = reply_range(args->md, args->local_offset, args->length);
	if (!error)
		error = initiator_exchange(&own_view, args, &message, &from);
	link_unlock();
	if (error)
		return -error;

	result = link_short(&message, &from, &to, &answer, fetched);
	if (!link_lock())
		return PTL_FAIL;
	if (from.pieces)
		count_detour(from.bytes);
	initiator_sent(&own_view, &message, &from, result == DELIVER_DAMAGED ? NI_FAIL : NI_OK);
	take_short(&message, result, &answer, fetched);
	link_unlock();
	upcall_look();
	return PTL_OK;
}

/* The arguments of this system call once more: so that who tries a quick way first
 * need not keep them. */
static struct initiator_args arguments_again(enum ack_req ack)
{
	const struct trap_frame *from = user_frame();
	struct initiator_args args = arguments(from->rdi, from->rsi, from->rdx, from->r10,
	                                       from->r8, from->r9);

	args.ack = ack;
	return args;
}

/* A put of another kind; the own block's lock is held until it is started. Flattened
 * as put_near is, for what is longer, or gives events or an ack. */
__attribute__((noinline, flatten))
static int64_t put_any(enum ack_req ack)
{
	struct initiator_args args = arguments_again(ack);

	return put_locked(&args);
}

/* The same to a node that is not near. */
__attribute__((noinline))
static int64_t put_far_any(enum ack_req ack)
{
	struct initiator_args args = arguments_again(ack);

	return far(frames_put, &args);
}

/* A short put that nobody hears of could not be delivered. */
__attribute__((noinline, cold))
static int64_t lost(uint64_t bytes)
{
	if (!link_lock())
		return PTL_FAIL;
	initiator_lost(&own_view, bytes);
	link_unlock();
	return PTL_OK;
}

/*
 * The plainest puts: entry.asm's sys_put jumps to one of these two. Flattened: the
 * whole path becomes one function, which takes half the instructions of the calls from
 * file to file. Gets and exchanges are not: each would be as large as these.
 */
int64_t put_near(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                 uint64_t remote_offset, uint64_t hdr_data);
int64_t put_far(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset, uint64_t hdr_data);

__attribute__((flatten))
int64_t put_near(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                 uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args =
		arguments(md, target, where, match_bits, remote_offset, hdr_data);
	struct message message, none;
	struct grant from, to;

	if (!link_lock())
		return PTL_FAIL;
	if (!initiator_brief(&own_view, &args, &message, &from))
		return put_any(ACK_NO);
	link_unlock();
	if (link_short(&message, &from, &to, &none, 0) == DELIVER_DAMAGED)
		return lost(from.bytes);
	upcall_look();
	return PTL_OK;
}

__attribute__((flatten))
int64_t put_far(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args =
		arguments(md, target, where, match_bits, remote_offset, hdr_data);

	if (link_frames_brief(&args))
		return PTL_OK;
	return put_far_any(ACK_NO);
}

int64_t sys_put_ack(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                    uint64_t remote_offset, uint64_t hdr_data)
{
	(void)md, (void)where, (void)match_bits, (void)remote_offset, (void)hdr_data;
	if (!link_is_near((uint32_t)target))
		return put_far_any(ACK_YES);
	if (!link_lock())
		return PTL_FAIL;
	return put_any(ACK_YES);
}

int64_t sys_get(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset)
{
	struct initiator_args args = arguments(md, target, where, match_bits, remote_offset, 0);

	return get(&args);
}

int64_t sys_put_region(uint64_t operation)
{
	struct initiator_args args;

	return read_arguments(operation, &args) ? put(&args) : PTL_SEGV;
}

int64_t sys_get_region(uint64_t operation)
{
	struct initiator_args args;

	return read_arguments(operation, &args) ? get(&args) : PTL_SEGV;
}

int64_t sys_atomic(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_ATOMIC;
	return put(&args);
}

int64_t sys_get_put(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_GETPUT;
	args.length = LENGTH_WHOLE;
	args.local_offset = 0;
	args.most = (uint64_t)portals_granted.max_getput_md;
	return exchange(&args);
}

int64_t sys_fetch_atomic(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_FETCH_ATOMIC;
	return exchange(&args);
}
