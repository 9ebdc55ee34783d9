/*
 * Records what several threads did to one block, in the order in which they held the lock: every
 * call of the owner, every begin and end, with arguments and results, numbered while the lock is
 * held; and the events that the owner read without the lock. The history is written to a file for
 * tests/histories.py, which replays it in the reference model.
 *
 * A line is "number thread word value value ...", values in decimal; `number`
 * is the step's turn under the lock, or 0 for a step without it (which belongs
 * right before the thread's next numbered step). The
 * values of each word are in the comments of test_concurrent_history.c.
 */
#ifndef TESTS_HISTORY_H
#define TESTS_HISTORY_H
#include <stdint.h>

#define HISTORY_VALUES 30

struct step {
	const char *word;
	uint64_t number;
	uint32_t thread, count;
	int64_t values[HISTORY_VALUES];
};

/* One thread's steps, in order. */
struct history {
	struct step *steps;
	uint32_t used, room;
	uint32_t thread;
};

void history_open(struct history *history, uint32_t thread, uint32_t room);
void history_close(struct history *history);

/* A step with its values: integers of any type. */
#define HISTORY(history, turn, name, ...) \
	history_add((history), (turn), (name), \
		    (const int64_t[]){ __VA_ARGS__ }, \
		    sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
void history_add(struct history *history, uint64_t number, const char *word,
		 const int64_t *values, uint32_t count);

/* Write the threads' steps to a file, thread by thread. */
void history_write(const struct history *histories, uint32_t threads, const char *path);

#endif
