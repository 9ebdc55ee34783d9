/*
 * ptl_turmoil SEED OPERATIONS HOW VICTIM: all ranks start operations of all kinds, of up to 1 MiB, on
 * each other's memory, and update and unlink what they offer meanwhile.
 *
 *   none      VICTIM is not used. Each rank starts this many operations.
 *   killed    The test kills rank VICTIM, and makes the file "over".
 *   restarted The same, but rank VICTIM is started again before the file is made.
 *   exits     Rank VICTIM exits in the middle.
 *   reopens   Rank VICTIM, or if it is -1 every rank, closes and opens the interface at random.
 *
 * With an odd SEED all ranks do the last in "killed", "restarted" and "exits", too.
 *
 * Every operation ends once: SEND_END, then ACK, or REPLY_END. Only those of VICTIM may fail.
 * Once a descriptor was unlinked or updated, its old memory does not change. A rank fetches the bytes
 * that its target offers. At the end nothing is pending. Each rank then prints "ok".
 */
#include "ptl_turmoil.h"
#include <unistd.h>

enum { OPS = 12, SHORT = 64, MARGIN = 4096, LOOK_MS = 20, REOPENED_AFTER = 150 };
enum what { PUT, GET, ATOMIC, FETCH, EXCHANGE };

struct op {
	enum what what;
	enum kind kind;
	int target;
	bool in_use;
	bool sends, acks, replies;   /* events to come */
	bool ended;                  /* PtlMDUnlink has succeeded before the last of them */
	uint64_t number, bytes, at;
	ptl_handle_md_t md, get_md;
	unsigned char *memory, *fetched;
	uint64_t fenced;             /* bytes of `memory` that nothing may write */
};

static struct op ops[OPS];
static uint64_t number;              /* of the last operation; unique among all ranks and lives */
static uint64_t counts[3];           /* by result */
static enum { NONE, KILLED, RESTARTED, EXITS, REOPENS } how;

/* ---- the initiator ---- */

static bool may_fail(const struct op *op)
{
	return how != NONE && how != REOPENS && op->target == victim;
}

static void check_fetched(const struct op *op, ptl_event_t event)
{
	uint64_t bytes = event.ni_fail_type == PTL_NI_OK ? event.mlength : 0;
	unsigned char *memory = op->what == GET ? op->memory : op->fetched;

	if (event.ni_fail_type == PTL_NI_DROPPED && event.mlength)
		stop("mlength of a dropped get: %llu", (unsigned long long)event.mlength);
	if (bytes > op->bytes)
		stop("mlength %llu of %llu", (unsigned long long)bytes, (unsigned long long)op->bytes);
	if (op->kind == SOURCES && bytes)
		check_bytes(memory, bytes, SOURCE, "a get of a source", 0);
	if (event.ni_fail_type == PTL_NI_FAIL)
		bytes = op->bytes;
	bytes = (bytes + 7) / 8 * 8;
	if (op->what == GET)
		check_bytes(memory + bytes, op->bytes + MARGIN - bytes, EMPTY, "behind a reply", 0);
}

static void fence_own(struct op *op)
{
	op->fenced = op->bytes + MARGIN;
	memset(op->memory, FENCE, op->fenced);
	op->in_use = false;
}

static void finish(struct op *op)
{
	int rc;

	if (!op->in_use || op->sends || op->acks || op->replies)
		return;
	rc = PtlMDUnlink(op->md);
	if (op->ended ? rc != PTL_MD_INVALID : rc != PTL_OK)
		stop("PtlMDUnlink after the last event: %s", PtlErrorStr(rc));
	if (op->what == FETCH || op->what == EXCHANGE)
		job_check(PtlMDUnlink(op->get_md), "PtlMDUnlink");
	fence_own(op);
}

static void own_event(ptl_event_t event)
{
	uint64_t which = event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_SEND_END ?
		event.hdr_data : (uintptr_t)event.md.user_ptr;
	struct op *op = &ops[which % OPS];
	bool *awaited = event.type == PTL_EVENT_SEND_END ? &op->sends :
		event.type == PTL_EVENT_ACK ? &op->acks : &op->replies;

	if (!op->in_use || op->number != which || !*awaited)
		stop("event %d of operation %llx, which does not await it (%d, %llx)", event.type,
		     (unsigned long long)which, op->in_use, (unsigned long long)op->number);
	if (event.type != PTL_EVENT_SEND_END && op->sends)
		stop("event %d before SEND_END", event.type);
	if (event.ni_fail_type == PTL_NI_FAIL && !may_fail(op))
		stop("event %d of an operation on rank %d: PTL_NI_FAIL", event.type, op->target);
	if (event.type != PTL_EVENT_SEND_END)
		counts[event.ni_fail_type == PTL_NI_OK ? 0 : event.ni_fail_type == PTL_NI_FAIL ? 1 : 2]++;
	*awaited = false;
	if (event.type == PTL_EVENT_REPLY_END)
		check_fetched(op, event);
	else if (event.type == PTL_EVENT_SEND_END && op->what != GET)
		memset(op->memory, FENCE, op->bytes);
	finish(op);
}

static void drain(void)
{
	ptl_event_t event;
	int rc;

	while ((rc = PtlEQGet(eq, &event)) != PTL_EQ_EMPTY) {
		job_check(rc, "PtlEQGet");
		own_event(event);
	}
}

static ptl_handle_md_t bind(struct op *op, void *start, uint64_t bytes, bool pieces)
{
	ptl_md_t md = job_memory(start, bytes, PTL_MD_EVENT_DROPPED | PTL_MD_EVENT_START_DISABLE, eq);
	ptl_md_iovec_t list[PIECES];
	ptl_handle_md_t handle;

	md.user_ptr = (void *)(uintptr_t)op->number;
	if (pieces) {
		md.length = cut(list, start, bytes);
		md.start = list;
		md.options |= PTL_MD_IOVEC;
	}
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	return handle;
}

static uint64_t length(uint64_t most)
{
	static const uint64_t longest[] = { 8, 64, 128, 1500, 9000, 70000, 200000, SIZE };
	uint64_t bytes = below(longest[below(8)] + 1) & ~7ull;

	return below(16) == 0 ? most : bytes < most ? bytes : most;
}

static void start(struct op *op, int target)
{
	static const enum kind of_put[] = { OPEN, PIECED, PLACES, LOG, BOX, BOX };
	ptl_process_id_t to = margay_process(target);
	unsigned char *memory = op->memory, *fetched = op->fetched;
	enum what what = below(10) < 4 ? PUT : below(6) < 3 ? GET : ATOMIC + below(3);
	ptl_ack_req_t ack = below(2) ? PTL_ACK_REQ : PTL_NOACK_REQ;

	if (!memory)
		memory = malloc(SIZE + MARGIN), fetched = malloc(SHORT);
	check_bytes(memory, op->fenced, FENCE, "written after the operation's end", 0);
	number++;
	*op = (struct op){ .what = what, .target = target, .in_use = true, .number = number * OPS + (op - ops),
	                   .memory = memory, .fetched = fetched, .kind = OPEN };
	if (what == PUT)
		op->kind = of_put[below(6)];
	if (what == GET)
		op->kind = below(SOURCES + 1);
	op->bytes = length(what == ATOMIC ? PTL_ATOMIC_LONGEST : what > ATOMIC ? SHORT : SIZE);
	op->at = below(SIZE - op->bytes + 1) & ~7ull;
	if (op->kind == PLACES)
		op->at = below(SIZE) & ~7ull;
	op->sends = what != GET;
	op->acks = (what == PUT || what == ATOMIC) && ack == PTL_ACK_REQ;
	op->replies = what == GET || what > ATOMIC;
	if (what == GET)
		memset(memory, EMPTY, op->bytes + MARGIN);
	else
		fill(memory, op->number, op->bytes);
	op->md = bind(op, memory, op->bytes, below(3) == 0);
	if (what > ATOMIC)
		op->get_md = bind(op, fetched, op->bytes, false);
	switch (what) {
	case PUT:
		job_check(PtlPut(op->md, ack, to, PT, 0, op->kind, op->at, op->number), "PtlPut");
		break;
	case GET:
		job_check(PtlGet(op->md, to, PT, 0, op->kind, op->at), "PtlGet");
		break;
	case ATOMIC:
		job_check(PtlAtomic(op->md, 0, op->bytes, ack, to, PT, 0, op->kind, op->at, op->number,
		                    PTL_BXOR, PTL_UINT64_T), "PtlAtomic");
		break;
	case FETCH:
		job_check(PtlFetchAtomic(op->get_md, 0, op->md, 0, op->bytes, to, PT, 0, op->kind, op->at,
		                         op->number, PTL_SUM, PTL_UINT64_T), "PtlFetchAtomic");
		break;
	default:
		job_check(PtlGetPut(op->get_md, op->md, to, PT, 0, op->kind, op->at, op->number),
		          "PtlGetPut");
	}
}

/* Unlinks the descriptor of an operation under way. If that succeeds, its event has come. */
static void poke_own(struct op *op)
{
	uint64_t which = op->number;
	int rc;

	if (!op->in_use || op->what > ATOMIC || op->ended)
		return;
	rc = PtlMDUnlink(op->md);
	if (rc == PTL_MD_IN_USE)
		return;
	job_check(rc, "PtlMDUnlink");
	op->ended = true;
	drain();
	if (op->number == which && (op->sends || op->replies))
		stop("PtlMDUnlink of an operation under way");
}

/* ---- the course of it ---- */

static ptl_handle_me_t done_entry;             /* for BITS_DONE */

static void open_all(void)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_md_t handle;
	ptl_md_t md;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, TARGET_EVENTS, PTL_EQ_HANDLER_NONE, &target_eq), "PtlEQAlloc");
	job_check(PtlMEAttach(job.ni, PT, any, BITS_DONE, 0, PTL_RETAIN, PTL_INS_AFTER, &done_entry),
	          "PtlMEAttach");
	md = job_memory(0, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, target_eq);
	md.user_ptr = (void *)(uintptr_t)BITS_DONE;
	job_check(PtlMDAttach(done_entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
	offer_all();
}

/* Closes the interface in the middle, and opens it again: nothing comes in between. A rank that says
 * meanwhile that it is done learns that this was discarded, and says it again. */
static void reopen(void)
{
	int rc;

	while ((rc = PtlMEUnlink(done_entry)) == PTL_ME_IN_USE)
		;
	job_check(rc, "PtlMEUnlink");
	drain_target();                        /* what was accepted is known */
	job_check(PtlNIFini(job.ni), "PtlNIFini");
	for (int i = 0; i < OFFERS; i++)
		fence(&offers[i], offers[i].now);
	for (int i = 0; i < OPS; i++) {
		if (ops[i].in_use)
			fence_own(&ops[i]);
	}
	if (below(2))
		usleep(below(3000));
	open_all();
}

/* Whether another rank is there at the end. */
static bool lasts(int rank)
{
	return rank != me && !(rank == victim && (how == KILLED || how == EXITS));
}

static void await_done(void)
{
	static unsigned char none[8];
	bool told[MOST_RANKS] = { false };
	int missing;

	do {
		missing = 0;
		for (int to = 0; to < n; to++) {
			ptl_md_t md = job_memory(none, 0, PTL_MD_EVENT_DROPPED |
			                         PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
			                         eq);
			ptl_handle_md_t handle;
			ptl_event_t event;

			if (told[to] || !lasts(to))
				continue;
			job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
			job_check(PtlPut(handle, PTL_ACK_REQ, margay_process(to), PT, 0, BITS_DONE, 0,
			                 (uint64_t)me), "PtlPut");
			event = job_event(eq);
			EQUAL(event.type, PTL_EVENT_ACK);
			told[to] = event.ni_fail_type == PTL_NI_OK;
			job_check(PtlMDUnlink(handle), "PtlMDUnlink");
			if (!told[to])
				usleep(1000);
			missing += !told[to];
		}
		tend();
		for (int from = 0; from < n; from++)
			missing += lasts(from) && !done_from[from];
		if (missing)
			usleep(1000);
	} while (missing);
}

/* Unlinks an offer for good. A rank that exits sends until then: its message may be under way, or
 * have unlinked the offer. */
static void withdraw(struct offer *offer)
{
	int rc;

	while ((rc = PtlMEUnlink(offer->me)) == PTL_ME_IN_USE && how == EXITS)
		;
	drain_target();
	if (!(rc == PTL_ME_INVALID && how == EXITS && offer->unlinked))
		job_check(rc, "PtlMEUnlink");
	offer->unlinked = true;
	ended(offer);
	check_fence(offer, 0);
	check_fence(offer, 1);
}

/* Everything that others started has ended: nothing is pending any more. */
static void check_end_of_all(void)
{
	ptl_sr_value_t busy;
	double until = job_seconds() + 30;

	do {                                   /* a death may not be known yet */
		drain_target();
		job_check(PtlNIStatus(job.ni, PTL_SR_OP_USED, &busy), "PtlNIStatus");
		if (busy && job_seconds() > until)
			stop("%llu operation records are in use", (unsigned long long)busy);
	} while (busy);
	drain_target();                        /* the last one may have ended just before */
	tend();
	for (int i = 0; i < OFFERS; i++)
		withdraw(&offers[i]);
	for (int i = 0; i < OPS; i++)
		check_bytes(ops[i].memory, ops[i].fenced, FENCE, "written after the operation's end", 0);
	job_check(PtlNIStatus(job.ni, PTL_SR_MD_USED, &busy), "PtlNIStatus");
	EQUAL(busy, 3);                        /* two of job.h, and the one for BITS_DONE */
	job_check(PtlNIStatus(job.ni, PTL_SR_PIECE_USED, &busy), "PtlNIStatus");
	EQUAL(busy, 0);
	job_check(PtlNIFini(job.ni), "PtlNIFini");
}

static bool is_over(uint64_t started, uint64_t wanted)
{
	static double looked;

	if (how != KILLED && how != RESTARTED)
		return started >= wanted;
	if (job_seconds() - looked < 0.001 * LOOK_MS)
		return false;
	looked = job_seconds();
	return access("over", F_OK) == 0;
}

static void run(uint64_t wanted)
{
	uint64_t started = 0, opened = 0;
	bool reopens = how == REOPENS ? victim < 0 || victim == me : how > NONE && seed % 2;

	while (!is_over(started, wanted)) {
		struct op *op = &ops[below(OPS)];
		int target = (int)below((unsigned)n - 1);

		target += target >= me;
		drain();
		tend();
		if (below(8) == 0)
			poke_own(&ops[below(OPS)]);
		if (!op->in_use) {
			start(op, target);
			started++;
		}
		if (how == EXITS && me == victim && started == wanted / 2)
			exit(0);
		if (reopens && started - opened > REOPENED_AFTER && below(64) == 0) {
			opened = started;
			reopen();
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "none", "killed", "restarted", "exits", "reopens" };
	const char *life = getenv("MARGAY_LIFE");
	ptl_event_t event;
	int which;

	CHECK(argc == 5);
	seed = strtoul(argv[1], 0, 10);
	while (strcmp(argv[3], names[how]) != 0)
		CHECK(how++ < REOPENS);
	victim = how == NONE ? -1 : atoi(argv[4]);
	me = margay_rank();
	n = margay_size();
	CHECK(n > 1 && n <= MOST_RANKS);
	number = ((uint64_t)me << 8 | (life ? (uint64_t)atoi(life) : 1)) << 32;
	state = seed * 0x9E3779B97F4A7C15ull + (number + 1) * 0xD1B54A32D192ED03ull;
	for (int i = 0; i < 10; i++)
		random64();
	open_all();
	printf("runs\n");
	fflush(stdout);
	run(strtoull(argv[2], 0, 10));
	for (int i = 0; i < OPS; i++)
		while (ops[i].in_use) {
			if (PtlEQPoll(&eq, 1, 1, &event, &which) == PTL_OK)
				own_event(event);
			tend();
		}
	await_done();
	check_end_of_all();
	fprintf(stderr, "rank %d: %llu ok, %llu failed, %llu dropped; %llu updates and unlinks of %llu "
	        "refused%s\n", me, (unsigned long long)counts[0], (unsigned long long)counts[1],
	        (unsigned long long)counts[2], (unsigned long long)in_use,
	        (unsigned long long)(poked[0] + poked[1] + poked[2]), overrun ? "; overrun" : "");
	puts("ok");
	return 0;
}
