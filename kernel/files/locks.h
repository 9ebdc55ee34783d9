/*
 * Locks of files: the launcher has them all (tools/margaylib/locks.py), as each node has a server
 * of its own, which knows nothing of the others'. A file in memory, a stream or a device is one
 * node's alone, and so is a file of a node that has no launcher: those are never in the way.
 */
#ifndef KERNEL_FILES_LOCKS_H
#define KERNEL_FILES_LOCKS_H
#include "files.h"

/* A descriptor of this file is closed: the process's locks on the file end with it (POSIX), and
 * with the `last` one of this open file its own. */
void lock_closed(struct open_file *file, bool last);

#endif
