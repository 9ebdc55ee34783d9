/*
 * What a rank of ptl_turmoil.c offers to the others, and what it does to that while their messages
 * come: it updates and unlinks descriptors and entries. Included by ptl_turmoil.c only.
 *
 * Each offer has two halves of memory. One is offered; the other one was offered before, and is
 * filled with FENCE once its descriptor was unlinked or updated: nothing may write there any more.
 */
#ifndef TESTS_APPS_PTL_TURMOIL_H
#define TESTS_APPS_PTL_TURMOIL_H
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include "check.h"
#include "job.h"
#include "random.h"

enum { MOST_RANKS = 64, PT = 4, SIZE = 1 << 20, PIECES = 37, CHUNKS = 256,
       EVENTS = 2000, TARGET_EVENTS = 16000 };
enum { FENCE = 0xDD, EMPTY = 0x5A, SOURCE = 0x77 }; /* bytes */
enum kind { OPEN, PIECED, PLACES, SOURCES, LOG, BOX, KINDS }; /* match bits, too */
enum { BOXES = 4, OFFERS = BOX + BOXES, BITS_DONE = 100 };

MARGAY_EVENT_SLOTS(32768);

/* A message that came into a box or a log. */
struct chunk {
	uint64_t offset, bytes, hdr_data;
	bool failed;
};

struct offer {
	enum kind kind;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	unsigned char *half[2];
	bool fenced[2];
	int now;                     /* the half that is offered */
	unsigned generation;         /* of the descriptor's memory; in user_ptr */
	int open[2];                 /* operations with START and without END, by the lowest bit of
	                                their generation */
	bool updated;                /* events of the generation before may still be read */
	bool unlinked;               /* by this rank, or automatically */
	struct chunk chunks[CHUNKS];
	int n_chunks;
	ptl_md_iovec_t list[PIECES];
};

static struct job job;
static int me, n;
static int victim;                   /* the rank that may die, or -1 */
static bool overrun;                 /* the target's queue has lost events */
static ptl_handle_eq_t eq, target_eq;
static struct offer offers[OFFERS];
static bool done_from[MOST_RANKS];
static unsigned long seed;
static uint64_t poked[4], in_use;    /* for the figures that are printed */

static void drain_target(void);

static _Noreturn void stop(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "rank %d: ", me);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	exit(1);
}

/* ---- memory ---- */

/* Word `at` of the message with this number. */
static uint64_t word_of(uint64_t number, uint64_t at)
{
	return number * 0x9E3779B97F4A7C15ull + at * 0xD1B54A32D192ED03ull;
}

static void fill(void *to, uint64_t number, uint64_t bytes)
{
	uint64_t *words = to;

	for (uint64_t i = 0; i < bytes / 8; i++)
		words[i] = word_of(number, i);
}

static void check_bytes(const unsigned char *from, uint64_t bytes, int byte, const char *what,
                        const struct offer *offer)
{
	uint64_t should = 0x0101010101010101ull * (unsigned)byte, word;

	for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&word, from + i, 8);
		if (word != should)
			stop("%s: byte %llu of %llu is %llx, should be %llx (kind %d, generation %u)",
			     what, (unsigned long long)i, (unsigned long long)bytes,
			     (unsigned long long)word, (unsigned long long)should,
			     offer ? (int)offer->kind : -1, offer ? offer->generation : 0);
	}
}

static void fence(struct offer *offer, int half)
{
	memset(offer->half[half], FENCE, SIZE);
	offer->fenced[half] = true;
}

static void check_fence(struct offer *offer, int half)
{
	if (offer->fenced[half])
		check_bytes(offer->half[half], SIZE, FENCE, "written after its end", offer);
}

/* ---- offering ---- */

static unsigned cut(ptl_md_iovec_t *list, unsigned char *start, uint64_t bytes)
{
	unsigned pieces = 1 + below(PIECES);
	uint64_t at = 0;

	for (unsigned i = 0; i < pieces; i++) {
		uint64_t left = bytes - at, some = below(3) ? below(left / 8 + 1) * 8 : below(5) * 8;

		if (i + 1 == pieces || some > left)
			some = left;
		list[i] = (ptl_md_iovec_t){ start + at, some };
		at += some;
	}
	return pieces;
}

/* Takes the other half, and makes arguments for it. */
static ptl_md_t args_of(struct offer *offer)
{
	static const unsigned options[] = {
		[OPEN] = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
		[PIECED] = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC,
		[PLACES] = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
		[SOURCES] = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
		[LOG] = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_TRUNCATE,
		[BOX] = PTL_MD_OP_PUT | PTL_MD_TRUNCATE,
	};
	ptl_md_t md;

	offer->now ^= 1;
	check_fence(offer, offer->now);
	offer->fenced[offer->now] = false;
	offer->generation++;
	offer->open[offer->generation & 1] = offer->n_chunks = 0;
	offer->unlinked = false;
	memset(offer->half[offer->now], offer->kind == SOURCES ? SOURCE : EMPTY, SIZE);
	md = job_memory(offer->half[offer->now], SIZE, options[offer->kind], target_eq);
	if ((md.options & PTL_MD_IOVEC) || (offer->kind >= SOURCES && below(3) == 0)) {
		md.options |= PTL_MD_IOVEC;
		md.length = cut(offer->list, md.start, SIZE);
		md.start = offer->list;
	}
	if (offer->kind == BOX)
		md.threshold = 1;
	if (offer->kind == LOG)
		md.max_size = 8 * (1 + below(8000));
	md.user_ptr = (void *)((uintptr_t)offer->generation << 16 | (uintptr_t)(offer - offers));
	return md;
}

static ptl_unlink_t unlink_of(const struct offer *offer)
{
	return offer->kind == BOX || offer->kind == LOG ? PTL_UNLINK : PTL_RETAIN;
}

static void attach_md(struct offer *offer)
{
	job_check(PtlMDAttach(offer->me, args_of(offer), unlink_of(offer), &offer->md),
	          "PtlMDAttach");
}

static void attach(struct offer *offer)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };

	job_check(PtlMEAttach(job.ni, PT, any, offer->kind, 0, unlink_of(offer), PTL_INS_AFTER,
	                      &offer->me), "PtlMEAttach");
	attach_md(offer);
}

static void offer_all(void)
{
	for (int i = 0; i < OFFERS; i++) {
		struct offer *offer = &offers[i];

		offer->kind = i < BOX ? i : BOX;
		for (int half = 0; half < 2; half++)
			if (!offer->half[half]) {
				offer->half[half] = malloc(SIZE);
				CHECK(offer->half[half]);
				fence(offer, half);
			}
		attach(offer);
	}
}

/* ---- the end of an offer ---- */

/* What has come, each message behind the other, and nothing else. */
static void check_chunks(const struct offer *offer)
{
	const unsigned char *memory = offer->half[offer->now];
	uint64_t end = 0, word;

	if (overrun || offer->n_chunks == CHUNKS)
		return;
	for (int i = 0; i < offer->n_chunks; i++) {
		const struct chunk *chunk = &offer->chunks[i];

		for (uint64_t k = 0; k < chunk->bytes / 8 && !chunk->failed; k++) {
			memcpy(&word, memory + chunk->offset + 8 * k, 8);
			if (word != word_of(chunk->hdr_data, k))
				stop("message %llx: word %llu of %llu is %llx",
				     (unsigned long long)chunk->hdr_data, (unsigned long long)k,
				     (unsigned long long)chunk->bytes / 8, (unsigned long long)word);
		}
		if (chunk->offset + chunk->bytes > end)
			end = chunk->offset + chunk->bytes;
	}
	check_bytes(memory + end, SIZE - end, EMPTY, "written behind the messages", offer);
}

/* All operations on a generation and its half of the memory have ended. */
static void check_end(struct offer *offer, unsigned generation, int half)
{
	drain_target();
	if (offer->open[generation & 1] && !overrun)
		stop("kind %d: unlinked or updated with %d operations under way", offer->kind,
		     offer->open[generation & 1]);
	if (offer->kind == SOURCES)
		check_bytes(offer->half[half], SIZE, SOURCE, "a source was written", offer);
	if (offer->kind >= LOG)
		check_chunks(offer);
	fence(offer, half);
}

static void ended(struct offer *offer)
{
	check_end(offer, offer->generation, offer->now);
}

/* Updates or unlinks one. */
static bool poke(struct offer *offer, int how)
{
	ptl_handle_me_t entry = offer->me;
	ptl_md_t md;
	int rc;

	if (how == 0 && offer->kind >= LOG)
		how = 1;
	poked[how]++;
	switch (how) {
	case 0:
		md = args_of(offer);
		rc = PtlMDUpdate(offer->md, 0, &md, PTL_EQ_NONE);
		if (rc == PTL_OK) {
			offer->updated = true;
			check_end(offer, offer->generation - 1, !offer->now);
			offer->updated = false;
			return true;
		}
		if (rc != PTL_MD_NO_UPDATE)
			stop("PtlMDUpdate: %s", PtlErrorStr(rc));
		in_use++;
		offer->generation--;
		fence(offer, offer->now);
		offer->now ^= 1;
		return false;
	case 1:
		rc = PtlMDUnlink(offer->md);
		if (rc == PTL_MD_IN_USE || (rc == PTL_MD_INVALID && offer->kind >= LOG)) {
			in_use++;
			return false;
		}
		job_check(rc, "PtlMDUnlink");
		offer->unlinked = true;
		ended(offer);
		if (offer->kind >= LOG) {      /* its entry has gone, too */
			EQUAL(PtlMEUnlink(entry), PTL_ME_INVALID);
			attach(offer);
		} else {
			attach_md(offer);
		}
		return true;
	default:
		rc = PtlMEUnlink(entry);
		if (rc == PTL_ME_IN_USE || (rc == PTL_ME_INVALID && offer->kind >= LOG)) {
			in_use++;
			return false;
		}
		job_check(rc, "PtlMEUnlink");
		offer->unlinked = true;
		ended(offer);
		attach(offer);
		return true;
	}
}

/* ---- events of others' operations ---- */

static void target_event(ptl_event_t event)
{
	uintptr_t tag = (uintptr_t)event.md.user_ptr;
	struct offer *offer = &offers[tag & 0xffff];
	int rank = (int)event.initiator.nid;

	if (tag == BITS_DONE) {
		if (event.type == PTL_EVENT_PUT_END && event.ni_fail_type == PTL_NI_OK)
			done_from[event.hdr_data] = true;
		return;
	}
	if ((tag & 0xffff) >= OFFERS)
		stop("event %d with user_ptr %lx", event.type, (unsigned long)tag);
	if (tag >> 16 != offer->generation - offer->updated && tag >> 16 != offer->generation) {
		if (!overrun)
			stop("event %d of kind %d, generation %u, in generation %u", event.type,
			     offer->kind, (unsigned)(tag >> 16), offer->generation);
		return;
	}
	if (event.ni_fail_type != PTL_NI_OK && rank != victim)
		stop("event %d of rank %d: fail %d", event.type, rank, event.ni_fail_type);
	switch (event.type) {
	case PTL_EVENT_PUT_START:
	case PTL_EVENT_GET_START:
	case PTL_EVENT_GETPUT_START:
		offer->open[tag >> 16 & 1]++;
		break;
	case PTL_EVENT_PUT_END:
	case PTL_EVENT_GET_END:
	case PTL_EVENT_GETPUT_END:
		if (--offer->open[tag >> 16 & 1] < 0 && !overrun)
			stop("kind %d: END without START", offer->kind);
		if (offer->kind >= LOG && offer->n_chunks < CHUNKS)
			offer->chunks[offer->n_chunks++] = (struct chunk){
				event.offset, event.mlength, event.hdr_data,
				event.ni_fail_type != PTL_NI_OK };
		break;
	case PTL_EVENT_UNLINK:
		if (offer->unlinked || offer->kind < LOG)
			stop("kind %d: UNLINK of what was unlinked", offer->kind);
		offer->unlinked = true;
		break;
	default:
		stop("event %d in the target's queue", event.type);
	}
}

static void drain_target(void)
{
	ptl_event_t event;
	int rc;

	while ((rc = PtlEQGet(target_eq, &event)) != PTL_EQ_EMPTY) {
		if (rc == PTL_EQ_DROPPED)
			overrun = true;
		else
			job_check(rc, "PtlEQGet");
		target_event(event);
	}
}

/* Offers again what was unlinked automatically, and updates and unlinks at random. */
static void tend(void)
{
	drain_target();
	for (int i = LOG; i < OFFERS; i++)
		if (offers[i].unlinked || (overrun && PtlMDUnlink(offers[i].md) != PTL_MD_IN_USE)) {
			EQUAL(PtlMDUnlink(offers[i].md), PTL_MD_INVALID);
			ended(&offers[i]);
			attach(&offers[i]);
		}
	if (below(6) == 0)
		poke(&offers[below(OFFERS)], below(3));
}
#endif
