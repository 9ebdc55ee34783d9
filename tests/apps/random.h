/*
 * Random numbers for test applications: xorshift64*, from `state`, which the program sets to a value
 * other than 0. Included by tests/apps/ only.
 */
#ifndef TESTS_APPS_RANDOM_H
#define TESTS_APPS_RANDOM_H
#include <stdint.h>

static unsigned long state;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545F4914F6CDD1Dull;
}

/* Below `limit`; 0 if that is 0. */
static uint64_t below(uint64_t limit)
{
	return limit ? (random64() >> 11) % limit : 0;
}
#endif
