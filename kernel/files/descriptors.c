/*
 * The system calls on descriptors: streams, files that the job hands over, and files of the
 * host's folders. Data: the open files and the descriptors, and how much was written to each file
 * for the host.
 *
 * A file that is handed over (--file) can be read and sought in. One for the host (--out)
 * can only be written, by rank 0, from its start to its end: its bytes leave as console
 * records. Bad pointers stop the application (fault.c).
 */
#include "files.h"

#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/syscall.h"
#include "kernel/base/layout.h"
#include "kernel/console/console.h"
#include "kernel/devices/random.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "net/shm/region.h"
#include "locks.h"
#include "memfs_tree.h"
#include "p9_regs.h"
#include "names.h"
#include "stdin.h"

#define S_CHARACTER   0020620u     /* a stream's mode */
#define S_REGULAR     0100644u
#define S_DEVICE      0020666u
#define BUFFER_BYTES  16384        /* of stdio: of a file, */
#define STREAM_BYTES  4096         /* and of a stream */
#define FID_OPEN      16u          /* and from there on */
#define FID_OTHER     0x8000u      /* the second fid of each */
#define MOST_BYTES    0x7ffff000u  /* of one read or write, as on Linux */

enum { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END };  /* SEEK_SET, SEEK_CUR, SEEK_END */

/* Open files are in pages: the first is always there, the others are made of /tmp's memory when
 * the first file needs them, and stay. */
#define PAGE_FILES ((uint32_t)(PAGE_BYTES / sizeof(struct open_file)))

static struct open_file first_page[PAGE_FILES];
static struct open_file *file_pages[(OPEN_FILES + PAGE_FILES - 1) / PAGE_FILES] = { first_page };
static uint32_t files = PAGE_FILES;      /* so many are there */
/* A descriptor's open file, plus one; 0: it is closed. */
static uint16_t table[DESCRIPTORS];
static uint64_t out_bytes[FILE_OUT_LIMIT];

/* ---- the table ---- */

struct open_file *file_of(uint64_t fd)
{
	return fd < DESCRIPTORS && table[fd] ? file_at(table[fd] - 1u) : NULL;
}

static void open_stream(uint64_t fd, enum kind kind, uint16_t stream, uint32_t flags)
{
	first_page[fd] = (struct open_file){ .kind = kind, .stream = stream, .flags = flags,
	                                     .number = (uint16_t)(fd + 1) };
	file_use(&first_page[fd], fd);
}

void file_start(void)
{
	open_stream(0, KIND_STDIN, 0, 0);
	open_stream(1, KIND_OUTPUT, STREAM_STDOUT, MARGAY_O_WRONLY);
	open_stream(2, KIND_OUTPUT, STREAM_STDERR, MARGAY_O_WRONLY);
}

void file_stop(void)
{
	for (uint64_t fd = 0; fd < DESCRIPTORS; fd++)
		if (table[fd])
			sys_close(fd);
}

/* Another page of files. False: /tmp has no memory left. */
static bool add_page(void)
{
	void *page = tree_take_page();

	if (!page)
		return false;
	file_pages[files / PAGE_FILES] = page;
	files += PAGE_FILES;
	if (files > OPEN_FILES)
		files = OPEN_FILES;
	count(COUNTER_KERNEL_BYTES, PAGE_BYTES);
	return true;
}

int64_t file_new(struct open_file **made)
{
	uint32_t fd = 0, i = 0;

	while (fd < DESCRIPTORS && table[fd])
		fd++;
	while (i < files && file_at(i)->uses)
		i++;
	if (fd == DESCRIPTORS || i == OPEN_FILES)
		return -EMFILE;
	if (i == files && !add_page())
		return -ENFILE;
	*made = file_at(i);
	**made = (struct open_file){ .fid = FID_OPEN + i, .number = (uint16_t)(i + 1) };
	return fd;
}

void file_use(struct open_file *file, uint64_t fd)
{
	table[fd] = file->number;
	file->uses++;
}

static bool is(const struct open_file *file, const struct mount *mount, uint64_t inode)
{
	return file->uses && file->kind == KIND_MOUNTED && file->mount == mount &&
	       file->inode == inode;
}

struct open_file *file_with(const struct mount *mount, uint64_t inode)
{
	for (uint32_t i = 0; i < files; i++)
		if (is(file_at(i), mount, inode))
			return file_at(i);
	return NULL;
}

struct open_file *file_hidden(const struct mount *mount, uint64_t inode)
{
	for (uint32_t i = 0; i < files; i++)
		if (file_at(i)->hidden && is(file_at(i), mount, inode))
			return file_at(i);
	return NULL;
}

bool file_forget_process_locks(const struct mount *mount, uint64_t inode)
{
	bool had = false;

	for (uint32_t i = 0; i < files; i++) {
		if (!file_at(i)->has_process_locks || !is(file_at(i), mount, inode))
			continue;
		file_at(i)->has_process_locks = false;
		had = true;
	}
	return had;
}

struct open_file *file_at(uint32_t i)
{
	return &file_pages[i / PAGE_FILES][i % PAGE_FILES];
}

uint32_t file_count(void)
{
	return files;
}

int64_t sys_close(uint64_t fd)
{
	struct open_file *file = file_of(fd);
	int64_t error = 0;

	if (!file)
		return -EBADF;
	table[fd] = 0;
	if (file->kind == KIND_MOUNTED)
		lock_closed(file, file->uses == 1);
	if (--file->uses)
		return 0;
	if (file->kind == KIND_MOUNTED) {
		error = fs_clunk(file->mount, file->fid);
		name_closed(file);
	}
	file->kind = KIND_CLOSED;
	return error;
}

int64_t sys_dup(uint64_t fd, uint64_t wanted, uint64_t how)
{
	struct open_file *file = file_of(fd);

	if (!file)
		return -EBADF;
	if (wanted >= DESCRIPTORS)
		return how == MARGAY_DUP_TO ? -EBADF : -EINVAL;
	if (how == MARGAY_DUP_TO) {
		if (wanted == fd)
			return (int64_t)fd;
		if (file_of(wanted))
			sys_close(wanted);
	} else {
		while (wanted < DESCRIPTORS && table[wanted])
			wanted++;
		if (wanted == DESCRIPTORS)
			return -EMFILE;
	}
	file_use(file, wanted);
	return (int64_t)wanted;
}

/*
 * The server keeps the append mode of an open. So the file is opened again, under the other one of
 * its two fids. If that fails, a file without append mode can still append, by its size.
 */
static int64_t open_again(struct open_file *file, uint32_t flags)
{
	uint32_t other = file->fid ^ FID_OTHER;
	struct p9_qid qid;
	int64_t error = fs_walk(file->mount, file->fid, other, "", 0, &qid);

	if (error)
		return error;
	error = fs_open(file->mount, other, flags & (MARGAY_O_ACCESS | MARGAY_O_APPEND), &qid);
	if (!error && qid.path != file->inode) {
		fs_clunk(file->mount, other);
		return -ENOENT;
	}
	fs_clunk(file->mount, error ? other : file->fid);
	if (!error) {
		file->fid = other;
		file->appends = flags & MARGAY_O_APPEND;
	}
	return error;
}

int64_t file_named(struct open_file *file)
{
	uint32_t other = file->fid ^ FID_OTHER;
	struct margay_stat stat;
	struct p9_qid qid;
	int64_t error;

	if (file->mount->in_memory)
		return 0;
	error = fs_walk(file->mount, file->fid, other, "", 0, &qid);
	if (error)
		return error;
	error = fs_stat(file->mount, other, &stat);
	fs_clunk(file->mount, other);
	return error ? error : stat.inode == file->inode ? 0 : -ENOENT;
}

int64_t sys_flags(uint64_t fd, uint64_t flags)
{
	struct open_file *file = file_of(fd);
	uint32_t changes = MARGAY_O_APPEND | MARGAY_O_NONBLOCK;
	int64_t error;

	if (!file)
		return -EBADF;
	if (flags == ~0ULL)
		return file->flags;
	flags = (file->flags & ~changes) | ((uint32_t)flags & changes);
	if ((flags ^ file->flags) & MARGAY_O_APPEND && file->kind == KIND_MOUNTED &&
	    !file->mount->in_memory && flags & (MARGAY_O_WRONLY | MARGAY_O_RDWR)) {
		error = open_again(file, (uint32_t)flags);
		if (error && file->appends)
			return error;
	}
	file->flags = (uint32_t)flags;
	return file->flags;
}

/* ---- bytes ---- */

/* Position of the next read or write; after an append, the end of the file. */
static int64_t here(struct open_file *file)
{
	struct margay_stat stat;
	int64_t error;

	if (!file->appended)
		return 0;
	error = fs_stat(file->mount, file->fid, &stat);
	if (error)
		return error;
	file->offset = (uint64_t)stat.bytes;
	file->appended = false;
	return 0;
}

void file_settle(const struct mount *mount, uint64_t inode, const struct open_file *but)
{
	for (uint32_t i = 0; i < files; i++)
		if (file_at(i)->appended && file_at(i) != but && is(file_at(i), mount, inode))
			here(file_at(i));
}

/* ---- devices ---- */

enum kind device_of(const char *path, uint64_t *fd)
{
	static const struct { const char *path; enum kind kind; uint64_t fd; } devices[] = {
		{ "/dev/null", KIND_NULL, 0 }, { "/dev/zero", KIND_ZERO, 0 },
		{ "/dev/random", KIND_RANDOM, 0 }, { "/dev/urandom", KIND_RANDOM, 0 },
		{ "/dev/stdin", KIND_STDIN, 0 }, { "/dev/stdout", KIND_OUTPUT, 1 },
		{ "/dev/stderr", KIND_OUTPUT, 2 },
	};

	for (uint32_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (!strcmp(path, devices[i].path)) {
			*fd = devices[i].fd;
			return devices[i].kind;
		}
	return KIND_CLOSED;
}

void file_stat_device(struct margay_stat *stat)
{
	*stat = (struct margay_stat){ .inode = 9, .links = 1, .mode = S_DEVICE,
	                              .block_bytes = STREAM_BYTES };
}

static int64_t read_device(enum kind kind, uint8_t *to, uint64_t bytes)
{
	if (kind == KIND_NULL)
		return 0;
	memset(to, 0, bytes);
	for (uint64_t at = 0; kind == KIND_RANDOM && at < bytes; at += sizeof(uint64_t)) {
		uint64_t random = random_number(), n = bytes - at;

		memcpy(to + at, &random, n < sizeof(random) ? n : sizeof(random));
	}
	return (int64_t)bytes;
}

/* ---- files ---- */

static int64_t read_handed(struct open_file *file, uint8_t *to, uint64_t bytes, uint64_t offset)
{
	if (offset >= file->handed.bytes)
		return 0;
	if (bytes > file->handed.bytes - offset)
		bytes = file->handed.bytes - offset;
	memcpy(to, file->handed.data + offset, bytes);
	count(COUNTER_FILE_BYTES_COPIED, bytes);
	return (int64_t)bytes;
}

int64_t sys_read(uint64_t fd, uint64_t address, uint64_t bytes, uint64_t offset)
{
	struct open_file *file = file_of(fd);
	bool moves = offset == MARGAY_HERE;
	int64_t result;
	void *to;

	if (!file || (file->flags & MARGAY_O_ACCESS) == MARGAY_O_WRONLY)
		return -EBADF;
	if (file->is_folder)
		return -EISDIR;
	to = user_range(address, bytes, USER_WRITE);
	if (!to)
		fault_bad_pointer("read", address, bytes);
	if (file->kind >= KIND_NULL)
		return read_device(file->kind, to, bytes);
	if (file->kind == KIND_STDIN)
		return moves ? stdin_read(to, bytes, !(file->flags & MARGAY_O_NONBLOCK)) : -ESPIPE;
	if (moves) {
		result = here(file);
		if (result)
			return result;
		offset = file->offset;
	} else if ((int64_t)offset < 0) {
		return -EINVAL;
	}
	if (bytes > MOST_BYTES)
		bytes = MOST_BYTES;
	result = file->kind == KIND_MOUNTED ?
		 fs_read(file->mount, file->fid, offset, to, bytes) :
		 read_handed(file, to, bytes, offset);
	if (result > 0)
		count(COUNTER_FILE_BYTES_IN, (uint64_t)result);
	if (moves && result > 0)
		file->offset += (uint64_t)result;
	return result;
}

static int64_t end_of(struct open_file *file, uint64_t *end)
{
	struct margay_stat stat;
	int64_t error = file_stat(file, &stat);

	*end = (uint64_t)stat.bytes;
	return error;
}

static int64_t write_host(struct open_file *file, const uint8_t *from, uint64_t bytes,
                          uint64_t offset, bool moves)
{
	uint64_t done = 0;

	if (bytes > MOST_BYTES)
		bytes = MOST_BYTES;
	file_settle(file->mount, file->inode, moves ? file : NULL);
	if (file->flags & MARGAY_O_APPEND && !file->appends) {
		int64_t error = end_of(file, &offset);

		if (error)
			return error;
	}
	while (done < bytes) {
		int64_t taken = fs_write(file->mount, file->fid, offset + done, from + done,
		                         bytes - done);

		if (taken <= 0)
			return done ? (int64_t)done : taken ? taken : -EIO;
		done += (uint64_t)taken;
		count(COUNTER_FILE_BYTES_OUT, (uint64_t)taken);
	}
	return (int64_t)done;
}

int64_t sys_write(uint64_t fd, uint64_t address, uint64_t bytes, uint64_t offset)
{
	struct open_file *file = file_of(fd);
	bool moves = offset == MARGAY_HERE;
	const void *from;
	int64_t result;

	if (!file || !(file->flags & (MARGAY_O_WRONLY | MARGAY_O_RDWR)))
		return -EBADF;
	from = user_range(address, bytes, USER_READ);
	if (!from)
		fault_bad_pointer("write", address, bytes);
	if (file->kind >= KIND_NULL)
		return (int64_t)bytes;
	if (file->kind != KIND_MOUNTED) {
		if (!moves)
			return -ESPIPE;
		console_write(file->stream, from, bytes);
		if (file->kind == KIND_OUT)
			out_bytes[file->handed.out_index] += bytes;
		return (int64_t)bytes;
	}
	if (!moves)
		return (int64_t)offset < 0 ? -EINVAL : write_host(file, from, bytes, offset, false);
	result = file->flags & MARGAY_O_APPEND ? 0 : here(file);
	if (!result)
		result = write_host(file, from, bytes, file->offset, true);
	if (result > 0 && file->flags & MARGAY_O_APPEND)
		file->appended = true;
	else if (result > 0)
		file->offset += (uint64_t)result;
	return result;
}

int64_t sys_ready(uint64_t fd, uint64_t ns)
{
	struct open_file *file = file_of(fd);

	if (!file)
		return -EBADF;
	switch (file->kind) {
	case KIND_STDIN:
		return stdin_await(deadline_in(ns));
	case KIND_OUTPUT:
	case KIND_OUT:
		return MARGAY_READY_OUT;
	default:
		return MARGAY_READY_IN | MARGAY_READY_OUT;
	}
}

/* ---- positions and attributes ---- */

int64_t file_from(struct open_file *file, uint64_t whence)
{
	uint64_t end;
	int64_t error = here(file);

	if (error)
		return error;
	switch (whence) {
	case SEEK_FROM_START: return 0;
	case SEEK_FROM_HERE:  return (int64_t)file->offset;
	case SEEK_FROM_END:   error = end_of(file, &end); return error ? error : (int64_t)end;
	default:              return -EINVAL;
	}
}

int64_t sys_lseek(uint64_t fd, uint64_t offset, uint64_t whence)
{
	struct open_file *file = file_of(fd);
	int64_t from;

	if (!file)
		return -EBADF;
	if (file->kind == KIND_STDIN || file->kind == KIND_OUTPUT)
		return -ESPIPE;
	if (file->kind >= KIND_NULL)
		return 0;
	if (file->kind == KIND_OUT)
		file->offset = out_bytes[file->handed.out_index];
	from = file_from(file, whence);
	if (from < 0)
		return from;
	if ((int64_t)((uint64_t)from + offset) < 0)
		return -EINVAL;
	if (file->kind == KIND_OUT && (uint64_t)from + offset != file->offset)
		return -ESPIPE;
	file->offset = (uint64_t)from + offset;
	return (int64_t)file->offset;
}

void file_stat_handed(const struct file *handed, struct margay_stat *stat)
{
	uint64_t written = handed->out_index < FILE_OUT_LIMIT ? out_bytes[handed->out_index] : 0;
	struct margay_time start = { .s = (int64_t)((node.own ? node.own->start_ns : 0) / NS_PER_S) };

	*stat = (struct margay_stat){
		.inode = OPEN_FILES + handed->index, .links = 1, .mode = S_REGULAR,
		.bytes = (int64_t)(handed->out ? written : handed->bytes),
		.block_bytes = BUFFER_BYTES, .access = start, .modification = start, .change = start,
	};
	stat->blocks = (stat->bytes + 511) / 512;
}

void file_stat_name(const struct mount *mount, struct margay_stat *stat)
{
	if (file_hidden(mount, stat->inode))
		stat->links--;         /* its hidden name does not count */
}

int64_t file_stat(struct open_file *file, struct margay_stat *stat)
{
	int64_t error;

	switch (file->kind) {
	case KIND_MOUNTED:
		if (file->gone && !file->mount->in_memory)
			return -ENOENT;
		error = fs_stat(file->mount, file->fid, stat);
		if (!error)
			file_stat_name(file->mount, stat);
		return error;
	case KIND_NULL:
	case KIND_ZERO:
	case KIND_RANDOM:
		file_stat_device(stat);
		return 0;
	case KIND_HANDED:
	case KIND_OUT:
		file_stat_handed(&file->handed, stat);
		return 0;
	default:
		*stat = (struct margay_stat){ .inode = 1 + file->stream, .links = 1,
			.mode = S_CHARACTER, .block_bytes = STREAM_BYTES };
		return 0;
	}
}

/* Whether a handed file may be opened with these flags: 0, or -errno. */
int64_t file_may_open(const struct file *handed, uint32_t flags)
{
	if (!(flags & (MARGAY_O_WRONLY | MARGAY_O_RDWR)))
		return handed->out ? -EACCES : 0;
	if (!handed->out || this_process()->rank != 0 || handed->out_index >= FILE_OUT_LIMIT)
		return -EROFS;
	if ((flags & (MARGAY_O_CREAT | MARGAY_O_EXCL)) == (MARGAY_O_CREAT | MARGAY_O_EXCL))
		return -EEXIST;
	/* Written bytes have left already: they cannot be overwritten. */
	return out_bytes[handed->out_index] && !(flags & MARGAY_O_APPEND) ? -EBUSY : 0;
}

int64_t sys_fsync(uint64_t fd)
{
	struct open_file *file = file_of(fd);

	if (!file)
		return -EBADF;
	return file->kind == KIND_MOUNTED ? fs_sync(file->mount, file->fid) : 0;
}
