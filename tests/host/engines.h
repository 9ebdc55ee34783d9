/*
 * Engines that communicate over links in a simulated network, and checks of the results. Random
 * puts with and without acknowledgement, on the fast path and from pieces, gets, exchanges and
 * atomic operations, while nodes restart. Used by tests of net/frames and by the program that runs
 * long simulations (tests/netsim).
 *
 * Checked: every byte at the target and in replies, and no byte elsewhere; the order of each pair;
 * that each operation has its events once at both sides, with failure only if one of the two has
 * restarted; the sums that atomic operations make; and at the end that no record of an operation,
 * of the link or of the messages between them is left.
 */
#ifndef TESTS_ENGINES_H
#define TESTS_ENGINES_H
#include "../../host/fabric.h"

#define ENGINES_LEAST 128u         /* bounds of `longest` */
#define ENGINES_MOST  0xffffu

struct engines_config {
	uint32_t nodes;
	uint32_t operations;       /* in total */
	uint64_t seed;
	uint32_t longest;          /* most payload bytes of a put or get; 0: 6000 */
	uint32_t restarts;         /* restarts of nodes, one after the other */
	uint32_t announce;         /* bulk cards carry payload of at least so many bytes; 0: none */
	uint64_t most_time;        /* simulated ns: a run that takes longer hangs */
};

struct engines_result {
	uint32_t errors;           /* violations; the first few are printed */
	uint32_t started;          /* operations */
	uint32_t failed;           /* of these, failed by their initiators' events */
	uint32_t most_records;     /* in use at once in one node's link */
	uint32_t most_events;      /* pending at once in the network */
	uint64_t frames, resent, placed, ghosts; /* sums over all links at the end */
	uint64_t busy;             /* times that an engine had no operation record */
	uint64_t time;             /* simulated ns */
};

struct engines_result engines_run(const struct engines_config *config,
				  const struct netsim_config *network);

#endif
