/*
 * The file system in memory: see memfs.h. Data: its inodes and its fids.
 *
 * A folder's bytes are entries of one size. Inodes are in their own tree.
 */
#include "memfs.h"

#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "memfs_tree.h"
#include "p9_regs.h"

#define FIDS          2048u
#define ROOT          1u           /* the first inode number */
#define INODES_MOST   (1u << 20)
#define NO_INODE      0u
#define BYTES_MOST    (1ULL << 51) /* approximate limit of a file's size */

#define S_KIND        0170000u
#define S_FOLDER      0040000u
#define S_REGULAR     0100000u
#define S_LINK        0120000u

struct inode {
	uint32_t mode;             /* 0: free; then `parent` is the next free one */
	uint32_t links;
	uint32_t uses;             /* fids */
	uint32_t parent;           /* of a folder */
	struct memfs_tree tree;   /* its bytes */
	struct margay_time access, modification, change;
};

struct entry {
	uint32_t inode;            /* NO_INODE: free */
	uint32_t hash;
	char name[P9_NAME_BYTES + 1];
	uint8_t zero[8];
};

_Static_assert(sizeof(struct entry) == 272, "entries have one size");

static struct memfs_tree table;   /* of inodes */
static uint32_t inodes = 1, inode_free; /* inodes made so far; the first free one */
static uint32_t inode_of[FIDS];    /* by fid */

/* ---- inodes ---- */

static struct margay_time now(void)
{
	uint64_t ns = wall_ns();

	return (struct margay_time){ (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };
}

#define INODES_IN_PAGE (PAGE_BYTES / sizeof(struct inode))

/* An existing inode. */
static struct inode *inode(uint32_t number)
{
	return (struct inode *)tree_page(&table, number / INODES_IN_PAGE, false) +
	       number % INODES_IN_PAGE;
}

/* Makes an inode; NO_INODE: no memory. */
static uint32_t inode_make(uint32_t mode)
{
	uint32_t number = inode_free;

	if (number) {
		inode_free = inode(number)->parent;
	} else {
		if (inodes == INODES_MOST || !tree_page(&table, inodes / INODES_IN_PAGE, true))
			return NO_INODE;
		number = inodes++;
	}
	*inode(number) = (struct inode){ .mode = mode };
	inode(number)->access = inode(number)->modification = inode(number)->change = now();
	return number;
}

/* Frees an inode that has no name and no fid. */
static void inode_release(uint32_t number)
{
	struct inode *file = inode(number);

	if (file->links || file->uses)
		return;
	tree_shorten(&file->tree, 0);
	*file = (struct inode){ .parent = inode_free };
	inode_free = number;
}

static void touch(struct inode *file)
{
	file->modification = file->change = now();
}

static bool is_folder(uint32_t number)
{
	return (inode(number)->mode & S_KIND) == S_FOLDER;
}

static struct p9_qid qid_of(uint32_t number)
{
	uint32_t kind = inode(number)->mode & S_KIND;

	return (struct p9_qid){
		.kind = kind == S_FOLDER ? P9_QID_FOLDER : kind == S_LINK ? P9_QID_LINK : 0,
		.path = number,
	};
}

/* ---- folders ---- */

/* The entry with this name: where it is; ~0: there is none. *room: a free place. */
static uint64_t find(uint32_t folder, const char *name, uint64_t bytes, struct entry *entry,
                     uint64_t *room)
{
	struct inode *dir = inode(folder);
	uint32_t hash = string_hash(name, bytes);

	*room = dir->tree.bytes;
	for (uint64_t at = 0; at < dir->tree.bytes; at += sizeof(*entry)) {
		tree_get(&dir->tree, at, entry, 8);
		if (entry->inode == NO_INODE)
			*room = at;
		if (entry->inode == NO_INODE || entry->hash != hash)
			continue;
		tree_get(&dir->tree, at, entry, sizeof(*entry));
		if (strlen(entry->name) == bytes && !memcmp(entry->name, name, bytes))
			return at;
	}
	return ~0ULL;
}

static uint32_t lookup(uint32_t folder, const char *name, uint64_t bytes)
{
	struct entry entry;
	uint64_t room;

	return find(folder, name, bytes, &entry, &room) == ~0ULL ? NO_INODE : entry.inode;
}

/* Gives a file a name; it must be free. */
static int64_t enter(uint32_t folder, const char *name, uint32_t number)
{
	struct entry entry;
	struct memfs_tree *tree = &inode(folder)->tree;
	uint64_t room, bytes = strlen(name), before = tree->bytes;

	if (bytes > P9_NAME_BYTES)
		return -ENAMETOOLONG;
	if (!inode(folder)->links)
		return -ENOENT;        /* the folder was removed */
	if (find(folder, name, bytes, &entry, &room) != ~0ULL)
		return -EEXIST;
	memset(&entry, 0, sizeof(entry));
	entry.inode = number;
	entry.hash = string_hash(name, bytes);
	memcpy(entry.name, name, bytes);
	if (tree_set(tree, room, &entry, sizeof(entry)) < sizeof(entry)) {
		tree->bytes = before;  /* its first bytes would be a name */
		return -ENOSPC;
	}
	inode(number)->links++;
	if (is_folder(number)) {
		inode(number)->parent = folder;
		inode(number)->links++;    /* its own "." */
		inode(folder)->links++;    /* its ".." */
	}
	inode(number)->change = now();
	touch(inode(folder));
	return 0;
}

/* Takes a name away. */
static void leave(uint32_t folder, uint64_t at, uint32_t number)
{
	struct entry none = { .inode = NO_INODE };

	tree_set(&inode(folder)->tree, at, &none, sizeof(none));
	inode(number)->links--;
	if (is_folder(number)) {
		inode(number)->links--;
		inode(folder)->links--;
	}
	inode(number)->change = now();
	touch(inode(folder));
	inode_release(number);
}

static bool is_empty(uint32_t folder)
{
	struct inode *dir = inode(folder);
	uint32_t number;

	for (uint64_t at = 0; at < dir->tree.bytes; at += sizeof(struct entry))
		if (tree_get(&dir->tree, at, &number, sizeof(number)) && number != NO_INODE)
			return false;
	return true;
}

/* ---- fids ---- */

void memfs_start(uint64_t bytes)
{
	tree_start(bytes);
	inode_make(S_FOLDER | 01777);
	inode(ROOT)->links = 2;
	inode(ROOT)->parent = ROOT;
	inode(ROOT)->uses = 1;
	inode_of[P9_ROOT] = ROOT;
}

/* fids are this kernel's own numbers: they are right. */
static void hold(uint32_t fid, uint32_t number)
{
	uint32_t before = inode_of[fid];

	inode(number)->uses++;
	inode_of[fid] = number;
	if (before) {
		inode(before)->uses--;
		inode_release(before);
	}
}

int64_t memfs_clunk(uint32_t fid)
{
	uint32_t number = inode_of[fid];

	inode_of[fid] = NO_INODE;
	inode(number)->uses--;
	inode_release(number);
	return 0;
}

int64_t memfs_walk(uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                   struct p9_qid *qids)
{
	const char *end = path + bytes;
	uint32_t at = inode_of[fid];
	int64_t done = 0;

	while (path < end) {
		const char *name = path;

		while (path < end && *path != '/')
			path++;
		if (!is_folder(at))
			return done ? done : -ENOTDIR;
		at = lookup(at, name, (uint64_t)(path - name));
		if (at == NO_INODE)
			return done ? done : -ENOENT;
		qids[done++] = qid_of(at);
		path++;
	}
	hold(to, at);
	return done;
}

/* ---- files ---- */

int64_t memfs_open(uint32_t fid, uint32_t flags, struct p9_qid *qid)
{
	struct inode *file = inode(inode_of[fid]);

	if (flags & MARGAY_O_TRUNC && (file->mode & S_KIND) == S_REGULAR) {
		tree_shorten(&file->tree, 0);
		touch(file);
	}
	*qid = qid_of(inode_of[fid]);
	return 0;
}

/* A new file with a name; NO_INODE and *error. */
static uint32_t make(uint32_t folder, const char *name, uint32_t mode, int64_t *error)
{
	uint32_t number = inode_make(mode);

	*error = number ? enter(folder, name, number) : -ENOSPC;
	if (number && *error)
		inode_release(number);
	return *error ? NO_INODE : number;
}

int64_t memfs_create(uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                     struct p9_qid *qid)
{
	int64_t error;
	uint32_t number = make(inode_of[fid], name, S_REGULAR | mode, &error);

	(void)flags;
	if (error)
		return error;
	hold(fid, number);
	*qid = qid_of(number);
	return 0;
}

int64_t memfs_read(uint32_t fid, uint64_t offset, void *to, uint64_t bytes)
{
	bytes = tree_get(&inode(inode_of[fid])->tree, offset, to, bytes);
	count(COUNTER_FILE_BYTES_COPIED, bytes);
	return (int64_t)bytes;
}

int64_t memfs_write(uint32_t fid, uint64_t offset, const void *from, uint64_t bytes)
{
	struct inode *file = inode(inode_of[fid]);
	uint64_t done;

	if (offset > BYTES_MOST)
		return -EFBIG;
	done = tree_set(&file->tree, offset, from, bytes);
	count(COUNTER_FILE_BYTES_COPIED, done);
	touch(file);
	return done || !bytes ? (int64_t)done : -ENOSPC;
}

int64_t memfs_stat(uint32_t fid, struct margay_stat *stat)
{
	const struct inode *file = inode(inode_of[fid]);

	*stat = (struct margay_stat){
		.device = 2, .inode = inode_of[fid], .links = file->links, .mode = file->mode,
		.uid = this_process()->uid, .bytes = (int64_t)file->tree.bytes,
		.block_bytes = PAGE_BYTES, .blocks = (int64_t)file->tree.pages * (int64_t)(PAGE_BYTES / 512),
		.access = file->access, .modification = file->modification, .change = file->change,
	};
	return 0;
}

int64_t memfs_set(uint32_t fid, const struct p9_change *change)
{
	struct inode *file = inode(inode_of[fid]);

	if (change->valid & P9_SET_SIZE) {
		if ((file->mode & S_KIND) != S_REGULAR)
			return -EISDIR;
		if (change->bytes < file->tree.bytes)
			tree_shorten(&file->tree, change->bytes);
		file->tree.bytes = change->bytes;
		file->modification = now();
	}
	if (change->valid & P9_SET_MODE)
		file->mode = (file->mode & S_KIND) | change->mode;
	if (change->valid & P9_SET_ATIME)
		file->access = change->valid & P9_SET_ATIME_TO ? change->access : now();
	if (change->valid & P9_SET_MTIME)
		file->modification = change->valid & P9_SET_MTIME_TO ? change->modification : now();
	file->change = now();
	return 0;
}

/* ---- names ---- */

static uint8_t type_of(uint32_t number)
{
	return (uint8_t)(inode(number)->mode >> 12);
}

/* Offsets 0 and 1 are "." and "..", then the entries. */
int64_t memfs_list(uint32_t fid, uint64_t offset,
                   bool (*take)(void *arg, const struct p9_entry *entry), void *arg)
{
	uint32_t folder = inode_of[fid];
	struct inode *dir = inode(folder);

	for (uint64_t at = offset; at < 2 + dir->tree.bytes / sizeof(struct entry); at++) {
		struct p9_entry shown = { .next = at + 1 };
		struct entry entry = { .inode = at ? dir->parent : folder, .name = "." };

		if (at == 1)
			entry.name[1] = '.';
		if (at >= 2)
			tree_get(&dir->tree, (at - 2) * sizeof(entry), &entry, sizeof(entry));
		if (entry.inode == NO_INODE)
			continue;
		shown.qid = qid_of(entry.inode);
		shown.type = type_of(entry.inode);
		memcpy(shown.name, entry.name, sizeof(shown.name));
		if (!take(arg, &shown))
			return 1;
	}
	return 0;
}

int64_t memfs_make_folder(uint32_t fid, const char *name, uint32_t mode)
{
	int64_t error;

	make(inode_of[fid], name, S_FOLDER | mode, &error);
	return error;
}

int64_t memfs_unlink(uint32_t fid, const char *name, bool folder)
{
	struct entry entry;
	uint64_t room, at = find(inode_of[fid], name, strlen(name), &entry, &room);

	if (at == ~0ULL)
		return -ENOENT;
	if (folder != is_folder(entry.inode))
		return folder ? -ENOTDIR : -EISDIR;
	if (folder && !is_empty(entry.inode))
		return -ENOTEMPTY;
	leave(inode_of[fid], at, entry.inode);
	return 0;
}

/* Whether folder `inner` is `outer` or lies in it. */
static bool is_inside(uint32_t inner, uint32_t outer)
{
	while (inner != outer && inner != ROOT)
		inner = inode(inner)->parent;
	return inner == outer;
}

int64_t memfs_rename(uint32_t from_fid, const char *name, uint32_t to_fid, const char *new_name)
{
	uint32_t from = inode_of[from_fid], to = inode_of[to_fid], moved;
	struct entry entry, replaced;
	uint64_t room, at = find(from, name, strlen(name), &entry, &room), old;
	int64_t error;

	if (at == ~0ULL)
		return -ENOENT;
	moved = entry.inode;
	if (is_folder(moved) && is_inside(to, moved))
		return -EINVAL;
	old = find(to, new_name, strlen(new_name), &replaced, &room);
	if (old != ~0ULL) {
		if (replaced.inode == moved)
			return 0;
		error = memfs_unlink(to_fid, new_name, is_folder(moved));
		if (error)
			return error;
	}
	/* In this order: with one of its names it does not go. */
	error = enter(to, new_name, moved);
	if (error)
		return error;
	at = find(from, name, strlen(name), &entry, &room);
	leave(from, at, moved);
	if (is_folder(moved))
		inode(moved)->parent = to;
	return 0;
}

int64_t memfs_link(uint32_t folder, uint32_t fid, const char *name)
{
	return is_folder(inode_of[fid]) ? -EPERM : enter(inode_of[folder], name, inode_of[fid]);
}

int64_t memfs_symlink(uint32_t folder, const char *name, const char *target)
{
	int64_t error;
	uint32_t number = make(inode_of[folder], name, S_LINK | 0777, &error);

	if (!error && tree_set(&inode(number)->tree, 0, target, strlen(target)) < strlen(target)) {
		memfs_unlink(folder, name, false);
		error = -ENOSPC;
	}
	return error;
}

int64_t memfs_readlink(uint32_t fid, char *target, uint32_t most)
{
	struct inode *file = inode(inode_of[fid]);

	if (file->tree.bytes > most)
		return -ENAMETOOLONG;
	target[tree_get(&file->tree, 0, target, file->tree.bytes)] = 0;
	return (int64_t)file->tree.bytes;
}

int64_t memfs_space(struct p9_space *space)
{
	uint64_t left = tree_pages_free();

	*space = (struct p9_space){
		.block_bytes = PAGE_BYTES, .blocks = tree_pages_all(), .free = left, .available = left,
		.files = INODES_MOST, .free_files = INODES_MOST - inodes,
	};
	return 0;
}
