/*
 * Standard input: bytes that the launcher carries to the nodes that read them. For every
 * other node it has ended.
 */
#ifndef KERNEL_FILES_STDIN_H
#define KERNEL_FILES_STDIN_H
#include <stdbool.h>
#include <stdint.h>

/* The region is mapped: go on reading where an earlier life of this node stopped. */
void stdin_start(void);

/* Up to `bytes` bytes; waits for at least one, or returns -EAGAIN if not `waits`; 0 at the
 * end; -EINTR if an upcall is due before. A damaged ring is reported, and has ended. */
int64_t stdin_read(void *to, uint64_t bytes, bool waits);

/* Waits until there is input or its end, or until the deadline (time.h): MARGAY_READY_* as
 * they are then; -EINTR as stdin_read. */
int64_t stdin_await(uint64_t deadline);

#endif
