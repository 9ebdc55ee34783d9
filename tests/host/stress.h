/*
 * The stress of test_concurrent_history.c: what its threads share, and the
 * senders. Every step goes into the history of its thread (history.h).
 */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H
#include "history.h"
#include "threads.h"

#define SENDERS   3u
#define THREADS   (1 + SENDERS)
#define SLOT      64u                   /* largest message; remote offset slot of a node */
#define COUNT     512u                  /* events of a queue */
#define AHEAD     (COUNT / 2)           /* events that senders may be ahead of the reader */
#define COMPUTED  (1ULL << 62)          /* hdr_data of atomics: not the payload is stored */

struct stress {
	struct shared shared;
	const struct region *region;
	struct history histories[THREADS];
	uint64_t turn;                  /* steps under the lock so far; by the lock */
	uint32_t steps;                 /* of the owner */
	uint64_t seed;
	_Atomic uint64_t recorded;      /* events, by all */
	_Atomic uint64_t taken;         /* events that the owner has read, or thrown away */
	_Atomic int over;               /* the owner has done its steps */
};

struct sender {
	struct stress *stress;
	struct shm_member self;
	struct history *history;
	uint64_t random;
	uint64_t message;               /* messages so far */
	uint32_t accepted;
};

/* Locked: the number of the step that is taken now. */
uint64_t stress_enter(struct stress *stress, const struct shm_member *self);
void stress_leave(struct stress *stress, const struct shm_member *self);

/* deliver_begin, tried again while it is BUSY, and deliver_end, as steps of the
 * history; `flight` pairs them, and is one thread's own. */
int stress_begin(struct stress *stress, const struct shm_member *self, struct history *history,
		 uint32_t flight, const struct message *message, struct grant *grant,
		 struct message *answer);
void stress_end(struct stress *stress, const struct shm_member *self, struct history *history,
		uint32_t flight, enum fail_type fail, struct grant *grant,
		struct message *answer);

/* Nothing, or a yield, or a short sleep. */
void stress_dawdle(uint64_t random);

/* A sender's thread: messages until the owner has done its steps. */
void *stress_send(void *sender);

#endif
