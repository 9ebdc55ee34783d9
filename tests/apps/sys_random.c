/*
 * sys_random SEED CALLS: system calls of the Portals group with random arguments, without the C
 * library: live and stale handles, valid and invalid addresses, structs of random fields. The
 * kernel must refuse each or carry it out; afterwards all objects can be removed, memory outside
 * the arena is unchanged, and a put to this process arrives. Prints how many calls of each kind
 * succeeded, then "whole".
 */
#include <margay.h>
#include <margay/abi.h>
#include <string.h>
#include "check.h"

/* What begins below INSIDE ends in the arena: descriptors and results have at most 4,096 bytes, or
 * more than all memory. */
enum { ARENA = 1 << 16, INSIDE = ARENA - 4096, KNOWN = 64 };
enum { ME = 2, MD, EQ };          /* kinds of handles, in bits 16 to 19 */

static struct { uint64_t before[64]; uint8_t arena[ARENA]; uint64_t after[64]; } memory;
static uint64_t known[KNOWN];      /* handles that calls have returned */
static uint64_t state;
static ptl_handle_ni_t ni;
static uint64_t index_word[2];     /* shared by all queues, which are not read */

static long call(long number, const uint64_t *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]),
	                 "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}

static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* A word that might be any kind of argument. */
static uint64_t word(void)
{
	static const uint64_t edges[] = { 0, 1, ~0ULL, ~0U, 1ULL << 63, 1ULL << 32, APP_BASE,
		APP_EVENTS, APP_BASE - 1, 0xffff800000000000, 63, 64, 65, 255, 256, 4096, 0x7fffffff };
	uint64_t random = next();

	switch (random % 8) {
	case 0: return edges[random / 8 % (sizeof edges / sizeof edges[0])];
	case 1: return random / 8 % 16;
	case 2: return known[random / 8 % KNOWN] ^ (random >> 40 & 1) << (random >> 50 & 63);
	case 3: return (uint64_t)memory.arena + random / 8 % INSIDE;
	case 4: return ni;
	default: return known[random / 8 % KNOWN];
	}
}

/* Mostly a handle of this kind that a call has returned. */
static uint64_t handle(unsigned kind)
{
	for (unsigned tries = 0; tries < 200; tries++) {
		uint64_t one = known[next() % KNOWN];

		if ((one >> 16 & 15) == kind)
			return tries ? one : word();
	}
	return word();
}

static uint64_t address(void)
{
	uint64_t random = next();

	return random % 16 ? (uint64_t)memory.arena + random / 16 % INSIDE / 8 * 8 : word();
}

/* A descriptor, or random bytes. */
static void descriptor(ptl_md_t *md)
{
	*md = (ptl_md_t){ .start = (void *)address(), .length = next() % 300,
	                  .threshold = (int)(next() % 5) - 1, .max_size = next() % 64,
	                  .options = next() & (next() % 4 ? 0x3ff : 0x7ff), .user_ptr = (void *)word(),
	                  .eq_handle = next() % 3 ? PTL_EQ_NONE : handle(EQ) };
	if (md->options & PTL_MD_IOVEC) {
		md->length = next() % 4 ? next() % 8 : word();
		if (next() % 8)
			md->start = (void *)(memory.arena + next() % 128 * 64);
		for (int i = 0; i < 8; i++)
			((uint64_t *)memory.arena)[next() % (ARENA / 8)] = next() % 2 ? address() : next() % 99;
	}
	if (next() % 8 == 0)
		((uint64_t *)md)[next() % (sizeof *md / 8)] = word();
}

static void fill(void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)to)[i] = word();
}

static void operation(struct margay_operation *o)
{
	fill(o, sizeof *o);
	if (next() % 4) {
		o->md = handle(MD);
		o->put_md = handle(MD);
		o->local_offset = next() % 16;
		o->put_offset = next() % 16;
		o->length = next() % 9 * 8;
		o->target_nid = margay_process(0).nid;
		o->target_pid = margay_process(0).pid;
		o->pt_index = next() % 4;
		o->ac_index = next() % 3;
		o->operation = next() % 14;
		o->datatype = next() % 11;
		o->match_bits = next() % 4;
	}
}

/* Makes the arguments of one call; false: skip this call. */
static int arguments(long number, uint64_t *a)
{
	static struct margay_me_args me;
	static struct margay_post post;
	static struct margay_ac_args ac;
	static struct margay_operation op;
	static struct margay_put put;
	static ptl_md_t md;

	fill(a, 6 * sizeof *a);
	switch (number) {
	case SYS_ME_ATTACH: case SYS_ME_INSERT: case SYS_ME_ATTACH_ANY:
		fill(&me, sizeof me);
		me.base = number == SYS_ME_INSERT ? handle(ME) : ni;
		me.pt_index = next() % 5;
		me.match_bits = next() % 4;
		me.ignore_bits = next() % 4;
		me.match_nid = me.match_pid = PTL_NID_ANY;
		a[0] = (uint64_t)&me;
		a[1] = a[2] = address();
		return 1;
	case SYS_MD_ATTACH: case SYS_MD_BIND: case SYS_MD_INSERT: case SYS_MD_UPDATE:
		descriptor(&md);
		a[0] = number == SYS_MD_BIND ? ni : handle(number == SYS_MD_ATTACH ? ME : MD);
		a[number == SYS_MD_UPDATE ? 2 : 1] = (uint64_t)&md;
		a[number == SYS_MD_UPDATE ? 1 : 3] = address();
		a[4] = address();
		a[2] = number == SYS_MD_UPDATE ? a[2] : next() % 3;
		if (number == SYS_MD_INSERT)
			a[3] = next() % 3;
		else if (number == SYS_MD_UPDATE && next() % 2)
			a[3] = PTL_EQ_NONE;
		return 1;
	case SYS_ME_MD_POST:
		descriptor(&md);
		fill(&post, sizeof post);
		memcpy(post.md, &md, sizeof post.md);
		post.me_handle = address();
		post.md_handle = address();
		if (next() % 2)
			post.test_eq = next() % 2 ? PTL_EQ_NONE : handle(EQ);
		a[0] = (uint64_t)&post;
		a[1] = handle(ME);
		a[2] = MARGAY_TARGET(PTL_NID_ANY, PTL_PID_ANY);
		a[3] = next() % 4;
		a[4] = next() % 4;
		a[5] = next() % 3;
		return 1;
	case SYS_EQ_ALLOC:
		a[0] = ni;
		a[1] = next() % 64;
		a[2] = (uint64_t)index_word;
		a[3] = address();
		a[4] = a[5] = 0;                      /* no handler, as there is no library */
		return 1;
	case SYS_EQ_WAIT:
		a[0] = address();
		a[1] = next() % 4 ? 1 : next() % 70;
		a[2] = next() % 1000;                 /* ns */
		if (next() % 2)
			((uint64_t *)memory.arena)[0] = handle(EQ), a[0] = (uint64_t)memory.arena;
		return 1;
	case SYS_AC_ENTRY:
		fill(&ac, sizeof ac);
		ac.ni = ni;
		ac.index = 2 + next() % 70;
		a[0] = (uint64_t)&ac;
		return 1;
	case SYS_GET_REGION: case SYS_GET_PUT: case SYS_ATOMIC: case SYS_FETCH_ATOMIC:
		operation(&op);
		a[0] = (uint64_t)&op;
		return 1;
	case SYS_PUT_REGION: case SYS_PUT_REGION_ACK:
		operation(&op);
		put = (struct margay_put){ .ac_index = op.ac_index, .match_bits = op.match_bits,
		                           .remote_offset = op.remote_offset };
		a[0] = op.md;
		a[1] = op.local_offset;
		a[2] = op.length;
		a[3] = next() % 8 ? (uint64_t)&put : address();
		a[4] = MARGAY_TARGET(op.target_nid, op.target_pid);
		a[5] = op.pt_index;
		return 1;
	case SYS_PUT: case SYS_PUT_ACK: case SYS_GET:
		a[0] = handle(MD);
		a[1] = MARGAY_TARGET(margay_process(0).nid, margay_process(0).pid);
		a[2] = MARGAY_WHERE(next() % 5, next() % 3);
		a[3] = next() % 4;
		return 1;
	case SYS_NI_INIT: case SYS_NI_FINI:
		return 0;
	case SYS_ME_UNLINK: case SYS_MD_UNLINK: case SYS_EQ_FREE:
		if (next() % 4)
			return 0;                     /* so that some objects remain */
		a[0] = handle(number == SYS_ME_UNLINK ? ME : number == SYS_MD_UNLINK ? MD : EQ);
		return 1;
	default:                                  /* a handle, and an address to store to */
		if (number == SYS_NI_STATUS || number == SYS_NI_DIST)
			a[0] = ni, a[2] = address();
		else if (number == SYS_NI_HANDLE)
			a[1] = address();
		return number >= SYS_NI_INIT;
	}
}

/* The handle that a call has stored. */
static void remember(long number, const uint64_t *a)
{
	int at = number == SYS_ME_ATTACH || number == SYS_ME_INSERT ? 1 : number == SYS_ME_ATTACH_ANY ? 2 :
	         number == SYS_MD_ATTACH || number == SYS_MD_BIND || number == SYS_EQ_ALLOC ? 3 :
	         number == SYS_MD_INSERT ? 4 : -1;

	if (at >= 0)
		known[next() % KNOWN] = *(uint64_t *)a[at];
	if (number == SYS_ME_MD_POST) {
		const struct margay_post *post = (const struct margay_post *)a[0];

		known[next() % KNOWN] = *(uint64_t *)post->me_handle;
		known[next() % KNOWN] = *(uint64_t *)post->md_handle;
	}
}

static void put_to_oneself(void)
{
	ptl_md_t md = { .start = memory.arena, .length = 8, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_md_t from;
	ptl_handle_me_t me;
	ptl_event_t event;

	memset(memory.arena, 7, 8);
	memset(memory.arena + 64, 0, 8);
	EQUAL(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle), PTL_OK);
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &from), PTL_OK);
	md.start = memory.arena + 64;
	EQUAL(PtlMEAttach(ni, 1, any_process, 77, 0, PTL_RETAIN, PTL_INS_BEFORE, &me), PTL_OK);
	EQUAL(PtlMDAttach(me, md, PTL_RETAIN, &(ptl_handle_md_t){ 0 }), PTL_OK);
	EQUAL(PtlPut(from, PTL_ACK_REQ, margay_process(0), 1, 0, 77, 0, 0), PTL_OK);
	do
		EQUAL(PtlEQGet(md.eq_handle, &event), PTL_OK);
	while (event.type != PTL_EVENT_ACK);
	EQUAL(event.ni_fail_type, PTL_NI_OK);
	CHECK(memcmp(memory.arena, memory.arena + 64, 8) == 0);
}

int main(int argc, char **argv)
{
	static const char *const names[SYS_COUNT] = {
#define X(name, handler, args) [SYS_##name] = #name,
		MARGAY_SYSCALLS(X)
#undef X
	};
	unsigned obeyed[SYS_COUNT] = { 0 };
	long calls = argc > 2 ? atol(argv[2]) : 10000;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	PtlInit(&(int){ 0 });
	for (int round = 0; round < 2; round++) {
		EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
		for (long i = 0; i < calls; i++) {
			long number = SYS_NI_INIT + next() % (SYS_COUNT - SYS_NI_INIT);
			uint64_t a[6];

			if (arguments(number, a) && call(number, a) == PTL_OK) {
				obeyed[number]++;
				remember(number, a);
			}
		}
		EQUAL(PtlNIFini(ni), PTL_OK);
	}
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	put_to_oneself();
	PtlFini();
	for (int i = 0; i < 64; i++)
		CHECK(memory.before[i] == 0 && memory.after[i] == 0);
	for (int i = SYS_NI_INIT; i < SYS_COUNT; i++)
		printf("%s %u\n", names[i], obeyed[i]);
	puts("whole");
	return 0;
}
