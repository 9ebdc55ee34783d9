/*
 * A client of the protocol 9P2000.L: the folders that the host shares with this node, each by a
 * device and a server of its own (drivers/virtio_9p.h). A fid is a number of this client's for a
 * file or folder of the server's.
 *
 * All calls wait for the server, with other nodes' messages going on meanwhile, and return a
 * value of 0 or more, or -errno, as the server gives it. -EIO: the device or the server does
 * not keep to the protocol. In system calls only, interrupts off.
 */
#ifndef KERNEL_FILES_P9_H
#define KERNEL_FILES_P9_H
#include <stdbool.h>
#include <stdint.h>

#include <margay/abi.h>
#include "drivers/virtio_9p.h"

#define P9_ROOT       0u           /* fid of the folder that is shared */
#define P9_NAME_BYTES 255u         /* longest name of a file */

struct p9 {
	struct virtio_9p device;
	uint32_t most;             /* bytes of one message, as agreed; 0: not started yet */
};

/* What the server says of a file's kind when it is walked to or opened. */
struct p9_qid {
	uint8_t kind;              /* P9_QID_ bits */
	uint64_t path;             /* a number that no other file of the server's has */
};

/* Agree on the protocol and attach P9_ROOT, for the user `uid`. Before all others. */
int64_t p9_start(struct p9 *p9, uint32_t uid);

/* `to` is what the first `bytes` bytes of `path` name from folder `fid` on: at most P9_NAMES
 * names between single slashes, or none: then `to` is the same as `fid`. Returns how many
 * there were; qids[i] is what the i-th name is. If that is fewer than names, `to` is not
 * made. */
int64_t p9_walk(struct p9 *p9, uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                struct p9_qid *qids);
int64_t p9_clunk(struct p9 *p9, uint32_t fid);

/* Linux's open flags. p9_create makes a file in folder `fid`, which then is that file, open. */
int64_t p9_open(struct p9 *p9, uint32_t fid, uint32_t flags, struct p9_qid *qid);
int64_t p9_create(struct p9 *p9, uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                  struct p9_qid *qid);

/* Payload goes from and to `memory` without a copy; at most as much as a message holds. */
int64_t p9_read(struct p9 *p9, uint32_t fid, uint64_t offset, void *memory, uint64_t bytes);
int64_t p9_write(struct p9 *p9, uint32_t fid, uint64_t offset, const void *memory,
                 uint64_t bytes);

int64_t p9_stat(struct p9 *p9, uint32_t fid, struct margay_stat *stat);

/* What p9_set changes. */
struct p9_change {
	uint32_t valid;            /* P9_SET_ bits */
	uint32_t mode;
	uint64_t bytes;
	struct margay_time access, modification;
};
int64_t p9_set(struct p9 *p9, uint32_t fid, const struct p9_change *change);

/* Folder entries from `offset` on (0, or `next` of the last one that was taken): each is
 * given to `take`, until that says no. 1: there may be more; 0: that was all. */
struct p9_entry {
	struct p9_qid qid;
	uint64_t next;
	uint8_t type;              /* as d_type of Linux */
	char name[P9_NAME_BYTES + 1];
};
int64_t p9_list(struct p9 *p9, uint32_t fid, uint64_t offset,
                bool (*take)(void *arg, const struct p9_entry *entry), void *arg);

int64_t p9_make_folder(struct p9 *p9, uint32_t fid, const char *name, uint32_t mode);
int64_t p9_unlink(struct p9 *p9, uint32_t fid, const char *name, bool folder);
int64_t p9_rename(struct p9 *p9, uint32_t from, const char *name, uint32_t to,
                  const char *new_name);
int64_t p9_link(struct p9 *p9, uint32_t folder, uint32_t fid, const char *name);
int64_t p9_symlink(struct p9 *p9, uint32_t folder, const char *name, const char *target);

/* A symbolic link's target, NUL behind it: its length. -ENAMETOOLONG: longer than `most`. */
int64_t p9_readlink(struct p9 *p9, uint32_t fid, char *target, uint32_t most);

int64_t p9_sync(struct p9 *p9, uint32_t fid);

struct p9_space { uint64_t block_bytes, blocks, free, available, files, free_files; };
int64_t p9_space(struct p9 *p9, uint32_t fid, struct p9_space *space);

#endif
