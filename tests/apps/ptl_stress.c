/*
 * ptl_stress one|all OPERATIONS SEED: nodes send to rank 0 (one) or all
 * to all (all): puts, gets, exchanges and atomic operations of random
 * sizes, while the targets attach, insert, unlink, update and poll.
 *
 * The results are printed, for tests/test_race.py to compare:
 *   pair I J N H   by I and by J: N operations of I were carried out in J's changing
 *                  entries; H is their hash
 *   sum I J S, sums J S    the sum that I added to J's counter; the counter's value
 *   token J T ...          exchanged words that J has at the end
 *   dead J                 J no longer answered
 *   unsure T               T was exchanged with a dying rank, which may have it
 *   done OPERATIONS ACCEPTED UPDATES REFUSED
 * The rest is checked here: bytes, order, START before END, no event after UNLINK, an event for
 * each operation's end, all pools empty at the end. Nodes may die, and the others continue.
 */
#include "ptl_stress.h"
#include <string.h>

enum {
	EVERY = 16,                /* operations to one target between two credits */
	TOKENS = 8,                /* words of every rank that are exchanged */
	ACTS = 8,                  /* changes of the entries while idle */
	PATIENCE = 20000           /* ms without an event that must come */
};

static struct job job;
static struct peer peers[PEERS];
static struct owner owner;
static uint64_t random_state;
static ptl_handle_eq_t own, control;      /* for answers; for credits and goodbyes */
static ptl_handle_md_t out_md, in_md, nothing_md;
static char *out_bytes, *in_bytes;
static uint64_t counters[1 + PEERS];      /* [0] is added to; exposed at PT_COUNTER */
static uint64_t tokens[TOKENS];           /* exposed at PT_TOKENS */
static uint64_t hand[2];                  /* the token in hand, and the one fetched for it */
static ptl_handle_md_t hand_md, got_md;
static unsigned done, accepted;
static int someone_died;

/* ---- waiting ---- */

static void handle_control(const ptl_event_t *event)
{
	struct peer *peer = &peers[event->initiator.nid];

	if (event->type != PTL_EVENT_PUT_END)
		return;
	if (event->pt_index == PT_GOODBYE) {
		peer->finished = 1;
		peer->promised = event->hdr_data;
	} else {
		peer->credit = event->hdr_data;
	}
}

static void tell(int rank, int portal, uint64_t what);

/* Takes one event of the own entries or of the control queue; 0 if none came in time. */
static int serve(int timeout)
{
	ptl_handle_eq_t queues[] = { owner.eq, control };
	ptl_event_t event;
	int which, rc = PtlEQPoll(queues, 2, timeout, &event, &which);

	if (rc == PTL_EQ_EMPTY) {
		owner.drained++;
		return 0;
	}
	job_check(rc, "PtlEQPoll");
	if (which == 1) {
		handle_control(&event);
	} else {
		struct peer *peer = owner_event(&owner, &event);

		if (peer && peer->served % EVERY == 0 && event.type % 2)
			tell(peer - peers, PT_CREDIT, peer->served);
	}
	return 1;
}

/* The next event of an operation that this process started. */
static ptl_event_t next_answer(int rank)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&own, 1, PATIENCE, &event, &which);

	job_check(rc, "an answer that must come");
	if (event.ni_fail_type == PTL_NI_FAIL) {
		if (!peers[rank].dead)
			printf("dead %d\n", rank);
		peers[rank].dead = someone_died = 1;
	}
	return event;
}

static ptl_event_t answer(ptl_event_kind_t kind, int rank)
{
	ptl_event_t event = next_answer(rank);

	EQUAL(event.type, kind);
	return event;
}

/* SEND_END and the operation's last event, which may come first if the target dies. */
static ptl_event_t both_answers(ptl_event_kind_t kind, int rank)
{
	ptl_event_t first = next_answer(rank), second = next_answer(rank);

	EQUAL(first.link, second.link);
	if (first.type != PTL_EVENT_SEND_END) {
		CHECK(peers[rank].dead);
		EQUAL(second.type, PTL_EVENT_SEND_END);
		second = first;
	}
	EQUAL(second.type, kind);
	return second;
}

/* Send a message to a peer's control queue; this also detects its death. */
static void tell(int rank, int portal, uint64_t what)
{
	if (peers[rank].dead)
		return;
	job_check(PtlPut(nothing_md, PTL_ACK_REQ, margay_process(rank), portal, 0, 0, 0, what), "PtlPut");
	answer(PTL_EVENT_ACK, rank);
}

/* ---- operations ---- */

/* The lowest two bits select the entry; the others identify the operation. */
static uint64_t bits_of(struct peer *peer, uint64_t x)
{
	return ++peer->started << 8 | (x >> 48 & 3);
}

/* Record that it was carried out, or dropped. */
static void ended(struct peer *peer, const ptl_event_t *event, uint64_t bits)
{
	EQUAL(event->match_bits, bits);
	if (event->ni_fail_type != PTL_NI_OK) {
		EQUAL(event->mlength, 0);
		return;
	}
	peer_note(&peer->sent, bits, event->mlength);
	accepted++;
}

static void put(int rank, uint64_t x)
{
	struct peer *peer = &peers[rank];
	uint64_t bits = bits_of(peer, x);
	size_t bytes = size_of(x);
	ptl_event_t event;

	bytes_fill(out_bytes, (uint64_t)job.rank << 48 | bits, bytes);
	job_check(PtlPutRegion(out_md, 0, bytes, PTL_ACK_REQ, margay_process(rank), PT_LIST, 0, bits, 0,
	                       (uint64_t)job.rank << 48 | bits), "PtlPutRegion");
	event = both_answers(PTL_EVENT_ACK, rank);
	ended(peer, &event, bits);
}

static void get(int rank, uint64_t x)
{
	struct peer *peer = &peers[rank];
	uint64_t bits = bits_of(peer, x);
	ptl_event_t event;

	job_check(PtlGetRegion(in_md, 0, size_of(x), margay_process(rank), PT_LIST, 0, bits, 0),
	          "PtlGetRegion");
	event = answer(PTL_EVENT_REPLY_END, rank);
	ended(peer, &event, bits);
}

/* A get of bytes that never change. */
static void get_fixed(int rank, uint64_t x)
{
	size_t bytes = size_of(x), at = (x >> 20) % (LARGEST - bytes + 1);
	ptl_event_t event;

	job_check(PtlGetRegion(in_md, 0, bytes, margay_process(rank), PT_FIXED, 0, 0, at),
	          "PtlGetRegion");
	event = answer(PTL_EVENT_REPLY_END, rank);
	if (event.ni_fail_type == PTL_NI_OK) {
		EQUAL(event.mlength, bytes);
		CHECK(bytes_are(in_bytes, FIXED_KEY(rank), at, bytes));
	}
}

/* Adds to the peer's counter, with or without fetching the old value. */
static void add(int rank, uint64_t x)
{
	struct peer *peer = &peers[rank];
	uint64_t value = x >> 40, before;
	ptl_event_t event;

	memcpy(out_bytes, &value, sizeof value);
	if (x >> 8 & 1) {
		job_check(PtlAtomic(out_md, 0, 8, PTL_ACK_REQ, margay_process(rank), PT_COUNTER, 0, 0, 0,
		                    0, PTL_SUM, PTL_UINT64_T), "PtlAtomic");
		event = both_answers(PTL_EVENT_ACK, rank);
	} else {
		job_check(PtlFetchAtomic(in_md, 0, out_md, 0, 8, margay_process(rank), PT_COUNTER, 0, 0,
		                         0, 0, PTL_SUM, PTL_UINT64_T), "PtlFetchAtomic");
		event = both_answers(PTL_EVENT_REPLY_END, rank);
		memcpy(&before, in_bytes, sizeof before);
		if (event.ni_fail_type == PTL_NI_OK) {
			CHECK(before >= peer->sum);        /* at least what this rank has added */
			CHECK(before >= peer->before);     /* and never less than last time */
			peer->before = before;
		}
	}
	if (event.ni_fail_type == PTL_NI_OK)
		peer->sum += value;
	else
		EQUAL(event.ni_fail_type, PTL_NI_FAIL);
}

/* Gives the word in hand for another one. */
static void exchange(int rank, uint64_t x)
{
	ptl_event_t event;

	job_check(PtlGetPut(got_md, hand_md, margay_process(rank), PT_TOKENS, 0, 0,
	                    8 * (x >> 20) % sizeof tokens & ~7UL, 0), "PtlGetPut");
	event = both_answers(PTL_EVENT_REPLY_END, rank);
	if (event.ni_fail_type == PTL_NI_OK) {
		EQUAL(event.mlength, 8);
		hand[0] = hand[1];
	} else {
		printf("unsure %lu\n", hand[0]);
	}
}

static void operate(int rank)
{
	uint64_t x = next(&random_state);

	switch (x & 15) {
	case 0 ... 6: put(rank, x); break;
	case 7 ... 9: get(rank, x); break;
	case 10:      get_fixed(rank, x); break;
	case 11 ... 12: add(rank, x); break;
	default:      exchange(rank, x);
	}
	done++;
}

/* Keeps within the room of the peer's queue, by the credit that the peer sends. */
static void wait_for_credit(int rank)
{
	struct peer *peer = &peers[rank];

	while (!peer->dead && peer->sent.count >= peer->credit + 2 * EVERY)
		if (!serve(200))
			tell(rank, PT_NOTHING, 0);  /* shows whether it is alive */
}

/* ---- start and end ---- */

static ptl_handle_md_t bind(void *start, size_t bytes, unsigned options)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(start, bytes, options | PTL_MD_EVENT_START_DISABLE, own),
	                    PTL_RETAIN, &md), "PtlMDBind");
	return md;
}

static ptl_handle_me_t exposed[5];

static void start(uint64_t seed)
{
	unsigned remote = PTL_MD_MANAGE_REMOTE, none = PTL_MD_EVENT_START_DISABLE;
	unsigned both = PTL_MD_OP_PUT | PTL_MD_OP_GET | remote;
	char *fixed = malloc(LARGEST);

	out_bytes = malloc(LARGEST);
	in_bytes = malloc(LARGEST);
	CHECK(fixed && out_bytes && in_bytes);
	bytes_fill(fixed, FIXED_KEY(job.rank), LARGEST);
	for (int i = 0; i < TOKENS; i++)
		tokens[i] = 1000 * (job.rank + 1) + i;
	hand[0] = 1000 * (job.rank + 1) + TOKENS;
	random_state = seed * 64 + job.rank;
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &control), "PtlEQAlloc");
	exposed[0] = job_expose(&job, PT_CREDIT, 0, job_memory(NULL, 0, PTL_MD_OP_PUT | none, control),
	                        PTL_RETAIN);
	exposed[1] = job_expose(&job, PT_GOODBYE, 0, job_memory(NULL, 0, PTL_MD_OP_PUT | none, control),
	                        PTL_RETAIN);
	exposed[2] = job_expose(&job, PT_FIXED, 0, job_memory(fixed, LARGEST, PTL_MD_OP_GET | remote,
	                        PTL_EQ_NONE), PTL_RETAIN);
	exposed[3] = job_expose(&job, PT_COUNTER, 0, job_memory(counters, 8, both, PTL_EQ_NONE),
	                        PTL_RETAIN);
	exposed[4] = job_expose(&job, PT_TOKENS, 0, job_memory(tokens, sizeof tokens, both,
	                        PTL_EQ_NONE), PTL_RETAIN);
	out_md = bind(out_bytes, LARGEST, PTL_MD_EVENT_DROPPED);
	in_md = bind(in_bytes, LARGEST, PTL_MD_OP_PUT);
	hand_md = bind(&hand[0], 8, 0);
	got_md = bind(&hand[1], 8, PTL_MD_OP_PUT);
	job_check(PtlMDBind(job.ni, job_memory(NULL, 0, PTL_MD_EVENT_START_DISABLE |
	                                       PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, own),
	                    PTL_RETAIN, &nothing_md), "PtlMDBind");
	owner_start(&owner, &job, peers, seed * 1000 + job.rank);
}

/* All living ranks have sent goodbye. */
static int everybody_finished(void)
{
	for (int rank = 0; rank < job.size; rank++)
		if (rank != job.rank && !peers[rank].finished && !peers[rank].dead)
			return 0;
	return 1;
}

/* Operations that a dead rank had begun end too. A get may end at its target after the goodbye,
 * as it ends when its reply is acknowledged. */
static void end_all_of(int rank)
{
	struct peer *peer = &peers[rank];

	for (int idle = 0; peer->open || (!peer->dead && peer->taken.count < peer->promised);)
		if (serve(1000)) {
			idle = 0;
		} else {
			CHECK(++idle < PATIENCE / 1000);
			if (rank != job.rank)
				tell(rank, PT_NOTHING, 0);
		}
}

static void say_goodbye(void)
{
	for (int rank = 0; rank < job.size; rank++)
		if (rank != job.rank)
			tell(rank, PT_GOODBYE, peers[rank].sent.count);
	for (int idle = 0; !everybody_finished(); idle++) {
		for (int i = 0; i < ACTS; i++)
			owner_act(&owner);
		while (serve(idle ? 1 : 0))
			idle = 0;
		if (idle % 200 == 199)             /* a dead rank sends nothing: ask */
			for (int rank = 0; rank < job.size; rank++)
				if (rank != job.rank && !peers[rank].finished)
					tell(rank, PT_NOTHING, 0);
	}
	while (serve(0))
		continue;
	for (int rank = 0; rank < job.size; rank++)
		end_all_of(rank);
}

static void report(void)
{
	for (int rank = 0; rank < job.size; rank++) {
		struct peer *peer = &peers[rank];

		printf("pair %d %d %lu %lx\n", job.rank, rank, peer->sent.count, peer->sent.hash);
		printf("pair %d %d %lu %lx\n", rank, job.rank, peer->taken.count, peer->taken.hash);
		printf("sum %d %d %lu\n", job.rank, rank, peer->sum);
	}
	printf("sums %d %lu\n", job.rank, counters[0]);
	printf("token %d %lu", job.rank, hand[0]);
	for (int i = 0; i < TOKENS; i++)
		printf(" %lu", tokens[i]);
	printf("\ndone %u %u %u %u\n", done, accepted, owner.updates, owner.refused);
}

/* Removes everything that this process made, and checks that nothing is left. */
static void clean_up(const ptl_sr_value_t *before)
{
	static const ptl_sr_index_t used[] = { PTL_SR_ME_USED, PTL_SR_MD_USED, PTL_SR_EQ_USED,
	                                       PTL_SR_OP_USED };
	const ptl_handle_md_t bound[] = { out_md, in_md, hand_md, got_md, nothing_md };
	ptl_sr_value_t value;

	owner_end(&owner);
	for (int i = 0; i < 5; i++) {
		int rc;

		while ((rc = PtlMEUnlink(exposed[i])) == PTL_ME_IN_USE)
			continue;   /* another rank checks whether this node is alive */
		job_check(rc, "PtlMEUnlink");
		job_check(PtlMDUnlink(bound[i]), "PtlMDUnlink");
	}
	job_check(PtlEQFree(own), "PtlEQFree");
	job_check(PtlEQFree(control), "PtlEQFree");
	for (int i = 0; i < 4; i++) {
		job_check(PtlNIStatus(job.ni, used[i], &value), "PtlNIStatus");
		EQUAL(value, before[i]);
	}
}

int main(int argc, char **argv)
{
	int to_all = argc > 1 && !strcmp(argv[1], "all");
	int operations = argc > 2 ? atoi(argv[2]) : 1000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	ptl_sr_value_t before[4];

	job_start(&job);
	CHECK(job.size > 1 && job.size <= PEERS);
	job_barrier(&job);
	for (int i = 0; i < 3; i++)
		job_check(PtlNIStatus(job.ni, PTL_SR_ME_USED + 2 * i, &before[i]), "PtlNIStatus");
	before[3] = 0;
	start(seed);
	job_barrier(&job);
	puts("running");
	fflush(stdout);
	for (int i = 0; i < operations && (to_all || job.rank); i++) {
		int rank = to_all ? (int)(next(&random_state) % job.size) : 0;

		owner_act(&owner);
		while (serve(0))
			continue;
		if (someone_died && i < operations - 100)
			i = operations - 100;              /* the launcher soon kills the job */
		wait_for_credit(rank);
		if (!peers[rank].dead)
			operate(rank);
	}
	say_goodbye();
	report();
	clean_up(before);
	job_check(PtlNIFini(job.ni), "PtlNIFini");
	PtlFini();
	return 0;
}
