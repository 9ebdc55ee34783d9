/*
 * ptl_restart LIVES ROUNDS: rank 0 exchanges messages with all others, of which rank 1 is killed
 * and restarted until its LIVESth life. A request of rank 0 and its answer are puts; both are
 * numbered, and their sizes and bytes follow from the numbers. No rank waits for a message that
 * cannot come: an unanswered request is followed by another one.
 *
 * Checked: bytes; numbers grow within a life, so nothing arrives twice or late; after a message of
 * a later life none of an earlier one arrives; only operations with rank 1 fail. Rank 0 prints
 * "life L talks" for each life of rank 1, and "ok" at the end, when each of the others, in its last
 * life, has answered ROUNDS times.
 */
#include "check.h"
#include "job.h"
#include <string.h>
#include <time.h>

enum { PT = 4, LARGEST = 40000, SLOTS = 4, IDLE_MS = 300, QUESTION = 1, ANSWER, GOODBYE };

struct words {
	uint64_t kind, life, number;
	uint64_t bytes;            /* of the whole message */
	uint64_t to;               /* of an answer: the request's number */
};

struct peer {
	uint64_t asked, heard;     /* numbers of the last request and of the last answer */
	uint64_t life, answers;    /* the answers' life; their count in this life */
	uint64_t said;             /* time of the last request, ms */
	int open;                  /* an ACK is pending */
	int due;                   /* a request is due */
	int parting, done;         /* the last message was goodbye; it has arrived */
	ptl_handle_md_t md;        /* its message, in `out` */
	char *out;
};

static struct job job;
static ptl_handle_eq_t own, theirs;
static char *in;                           /* SLOTS times LARGEST bytes for each rank */
static uint64_t lives, rounds, life = 1, answered;
static struct peer peers[64];

static char byte_of(uint64_t number, uint64_t i)
{
	return (char)((number * 0x9e3779b97f4a7c15ULL >> 32) + i * 7);
}

static uint64_t size_of(uint64_t number)
{
	return number % 8 == 0 ? LARGEST - number % 1000 : sizeof(struct words) + number * 37 % 900;
}

/* A message's place at its target, which the next ones do not overwrite. */
static uint64_t place(int rank, uint64_t number)
{
	return ((uint64_t)rank * SLOTS + number % SLOTS) * LARGEST;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void check_bytes(const char *at, const struct words *words)
{
	EQUAL(words->bytes, size_of(words->number));
	for (uint64_t i = sizeof(struct words); i < words->bytes; i++)
		CHECK(at[i] == byte_of(words->number + words->life, i));
}

/* Send a message to a rank, with an ACK. The buffer is free, as the last one's ACK has arrived. */
static void say(int rank, uint64_t kind, uint64_t number)
{
	struct peer *peer = &peers[rank];
	struct words words = { kind, life, number, size_of(number), peer->heard };
	ptl_md_t md = job_memory(peer->out, words.bytes, PTL_MD_EVENT_START_DISABLE |
	                         PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, own);

	memcpy(peer->out, &words, sizeof words);
	for (uint64_t i = sizeof words; i < words.bytes; i++)
		peer->out[i] = byte_of(number + life, i);
	md.user_ptr = peer;
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &peer->md), "PtlMDBind");
	peer->open = 1;
	peer->said = now_ms();
	job_check(PtlPut(peer->md, PTL_ACK_REQ, margay_process(rank), PT, 0, 1,
	                 place(job.rank, number), 0), "PtlPut");
}

/* Handle the ACK of a message to a rank; returns whether the message has arrived. */
static int is_told(const ptl_event_t *event)
{
	struct peer *peer = event->md.user_ptr;

	EQUAL(event->type, PTL_EVENT_ACK);
	job_check(PtlMDUnlink(peer->md), "PtlMDUnlink");
	peer->open = 0;
	if (peer - peers != 1 && job.rank != 1)
		CHECK(event->ni_fail_type == PTL_NI_OK || event->ni_fail_type == PTL_NI_DROPPED);
	return event->ni_fail_type == PTL_NI_OK;
}

/* The next event within IDLE_MS: 0 none, 1 an ACK, 2 a rank's message. */
static int next_event(ptl_event_t *event)
{
	ptl_handle_eq_t queues[] = { own, theirs };
	int which, rc = PtlEQPoll(queues, 2, IDLE_MS, event, &which);

	if (rc == PTL_EQ_EMPTY)
		return 0;
	job_check(rc, "PtlEQPoll");
	return 1 + which;
}

/* A message has arrived: its bytes are checked. */
static struct words words_of(const ptl_event_t *event)
{
	struct words words;

	EQUAL(event->type, PTL_EVENT_PUT_END);
	memcpy(&words, in + event->offset, sizeof words);
	EQUAL(event->offset, place((int)event->initiator.nid, words.number));
	check_bytes(in + event->offset, &words);
	return words;
}

/* ---- rank 0 ---- */

static void take_answer(const ptl_event_t *event)
{
	int rank = (int)event->initiator.nid;
	struct peer *peer = &peers[rank];
	struct words words;

	if (event->ni_fail_type != PTL_NI_OK) {    /* it died while it answered */
		EQUAL(rank, 1);
		return;
	}
	words = words_of(event);
	EQUAL(words.kind, ANSWER);
	CHECK(words.life >= peer->life);
	if (words.life > peer->life) {
		if (rank == 1) {
			printf("life %lu talks\n", words.life);
			fflush(stdout);
		}
		peer->life = words.life;
		peer->heard = peer->answers = 0;
	}
	CHECK(words.number > peer->heard);
	peer->heard = words.number;
	peer->answers++;
	peer->due |= words.to == peer->asked;
}

static int is_through(int rank)
{
	return peers[rank].life == (rank == 1 ? lives : 1) && peers[rank].answers >= rounds;
}

/* Sends due requests to each rank; returns how many ranks have not finished. */
static int ask(void)
{
	int left = 0;

	for (int rank = 1; rank < job.size; rank++) {
		struct peer *peer = &peers[rank];

		left += !peer->done;
		if (peer->done || peer->open || (!peer->due && now_ms() - peer->said < IDLE_MS))
			continue;
		peer->due = 0;
		peer->parting = is_through(rank);
		say(rank, peer->parting ? GOODBYE : QUESTION, ++peer->asked);
	}
	return left;
}

static void ask_all(void)
{
	ptl_event_t event;

	for (int rank = 1; rank < job.size; rank++)
		peers[rank].due = 1;
	while (ask()) {
		int what = next_event(&event);

		if (what == 1) {
			struct peer *peer = event.md.user_ptr;

			if (!is_told(&event))
				pause_ms(5);           /* followed by IDLE_MS without an answer */
			else
				peer->done = peer->parting;
		} else if (what == 2) {
			take_answer(&event);
		}
	}
	puts("ok");
}

/* ---- the others ---- */

static void answer_all(void)
{
	struct peer *peer = &peers[0];
	ptl_event_t event;
	int due = 0;

	for (;;) {
		int what = next_event(&event);

		if (what == 1)
			is_told(&event);
		if (what == 2 && event.ni_fail_type == PTL_NI_OK) {
			struct words words = words_of(&event);

			if (words.kind == GOODBYE)
				return;
			EQUAL(words.kind, QUESTION);
			CHECK(words.number > peer->heard);
			peer->heard = words.number;
			due = 1;
		}
		if (due && !peer->open) {
			say(0, ANSWER, ++answered);
			due = 0;
		}
	}
}

int main(int argc, char **argv)
{
	const char *text = getenv("MARGAY_LIFE");

	CHECK(argc == 3);
	lives = strtoul(argv[1], NULL, 10);
	rounds = strtoul(argv[2], NULL, 10);
	if (text)
		life = strtoul(text, NULL, 10);
	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 256, PTL_EQ_HANDLER_NONE, &theirs), "PtlEQAlloc");
	CHECK(in = malloc((size_t)job.size * SLOTS * LARGEST));
	for (int rank = 0; rank < job.size; rank++)
		CHECK(peers[rank].out = malloc(LARGEST));
	job_expose(&job, PT, 1, job_memory(in, (size_t)job.size * SLOTS * LARGEST, PTL_MD_OP_PUT |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, theirs), PTL_RETAIN);
	if (job.rank == 0)
		ask_all();
	else
		answer_all();
	return 0;
}
