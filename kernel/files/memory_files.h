/*
 * A file system in this node's memory, for /tmp and for nodes to which the host shares nothing. It
 * has the calls of a host's server (p9.h), with the same fids, flags and errors. It belongs to this
 * node alone and ends with it. -ENOSPC: its memory is full.
 *
 * In system calls only, interrupts off; none waits.
 */
#ifndef KERNEL_FILES_MEMORY_FILES_H
#define KERNEL_FILES_MEMORY_FILES_H
#include "p9.h"

/* Takes `bytes` of memory for it. At boot. */
void memory_files_start(uint64_t bytes);

int64_t memory_walk(uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                    struct p9_qid *qids);
int64_t memory_clunk(uint32_t fid);
int64_t memory_open(uint32_t fid, uint32_t flags, struct p9_qid *qid);
int64_t memory_create(uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                      struct p9_qid *qid);
int64_t memory_read(uint32_t fid, uint64_t offset, void *to, uint64_t bytes);
int64_t memory_write(uint32_t fid, uint64_t offset, const void *from, uint64_t bytes);
int64_t memory_stat(uint32_t fid, struct margay_stat *stat);
int64_t memory_set(uint32_t fid, const struct p9_change *change);
int64_t memory_list(uint32_t fid, uint64_t offset,
                    bool (*take)(void *arg, const struct p9_entry *entry), void *arg);
int64_t memory_make_folder(uint32_t fid, const char *name, uint32_t mode);
int64_t memory_unlink(uint32_t fid, const char *name, bool folder);
int64_t memory_rename(uint32_t from, const char *name, uint32_t to, const char *new_name);
int64_t memory_link(uint32_t folder, uint32_t fid, const char *name);
int64_t memory_symlink(uint32_t folder, const char *name, const char *target);
int64_t memory_readlink(uint32_t fid, char *target, uint32_t most);
int64_t memory_space(struct p9_space *space);

#endif
