/*
 * Locks of files. The launcher keeps all of them (tools/margaylib/locks.py), as each node has its
 * own file server, which knows nothing of the others. Files in memory, streams, devices, and files
 * of a node without a launcher belong to one node: their locks never conflict.
 */
#ifndef KERNEL_FILES_LOCKS_H
#define KERNEL_FILES_LOCKS_H
#include "files.h"

/* A descriptor of this file was closed: the process's locks on the file end (POSIX), and with the
 * `last` descriptor of this open file its own locks. */
void lock_closed(struct open_file *file, bool last);

#endif
