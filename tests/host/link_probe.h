/*
 * One link over a card that only records: tests give the link frames and time, and check what it
 * sends and which calls it makes. The probe is node 0.
 */
#ifndef TESTS_LINK_PROBE_H
#define TESTS_LINK_PROBE_H
#include "../../net/link/wire.h"
#include "check.h"
#include <string.h>
#include "link_users.h"

#define PROBE_MTU       (WIRE_DATA + 256u)
#define PROBE_LONGEST   (WIRE_DATA + 2048u)   /* greatest MTU that a test may set */
#define PROBE_FRAGMENT  256u
#define PEER_LIFE       500u          /* the peers' incarnation */
#define PROBE_LIFE      1000u
#define PROBE_NOTES     256u
#define MS              1000000ull    /* ns */

/* A call of the link to its user: kind w(hole), p(ut), b(egin), d(ata), e(nd), E(nd with failure), s(ent),
 * F(ailed), B (one of the fast path has failed), l(ost). */
struct note {
	char kind;
	uint32_t node, lane;
	uint64_t id;                  /* first 8 bytes of the header; 0 for B and l */
	uint64_t at, bytes;
};

struct probe {
	struct link_user_context user; /* records the link's calls */
	struct link *link;
	struct link_config config;    /* changes take effect before probe_start only */
	struct nic nic;
	struct nic *bulk;             /* the bulk card, or null */
	uint64_t now;
	int card;                     /* what the card's send returns */
	int keeps;                    /* 1: sends complete only by probe_complete */
	uint64_t cookies[PROBE_NOTES];
	uint32_t kept;
	struct wire sent[PROBE_NOTES];  /* frames sent, in order */
	uint32_t to[PROBE_NOTES];
	uint8_t frames[PROBE_NOTES][PROBE_LONGEST]; /* the same frames as they are on the wire */
	uint32_t n_sent, seen;
	struct note notes[PROBE_NOTES];
	uint32_t n_notes, noted;
	int busy;                     /* this call of begin or whole fails, busy; 0: none */
	int answers;                  /* 1: each call of whole, put and end sends an answer */
	uint32_t life;                /* the probe's incarnation that peers know */
	uint32_t again;   /* messages to send yet, to node 1: one at the end of each other */
	int cannot;                   /* 1: gather fails: the payload cannot be read */
	uint8_t *place;               /* where long messages go, or null: no card can place them */
	uint64_t apart;               /* bytes between places of messages 1, 2, ...; 0: one place */
	const uint8_t *key;           /* probe_give signs with it, or null; initially the link's */
	void *memory;
};

void probe_open(struct probe *p);
void probe_start(struct probe *p);
void probe_open_default(struct probe *p);  /* both, without a change */
/* With `empty`: no record may be in use. */
void probe_close(struct probe *p, int empty);

/* The next frame that was sent and not yet examined, or null. */
const struct wire *probe_next(struct probe *p);
/* The calls since the last time as letters ("w", "bdd"); p->notes has the details. */
const char *probe_story(struct probe *p);
#define TOLD(p, want) CHECK_TEXT(probe_story(p), want)

/* Kinds of frames. */
static inline int probe_is_bare(const struct wire *wire)      /* only acknowledges */
{
	return wire->kind == WIRE_KIND_MSG && wire->messages == 0;
}

static inline int probe_is_data(const struct wire *wire)      /* a message, or part of one */
{
	return wire->kind == WIRE_KIND_MSG && wire->messages == 1 && !wire->announce;
}

/* Bytes of a frame's header. */
static inline uint32_t probe_header(const struct wire *wire)
{
	if (wire->messages)
		return wire->puts ? WIRE_PUT_DATA : WIRE_DATA;
	return WIRE_HEADER;
}

/* The part behind the last one of a GRANT's last message. */
static inline uint32_t probe_until(const struct wire *grant)
{
	return (grant->reach ? 0 : grant->part) + grant->parts;
}

/*
 * Make a correct frame of a node, which the caller may then change: the part of a message of
 * `length` bytes that begins at `at`, or a bare acknowledgement. probe_give delivers it to the link
 * as a frame of `node`, with a message header that begins with `id`.
 */
struct wire probe_data(uint32_t sequence, uint64_t length, uint64_t at);
struct wire probe_ack(uint32_t ack, uint64_t selective, uint32_t window);
void probe_give(struct probe *p, uint32_t node, const struct wire *wire, uint64_t id);
/* The link receives a bare acknowledgement of node 1. */
void probe_give_ack(struct probe *p, uint32_t ack, uint64_t selective, uint32_t window);
/* Write the same frame as bytes; returns how many. For this card of the probe. */
uint32_t probe_frame(struct probe *p, uint32_t node, uint32_t card, const struct wire *wire,
		     uint64_t id, uint8_t *frame);
/* The frame that the probe's link sends by any card; frames of an aggregate are recorded one by
 * one. */
void probe_note_frame(struct probe *p, const struct nic_piece *pieces, uint32_t n);

/* Send a message of this length with this id: a request, or on any lane. */
int probe_send(struct probe *p, uint32_t node, uint64_t length, uint64_t id);
int probe_send_by(struct probe *p, uint32_t node, enum link_lane lane, uint64_t length,
		  uint64_t id);
void probe_pass(struct probe *p, uint64_t ns);  /* time passes, with ticks when they are due */
void probe_complete(struct probe *p);

#endif
