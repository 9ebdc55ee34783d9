/*
 * Tagged messages: posted receives and early messages, each in the order in which they came, and
 * the calls. Owns both lists, and the memory of early messages.
 */
#include "match.h"
#include "clock.h"
#include <errno.h>
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS       200       /* a wait checks so often whether its rank lives */
#define DRAIN         4096      /* packets that the rings of all ranks hold */

static int opens;                       /* FMM_initialize less FMM_finalize */
static struct FMM_request *posted, **posted_end = &posted;
static struct early *earlies, **earlies_end = &earlies;

static int fail(int error)
{
	errno = error;
	return -1;
}

/* ---- lists ---- */

static int fits(int source, int tag, int of_source, int of_tag)
{
	return (source == FMM_ANY || source == of_source) && (tag == FMM_ANY || tag == of_tag);
}

static void take_off(struct FMM_request **at)
{
	struct FMM_request *request = *at;

	*at = request->next;
	if (posted_end == &request->next)
		posted_end = at;
}

struct FMM_request *match_posted(int source, const struct match_header *header)
{
	for (struct FMM_request **at = &posted; *at; at = &(*at)->next) {
		struct FMM_request *request = *at;

		if (!fits(request->source, request->tag, source, header->tag))
			continue;
		take_off(at);
		request->state = REQUEST_TAKES;
		return request;
	}
	return 0;
}

struct early *match_keep(int source, const struct match_header *header)
{
	struct early *early = malloc(sizeof(*early) + header->bytes);

	if (!early) {
		fprintf(stderr, "fm_match: no memory for an early message of %u bytes; "
			"give nodes more: --mem\n", header->bytes);
		fflush(0);
		_Exit(1);
	}
	*early = (struct early){ .source = source, .header = *header };
	*earlies_end = early;
	earlies_end = &early->next;
	return early;
}

static struct early **find_early(int source, int tag)
{
	for (struct early **at = &earlies; *at; at = &(*at)->next)
		if (fits(source, tag, (*at)->source, (*at)->header.tag))
			return at;
	return 0;
}

void match_done(struct FMM_request *request, int source, const struct match_header *header,
		int error)
{
	request->status = (struct FMM_status){ source, header->tag, header->bytes };
	request->error = error;
	request->state = REQUEST_DONE;
}

static void hand_over(struct early *early, struct FMM_request *request)
{
	if (!early->error)
		memcpy(request->buf, early->bytes, match_room(request, &early->header));
	match_done(request, early->source, &early->header, early->error);
	free(early);
}

void match_kept(struct early *early, int error)
{
	if (early->dropped) {
		free(early);
		return;
	}
	early->complete = 1;
	early->error = error;
	if (early->taker)
		hand_over(early, early->taker);
}

/* ---- the calls ---- */

/* Whether the layer may be called: an extract of nothing fails in handlers, and before
 * FM_initialize, with the errno of the call. */
static int is_usable(void)
{
	return FM_extract(0) == 0;
}

int FMM_initialize(void)
{
	if (FM_initialize() || match_open() || FM_barrier())
		return -1;
	opens++;
	return 0;
}

/* Frees the early messages. Handlers may still fill some, if Fast Messages stay open. */
static void drop_earlies(int stay_open)
{
	struct early *early;

	while ((early = earlies)) {
		earlies = early->next;
		if (stay_open && !early->complete)
			early->dropped = 1;
		else
			free(early);
	}
	earlies_end = &earlies;
}

int FMM_finalize(void)
{
	int closed, error;

	if (!opens)
		return fail(EINVAL);
	closed = FM_finalize();
	error = errno;
	if (closed && error != EHOSTDOWN)
		return -1;
	if (--opens)
		return closed;
	drop_earlies(is_usable());
	FM_register(FMM_HANDLER, 0);
	posted = 0;
	posted_end = &posted;
	match_close();
	errno = error;
	return closed;
}

int FMM_send(unsigned dest, int tag, const void *buf, size_t bytes)
{
	const struct match_header header = { tag, (uint32_t)bytes };

	if (tag < 0 || (!buf && bytes) || bytes > FM_LONGEST - sizeof(header))
		return fail(EINVAL);
	if (!is_usable())
		return -1;
	return match_send(dest, &header, buf);
}

int FMM_irecv(int source, int tag, void *buf, size_t bytes, struct FMM_request *request)
{
	struct early **at, *early;

	if (!request || (!buf && bytes) || source < FMM_ANY || source >= margay_size() ||
	    tag < FMM_ANY)
		return fail(EINVAL);
	if (!is_usable())
		return -1;
	*request = (struct FMM_request){ .buf = buf, .room = bytes, .source = source, .tag = tag,
					 .state = REQUEST_POSTED };
	at = find_early(source, tag);
	if (!at) {
		*posted_end = request;
		posted_end = &request->next;
		return 0;
	}
	early = *at;
	*at = early->next;
	if (earlies_end == &early->next)
		earlies_end = at;
	request->state = REQUEST_TAKES;
	request->source = early->source;
	if (early->complete)
		hand_over(early, request);
	else
		early->taker = request;
	return 0;
}

/* Checks every LOOK_MS, however many messages of others come: the receive fails if its rank is
 * gone. What that rank has sent is taken first: there are no more than DRAIN packets of it. */
static void give_up_if_gone(struct FMM_request *request)
{
	struct FMM_request **at = &posted;
	int64_t now = fm_now();
	int gone = 0;

	if (request->look_at == 0)
		request->look_at = now + LOOK_MS;
	if (now < request->look_at)
		return;
	for (int i = 0; i < margay_size(); i++)
		if (request->source == FMM_ANY || request->source == i)
			gone |= FM_ask((unsigned)i) && errno == EHOSTDOWN;
	request->look_at = fm_now() + LOOK_MS;
	for (int i = 0; gone && i < DRAIN && request->state == REQUEST_POSTED; i++)
		if (match_extract() <= 0)
			break;
	if (!gone || request->state != REQUEST_POSTED)
		return;                 /* a receive that is filled ends if its handler fails */
	while (*at && *at != request)
		at = &(*at)->next;
	if (*at)
		take_off(at);
	request->error = EHOSTDOWN;
	request->state = REQUEST_DONE;
}

static int ended(const struct FMM_request *request, struct FMM_status *status)
{
	if (request->error)
		return fail(request->error);
	if (status)
		*status = request->status;
	return 0;
}

int FMM_test(struct FMM_request *request, struct FMM_status *status)
{
	if (!request)
		return fail(EINVAL);
	if (request->state != REQUEST_DONE && match_extract() < 0)
		return -1;
	if (request->state != REQUEST_DONE)
		give_up_if_gone(request);
	if (request->state != REQUEST_DONE)
		return 0;
	return ended(request, status) ? -1 : 1;
}

int FMM_wait(struct FMM_request *request, struct FMM_status *status)
{
	if (!request)
		return fail(EINVAL);
	while (request->state != REQUEST_DONE) {
		if (match_extract() < 0)
			return -1;
		if (request->state == REQUEST_DONE)
			break;
		if (FM_wait(LOOK_MS) < 0)
			return -1;
		give_up_if_gone(request);
	}
	return ended(request, status);
}

int FMM_recv(int source, int tag, void *buf, size_t bytes, struct FMM_status *status)
{
	struct FMM_request request;

	return FMM_irecv(source, tag, buf, bytes, &request) ? -1 : FMM_wait(&request, status);
}

/* Whether a rank is gone from which FMM_probe looks for a message. Asks each rank every LOOK_MS. */
static int is_gone(int source)
{
	static int64_t look_at[FM_RANKS];
	int64_t now = fm_now();
	int gone = 0;

	for (int i = 0; i < margay_size(); i++) {
		if ((source != FMM_ANY && source != i) || now < look_at[i])
			continue;
		if (FM_ask((unsigned)i) && errno == EHOSTDOWN)
			gone = 1;
		else
			look_at[i] = now + LOOK_MS;
	}
	return gone;
}

int FMM_probe(int source, int tag, struct FMM_status *status)
{
	struct early **at;
	int gone;

	if (source < FMM_ANY || source >= margay_size() || tag < FMM_ANY)
		return fail(EINVAL);
	if (!is_usable())
		return -1;
	at = find_early(source, tag);
	gone = !at && is_gone(source);  /* all that it has sent is there then */
	while (!at && match_extract() > 0)
		at = find_early(source, tag);
	if (!at)
		return gone ? fail(EHOSTDOWN) : 0;
	if (status)
		*status = (struct FMM_status){ (*at)->source, (*at)->header.tag,
					       (*at)->header.bytes };
	return 1;
}
