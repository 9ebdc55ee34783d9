/*
 * The system calls that musl makes, by subject. Each function does one call of Linux and returns
 * what Linux returns, a value of 0 or more or -errno. linux.c dispatches the calls; the other files
 * of libc-glue/ have the functions. None of them uses errno, so they work before crt0 has set up
 * the thread, and in event handlers.
 */
#ifndef LIBC_GLUE_LINUX_H
#define LIBC_GLUE_LINUX_H
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

/* ---- memory.c ---- */

/* Call once, before any other memory function; glue_start must be filled in. */
void memory_begin(void);

/* Takes memory that is never freed, before main; ends the process if there is none. */
void *memory_take(size_t bytes, size_t align);

size_t memory_free_bytes(void);
size_t memory_most_bytes(void);          /* most bytes ever in use */

/* malloc.c: lowers the break to what malloc needs. Null if the program has its own. */
__attribute__((weak)) void malloc_give_back(void);

long linux_brk(uintptr_t end);
long linux_mmap(size_t bytes, int protection, int flags);
long linux_munmap(uintptr_t start, size_t bytes);
long linux_mremap(uintptr_t start, size_t bytes, size_t wanted, int flags);
long linux_mprotect(int protection);
long linux_madvise(int advice);

/* ---- file.c ---- */

extern const uint64_t *file_owner;       /* margay_file_owner */
int file_count(uint64_t owner);
void file_disown(uint64_t owner);
void file_disown_all(void);

long linux_openat(int folder, const char *path, int flags, long mode);
long linux_close(int fd);
long linux_read(int fd, void *to, size_t bytes);
long linux_write(int fd, const void *from, size_t bytes);
long linux_readv(int fd, const struct iovec *parts, int count);
long linux_writev(int fd, const struct iovec *parts, int count);
long linux_pread(int fd, void *to, size_t bytes, off_t offset);
long linux_pwrite(int fd, const void *from, size_t bytes, off_t offset);
long linux_preadv(int fd, const struct iovec *parts, int count, off_t offset);
long linux_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
long linux_fallocate(int fd, int mode, off_t offset, off_t bytes);
long linux_lseek(int fd, off_t offset, int whence);
long linux_dup(int fd, int wanted, int how, int flags);  /* MARGAY_DUP_; O_CLOEXEC or 0 */
long linux_flock(int fd, int operation);
long linux_fcntl(int fd, int command, long argument);
long linux_ioctl(int fd, int request);
long linux_fsync(int fd);
long linux_fadvise(int fd, off_t bytes, int advice);
long linux_list(int fd, void *to, size_t bytes);
long linux_statat(int folder, const char *path, struct stat *to, int flags);
long linux_access(int folder, const char *path, int mode, int flags);
long linux_chown(int folder, const char *path, long uid, long gid, int flags);
long linux_mkdir(int folder, const char *path, long mode);
long linux_unlink(int folder, const char *path, int flags);
long linux_rename(int folder, const char *path, int to_folder, const char *to);
long linux_link(int folder, const char *path, int to_folder, const char *to, int flags);
long linux_symlink(const char *target, int folder, const char *path);
long linux_readlink(int folder, const char *path, char *to, size_t bytes);
long linux_chmod(int folder, const char *path, long mode);
long linux_utimens(int folder, const char *path, const struct timespec *times, int flags);
long linux_truncate(int folder, const char *path, off_t bytes);
struct statfs;
long linux_statfs(int folder, const char *path, struct statfs *to);
long linux_chdir(int folder, const char *path);
long linux_getcwd(char *to, size_t bytes);
long linux_umask(long mode);

/* ---- poll.c ---- */

/* `timeout_ns`: NO_TIMEOUT waits for ever, less is invalid; `mask`: signals to block
 * meanwhile, or null. */
#define NO_TIMEOUT (-1)
long linux_poll(struct pollfd *fds, size_t count, int64_t timeout_ns, const uint64_t *mask);
long linux_select(int count, fd_set *in, fd_set *out, fd_set *errors, int64_t timeout_ns,
		  const uint64_t *mask);

/* ---- time.c ---- */

long linux_clock_gettime(clockid_t clock, struct timespec *time);
long linux_clock_getres(clockid_t clock, struct timespec *resolution);
long linux_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left);
long linux_gettimeofday(struct timeval *time);
long linux_getrusage(int who, struct rusage *used);
long linux_times(struct tms *used);

/* More than 2^63 ns, 292 years, counts as for ever; -1: invalid. */
int64_t time_ns(const struct timespec *time);

/* ---- signal.c ---- */

struct linux_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

long linux_sigaction(int number, const struct linux_action *action, struct linux_action *old);
long linux_sigprocmask(int how, const uint64_t *set, uint64_t *old);
long linux_sigpending(uint64_t *set);
long linux_sigsuspend(const uint64_t *mask);
long linux_sigtimedwait(const uint64_t *set, siginfo_t *info, const struct timespec *timeout);
long linux_sigaltstack(const stack_t *stack, stack_t *old);
long linux_kill(int pid, int number);
long linux_sigqueue(int pid, int number, const siginfo_t *info);
long linux_pause(void);
long linux_setitimer(int which, const struct itimerval *timer, struct itimerval *old);
long linux_getitimer(int which, struct itimerval *old);
long linux_alarm(unsigned seconds);

/* Waits until the monotonic clock reaches `end`: 0; or until a signal was handled: -EINTR. */
long wait_until(uint64_t end);

/* The same, with these signals blocked if `mask` is not null. If `fd` is not -1 but a descriptor of
 * standard input, returns 1 when that is ready. */
long wait_for(int fd, uint64_t end, const uint64_t *mask);

/* Waits until `end`, or until something happened: an upcall, the signal of a timer. 0: `end` has
 * already passed. */
int wait_once(uint64_t end);

/* The same until changed(argument), which an upcall makes true and also calls; 0: `end` has passed. */
int wait_for_change(int (*changed)(const void *), const void *argument, uint64_t end);

/* A call has ended with -EINTR because of an upcall. Delivers a signal that came with it. Nonzero:
 * the call fails; 0: repeat the call, as no handler ran, or one with SA_RESTART. */
int signal_ends_call(void);

/* Signals for which a handler was called, and those of them without SA_RESTART. */
extern unsigned long signals_handled;
extern unsigned long signals_interrupting;

/* Time of the next SIGALRM, monotonic ns; 0: no timer runs. */
extern uint64_t signal_timer;

/* A signal is pending and not blocked: signal_tick delivers it, where the library is not inside a
 * function. In an upcall it does nothing. */
extern volatile int signal_due;
void signal_tick(void);

/* From an upcall: whether the timer has expired, and the interrupted rip and rsp. Returns where the
 * program must continue instead, or 0. */
long signal_upcall(int timer, uint64_t rip, uint64_t rsp);

/* detour.c: that place, and its initialisation. It calls signal_interrupts. */
void signal_detour(void);
void detour_prepare(void);
void signal_interrupts(void);

/* ---- process.c ---- */

long linux_getpid(void);
long linux_uname(struct utsname *to);
long linux_getrandom(void *to, size_t bytes);
long linux_prlimit(int resource, const struct rlimit *limit, struct rlimit *old);
long linux_sysinfo(struct sysinfo *to);
long linux_sched_getaffinity(size_t bytes, void *to);
long linux_futex(volatile int *word, int operation, int value, const struct timespec *timeout);
_Noreturn void linux_exit(int status);

/* linux_exit calls this first; its result replaces the status. Or null. */
extern int (*process_end_handler)(int status);

/* ---- missing.c ---- */

/* A missing call: one line on the console names it. Returns -ENOSYS. */
long linux_missing(long number);

#endif
