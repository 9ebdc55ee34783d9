/*
 * ptl_limits: the limits that PtlNIInit grants for a request, and that each is enforced (rule 34),
 * also against messages of the next rank. Prints "ok NAME" for each case.
 */
#include "check.h"
#include <limits.h>
#include <string.h>

enum { FIELDS = sizeof(ptl_ni_limits_t) / sizeof(int), HANDLES = 20000 };

/* The machine's maxima, and the smallest grants. */
static const ptl_ni_limits_t most = {
	.max_mes = 10240, .max_mds = 10240, .max_eqs = 64, .max_ac_index = 63, .max_pt_index = 63,
	.max_md_iovecs = 256, .max_me_list = 10240, .max_getput_md = 64,
}, least = {
	.max_mes = 1, .max_mds = 1, .max_eqs = 1, .max_ac_index = 1, .max_pt_index = 0,
	.max_md_iovecs = 1, .max_me_list = 1, .max_getput_md = 1,
}, few = {
	.max_mes = 10, .max_mds = 12, .max_eqs = 3, .max_ac_index = 4, .max_pt_index = 5,
	.max_md_iovecs = 6, .max_me_list = 7, .max_getput_md = 8,
};

static const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
static char memory[4096];
static ptl_handle_any_t handles[HANDLES];
static ptl_handle_ni_t ni;

static int *field(ptl_ni_limits_t *limits, int i)
{
	return (int *)limits + i;
}

static ptl_ni_limits_t granted(ptl_ni_limits_t *desired)
{
	ptl_ni_limits_t actual;

	memset(&actual, 0x55, sizeof actual);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, desired, &actual, &ni), PTL_OK);
	return actual;
}

static int same(const ptl_ni_limits_t *a, const ptl_ni_limits_t *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* Each field by itself: an available amount is granted exactly; for more, the maximum is
 * granted. */
static void case_granted(void)
{
	ptl_ni_limits_t actual = granted(NULL), wanted = few, again;

	CHECK(same(&actual, &most));
	EQUAL(PtlNIFini(ni), PTL_OK);
	for (int i = 0; i < FIELDS; i++) {
		ptl_ni_limits_t top = most, low = least;
		const int asked[] = { *field(&low, i), *field(&low, i) + 1, *field(&top, i) - 1,
		                      *field(&top, i), *field(&top, i) + 1, INT_MAX, *field(&low, i) - 1,
		                      INT_MIN };

		for (int k = 0; k < 8; k++) {
			wanted = few;
			*field(&wanted, i) = asked[k];
			actual = granted(&wanted);
			EQUAL(*field(&actual, i), k < 4 ? asked[k] : *field(&top, i));
			*field(&actual, i) = asked[k];
			CHECK(same(&actual, &wanted));
			EQUAL(PtlNIFini(ni), PTL_OK);
		}
	}
	wanted = few;
	actual = granted(&wanted);
	CHECK(same(&actual, &few));
	wanted = most;                            /* a second call changes nothing */
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, margay_process(margay_rank()).pid, &wanted, &again, &ni),
	      PTL_OK);
	CHECK(same(&again, &few));
	EQUAL(PtlNIFini(ni), PTL_OK);
	EQUAL(PtlNIFini(ni), PTL_OK);
	EQUAL(PtlNIFini(ni), PTL_NO_INIT);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, (ptl_ni_limits_t *)8, NULL, &ni), PTL_SEGV);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, (ptl_ni_limits_t *)8, &ni), PTL_SEGV);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, (ptl_handle_ni_t *)8), PTL_SEGV);
	EQUAL(PtlNIInit(7, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, margay_process(0).pid + 1, NULL, NULL, &ni), PTL_PID_INVALID);
	EQUAL(PtlNIFini(ni), PTL_NO_INIT);
}

/* Pools of entries, descriptors and queues, and the length of a list. */
static void pools(ptl_ni_limits_t wanted)
{
	ptl_ni_limits_t actual = granted(&wanted);
	ptl_md_t md = { .start = memory, .length = 8, .threshold = 1, .eq_handle = PTL_EQ_NONE };
	int n, rc, list = actual.max_me_list < actual.max_mes ? actual.max_me_list : actual.max_mes;

	CHECK(same(&actual, &wanted));
	for (int round = 0; round < 2; round++) {         /* all are freed */
		for (n = 0; (rc = PtlMEAttach(ni, 0, any_process, n, 0, PTL_RETAIN, PTL_INS_AFTER,
		                              &handles[n])) == PTL_OK; n++)
			CHECK(n < list);
		EQUAL(n, list);
		EQUAL(rc, list < actual.max_mes ? PTL_ME_LIST_TOO_LONG : PTL_NO_SPACE);
		EQUAL(PtlMEInsert(handles[0], any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &handles[n]), rc);
		for (int pt = 1; n < actual.max_mes; n++) {
			EQUAL(PtlMEAttach(ni, pt, any_process, n, 0, PTL_RETAIN, PTL_INS_AFTER, &handles[n]), PTL_OK);
			pt += n % list == list - 1;
		}
		EQUAL(PtlMEAttachAny(ni, &(ptl_pt_index_t){ 0 }, any_process, 0, 0, PTL_RETAIN, &handles[n]),
		      actual.max_pt_index ? PTL_NO_SPACE : PTL_PT_FULL);
		EQUAL(PtlMEAttach(ni, actual.max_pt_index, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER,
		                  &handles[n]), PTL_NO_SPACE);
		while (n-- > 0)
			EQUAL(PtlMEUnlink(handles[n]), PTL_OK);
		for (n = 0; (rc = PtlMDBind(ni, md, PTL_RETAIN, &handles[n])) == PTL_OK; n++)
			CHECK(n < actual.max_mds);
		EQUAL(n, actual.max_mds);
		EQUAL(rc, PTL_NO_SPACE);
		while (n-- > 0)
			EQUAL(PtlMDUnlink(handles[n]), PTL_OK);
		for (n = 0; (rc = PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &handles[n])) == PTL_OK; n++)
			CHECK(n < actual.max_eqs);
		EQUAL(n, actual.max_eqs);
		EQUAL(rc, PTL_NO_SPACE);
		while (n-- > 0)
			EQUAL(PtlEQFree(handles[n]), PTL_OK);
	}
	EQUAL(PtlNIFini(ni), PTL_OK);
}

static void case_pools(void)
{
	pools(most);
	pools(few);
	pools(least);
}

/* Limits of indices, of pieces, and of PtlGetPut's length. */
static void case_bounds(void)
{
	ptl_ni_limits_t wanted = few;
	ptl_md_iovec_t pieces[7];
	ptl_md_t md = { .start = pieces, .length = 7, .threshold = 1, .options = PTL_MD_IOVEC,
	                .eq_handle = PTL_EQ_NONE };
	ptl_process_id_t self = margay_process(margay_rank());
	ptl_handle_md_t big, small;
	ptl_handle_me_t me;

	for (int i = 0; i < 7; i++)
		pieces[i] = (ptl_md_iovec_t){ memory + i, 1 };
	granted(&wanted);
	EQUAL(PtlMEAttach(ni, 6, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_PT_INDEX_INVALID);
	EQUAL(PtlMEAttach(ni, 5, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlACEntry(ni, 5, any_process, 0, 0, 5), PTL_AC_INDEX_INVALID);
	EQUAL(PtlACEntry(ni, 4, any_process, 0, 0, 6), PTL_PT_INDEX_INVALID);
	EQUAL(PtlACEntry(ni, 4, any_process, 0, 0, 5), PTL_OK);
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &big), PTL_MD_ILLEGAL);
	md.length = 6;
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &big), PTL_OK);
	EQUAL(PtlMDUnlink(big), PTL_OK);
	md = (ptl_md_t){ .start = memory, .length = 9, .threshold = 1, .eq_handle = PTL_EQ_NONE };
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &big), PTL_OK);
	md.length = 8;
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &small), PTL_OK);
	EQUAL(PtlGetPut(small, big, self, 5, 0, 0, 0, 0), PTL_MD_ILLEGAL);
	EQUAL(PtlGetPut(big, small, self, 5, 0, 0, 0, 0), PTL_OK);
	EQUAL(PtlNIFini(ni), PTL_OK);
}

/* 2: messages beyond the target's limits are discarded there and counted. */
static void case_messages(void)
{
	int to = (margay_rank() + 1) % margay_size();
	ptl_ni_limits_t wanted = few;
	ptl_md_t md = { .start = memory, .length = 8, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
	                           PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED };
	static const struct { unsigned pt, ac; int fails; } sent[] = {
		{ 5, 0, PTL_NI_OK }, { 6, 0, PTL_NI_DROPPED }, { 63, 0, PTL_NI_DROPPED },
		{ 5, 4, PTL_NI_OK }, { 5, 5, PTL_NI_DROPPED }, { 5, 63, PTL_NI_DROPPED },
	};
	ptl_sr_value_t drops;
	ptl_handle_me_t me;
	ptl_handle_md_t from;
	ptl_event_t ack;

	granted(&wanted);
	EQUAL(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle), PTL_OK);
	EQUAL(PtlACEntry(ni, 4, any_process, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY), PTL_OK);
	EQUAL(PtlMEAttach(ni, 5, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMDAttach(me, md, PTL_RETAIN, &from), PTL_OK);
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
		EQUAL(PtlPut(from, PTL_ACK_REQ, margay_process(to), sent[i].pt, sent[i].ac, 0, 0, 0), PTL_OK);
		EQUAL(PtlEQWait(md.eq_handle, &ack), PTL_OK);
		EQUAL(ack.type, PTL_EVENT_ACK);
		EQUAL(ack.ni_fail_type, sent[i].fails);
	}
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	EQUAL(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
	EQUAL(drops, 4);
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	EQUAL(PtlNIFini(ni), PTL_OK);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "granted", case_granted }, { "pools", case_pools }, { "bounds", case_bounds },
		{ "messages", case_messages },
	};

	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_INIT);
	EQUAL(PtlInit(&(int){ 0 }), PTL_OK);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		if (margay_rank() == 0)
			printf("ok %s\n", cases[i].name);
	}
	PtlFini();
	return 0;
}
