/*
 * A file system in this node's memory, for /tmp and for nodes to which the host shares nothing. It
 * has the calls of a host's server (p9.h), with the same fids, flags and errors. It belongs to this
 * node alone and ends with it. -ENOSPC: its memory is full.
 *
 * In system calls only, interrupts off; none waits.
 */
#ifndef KERNEL_FILES_MEMFS_H
#define KERNEL_FILES_MEMFS_H
#include "p9.h"

/* Takes `bytes` of memory for it. At boot. */
void memfs_start(uint64_t bytes);

int64_t memfs_walk(uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                   struct p9_qid *qids);
int64_t memfs_clunk(uint32_t fid);
int64_t memfs_open(uint32_t fid, uint32_t flags, struct p9_qid *qid);
int64_t memfs_create(uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                     struct p9_qid *qid);
int64_t memfs_read(uint32_t fid, uint64_t offset, void *to, uint64_t bytes);
int64_t memfs_write(uint32_t fid, uint64_t offset, const void *from, uint64_t bytes);
int64_t memfs_stat(uint32_t fid, struct margay_stat *stat);
int64_t memfs_set(uint32_t fid, const struct p9_change *change);
int64_t memfs_list(uint32_t fid, uint64_t offset,
                   bool (*take)(void *arg, const struct p9_entry *entry), void *arg);
int64_t memfs_make_folder(uint32_t fid, const char *name, uint32_t mode);
int64_t memfs_unlink(uint32_t fid, const char *name, bool folder);
int64_t memfs_rename(uint32_t from, const char *name, uint32_t to, const char *new_name);
int64_t memfs_link(uint32_t folder, uint32_t fid, const char *name);
int64_t memfs_symlink(uint32_t folder, const char *name, const char *target);
int64_t memfs_readlink(uint32_t fid, char *target, uint32_t most);
int64_t memfs_space(struct p9_space *space);

#endif
