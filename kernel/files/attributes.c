/*
 * The system calls on attributes, of a path or of an open file (an empty path).
 */
#include "files.h"

#include "kernel/base/errno.h"
#include "kernel/base/syscall.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "p9_regs.h"
#include "arguments.h"

#define MODE_ABOVE 0040555u        /* mode of folders above the mounts */

static void stat_above(struct margay_stat *stat)
{
	*stat = (struct margay_stat){ .inode = 1, .links = 2, .mode = MODE_ABOVE,
	                              .block_bytes = 4096 };
}

int64_t sys_stat(uint64_t at, uint64_t address, uint64_t bytes, uint64_t flags, uint64_t to)
{
	struct margay_stat *stat = user_range(to, sizeof(*stat), USER_WRITE), found_stat;
	struct found *found = &path_first;
	struct open_file *file;
	struct file handed = { 0 };
	uint64_t stream;
	int64_t error;

	if (!stat)
		fault_bad_pointer("stat", to, sizeof(*stat));
	if (!bytes && flags & MARGAY_AT_EMPTY) {
		error = path_itself(at, &file);
		if (!error)
			error = file_stat(file, &found_stat);
		if (!error)
			*stat = found_stat;
		return error;
	}
	error = path_copy("stat", address, bytes, path_of_call[0]);
	if (error)
		return error;
	if (path_handed(at, path_of_call[0], &handed)) {
		file_stat_handed(&handed, stat);
		return 0;
	}
	if (device_of(path_of_call[0], &stream) != KIND_CLOSED) {
		file_stat_device(stat);
		return 0;
	}
	error = path_argument("stat", at, address, bytes, flags & MARGAY_AT_NOFOLLOW ? 0 : PATH_FOLLOW,
	                found);
	if (error)
		return error;
	if (!found->mount)
		stat_above(&found_stat);
	else
		error = found->exists ? fs_stat(found->mount, found->fid, &found_stat) :
			-ENOENT;
	if (!error && found->mount)
		file_stat_name(found->mount, &found_stat);
	path_release(found);
	if (!error)
		*stat = found_stat;
	return error;
}

/* Changes an open file, or the file that a path names. */
static int64_t change(const char *call, uint64_t at, uint64_t address, uint64_t bytes,
                      unsigned flags, const struct p9_change *wanted)
{
	struct found *found = &path_first;
	struct open_file *file;
	int64_t error;

	if (!bytes) {
		error = path_itself(at, &file);
		if (error)
			return error;
		if (file->kind != KIND_MOUNTED)
			return -EINVAL;
		if (file->gone && !file->mount->in_memory)
			return -ENOENT;
		error = file->mount->read_only ? -EROFS : file_named(file);
		if (error)
			return error;
		if (wanted->valid & P9_SET_SIZE)
			file_settle(file->mount, file->inode, NULL);
		return fs_set(file->mount, file->fid, wanted);
	}
	error = path_argument(call, at, address, bytes, flags, found);
	if (error)
		return error;
	if (!found->mount)
		return -EROFS;
	if (found->exists && wanted->valid & P9_SET_SIZE)
		file_settle(found->mount, found->qid.path, NULL);
	if (!found->exists)
		error = -ENOENT;
	else
		error = found->mount->read_only ? -EROFS :
			fs_set(found->mount, found->fid, wanted);
	path_release(found);
	return error;
}

int64_t sys_chmod(uint64_t at, uint64_t address, uint64_t bytes, uint64_t mode)
{
	struct p9_change wanted = { .valid = P9_SET_MODE, .mode = mode & 07777 };

	return change("chmod", at, address, bytes, PATH_FOLLOW, &wanted);
}

int64_t sys_truncate(uint64_t at, uint64_t address, uint64_t bytes, uint64_t length)
{
	struct p9_change wanted = { .valid = P9_SET_SIZE, .bytes = length };
	struct open_file *file = bytes ? NULL : file_of((uint32_t)at);

	if ((int64_t)length < 0 ||
	    (file && !(file->flags & (MARGAY_O_WRONLY | MARGAY_O_RDWR))))
		return -EINVAL;
	return change("truncate", at, address, bytes, PATH_FOLLOW, &wanted);
}

static uint32_t valid_time(const struct margay_time *time, uint32_t now, uint32_t set)
{
	return time->ns == MARGAY_TIME_KEEP ? 0 : time->ns == MARGAY_TIME_NOW ? now : now | set;
}

int64_t sys_utimens(uint64_t at, uint64_t address, uint64_t bytes, uint64_t times,
                    uint64_t flags)
{
	const struct margay_time *from = user_range(times, 2 * sizeof(*from), USER_READ);
	struct margay_time wanted[2] = { { 0, MARGAY_TIME_NOW }, { 0, MARGAY_TIME_NOW } };

	if (times) {
		if (!from)
			fault_bad_pointer("utimensat", times, sizeof(wanted));
		wanted[0] = from[0];
		wanted[1] = from[1];
	}
	for (uint32_t i = 0; i < 2; i++)
		if ((wanted[i].ns < 0 || wanted[i].ns >= 1000000000) &&
		    wanted[i].ns != MARGAY_TIME_NOW && wanted[i].ns != MARGAY_TIME_KEEP)
			return -EINVAL;
	return change("utimensat", at, address, bytes, flags & MARGAY_AT_NOFOLLOW ? 0 : PATH_FOLLOW,
	              &(struct p9_change){
		.valid = valid_time(&wanted[0], P9_SET_ATIME, P9_SET_ATIME_TO) |
		         valid_time(&wanted[1], P9_SET_MTIME, P9_SET_MTIME_TO),
		.access = wanted[0], .modification = wanted[1],
	});
}

int64_t sys_statfs(uint64_t at, uint64_t address, uint64_t bytes, uint64_t to)
{
	struct margay_statfs *out = user_range(to, sizeof(*out), USER_WRITE);
	struct found *found = &path_first;
	struct p9_space space = { .block_bytes = 4096 };
	bool read_only = false;
	struct open_file *file;
	int64_t error;

	if (!out)
		fault_bad_pointer("statfs", to, sizeof(*out));
	if (!bytes) {
		error = path_itself(at, &file);
		read_only = !error && file->kind == KIND_MOUNTED && file->mount->read_only;
		if (!error && file->kind == KIND_MOUNTED)
			error = fs_space(file->mount, file->fid, &space);
	} else {
		error = path_argument("statfs", at, address, bytes, PATH_FOLLOW, found);
		if (error)
			return error;
		read_only = !found->mount || found->mount->read_only;
		if (found->mount)
			error = found->exists ? fs_space(found->mount, found->fid, &space) :
				-ENOENT;
		path_release(found);
	}
	if (!error)
		*out = (struct margay_statfs){
			.kind = 0x01021997, .block_bytes = (int64_t)space.block_bytes,
			.blocks = space.blocks, .free = space.free, .available = space.available,
			.files = space.files, .free_files = space.free_files,
			.name_bytes = P9_NAME_BYTES, .fragment_bytes = (int64_t)space.block_bytes,
			.flags = read_only ? MARGAY_STATFS_READ_ONLY : 0,
		};
	return error;
}
