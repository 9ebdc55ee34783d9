/*
 * Internal declarations of the engines and of the checks: see engines.h. Private to
 * tests/host/engines*.c.
 *
 * An operation's match bits are its number and its record's index, so that every event identifies
 * its operation. It writes, at the target and by its reply, into slots that no other operation uses
 * until it is over.
 */
#ifndef TESTS_ENGINES_STATE_H
#define TESTS_ENGINES_STATE_H
#include <portals3.h>
#include "../../lib/portals/eq_reader.h"
#include "engines.h"

#define BASE       0x40000000ULL
#define PATTERN    0x10000u       /* bytes at the segment's start from which payload is taken */
#define ROTATED    0x9abcu        /* where in the pattern the descriptor of several pieces begins */
#define PIECES_SMALL  40u          /* its first pieces, of PIECE bytes each; two long ones follow */
#define PIECE      100u
#define COUNTERS   8u             /* words that atomic operations add to, after the pattern */
#define SHORTS     48u            /* slots of SHORT bytes, after the counters */
#define SHORT      64u
#define LONGS      12u            /* slots of `longest` bytes, after the short ones */
#define SLOTS      (SHORTS + LONGS)
#define EMPTY      0xa5           /* every byte of a free slot */
#define SHORT_SOURCES 4u          /* descriptors of short puts without events */
#define WINDOW     6u             /* operations of a node that are pending at once */
#define PORTAL     4u
#define NO_SLOT    0xffffu

enum kind { PUT, PIECES, SHORT_PUT, GET, EXCHANGE, ADD, FETCH_ADD, KINDS };

struct op {
	uint64_t number;           /* counts the operations of the run from 1; 0: a free record */
	uint32_t next;             /* free records */
	uint32_t from, to;         /* initiator and target */
	uint8_t  kind;             /* enum kind */
	uint8_t  failed;           /* 1: an event at its initiator said so */
	uint8_t  unheard;          /* 1: a failure would cause no event */
	uint8_t  mute;             /* 1: its initiator has died: no more events there */
	uint8_t  excused;          /* 1: its target has died since: no event is required there */
	uint16_t slot, reply;      /* the slots it writes, at its target and at its initiator */
	uint32_t at;               /* offset in the pattern, or the counter's index */
	uint32_t length;           /* bytes; 8 for an atomic operation */
	uint32_t seen_from, seen_to; /* events so far, a bit per kind */
	uint64_t add, old;         /* atomic: the addend, the old value */
};

struct engine {
	struct eq_reader out, in;  /* its queues: as an initiator, and as a target */
	handle_t source, pieces, short_sources[SHORT_SOURCES]; /* descriptors that it sends from */
	uint32_t left;             /* operations to start */
	uint32_t under_way;        /* its own, pending */
	uint32_t lives;            /* lives of its node so far */
	uint64_t sums[COUNTERS];   /* expected values of its counters */
	uint8_t  taken[SLOTS];     /* 1: an operation uses the slot */
	uint64_t *last;            /* per initiator: number of the last operation begun here */
};

struct engines {
	struct engines_config config;
	struct fabric fabric;
	struct process_view *views; /* per node */
	struct engine *engines;    /* per node */
	struct op *ops;            /* records of operations that are not over */
	uint32_t n_ops, free;      /* number of records, index of the first free one */
	uint64_t dice;             /* state of the random numbers */
	struct engines_result result;
};

/* Report a violation. */
void engines_wrong(struct engines *e, const char *what, uint32_t node, uint64_t number);

/* ---- engines_node.c ---- */

extern const struct block_limits engines_limits;

/* Offset of a slot in a segment; slot SLOTS would begin where the last one ends. */
uint64_t engines_slot_offset(const struct engines *e, uint32_t slot);
/* The words of the readers of event queues lie after the slots. */
uint64_t engines_words(const struct engines *e);
uint8_t *engines_slot(const struct engines *e, uint32_t node, uint32_t slot);
/* Take a free slot for so many bytes, or NO_SLOT; give it back. */
uint16_t engines_take(struct engines *e, uint32_t node, uint32_t length);
void engines_give(struct engines *e, uint32_t node, uint16_t *slot, uint32_t length);
uint8_t engines_pattern(uint32_t node, uint32_t at);
/* Whether these bytes are the node's pattern from offset `at` on; the pattern is cyclic. */
int engines_is_pattern(const struct engines *e, const uint8_t *bytes, uint32_t node, uint32_t at,
		       uint32_t length);
int engines_is_empty(const uint8_t *bytes, uint64_t length);
/* A life of a node's process begins: all its memory is initialized. */
void engines_begin_life(struct engines *e, uint32_t node);

/* ---- engines_judge.c ---- */

#define BIT(event)  (1u << (event))
#define BOTH(start) (BIT(start) | BIT((start) + 1))

/* The events of an operation of this kind at the initiator and at the target, a bit per event. */
extern const struct engines_events {
	uint32_t from, to;
} engines_events[KINDS];

/* If both sides have had all their events, free the record and the slots. */
void engines_end(struct engines *e, struct op *op);
/* Check the events that a node has. */
void engines_drain(struct engines *e, uint32_t node);
/* Nothing happens any more: check what is left, and fill in the figures. */
void engines_judge_end(struct engines *e);

#endif
