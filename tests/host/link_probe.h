/*
 * One link with a card that only takes notes: tests hand it frames and time, and
 * look at what it sends and says. The probe is node 0.
 */
#ifndef TESTS_LINK_PROBE_H
#define TESTS_LINK_PROBE_H
#include "../../net/link/wire.h"
#include "check.h"
#include "link_users.h"

#define PROBE_MTU       (WIRE_DATA + 256u)
#define PROBE_LONGEST   (WIRE_DATA + 2048u)   /* a test may set the card's MTU up to that */
#define PROBE_FRAGMENT  256u
#define PEER_LIFE       500u          /* the peers' incarnation */
#define PROBE_LIFE      1000u
#define PROBE_NOTES     256u

/* What a link has called: kind w(hole), b(egin), d(ata), e(nd), E(nd with failure),
 * s(ent), F(ailed), B (a brief one has failed), l(ost). */
struct note {
	char kind;
	uint32_t node, lane;
	uint64_t id;                  /* header's first 8 bytes; B, lost: 0 */
	uint64_t at, bytes;
};

struct probe {
	struct link_user_context user; /* its notes of calls */
	struct link *link;
	struct link_config config;    /* to be changed before probe_start */
	struct nic nic;
	uint64_t now;
	int card;                     /* what its send returns */
	int keeps;                    /* 1: it completes sends only when probe_complete says */
	uint64_t cookies[PROBE_NOTES];
	uint32_t kept;
	struct wire sent[PROBE_NOTES];  /* frames that left, in order */
	uint32_t to[PROBE_NOTES];
	uint8_t frames[PROBE_NOTES][PROBE_LONGEST]; /* the same, as they are on the wire */
	uint32_t n_sent, seen;
	struct note notes[PROBE_NOTES];
	uint32_t n_notes, noted;
	int busy;                     /* the begin or whole of this number says LINK_BUSY; 0: none */
	uint32_t life;                /* of the probe, as peers know it */
	uint32_t again;               /* so many messages are sent anew, to node 1, when they end */
	int cannot;                   /* 1: it cannot show payload */
	uint8_t *place;               /* where long messages lie, or null: no card can put them */
	uint64_t apart;               /* bytes from there to the message of a header that begins with 1,
	                                 2, ...; 0: all lie in the same place */
	const uint8_t *key;           /* with which probe_give signs, or null; at first the link's */
	void *memory;
};

void probe_open(struct probe *p);
void probe_start(struct probe *p);
/* With `empty`: no record may be in use. */
void probe_close(struct probe *p, int empty);

/* The next frame that left and was not looked at, or null. */
const struct wire *probe_next(struct probe *p);
/* The notes since the last time as letters ("w", "bdd"); p->notes has the details. */
const char *probe_story(struct probe *p);

/* What a frame is. */
static inline int probe_is_bare(const struct wire *wire)      /* only acknowledges */
{
	return wire->kind == WIRE_KIND_MSG && wire->messages == 0;
}

static inline int probe_is_data(const struct wire *wire)      /* a message, or part of one */
{
	return wire->kind == WIRE_KIND_MSG && wire->messages == 1 && !wire->announce;
}

/* A frame of a node, right in all but what the caller changes: part of a message of `length`
 * bytes, from `at` on; or a bare acknowledgement. probe_give hands it to the link, as `node`'s,
 * with a message header that begins with `id`. */
struct wire probe_data(uint32_t sequence, uint64_t length, uint64_t at);
struct wire probe_ack(uint32_t ack, uint64_t selective, uint32_t window);
void probe_give(struct probe *p, uint32_t node, const struct wire *wire, uint64_t id);
/* The same frame, as bytes: how many. For this card of the probe's. */
uint32_t probe_frame(struct probe *p, uint32_t node, uint32_t card, const struct wire *wire,
		     uint64_t id, uint8_t *frame);
/* A frame that the probe sends by any card; those of an aggregate are noted one by one. */
void probe_note_frame(struct probe *p, const struct nic_piece *pieces, uint32_t n);

/* Send a message of this length with that id: a request, or by any lane. */
int probe_send(struct probe *p, uint32_t node, uint64_t length, uint64_t id);
int probe_send_by(struct probe *p, uint32_t node, enum link_lane lane, uint64_t length,
		  uint64_t id);
void probe_pass(struct probe *p, uint64_t ns);  /* time, and ticks when they are due */
void probe_complete(struct probe *p);

#endif
