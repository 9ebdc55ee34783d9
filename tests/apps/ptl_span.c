/*
 * ptl_span: descriptors over more than the application's memory (rule 35): sends of read-only data,
 * offsets that are addresses, and forbidden bytes: text and read-only data for writes, the page
 * under the stack for all accesses. Prints "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"

enum { GUARD_BYTES = 4096 };

static const char constant[1000] = "read-only data of every process, at one address";
static struct roles roles;

/* The unmapped page below the stack. Found by calls that fail with PTL_SEGV, a page at a time
 * from here down. */
static char *guard_page(struct roles *r)
{
	char *page = (char *)((uintptr_t)__builtin_frame_address(0) & -(uintptr_t)GUARD_BYTES);
	ptl_handle_md_t md;

	for (;; page -= GUARD_BYTES) {
		int rc = PtlMDBind(r->job.ni, memory(page, 1, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &md);

		if (rc == PTL_SEGV)
			return page;
		EQUAL(rc, PTL_OK);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
}

static ptl_handle_md_t everything(struct roles *r)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(NULL, UINT64_MAX, PTL_MD_THRESH_INF,
	                                  PTL_MD_SPAN | PTL_MD_EVENT_DROPPED, r->own),
	                PTL_RETAIN, &md), PTL_OK);
	return md;
}

static ptl_handle_me_t open_everything(struct roles *r)
{
	return attach(r, 1, 0, memory(NULL, UINT64_MAX, PTL_MD_THRESH_INF, PTL_MD_SPAN |
	                              PTL_MD_MANAGE_REMOTE | PTL_MD_OP_PUT | PTL_MD_OP_GET,
	                              PTL_EQ_NONE), PTL_RETAIN);
}

/* Put between the same addresses of both; returns how its ack ended. */
static ptl_ni_fail_t put_to(struct roles *r, ptl_handle_md_t md, const void *from, size_t bytes,
                            const void *at)
{
	ptl_event_t ack;

	EQUAL(PtlPutRegion(md, (uintptr_t)from, bytes, PTL_ACK_REQ, r->to, PT, 0, 1,
	                   (uintptr_t)at, 0), PTL_OK);
	expect(r->own, PTL_EVENT_SEND_END);
	ack = expect(r->own, PTL_EVENT_ACK);
	EQUAL(ack.mlength, ack.ni_fail_type == PTL_NI_OK ? bytes : 0);
	return ack.ni_fail_type;
}

static ptl_ni_fail_t get_from(struct roles *r, ptl_handle_md_t md, void *to, size_t bytes,
                              const void *at)
{
	EQUAL(PtlGetRegion(md, (uintptr_t)to, bytes, r->to, PT, 0, 1, (uintptr_t)at), PTL_OK);
	return expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type;
}

/* Addresses as offsets at both ends, short and long, including constants and the stack. */
static void case_addresses(struct roles *r)
{
	ptl_handle_me_t me = 0;

	if (r->target)
		me = open_everything(r);
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t md = everything(r);
		char on_stack[200];

		EQUAL(put_to(r, md, constant, 40, r->in), PTL_NI_OK);
		EQUAL(put_to(r, md, constant, sizeof constant, r->in + 100), PTL_NI_OK);
		EQUAL(put_to(r, md, r->out, 2000, r->in + 2000), PTL_NI_OK);
		EQUAL(get_from(r, md, on_stack, 30, constant), PTL_NI_OK);
		EQUAL(memcmp(on_stack, constant, 30), 0);
		memset(on_stack, 7, sizeof on_stack);
		EQUAL(get_from(r, md, on_stack, sizeof on_stack, constant), PTL_NI_OK);
		EQUAL(memcmp(on_stack, constant, sizeof on_stack), 0);
		EQUAL(put_to(r, md, on_stack, sizeof on_stack, r->in + 1500), PTL_NI_OK);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		EQUAL(memcmp(r->in, constant, 40), 0);
		EQUAL(memcmp(r->in + 100, constant, sizeof constant), 0);
		for (int i = 0; i < 2000; i++)
			EQUAL(r->in[2000 + i], pattern((size_t)i));
		EQUAL(memcmp(r->in + 1500, constant, 200), 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* Calls on bytes to which the application has no such access. */
static void case_calls(struct roles *r)
{
	ptl_handle_md_t md = everything(r);
	char *guard = guard_page(r);
	struct { const void *at; size_t bytes; int put, get; } cases[] = {
		{ constant, 10, PTL_OK, PTL_SEGV }, { (void *)everything, 10, PTL_OK, PTL_SEGV },
		{ guard, 8, PTL_SEGV, PTL_SEGV }, { guard + GUARD_BYTES - 1, 300, PTL_SEGV, PTL_SEGV },
		{ guard - 100, 101, PTL_SEGV, PTL_SEGV }, { guard - 100, 100, PTL_OK, PTL_OK },
		{ guard + GUARD_BYTES, 100, PTL_OK, PTL_OK }, { NULL, 1, PTL_SEGV, PTL_SEGV },
		{ (void *)-2, 1, PTL_SEGV, PTL_SEGV }, { NULL, UINT64_MAX - 1, PTL_SEGV, PTL_SEGV },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		ptl_size_t at = (uintptr_t)cases[i].at;

		EQUAL(PtlPutRegion(md, at, cases[i].bytes, PTL_NO_ACK_REQ, r->to, PT, 0, 99, 0, 0),
		      cases[i].put);
		if (cases[i].put == PTL_OK)
			expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(PtlGetRegion(md, at, cases[i].bytes, r->to, PT, 0, 99, 0), cases[i].get);
		if (cases[i].get == PTL_OK)
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_DROPPED);
	}
	EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 99, 0, 0), PTL_SEGV);
	EQUAL(PtlGet(md, r->to, PT, 0, 99, 0), PTL_SEGV);
	EQUAL(PtlMDUnlink(md), PTL_OK);
}

/* Requests for bytes to which the target's application has no such access. */
static void case_requests(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_sr_value_t dropped = status(r, PTL_SR_DROP_COUNT);
	char *guard = guard_page(r);

	if (r->target)
		me = open_everything(r);
	sync_ranks(r);
	if (r->initiator) { /* its own stack has the same address as the target's */
		ptl_handle_md_t md = everything(r);
		char *const at[] = { guard, guard - 4, guard + GUARD_BYTES - 4, NULL, (char *)-9 };

		for (int bytes = 8; bytes <= 800; bytes += 792) {
			for (int i = 0; i < 5; i++) {
				EQUAL(put_to(r, md, r->out, bytes, at[i]), PTL_NI_DROPPED);
				EQUAL(get_from(r, md, r->in, bytes, at[i]), PTL_NI_DROPPED);
			}
			EQUAL(put_to(r, md, r->out, bytes, constant + 8), PTL_NI_DROPPED);
			EQUAL(put_to(r, md, r->out, bytes, (void *)everything), PTL_NI_DROPPED);
			EQUAL(get_from(r, md, r->in, bytes, (void *)everything), PTL_NI_OK);
		}
		EQUAL(PtlAtomic(md, (uintptr_t)r->out, 8, PTL_ACK_REQ, r->to, PT, 0, 1,
		                (uintptr_t)constant, 0, PTL_SWAP, PTL_UINT64_T), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		EQUAL(status(r, PTL_SR_DROP_COUNT) - dropped, 25);
		EQUAL(strcmp(constant, "read-only data of every process, at one address"), 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

static void case_arguments(struct roles *r)
{
	ptl_md_iovec_t piece = { r->in, 8 };
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(&piece, 1, 1, PTL_MD_SPAN | PTL_MD_IOVEC, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	EQUAL(PtlMDBind(r->job.ni, memory((void *)2, UINT64_MAX, 1, PTL_MD_SPAN, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_SEGV);
	EQUAL(PtlMDBind(r->job.ni, memory(NULL, UINT64_MAX, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &md),
	      PTL_SEGV);
	EQUAL(PtlMDBind(r->job.ni, memory((void *)constant, 8, 1, PTL_MD_OP_PUT, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_SEGV);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "addresses", case_addresses }, { "calls", case_calls },
		{ "requests", case_requests }, { "arguments", case_arguments },
	};

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
