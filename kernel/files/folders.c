/*
 * Open folders, and the current one. Data: their paths, which calls with relative paths need,
 * packed without gaps.
 */
#include "folders.h"

#include <stddef.h>

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/base/syscall.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "p9_regs.h"
#include "arguments.h"

#define KEPT_BYTES (64u << 10)

static char path_current[PATH_BYTES];    /* absolute, without a slash at its end */
static bool current_gone;          /* the current folder was removed */

static char kept[KEPT_BYTES];
static uint32_t kept_bytes;

/* ---- their paths ---- */

const char *path_kept(const struct open_file *file)
{
	return kept + file->folder - 1;
}

int64_t path_keep(struct open_file *file, const char *path)
{
	uint32_t bytes = (uint32_t)strlen(path) + 1;

	if (bytes > KEPT_BYTES - kept_bytes)
		return -EMFILE;
	memcpy(kept + kept_bytes, path, bytes);
	file->folder = kept_bytes + 1;
	kept_bytes += bytes;
	return 0;
}

/* Changes how many bytes are kept from `at` on, from `bytes` to `wanted`: the paths behind move. */
static void resize(uint32_t at, uint32_t bytes, uint32_t wanted)
{
	memmove(kept + at + wanted, kept + at + bytes, kept_bytes - at - bytes);
	kept_bytes += wanted - bytes;
	for (uint32_t i = 0; i < file_count(); i++)
		if (file_at(i)->folder > at + 1)
			file_at(i)->folder += wanted - bytes;
}

void path_forget(struct open_file *file)
{
	uint32_t at = file->folder - 1;

	if (!file->folder)
		return;
	file->folder = 0;
	resize(at, (uint32_t)strlen(kept + at) + 1, 0);
}

/* Whether `path` is `folder` or lies below it. */
static bool is_within(const char *path, const char *folder)
{
	uint64_t n = strlen(folder);

	return strlen(path) >= n && !memcmp(path, folder, n) && (!path[n] || path[n] == '/');
}

static bool moves(const struct open_file *file, const char *from)
{
	return file->folder && !file->gone && is_within(path_kept(file), from);
}

int64_t path_may_move(const char *from, const char *to)
{
	uint64_t before = strlen(from), after = strlen(to), all = kept_bytes;
	uint64_t longest = current_gone || !is_within(path_current, from) ? 0 : strlen(path_current);

	for (uint32_t i = 0; i < file_count(); i++) {
		if (!moves(file_at(i), from))
			continue;
		all += after - before;
		if (strlen(path_kept(file_at(i))) > longest)
			longest = strlen(path_kept(file_at(i)));
	}
	if (longest && longest - before + after >= PATH_BYTES)
		return -ENAMETOOLONG;
	return all > KEPT_BYTES ? -ENOMEM : 0;
}

void path_moved(const char *from, const char *to)
{
	uint32_t before = (uint32_t)strlen(from), after = (uint32_t)strlen(to);

	if (!current_gone && is_within(path_current, from)) {
		path_let_go();
		memmove(path_current + after, path_current + before,
		        strlen(path_current + before) + 1);
		memcpy(path_current, to, after);
	}
	for (uint32_t i = 0; i < file_count(); i++) {
		struct open_file *file = file_at(i);

		if (!moves(file, from))
			continue;
		resize(file->folder - 1, before, after);
		memcpy(kept + file->folder - 1, to, after);
	}
}

void path_removed(const char *path)
{
	for (uint32_t i = 0; i < file_count(); i++)
		if (file_at(i)->folder && !strcmp(path_kept(file_at(i)), path))
			file_at(i)->gone = true;
	if (!strcmp(path_current, path)) {
		current_gone = true;
		path_let_go();
	}
}

/* ---- the current folder ---- */

int64_t path_base(uint64_t at, const char **base)
{
	struct open_file *file;

	if ((int32_t)at == MARGAY_AT_CWD) {
		*base = path_current;
		return current_gone ? -ENOENT : 0;
	}
	file = file_of(at);
	if (!file)
		return -EBADF;
	if (!file->folder)
		return -ENOTDIR;
	*base = path_kept(file);
	return file->gone ? -ENOENT : 0;
}

void path_start(const char *path)
{
	path_let_go();
	memcpy(path_current, path, strlen(path) + 1);
	current_gone = false;
}

int64_t sys_chdir(uint64_t at, uint64_t address, uint64_t bytes)
{
	struct found *found = &path_first;
	struct open_file *file;
	int64_t error;

	if (!bytes) {
		error = path_itself(at, &file);
		if (error)
			return error;
		if (!file->folder)
			return -ENOTDIR;
		if (file->gone)
			return -ENOENT;
		path_start(path_kept(file));
		return 0;
	}
	error = path_argument("chdir", at, address, bytes, PATH_FOLLOW, found);
	if (error)
		return error;
	if (!found->exists)
		error = -ENOENT;
	else if (!(found->qid.kind & P9_QID_FOLDER))
		error = -ENOTDIR;
	else {
		path_start(found->path);
		path_hold(found, path_current);
	}
	path_release(found);
	return error;
}

int64_t sys_getcwd(uint64_t to, uint64_t room)
{
	const char *path = path_current[0] ? path_current : "/";
	uint64_t bytes = strlen(path) + 1;
	char *out;

	if (current_gone)
		return -ENOENT;
	if (room < bytes)
		return -ERANGE;
	out = user_range(to, bytes, USER_WRITE);
	if (!out)
		fault_bad_pointer("getcwd", to, bytes);
	memcpy(out, path, bytes);
	return (int64_t)bytes;
}

/* ---- their entries ---- */

/* Linux's struct dirent64 */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

struct listing {
	uint8_t *to;
	uint64_t room, used;
	uint64_t next;             /* offset of the next call */
	bool full;
};

static bool take(void *arg, const struct p9_entry *from)
{
	struct listing *list = arg;
	uint64_t name = strlen(from->name) + 1;
	uint64_t bytes = (offsetof(struct entry, name) + name + 7) & ~7ULL;
	struct entry entry = { from->qid.path, (int64_t)from->next, (uint16_t)bytes, from->type };

	if (bytes > list->room - list->used) {
		list->full = true;
		return false;
	}
	memset(list->to + list->used, 0, bytes);
	memcpy(list->to + list->used, &entry, offsetof(struct entry, name));
	memcpy(list->to + list->used + offsetof(struct entry, name), from->name, name);
	list->used += bytes;
	list->next = from->next;
	return true;
}

int64_t sys_list(uint64_t fd, uint64_t address, uint64_t bytes)
{
	struct open_file *file = file_of(fd);
	struct listing list = { .room = bytes };
	int64_t more = 1;

	if (!file)
		return -EBADF;
	if (!file->is_folder)
		return -ENOTDIR;
	list.to = user_range(address, bytes, USER_WRITE);
	if (!list.to)
		fault_bad_pointer("getdents", address, bytes);
	list.next = file->offset;
	while (more == 1 && !list.full)
		more = fs_list(file->mount, file->fid, list.next, take, &list);
	file->offset = list.next;
	if (list.used || more >= 0)
		return list.full && !list.used ? -EINVAL : (int64_t)list.used;
	return more;
}
