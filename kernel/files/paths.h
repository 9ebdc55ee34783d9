/*
 * Resolves paths of the application. The host's folders (p9.h) are mounted at paths of the
 * application; folders above them contain nothing else. Symbolic links are followed here, within
 * the application's paths, so nothing outside of the mounts can be reached, wherever a link points.
 *
 * In system calls only, interrupts off; the calls wait for the host's server.
 */
#ifndef KERNEL_FILES_PATHS_H
#define KERNEL_FILES_PATHS_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/loader/parameters.h"
#include "fs.h"

#define PATH_BYTES   PARAMETER_PATH /* of a path, its NUL included */

enum path_flags {
	PATH_FOLLOW = 1,           /* follow the last name too if it is a link */
	PATH_FOLDER = 2,           /* find folder and name; the last name is not followed */
	PATH_NEW = 4               /* the missing name will be created */
};

/* How a path ends: with a name in a folder, "." or "..", or it is a mount itself or above mounts.
 * Only the first kind can be removed or renamed. */
enum path_end { END_NAME, END_DOT, END_DOTS, END_ROOT };

/* The result. Its fids are in use until path_release. */
struct found {
	struct mount *mount;       /* null: a folder above mounts */
	bool exists;               /* if not, only the last name is missing */
	bool has_folder;
	bool slash;                /* the path ends with one (PATH_FOLDER, or if it does not exist) */
	enum path_end end;         /* with PATH_FOLDER */
	uint32_t fid;              /* fid of the file, if it exists in a mount */
	uint32_t folder;           /* of its folder: with PATH_FOLDER and END_NAME, or if it does not
	                            * exist */
	struct p9_qid qid;
	char name[P9_NAME_BYTES + 1]; /* the last one; "" for a mount itself */
	char path[PATH_BYTES];     /* absolute, without links and dots, "" for the root */
};

/* There are two: for calls with two paths. */
extern struct found path_first, path_second;

/*
 * Resolve `path`, relative to `base` (as found->path) unless it begins with a slash. 0 or -errno:
 * ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES and the like.
 */
int64_t path_resolve(const char *base, const char *path, unsigned flags, struct found *found);
void path_release(struct found *found);

/* Keeps a fid of the current folder, which was found. Its path must stay at `path` until path_let_go. */
void path_hold(const struct found *found, const char *path);
void path_let_go(void);

/* Makes `path` absolute and without dots, in PATH_BYTES at `to`; links are not followed. False: it
 * is too long. */
bool path_spell(const char *base, const char *path, char *to);

/* Number of a mount of the host: 0 for the first. */
uint16_t mount_number(const struct mount *mount);

/* Mounts the host's next folder, or the file system in memory with `bytes` bytes.
 * `path` must stay valid. At boot. */
void path_mount_host(const char *path, bool read_only);
void path_mount_memory(const char *path, uint64_t bytes);

#endif
