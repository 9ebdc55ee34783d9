/*
 * Standard input: bytes that the launcher gives to the nodes that read them. For every other node
 * it is at its end.
 */
#ifndef KERNEL_FILES_STDIN_H
#define KERNEL_FILES_STDIN_H
#include <stdbool.h>
#include <stdint.h>

/* The region is mapped: continues reading where an earlier life of this node stopped. */
void stdin_start(void);

/* Reads up to `bytes` bytes; waits for at least one, or returns -EAGAIN if not `waits`; 0 at the
 * end; -EINTR if an upcall is due first. A damaged ring is reported, and counts as ended. */
int64_t stdin_read(void *to, uint64_t bytes, bool waits);

/* Waits until there is input or the end, or until the deadline (time.h). Returns MARGAY_READY_* as
 * they are then; -EINTR like stdin_read. */
int64_t stdin_await(uint64_t deadline);

#endif
