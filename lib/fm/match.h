/*
 * What the two layers of tagged messages share: posted receives, and messages that came before
 * theirs. match.c owns both; match1.c and match2.c move the bytes.
 */
#ifndef FM_MATCH_INNER_H
#define FM_MATCH_INNER_H
#include <fm.h>
#include <fm_match.h>

/* In front of each message; as long as what travels in a packet's header. */
struct match_header {
	int32_t tag;
	uint32_t bytes;
};

/* A message without a receive. */
struct early {
	struct early *next;
	struct FMM_request *taker;      /* a receive that waits for its bytes */
	int source, complete, failed;
	unsigned order;                 /* its memory's size is EARLY_LEAST << order */
	struct match_header header;
	_Alignas(16) char bytes[];
};

enum { REQUEST_POSTED, REQUEST_TAKES, REQUEST_DONE };

/* The posted receive that a message goes to, off its list; or null. */
struct FMM_request *match_posted(int source, const struct match_header *header);

/* Keeps a message without a receive; its bytes are still to be filled in. */
struct early *match_keep(int source, const struct match_header *header);

/* Its bytes are there (or `failed`): a receive that waits for them gets them. */
void match_kept(struct early *early, int failed);

/* A receive has its bytes. */
void match_done(struct FMM_request *request, int source, const struct match_header *header,
		int failed);

/* How much of a message a receive has room for. */
static inline size_t match_room(const struct FMM_request *request,
				const struct match_header *header)
{
	return request->room < header->bytes ? request->room : header->bytes;
}

/* ---- what match1.c and match2.c have ---- */

int match_open(void);                   /* names the handler */
void match_close(void);
void match_extract(void);               /* what a call that waits takes at a time */
int match_send(unsigned dest, const struct match_header *header, const void *buf);

#endif
