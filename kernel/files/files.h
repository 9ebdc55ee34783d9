/*
 * The open files, for the system calls on descriptors (descriptors.c) and on paths
 * (names.c, attributes.c).
 */
#ifndef KERNEL_FILES_FILES_H
#define KERNEL_FILES_FILES_H
#include "../../include/margay/abi.h"
#include "handed.h"
#include "paths.h"

#define OPEN_FILES  ((uint32_t)MARGAY_OPEN_FILES)
#define DESCRIPTORS OPEN_FILES

enum kind { KIND_CLOSED, KIND_STDIN, KIND_OUTPUT, KIND_HANDED, KIND_OUT, KIND_MOUNTED,
            KIND_NULL, KIND_ZERO, KIND_RANDOM };

struct open_file {
	uint8_t kind;
	bool is_folder;
	bool gone;                 /* a removed folder: its path may name another one now */
	bool appended;             /* its position is the file's end */
	bool appends;              /* the host's server always writes at its end */
	bool has_locks;            /* it may have locks of its own (locks.c) */
	bool has_process_locks;    /* the process may have locked the file through it */
	bool hidden;               /* unlinked: the file has a hidden name until it is closed */
	uint16_t stream;           /* KIND_OUTPUT, KIND_OUT: where bytes go */
	uint16_t number;           /* its own, from 1 on */
	uint32_t folder;           /* of a folder: index of its path (folders.c), plus one */
	uint32_t uses;             /* descriptors */
	uint32_t flags;            /* of open */
	uint32_t fid;              /* KIND_MOUNTED */
	struct mount *mount;       /* KIND_MOUNTED: of the host's, or in memory */
	uint64_t inode;
	uint64_t offset;
	uint64_t hidden_number;    /* number in its hidden name */
	struct file handed;        /* KIND_HANDED, KIND_OUT */
};

/* Opens the three streams. At boot. */
void file_start(void);

/* Closes all files, before the node ends. */
void file_stop(void);

/* A descriptor's, or null. */
struct open_file *file_of(uint64_t fd);

/* Finds a free descriptor and a free open file: the descriptor, -EMFILE, or -ENFILE if there is no
 * memory for another open file. file_use takes them into use. */
int64_t file_new(struct open_file **file);
void file_use(struct open_file *file, uint64_t fd);

/* An open file of this inode on the mount; the one of them that has the hidden name (names.c); or
 * null. */
struct open_file *file_with(const struct mount *mount, uint64_t inode);
struct open_file *file_hidden(const struct mount *mount, uint64_t inode);

/* The file's size is about to change: positions at its end become numbers, except that of `but`. */
void file_settle(const struct mount *mount, uint64_t inode, const struct open_file *but);

/* Forgets that the process has locks on this file. Returns whether it had. */
bool file_forget_process_locks(const struct mount *mount, uint64_t inode);

/* How many open files there is memory for, in use or not; the one at place i of them. */
uint32_t file_count(void);
struct open_file *file_at(uint32_t i);

/* The host's server changes attributes by a file's path, even if it is open. -ENOENT: another node
 * has removed it or put another file there. */
int64_t file_named(struct open_file *file);

/* What lseek's `whence` counts from, or -errno. */
int64_t file_from(struct open_file *file, uint64_t whence);

int64_t file_stat(struct open_file *file, struct margay_stat *stat);
void file_stat_name(const struct mount *mount, struct margay_stat *stat);
void file_stat_handed(const struct file *handed, struct margay_stat *stat);

/* The device of this path, or KIND_CLOSED; for /dev/stdin and the like *fd is its descriptor. */
enum kind device_of(const char *path, uint64_t *fd);
void file_stat_device(struct margay_stat *stat);

/* Whether a file of the job may be opened with these flags: 0, or -errno. */
int64_t file_may_open(const struct file *handed, uint32_t flags);

#endif
