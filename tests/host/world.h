/*
 * The host tests' world: a few processes with a block and a segment each, and short functions for
 * what tests do with them. Segments have canary bytes around them; addresses are those of the owner
 * (BASE + offset).
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H
#include "../../host/fabric.h"
#include "../../host/loop.h"
#include "../../net/portals/ac.h"
#include "../../net/portals/eq.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"
#include "../../net/portals/op.h"
#include "../../lib/portals/eq_reader.h"
#include "check.h"

#define BASE       0x40000000ULL
#define SEGMENT    0x10000u       /* bytes; the upper half holds readers' words */
#define WORDS      0x8000u        /* offset of the readers' words */
#define PROCESSES  3u
#define JOB        7u
#define PT         4u             /* the portal that tests use by default */

extern const struct block_limits small_limits;   /* 8 of everything: pools run out */
extern const struct block_limits test_limits;

struct world {
	struct loop loop;
	struct fabric *fabric; /* with CHECK_FRAMES (faults per million frames): carries messages */
	struct process_view views[PROCESSES];
	struct eq_reader readers[PROCESSES][8];
	uint8_t *maps[PROCESSES];     /* segments with their canaries */
	ptl_event_t event;            /* the event that next() took last */
};

/* Make a world of open interfaces, and end it, which checks that every pool is empty and no canary
 * has changed. world_drop ends a world that a test has damaged. */
void world_open(struct world *w, const struct block_limits *limits);
void world_close(struct world *w);
void world_drop(struct world *w);

/* Fill a segment's lower half with a pattern of the process; read bytes. */
void fill(struct world *w, uint32_t p);
uint8_t pattern(uint32_t p, uint64_t offset);
/* Whether [at, at + bytes) of process p contains the pattern of process q from `from` on. */
int shows(struct world *w, uint32_t p, uint64_t at, uint32_t q, uint64_t from, uint64_t bytes);

/* Make objects; the calls must succeed. */
handle_t new_eq(struct world *w, uint32_t p, uint32_t count);
handle_t new_me(struct world *w, uint32_t p, uint64_t bits);
handle_t new_me_with(struct world *w, uint32_t p, uint32_t pt, struct me_args args);
handle_t attach(struct world *w, uint32_t p, handle_t me, struct md_args args, int unlink);
handle_t bind(struct world *w, uint32_t p, struct md_args args, int unlink);
struct md_args memory(uint64_t offset, uint64_t length, uint32_t options, handle_t eq);

/* Messages, carried out when the call returns. */
struct initiator_args to(handle_t md, uint32_t nid, uint64_t bits);
int put(struct world *w, uint32_t from, struct initiator_args args);
int get(struct world *w, uint32_t from, struct initiator_args args);
int getput(struct world *w, uint32_t from, const struct initiator_args *args);
/* Process `from` has sent a put, which has not arrived yet. */
struct message sent_put(struct world *w, uint32_t from, const struct initiator_args *args);
struct message request(uint8_t operation, uint32_t from, uint32_t to, uint64_t bits,
		       uint64_t length);

/* The result of deliver_begin for this message, and the range; an accepted one is ended at once.
 * put_arrives: a put from process 1 to process 0. */
int arrives(struct world *w, uint32_t p, struct message m, uint64_t *offset, uint64_t *bytes);
int put_arrives(struct world *w, uint64_t bits, uint64_t length);

/* A target with 64 bytes at 1000, an initiator with 64 bytes at 2000. */
struct pair {
	handle_t me, md, eq;          /* at process 0, the target */
	handle_t source, events;      /* at process 1, the initiator */
};
struct pair pair_open(struct world *w, uint32_t options, int threshold, int unlink);
void pair_close(struct world *w, struct pair *pair);

/* Take the next event of a queue into w->event: its type, or -1 if none, or
 * -2 if events were lost before it. */
int next(struct world *w, uint32_t p, handle_t eq);

uint64_t status(struct world *w, uint32_t p, enum block_register index);

/* Remove these objects if they are still there. */
void remove_me(struct world *w, uint32_t p, handle_t me);
void remove_md(struct world *w, uint32_t p, handle_t md);
void remove_eq(struct world *w, uint32_t p, handle_t eq);

#endif
