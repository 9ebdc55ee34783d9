/*
 * The system calls that start operations: they make the arguments of the engine's
 * initiator, and a transport does the rest (transport.h).
 */
#include <margay/abi.h>
#include <portals3.h>

#include "cpu.h"
#include "portals.h"
#include "process.h"
#include "syscall.h"
#include "transport.h"
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

/* The region of a put, copied once. */
static bool read_region(uint64_t address, struct margay_region *region)
{
	const struct margay_region *from = user_range(address, sizeof(*from), USER_READ);

	if (!from)
		return false;
	*region = *from;
	/* a length that names all of a descriptor is not the application's to say */
	region->length -= region->length == LENGTH_WHOLE;
	return true;
}

static void set_region(struct initiator_args *args, const struct margay_region *region)
{
	args->md = region->md;
	args->local_offset = region->offset;
	args->length = region->length;
}

static int64_t start(const struct initiator_args *args)
{
	return -transport_start(args);
}

/* A put of any kind, by the arguments of this system call: the fast path need not keep
 * them. `region` was read from memory, or is null: all of the descriptor. */
__attribute__((noinline))
static int64_t put_any(const struct margay_region *region, enum ack_req ack)
{
	const struct trap_frame *from = user_frame();
	struct initiator_args args = arguments(from->rdi, from->rsi, from->rdx, from->r10,
	                                       from->r8, from->r9);

	if (region)
		set_region(&args, region);
	args.ack = ack;
	return start(&args);
}

/*
 * PtlPut: the fast path first. Flattened: the whole path becomes one function, which
 * takes half the instructions of the calls from file to file.
 */
__attribute__((flatten))
int64_t sys_put(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset, uint64_t hdr_data)
{
	struct initiator_args args =
		arguments(md, target, where, match_bits, remote_offset, hdr_data);

	return transport_brief(&args) ? PTL_OK : put_any(0, ACK_NO);
}

int64_t sys_put_ack(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                    uint64_t remote_offset, uint64_t hdr_data)
{
	(void)md, (void)target, (void)where, (void)match_bits, (void)remote_offset, (void)hdr_data;
	return put_any(0, ACK_YES);
}

int64_t sys_get(uint64_t md, uint64_t target, uint64_t where, uint64_t match_bits,
                uint64_t remote_offset)
{
	struct initiator_args args = arguments(md, target, where, match_bits, remote_offset, 0);

	args.operation = MESSAGE_GET;
	return start(&args);
}

__attribute__((flatten)) /* as sys_put */
int64_t sys_put_region(uint64_t address, uint64_t target, uint64_t where, uint64_t match_bits,
                       uint64_t remote_offset, uint64_t hdr_data)
{
	struct margay_region region;
	struct initiator_args args;

	if (!read_region(address, &region))
		return PTL_SEGV;
	args = arguments(0, target, where, match_bits, remote_offset, hdr_data);
	set_region(&args, &region);
	return transport_brief(&args) ? PTL_OK : put_any(&region, ACK_NO);
}

int64_t sys_put_region_ack(uint64_t address, uint64_t target, uint64_t where,
                           uint64_t match_bits, uint64_t remote_offset, uint64_t hdr_data)
{
	struct margay_region region;

	(void)target, (void)where, (void)match_bits, (void)remote_offset, (void)hdr_data;
	return read_region(address, &region) ? put_any(&region, ACK_YES) : PTL_SEGV;
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
