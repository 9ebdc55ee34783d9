/*
 * Functions that newlib's headers declare and this machine does not have: each
 * prints its name on the console by one system call, sets errno to ENOSYS and
 * returns -1, or NULL. They are weak, so that an application may bring its own.
 * No header that declares them is included: the table gives all of them one form.
 */
#include "syscall.h"

#define WEAK __attribute__((weak))

long glue_missing(const char *name)
{
	long length = 0;

	while (name[length])
		length++;
	glue_call3(SYS_MISSING, (long)name, length, 0);
	errno = ENOSYS;
	return -1;
}

#define MISSING(X) \
	/* processes */ \
	X(vfork) X(fexecve) X(wait3) X(wait4) X(waitpid) X(daemon) \
	X(getpgid) X(getpgrp) X(getsid) X(setpgid) X(setpgrp) X(setsid) X(nice) \
	X(setuid) X(setgid) X(seteuid) X(setegid) X(setreuid) X(setregid) \
	X(getlogin_r) \
	X(getpwnam_r) X(getpwuid_r) X(getgroups) X(setgroups) X(initgroups) X(execlpe) X(execvpe) \
	X(sched_yield) X(sched_setparam) X(sched_getparam) X(sched_setscheduler) \
	X(sched_getscheduler) X(sched_get_priority_max) X(sched_get_priority_min) \
	X(sched_rr_get_interval) X(getpriority) X(setpriority) X(getrlimit) X(setrlimit) \
	/* signals of others, and timers */ \
	X(killpg) X(pause) X(alarm) X(ualarm) X(sigsuspend) X(sigwait) X(sigaltstack) \
	X(sigwaitinfo) X(sigtimedwait) X(sigqueue) X(siginterrupt) X(__xpg_sigpause) \
	X(setitimer) X(getitimer) X(timer_create) X(timer_delete) X(timer_settime) \
	X(timer_gettime) X(timer_getoverrun) X(clock_settime) X(settimeofday) X(adjtime) \
	X(clock_getcpuclockid) X(clock_getenable_attr) \
	X(clock_setenable_attr) X(select) X(pselect) X(poll) \
	/* files */ \
	X(dup) X(dup2) X(dup3) X(pipe) X(pipe2) X(mkfifo) X(mknod) X(mkfifoat) X(mknodat) \
	X(mkdir) X(chdir) X(fchdir) X(chroot) X(rmdir) X(mkdirat) X(symlink) X(symlinkat) X(readlink) \
	X(readlinkat) X(linkat) X(unlinkat) X(chmod) X(fchmod) X(fchmodat) X(lchmod) \
	X(chown) X(fchown) X(lchown) X(fchownat) X(faccessat) X(eaccess) X(euidaccess) \
	X(ftruncate) X(truncate) X(lockf) X(flock) X(utime) X(utimes) X(utimensat) X(futimes) \
	X(futimens) X(lutimes) X(fstatat) X(openat) X(pathconf) X(fpathconf) X(confstr) \
	X(renameat) X(futimesat) X(revoke) X(getdtablesize) X(setdtablesize) \
	X(iconv_open) X(iconv) X(iconv_close) X(getdents) X(__dirfd) \
	X(mount) X(ioctl) X(mmap) X(munmap) X(mprotect) \
	/* terminals, hosts, network */ \
	X(tcgetattr) X(tcsetattr) X(tcgetpgrp) X(tcsetpgrp) X(tcdrain) X(tcflow) X(tcflush) \
	X(tcsendbreak) X(vhangup) X(encrypt) X(setkey) X(endpwent) X(setpwent) X(endgrent) \
	X(setgrent) X(getgrgid_r) X(getgrnam_r) X(sethostname) X(getdomainname) \
	X(gethostid) X(getpeereid) \
	X(socket) X(socketpair) X(bind) X(listen) X(accept) X(connect) X(shutdown) X(send) \
	X(recv) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) X(getsockopt) X(setsockopt) \
	X(getsockname) X(getpeername)

/* Names that newlib's own wrappers call with an underscore. */
#define MISSING_BELOW(X) \
	X(fork) X(execve) X(wait) X(link) X(unlink) X(rename) X(mkdir)

#define MISSING_POINTER(X) \
	X(crypt) X(ctermid) X(cuserid) X(getusershell) X(get_current_dir_name) \
	X(realpath) \
	X(getlogin) X(getpwnam) X(getpwuid) X(getpwent) X(getgrnam) X(getgrgid) X(getgrent) \
	X(getpass) X(getwd)

#define X(name) WEAK long name(void) { return glue_missing(#name); }
MISSING(X)
#undef X
#define X(name) WEAK long _##name(void) { return glue_missing(#name); }
MISSING_BELOW(X)
#undef X
#define X(name) WEAK void *name(void) { glue_missing(#name); return (void *)0; }
MISSING_POINTER(X)
#undef X
