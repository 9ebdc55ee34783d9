/*
 * ptl_float: atomic operations on floating-point numbers (rule 36), with unusual processor modes:
 * other rounding, unmasked exceptions, flushed denormals. Rank 0 sends while rank 1 computes with
 * values in every register, and neither may be affected: the kernel calculates with its own state.
 * Prints "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"
#include "upcall_regs.h"
#include <margay/abi.h>

enum { COUNTER = 0, ELEMENT = 64 };      /* offsets at the target */
#define F PTL_FLOAT
#define D PTL_DOUBLE

/* Old value, operand, new value, as bits. */
struct calculation {
	ptl_op_t operation;
	ptl_datatype_t type;
	uint64_t old, operand, wanted;
};

static const struct calculation calculations[] = {
	{ PTL_SUM, F, 0x3f800000, 0x40000000, 0x40400000 },     /* 1 + 2 */
	{ PTL_SUM, F, 0x3f800000, 0x33800000, 0x3f800000 },     /* a tie, to even */
	{ PTL_SUM, F, 0x3f800000, 0x33800001, 0x3f800001 },
	{ PTL_SUM, F, 0xbf800000, 0xb3800000, 0xbf800000 },     /* the same below 0 */
	{ PTL_SUM, F, 1, 1, 2 },                                /* denormals */
	{ PTL_SUM, F, 0x7f7fffff, 0x7f7fffff, 0x7f800000 },     /* overflow */
	{ PTL_SUM, F, 0x7f800000, 0xff800000, 0xffc00000 },     /* invalid */
	{ PTL_SUM, F, 0x7f800001, 0x3f800000, 0x7f800001 },     /* a NaN that signals */
	{ PTL_PROD, F, 0x40000000, 0x40400000, 0x40c00000 },
	{ PTL_PROD, F, 0x00800000, 0x3f000000, 0x00400000 },    /* underflow */
	{ PTL_PROD, F, 0x3f800001, 0x3f800001, 0x3f800002 },    /* inexact */
	{ PTL_MIN, F, 0x40000000, 0xbf800000, 0xbf800000 },
	{ PTL_MIN, F, 0x40000000, 0x7f800001, 0x40000000 },
	{ PTL_MIN, F, 2, 1, 1 },
	{ PTL_MAX, F, 0x40000000, 0x40400000, 0x40400000 },
	{ PTL_LOR, F, 0, 1, 0x3f800000 }, { PTL_LAND, F, 1, 0x80000000, 0 },
	{ PTL_LXOR, F, 1, 0x7fc00000, 0 },
	{ PTL_CSWAP, F, 0, 0x80000000, 0 },
	{ PTL_SUM, D, 0x3ff0000000000000, 0x3ca0000000000000, 0x3ff0000000000000 },
	{ PTL_SUM, D, 0x3ff0000000000000, 0x3ca0000000000001, 0x3ff0000000000001 },
	{ PTL_SUM, D, 0x7fefffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000000 },
	{ PTL_PROD, D, 0x0010000000000000, 0x3fe0000000000000, 0x0008000000000000 },
	{ PTL_PROD, D, 0, 0xfff0000000000000, 0xfff8000000000000 },
	{ PTL_MIN, D, 0x4000000000000000, 0x8000000000000001, 0x8000000000000001 },
	{ PTL_MAX, D, 0x4000000000000000, 0x4008000000000000, 0x4008000000000000 },
	{ PTL_LAND, D, 1, 0x7ff8000000000000, 0x3ff0000000000000 },
	{ PTL_PROD, PTL_INT8_T, 0x81, 3, 0x83 }, { PTL_PROD, PTL_UINT32_T, 0x10001, 0x10001, 0x20001 },
	{ PTL_LOR, PTL_INT64_T, 0, 1ULL << 63, 1 }, { PTL_LAND, PTL_UINT16_T, 8, 7, 1 },
	{ PTL_LXOR, PTL_INT32_T, 8, 7, 0 },
};

enum { CALCULATIONS = sizeof calculations / sizeof calculations[0] };

/* All exceptions unmasked; the same with rounding up, down, towards zero; flushing, masked and
 * unmasked. */
static const uint32_t modes[] = { 0x0000, 0x4000, 0x2000, 0x6000, 0x9fc0, 0x8040, 0xffc0, 0x1f80 };

enum { MODES = sizeof modes / sizeof modes[0] };

static struct roles roles;

static void fill(struct registers *in, uint32_t mxcsr)
{
	uint64_t value = 0x9e3779b97f4a7c15;

	memset(in, 0, sizeof *in);
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 4; j++)
			in->vectors[i][j] = value *= 0x2545f4914f6cdd1d;
	for (int i = 0; i < 8; i++)
		in->x87[i] = i * 1.5 - 3;
	in->mxcsr = mxcsr;
	in->control = 0xf7f;
}

static void compare(const struct registers *in, const struct registers *out)
{
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 2; j++)
			EQUAL(out->vectors[i][j], in->vectors[i][j]);
	for (int i = 0; i < 8; i++)
		CHECK(out->x87[i] == in->x87[i]);
	EQUAL(out->mxcsr, in->mxcsr);
	EQUAL(out->control, in->control);
}

/* Start one operation in this processor mode. */
static void start(struct roles *r, ptl_handle_md_t md, const struct calculation *c, uint32_t mxcsr)
{
	static struct registers in, out;
	struct margay_operation operation = {
		.md = md, .length = c->type == D || c->type == PTL_INT64_T ? 8 : c->type == F ? 4 :
		          1u << c->type / 2,
		.target_nid = r->to.nid, .target_pid = r->to.pid, .pt_index = PT, .ack = PTL_NO_ACK_REQ,
		.operation = c->operation, .datatype = c->type, .match_bits = 1, .remote_offset = ELEMENT,
	};

	fill(&in, mxcsr);
	in.general[0] = SYS_ATOMIC;
	in.general[5] = (uint64_t)&operation;
	registers_call(&in, &out);
	EQUAL(out.general[0], PTL_OK);
	compare(&in, &out);
}

/* All calculations in this mode of the initiator's processor. */
static void calculate(struct roles *r, uint32_t mxcsr)
{
	static uint64_t got;
	ptl_handle_md_t md, fetch;

	EQUAL(PtlMDBind(r->job.ni, memory(r->out, 64, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &md), PTL_OK);
	EQUAL(PtlMDBind(r->job.ni, memory(&got, 8, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN, &fetch),
	      PTL_OK);
	for (int i = 0; i < CALCULATIONS; i++) {
		const struct calculation *c = &calculations[i];

		memcpy(r->out, &c->old, 8);
		EQUAL(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, r->to, PT, 0, 1, ELEMENT, 0, PTL_SWAP,
		                PTL_UINT64_T), PTL_OK);
		memcpy(r->out, &c->operand, 8);
		start(r, md, c, mxcsr);
		EQUAL(PtlFetchAtomic(fetch, 0, md, 0, 8, r->to, PT, 0, 1, ELEMENT, 0, PTL_NOOP,
		                     PTL_DOUBLE), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_OK);
		if (got != c->wanted)
			fprintf(stderr, "calculation %d, mxcsr %x\n", i, mxcsr);
		EQUAL(got, c->wanted);
	}
	got = 1;
	EQUAL(PtlAtomic(fetch, 0, 8, PTL_NO_ACK_REQ, r->to, PT, 0, 1, COUNTER, 0, PTL_SUM,
	                PTL_UINT64_T), PTL_OK);
	expect(r->own, PTL_EVENT_SEND_END);
	EQUAL(PtlMDUnlink(md), PTL_OK);
	EQUAL(PtlMDUnlink(fetch), PTL_OK);
}

/* Each mode at the initiator and, in another order, at the target. */
static void case_modes(struct roles *r)
{
	static struct registers in, out;
	static uint64_t window[16];
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(window, sizeof window, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                            PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
		            PTL_RETAIN);
	for (int i = 0; i < MODES; i++) {
		sync_ranks(r);
		if (r->initiator) {
			calculate(r, modes[i]);
		} else if (r->target) {
			fill(&in, modes[(i + 1) % MODES]);
			registers_sse(&window[COUNTER], (uint64_t)i + 1, &in, &out);
			compare(&in, &out);
		}
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

int main(void)
{
	static const struct test_case cases[] = { { "modes", case_modes } };

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
