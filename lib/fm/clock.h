/*
 * The clock of Fast Messages, its sockets and its layers of tagged messages. Private to lib/fm.
 */
#ifndef FM_CLOCK_H
#define FM_CLOCK_H
#include <stdint.h>
#include <time.h>

/* Monotonic milliseconds. */
static inline int64_t fm_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
