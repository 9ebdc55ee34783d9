/*
 * A client of the protocol 9P2000.L, for the folders that the host shares with this node. Each has
 * its own device and server (drivers/virtio_9p.h). A fid is this client's number for a file or
 * folder of the server.
 *
 * All calls wait for the server, while other nodes' messages go on, and return a value of 0 or
 * more, or the server's -errno. -EIO: the device or the server violates the protocol. In system
 * calls only, interrupts off.
 */
#ifndef KERNEL_FILES_P9_H
#define KERNEL_FILES_P9_H
#include <stdbool.h>
#include <stdint.h>

#include <margay/abi.h>
#include "drivers/virtio_9p.h"

#define P9_ROOT       0u           /* fid of the shared folder */
#define P9_NAME_BYTES 255u         /* longest name of a file */

struct p9 {
	struct virtio_9p device;
	uint32_t most;             /* bytes of one message, as agreed; 0: not started yet */
};

/* The server's identification of a file when it is walked to or opened. */
struct p9_qid {
	uint8_t kind;              /* P9_QID_ bits */
	uint64_t path;             /* a number that is unique on the server */
};

/* Negotiates the protocol and attaches P9_ROOT, for the user `uid`. Before all others. */
int64_t p9_start(struct p9 *p9, uint32_t uid);

/* Makes fid `to` for the first `bytes` bytes of `path`, starting at folder `fid`: at most P9_NAMES
 * names between single slashes. With no name, `to` is the same as `fid`. Returns how many names
 * exist; qids[i] identifies the i-th. If that is fewer than the names given, `to` is not made. */
int64_t p9_walk(struct p9 *p9, uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                struct p9_qid *qids);
int64_t p9_clunk(struct p9 *p9, uint32_t fid);

/* Linux's open flags. p9_create makes a file in folder `fid`; the fid then is that open file. */
int64_t p9_open(struct p9 *p9, uint32_t fid, uint32_t flags, struct p9_qid *qid);
int64_t p9_create(struct p9 *p9, uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                  struct p9_qid *qid);

/* `memory` is read or written without a copy. A read returns fewer bytes if there are no more now; a
 * write at most one message's worth. */
int64_t p9_read(struct p9 *p9, uint32_t fid, uint64_t offset, void *memory, uint64_t bytes);
int64_t p9_write(struct p9 *p9, uint32_t fid, uint64_t offset, const void *memory,
                 uint64_t bytes);

int64_t p9_stat(struct p9 *p9, uint32_t fid, struct margay_stat *stat);

/* The attributes that p9_set changes. */
struct p9_change {
	uint32_t valid;            /* P9_SET_ bits */
	uint32_t mode;
	uint64_t bytes;
	struct margay_time access, modification;
};
int64_t p9_set(struct p9 *p9, uint32_t fid, const struct p9_change *change);

/* Lists folder entries from `offset` on (0, or `next` of the last one taken): gives each to `take`,
 * until that returns false. 1: there may be more; 0: that was all. */
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

/* A symbolic link's target, with a NUL after it: its length. -ENAMETOOLONG: longer than `most`. */
int64_t p9_readlink(struct p9 *p9, uint32_t fid, char *target, uint32_t most);

int64_t p9_sync(struct p9 *p9, uint32_t fid);

struct p9_space { uint64_t block_bytes, blocks, free, available, files, free_files; };
int64_t p9_space(struct p9 *p9, uint32_t fid, struct p9_space *space);

#endif
