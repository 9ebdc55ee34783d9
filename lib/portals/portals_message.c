/*
 * The calls that start messages, for the application; portals3.h has the
 * contracts. No data.
 */
#include "portals_calls.h"

int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	   ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	unsigned long number = ack_req == PTL_ACK_REQ ? SYS_PUT_ACK : SYS_PUT;

	return portals_inits ? call6(number, md, MARGAY_TARGET(target.nid, target.pid),
			     MARGAY_WHERE(pt_index, ac_index), match_bits, remote_offset,
			     hdr_data) : PTL_NO_INIT;
}

int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	return portals_inits ? call5(SYS_GET, md, MARGAY_TARGET(target.nid, target.pid),
			     MARGAY_WHERE(pt_index, ac_index), match_bits, remote_offset)
		     : PTL_NO_INIT;
}

/*
 * int PtlPutRegion(md, local_offset, length, ack_req, target, pt_index, ac_index, match_bits,
 * ...): in assembly, so that the kernel reads the arguments where the caller put them on the stack,
 * as a struct margay_put. The others are in the system call's registers, except ack_req: it selects
 * the call, and the address of the struct takes its register.
 */
__asm__(".section .text.PtlPutRegion,\"ax\"\n"
	".globl PtlPutRegion\n"
	".type PtlPutRegion, @function\n"
	"PtlPutRegion:\n"
	"	cmpl $0, portals_inits(%rip)\n"
	"	je no_init\n"
	"	cmpl $1, %ecx\n" /* carry: PTL_ACK_REQ */
	"	movl put_region_number(%rip), %eax\n"
	"	adcl $0, %eax\n"
	"	leaq 8(%rsp), %r10\n"
	"	syscall\n"
	"	ret\n"
	".size PtlPutRegion, . - PtlPutRegion\n"
	".previous\n");

static const uint32_t put_region_number __attribute__((used)) = SYS_PUT_REGION;
_Static_assert(PTL_ACK_REQ == 0 && SYS_PUT_REGION_ACK == SYS_PUT_REGION + 1, "PtlPutRegion");

__attribute__((used))
static int no_init(void)
{
	return PTL_NO_INIT;
}

/* ---- with a struct of arguments ---- */

/* The fields that all of them have; each adds its own. */
#define OPERATION(to, pt, ac, bits, offset) \
	.target_nid = (to).nid, .target_pid = (to).pid, .pt_index = (pt), .ac_index = (ac), \
	.match_bits = (bits), .remote_offset = (offset)

static int start(unsigned long number, const struct margay_operation *operation)
{
	return portals_inits ? call3(number, (unsigned long)operation, 0, 0) : PTL_NO_INIT;
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	const struct margay_operation operation = {
		OPERATION(target, pt_index, ac_index, match_bits, remote_offset),
		.md = md, .local_offset = local_offset, .length = length,
	};

	return start(SYS_GET_REGION, &operation);
}

int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	      ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	const struct margay_operation operation = {
		OPERATION(target, pt_index, ac_index, match_bits, remote_offset),
		.md = get_md, .put_md = put_md, .hdr_data = hdr_data,
	};

	return start(SYS_GET_PUT, &operation);
}

int PtlAtomic(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
	      ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
	      ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype)
{
	const struct margay_operation atomic = {
		OPERATION(target, pt_index, ac_index, match_bits, remote_offset),
		.md = md, .local_offset = local_offset, .length = length, .ack = ack_req,
		.hdr_data = hdr_data, .operation = operation, .datatype = datatype,
	};

	return start(SYS_ATOMIC, &atomic);
}

int PtlFetchAtomic(ptl_handle_md_t get_md, ptl_size_t local_get_offset,
		   ptl_handle_md_t put_md, ptl_size_t local_put_offset, ptl_size_t length,
		   ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		   ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		   ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype)
{
	const struct margay_operation atomic = {
		OPERATION(target, pt_index, ac_index, match_bits, remote_offset),
		.md = get_md, .local_offset = local_get_offset, .length = length,
		.put_md = put_md, .put_offset = local_put_offset, .hdr_data = hdr_data,
		.operation = operation, .datatype = datatype,
	};

	return start(SYS_FETCH_ATOMIC, &atomic);
}
