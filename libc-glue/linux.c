/*
 * margay_linux: musl calls this instead of making Linux system calls. Dispatches the calls by
 * number to the functions of linux.h, which use the kernel's own calls or work in the library. To
 * add a call, add a case here and a function there.
 */
#include "linux.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "syscall.h"

long margay_linux(long number, long a, long b, long c, long d, long e, long f);

static int64_t timespec_ns(const struct timespec *time)
{
	int64_t ns = time ? time_ns(time) : NO_TIMEOUT;

	return time && ns < 0 ? NO_TIMEOUT - 1 : ns;
}

static int64_t timeval_ns(const struct timeval *time)
{
	struct timespec same = { 0 };

	if (time)
		same = (struct timespec){ time->tv_sec, time->tv_usec * 1000 };
	return timespec_ns(time ? &same : NULL);
}

/* The thread pointer; musl keeps the thread's data there. */
static long set_thread(long pointer)
{
	__asm__ volatile("wrfsbase %0" : : "r"(pointer));
	return 0;
}

#define HERE   AT_FDCWD
#define ITSELF ""              /* as a path: the descriptor's own file */

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	switch (n) {
	/* ---- files ---- */
	case SYS_open:
		return linux_openat(HERE, (const char *)a, (int)b, c);
	case SYS_openat:
		return linux_openat((int)a, (const char *)b, (int)c, d);
	case SYS_creat:
		return linux_openat(HERE, (const char *)a, O_CREAT | O_WRONLY | O_TRUNC, b);
	case SYS_close:
		return linux_close((int)a);
	case SYS_read:
		return linux_read((int)a, (void *)b, (size_t)c);
	case SYS_write:
		return linux_write((int)a, (const void *)b, (size_t)c);
	case SYS_readv:
		return linux_readv((int)a, (const struct iovec *)b, (int)c);
	case SYS_writev:
		return linux_writev((int)a, (const struct iovec *)b, (int)c);
	case SYS_pread64:
		return d < 0 ? -EINVAL : linux_pread((int)a, (void *)b, (size_t)c, d);
	case SYS_pwrite64:
		return d < 0 ? -EINVAL : linux_pwrite((int)a, (const void *)b, (size_t)c, d);
	case SYS_preadv:
		return linux_preadv((int)a, (const struct iovec *)b, (int)c, d);
	case SYS_pwritev:
		return linux_pwritev((int)a, (const struct iovec *)b, (int)c, d);
	case SYS_fallocate:
		return linux_fallocate((int)a, (int)b, c, d);
	case SYS_lseek:
		return linux_lseek((int)a, b, (int)c);
	case SYS_fstat:
		return linux_statat((int)a, ITSELF, (struct stat *)b, AT_EMPTY_PATH);
	case SYS_stat:
		return linux_statat(HERE, (const char *)a, (struct stat *)b, 0);
	case SYS_lstat:
		return linux_statat(HERE, (const char *)a, (struct stat *)b, AT_SYMLINK_NOFOLLOW);
	case SYS_newfstatat:
		return linux_statat((int)a, (const char *)b, (struct stat *)c, (int)d);
	case SYS_fcntl:
		return linux_fcntl((int)a, (int)b, c);
	case SYS_flock:
		return linux_flock((int)a, (int)b);
	case SYS_dup:
		return linux_dup((int)a, 0, MARGAY_DUP_LOWEST, 0);
	case SYS_dup2:
		return linux_dup((int)a, (int)b, MARGAY_DUP_TO, 0);
	case SYS_dup3:
		return a == b || (c & ~O_CLOEXEC) ? -EINVAL :
		       linux_dup((int)a, (int)b, MARGAY_DUP_TO, (int)c);
	case SYS_getdents64:
		return linux_list((int)a, (void *)b, (size_t)c);
	case SYS_ioctl:
		return linux_ioctl((int)a, (int)b);
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_syncfs:
		return linux_fsync((int)a);
	case SYS_fadvise64:
		return linux_fadvise((int)a, c, (int)d);
	case SYS_sync:
		return 0;
	case SYS_poll:
		return linux_poll((struct pollfd *)a, (size_t)b,
				  c < 0 ? NO_TIMEOUT : c * 1000000, NULL);
	case SYS_ppoll:
		return linux_poll((struct pollfd *)a, (size_t)b,
				  timespec_ns((const struct timespec *)c), (const uint64_t *)d);
	case SYS_select:
		return linux_select((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d,
				    timeval_ns((const struct timeval *)e), NULL);
	case SYS_pselect6:              /* the mask's address is the first word at f */
		return linux_select((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d,
				    timespec_ns((const struct timespec *)e),
				    f ? *(const uint64_t **)f : NULL);
	/* ---- paths ---- */
	case SYS_mkdir:
		return linux_mkdir(HERE, (const char *)a, b);
	case SYS_mkdirat:
		return linux_mkdir((int)a, (const char *)b, c);
	case SYS_unlink:
		return linux_unlink(HERE, (const char *)a, 0);
	case SYS_rmdir:
		return linux_unlink(HERE, (const char *)a, AT_REMOVEDIR);
	case SYS_unlinkat:
		return linux_unlink((int)a, (const char *)b, (int)c);
	case SYS_rename:
		return linux_rename(HERE, (const char *)a, HERE, (const char *)b);
	case SYS_renameat:
		return linux_rename((int)a, (const char *)b, (int)c, (const char *)d);
	case SYS_renameat2:
		return e ? -EINVAL : linux_rename((int)a, (const char *)b, (int)c, (const char *)d);
	case SYS_link:
		return linux_link(HERE, (const char *)a, HERE, (const char *)b, 0);
	case SYS_linkat:
		return linux_link((int)a, (const char *)b, (int)c, (const char *)d, (int)e);
	case SYS_symlink:
		return linux_symlink((const char *)a, HERE, (const char *)b);
	case SYS_symlinkat:
		return linux_symlink((const char *)a, (int)b, (const char *)c);
	case SYS_readlink:
		return linux_readlink(HERE, (const char *)a, (char *)b, (size_t)c);
	case SYS_readlinkat:
		return linux_readlink((int)a, (const char *)b, (char *)c, (size_t)d);
	case SYS_chmod:
		return linux_chmod(HERE, (const char *)a, b);
	case SYS_fchmod:
		return linux_chmod((int)a, ITSELF, b);
	case SYS_fchmodat:
		return linux_chmod((int)a, (const char *)b, c);
	case SYS_chown:
		return linux_chown(HERE, (const char *)a, b, c, 0);
	case SYS_lchown:
		return linux_chown(HERE, (const char *)a, b, c, AT_SYMLINK_NOFOLLOW);
	case SYS_fchown:
		return linux_chown((int)a, ITSELF, b, c, AT_EMPTY_PATH);
	case SYS_fchownat:
		return linux_chown((int)a, (const char *)b, c, d, (int)e);
	case SYS_utimensat:
		return linux_utimens((int)a, b ? (const char *)b : ITSELF,
				     (const struct timespec *)c, (int)d);
	case SYS_truncate:
		return linux_truncate(HERE, (const char *)a, b);
	case SYS_ftruncate:
		return linux_truncate((int)a, ITSELF, b);
	case SYS_statfs:
		return linux_statfs(HERE, (const char *)a, (struct statfs *)b);
	case SYS_fstatfs:
		return linux_statfs((int)a, ITSELF, (struct statfs *)b);
	case SYS_chdir:
		return linux_chdir(HERE, (const char *)a);
	case SYS_fchdir:
		return linux_chdir((int)a, ITSELF);
	case SYS_getcwd:
		return linux_getcwd((char *)a, (size_t)b);
	case SYS_access:
		return linux_access(HERE, (const char *)a, (int)b, 0);
	case SYS_faccessat:
		return linux_access((int)a, (const char *)b, (int)c, 0);
	case SYS_umask:
		return linux_umask(a);
	/* ---- time ---- */
	case SYS_clock_gettime:
		return linux_clock_gettime((clockid_t)a, (struct timespec *)b);
	case SYS_clock_getres:
		return linux_clock_getres((clockid_t)a, (struct timespec *)b);
	case SYS_clock_nanosleep:
		return linux_clock_nanosleep((clockid_t)a, (int)b, (const struct timespec *)c,
					     (struct timespec *)d);
	case SYS_nanosleep:
		return linux_clock_nanosleep(CLOCK_REALTIME, 0, (const struct timespec *)a,
					     (struct timespec *)b);
	case SYS_gettimeofday:
		return linux_gettimeofday((struct timeval *)a);
	case SYS_getrusage:
		return linux_getrusage((int)a, (struct rusage *)b);
	case SYS_times:
		return linux_times((struct tms *)a);
	case SYS_alarm:
		return linux_alarm((unsigned)a);
	case SYS_setitimer:
		return linux_setitimer((int)a, (const struct itimerval *)b, (struct itimerval *)c);
	case SYS_getitimer:
		return linux_getitimer((int)a, (struct itimerval *)b);
	/* ---- memory ---- */
	case SYS_brk:
		return linux_brk((uintptr_t)a);
	case SYS_mmap:
		return d & MAP_ANONYMOUS ? linux_mmap((size_t)b, (int)c, (int)d) :
		       (int)e < 0 ? -EBADF : -ENODEV;
	case SYS_munmap:
		return linux_munmap((uintptr_t)a, (size_t)b);
	case SYS_mremap:
		return linux_mremap((uintptr_t)a, (size_t)b, (size_t)c, (int)d);
	case SYS_mprotect:
		return linux_mprotect((int)c);
	case SYS_madvise:
		return linux_madvise((int)c);
	case SYS_msync:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_munlock:
	case SYS_mlockall:
	case SYS_munlockall:
		return 0;               /* memory is never paged out */
	/* ---- signals ---- */
	case SYS_rt_sigaction:
		return linux_sigaction((int)a, (const struct linux_action *)b,
				       (struct linux_action *)c);
	case SYS_rt_sigprocmask:
		return linux_sigprocmask((int)a, (const uint64_t *)b, (uint64_t *)c);
	case SYS_rt_sigpending:
		return linux_sigpending((uint64_t *)a);
	case SYS_rt_sigsuspend:
		return linux_sigsuspend((const uint64_t *)a);
	case SYS_rt_sigtimedwait:
		return linux_sigtimedwait((const uint64_t *)a, (siginfo_t *)b,
					  (const struct timespec *)c);
	case SYS_sigaltstack:
		return linux_sigaltstack((const stack_t *)a, (stack_t *)b);
	case SYS_kill:
	case SYS_tkill:
		return linux_kill((int)a, (int)b);
	case SYS_rt_sigqueueinfo:
		return linux_sigqueue((int)a, (int)b, (const siginfo_t *)c);
	case SYS_tgkill:
		return linux_kill((int)b, (int)c);
	case SYS_pause:
		return linux_pause();
	/* ---- the process ---- */
	case SYS_exit:
	case SYS_exit_group:
		linux_exit((int)a);
	case SYS_getpid:
	case SYS_gettid:
	case SYS_set_tid_address:
		return linux_getpid();
	case SYS_getuid:                /* every process is the job's owner; there are no others */
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getegid:
	case SYS_getppid:
	case SYS_getpgid:
	case SYS_getpgrp:
	case SYS_getsid:
	case SYS_getgroups:
		return 0;
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setpgid:
		return a == 0 ? 0 : -EPERM;
	case SYS_setreuid:
	case SYS_setregid:
		return (a == 0 || a == -1) && (b == 0 || b == -1) ? 0 : -EPERM;
	case SYS_set_thread_area:
		return set_thread(a);
	case SYS_set_robust_list:
	case SYS_membarrier:
		return 0;               /* there are no other threads */
	case SYS_sched_yield:
		return 0;
	case SYS_prctl:                 /* a thread's name is not kept */
		return a == PR_SET_NAME ? 0 : -EINVAL;
	case SYS_getcpu:
		*(unsigned *)a = 0;
		return 0;
	case SYS_sched_getaffinity:
		return linux_sched_getaffinity((size_t)b, (void *)c);
	case SYS_futex:
		return linux_futex((volatile int *)a, (int)b, (int)c, (const struct timespec *)d);
	case SYS_uname:
		return linux_uname((struct utsname *)a);
	case SYS_getrandom:
		return linux_getrandom((void *)a, (size_t)b);
	case SYS_sysinfo:
		return linux_sysinfo((struct sysinfo *)a);
	case SYS_prlimit64:
		return linux_prlimit((int)b, (const struct rlimit *)c, (struct rlimit *)d);
	case SYS_getrlimit:
		return linux_prlimit((int)a, NULL, (struct rlimit *)b);
	default:
		return linux_missing(n);
	}
}

/* A signal that arrived inside the library is delivered at the end of a call. */
long margay_linux(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	result = call(number, a, b, c, d, e, f);
	if (signal_due)
		signal_tick();
	return result;
}
