/*
 * Engines and their judge, inside: see engines.h. Private to tests/host/engines*.c.
 *
 * An operation's match bits are its number and its record's, so that every event tells whose
 * it is. What it writes, at the target or by its reply, is a slot that no other operation has
 * until this one is over.
 */
#ifndef TESTS_ENGINES_STATE_H
#define TESTS_ENGINES_STATE_H
#include <portals3.h>
#include "../../lib/portals/eq_reader.h"
#include "engines.h"

#define BASE       0x40000000ULL
#define PATTERN    0x10000u       /* bytes that payload is cut from, at the segment's start */
#define ROTATED    0x9abcu        /* where in the pattern the descriptor in pieces begins */
#define PIECES_SMALL  40u          /* of that descriptor, of PIECE bytes each; then two long ones */
#define PIECE      100u
#define COUNTERS   8u             /* words that atomic operations add to, behind the pattern */
#define SHORTS     48u            /* slots of SHORT bytes, behind the counters */
#define SHORT      64u
#define LONGS      12u            /* slots of `longest` bytes, behind those */
#define SLOTS      (SHORTS + LONGS)
#define EMPTY      0xa5           /* every byte of a free slot */
#define BRIEFS     4u             /* descriptors of short puts without events */
#define WINDOW     6u             /* operations that a node has under way */
#define PORTAL     4u
#define NO_SLOT    0xffffu

enum kind { PUT, PIECES, BRIEF, GET, EXCHANGE, ADD, FETCH_ADD, KINDS };

struct op {
	uint64_t number;           /* counts all of the run from 1; 0: a free record */
	uint32_t next;             /* free records */
	uint32_t from, to;         /* initiator and target */
	uint8_t  kind;             /* enum kind */
	uint8_t  failed;           /* 1: an event of its initiator said so */
	uint8_t  unheard;          /* 1: no event would say so */
	uint8_t  mute;             /* 1: its initiator has died: it says no more */
	uint8_t  excused;          /* 1: its target has died since: it need not hear of it */
	uint16_t slot, reply;      /* what it writes at its target, and at its initiator */
	uint32_t at;               /* in the pattern, or the counter's index */
	uint32_t length;           /* bytes, of an atomic operation 8 */
	uint32_t seen_from, seen_to; /* bit per kind of event */
	uint64_t add, old;         /* atomic: what it adds, what it found */
};

struct engine {
	struct eq_reader out, in;  /* its queues: of what it starts, and of what comes */
	handle_t source, pieces, brief[BRIEFS]; /* descriptors that it sends from */
	uint32_t left;             /* operations to start */
	uint32_t under_way;        /* of those that it has started */
	uint32_t lives;            /* of its node, so far */
	uint64_t sums[COUNTERS];   /* what its counters are to be */
	uint8_t  taken[SLOTS];     /* 1: an operation has it */
	uint64_t *last;            /* per initiator: number of the last operation begun here */
};

struct engines {
	struct engines_config config;
	struct fabric fabric;
	struct process_view *views; /* per node */
	struct engine *engines;    /* per node */
	struct op *ops;            /* of all that are not over */
	uint32_t n_ops, free;      /* how many, and the first free one */
	uint64_t dice;             /* state of the random numbers */
	struct engines_result result;
};

/* Something that must not be. */
void engines_wrong(struct engines *e, const char *what, uint32_t node, uint64_t number);

/* ---- engines_node.c ---- */

extern const struct block_limits engines_limits;

/* Where slots are in a segment; that of SLOTS ends the last. */
uint64_t engines_slot_offset(const struct engines *e, uint32_t slot);
/* What the readers of event queues need lies behind the slots. */
uint64_t engines_words(const struct engines *e);
uint8_t *engines_slot(const struct engines *e, uint32_t node, uint32_t slot);
/* A free slot for so many bytes, or NO_SLOT; and back. */
uint16_t engines_take(struct engines *e, uint32_t node, uint32_t length);
void engines_give(struct engines *e, uint32_t node, uint16_t *slot, uint32_t length);
uint8_t engines_pattern(uint32_t node, uint32_t at);
/* Whether these bytes are the node's pattern from `at` on, which goes round. */
int engines_is_pattern(const struct engines *e, const uint8_t *bytes, uint32_t node, uint32_t at,
		       uint32_t length);
int engines_is_empty(const uint8_t *bytes, uint64_t length);
/* A life of a node's process begins: all its memory is as new. */
void engines_begin_life(struct engines *e, uint32_t node);

/* ---- engines_judge.c ---- */

#define BIT(event)  (1u << (event))
#define BOTH(start) (BIT(start) | BIT((start) + 1))

/* Events of a kind of operation at the initiator and at the target, a bit per kind. */
extern const struct engines_events {
	uint32_t from, to;
} engines_events[KINDS];

/* If both sides have heard all that they will, the record and the slots are free again. */
void engines_end(struct engines *e, struct op *op);
/* Judge the events that a node has. */
void engines_drain(struct engines *e, uint32_t node);
/* Nothing happens any more: judge what is left, and fill in the figures. */
void engines_judge_end(struct engines *e);

#endif
