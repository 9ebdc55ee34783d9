/*
 * Raw frames between the cards of two nodes; see selftest_frames.c.
 */
#ifndef KERNEL_SELFTEST_FRAMES_H
#define KERNEL_SELFTEST_FRAMES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the two nodes tell each other through shared memory. */
struct frames_shared {
	_Atomic uint64_t over;     /* number of the last part that node 0 has ended */
	_Atomic uint64_t last;     /* highest sequence number that node 1 got in this part */
	_Atomic uint64_t frames;   /* frames that it got in this part */
	_Atomic uint64_t bad;      /* damaged ones of these */
	_Atomic uint64_t bytes;    /* bytes of these frames, without the first */
	_Atomic uint64_t ns;       /* between the first and the last of them */
	_Atomic uint64_t strangers; /* frames for others that node 1's cards have let through */
};

enum frames_part { FRAMES_SIZES = 1, FRAMES_HALVES = 2, FRAMES_STREAMS = 4 };

/* Runs these parts on both nodes; `node_barrier` waits for the other one. Messages may go over
 * card 0 afterwards. False: there are no cards, or too little memory. Frames that are
 * lost or damaged are counted and printed. */
bool selftest_frames(struct frames_shared *shared, void (*node_barrier)(void), unsigned parts);

#endif
