/*
 * Paths: see paths.h. Data: the mounts, the two results, and the fid of the current folder. The host's
 * server takes as long for a walk as the square of its names, so walks into that folder begin there.
 */
#include "paths.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/cpu/vectors.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "p9_regs.h"

#define LINKS_MOST 40u             /* followed in one path (Linux's limit) */
#define FID_CURRENT 5u

struct found path_first, path_second;

static struct mount mounts[PARAMETER_DIRS + 1];
static uint32_t number, hosts;     /* of mounts, and those of the host's folders */
static char rest[PATH_BYTES];      /* the part of the path not resolved yet */
static char wanted[PATH_BYTES];    /* within the mount: the path to walk next */
static char target[PATH_BYTES];    /* of a link */

/* The current folder, if it has a fid. */
static struct {
	struct mount *mount;       /* a host's; null: it has none */
	const char *path;          /* names in the mount, one or more, of folders without links */
	struct p9_qid qid;
} current;

static void copy(char *to, const char *from)
{
	memmove(to, from, strlen(from) + 1);
}

/* ---- mounts ---- */

static struct mount *add(const char *path)
{
	struct mount *mount = &mounts[number++];

	path_first.fid = 1;        /* P9_ROOT is 0; FID_CURRENT is 5 */
	path_first.folder = 2;
	path_second.fid = 3;
	path_second.folder = 4;
	mount->path = path;
	return mount;
}

void path_mount_host(const char *path, bool read_only)
{
	struct mount *mount = add(path);

	mount->read_only = read_only;
	if (!virtio_9p_find(&mount->p9.device, hosts++, VECTOR_FILES))
		panic("folder %s: the device of the host's file server is missing or unusable",
		      path);
}


uint16_t mount_number(const struct mount *mount)
{
	return (uint16_t)(mount - mounts);
}

/* Whether `path` is `prefix` or lies below it. */
static bool is_below(const char *path, const char *prefix)
{
	uint64_t n = strlen(prefix);

	return strlen(path) >= n && !memcmp(path, prefix, n) && (path[n] == '/' || !path[n]);
}

/* The mount that a path lies in: the one with the longest path; or null. */
static struct mount *mount_of(const char *path)
{
	struct mount *best = 0;

	for (uint32_t i = 0; i < number; i++)
		if (is_below(path, mounts[i].path) &&
		    (!best || strlen(mounts[i].path) > strlen(best->path)))
			best = &mounts[i];
	return best;
}

static bool is_above_mounts(const char *path)
{
	for (uint32_t i = 0; i < number; i++)
		if (is_below(mounts[i].path, path))
			return true;
	return !*path;
}

/* Makes the folders of the file system in memory that lead to a mount in it. */
static void make_folders(const char *names)
{
	char name[P9_NAME_BYTES + 1];
	struct p9_qid qid;
	uint32_t at = P9_ROOT;

	while (*names) {
		uint64_t n = 0;

		for (; names[n] && names[n] != '/' && n < P9_NAME_BYTES; n++)
			name[n] = names[n];
		name[n] = 0;
		memfs_make_folder(at, name, 0755);
		if (memfs_walk(at, path_first.fid, name, n, &qid) < 0)
			break;
		at = path_first.fid;
		names += n + (names[n] == '/');
	}
	if (at != P9_ROOT)
		memfs_clunk(at);
}

void path_mount_memory(const char *path, uint64_t bytes)
{
	struct mount *mount = add(path);

	mount->in_memory = true;
	memfs_start(bytes);
	if (!path[0])
		memfs_make_folder(P9_ROOT, "tmp", 01777);
	for (uint32_t i = 0; i < hosts; i++)
		if (is_below(mounts[i].path, path) && mounts[i].path[strlen(path)])
			make_folders(mounts[i].path + strlen(path) + 1);
}

/* ---- text ---- */

static uint64_t name_bytes(const char *path)
{
	uint64_t n = 0;

	while (path[n] && path[n] != '/')
		n++;
	return n;
}

/* The first name of `path`, after slashes. */
static const char *name_in(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static bool is_name(const char *name, const char *text)
{
	return name_bytes(name) == strlen(text) && !memcmp(name, text, strlen(text));
}

/* Appends a slash and `n` bytes to a path. False: too long. */
static bool append(char *path, const char *name, uint64_t n)
{
	uint64_t used = strlen(path);

	if (n + 1 >= PATH_BYTES - used)
		return false;
	path[used] = '/';
	memcpy(path + used + 1, name, n);
	path[used + 1 + n] = 0;
	return true;
}

/* Removes the last name. */
static void ascend(char *path)
{
	uint64_t n = strlen(path);

	while (n && path[n] != '/')
		n--;
	path[n] = 0;
}

bool path_spell(const char *base, const char *path, char *to)
{
	copy(to, path[0] == '/' ? "" : base);
	while (*(path = name_in(path))) {
		if (is_name(path, ".."))
			ascend(to);
		else if (!is_name(path, ".") && !append(to, path, name_bytes(path)))
			return false;
		path += name_bytes(path);
	}
	return true;
}

/* ---- walking ---- */

static uint8_t kinds[PATH_BYTES / 2]; /* kinds of the names walked */

/* Length of the first `most` names of `path`, or of all. */
static uint64_t first_names(const char *path, uint32_t most, uint32_t *names)
{
	uint64_t n = 0;

	*names = 0;
	while (path[n] && *names < most) {
		if (*names)
			n++;           /* the slash */
		n += name_bytes(path + n);
		++*names;
	}
	return n;
}

/* Begins a walk in the current folder, if `path` leads there. Returns how many names were skipped. */
static uint32_t skip(const struct mount *mount, const char **path, uint32_t *from, struct p9_qid *qid)
{
	uint32_t names;
	uint64_t bytes;

	if (mount != current.mount || !is_below(*path, current.path))
		return 0;
	bytes = first_names(current.path, PATH_BYTES, &names);
	memset(kinds, P9_QID_FOLDER, names);
	*path += bytes + ((*path)[bytes] == '/');
	*from = FID_CURRENT;
	*qid = current.qid;
	return names;
}

/*
 * Walks to `path` in a mount, names between single slashes. Returns how many names exist, and sets
 * their kinds. If all exist, `fid` is the last one, and *qid identifies it.
 */
static int64_t walk(struct mount *mount, const char *path, uint32_t fid, struct p9_qid *qid)
{
	struct p9_qid qids[P9_NAMES];
	uint32_t done, now, from = P9_ROOT;

	*qid = (struct p9_qid){ .kind = P9_QID_FOLDER };
	done = skip(mount, &path, &from, qid);
	do {
		uint64_t bytes = first_names(path, P9_NAMES, &now);
		int64_t got = fs_walk(mount, from, fid, path, bytes, qids);

		if (got == -ENOENT)
			got = 0;
		if (got < (int64_t)now && from == fid)
			fs_clunk(mount, fid);
		if (got < 0)
			return got;
		for (uint32_t i = 0; i < (uint32_t)got; i++)
			kinds[done + i] = qids[i].kind;
		if (got)
			*qid = qids[got - 1];
		done += (uint32_t)got;
		if ((uint32_t)got < now)
			return done;
		from = fid;
		path += bytes + (path[bytes] == '/');
		if (*path && now && kinds[done - 1] & P9_QID_LINK) {
			fs_clunk(mount, fid);  /* step() follows it; nothing is below the link itself */
			return done;
		}
	} while (*path);
	return done;
}

/* ---- resolving ---- */

/* A path being resolved: found->path is the finished part, an absolute path of folders without
 * links. */
struct task {
	struct found *found;
	const char *rest;          /* in `rest` */
	unsigned flags;
	uint32_t links;            /* followed so far */
	bool has_fid;
};

/* The names of `wanted` after the mount's path and the slash. */
static const char *inside(const struct mount *mount, const char *path)
{
	return path + strlen(mount->path) + (path[strlen(mount->path)] == '/');
}

static uint32_t count_names(const char *path)
{
	uint32_t names;

	first_names(path, PATH_BYTES, &names);
	return names;
}

/* Cuts `wanted` after its name number `n`; 0 is the first one in the mount. */
static void cut(const struct mount *mount, uint32_t n)
{
	uint32_t names;
	const char *from = inside(mount, wanted);
	uint64_t bytes = first_names(from, n, &names);

	wanted[(uint64_t)(from - wanted) + bytes] = 0;
	if (!n)
		wanted[strlen(mount->path)] = 0;
}

/* Follows link number `n` of `wanted`: its target becomes the beginning of the rest. */
static int64_t follow(struct task *task, struct mount *mount, uint32_t n)
{
	struct found *found = task->found;
	const char *behind;
	struct p9_qid qid;
	uint32_t names;
	uint64_t used;
	int64_t bytes;

	if (++task->links > LINKS_MOST)
		return -ELOOP;
	behind = inside(mount, wanted);
	behind += first_names(behind, n + 1, &names);
	/* The names after the link in `wanted`, and the part not looked at yet. */
	copy(target, behind);
	used = strlen(target);
	if (used + strlen(task->rest) + 1 >= PATH_BYTES)
		return -ENAMETOOLONG;
	copy(target + used, task->rest);
	cut(mount, n + 1);
	bytes = walk(mount, inside(mount, wanted), found->fid, &qid);
	if (bytes < 0)
		return bytes;
	if (bytes != (int64_t)n + 1)
		return -ENOENT;        /* it has been removed meanwhile */
	used = strlen(target);
	bytes = fs_readlink(mount, found->fid, rest, PATH_BYTES - 1);
	fs_clunk(mount, found->fid);
	if (bytes < 0)
		return bytes;
	if ((uint64_t)bytes + used >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (!bytes)
		return -ENOENT;
	memcpy(rest + bytes, target, used + 1);
	task->rest = rest;
	cut(mount, n);
	copy(found->path, rest[0] == '/' ? "" : wanted);
	return 0;
}

/* Appends the next names of the path to found->path, in `wanted`, up to a dot or the border of a
 * mount. Anything above a mount counts as a folder. Returns how many names, or -errno. */
static int64_t gather(struct task *task)
{
	const struct mount *mount = mount_of(task->found->path);
	const char *name;
	uint32_t n = 0;

	copy(wanted, task->found->path);
	while (*(name = name_in(task->rest))) {
		uint64_t bytes = name_bytes(name);

		if (is_name(name, ".") || is_name(name, "..") || (!mount && n))
			break;
		if (bytes > P9_NAME_BYTES)
			return -ENAMETOOLONG;
		if (!append(wanted, name, bytes))
			return -ENAMETOOLONG;
		if (mount_of(wanted) != mount || is_above_mounts(wanted)) {
			if (n)             /* resolve up to here first: there may be a link */
				ascend(wanted);
			else
				task->rest = name + bytes;
			return 1;
		}
		task->rest = name + bytes;
		n++;
	}
	return n;
}

static bool is_last(const struct task *task)
{
	return !*name_in(task->rest);
}

/* Handles a missing name: number `there` of `all` gathered names. */
static int64_t missing(struct task *task, struct mount *mount, uint32_t there, uint32_t all)
{
	struct found *found = task->found;
	const char *name = inside(mount, wanted);
	uint32_t names;
	uint64_t bytes;

	if (there + 1 < all || !is_last(task))
		return there && !(kinds[there - 1] & P9_QID_FOLDER) ? -ENOTDIR : -ENOENT;
	if (there && !(kinds[there - 1] & P9_QID_FOLDER))
		return -ENOTDIR;
	bytes = first_names(name, there, &names);
	name += bytes + (there != 0);
	memcpy(found->name, name, name_bytes(name) + 1);
	found->exists = false;
	found->slash |= *task->rest == '/';
	copy(found->path, wanted);
	return 0;
}

/* Walks the new names in `wanted`, from number `from` on. 1: go on; 0: that was all. */
static int64_t step(struct task *task, struct mount *mount, uint32_t from)
{
	struct found *found = task->found;
	uint32_t all = count_names(inside(mount, wanted));
	bool slash = *task->rest == '/';
	int64_t there = walk(mount, inside(mount, wanted), found->fid, &found->qid);

	if (there < 0)
		return there;
	for (uint32_t i = from; i < (uint32_t)there; i++) {
		bool last = i + 1 == all && is_last(task) && !slash;

		if (!(kinds[i] & P9_QID_LINK) || (last && !(task->flags & PATH_FOLLOW)))
			continue;
		if ((uint32_t)there == all)
			fs_clunk(mount, found->fid);
		there = follow(task, mount, i);
		return there ? there : 1;
	}
	if ((uint32_t)there < all)
		return missing(task, mount, (uint32_t)there, all);
	copy(found->path, wanted);
	if (slash && !(found->qid.kind & P9_QID_FOLDER)) {
		unsigned creates = PATH_FOLLOW | PATH_NEW;

		fs_clunk(mount, found->fid);
		return is_last(task) && (task->flags & creates) == creates ? -EISDIR : -ENOTDIR;
	}
	if (is_last(task)) {
		found->exists = task->has_fid = true;
		return 0;
	}
	fs_clunk(mount, found->fid);
	return 1;
}

/* Handles dots at the start of the rest. */
static void take_dots(struct task *task)
{
	for (;;) {
		const char *name = name_in(task->rest);

		if (is_name(name, ".."))
			ascend(task->found->path);
		else if (!is_name(name, "."))
			return;
		task->rest = name + name_bytes(name);
	}
}

static int64_t run(struct task *task)
{
	struct found *found = task->found;

	for (;;) {
		struct mount *mount;
		uint32_t before;
		int64_t result;

		take_dots(task);
		if (is_last(task))
			return 0;
		mount = mount_of(found->path);
		before = mount ? count_names(inside(mount, found->path)) : 0;
		result = gather(task);
		if (result < 0)
			return result;
		if (!mount || mount_of(wanted) != mount || is_above_mounts(wanted)) {
			if (!mount_of(wanted) && !is_above_mounts(wanted))
				return is_last(task) && task->flags & PATH_NEW ? -EROFS : -ENOENT;
			copy(found->path, wanted);
			continue;
		}
		result = fs_start(mount);
		if (!result)
			result = step(task, mount, before);
		if (result <= 0)
			return result;
	}
}

/* Finds the folder of the result, and its name there. */
static int64_t find_folder(struct found *found)
{
	struct mount *mount = found->mount;
	const char *name = inside(mount, found->path), *last = name;
	struct p9_qid qid;
	int64_t there;

	for (; *name; name++)
		if (*name == '/')
			last = name + 1;
	memcpy(found->name, last, strlen(last) + 1);
	copy(wanted, found->path);
	ascend(wanted);
	there = walk(mount, inside(mount, wanted), found->folder, &qid);
	if (there < 0)
		return there;
	if (there < (int64_t)count_names(inside(mount, wanted)))
		return -ENOENT;
	found->has_folder = true;
	return 0;
}

/* An operation on the name itself does not follow a link, whatever slashes come after it. */
static void take_end(struct found *found)
{
	uint64_t n = strlen(rest), name;

	for (; n > 1 && rest[n - 1] == '/'; rest[--n] = 0)
		found->slash = true;
	for (name = n; name && rest[name - 1] != '/'; name--)
		continue;
	found->end = is_name(rest + name, ".") ? END_DOT :
		     is_name(rest + name, "..") ? END_DOTS : END_NAME;
}

int64_t path_resolve(const char *base, const char *path, unsigned flags, struct found *found)
{
	struct task task = { .found = found, .flags = flags, .rest = rest };
	int64_t error;

	if (!*path)
		return -ENOENT;
	copy(rest, path);
	copy(found->path, path[0] == '/' ? "" : base);
	found->exists = true;
	found->has_folder = found->slash = false;
	found->end = END_NAME;
	found->name[0] = 0;
	if (flags & PATH_FOLDER)
		take_end(found);
	found->qid = (struct p9_qid){ .kind = P9_QID_FOLDER };
	error = run(&task);
	if (error)
		return error;
	found->mount = mount_of(found->path);
	if (found->mount)
		error = fs_start(found->mount);
	if (!error && found->mount && found->exists && !task.has_fid) { /* it ended with dots */
		error = walk(found->mount, inside(found->mount, found->path), found->fid,
		             &found->qid);
		if (error >= 0)
			error = error < count_names(inside(found->mount, found->path)) ? -ENOENT : 0;
	}
	if (!error && found->end == END_NAME && is_above_mounts(found->path))
		found->end = END_ROOT;
	if (!error && found->end == END_NAME && (!found->exists || flags & PATH_FOLDER)) {
		error = find_folder(found);
		if (error && found->exists)
			fs_clunk(found->mount, found->fid);
	}
	return error;
}

void path_hold(const struct found *found, const char *path)
{
	struct p9_qid qid;

	path_let_go();
	if (!found->mount || found->mount->in_memory || !*inside(found->mount, path) ||
	    fs_walk(found->mount, found->fid, FID_CURRENT, "", 0, &qid))
		return;
	current.mount = found->mount;
	current.path = inside(found->mount, path);
	current.qid = found->qid;
}

void path_let_go(void)
{
	if (current.mount)
		fs_clunk(current.mount, FID_CURRENT);
	current.mount = 0;
}

void path_release(struct found *found)
{
	if (!found->mount)
		return;
	if (found->exists)
		fs_clunk(found->mount, found->fid);
	if (found->has_folder)
		fs_clunk(found->mount, found->folder);
	found->mount = 0;
}
