/*
 * The messages' part of the kernel as the rest of it sees it, and what its
 * files share. portals_start and portals_stop are in node.h.
 * Interrupts are off in all of them.
 */
#ifndef KERNEL_PORTALS_H
#define KERNEL_PORTALS_H
#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/process/process.h"

/* How many of each object this job's blocks have: constant from portals_start on. All nodes
 * of a job run one image with one command line, so they have the same. */
const struct block_limits *portals_limits(void);

/* Bring node.counters up to date with the process block's. */
void portals_count(void);

/* The interface is initialised: else a call returns PTL_NO_INIT. */
bool portals_is_open(void);

/* When operations of so many bytes, at most the segment's, that are under way should have
 * ended: else another node has damaged their records. */
uint64_t portals_deadline(uint64_t bytes);

/* `ni` is the interface's handle: else a call returns PTL_NI_INVALID. */
bool portals_is_interface(uint64_t ni);

/* A call of the engine that takes nothing but a handle, as a system call. */
int64_t portals_with_handle(int (*call)(struct process_view *, handle_t), uint64_t handle);

#endif
