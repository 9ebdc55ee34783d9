/*
 * The Portals part of the kernel as the rest of it sees it, and what its
 * files share. Interrupts are off in all of them.
 */
#ifndef KERNEL_PORTALS_H
#define KERNEL_PORTALS_H
#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/process/process.h"

/* Once, region checked and mapped, no segment yet: takes memory and maps the event area. */
void portals_start(void);

/* Once, before the node ends, whatever ended the application; may wait; never fails. */
void portals_stop(void);

/* Bring node.counters up to date with the process block's. */
void portals_count(void);

/* The interface is initialised: else a call returns PTL_NO_INIT. */
bool portals_is_open(void);

/* Deadline for operations under way of `bytes` bytes, at most the segment's. If one takes longer,
 * another node has damaged its record. */
uint64_t portals_deadline(uint64_t bytes);

/* `ni` is the interface's handle: else a call returns PTL_NI_INVALID. */
bool portals_is_interface(uint64_t ni);

/* Makes a system call of an engine function that takes only a handle. */
int64_t portals_with_handle(int (*call)(struct process_view *, handle_t), uint64_t handle);

#endif
