/*
 * matched [MESSAGES]: receiving by source and tag, as MPI does, without losing messages that come
 * before their receive.
 *
 *     tools/margay run -n 4 build/apps/matched.elf 100
 *
 * Every other rank sends MESSAGES numbered messages to rank 0, which receives
 * them in the opposite order. One match list does it all:
 *
 *     portal --> posted receive --> posted receive --> ... --> overflow, takes all
 *
 * A message goes to the first entry that matches: a posted receive, and lands in the user's buffer,
 * or the overflow buffer, where it is early. Posting a receive searches the early messages and then
 * adds an entry. No message may slip through between the two: PtlMDUpdate ensures that.
 */
#include "job.h"
#include <string.h>

enum {
	MESSAGE_PORTAL = 4,
	LONGEST = 64,                          /* bytes of a message */
	OVERFLOW = 1 << 20,                    /* bytes for early messages */
	EARLY = 4096                           /* most early messages */
};

struct early {
	ptl_match_bits_t bits;                 /* source and tag; 0: taken */
	const char *start;
	size_t bytes;
};

struct receiver {
	struct job job;
	ptl_handle_eq_t arrivals;              /* events of the overflow buffer */
	ptl_handle_eq_t posted;                /* events of posted receives */
	ptl_handle_me_t overflow;              /* the last entry of the list */
	struct early early[EARLY];
	int earlies, found_early;
};

static char overflow[OVERFLOW];

static ptl_match_bits_t bits_of(int source, int tag)
{
	return (ptl_match_bits_t)(source + 1) << 32 | (unsigned)tag;
}

static void receiver_open(struct receiver *r)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_handle_md_t md;

	job_check(PtlEQAlloc(r->job.ni, EARLY, PTL_EQ_HANDLER_NONE, &r->arrivals), "PtlEQAlloc");
	job_check(PtlEQAlloc(r->job.ni, 8, PTL_EQ_HANDLER_NONE, &r->posted), "PtlEQAlloc");
	job_check(PtlMEAttach(r->job.ni, MESSAGE_PORTAL, any_process, 0, ~0ULL, PTL_RETAIN,
	                      PTL_INS_AFTER, &r->overflow), "PtlMEAttach");
	job_check(PtlMDAttach(r->overflow,
	                      job_memory(overflow, sizeof overflow, PTL_MD_OP_PUT |
	                                 PTL_MD_EVENT_START_DISABLE, r->arrivals),
	                      PTL_RETAIN, &md), "PtlMDAttach");
}

/* Records the messages that have come into the overflow buffer. */
static void note_early(struct receiver *r)
{
	ptl_event_t event;

	while (PtlEQGet(r->arrivals, &event) == PTL_OK)
		r->early[r->earlies++] = (struct early){
			event.match_bits, (const char *)event.md.start + event.offset, event.mlength
		};
}

static struct early *find_early(struct receiver *r, ptl_match_bits_t bits)
{
	note_early(r);
	for (int i = 0; i < r->earlies; i++)
		if (r->early[i].bits == bits)
			return &r->early[i];
	return NULL;
}

/* Posts a receive into `buffer`, or returns the message if it has already come. The entry is
 * inactive (threshold 0) until the update, which is refused while the overflow's queue has an
 * event, or a message is on its way into the overflow. */
static struct early *post(struct receiver *r, ptl_match_bits_t bits, char *buffer)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_md_t inactive = job_memory(buffer, LONGEST, PTL_MD_OP_PUT | PTL_MD_TRUNCATE |
	                               PTL_MD_EVENT_START_DISABLE, r->posted);
	ptl_md_t active = inactive;
	struct early *early;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int rc;

	inactive.threshold = 0;
	active.threshold = 1;
	job_check(PtlMEInsert(r->overflow, any_process, bits, 0, PTL_UNLINK, PTL_INS_BEFORE, &me),
	          "PtlMEInsert");
	job_check(PtlMDAttach(me, inactive, PTL_UNLINK, &md), "PtlMDAttach");
	do {
		early = find_early(r, bits);
		if (early) {
			job_check(PtlMEUnlink(me), "PtlMEUnlink");
			return early;
		}
		rc = PtlMDUpdate(md, NULL, &active, r->arrivals);
	} while (rc == PTL_MD_NO_UPDATE);
	job_check(rc, "PtlMDUpdate");
	return NULL;
}

static size_t receive(struct receiver *r, int source, int tag, char *buffer)
{
	struct early *early = post(r, bits_of(source, tag), buffer);
	ptl_event_t event;

	if (early) {
		memcpy(buffer, early->start, early->bytes);
		early->bits = 0;
		r->found_early++;
		return early->bytes;
	}
	do {
		event = job_good_event(r->posted);
	} while (event.type != PTL_EVENT_PUT_END);  /* UNLINK: the entry was unlinked automatically */
	return event.mlength;
}

static size_t compose(char *text, int source, int tag)
{
	return (size_t)snprintf(text, LONGEST, "message %d of rank %d", tag, source) + 1;
}

/* Every other rank: sends each message from its own buffer, and waits for none. */
static void send_all(struct job *job, int messages)
{
	char (*text)[LONGEST] = calloc((size_t)messages, LONGEST);

	for (int tag = 0; text && tag < messages; tag++) {
		size_t bytes = compose(text[tag], job->rank, tag);
		ptl_handle_md_t md;

		/* threshold 1 and PTL_UNLINK: the descriptor is unlinked when the message is sent */
		job_check(PtlMDBind(job->ni, (ptl_md_t){ .start = text[tag], .length = bytes,
		                                         .threshold = 1 }, PTL_UNLINK, &md),
		          "PtlMDBind");
		job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(0), MESSAGE_PORTAL, 0,
		                 bits_of(job->rank, tag), 0, 0), "PtlPut");
	}
}

int main(int argc, char *argv[])
{
	static struct receiver r;
	int messages = argc > 1 ? atoi(argv[1]) : 10;
	char text[LONGEST], expected[LONGEST];

	job_start(&r.job);
	if (messages < 1 || messages * (r.job.size - 1) > EARLY) {
		fprintf(stderr, "usage: matched MESSAGES (at most %d over all ranks)\n", EARLY);
		return 2;
	}
	if (r.job.rank == 0)
		receiver_open(&r);
	job_barrier(&r.job);
	if (r.job.rank != 0)
		send_all(&r.job, messages);
	for (int tag = messages - 1; r.job.rank == 0 && tag >= 0; tag--)
		for (int source = 1; source < r.job.size; source++) {
			size_t bytes = receive(&r, source, tag, text);

			if (bytes != compose(expected, source, tag) || strcmp(text, expected) != 0) {
				fprintf(stderr, "wanted \"%s\", got \"%s\"\n", expected, text);
				return 1;
			}
		}
	if (r.job.rank == 0)
		printf("matched: %d messages, %d of them early\n", messages * (r.job.size - 1),
		       r.found_early);
	job_end(&r.job);
	return 0;
}
