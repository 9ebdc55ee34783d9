/*
 * Locks of files: see locks.h. A request leaves as a record on the console ring; its answer is
 * a word of this node's entry in the region. Data: the number of the last request.
 */
#include "locks.h"

#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/syscall.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "kernel/transport/wait.h"
#include "net/shm/region.h"

static uint32_t requests;

/* ---- asking the launcher ---- */

static bool is_answered(void *unused)
{
	(void)unused;
	return atomic_load_explicit(&node.own->lock_answer, memory_order_acquire) >> 32 == requests;
}

static int64_t answer(void)
{
	uint32_t error = (uint32_t)atomic_load(&node.own->lock_answer);

	return error > ERRNO_LAST ? -EIO : -(int64_t)error;
}

static void send(struct region_lock *request)
{
	request->number = ++requests;
	request->pid = this_process()->pid;
	console_write(STREAM_LOCKS, request, sizeof(*request));
	ivshmem_ring(node.region->nodes); /* even if output needs no bell now */
}

static int64_t ask(struct region_lock *request)
{
	send(request);
	wait_until(is_answered, NULL, NEVER, "an answer about a file's lock");
	return answer();
}

/* Asks and waits for the lock; an upcall may end the wait: -EINTR. */
static int64_t ask_and_wait(struct region_lock *request)
{
	send(request);
	if (wait_or_upcall(is_answered, NULL, NEVER, "the lock of a file") == WAIT_READY)
		return answer();
	request->call = REGION_LOCK_CANCEL;
	return ask(request);
}

/* ---- the call ---- */

/* The range of bytes of a lock: 0, or -errno. */
static int64_t range(struct open_file *file, const struct margay_lock *lock,
                     struct region_lock *request)
{
	int64_t start, end, from;

	from = file_from(file, (uint64_t)lock->whence);
	if (from < 0)
		return from;
	if (__builtin_add_overflow(from, lock->start, &start))
		return -EOVERFLOW;
	if (!lock->bytes)
		end = INT64_MAX;
	else if (__builtin_add_overflow(start, lock->bytes - (lock->bytes > 0), &end))
		return -EOVERFLOW;
	if (lock->bytes < 0) {
		int64_t behind = start;

		start = end;
		end = behind - 1;
	}
	if (start < 0)
		return -EINVAL;
	request->first = (uint64_t)start;
	request->last = (uint64_t)end;
	return 0;
}

/* Whether the file's open mode allows this lock. */
static bool allows(const struct open_file *file, uint16_t type)
{
	uint32_t access = file->flags & MARGAY_O_ACCESS;

	return type == REGION_LOCK_SHARED ? access != MARGAY_O_WRONLY :
	       type == REGION_LOCK_EXCLUSIVE ? access != 0 : true;
}

/* Describes the conflicting lock for GET. */
static void describe_conflict(struct margay_lock *lock)
{
	uint32_t type = node.own->lock_type;
	uint64_t first = node.own->lock_first, last = node.own->lock_last;

	lock->type = REGION_LOCK_NONE;
	if (type >= REGION_LOCK_NONE)
		return;
	*lock = (struct margay_lock){
		.type = (int16_t)type, .start = (int64_t)first,
		.bytes = last >= INT64_MAX ? 0 : (int64_t)(last - first) + 1,
		.pid = (int32_t)node.own->lock_pid,
	};
}

int64_t sys_lock(uint64_t fd, uint64_t how, uint64_t address)
{
	struct margay_lock *user = user_range(address, sizeof(*user), USER_WRITE), lock;
	struct open_file *file = file_of(fd);
	uint16_t call = how & MARGAY_LOCK_CALL;
	struct region_lock request = { .call = call };
	int64_t error;

	if (!user)
		fault_bad_pointer("fcntl", address, sizeof(*user));
	if (!file)
		return -EBADF;
	lock = *user;
	if (call > MARGAY_LOCK_WAIT || lock.type < 0 || lock.type > REGION_LOCK_NONE)
		return -EINVAL;
	error = range(file, &lock, &request);
	if (error)
		return error;
	request.type = (uint16_t)lock.type;
	if (call != MARGAY_LOCK_GET && !(how & MARGAY_LOCK_WHOLE) && !allows(file, request.type))
		return -EBADF;
	if (file->kind != KIND_MOUNTED || file->mount->in_memory || !node.region) {
		if (call == MARGAY_LOCK_GET)
			user->type = REGION_LOCK_NONE;
		return 0;
	}
	request.whole = how & MARGAY_LOCK_WHOLE ? 1 : 0;
	request.folder = mount_number(file->mount);
	request.inode = file->inode;
	request.owner = how & MARGAY_LOCK_OPEN_FILE ? file->number : 0;
	if (call != MARGAY_LOCK_GET && request.type != REGION_LOCK_NONE) {
		file->has_locks |= request.owner != 0;
		file->has_process_locks |= request.owner == 0;
	}
	error = call == MARGAY_LOCK_WAIT ? ask_and_wait(&request) : ask(&request);
	if (call == MARGAY_LOCK_GET && !error) {
		describe_conflict(&lock);
		*user = lock;
	}
	return error;
}

/* ---- closing ---- */

static void end_locks(const struct open_file *file, uint32_t owner, bool whole)
{
	struct region_lock request = {
		.call = REGION_LOCK_SET, .type = REGION_LOCK_NONE, .whole = whole,
		.folder = mount_number(file->mount), .owner = owner, .inode = file->inode,
		.last = INT64_MAX,
	};

	ask(&request);
}

void lock_closed(struct open_file *file, bool last)
{
	if (file_forget_process_locks(file->mount, file->inode))
		end_locks(file, 0, false);
	if (last && file->has_locks) {
		end_locks(file, file->number, false);
		end_locks(file, file->number, true);
	}
}
