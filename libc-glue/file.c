/*
 * Files and streams: the functions that newlib's stdio stands on, and their
 * POSIX neighbours. 0, 1 and 2 are streams to the launcher, other descriptors
 * are files that it handed over. Owns the opening flags of each descriptor.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "syscall.h"

#define FILE_BUFFER   16384   /* stdio's buffers: of a file, */
#define STREAM_BUFFER 4096    /* and of a stream */
#define DESCRIPTORS   64

/* As F_GETFL returns them; descriptors past the table are taken for O_RDWR. */
static int open_flags[DESCRIPTORS] = { O_RDONLY, O_WRONLY, O_WRONLY };

int _open(const char *path, int flags, ...)
{
	long wanted = 0, fd;

	if ((flags & O_ACCMODE) != O_RDONLY)
		wanted |= MARGAY_O_WRITE;
	if (flags & O_APPEND)
		wanted |= MARGAY_O_APPEND;
	if (flags & O_TRUNC)
		wanted |= MARGAY_O_TRUNC;
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		wanted |= MARGAY_O_EXCL;
	fd = glue_call3(SYS_OPEN, (long)path, (long)strlen(path), wanted);
	if (fd == -ENOENT && (flags & O_CREAT))
		fd = -EROFS;
	if (fd >= 0 && fd < DESCRIPTORS)
		open_flags[fd] = flags & (O_ACCMODE | O_APPEND | O_NONBLOCK);
	return (int)glue_result(fd);
}

int _close(int fd)
{
	return (int)glue_result(glue_call1(SYS_CLOSE, fd));
}

_ssize_t _read(int fd, void *to, size_t bytes)
{
	long result;

	do
		result = glue_call3(SYS_READ, fd, (long)to, (long)bytes);
	while (result == -EINTR);       /* an upcall came first */
	return glue_result(result);
}

_ssize_t _write(int fd, const void *from, size_t bytes)
{
	return glue_result(glue_call3(SYS_WRITE, fd, (long)from, (long)bytes));
}

off_t _lseek(int fd, off_t offset, int whence)
{
	return glue_result(glue_call3(SYS_LSEEK, fd, offset, whence));
}

static void fill_stat(struct stat *to, const struct margay_stat *from)
{
	int file = from->kind == MARGAY_S_FILE;

	memset(to, 0, sizeof *to);
	to->st_mode = file ? S_IFREG | 0644 : S_IFCHR | 0620;
	to->st_nlink = 1;
	to->st_ino = (ino_t)from->inode;
	to->st_size = (off_t)from->bytes;
	to->st_blksize = file ? FILE_BUFFER : STREAM_BUFFER;
	to->st_blocks = (blkcnt_t)((from->bytes + 511) / 512);
	to->st_mtim.tv_sec = to->st_atim.tv_sec = to->st_ctim.tv_sec =
		(time_t)(glue_start.wall_ns / 1000000000);
}

int _fstat(int fd, struct stat *to)
{
	struct margay_stat from;
	long result = glue_call3(SYS_FSTAT, fd, (long)&from, 0);

	if (result == 0)
		fill_stat(to, &from);
	return (int)glue_result(result);
}

int _stat(const char *path, struct stat *to)
{
	struct margay_stat from;
	long result = glue_call3(SYS_STAT, (long)path, (long)strlen(path), (long)&from);

	if (result == 0)
		fill_stat(to, &from);
	return (int)glue_result(result);
}

int lstat(const char *path, struct stat *to)
{
	return stat(path, to);
}

int access(const char *path, int mode)
{
	struct stat found;

	if (stat(path, &found))
		return -1;
	if (mode & X_OK) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

/* stdio asks this one: streams are buffered by lines, as on a terminal. */
int _isatty(int fd)
{
	struct stat found;

	return _fstat(fd, &found) == 0 && S_ISCHR(found.st_mode);
}

/* Applications ask this one: there is no terminal to draw on. */
int isatty(int fd)
{
	struct stat found;

	if (_fstat(fd, &found) == 0)
		errno = ENOTTY;
	return 0;
}

int _fcntl(int fd, int command, ...)
{
	struct margay_stat found;
	long result = glue_call3(SYS_FSTAT, fd, (long)&found, 0);
	va_list arguments;
	int value;

	if (result < 0)
		return (int)glue_result(result);
	va_start(arguments, command);
	value = va_arg(arguments, int);
	va_end(arguments);
	switch (command) {
	case F_GETFL:
		return fd < DESCRIPTORS ? open_flags[fd] : O_RDWR;
	case F_SETFL:
		if (fd < DESCRIPTORS)
			open_flags[fd] = (open_flags[fd] & O_ACCMODE) | (value & ~O_ACCMODE);
		return 0;
	case F_GETFD:
	case F_SETFD:          /* there is no exec to close them at */
		return 0;
	case F_DUPFD:
		return (int)glue_missing("fcntl(F_DUPFD)");
	default:
		errno = EINVAL;
		return -1;
	}
}

/* A write is at the launcher when it returns: there is nothing to push. */
int fsync(int fd)
{
	struct stat found;

	return fstat(fd, &found);
}

int fdatasync(int fd)
{
	return fsync(fd);
}

void sync(void)
{
}

char *getcwd(char *buffer, size_t bytes)
{
	if (!buffer)
		return strdup("/");
	if (bytes < 2) {
		errno = bytes ? ERANGE : EINVAL;
		return NULL;
	}
	return strcpy(buffer, "/");
}
