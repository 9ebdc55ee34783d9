/*
 * The system calls on files and streams. Data: the table of open files, and how
 * much was written to each file that goes back to the host.
 *
 * A file that is handed over can be read and sought in. A file for the host can
 * only be written, by rank 0, from its start to its end: its bytes leave as
 * console records. Bad pointers stop the application (fault.c).
 */
#include <stddef.h>

#include "../net/shm/region.h"
#include "console.h"
#include "errno.h"
#include "fault.h"
#include "files.h"
#include "node.h"
#include "process.h"
#include "string.h"
#include "syscall.h"
#include "uaccess.h"

#define DESCRIPTORS 64u
#define PATH_BYTES  256u

enum { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END };  /* newlib's SEEK_SET, CUR, END */

enum kind { KIND_CLOSED, KIND_STDIN, KIND_OUTPUT, KIND_FILE, KIND_OUT_FILE };

struct descriptor {
	enum kind kind;
	uint16_t stream;           /* KIND_OUTPUT, KIND_OUT_FILE: where bytes go */
	uint64_t offset;           /* KIND_FILE */
	struct file file;
};

static struct descriptor table[DESCRIPTORS] = {
	{ .kind = KIND_STDIN },
	{ .kind = KIND_OUTPUT, .stream = STREAM_STDOUT },
	{ .kind = KIND_OUTPUT, .stream = STREAM_STDERR },
};
static uint64_t out_bytes[FILE_OUT_LIMIT];

static struct descriptor *descriptor_of(uint64_t fd)
{
	return fd < DESCRIPTORS && table[fd].kind != KIND_CLOSED ? &table[fd] : NULL;
}

int64_t sys_write(uint64_t fd, uint64_t address, uint64_t bytes)
{
	struct descriptor *d = descriptor_of(fd);
	const void *from;

	if (!d || (d->kind != KIND_OUTPUT && d->kind != KIND_OUT_FILE))
		return -EBADF;
	from = user_range(address, bytes, USER_READ);
	if (!from)
		fault_bad_pointer("write", address, bytes);
	console_write(d->stream, from, bytes);
	if (d->kind == KIND_OUT_FILE)
		out_bytes[d->file.out_index] += bytes;
	return (int64_t)bytes;
}

int64_t sys_read(uint64_t fd, uint64_t address, uint64_t bytes)
{
	struct descriptor *d = descriptor_of(fd);
	void *to;

	if (!d || (d->kind != KIND_STDIN && d->kind != KIND_FILE))
		return -EBADF;
	to = user_range(address, bytes, USER_WRITE);
	if (!to)
		fault_bad_pointer("read", address, bytes);
	if (d->kind == KIND_STDIN)
		return stdin_read(to, bytes);
	if (d->offset >= d->file.bytes)
		return 0;
	if (bytes > d->file.bytes - d->offset)
		bytes = d->file.bytes - d->offset;
	memcpy(to, d->file.data + d->offset, bytes);
	d->offset += bytes;
	return (int64_t)bytes;
}

/* Copies the application's path; 0, or -errno. */
static int64_t copy_path(const char *call, uint64_t address, uint64_t bytes, char *path)
{
	const char *from = user_range(address, bytes, USER_READ);

	if (!from)
		fault_bad_pointer(call, address, bytes);
	if (bytes >= PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(path, from, bytes);
	path[bytes] = 0;
	return 0;
}

/* Whether a file that was found, or not, may be opened so; 0, or -errno. */
static int64_t may_open(bool found, const struct file *file, uint64_t flags)
{
	if (!(flags & MARGAY_O_WRITE)) {
		if (!found)
			return -ENOENT;
		return file->out ? -EACCES : 0;
	}
	if (!found || !file->out || this_process()->rank != 0 || file->out_index >= FILE_OUT_LIMIT)
		return -EROFS;
	if (flags & MARGAY_O_EXCL)
		return -EEXIST;
	/* What was written has left: it cannot be written over. */
	return out_bytes[file->out_index] && !(flags & MARGAY_O_APPEND) ? -EBUSY : 0;
}

int64_t sys_open(uint64_t address, uint64_t bytes, uint64_t flags)
{
	char path[PATH_BYTES];
	struct file file = { 0 };
	int64_t error = copy_path("open", address, bytes, path);
	bool found;

	if (error)
		return error;
	found = file_find(path, &file);
	error = may_open(found, &file, flags);
	if (error)
		return error;
	for (uint32_t fd = 0; fd < DESCRIPTORS; fd++) {
		if (table[fd].kind != KIND_CLOSED)
			continue;
		table[fd] = (struct descriptor){
			.kind = file.out ? KIND_OUT_FILE : KIND_FILE,
			.stream = (uint16_t)(STREAM_OUT_FILE + file.index),
			.file = file,
		};
		return fd;
	}
	return -EMFILE;
}

int64_t sys_close(uint64_t fd)
{
	struct descriptor *d = descriptor_of(fd);

	if (!d)
		return -EBADF;
	d->kind = KIND_CLOSED;
	return 0;
}

int64_t sys_lseek(uint64_t fd, uint64_t offset, uint64_t whence)
{
	struct descriptor *d = descriptor_of(fd);
	uint64_t from, end, here;

	if (!d)
		return -EBADF;
	if (d->kind != KIND_FILE && d->kind != KIND_OUT_FILE)
		return -ESPIPE;
	end = d->kind == KIND_FILE ? d->file.bytes : out_bytes[d->file.out_index];
	here = d->kind == KIND_FILE ? d->offset : end;
	switch (whence) {
	case SEEK_FROM_START: from = 0; break;
	case SEEK_FROM_HERE:  from = here; break;
	case SEEK_FROM_END:   from = end; break;
	default:              return -EINVAL;
	}
	if ((int64_t)(from + offset) < 0)
		return -EINVAL;
	if (d->kind == KIND_OUT_FILE && from + offset != here)
		return -ESPIPE;
	d->offset = from + offset;
	return (int64_t)d->offset;
}

static struct margay_stat stat_of(const struct file *file)
{
	uint64_t written = file->out_index < FILE_OUT_LIMIT ? out_bytes[file->out_index] : 0;

	return (struct margay_stat){
		.bytes = file->out ? written : file->bytes,
		.kind = MARGAY_S_FILE,
		.inode = DESCRIPTORS + file->index,
	};
}

int64_t sys_fstat(uint64_t fd, uint64_t address)
{
	struct descriptor *d = descriptor_of(fd);
	struct margay_stat *out;

	if (!d)
		return -EBADF;
	out = user_range(address, sizeof(*out), USER_WRITE);
	if (!out)
		fault_bad_pointer("fstat", address, sizeof(*out));
	if (d->kind == KIND_FILE || d->kind == KIND_OUT_FILE)
		*out = stat_of(&d->file);
	else
		*out = (struct margay_stat){ .kind = MARGAY_S_STREAM, .inode = (uint32_t)fd };
	return 0;
}

int64_t sys_stat(uint64_t address, uint64_t bytes, uint64_t to)
{
	char path[PATH_BYTES];
	struct file file;
	struct margay_stat *out = user_range(to, sizeof(*out), USER_WRITE);
	int64_t error = copy_path("stat", address, bytes, path);

	if (!out)
		fault_bad_pointer("stat", to, sizeof(*out));
	if (error)
		return error;
	if (!file_find(path, &file))
		return -ENOENT;
	*out = stat_of(&file);
	return 0;
}
