/*
 * Messages of vRPC between two ranks, on exported memory. Each process exports one area, "vrpc",
 * with a part for each rank, which only that rank writes:
 *
 *   part of rank r   calls[2]     what r asks this process, in chunks: number n is in n % 2
 *                    replies[2]   what r answers this process
 *                    taken[2]     how many chunks of ours r has taken: calls, replies
 *
 * A chunk is a head and up to CHUNK bytes. A short one is one message of VMMC; its head has a sum
 * over all of it, by which the receiver knows that all of it is there. A long one is two: the
 * bytes, then the head. A message that fits a chunk is decoded where it lies; of a longer one the
 * chunks are gathered.
 *
 * Called by client.c and server.c. One thread. What waits halts the node.
 */
#ifndef LIB_VMMC_VRPC_LINK_H
#define LIB_VMMC_VRPC_LINK_H
#include <stddef.h>
#include <stdint.h>

enum { LINK_MOST = 64 << 20 };             /* bytes of a message */
enum way { WAY_CALL, WAY_REPLY };

/* Exports the area. VMMC_OK or an error; again: nothing. */
int vrpc_link_open(void);

/* Prepares to send to a rank: imports its area, for at most `timeout` ms. */
int vrpc_link_connect(int rank, int timeout);

/* Sends a message; waits for room at most `timeout` ms (negative: no limit). VMMC_*; after
 * VMMC_ETIMEDOUT nothing was sent, or the rest never will be, and the receiver passes it over. */
int vrpc_link_send(int rank, enum way way, const void *bytes, size_t count, int timeout);

/* 1 if a chunk of a message from `rank` is there. */
int vrpc_link_has(int rank, enum way way);

/* Waits for a message; it lies at *bytes until vrpc_link_release. VMMC_OK, VMMC_ETIMEDOUT,
 * VMMC_EDEAD, VMMC_ENOSPACE: no memory for it. */
int vrpc_link_receive(int rank, enum way way, int timeout, char **bytes, size_t *count);

/* The message is not looked at any more; the sender learns it with the next message to it, or
 * at once if `tell` is set. */
void vrpc_link_release(int rank, enum way way, int tell);

#endif
