/*
 * The contract between the kernel and the application's C library: the layout of the application's
 * address space, the system call table, and the structures that cross it. Included by the kernel
 * and by libc-glue/; applications use the C library, <margay.h> and <portals3.h> instead.
 *
 * A system call: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9,
 * `syscall`; the result in rax; rcx and r11 are lost. A call of the POSIX
 * group returns a value of 0 or more, or -errno. A call of the Portals group
 * returns PTL_OK or a PTL_* error. Every pointer is checked against the
 * application's segment before use: a bad one is PTL_SEGV in the Portals group;
 * in the POSIX group it ends the application like any other fault (SIGSEGV).
 */
#ifndef MARGAY_ABI_H
#define MARGAY_ABI_H

/*
 * Virtual addresses that the application sees. Nothing else is mapped for it.
 *
 *   0x3000_0000  event area of its process block, read only
 *   0x3800_0000  a page of zeros, many times, read only (struct margay_start, pages)
 *   0x4000_0000  the segment: text | read-only data | data | bss | heap ... stack
 */
#define APP_EVENTS  0x30000000UL
#define APP_PAGES   0x38000000UL
#define APP_BASE    0x40000000UL

/* System calls: one X-macro gives the numbers and the kernel's table.
 * X(NAME, handler, number of arguments) */
#define MARGAY_SYSCALLS(X) \
	/* POSIX group */ \
	X(GETPID,      getpid,      0) /* () -> pid; the cheapest call */ \
	X(EXIT,        exit,        1) /* (status) never returns; status & 255 is the node's */ \
	X(END_JOB,     end_job,     1) /* (status) never returns: EXIT, and the launcher ends the \
	                                  other nodes; status & 255 is the job's */ \
	X(KILLED,      killed,      1) /* (signal) never returns: ended by this signal's default action */ \
	/* fd, or a path: `at` is the folder that it is relative to, a descriptor or MARGAY_AT_CWD; \
	   then the path and its strlen. Flags, modes, errors and structures are Linux's. */ \
	X(OPEN,        open,        5) /* (at, path, strlen, flags, mode) -> fd */ \
	X(CLOSE,       close,       1) /* (fd) -> 0 */ \
	X(READ,        read,        4) /* (fd, buf, bytes, offset or MARGAY_HERE) -> bytes, 0 at the \
	                                  end; -EINTR: as NANOSLEEP */ \
	X(WRITE,       write,       4) /* (fd, buf, bytes, offset or MARGAY_HERE) -> bytes */ \
	X(LSEEK,       lseek,       3) /* (fd, offset, whence) -> offset */ \
	X(STAT,        stat,        5) /* (at, path, strlen, flags, struct margay_stat *) -> 0 */ \
	X(LIST,        list,        3) /* (fd, buf, bytes) -> bytes of struct dirent64s, 0 at the end */ \
	X(MKDIR,       mkdir,       4) /* (at, path, strlen, mode) -> 0 */ \
	X(UNLINK,      unlink,      4) /* (at, path, strlen, flags) -> 0 */ \
	X(RENAME,      rename,      6) /* (at, path, strlen, at, path, strlen) -> 0 */ \
	X(LINK,        link,        6) /* (at as 32 bits, MARGAY_LINK_FOLLOW or not; path, strlen, at, \
	                                  path, strlen) -> 0 */ \
	X(SYMLINK,     symlink,     5) /* (target, strlen, at, path, strlen) -> 0 */ \
	X(READLINK,    readlink,    5) /* (at, path, strlen, buf, bytes) -> bytes */ \
	X(CHMOD,       chmod,       4) /* (at, path, strlen, mode) -> 0 */ \
	X(UTIMENS,     utimens,     5) /* (at, path, strlen, struct margay_time[2] or 0, flags) -> 0 */ \
	X(TRUNCATE,    truncate,    4) /* (at, path, strlen, bytes) -> 0 */ \
	X(FSYNC,       fsync,       1) /* (fd) -> 0 */ \
	X(STATFS,      statfs,      4) /* (at, path, strlen, struct margay_statfs *) -> 0 */ \
	X(CHDIR,       chdir,       3) /* (at, path, strlen) -> 0 */ \
	X(GETCWD,      getcwd,      2) /* (buf, bytes) -> strlen + 1 */ \
	X(DUP,         dup,         3) /* (fd, lowest or the number, MARGAY_DUP_*) -> fd */ \
	X(LOCK,        lock,        3) /* (fd, MARGAY_LOCK_*, struct margay_lock *) -> 0; -EINTR: as \
	                                  NANOSLEEP */ \
	X(FLAGS,       flags,       2) /* (fd, ~0: only ask; else of O_APPEND and O_NONBLOCK) -> \
	                                  the flags of OPEN */ \
	X(READY,       ready,       2) /* (fd, ns) -> MARGAY_READY_*; for standard input after at most \
	                                  so long, 0 if there is none yet; -EINTR: as NANOSLEEP */ \
	X(NANOSLEEP,   nanosleep,   1) /* (ns) -> 0; -EINTR: an upcall came first, call again */ \
	X(RUSAGE,      rusage,      1) /* (struct margay_rusage *) -> 0 */ \
	X(MISSING,     missing,     2) /* (name, strlen) -> -ENOSYS; one console line names the call */ \
	X(TIMER,       timer,       3) /* (ns from now, upcalls' entry, their stack) -> 0: one upcall \
	                                  then; ns of ~0: none. Another call replaces it. -EINVAL: \
	                                  entry or stack */ \
	X(UPCALL_RETURN, upcall_return, 1) /* (detour) -> MARGAY_MORE_*: there is more to do; else it \
	                                      goes on where the upcall began, or at `detour` if that \
	                                      is not 0, with rsp lower by MARGAY_DETOUR; -EINVAL: \
	                                      none runs, or detour is not in the text */ \
	X(FLUSH,       flush,       0) /* () -> 0; the processor forgets its translations */ \
	X(COUNTERS,    counters,    2) /* (uint64_t *, n) -> how many there are; see margay/counters.h */ \
	X(BACKTRACE,   backtrace,   0) /* () -> 0; prints where the application is, on the console */ \
	/* Portals group: portals3.h has the contracts */ \
	X(NI_INIT,     ni_init,     5) /* (iface, pid, desired * or 0, actual * or 0, ni *) */ \
	X(NI_FINI,     ni_fini,     1) /* (ni) */ \
	X(NI_STATUS,   ni_status,   3) /* (ni, register, value *) */ \
	X(NI_HANDLE,   ni_handle,   2) /* (handle, ni *) */ \
	X(NI_DIST,     ni_dist,     3) /* (ni, MARGAY_TARGET, uint64_t *) */ \
	X(NI_BARRIER,  ni_barrier,  1) /* (ni) */ \
	X(ME_ATTACH,   me_attach,   2) /* (const struct margay_me_args *, handle *) */ \
	X(ME_INSERT,   me_insert,   2) /* (const struct margay_me_args *, handle *) */ \
	X(ME_ATTACH_ANY, me_attach_any, 3) /* (const struct margay_me_args *, uint32_t *pt_index, handle *) */ \
	X(ME_UNLINK,   me_unlink,   1) /* (me) */ \
	X(MD_ATTACH,   md_attach,   4) /* (me, const ptl_md_t *, unlink, handle *) */ \
	X(MD_BIND,     md_bind,     4) /* (ni, const ptl_md_t *, unlink, handle *) */ \
	X(MD_INSERT,   md_insert,   5) /* (base, const ptl_md_t *, unlink, position, handle *) */ \
	X(MD_UPDATE,   md_update,   4) /* (md, ptl_md_t *old or 0, const ptl_md_t *new or 0, test_eq) */ \
	X(MD_UNLINK,   md_unlink,   1) /* (md) */ \
	X(ME_MD_POST,  me_md_post,  6) /* (const struct margay_post *, base, MARGAY_TARGET, match_bits, \
	                                  ignore_bits, unlink): one interface, so none is named */ \
	X(EQ_ALLOC,    eq_alloc,    6) /* (ni, count, uint64_t *read_index, struct margay_eq *, \
	                                  upcalls' entry, their stack): entry 0: no handler; else \
	                                  read_index is two words, or with stack | \
	                                  MARGAY_EQ_FILLING three (net/portals/eq.h) */ \
	X(EQ_FREE,     eq_free,     1) /* (eq) */ \
	X(EQ_WAIT,     eq_wait,     3) /* (const handle *eqs, n, timeout ns, ~0 = for ever): \
	                                  PTL_OK when one of them has an event, or an upcall came, \
	                                  PTL_EQ_EMPTY on timeout */ \
	X(AC_ENTRY,    ac_entry,    1) /* (const struct margay_ac_args *) */ \
	X(PUT,         put,         6) /* (md, MARGAY_TARGET, MARGAY_WHERE, match_bits, remote_offset, hdr_data) */ \
	X(PUT_ACK,     put_ack,     6) /* the same, and an ack is asked for */ \
	X(GET,         get,         5) /* (md, MARGAY_TARGET, MARGAY_WHERE, match_bits, remote_offset) */ \
	X(PUT_REGION,  put_region,  6) /* (md, offset, length, const struct margay_put *, \
	                                  MARGAY_TARGET, portal index) */ \
	X(PUT_REGION_ACK, put_region_ack, 6) /* the same, and an ack is asked for */ \
	X(GET_REGION,  get_region,  1) /* (const struct margay_operation *), and the next three */ \
	X(GET_PUT,     get_put,     1) \
	X(ATOMIC,      atomic,      1) \
	X(FETCH_ATOMIC, fetch_atomic, 1)

enum {
#define X(name, handler, args) SYS_##name,
	MARGAY_SYSCALLS(X)
#undef X
	SYS_COUNT
};

/* EQ_ALLOC: the handler is for a queue that fills, not for each event. */
#define MARGAY_EQ_FILLING 1UL

/* UPCALL_RETURN: events for handlers; the timer has run out. */
enum { MARGAY_MORE_EVENTS = 1, MARGAY_MORE_TIMER = 2 };

/* UPCALL_RETURN with a detour leaves out the red zone of what was interrupted, and a word that
 * the library has set to its address. */
#define MARGAY_DETOUR  136UL

/* In the Portals group: an upcall came first; call again, to go on. */
#define MARGAY_AGAIN  255

/* ptl_process_id_t and (portal index, cookie) in one register each */
#define MARGAY_TARGET(nid, pid)       ((unsigned long)(nid) | (unsigned long)(pid) << 32)
#define MARGAY_WHERE(pt, cookie)      ((unsigned long)(pt) | (unsigned long)(cookie) << 32)

#ifndef __ASSEMBLER__
#include <stdint.h>

/* ---- files ---- */

#define MARGAY_AT_CWD  (-100L)
#define MARGAY_HERE    (~0UL)

/* Linux's flags of open and of the calls with paths, on x86-64 */
enum {
	MARGAY_O_ACCESS = 03, MARGAY_O_WRONLY = 01, MARGAY_O_RDWR = 02, MARGAY_O_CREAT = 0100,
	MARGAY_O_EXCL = 0200, MARGAY_O_TRUNC = 01000, MARGAY_O_APPEND = 02000,
	MARGAY_O_NONBLOCK = 04000, MARGAY_O_DIRECTORY = 0200000, MARGAY_O_NOFOLLOW = 0400000,
	MARGAY_AT_NOFOLLOW = 0x100, MARGAY_AT_REMOVEDIR = 0x200, MARGAY_AT_FOLLOW = 0x400,
	MARGAY_AT_EMPTY = 0x1000
};

enum { MARGAY_DUP_LOWEST, MARGAY_DUP_TO };

/* READY: readable or writable without a wait; END: nothing follows what can be read */
enum { MARGAY_READY_IN = 1, MARGAY_READY_OUT = 2, MARGAY_READY_END = 4 };

enum { MARGAY_OPEN_FILES = 1024 };  /* files and folders at once, standard streams included */

/* LOCK: like fcntl's F_GETLK, F_SETLK, F_SETLKW */
enum { MARGAY_LOCK_GET, MARGAY_LOCK_SET, MARGAY_LOCK_WAIT,
       MARGAY_LOCK_CALL = 3,
       MARGAY_LOCK_OPEN_FILE = 4,  /* the open file has the lock, not the process */
       MARGAY_LOCK_WHOLE = 8 };    /* flock's; with MARGAY_LOCK_OPEN_FILE */

/* Linux's struct flock */
struct margay_lock {
	int16_t type, whence;
	int64_t start, bytes;
	int32_t pid;
};

struct margay_time { int64_t s, ns; };

/* UTIMENS: instead of ns */
#define MARGAY_TIME_NOW   0x3fffffffL
#define MARGAY_TIME_KEEP  0x3ffffffeL

/* Linux's struct stat */
struct margay_stat {
	uint64_t device, inode, links;
	uint32_t mode, uid, gid, zero;
	uint64_t special;      /* number of a device file */
	int64_t bytes, block_bytes, blocks;
	struct margay_time access, modification, change;
	int64_t zeros[3];
};

#define MARGAY_LINK_FOLLOW (1UL << 32)
#define MARGAY_STATFS_READ_ONLY 1

/* Linux's struct statfs */
struct margay_statfs {
	int64_t kind, block_bytes;
	uint64_t blocks, free, available, files, free_files;
	int32_t id[2];
	int64_t name_bytes, fragment_bytes, flags, zeros[4];
};

struct margay_rusage {
	uint64_t user_ns;      /* time since main without halts */
	uint64_t halted_ns;    /* time spent halted in the kernel */
	uint64_t messages;     /* puts and gets started */
};

struct margay_me_args {
	uint64_t base;         /* ME_ATTACH, ME_ATTACH_ANY: the interface; ME_INSERT: the entry
	                          to insert at */
	uint64_t match_bits;
	uint64_t ignore_bits;
	uint32_t match_nid;
	uint32_t match_pid;
	uint32_t pt_index;     /* only ME_ATTACH */
	uint32_t unlink;       /* PTL_UNLINK or PTL_RETAIN */
	uint32_t position;     /* PTL_INS_BEFORE or PTL_INS_AFTER; not ME_ATTACH_ANY */
	uint32_t zero;
};

/* PtlMEMDPost's arguments from the seventh on, as the calling convention puts them on the stack:
 * the stub passes them in place. */
struct margay_post {
	uint32_t position;     /* PTL_INS_BEFORE or PTL_INS_AFTER */
	uint32_t unused;
	uint64_t md[7];        /* ptl_md_t */
	uint32_t md_unlink;    /* PTL_UNLINK or PTL_RETAIN, of the descriptor */
	uint32_t unused2;
	uint64_t me_handle;    /* addresses of the two results */
	uint64_t md_handle;
	uint64_t test_eq;      /* PTL_EQ_NONE: no test */
};

/* The same for PtlPutRegion. */
struct margay_put {
	uint32_t ac_index;
	uint32_t unused;
	uint64_t match_bits;
	uint64_t remote_offset;
	uint64_t hdr_data;
};

/* Arguments of other calls that start operations, as far as each has them. */
struct margay_operation {
	uint64_t md;           /* sent from, or fetched into */
	uint64_t local_offset; /* start of its region */
	uint64_t length;       /* bytes at the target; GET_PUT: ignored */
	uint64_t put_md;       /* GET_PUT, FETCH_ATOMIC: sent from */
	uint64_t put_offset;   /* FETCH_ATOMIC: start of its region */
	uint32_t target_nid;
	uint32_t target_pid;
	uint32_t pt_index;
	uint32_t ac_index;
	uint32_t ack;          /* ATOMIC: PTL_ACK_REQ or PTL_NOACK_REQ */
	uint32_t operation;    /* ATOMIC, FETCH_ATOMIC: ptl_op_t */
	uint32_t datatype;     /* ATOMIC, FETCH_ATOMIC: ptl_datatype_t */
	uint32_t zero;
	uint64_t match_bits;
	uint64_t remote_offset;
	uint64_t hdr_data;
};

struct margay_ac_args {
	uint64_t ni;
	uint32_t index;        /* of the entry to set */
	uint32_t nid, pid;     /* the admitted process; PTL_*_ANY: all */
	uint32_t uid, jid;
	uint32_t pt_index;     /* the portal; PTL_PT_INDEX_ANY: all */
};

/* Results of EQ_ALLOC; the slots are in the read-only event area. */
struct margay_eq {
	uint64_t handle;
	uint64_t slots;        /* virtual address of the first slot */
	uint64_t count;        /* slots: a power of two, at least the number requested */
};

/* Passed to crt0 in rdi; lies above the stack, in the application's memory. */
struct margay_start {
	uint64_t argc;
	uint64_t argv;         /* char **, NULL at its end */
	uint64_t envp;         /* char **, NULL at its end */
	uint64_t heap;         /* first byte of the heap, 16-byte aligned */
	uint64_t heap_end;     /* first byte past the heap */
	uint64_t stack_bytes;
	uint32_t rank, size;   /* of the job */
	uint32_t nid, pid;     /* this process */
	uint64_t uid;          /* of the job's owner, as the host knows it */
	uint64_t tsc_hz;       /* rdtsc ticks a second */
	uint64_t tsc_start;    /* rdtsc when the application was started */
	uint64_t wall_ns;      /* CLOCK_REALTIME at tsc_start, ns since 1970 */
	uint64_t mono_ns;      /* CLOCK_MONOTONIC at tsc_start: ns since the node's boot */
	char node_name[32];    /* gethostname: "node3" */
	uint64_t pages;        /* at APP_PAGES, for the emulator's translation cache: to be read and
	                          flushed before main; 0: none */
	uint64_t calls;        /* address of a uint64_t that the kernel writes at any time. If not
	                          0, a poll that finds no event makes a call, as messages come or
	                          leave only then, or late; 0: no such word */
};
#endif
#endif
