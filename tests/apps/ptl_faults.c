/*
 * ptl_faults OPERATIONS SEED: all ranks put to, get from and add to a counter of all
 * others, several operations at once, over a network that may lose, repeat, delay,
 * reorder and damage frames, or be cut for a while.
 *
 * Checked here: the bytes of every put and get; puts of one rank arrive in order, none twice.
 * Printed, for tests/faulty.py to compare:
 *   put I J OK FAILED    by I: counts of its puts to J by result
 *   got I J N            by J: how many of these arrived
 *   add I J OK FAILED, counter J N      likewise for additions of 1
 *   get I J OK FAILED
 * A failed operation may have been carried out or not; one that has not failed was carried out.
 */
#include "check.h"
#include "job.h"
#include <string.h>
#include <time.h>

enum { PT_PUT = 3, PT_TABLE, PT_COUNTER, PT_CREDIT, PT_PROBE = 8, PT_GOODBYE };
enum {
	LARGEST = 70000,           /* bytes of a put */
	TABLE = 9000,              /* bytes that others fetch */
	WINDOW = 6,                /* pending operations to one rank */
	SLOTS = 8,                 /* unchecked puts of one rank */
	IDLE_MS = 500,             /* after that, ask ranks that may have missed a credit */
	PATIENCE = 20              /* idle times before a rank that has failed once is given up */
};

enum kind { PUT, GET, ADD, KINDS, PARTING };

struct op {
	enum kind kind;
	int to;
	int busy;
	ptl_handle_md_t md;
	char *bytes;
};

struct peer {
	struct op ops[WINDOW];
	struct op goodbye;
	uint64_t started;          /* operations */
	uint64_t puts;             /* puts among them, numbered from 1 */
	uint64_t credit;           /* number of the last put whose bytes it has checked */
	uint64_t seen, got;   /* its puts that arrived here: the last one's number, and the count */
	uint64_t ended[KINDS][2];  /* successfully, with a failure */
	int busy;                  /* of `ops` */
	int parted;                /* 1: goodbye was sent; 2: it has arrived or failed */
	int left;                  /* it has sent goodbye */
	int tries;                 /* goodbyes that failed */
};

static struct job job;
static ptl_handle_eq_t own, theirs, control;
static ptl_handle_md_t word;               /* no bytes, no events */
static uint64_t operations, seed, counter, failures;
static char *in, table[TABLE];
static struct peer peers[64];

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t length_of(uint64_t number, int from)
{
	uint64_t x = mix(number * 64 + from);

	return x % 16 == 0 ? x % LARGEST : x % 4 == 0 ? x % 5000 : x % 80;
}

static char byte_of(uint64_t number, int from, uint64_t i)
{
	return (char)(number * 31 + from * 17 + i * 7 + (i >> 8));
}

static uint64_t place(int from, uint64_t number)
{
	return (from * SLOTS + number % SLOTS) * (uint64_t)LARGEST;
}

/* ---- operations ---- */

static void bind(struct op *op, void *bytes, uint64_t length, unsigned options)
{
	ptl_md_t md = job_memory(bytes, length, options | PTL_MD_EVENT_START_DISABLE |
	                         PTL_MD_EVENT_DROPPED, own);

	md.user_ptr = op;
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &op->md), "PtlMDBind");
}

static void start_put(struct op *op, uint64_t number)
{
	uint64_t length = length_of(number, job.rank);

	for (uint64_t i = 0; i < length; i++)
		op->bytes[i] = byte_of(number, job.rank, i);
	bind(op, op->bytes, length, PTL_MD_EVENT_END_DISABLE);
	job_check(PtlPut(op->md, PTL_ACK_REQ, margay_process(op->to), PT_PUT, 0, 1,
	                 place(job.rank, number), number), "PtlPut");
}

static void start(struct peer *peer, struct op *op, int to)
{
	static const uint64_t one = 1;
	uint64_t x = mix(seed + peer->started++ * 4096 + job.rank * 64 + to);

	op->busy = 1;
	op->to = to;
	peer->busy++;
	if (x % 8 == 0 && peer->puts) {
		op->kind = GET;
		memset(op->bytes, 0, TABLE);
		bind(op, op->bytes, TABLE, 0);
		job_check(PtlGet(op->md, margay_process(to), PT_TABLE, 0, 1, 0), "PtlGet");
	} else if (x % 8 == 1) {
		op->kind = ADD;
		memcpy(op->bytes, &one, sizeof one);
		bind(op, op->bytes, sizeof one, PTL_MD_EVENT_END_DISABLE);
		job_check(PtlAtomic(op->md, 0, 8, PTL_ACK_REQ, margay_process(to), PT_COUNTER, 0, 1, 0,
		                    0, PTL_SUM, PTL_UINT64_T), "PtlAtomic");
	} else {
		op->kind = PUT;
		start_put(op, ++peer->puts);
	}
}

static void tell(int to, int portal, uint64_t what)
{
	job_check(PtlPut(word, PTL_NO_ACK_REQ, margay_process(to), portal, 0, 1, 0, what), "PtlPut");
}

static void say_goodbye(struct peer *peer, int to)
{
	struct op *op = &peer->goodbye;

	peer->parted = 1;
	op->kind = PARTING;
	op->to = to;
	bind(op, NULL, 0, PTL_MD_EVENT_END_DISABLE);
	job_check(PtlPut(op->md, PTL_ACK_REQ, margay_process(to), PT_GOODBYE, 0, 1, 0, 0), "PtlPut");
}

static void start_more(int to)
{
	struct peer *peer = &peers[to];

	for (int i = 0; i < WINDOW; i++)
		if (!peer->ops[i].busy && peer->started < operations &&
		    peer->puts < peer->credit + SLOTS)
			start(peer, &peer->ops[i], to);
	if (peer->started == operations && !peer->busy && !peer->parted)
		say_goodbye(peer, to);
}

/* ---- events ---- */

static void take_own(const ptl_event_t *event)
{
	struct op *op = event->md.user_ptr;
	struct peer *peer = &peers[op->to];
	int failed = event->ni_fail_type != PTL_NI_OK;

	EQUAL(event->type, op->kind == GET ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK);
	job_check(PtlMDUnlink(op->md), "PtlMDUnlink");
	failures += failed;
	if (op->kind == PARTING) {
		peer->parted = failed && ++peer->tries < 3 ? 0 : 2;
		return;
	}
	if (failed)
		EQUAL(event->ni_fail_type, PTL_NI_FAIL);
	else if (op->kind == GET)
		CHECK(event->mlength == TABLE && memcmp(op->bytes, table, TABLE) == 0);
	peer->ended[op->kind][failed]++;
	op->busy = 0;
	peer->busy--;
}

static void take_put(const ptl_event_t *event)
{
	int from = (int)event->initiator.nid;
	struct peer *peer = &peers[from];
	uint64_t number = event->hdr_data, at = place(from, number);

	if (event->ni_fail_type != PTL_NI_OK)
		return;
	CHECK(number > peer->seen);
	EQUAL(event->offset, at);
	EQUAL(event->mlength, length_of(number, from));
	for (uint64_t i = 0; i < event->mlength; i++)
		CHECK(in[at + i] == byte_of(number, from, i));
	peer->seen = number;
	peer->got++;
	if (number % (SLOTS / 2) == 0)
		tell(from, PT_CREDIT, number);
}

/* Check the puts that arrived before this message first. */
static void take_control(const ptl_event_t *event)
{
	struct peer *peer = &peers[event->initiator.nid];
	ptl_event_t earlier;

	while (PtlEQGet(theirs, &earlier) == PTL_OK)
		take_put(&earlier);
	if (event->pt_index == PT_CREDIT && event->hdr_data > peer->credit)
		peer->credit = event->hdr_data;
	else if (event->pt_index == PT_PROBE && event->hdr_data > peer->seen)
		peer->seen = event->hdr_data;      /* those in between have failed */
	if (event->pt_index == PT_PROBE)
		tell((int)event->initiator.nid, PT_CREDIT, peer->seen);
	else if (event->pt_index == PT_GOODBYE)
		peer->left = 1;
}

/* Everything is sent, and all ranks that still can have answered. */
static int is_over(int idle)
{
	for (int rank = 0; rank < job.size; rank++) {
		const struct peer *peer = &peers[rank];

		if (rank != job.rank &&
		    (peer->parted < 2 || (!peer->left && (!failures || idle < PATIENCE))))
			return 0;
	}
	return 1;
}

static void run(void)
{
	ptl_handle_eq_t queues[] = { own, theirs, control };
	void (*const take[])(const ptl_event_t *) = { take_own, take_put, take_control };

	for (int idle = 0; !is_over(idle);) {
		ptl_event_t event;
		int which, rc;

		for (int rank = 0; rank < job.size; rank++)
			if (rank != job.rank)
				start_more(rank);
		rc = PtlEQPoll(queues, 3, IDLE_MS, &event, &which);
		if (rc == PTL_OK) {
			idle = 0;
			take[which](&event);
			continue;
		}
		EQUAL(rc, PTL_EQ_EMPTY);
		idle++;
		for (int rank = 0; rank < job.size; rank++)
			if (rank != job.rank && peers[rank].parted == 0 && !peers[rank].busy)
				tell(rank, PT_PROBE, peers[rank].puts);
	}
}

static void report(void)
{
	static const char *const names[KINDS] = { "put", "get", "add" };

	for (int rank = 0; rank < job.size; rank++) {
		if (rank == job.rank)
			continue;
		for (int kind = 0; kind < KINDS; kind++)
			printf("%s %d %d %lu %lu\n", names[kind], job.rank, rank,
			       peers[rank].ended[kind][0], peers[rank].ended[kind][1]);
		printf("got %d %d %lu\n", rank, job.rank, peers[rank].got);
	}
	printf("counter %d %lu\n", job.rank, counter);
}

int main(int argc, char **argv)
{
	unsigned remote = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;

	CHECK(argc == 3);
	operations = strtoul(argv[1], NULL, 10);
	seed = mix(strtoul(argv[2], NULL, 10));
	job_start(&job);
	for (int i = 0; i < TABLE; i++)
		table[i] = byte_of(0, 0, i);
	CHECK(in = malloc((uint64_t)job.size * SLOTS * LARGEST));
	for (int rank = 0; rank < job.size; rank++)
		for (int i = 0; i < WINDOW; i++)
			CHECK(peers[rank].ops[i].bytes = malloc(LARGEST));
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &theirs), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &control), "PtlEQAlloc");
	job_expose(&job, PT_PUT, 1, job_memory(in, (uint64_t)job.size * SLOTS * LARGEST, remote, theirs),
	           PTL_RETAIN);
	job_expose(&job, PT_TABLE, 1, job_memory(table, TABLE, PTL_MD_OP_GET |
	           PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	job_expose(&job, PT_COUNTER, 1, job_memory(&counter, sizeof counter, PTL_MD_OP_PUT |
	           PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	for (int portal = PT_CREDIT; portal <= PT_GOODBYE; portal++)
		if (portal != JOB_PORTAL)
			job_expose(&job, portal, 1, job_memory(NULL, 0, remote, control), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(NULL, 0, PTL_MD_EVENT_START_DISABLE |
	                                       PTL_MD_EVENT_END_DISABLE, own), PTL_RETAIN, &word),
	          "PtlMDBind");
	job_barrier(&job);
	run();
	report();
	return 0;
}
