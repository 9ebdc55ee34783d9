/*
 * What the two layers of tagged messages share: posted receives, and early messages. match.c owns
 * both; match1.c and match2.c move the bytes.
 */
#ifndef FM_MATCH_INNER_H
#define FM_MATCH_INNER_H
#include <fm.h>
#include <fm_match.h>

/* In front of each message; short enough to travel in a packet's header. */
struct match_header {
	int32_t tag;
	uint32_t bytes;
};

/* An early message: it has no receive yet. */
struct early {
	struct early *next;
	struct FMM_request *taker;      /* a receive that waits for its bytes */
	int source, complete, error;
	int dropped;                    /* the layer was closed before its bytes came */
	struct match_header header;
	_Alignas(16) char bytes[];
};

enum { REQUEST_POSTED, REQUEST_TAKES, REQUEST_DONE };

/* Removes and returns the posted receive that a message goes to; or null. */
struct FMM_request *match_posted(int source, const struct match_header *header);

/* Keeps a message without a receive; its bytes are still to be filled in. */
struct early *match_keep(int source, const struct match_header *header);

/* The bytes of an early message have come, or will not (errno `error`): a receive that waits for them
 * gets them. */
void match_kept(struct early *early, int error);

/* Completes a receive; it fails with errno `error`, or 0. */
void match_done(struct FMM_request *request, int source, const struct match_header *header,
		int error);

/* How many bytes of a message fit into a receive. */
static inline size_t match_room(const struct FMM_request *request,
				const struct match_header *header)
{
	return request->room < header->bytes ? request->room : header->bytes;
}

/* ---- what match1.c and match2.c have ---- */

int match_open(void);                   /* names the handler */
void match_close(void);
int match_extract(void);                /* extracts one step's worth, for a call that waits: above
                                           0 if there was anything */
int match_send(unsigned dest, const struct match_header *header, const void *buf);

#endif
