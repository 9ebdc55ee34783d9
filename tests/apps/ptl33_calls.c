/*
 * ptl33_calls: a program in the style of Portals 3.3's clients: requested limits, all START and END
 * events, many queues polled at once. It is valid C and C++. Rank 0 is the initiator, rank 1 the
 * target (rank 0 again if it is alone). Prints "ok NAME" for each part.
 */
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(function, arguments) check(function arguments, #function, __LINE__)
#define WANT(value, wanted) want((long)(value), (long)(wanted), #value, __LINE__)

enum { WORDS = 64 };

static ptl_handle_ni_t ni;
static ptl_ni_limits_t limits;
static ptl_process_id_t me_id, target_id;
static ptl_handle_eq_t target_eq, send_eq, reply_eq;
static ptl_pt_index_t window_pt;          /* the same at all ranks */
static ptl_handle_me_t window_me;
static unsigned int window[WORDS], local[WORDS];
static int is_target, is_initiator;

static void check(int rc, const char *what, int line)
{
	if (rc != PTL_OK) {
		fprintf(stderr, "line %d: rank %d: %s: %s\n", line, margay_rank(), what,
		        PtlErrorStr(rc));
		exit(1);
	}
}

static void want(long value, long wanted, const char *what, int line)
{
	if (value != wanted) {
		fprintf(stderr, "line %d: rank %d: %s is %ld, wanted %ld\n", line, margay_rank(), what,
		        value, wanted);
		exit(1);
	}
}

static void sync_ranks(void)
{
	CALL(PtlNIBarrier, (ni));
}

static ptl_md_t descriptor(void *start, ptl_size_t length, unsigned int options,
                           ptl_handle_eq_t eq)
{
	ptl_md_t md;

	md.start = start;
	md.length = length;
	md.threshold = PTL_MD_THRESH_INF;
	md.max_size = 0;
	md.options = options;
	md.user_ptr = start;
	md.eq_handle = eq;
	return md;
}

/* The next event of any queue, which must be this one. */
static ptl_event_t next(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_handle_eq_t queues[3];
	ptl_event_t event;
	int which = -1;

	queues[0] = target_eq;
	queues[1] = send_eq;
	queues[2] = reply_eq;
	CALL(PtlEQPoll, (eq == PTL_EQ_NONE ? queues : &eq, eq == PTL_EQ_NONE ? 3 : 1,
	                 PTL_TIME_FOREVER, &event, &which));
	if (event.type != kind) {
		fprintf(stderr, "rank %d: %s, wanted %s\n", margay_rank(), PtlEventKindStr(event.type),
		        PtlEventKindStr(kind));
		exit(1);
	}
	WANT(event.ni_fail_type, PTL_NI_OK);
	return event;
}

/* START and END of one operation; returns the END event. */
static ptl_event_t pair(ptl_handle_eq_t eq, ptl_event_kind_t start, ptl_event_kind_t end)
{
	ptl_event_t first = next(eq, start), last = next(eq, end);

	WANT(first.link, last.link);
	WANT(last.sequence, first.sequence + 1);
	return last;
}

static void no_event(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	WANT(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
}

static void open_interface(void)
{
	ptl_ni_limits_t desired;
	int interfaces;

	CALL(PtlInit, (&interfaces));
	WANT(interfaces, 1);
	memset(&desired, 0, sizeof desired);
	desired.max_mes = 100;
	desired.max_mds = 50;
	desired.max_eqs = 4;
	desired.max_ac_index = 3;
	desired.max_pt_index = 9;
	desired.max_md_iovecs = 8;
	desired.max_me_list = 100;
	desired.max_getput_md = 16;
	CALL(PtlNIInit, (PTL_IFACE_DEFAULT, PTL_PID_ANY, &desired, &limits, &ni));
	WANT(limits.max_mes, 100);
	WANT(limits.max_mds, 50);
	WANT(limits.max_pt_index, 9);
	WANT(limits.max_getput_md, 16);
	CALL(PtlGetId, (ni, &me_id));
	WANT(me_id.nid, margay_process(margay_rank()).nid);
	is_initiator = margay_rank() == 0;
	is_target = margay_rank() == 1 % margay_size();
	target_id = margay_process(1 % margay_size());
	CALL(PtlEQAlloc, (ni, 32, PTL_EQ_HANDLER_NONE, &target_eq));
	CALL(PtlEQAlloc, (ni, 32, PTL_EQ_HANDLER_NONE, &send_eq));
	CALL(PtlEQAlloc, (ni, 32, PTL_EQ_HANDLER_NONE, &reply_eq));
}

/* A window in two separate pieces, after an entry that matches nothing. */
static void open_window(void)
{
	ptl_process_id_t any_process, no_process;
	ptl_handle_me_t first;
	ptl_handle_md_t md;
	ptl_md_iovec_t pieces[2];
	ptl_uid_t uid;
	ptl_jid_t jid;

	any_process.nid = PTL_NID_ANY;
	any_process.pid = PTL_PID_ANY;
	no_process.nid = me_id.nid + 1000;
	no_process.pid = me_id.pid;
	CALL(PtlGetUid, (ni, &uid));
	CALL(PtlGetJid, (ni, &jid));
	CALL(PtlACEntry, (ni, 2, any_process, uid, jid, PTL_PT_INDEX_ANY));
	WANT(PtlACEntry(ni, 4, any_process, uid, jid, PTL_PT_INDEX_ANY), PTL_AC_INDEX_INVALID);
	CALL(PtlMEAttachAny, (ni, &window_pt, no_process, 0, ~0ULL, PTL_RETAIN, &first));
	CALL(PtlMEInsert, (first, any_process, 0xfeed, 0xffff, PTL_UNLINK, PTL_INS_AFTER, &window_me));
	CALL(PtlMEUnlink, (first));
	pieces[0].iov_base = window + WORDS / 2;
	pieces[0].iov_len = sizeof window / 2;
	pieces[1].iov_base = window;
	pieces[1].iov_len = sizeof window / 2;
	CALL(PtlMDAttach, (window_me, descriptor(pieces, 2, PTL_MD_IOVEC | PTL_MD_OP_PUT |
	                                         PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, target_eq),
	                   PTL_UNLINK, &md));
	for (int i = 0; i < WORDS; i++)
		local[i] = 1000 + (unsigned int)i;
}

/* The word of the window at this offset of the logical buffer. */
static unsigned int *word(int i)
{
	return &window[(i + WORDS / 2) % WORDS];
}

/* Put words 30 to 33 of `local` to words 30 to 33 of the window, across its pieces. */
static void put_part(void)
{
	ptl_handle_md_t md;

	if (is_initiator) {
		CALL(PtlMDBind, (ni, descriptor(local, sizeof local, 0, send_eq), PTL_RETAIN, &md));
		CALL(PtlPutRegion, (md, 30 * 4, 4 * 4, PTL_ACK_REQ, target_id, window_pt, 2, 0xbeef,
		                    30 * 4, 42));
		WANT(pair(send_eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END).mlength, 16);
		WANT(next(send_eq, PTL_EVENT_ACK).mlength, 16);
		WANT(PtlPutRegion(md, sizeof local, 1, PTL_ACK_REQ, target_id, window_pt, 2, 0, 0, 0),
		     PTL_MD_ILLEGAL);
		CALL(PtlMDUnlink, (md));
	}
	if (is_target) {
		ptl_event_t event = pair(target_eq, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);

		WANT(event.hdr_data, 42);
		WANT(event.match_bits, 0xbeef);
		WANT(event.offset, 30 * 4);
		WANT(event.initiator.nid, margay_process(0).nid);
		for (int i = 30; i < 34; i++)
			WANT(*word(i), 1000 + i);
		WANT(*word(29) + *word(34), 0);
	}
}

static void get_part(void)
{
	static unsigned int got[WORDS];
	ptl_handle_md_t md;

	if (is_initiator) {
		CALL(PtlMDBind, (ni, descriptor(got, sizeof got, 0, reply_eq), PTL_RETAIN, &md));
		CALL(PtlGetRegion, (md, 8, 5 * 4, target_id, window_pt, 0, 0, 29 * 4));
		WANT(pair(reply_eq, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END).mlength, 20);
		WANT(got[1] + got[2] + got[7], 0);
		for (int i = 30; i < 34; i++)
			WANT(got[i - 29 + 2], 1000 + i);
		CALL(PtlMDUnlink, (md));
	}
	if (is_target)
		WANT(pair(target_eq, PTL_EVENT_GET_START, PTL_EVENT_GET_END).mlength, 20);
}

/* Two words in, two words out, in one step; the limit is four. */
static void exchange(void)
{
	unsigned int in[2] = { 0, 0 }, out[2] = { 7, 8 };
	ptl_handle_md_t in_md, out_md, long_md;

	if (is_initiator) {
		CALL(PtlMDBind, (ni, descriptor(in, sizeof in, 0, reply_eq), PTL_RETAIN, &in_md));
		CALL(PtlMDBind, (ni, descriptor(out, sizeof out, 0, send_eq), PTL_RETAIN, &out_md));
		CALL(PtlMDBind, (ni, descriptor(local, 20, 0, send_eq), PTL_RETAIN, &long_md));
		WANT(PtlGetPut(in_md, long_md, target_id, window_pt, 0, 0, 0, 0), PTL_MD_ILLEGAL);
		CALL(PtlGetPut, (in_md, out_md, target_id, window_pt, 0, 0, 31 * 4, 5));
		pair(send_eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		WANT(pair(reply_eq, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END).mlength, 8);
		WANT(in[0], 1031);
		WANT(in[1], 1032);
		CALL(PtlMDUnlink, (in_md));
		CALL(PtlMDUnlink, (out_md));
		CALL(PtlMDUnlink, (long_md));
	}
	if (is_target) {
		WANT(pair(target_eq, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END).hdr_data, 5);
		WANT(*word(31), 7);
		WANT(*word(32), 8);
		WANT(*word(33), 1033);
	}
}

/* One more message unlinks the window automatically, with its entry. */
static void last_message(void)
{
	ptl_handle_md_t md, window_md;
	ptl_md_t now, then;
	ptl_event_t event;

	if (is_target) {
		/* an event has all necessary handles: here, the window's */
		CALL(PtlMDBind, (ni, descriptor(local, 4, 0, send_eq), PTL_UNLINK, &md));
		CALL(PtlPut, (md, PTL_NO_ACK_REQ, me_id, window_pt, 0, 0, 0, 0));
		pair(send_eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		event = pair(target_eq, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		window_md = event.md_handle;
		CALL(PtlMDUnlink, (md));
		CALL(PtlMDUpdate, (window_md, &now, NULL, PTL_EQ_NONE));
		WANT(now.threshold, PTL_MD_THRESH_INF);
		then = descriptor(window, sizeof window, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, target_eq);
		then.threshold = 1;
		CALL(PtlMDUpdate, (window_md, NULL, &then, target_eq));
	}
	sync_ranks();
	if (is_initiator) {
		ptl_md_t once = descriptor(local, sizeof local, 0, send_eq);

		once.threshold = 2;
		CALL(PtlMDBind, (ni, once, PTL_UNLINK, &md));
		CALL(PtlPut, (md, PTL_ACK_REQ, target_id, window_pt, 0, 0, 0, 0));
		pair(send_eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
		next(send_eq, PTL_EVENT_ACK);
		next(send_eq, PTL_EVENT_UNLINK);
		WANT(PtlMDUnlink(md), PTL_MD_INVALID);
	}
	if (is_target) {
		event = pair(target_eq, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
		WANT(event.md.threshold, 0);
		WANT(event.offset, 0);
		WANT(next(target_eq, PTL_EVENT_UNLINK).md_handle == event.md_handle, 1);
		WANT(window[WORDS - 1], 1000 + WORDS - 1);
		WANT(PtlMEUnlink(window_me), PTL_ME_INVALID);
	}
}

static void count(void)
{
	ptl_sr_value_t dropped, used;
	unsigned long distance;

	CALL(PtlNIStatus, (ni, PTL_SR_DROP_COUNT, &dropped));
	WANT(dropped, 0);
	CALL(PtlNIStatus, (ni, PTL_SR_MD_USED, &used));
	WANT(used, 0);
	CALL(PtlNIDist, (ni, target_id, &distance));
	WANT(distance, !is_target);
	no_event(target_eq);
	no_event(send_eq);
	no_event(reply_eq);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } parts[] = {
		{ "put_part", put_part }, { "get_part", get_part }, { "exchange", exchange },
		{ "last_message", last_message }, { "count", count },
	};

	open_interface();
	open_window();
	if (!is_target)
		CALL(PtlMEUnlink, (window_me));
	sync_ranks();
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		parts[i].run();
		sync_ranks();
		if (is_initiator)
			printf("ok %s\n", parts[i].name);
	}
	CALL(PtlEQFree, (target_eq));
	CALL(PtlEQFree, (send_eq));
	CALL(PtlEQFree, (reply_eq));
	CALL(PtlNIFini, (ni));
	PtlFini();
	return 0;
}
