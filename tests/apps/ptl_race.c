/*
 * ptl_race MESSAGES SEED [post]: MPI's race (rule 24) between nodes. Rank 0 receives as an MPI
 * library does: overflow descriptors at the tail of the match list, with START disabled, catch
 * messages that no receive waits for yet; to post a receive it reads its queue for an early
 * message, inserts an entry with an inactive descriptor, and activates that by PtlMDUpdate, which
 * must refuse if a message has arrived or has begun to. Every other rank sends MESSAGES puts of 0
 * to 256 KB. Each must be received once, and those of one source and tag by the receives that fit
 * them in the order in which these were posted. With "post" PtlMEMDPost does all that in one call,
 * and a refusal leaves nothing behind. tests/host/test_concurrent_race.c is the same for threads.
 */
#include "check.h"
#include "job.h"
#include <string.h>
#include <time.h>

enum {
	PT_DATA = 3, PT_CREDIT = 4,
	TAGS = 4,
	CREDITS = 6,               /* unreceived messages of one sender, at most */
	GIVE_BACK = 2,             /* received messages for which credit is returned at once */
	POSTS = 8,                 /* posted receives at once */
	LARGEST = 256 << 10,
	BLOCK = 2 * LARGEST,       /* of overflow memory */
	ANY = 0xff,                /* source or tag of a receive */
	PATIENCE = 20000           /* ms without an event that must come */
};

/* A message that arrived before its receive was posted. */
struct early {
	uint64_t header;
	const char *bytes;
	int block;
};

struct post {
	ptl_handle_md_t md;
	char *buffer;
	unsigned source, tag;
	int turn;                  /* its number among the receives */
	int busy;                  /* until its UNLINK event */
	int done;                  /* its message has arrived */
};

static struct job job;
static int total;                  /* expected messages */
static uint64_t random_state;
static ptl_handle_eq_t eq;
static ptl_handle_me_t sentinel;   /* receives lie before it, overflow after it */
static char **blocks;              /* overflow memory: one block per early message, and two more */
static int *held, *attached;       /* early messages in a block; whether it accepts more */
static int block_count;
static struct early *early;        /* in the order of arrival */
static int earlies;
static struct post posts[POSTS];
static int waiting;                /* posts busy */
static int most = POSTS;           /* how many receives to keep posted now */
static int turns;                  /* receives so far */
static uint64_t *got;              /* header of each receive's message + 1 */
static int *seen, *received;       /* per source */
static int arrived;
static unsigned refused, late;
static int at_once;                /* receives are posted by PtlMEMDPost */
static ptl_handle_md_t credit;

/* The fields of hdr_data: source, tag, number within the source, number within the tag. */
static uint64_t header_of(unsigned source, unsigned tag, unsigned number, unsigned in_tag)
{
	return (uint64_t)source << 56 | (uint64_t)tag << 48 | (uint64_t)number << 24 | in_tag;
}

static unsigned source_of(uint64_t header) { return header >> 56; }
static unsigned tag_of(uint64_t header) { return header >> 48 & 0xff; }
static unsigned number_of(uint64_t header) { return header >> 24 & 0xffffff; }
static unsigned in_tag_of(uint64_t header) { return header & 0xffffff; }

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static size_t length_of(uint64_t header)
{
	uint64_t x = next(&header);

	switch (x & 31) {
	case 0:  return (x >> 8) % (LARGEST + 1);
	case 1 ... 4: return (x >> 8) % 16384;
	case 5 ... 15: return (x >> 8) % 1024;
	default: return (x >> 8) % 65;
	}
}

/* Word i of a message's bytes; the last one may be cut. */
static uint64_t word_of(uint64_t header, size_t i)
{
	return (header + i + 1) * 0x9e3779b97f4a7c15ULL;
}

static void fill(char *at, uint64_t header, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)at)[i] = word_of(header, i);
	for (size_t i = bytes & ~7UL; i < bytes; i++)
		at[i] = word_of(header, i / 8) >> i % 8 * 8;
}

/* Addresses in overflow memory may be unaligned, so words are copied. */
static int is_filled(const char *at, uint64_t header, size_t bytes)
{
	uint64_t word;

	for (size_t i = 0; i < bytes / 8; i++) {
		memcpy(&word, at + 8 * i, 8);
		if (word != word_of(header, i))
			return 0;
	}
	for (size_t i = bytes & ~7UL; i < bytes; i++)
		if (at[i] != (char)(word_of(header, i / 8) >> i % 8 * 8))
			return 0;
	return 1;
}

/* Work for a random time: sometimes microseconds, rarely as long as a frame takes. */
static void dawdle(uint64_t x)
{
	unsigned most = (x & 3) ? 31 : (x >> 2 & 3) ? 2047 : 0xffff;

	for (volatile unsigned i = x >> 8 & most; i; i--)
		continue;
}

static ptl_event_t must_come(ptl_handle_eq_t queue)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&queue, 1, PATIENCE, &event, &which);

	if (rc != PTL_OK) {
		fprintf(stderr, "rank %d: %s after %d of %d messages, %d early, %d waiting\n",
		        job.rank, PtlErrorStr(rc), arrived, total, earlies, waiting);
		exit(1);
	}
	return event;
}

/* ---- senders ---- */

static void send_all(int messages, uint64_t seed)
{
	unsigned in_tag[TAGS] = { 0 };
	uint64_t state = seed * 64 + job.rank;
	ptl_handle_eq_t sent, credits;
	ptl_handle_md_t md;
	char *buffer = malloc(LARGEST);
	int known = 0;

	CHECK(buffer);
	job_check(PtlEQAlloc(job.ni, 4, PTL_EQ_HANDLER_NONE, &sent), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &credits), "PtlEQAlloc");
	job_expose(&job, PT_CREDIT, 0, job_memory(NULL, 0, PTL_MD_OP_PUT |
	           PTL_MD_EVENT_START_DISABLE, credits), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(buffer, LARGEST, PTL_MD_EVENT_START_DISABLE, sent),
	                    PTL_RETAIN, &md), "PtlMDBind");
	job_barrier(&job);
	for (int i = 0; i < messages; i++) {
		unsigned tag = next(&state) % TAGS;
		uint64_t header = header_of(job.rank, tag, i, in_tag[tag]++);
		size_t bytes = length_of(header);

		fill(buffer, header, bytes);
		while (i - known >= CREDITS)
			known = must_come(credits).hdr_data;
		dawdle(next(&state));
		job_check(PtlPutRegion(md, 0, bytes, PTL_NOACK_REQ, margay_process(0), PT_DATA, 0,
		                       (uint64_t)job.rank << 32 | tag, 0, header), "PtlPutRegion");
		EQUAL(must_come(sent).ni_fail_type, PTL_NI_OK);
	}
	job_barrier(&job);
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	free(buffer);
}

/* ---- the receiver ---- */

static int fits(unsigned source, unsigned tag, uint64_t header)
{
	return (source == ANY || source == source_of(header)) && (tag == ANY || tag == tag_of(header));
}

/* Attach a block at the tail. It is unlinked automatically when a message of the largest size
 * might no longer fit. */
static void attach_block(int b)
{
	ptl_md_t md = job_memory(blocks[b], BLOCK, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE |
	                         PTL_MD_MAX_SIZE, eq);
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	md.max_size = LARGEST;
	md.user_ptr = (void *)(uintptr_t)(POSTS + b);
	job_check(PtlMEAttach(job.ni, PT_DATA, any_process, 0, ~0ULL, PTL_UNLINK, PTL_INS_AFTER, &me),
	          "PtlMEAttach");
	job_check(PtlMDAttach(me, md, PTL_UNLINK, &handle), "PtlMDAttach");
	attached[b] = 1;
}

static void release(int b)
{
	if (held[b] == 0 && !attached[b])
		attach_block(b);
}

static void complete(int turn, uint64_t header, const char *bytes)
{
	unsigned source = source_of(header);

	if (!is_filled(bytes, header, length_of(header))) {
		fprintf(stderr, "message %u of rank %u is damaged\n", number_of(header), source);
		exit(1);
	}
	EQUAL(got[turn], 0);
	got[turn] = header + 1;
	if (++received[source] % GIVE_BACK == 0)
		job_check(PtlPut(credit, PTL_NOACK_REQ, margay_process(source), PT_CREDIT, 0, 0, 0,
		                 received[source]), "PtlPut");
}

static void put_ended(const ptl_event_t *event)
{
	uint64_t header = event->hdr_data;
	int index = (uintptr_t)event->md.user_ptr, b = index - POSTS;

	EQUAL(event->ni_fail_type, PTL_NI_OK);
	EQUAL(source_of(header), event->initiator.nid);
	EQUAL(event->rlength, length_of(header));
	EQUAL(event->mlength, event->rlength);
	EQUAL(number_of(header), seen[event->initiator.nid]++);
	arrived++;
	if (index < POSTS) {
		struct post *post = &posts[index];

		CHECK(post->busy && !post->done && fits(post->source, post->tag, header));
		post->done = 1;
		complete(post->turn, header, post->buffer);
		return;
	}
	/* Only an earlier message of this source can use up a receive for exactly this source,
	 * and its END event would have come before this one. */
	for (int i = 0; i < POSTS; i++)
		if (posts[i].busy && !posts[i].done && posts[i].source != ANY)
			CHECK(!fits(posts[i].source, posts[i].tag, header));
	CHECK(b < block_count && earlies < block_count - 2);
	early[earlies++] = (struct early){ header, blocks[b] + event->offset, b };
	held[b]++;
}

/* Handles one event. */
static void handle(const ptl_event_t *event)
{
	int index = (uintptr_t)event->md.user_ptr;

	if (event->type == PTL_EVENT_PUT_END) {
		put_ended(event);
		return;
	}
	EQUAL(event->type, PTL_EVENT_UNLINK);
	if (index < POSTS) {
		CHECK(posts[index].done);
		posts[index].busy = 0;
		waiting--;
	} else {
		attached[index - POSTS] = 0;
		release(index - POSTS);
	}
}

/* Handles all events in the queue; returns their number. */
static int drain(void)
{
	ptl_event_t event;
	int rc, events = 0;

	while ((rc = PtlEQGet(eq, &event)) != PTL_EQ_EMPTY) {
		job_check(rc, "PtlEQGet");
		handle(&event);
		events++;
	}
	return events;
}

static void await(void)
{
	ptl_event_t event = must_come(eq);

	handle(&event);
	drain();
}

static int take_early(unsigned source, unsigned tag, int turn)
{
	for (int i = 0; i < earlies; i++) {
		struct early one = early[i];

		if (!fits(source, tag, one.header))
			continue;
		earlies--;
		memmove(&early[i], &early[i + 1], (earlies - i) * sizeof early[0]);
		complete(turn, one.header, one.bytes);
		held[one.block]--;
		release(one.block);
		return 1;
	}
	return 0;
}

/* The second half of posting: as long as the update is refused, the message may be early. */
static int is_early(int rc, unsigned source, unsigned tag, int turn)
{
	EQUAL(rc, PTL_MD_NO_UPDATE);
	refused++;
	if (!drain())
		await();                   /* it has begun, and its event will come */
	if (!take_early(source, tag, turn))
		return 0;
	late++;
	return 1;
}

/* Posts a receive, and gives it the next turn. */
static void receive(unsigned source, unsigned tag)
{
	ptl_process_id_t from = { source == ANY ? PTL_NID_ANY : margay_process(source).nid, PTL_PID_ANY };
	uint64_t ignore = (source == ANY ? 0xffffffffULL << 32 : 0) | (tag == ANY ? 0xffffffff : 0);
	struct post *post = posts;
	int rc, turn = turns++;
	ptl_handle_me_t me;
	ptl_md_t md;

	drain();
	if (take_early(source, tag, turn))
		return;
	while (post->busy)
		post++;
	post->source = source;
	post->tag = tag;
	post->turn = turn;
	post->done = 0;
	md = job_memory(post->buffer, LARGEST, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq);
	md.user_ptr = (void *)(uintptr_t)(post - posts);
	md.threshold = 1;
	dawdle(next(&random_state));
	if (at_once) {
		while ((rc = PtlMEMDPost(job.ni, sentinel, from, (uint64_t)source << 32 | tag, ignore,
		                         PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &me, &post->md,
		                         eq)) != PTL_OK)
			if (is_early(rc, source, tag, turn))
				return;
		post->busy = 1;
		waiting++;
		return;
	}
	md.threshold = 0;
	job_check(PtlMEInsert(sentinel, from, (uint64_t)source << 32 | tag, ignore, PTL_UNLINK,
	                      PTL_INS_BEFORE, &me), "PtlMEInsert");
	job_check(PtlMDAttach(me, md, PTL_UNLINK, &post->md), "PtlMDAttach");
	dawdle(next(&random_state));
	md.threshold = 1;
	while ((rc = PtlMDUpdate(post->md, NULL, &md, eq)) != PTL_OK)
		if (is_early(rc, source, tag, turn)) {
			job_check(PtlMDUnlink(post->md), "PtlMDUnlink");
			return;
		}
	post->busy = 1;
	waiting++;
}

static void receive_all(void)
{
	while (arrived < total) {
		uint64_t x = next(&random_state);
		unsigned source = (x & 7) == 0 ? ANY : 1 + (x >> 8) % (job.size - 1);
		unsigned tag = (x >> 3 & 7) == 0 ? ANY : (x >> 16) % TAGS;

		if ((x >> 32 & 31) == 0)
			most = 1 + (x >> 40) % POSTS;
		drain();
		if (earlies && (earlies > (block_count - 2) / 2 || waiting >= most)) {
			source = source_of(early[0].header);    /* senders may wait for it */
			tag = tag_of(early[0].header);
		} else if (waiting >= most) {
			if (arrived < total)
				await();
			continue;
		}
		receive(source, tag);
	}
}

/* Everything has arrived: no early message may be left that fits a pending receive. */
static void settle(void)
{
	while (drain())
		continue;
	for (int i = 0; i < POSTS; i++) {
		if (!posts[i].busy)
			continue;
		if (posts[i].done)                      /* its UNLINK follows its END at once */
			await();
		for (int k = 0; posts[i].busy && k < earlies; k++)
			CHECK(!fits(posts[i].source, posts[i].tag, early[k].header));
		if (posts[i].busy)
			job_check(PtlMDUnlink(posts[i].md), "PtlMDUnlink");
		posts[i].busy = 0;
	}
	while (earlies)
		receive(ANY, ANY);
}

/* Messages of each source and tag must go to matching receives in order. */
static void check_turns(int messages)
{
	unsigned (*expected)[TAGS] = calloc(job.size, sizeof *expected);

	CHECK(expected);
	for (int turn = 0; turn < turns; turn++) {
		uint64_t header = got[turn] - 1;

		if (got[turn])
			EQUAL(in_tag_of(header), expected[source_of(header)][tag_of(header)]++);
	}
	for (int source = 1; source < job.size; source++)
		EQUAL(received[source], messages);
	free(expected);
}

static void receive_from_all(int messages, uint64_t seed)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	double start;

	total = messages * (job.size - 1);
	random_state = seed;
	block_count = (job.size - 1) * CREDITS + 2;
	blocks = calloc(block_count, sizeof *blocks);
	held = calloc(block_count, sizeof *held);
	attached = calloc(block_count, sizeof *attached);
	early = calloc(block_count, sizeof *early);
	got = calloc(2 * total + block_count + 64, sizeof *got);
	seen = calloc(job.size, sizeof *seen);
	received = calloc(job.size, sizeof *received);
	CHECK(blocks && held && attached && early && got && seen && received);
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job.ni, job_memory(NULL, 0, 0, PTL_EQ_NONE), PTL_RETAIN, &credit),
	          "PtlMDBind");
	job_check(PtlMEAttach(job.ni, PT_DATA, any_process, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER, &sentinel),
	          "PtlMEAttach");
	for (int i = 0; i < POSTS; i++)
		CHECK(posts[i].buffer = malloc(LARGEST));
	for (int b = 0; b < block_count; b++) {
		CHECK(blocks[b] = malloc(BLOCK));
		attach_block(b);
	}
	job_barrier(&job);
	start = job_seconds();
	receive_all();
	settle();
	start = job_seconds() - start;
	job_barrier(&job);
	check_turns(messages);
	printf("race: seed %llu, %d messages, %d receives, %u updates refused, %u of them late\n",
	       (unsigned long long)seed, arrived, turns, refused, late);
	fprintf(stderr, "%.2f s\n", start);
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	ptl_sr_value_t operations;

	at_once = argc > 3 && strcmp(argv[3], "post") == 0;
	job_start(&job);
	CHECK(job.size > 1);
	if (job.rank)
		send_all(messages, seed);
	else
		receive_from_all(messages, seed);
	job_barrier(&job);
	do                                 /* the barrier's last signal may be in flight */
		job_check(PtlNIStatus(job.ni, PTL_SR_OP_USED, &operations), "PtlNIStatus");
	while (operations);
	job_end(&job);
	return 0;
}
