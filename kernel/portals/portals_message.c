/*
 * The system calls that start operations: they make the arguments of the engine's
 * initiator, and a transport does the rest (transport.h).
 */
#include <margay/abi.h>
#include <portals3.h>

#include "kernel/base/syscall.h"
#include "kernel/cpu/cpu.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/transport/transport.h"
#include "portals.h"

_Static_assert(PTL_NI_OK == NI_OK && PTL_NI_FAIL == NI_FAIL && PTL_NI_DROPPED == NI_DROPPED,
               "failure types are the public ones");

/* Unpacks MARGAY_TARGET and MARGAY_WHERE. */
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

/* The same from memory; false: PTL_SEGV. Copied once, so that the engine sees what was checked. */
static bool read_arguments(uint64_t address, struct initiator_args *args)
{
	const struct margay_operation *from = user_range(address, sizeof(*from), USER_READ);
	struct margay_operation in;

	if (!from)
		return false;
	in = *from;
	*args = (struct initiator_args){
		.md = in.md, .local_offset = in.local_offset,
		/* LENGTH_WHOLE is reserved for the kernel */
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

/* The arguments of PtlPutRegion: six of the call, and the rest from memory; false: PTL_SEGV. */
static bool region_arguments(uint64_t md, uint64_t offset, uint64_t length, uint64_t rest,
                             uint64_t target, uint64_t pt_index, struct initiator_args *args)
{
	const struct margay_put *from = user_range(rest, sizeof(*from), USER_READ);

	if (!from)
		return false;
	*args = arguments(md, target, MARGAY_WHERE((uint32_t)pt_index, from->ac_index),
	                  from->match_bits, from->remote_offset, from->hdr_data);
	args->local_offset = offset;
	/* LENGTH_WHOLE is reserved for the kernel */
	args->length = length - (length == LENGTH_WHOLE);
	return true;
}

static int64_t start(const struct initiator_args *args)
{
	return -transport_start(args);
}

/* The slow path of a put, which reads the arguments again: the fast path need not keep them. */
__attribute__((noinline))
static int64_t put_any(enum ack_req ack)
{
	const struct trap_frame *from = user_frame();
	struct initiator_args args = arguments(from->rdi, from->rsi, from->rdx, from->r10,
	                                       from->r8, from->r9);

	args.ack = ack;
	return start(&args);
}

/* The same for PtlPutRegion. */
__attribute__((noinline))
static int64_t put_any_region(enum ack_req ack)
{
	const struct trap_frame *from = user_frame();
	struct initiator_args args;

	if (!region_arguments(from->rdi, from->rsi, from->rdx, from->r10, from->r8, from->r9, &args))
		return PTL_SEGV;
	args.ack = ack;
	return start(&args);
}

/* A put over frames. */
__attribute__((noinline, flatten))
static int64_t put_far(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                       uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args =
		arguments(md, target, where, match_bits, remote_offset, hdr_data);

	return link_frames_fast_put(&args) ? PTL_OK : put_any(ACK_NO);
}

/*
 * PtlPut: the fast path first. Flattened: the whole path becomes one function, which
 * takes half the instructions of the calls from file to file. The way over frames is a function
 * of its own, so that this one fits into a page with the system call's entry (linker.ld), and
 * its arguments stay in registers.
 */
__attribute__((flatten, externally_visible)) /* entry.asm */
int64_t sys_put(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args;

	if (!transport_is_near((uint32_t)target))
		return put_far(md, target, where, match_bits, remote_offset, hdr_data);
	args = arguments(md, target, where, match_bits, remote_offset, hdr_data);
	return near_fast_put(own_view(), 0, &args) ? PTL_OK : put_any(ACK_NO);
}

int64_t sys_put_ack(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                    uint64_t remote_offset, uint64_t hdr_data)
{
	(void)md, (void)target, (void)where, (void)match_bits, (void)remote_offset, (void)hdr_data;
	return put_any(ACK_YES);
}

int64_t sys_get(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset)
{
	struct initiator_args args = arguments(md, target, where, match_bits, remote_offset, 0);

	args.operation = MESSAGE_GET;
	return start(&args);
}

__attribute__((noinline, flatten))
static int64_t put_far_region(uint64_t md, uint64_t offset, uint64_t length, uint64_t rest,
                              uint64_t target, uint64_t pt_index)
{
	struct initiator_args args;

	if (!region_arguments(md, offset, length, rest, target, pt_index, &args))
		return PTL_SEGV;
	return link_frames_fast_put(&args) ? PTL_OK : put_any_region(ACK_NO);
}

__attribute__((flatten)) /* as sys_put */
int64_t sys_put_region(uint64_t md, uint64_t offset, uint64_t length, uint64_t rest,
                       uint64_t target, uint64_t pt_index)
{
	struct initiator_args args;

	if (!transport_is_near((uint32_t)target))
		return put_far_region(md, offset, length, rest, target, pt_index);
	if (length > DELIVER_INLINE_BYTES) /* near_fast_put would refuse it */
		return put_any_region(ACK_NO);
	if (!region_arguments(md, offset, length, rest, target, pt_index, &args))
		return PTL_SEGV;
	return near_fast_put(own_view(), 0, &args) ? PTL_OK : put_any_region(ACK_NO);
}

int64_t sys_put_region_ack(uint64_t md, uint64_t offset, uint64_t length, uint64_t rest,
                           uint64_t target, uint64_t pt_index)
{
	(void)md, (void)offset, (void)length, (void)rest, (void)target, (void)pt_index;
	return put_any_region(ACK_YES);
}

int64_t sys_get_region(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_GET;
	return start(&args);
}

int64_t sys_atomic(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_ATOMIC;
	return start(&args);
}

int64_t sys_get_put(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_GETPUT;
	args.length = LENGTH_WHOLE;
	args.local_offset = 0;
	args.most = (uint64_t)this_process()->interface.granted.max_getput_md;
	return start(&args);
}

int64_t sys_fetch_atomic(uint64_t operation)
{
	struct initiator_args args;

	if (!read_arguments(operation, &args))
		return PTL_SEGV;
	args.operation = MESSAGE_FETCH_ATOMIC;
	return start(&args);
}
