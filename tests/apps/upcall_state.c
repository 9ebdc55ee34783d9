/*
 * Upcalls must not change the program's state: rank 0 puts, rank 1 (or rank 0 itself) computes with
 * values in every register, in the vector units, on the x87 stack and in the red zone, and its
 * handler overwrites what it can. One line per case.
 *
 *   upcall_state PUTS
 */
#include "ptl.h"
#include "upcall_regs.h"
#include <cpuid.h>
#include <errno.h>
#include <margay/abi.h>

static volatile uint64_t handled;
static _Thread_local int own = 4711;   /* addressed through FS */
static uint64_t puts_wanted;

/* Checks the state that a function may rely on, and changes all of it. */
static void handler(ptl_event_t *event)
{
	static volatile double sink = 2;
	uint64_t flags, stack = (uint64_t)__builtin_frame_address(0);
	uint32_t mxcsr;
	uint16_t control;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags));
	__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr), "=m"(control));
	EQUAL(flags & 0x400, 0);
	EQUAL(mxcsr & ~0x3fu, 0x1f80);
	EQUAL(control, 0x37f);
	EQUAL(stack % 16, 0);
	EQUAL(own, 4711);
	EQUAL(event->hdr_data, handled);
	errno = 99;
	sink = sink * 3.5 - 1 / sink;
	__asm__ volatile("fld1; fldpi; fldl2e; fldz; fstp %%st(0); fstp %%st(0); fstp %%st(0); "
	                 "fstp %%st(0)\n\t" EACH("pcmpeqd %%xmm\\i, %%xmm\\i")
	                 : : : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
	                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	handled++;
}

static void compare(const struct registers *in, const struct registers *out, int words)
{
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < words; j++)
			EQUAL(out->vectors[i][j], in->vectors[i][j]);
	for (int i = 0; i < 8; i++)
		CHECK(out->x87[i] == in->x87[i]);
	EQUAL(out->mxcsr, in->mxcsr);
	EQUAL(out->control, in->control);
}

static void compute(void (*routine)(const volatile uint64_t *, uint64_t, const struct registers *,
                                    struct registers *), int words)
{
	static struct registers in, out;

	fill_registers(&in);
	errno = 5;
	routine(&handled, puts_wanted, &in, &out);
	EQUAL(errno, 5);
	for (int i = 0; i < 16; i++)
		if (i < 4 || i == 6 || i > 7) /* all but rsi, rdi, rsp */
			EQUAL(out.general[i], in.general[i]);
	EQUAL(out.flags & 0x400, 0x400);
	compare(&in, &out, words);
	EQUAL(own, 4711);
}

static int has_avx(void)
{
	unsigned a, b, c = 0, d;

	__get_cpuid(1, &a, &b, &c, &d);
	return (c & bit_OSXSAVE) && (c & bit_AVX);
}

static void sse(void)
{
	compute(registers_sse, 2);
}

static void avx(void)
{
	if (has_avx())
		compute(registers_avx, 4);
	while (handled < puts_wanted)
		;
}

static void red_zone(void)
{
	EQUAL(red_zone_holds(&handled, puts_wanted), 0);
}

/* Puts to itself: the upcall runs at the end of the system call. */
static void calls(struct roles *r, ptl_handle_md_t md)
{
	static struct registers in, out;

	for (handled = 0; handled < puts_wanted;) {
		uint64_t before = handled;

		fill_registers(&in);
		in.general[0] = SYS_PUT;
		in.general[5] = md;
		in.general[4] = MARGAY_TARGET(margay_process(r->job.rank).nid,
		                              margay_process(r->job.rank).pid);
		in.general[3] = MARGAY_WHERE(PT, 0);
		in.general[10] = 1;        /* match bits */
		in.general[8] = 0;
		in.general[9] = before;    /* hdr_data */
		registers_call(&in, &out);
		EQUAL(out.general[0], PTL_OK);
		EQUAL(handled, before + 1);
		for (int i = 1; i < 16; i++)
			if (i != 2 && i != 7 && i != 11)   /* all but rcx, rsp, r11 */
				EQUAL(out.general[i], in.general[i]);
		compare(&in, &out, 2);
	}
}

/* The initiator's part of each case, with a window, so that no event is lost. */
static void send_all(struct roles *r, ptl_handle_md_t md)
{
	for (uint64_t i = 0; i < puts_wanted; i++)
		EQUAL(PtlPut(md, PTL_NOACK_REQ, r->to, PT, 0, 1, 0, i), PTL_OK);
}

int main(int argc, char **argv)
{
	static struct roles r;
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "sse", sse }, { "avx", avx }, { "red zone", red_zone },
	};
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	puts_wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	open_roles(&r);
	EQUAL(PtlEQAlloc(r.job.ni, puts_wanted + 1, handler, &eq), PTL_OK);
	me = attach(&r, 1, 0, memory(r.in, 8, PTL_MD_THRESH_INF,
	                             PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	EQUAL(PtlMDBind(r.job.ni, memory(r.out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN,
	                &md), PTL_OK);
	for (unsigned i = 0; r.job.size > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		handled = 0;
		sync_ranks(&r);
		if (r.initiator)
			send_all(&r, md);
		else if (r.target)
			cases[i].run();
		sync_ranks(&r);
		if (r.initiator)
			printf("ok %s\n", cases[i].name);
	}
	sync_ranks(&r);
	calls(&r, md);
	EQUAL(PtlMDUnlink(md), PTL_OK);
	EQUAL(PtlMEUnlink(me), PTL_OK);
	EQUAL(PtlEQFree(eq), PTL_OK);
	sync_ranks(&r);
	if (r.job.rank == 0)
		printf("ok calls\n");
	job_end(&r.job);
	return 0;
}
