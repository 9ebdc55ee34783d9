/*
 * The system calls that open and name files. A file that the job hands over (--file, --out) is
 * found by its name; all others are in a mount (paths.h). Data: how many files were hidden.
 *
 * The host's server knows a file by its path. So a file that is unlinked or replaced while it is
 * open gets a hidden name, which its last close unlinks (as NFS clients do).
 */
#include "names.h"

#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/syscall.h"
#include "kernel/loader/parameters.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "net/shm/region.h"
#include "p9_regs.h"
#include "arguments.h"
#include "folders.h"

#define FID_HIDDEN     0x10000u    /* of the folder of a hidden file, plus the file's number */
#define FLAGS_KEPT     (MARGAY_O_ACCESS | MARGAY_O_APPEND | MARGAY_O_NONBLOCK | \
                        MARGAY_O_DIRECTORY | MARGAY_O_NOFOLLOW) /* what F_GETFL returns */
#define NAME_OF_HIDDEN ".margay-unlinked-%u-%u-%lu"

static uint64_t hidden_so_far;

static bool writes(uint32_t flags)
{
	return flags & (MARGAY_O_WRONLY | MARGAY_O_RDWR | MARGAY_O_TRUNC);
}

/* ---- open ---- */

static int64_t open_handed(const struct file *handed, uint32_t flags)
{
	int64_t error = file_may_open(handed, flags), fd;
	struct open_file *file;

	if (error)
		return error;
	fd = file_new(&file);
	if (fd < 0)
		return fd;
	file->kind = handed->out ? KIND_OUT : KIND_HANDED;
	file->stream = (uint16_t)(STREAM_OUT_FILE + handed->index);
	file->handed = *handed;
	file->flags = flags & FLAGS_KEPT;
	file_use(file, (uint64_t)fd);
	return fd;
}

static int64_t may_open(const struct found *found, uint32_t flags)
{
	bool folder = found->qid.kind & P9_QID_FOLDER;

	if ((flags & (MARGAY_O_CREAT | MARGAY_O_EXCL)) == (MARGAY_O_CREAT | MARGAY_O_EXCL))
		return -EEXIST;
	if (!folder && flags & MARGAY_O_DIRECTORY)
		return -ENOTDIR;
	if (found->qid.kind & P9_QID_LINK)
		return -ELOOP;
	if (folder && (writes(flags) || flags & MARGAY_O_CREAT))
		return -EISDIR;
	return writes(flags) && found->mount->read_only ? -EROFS : 0;
}

/* Opens the file that was found, as `file`, under the fid of `file`. */
static int64_t open_found(struct found *found, struct open_file *file, uint32_t flags)
{
	int64_t error = may_open(found, flags);

	file->is_folder = found->qid.kind & P9_QID_FOLDER;
	if (!error && flags & MARGAY_O_TRUNC)
		file_settle(found->mount, found->qid.path, NULL);
	if (!error && file->is_folder)
		error = path_keep(file, found->path);
	if (!error)
		error = fs_open(found->mount, file->fid,
		                flags & ~(uint32_t)(MARGAY_O_CREAT | MARGAY_O_EXCL), &found->qid);
	if (error) {
		path_forget(file);
		path_release(found);
	}
	return error;
}

static int64_t create(struct found *found, struct open_file *file, uint32_t flags,
                      uint32_t mode)
{
	int64_t error = -ENOENT;

	if (flags & MARGAY_O_CREAT)
		error = found->slash ? -EISDIR : found->mount->read_only ? -EROFS :
			fs_create(found->mount, file->fid, found->name, flags, mode & 07777,
			          &found->qid);
	if (error)
		path_release(found);
	return error;
}

static int64_t open_device(enum kind kind, uint64_t of, uint32_t flags)
{
	struct open_file *file;
	int64_t fd;

	if ((flags & (MARGAY_O_CREAT | MARGAY_O_EXCL)) == (MARGAY_O_CREAT | MARGAY_O_EXCL))
		return -EEXIST;
	if (flags & MARGAY_O_DIRECTORY)
		return -ENOTDIR;
	if (kind < KIND_NULL)
		return sys_dup(of, 0, MARGAY_DUP_LOWEST);
	fd = file_new(&file);
	if (fd < 0)
		return fd;
	file->kind = kind;
	file->flags = flags & FLAGS_KEPT;
	file_use(file, (uint64_t)fd);
	return fd;
}

int64_t sys_open(uint64_t at, uint64_t address, uint64_t bytes, uint64_t flags, uint64_t mode)
{
	bool follow = !(flags & MARGAY_O_NOFOLLOW) &&
		(flags & (MARGAY_O_CREAT | MARGAY_O_EXCL)) != (MARGAY_O_CREAT | MARGAY_O_EXCL);
	struct found *found = &path_first;
	struct file handed = { 0 };
	struct open_file *file;
	int64_t error = path_copy("open", address, bytes, path_of_call[0]), fd;
	uint64_t stream;
	enum kind kind;
	const uint32_t own_fid = found->fid, own_folder = found->folder;

	if (error)
		return error;
	if (path_handed(at, path_of_call[0], &handed))
		return open_handed(&handed, (uint32_t)flags);
	kind = device_of(path_of_call[0], &stream);
	if (kind != KIND_CLOSED)
		return open_device(kind, stream, (uint32_t)flags);
	if (flags & MARGAY_O_CREAT && bytes && path_of_call[0][bytes - 1] == '/') {
		error = path_argument("open", at, address, bytes, PATH_FOLDER | PATH_NEW, found);
		if (!error)
			path_release(found);
		return error ? error : -EISDIR; /* such a name is never a file's */
	}
	fd = file_new(&file);
	if (fd < 0)
		return fd;
	/* The file found, or the folder for the new one, gets the open file's own fid. */
	found->fid = found->folder = file->fid;
	error = path_argument("open", at, address, bytes, (follow ? PATH_FOLLOW : 0) |
	                      (flags & MARGAY_O_CREAT ? PATH_NEW : 0), found);
	if (!error && !found->mount)
		error = -EACCES;       /* a folder above mounts */
	else if (!error)
		error = found->exists ? open_found(found, file, (uint32_t)flags) :
			create(found, file, (uint32_t)flags, (uint32_t)mode);
	found->fid = own_fid;
	found->folder = own_folder;
	if (error)
		return error;
	file->kind = KIND_MOUNTED;
	file->mount = found->mount;
	file->inode = found->qid.path;
	file->flags = (uint32_t)flags & FLAGS_KEPT;
	file->appends = flags & MARGAY_O_APPEND && !file->mount->in_memory;
	found->mount = 0;
	file_use(file, (uint64_t)fd);
	return fd;
}

/* ---- names ---- */

/* Resolves a name to be created: 0, or -errno. */
static int64_t new_name(const char *call, uint64_t at, uint64_t address, uint64_t bytes, bool folder,
                        struct found *found)
{
	int64_t error = path_argument(call, at, address, bytes, PATH_FOLDER | PATH_NEW, found);

	if (error)
		return error;
	error = found->exists ? -EEXIST : found->slash && !folder ? -ENOENT :
		found->mount->read_only ? -EROFS : 0;
	if (error)
		path_release(found);
	return error;
}

int64_t sys_mkdir(uint64_t at, uint64_t address, uint64_t bytes, uint64_t mode)
{
	struct found *found = &path_first;
	int64_t error = new_name("mkdir", at, address, bytes, true, found);

	if (error)
		return error;
	error = fs_make_folder(found->mount, found->folder, found->name, mode & 07777);
	path_release(found);
	return error;
}

static uint32_t fid_hidden(const struct open_file *file)
{
	return FID_HIDDEN + file->number;
}

static void hidden_name(const struct open_file *file, char *name)
{
	format_text(name, P9_NAME_BYTES + 1, NAME_OF_HIDDEN, parameters.jid, node.id,
	            file->hidden_number);
}

/* Gives an open file a hidden name, which its last close removes. */
static int64_t hide(struct found *found, struct open_file *file)
{
	struct mount *mount = found->mount;
	char name[P9_NAME_BYTES + 1];
	struct p9_qid qid;
	int64_t error = 0;

	file->hidden_number = ++hidden_so_far;
	hidden_name(file, name);
	/* In the mount's top folder, so that the file's own folder can be removed; if that fails,
	 * in its own folder. */
	for (uint32_t in = 0; in < 2 && !file->hidden; in++) {
		error = fs_walk(mount, in ? found->folder : P9_ROOT, fid_hidden(file), "", 0, &qid);
		if (error)
			return error;
		error = fs_rename(mount, found->folder, found->name, fid_hidden(file), name);
		file->hidden = !error;
		if (error)
			fs_clunk(mount, fid_hidden(file));
	}
	return error;
}

/* Gives a hidden file its name back: no other file has got it. */
static void unhide(struct found *found, struct open_file *file)
{
	char name[P9_NAME_BYTES + 1];

	hidden_name(file, name);
	fs_rename(found->mount, fid_hidden(file), name, found->folder, found->name);
	fs_clunk(found->mount, fid_hidden(file));
	file->hidden = false;
}

void name_closed(struct open_file *file)
{
	struct open_file *other = file->hidden ? file_with(file->mount, file->inode) : NULL;
	char name[P9_NAME_BYTES + 1];
	struct p9_qid qid;

	path_forget(file);
	if (!file->hidden)
		return;
	file->hidden = false;
	if (other && !fs_walk(file->mount, fid_hidden(file), fid_hidden(other), "", 0, &qid)) {
		other->hidden = true;
		other->hidden_number = file->hidden_number;
	} else {
		hidden_name(file, name);
		fs_unlink(file->mount, fid_hidden(file), name, false);
	}
	fs_clunk(file->mount, fid_hidden(file));
}

/*
 * The open file of a host mount that loses its name and must be hidden, or null. If it is hidden
 * already it has more than one name, and may have been opened by this one. A rename to the hidden
 * name then changes nothing, but the server must hear of it.
 */
static struct open_file *loses_name(const struct found *found)
{
	struct open_file *file = found->mount->in_memory ? NULL :
		file_with(found->mount, found->qid.path), *hidden;
	char name[P9_NAME_BYTES + 1];

	if (!file || file->is_folder)
		return NULL;
	hidden = file_hidden(found->mount, found->qid.path);
	if (!hidden)
		return file;
	hidden_name(hidden, name);
	fs_rename(found->mount, found->folder, found->name, fid_hidden(hidden), name);
	return NULL;
}

/* Whether a name may be removed: 0, or -errno. */
static int64_t may_unlink(const struct found *found, bool folder)
{
	static const int64_t errors[] = { [END_DOT] = -EINVAL, [END_DOTS] = -ENOTEMPTY,
	                                  [END_ROOT] = -EBUSY };

	if (found->end != END_NAME)
		return folder ? errors[found->end] : -EISDIR;
	if (found->mount->read_only)
		return -EROFS;
	if (!found->exists)
		return -ENOENT;
	if (!folder && found->qid.kind & P9_QID_FOLDER)
		return -EISDIR;
	return !folder && found->slash ? -ENOTDIR : 0;
}

int64_t sys_unlink(uint64_t at, uint64_t address, uint64_t bytes, uint64_t flags)
{
	struct found *found = &path_first;
	bool folder = flags & MARGAY_AT_REMOVEDIR;
	struct open_file *file;
	int64_t error;

	if (flags & ~(uint64_t)MARGAY_AT_REMOVEDIR)
		return -EINVAL;
	error = path_argument("unlink", at, address, bytes, PATH_FOLDER, found);
	if (error)
		return error;
	error = may_unlink(found, folder);
	if (!error) {
		file = folder ? NULL : loses_name(found);
		error = file ? hide(found, file) :
			fs_unlink(found->mount, found->folder, found->name, folder);
		if (!error && folder)
			path_removed(found->path);
	}
	path_release(found);
	return error;
}

static bool lies_in(const char *path, const char *folder)
{
	uint64_t n = strlen(folder);

	return strlen(path) > n && !memcmp(path, folder, n) && path[n] == '/';
}

/* Whether the first name may become the second: 0, or -errno. */
static int64_t may_rename(const struct found *from, const struct found *to)
{
	bool folder = from->qid.kind & P9_QID_FOLDER, onto = to->qid.kind & P9_QID_FOLDER;

	if (from->mount != to->mount)
		return -EXDEV;
	if (from->end != END_NAME || to->end != END_NAME)
		return -EBUSY;
	if (from->mount->read_only)
		return -EROFS;
	if (!from->exists)
		return -ENOENT;
	if (!folder && (from->slash || to->slash))
		return -ENOTDIR;
	if (lies_in(to->path, from->path))
		return -EINVAL;
	if (lies_in(from->path, to->path))
		return -ENOTEMPTY;
	return !to->exists || folder == onto ? 0 : folder ? -ENOTDIR : -EISDIR;
}

static int64_t rename_found(struct found *from, struct found *to)
{
	struct open_file *replaced;
	int64_t error = from->qid.kind & P9_QID_FOLDER ? path_may_move(from->path, to->path) : 0;

	if (error)
		return error;
	replaced = to->exists && to->qid.path != from->qid.path ? loses_name(to) : NULL;
	error = replaced ? hide(to, replaced) : 0;
	if (error)
		return error;
	error = fs_rename(from->mount, from->folder, from->name, to->folder, to->name);
	if (error && replaced)
		unhide(to, replaced);
	if (!error && to->exists && to->qid.kind & P9_QID_FOLDER && to->qid.path != from->qid.path)
		path_removed(to->path);
	if (!error && from->qid.kind & P9_QID_FOLDER)
		path_moved(from->path, to->path);
	return error;
}

int64_t sys_rename(uint64_t at, uint64_t address, uint64_t bytes, uint64_t to_at,
                   uint64_t to_address, uint64_t to_bytes)
{
	struct found *from = &path_first, *to = &path_second;
	int64_t error = path_argument("rename", at, address, bytes, PATH_FOLDER, from);

	if (error)
		return error;
	error = path_argument("rename", to_at, to_address, to_bytes, PATH_FOLDER | PATH_NEW, to);
	if (!error) {
		error = may_rename(from, to);
		if (!error)
			error = rename_found(from, to);
		path_release(to);
	}
	path_release(from);
	return error;
}

int64_t sys_link(uint64_t at, uint64_t address, uint64_t bytes, uint64_t to_at,
                 uint64_t to_address, uint64_t to_bytes)
{
	struct found *from = &path_first, *to = &path_second;
	unsigned flags = at & MARGAY_LINK_FOLLOW ? PATH_FOLLOW : 0;
	int64_t error = path_argument("link", (uint32_t)at, address, bytes, flags, from);

	if (error)
		return error;
	if (from->mount && !from->exists)
		error = -ENOENT;
	else
		error = new_name("link", to_at, to_address, to_bytes, false, to);
	if (!error) {
		error = from->mount != to->mount ? -EXDEV :
			fs_link(to->mount, to->folder, from->fid, to->name);
		path_release(to);
	}
	path_release(from);
	return error;
}

int64_t sys_symlink(uint64_t target, uint64_t target_bytes, uint64_t at, uint64_t address,
                    uint64_t bytes)
{
	struct found *found = &path_first;
	int64_t error = path_copy("symlink", target, target_bytes, path_of_call[1]);

	if (!error && !target_bytes)
		error = -ENOENT;
	if (!error)
		error = new_name("symlink", at, address, bytes, false, found);
	if (error)
		return error;
	error = fs_symlink(found->mount, found->folder, found->name, path_of_call[1]);
	path_release(found);
	return error;
}

int64_t sys_readlink(uint64_t at, uint64_t address, uint64_t bytes, uint64_t to, uint64_t room)
{
	struct found *found = &path_first;
	void *out = user_range(to, room, USER_WRITE);
	int64_t error = path_argument("readlink", at, address, bytes, 0, found);

	if (error)
		return error;
	if (!out) {
		path_release(found);
		fault_bad_pointer("readlink", to, room);
	}
	if (!found->mount || !found->exists || !(found->qid.kind & P9_QID_LINK))
		error = found->mount && !found->exists ? -ENOENT : -EINVAL;
	else
		error = fs_readlink(found->mount, found->fid, path_of_call[1], PATH_BYTES - 1);
	path_release(found);
	if (error < 0)
		return error;
	if (room > (uint64_t)error)
		room = (uint64_t)error;
	memcpy(out, path_of_call[1], room);
	return (int64_t)room;
}
