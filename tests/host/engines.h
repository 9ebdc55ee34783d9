/*
 * Engines that talk to each other over links in a simulated network, and the judge of what
 * they do. Puts with and without acknowledgement, by the short way and from pieces, gets,
 * exchanges and atomic operations, by dice, while nodes restart. Used by tests of net/frames
 * and by the program that runs long simulations (tests/netsim).
 *
 * Judged: every byte at the target and in replies, and no byte elsewhere; the order of each pair;
 * that each operation has its events once at both sides, with failure only if one of the two
 * has restarted; the sums that atomic operations make; and at the end that no record of an
 * operation, of the link or of the messages between them is left.
 */
#ifndef TESTS_ENGINES_H
#define TESTS_ENGINES_H
#include "../../host/fabric.h"

struct engines_config {
	uint32_t nodes;
	uint32_t operations;       /* altogether */
	uint64_t seed;
	uint32_t longest;          /* payload bytes of a put or get; 0: 6000 */
	uint32_t restarts;         /* times that a node dies and lives anew, one after the other */
	uint32_t announce;         /* payload bytes from which on bulk cards carry it, or 0 */
	uint64_t most_time;        /* simulated ns: a run that takes longer hangs */
};

struct engines_result {
	uint32_t errors;           /* things that must not be; the first few are printed */
	uint32_t started;          /* operations */
	uint32_t failed;           /* of them, as their initiators were told */
	uint32_t most_records;     /* of one node's link, in use at once */
	uint32_t most_events;      /* of the network, under way at once */
	uint64_t frames, resent, placed, ghosts; /* counters of all links that lived to the end */
	uint64_t busy;             /* times that an engine had no operation record */
	uint64_t time;             /* simulated ns */
};

struct engines_result engines_run(const struct engines_config *config,
				  const struct netsim_config *network);

#endif
