/*
 * What the fuzzer of frames knows of the link's inside: see consistent.c.
 */
#ifndef TESTS_FUZZ_FRAMES_H
#define TESTS_FUZZ_FRAMES_H
#include "../../../net/frames/frames.h"

/* Print and abort: libFuzzer keeps the input. */
_Noreturn void frames_fail(const char *what);
#define MUST(condition) \
	do { \
		if (!(condition)) \
			frames_fail(__FILE__ ": not so: " #condition); \
	} while (0)

/* What a peer that keeps to the rules would know of a flow. */
struct link_view {
	uint32_t mine, expected, una, next;
	uint32_t turn;             /* whosever it is */
	uint32_t bulk, part, part_bytes; /* of the announced message that is first: what it lacks */
	int has_rooms;             /* on the bulk card, as the link believes */
	int ready;                 /* somebody waits for the card */
};

struct link_view link_look(const struct link *link, uint32_t node, enum link_lane lane);

/* Everything that must always hold. */
void link_check(const struct link *link);

#endif
