/*
 * Mounted file systems: folders of the host (p9.h), or the one in memory (memfs.h). Both
 * have the same calls, and these functions choose between them.
 */
#ifndef KERNEL_FILES_FS_H
#define KERNEL_FILES_FS_H
#include "kernel/process/process.h"
#include "memfs.h"

struct mount {
	const char *path;          /* absolute, without a slash at its end; "" is the root */
	bool read_only;
	bool in_memory;
	struct p9 p9;              /* if not */
};

/* Call before other calls on a mount; the first call starts it. */
static inline int64_t fs_start(struct mount *mount)
{
	return mount->in_memory ? 0 : p9_start(&mount->p9, this_process()->uid);
}

static inline int64_t fs_walk(struct mount *mount, uint32_t fid, uint32_t to, const char *path,
                              uint64_t bytes, struct p9_qid *qids)
{
	return mount->in_memory ? memfs_walk(fid, to, path, bytes, qids) :
	       p9_walk(&mount->p9, fid, to, path, bytes, qids);
}

static inline int64_t fs_clunk(struct mount *mount, uint32_t fid)
{
	return mount->in_memory ? memfs_clunk(fid) :
	       p9_clunk(&mount->p9, fid);
}

static inline int64_t fs_open(struct mount *mount, uint32_t fid, uint32_t flags,
                              struct p9_qid *qid)
{
	return mount->in_memory ? memfs_open(fid, flags, qid) :
	       p9_open(&mount->p9, fid, flags, qid);
}

static inline int64_t fs_create(struct mount *mount, uint32_t fid, const char *name,
                                uint32_t flags, uint32_t mode, struct p9_qid *qid)
{
	return mount->in_memory ? memfs_create(fid, name, flags, mode, qid) :
	       p9_create(&mount->p9, fid, name, flags, mode, qid);
}

static inline int64_t fs_read(struct mount *mount, uint32_t fid, uint64_t offset, void *to,
                              uint64_t bytes)
{
	return mount->in_memory ? memfs_read(fid, offset, to, bytes) :
	       p9_read(&mount->p9, fid, offset, to, bytes);
}

static inline int64_t fs_write(struct mount *mount, uint32_t fid, uint64_t offset,
                               const void *from, uint64_t bytes)
{
	return mount->in_memory ? memfs_write(fid, offset, from, bytes) :
	       p9_write(&mount->p9, fid, offset, from, bytes);
}

static inline int64_t fs_stat(struct mount *mount, uint32_t fid, struct margay_stat *stat)
{
	return mount->in_memory ? memfs_stat(fid, stat) :
	       p9_stat(&mount->p9, fid, stat);
}

static inline int64_t fs_set(struct mount *mount, uint32_t fid, const struct p9_change *change)
{
	return mount->in_memory ? memfs_set(fid, change) :
	       p9_set(&mount->p9, fid, change);
}

static inline int64_t fs_list(struct mount *mount, uint32_t fid, uint64_t offset,
                              bool (*take)(void *arg, const struct p9_entry *entry),
                              void *arg)
{
	return mount->in_memory ? memfs_list(fid, offset, take, arg) :
	       p9_list(&mount->p9, fid, offset, take, arg);
}

static inline int64_t fs_make_folder(struct mount *mount, uint32_t fid, const char *name,
                                     uint32_t mode)
{
	return mount->in_memory ? memfs_make_folder(fid, name, mode) :
	       p9_make_folder(&mount->p9, fid, name, mode);
}

static inline int64_t fs_unlink(struct mount *mount, uint32_t fid, const char *name,
                                bool folder)
{
	return mount->in_memory ? memfs_unlink(fid, name, folder) :
	       p9_unlink(&mount->p9, fid, name, folder);
}

static inline int64_t fs_rename(struct mount *mount, uint32_t from, const char *name,
                                uint32_t to, const char *new_name)
{
	return mount->in_memory ? memfs_rename(from, name, to, new_name) :
	       p9_rename(&mount->p9, from, name, to, new_name);
}

static inline int64_t fs_link(struct mount *mount, uint32_t folder, uint32_t fid,
                              const char *name)
{
	return mount->in_memory ? memfs_link(folder, fid, name) :
	       p9_link(&mount->p9, folder, fid, name);
}

static inline int64_t fs_symlink(struct mount *mount, uint32_t folder, const char *name,
                                 const char *target)
{
	return mount->in_memory ? memfs_symlink(folder, name, target) :
	       p9_symlink(&mount->p9, folder, name, target);
}

static inline int64_t fs_readlink(struct mount *mount, uint32_t fid, char *target,
                                  uint32_t most)
{
	return mount->in_memory ? memfs_readlink(fid, target, most) :
	       p9_readlink(&mount->p9, fid, target, most);
}

static inline int64_t fs_sync(struct mount *mount, uint32_t fid)
{
	return mount->in_memory ? 0 : p9_sync(&mount->p9, fid);
}

static inline int64_t fs_space(struct mount *mount, uint32_t fid, struct p9_space *space)
{
	return mount->in_memory ? memfs_space(space) : p9_space(&mount->p9, fid, space);
}

#endif
