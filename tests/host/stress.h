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
#define AHEAD     (COUNT / 2)           /* how many events senders may be ahead of the reader */
#define COMPUTED  (1ULL << 62)          /* hdr_data of atomics: the memory gets a result */

struct stress {
	struct shared shared;
	const struct region *region;
	struct history histories[THREADS];
	uint64_t turn;                  /* steps under the lock so far; protected by it */
	uint32_t steps;                 /* that the owner takes */
	uint64_t seed;
	_Atomic uint64_t recorded;      /* events, by all */
	_Atomic uint64_t taken;         /* events that the owner has read or discarded */
	_Atomic int over;               /* the owner has taken all its steps */
};

struct sender {
	struct stress *stress;
	struct shm_member self;
	struct history *history;
	uint64_t random;
	uint64_t message;               /* messages so far */
	uint32_t accepted;
};

/* Under the lock: the number of this step. */
uint64_t stress_enter(struct stress *stress, const struct shm_member *self);
void stress_leave(struct stress *stress, const struct shm_member *self);

/* deliver_begin, repeated while it returns BUSY, and deliver_end, as steps of the history. `flight`
 * pairs the two; its values belong to one thread. */
int stress_begin(struct stress *stress, const struct shm_member *self, struct history *history,
		 uint32_t flight, const struct message *message, struct grant *grant,
		 struct message *answer);
void stress_end(struct stress *stress, const struct shm_member *self, struct history *history,
		uint32_t flight, enum fail_type fail, struct grant *grant,
		struct message *answer);

/* Do nothing, yield, or sleep briefly, at random. */
void stress_dawdle(uint64_t random);

/* A sender's thread: sends messages until the owner has taken all its steps. */
void *stress_send(void *sender);

#endif
