/*
 * Files and streams: the system calls on descriptors and paths. The kernel's calls are Linux's in
 * another form: a path comes with its length, and with the folder that it is relative to. Owns the
 * mask of new files' modes, and the owner mark and FD_CLOEXEC of each descriptor.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "linux.h"
#include "syscall.h"

#define DESCRIPTORS   1024u   /* more than the kernel gives */
#define LINE_BYTES    1024    /* pieces of at most this total leave as one message */

/* stdio asks for this instead of a terminal's size (musl.sh): 0 means that each line is written as
 * soon as it is complete. */
#define IOCTL_LINES 0x4d00

_Static_assert(AT_FDCWD == MARGAY_AT_CWD && O_CREAT == MARGAY_O_CREAT &&
	       O_APPEND == MARGAY_O_APPEND && O_DIRECTORY == MARGAY_O_DIRECTORY &&
	       O_NOFOLLOW == MARGAY_O_NOFOLLOW && AT_REMOVEDIR == MARGAY_AT_REMOVEDIR &&
	       AT_EMPTY_PATH == MARGAY_AT_EMPTY && AT_SYMLINK_NOFOLLOW == MARGAY_AT_NOFOLLOW,
	       "the kernel's flags are the library's");
_Static_assert(sizeof(struct stat) == sizeof(struct margay_stat) &&
	       sizeof(struct statfs) == sizeof(struct margay_statfs) &&
	       sizeof(struct flock) == sizeof(struct margay_lock) &&
	       F_SETLK - F_GETLK == MARGAY_LOCK_SET && F_UNLCK == 2, "and its structures");

static long masked_out = 022;
const uint64_t *file_owner;
static uint64_t marks[DESCRIPTORS];     /* owner of each; 0: none, or not open */
static unsigned marked;                 /* descriptors from here on have none */
static uint8_t close_on_exec[DESCRIPTORS];  /* FD_CLOEXEC, which is only kept: there is no exec */

long linux_umask(long mode)
{
	long before = masked_out;

	masked_out = mode & 0777;
	return before;
}

static long length(const char *path)
{
	return (long)strlen(path);
}

/* ---- descriptors ---- */

/* A new descriptor gets the mark of its owner, and FD_CLOEXEC from O_CLOEXEC of `flags`. */
static long opened(long fd, int flags)
{
	if (fd < 0 || fd >= (long)DESCRIPTORS)
		return fd;
	close_on_exec[fd] = flags & O_CLOEXEC ? FD_CLOEXEC : 0;
	if (!file_owner)
		return fd;
	marks[fd] = *file_owner;
	if ((unsigned)fd >= marked)
		marked = (unsigned)fd + 1;
	return fd;
}

int file_count(uint64_t owner)
{
	int count = 0;

	for (unsigned fd = 0; fd < marked; fd++)
		count += marks[fd] == owner;
	return count;
}

void file_disown(uint64_t owner)
{
	for (unsigned fd = 0; fd < marked; fd++)
		if (marks[fd] == owner)
			marks[fd] = 0;
}

void file_disown_all(void)
{
	memset(marks, 0, marked * sizeof(*marks));
	marked = 0;
}

long linux_openat(int folder, const char *path, int flags, long mode)
{
	return opened(glue_call6(SYS_OPEN, folder, (long)path, length(path), flags,
				 mode & ~masked_out, 0), flags);
}

long linux_close(int fd)
{
	long result = glue_call1(SYS_CLOSE, fd);

	if (result == 0 && (unsigned)fd < marked)
		marks[fd] = 0;
	return result;
}

long linux_pread(int fd, void *to, size_t bytes, off_t offset)
{
	long result;

	do
		result = glue_call6(SYS_READ, fd, (long)to, (long)bytes, offset, 0, 0);
	while (result == -EINTR && !signal_ends_call());
	return result;
}

long linux_read(int fd, void *to, size_t bytes)
{
	return linux_pread(fd, to, bytes, (off_t)MARGAY_HERE);
}

long linux_pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
	return glue_call6(SYS_WRITE, fd, (long)from, (long)bytes, offset, 0, 0);
}

long linux_write(int fd, const void *from, size_t bytes)
{
	return linux_pwrite(fd, from, bytes, (off_t)MARGAY_HERE);
}

/* Offset of the next part of a vector, `done` bytes after the first. */
static off_t next_place(off_t offset, long done)
{
	return offset == (off_t)MARGAY_HERE ? offset : offset + done;
}

/* Stops at the first part that is not filled, or would have to wait for standard input. */
static long read_parts(int fd, const struct iovec *parts, int count, off_t offset)
{
	long total = 0;

	for (int i = 0; i < count; i++) {
		long got;

		if (total && glue_call3(SYS_READY, fd, 0, 0) == 0)
			break;
		got = linux_pread(fd, parts[i].iov_base, parts[i].iov_len,
		                       next_place(offset, total));

		if (got < 0)
			return total ? total : got;
		total += got;
		if ((size_t)got < parts[i].iov_len)
			break;
	}
	return total;
}

long linux_readv(int fd, const struct iovec *parts, int count)
{
	return count < 0 || count > IOV_MAX ? -EINVAL :
	       read_parts(fd, parts, count, (off_t)MARGAY_HERE);
}

long linux_preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	return count < 0 || count > IOV_MAX || offset < 0 ? -EINVAL :
	       read_parts(fd, parts, count, offset);
}

static long write_together(int fd, const struct iovec *parts, int count)
{
	char line[LINE_BYTES], *next = line;

	for (int i = 0; i < count; i++)
		next = (char *)memcpy(next, parts[i].iov_base, parts[i].iov_len) + parts[i].iov_len;
	return linux_write(fd, line, (size_t)(next - line));
}

/* Stops at the first part that is not written whole; an empty part is written only if all are. */
static long write_parts(int fd, const struct iovec *parts, int count, off_t offset)
{
	long total = 0;

	for (int i = 0; i < count; i++) {
		long gone;

		if (!parts[i].iov_len && (total || i + 1 < count))
			continue;
		gone = linux_pwrite(fd, parts[i].iov_base, parts[i].iov_len,
		                    next_place(offset, total));
		if (gone < 0)
			return total ? total : gone;
		total += gone;
		if ((size_t)gone < parts[i].iov_len)
			break;
	}
	return total;
}

/* A line that stdio writes as two parts leaves as one message. */
long linux_writev(int fd, const struct iovec *parts, int count)
{
	size_t bytes = 0;
	int filled = 0;

	if (count < 0 || count > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		filled += parts[i].iov_len != 0;
		bytes = parts[i].iov_len > LINE_BYTES ? LINE_BYTES + 1 : bytes + parts[i].iov_len;
		if (bytes > LINE_BYTES)
			break;
	}
	return filled > 1 && bytes <= LINE_BYTES ? write_together(fd, parts, count) :
	       write_parts(fd, parts, count, (off_t)MARGAY_HERE);
}

long linux_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	return count < 0 || count > IOV_MAX || offset < 0 ? -EINVAL :
	       write_parts(fd, parts, count, offset);
}

/* Whether the file's disk may have room for so many bytes more. statfs rounds down: one unit more
 * may be there. */
static int may_have_room(int fd, off_t bytes)
{
	struct statfs space;

	return linux_statfs(fd, "", &space) < 0 || space.f_bsize <= 0 ||
	       (uint64_t)bytes / (uint64_t)space.f_bsize <= space.f_bavail;
}

/* Extends the file by writing zeros after its end; holes before it stay. */
long linux_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	static const char zeros[16384];
	struct stat found;
	off_t end;
	long result = glue_call3(SYS_FLAGS, fd, ~0L, 0);

	if (result < 0 || (result & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (mode)
		return -EOPNOTSUPP;
	if (offset < 0 || bytes <= 0)
		return -EINVAL;
	if (__builtin_add_overflow(offset, bytes, &end))
		return -EFBIG;
	result = linux_statat(fd, "", &found, AT_EMPTY_PATH);
	/* Else it would fill the disk before it fails. */
	if (result >= 0 && found.st_size < end && !may_have_room(fd, end - found.st_size))
		return -ENOSPC;
	while (result >= 0 && found.st_size < end) {
		off_t n = end - found.st_size;

		result = linux_pwrite(fd, zeros, n < (off_t)sizeof zeros ? (size_t)n : sizeof zeros,
				      found.st_size);
		found.st_size += result;
	}
	return result < 0 ? result : 0;
}

long linux_lseek(int fd, off_t offset, int whence)
{
	return glue_call3(SYS_LSEEK, fd, offset, whence);
}

static int is_open(int fd)
{
	return glue_call6(SYS_FLAGS, fd, ~0L, 0, 0, 0, 0) >= 0;
}

long linux_dup(int fd, int wanted, int how, int flags)
{
	long result = glue_call3(SYS_DUP, fd, wanted, how);

	return result == fd ? result : opened(result, flags);   /* to itself: nothing changes */
}

static long lock(int fd, int how, struct flock *wanted)
{
	long result;

	do
		result = glue_call3(SYS_LOCK, fd, how, (long)wanted);
	while (result == -EINTR && !signal_ends_call());
	return result;
}

long linux_flock(int fd, int operation)
{
	struct flock wanted = { .l_whence = SEEK_SET };
	int call = operation & LOCK_NB ? MARGAY_LOCK_SET : MARGAY_LOCK_WAIT;

	switch (operation & ~LOCK_NB) {
	case LOCK_SH: wanted.l_type = F_RDLCK; break;
	case LOCK_EX: wanted.l_type = F_WRLCK; break;
	case LOCK_UN: wanted.l_type = F_UNLCK; break;
	default:      return -EINVAL;
	}
	return lock(fd, call | MARGAY_LOCK_OPEN_FILE | MARGAY_LOCK_WHOLE, &wanted);
}

long linux_fcntl(int fd, int command, long argument)
{
	switch (command) {
	case F_GETFL:
		return glue_call3(SYS_FLAGS, fd, ~0L, 0);
	case F_SETFL:
		argument = glue_call3(SYS_FLAGS, fd, argument, 0);
		return argument < 0 ? argument : 0;
	case F_GETFD:
		return is_open(fd) ? close_on_exec[fd] : -EBADF;
	case F_SETFD:
		if (!is_open(fd))
			return -EBADF;
		close_on_exec[fd] = argument & FD_CLOEXEC;
		return 0;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
		return lock(fd, command - F_GETLK, (void *)argument);
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock(fd, (command - F_OFD_GETLK) | MARGAY_LOCK_OPEN_FILE, (void *)argument);
	case F_DUPFD:
		return linux_dup(fd, (int)argument, MARGAY_DUP_LOWEST, 0);
	case F_DUPFD_CLOEXEC:
		return linux_dup(fd, (int)argument, MARGAY_DUP_LOWEST, O_CLOEXEC);
	default:
		return is_open(fd) ? -EINVAL : -EBADF;
	}
}

/* No descriptor is a terminal or another device with requests. */
long linux_ioctl(int fd, int request)
{
	struct stat found;
	long result = linux_statat(fd, "", &found, AT_EMPTY_PATH);

	if (result < 0)
		return result;
	return request == IOCTL_LINES && S_ISCHR(found.st_mode) ? 0 : -ENOTTY;
}

long linux_fsync(int fd)
{
	return glue_call1(SYS_FSYNC, fd);
}

/* No advice is taken. */
long linux_fadvise(int fd, off_t bytes, int advice)
{
	struct stat found;
	long result = linux_statat(fd, "", &found, AT_EMPTY_PATH);

	if (result < 0)
		return result;
	if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
		return -ESPIPE;
	return bytes < 0 || advice < POSIX_FADV_NORMAL || advice > POSIX_FADV_NOREUSE ? -EINVAL : 0;
}

long linux_list(int fd, void *to, size_t bytes)
{
	return glue_call3(SYS_LIST, fd, (long)to, (long)bytes);
}

/* ---- paths ---- */

long linux_statat(int folder, const char *path, struct stat *to, int flags)
{
	return glue_call6(SYS_STAT, folder, (long)path, length(path), flags, (long)to, 0);
}

/* What the job's owner may do with a file of this mode, as R_OK and the like. The host's root may
 * read and write everything; groups other than the file's own are unknown here. */
static int allowed(const struct stat *file)
{
	int mode = (int)file->st_mode;

	if (!glue_start.uid)
		return R_OK | W_OK | (mode & 0111 || S_ISDIR(mode) ? X_OK : 0);
	return (glue_start.uid == file->st_uid ? mode >> 6 : mode >> 3 | mode) & 7;
}

long linux_access(int folder, const char *path, int mode, int flags)
{
	struct statfs space;
	struct stat found;
	long result;

	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	result = linux_statat(folder, path, &found, flags & AT_SYMLINK_NOFOLLOW);
	if (result < 0 || mode == F_OK)
		return result;
	if (mode & ~allowed(&found))
		return -EACCES;
	if (mode & W_OK && !S_ISCHR(found.st_mode) && !linux_statfs(folder, path, &space) &&
	    space.f_flags & ST_RDONLY)
		return -EROFS;
	return 0;
}

/* The owner cannot change: it is this process's user. */
long linux_chown(int folder, const char *path, long uid, long gid, int flags)
{
	struct stat found;
	long result = linux_statat(folder, path, &found, flags);

	if (result < 0)
		return result;
	uid = (uid_t)uid;
	gid = (gid_t)gid;
	return (uid == (uid_t)-1 || !uid || uid == found.st_uid) &&
	       (gid == (gid_t)-1 || !gid || gid == found.st_gid) ? 0 : -EPERM;
}

int faccessat(int folder, const char *path, int mode, int flags)
{
	if (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW))
		return (int)glue_result(-EINVAL);
	return (int)glue_result(linux_access(folder, path, mode, flags));
}

long linux_mkdir(int folder, const char *path, long mode)
{
	return glue_call6(SYS_MKDIR, folder, (long)path, length(path), mode & ~masked_out, 0, 0);
}

long linux_unlink(int folder, const char *path, int flags)
{
	return glue_call6(SYS_UNLINK, folder, (long)path, length(path), flags, 0, 0);
}

long linux_rename(int folder, const char *path, int to_folder, const char *to)
{
	return glue_call6(SYS_RENAME, folder, (long)path, length(path), to_folder, (long)to,
			  length(to));
}

long linux_link(int folder, const char *path, int to_folder, const char *to, int flags)
{
	long at = (unsigned)folder | (flags & AT_SYMLINK_FOLLOW ? MARGAY_LINK_FOLLOW : 0);

	return glue_call6(SYS_LINK, at, (long)path, length(path), to_folder, (long)to,
			  length(to));
}

long linux_symlink(const char *target, int folder, const char *path)
{
	return glue_call6(SYS_SYMLINK, (long)target, length(target), folder, (long)path,
			  length(path), 0);
}

long linux_readlink(int folder, const char *path, char *to, size_t bytes)
{
	return glue_call6(SYS_READLINK, folder, (long)path, length(path), (long)to, (long)bytes, 0);
}

/* An empty path: `folder` is the descriptor itself, here and in the next ones. */
long linux_chmod(int folder, const char *path, long mode)
{
	return glue_call6(SYS_CHMOD, folder, (long)path, length(path), mode, 0, 0);
}

long linux_utimens(int folder, const char *path, const struct timespec *times, int flags)
{
	return glue_call6(SYS_UTIMENS, folder, (long)path, path ? length(path) : 0, (long)times, flags,
			  0);
}

long linux_truncate(int folder, const char *path, off_t bytes)
{
	return glue_call6(SYS_TRUNCATE, folder, (long)path, length(path), bytes, 0, 0);
}

long linux_statfs(int folder, const char *path, struct statfs *to)
{
	return glue_call6(SYS_STATFS, folder, (long)path, length(path), (long)to, 0, 0);
}

long linux_chdir(int folder, const char *path)
{
	return glue_call3(SYS_CHDIR, folder, (long)path, length(path));
}

long linux_getcwd(char *to, size_t bytes)
{
	return glue_call3(SYS_GETCWD, (long)to, (long)bytes, 0);
}
