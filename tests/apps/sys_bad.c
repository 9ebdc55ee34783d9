/*
 * System calls with arguments that they must refuse, made directly, without the C library;
 * test_syscalls.py has the expected results.
 *
 *   sys_bad               all calls that return an error: one line each, "NAME: RESULT"
 *   sys_bad CALL PLACE    one call of the POSIX group with a pointer to PLACE, for which
 *                         the application is stopped; prints the result if it returns
 */
#include <fcntl.h>
#include <margay.h>
#include <margay/abi.h>
#include <portals3.h>
#include <stdio.h>
#include <string.h>

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
	                 "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}

#define ARGS(a, b, c, d, e, f, ...) (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define TRY(name, number, ...) \
	printf("%s: %ld\n", name, call(number, ARGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)))

#define CWD  MARGAY_AT_CWD
#define HERE MARGAY_HERE

static char buffer[256];
static const char constant[] = "constant";

/* Addresses that no call may touch: name and value. */
static const struct { const char *name; unsigned long at; } bad[] = {
	{ "null", 0 }, { "low", 4096 }, { "kernel", 0x100000 }, { "events", APP_EVENTS },
	{ "below", APP_BASE - 8 }, { "past", APP_BASE + (1UL << 40) },
	{ "direct", 0xffff800000000000 }, { "wrap", 0xffffffffffffffff },
};
enum { BAD = sizeof bad / sizeof bad[0] };

static void named(const char *what, const char *where, long result)
{
	printf("%s_%s: %ld\n", what, where, result);
}

static long open_folder(void)
{
	return call(SYS_OPEN, CWD, (long)"/tmp", 4, MARGAY_O_DIRECTORY, 0, 0);
}

/* One call of the POSIX group with memory at `at`, or -1 if there is no such call. */
static long pointer_call(const char *name, unsigned long at)
{
	const struct { const char *name; long number, arguments[5]; } calls[] = {
		{ "write", SYS_WRITE, { 1, at, 8, HERE } },
		{ "write_huge", SYS_WRITE, { 1, at, ~0L, HERE } },
		{ "read", SYS_READ, { 0, at, 8, HERE } },
		{ "open", SYS_OPEN, { CWD, at, 8 } },
		{ "stat_path", SYS_STAT, { CWD, at, 8, 0, (long)buffer } },
		{ "stat", SYS_STAT, { CWD, (long)"handed.txt", 10, 0, at } },
		{ "fstat", SYS_STAT, { 1, 0, 0, MARGAY_AT_EMPTY, at } },
		{ "list", SYS_LIST, { open_folder(), at, 100 } },
		{ "mkdir", SYS_MKDIR, { CWD, at, 8, 0777 } },
		{ "unlink", SYS_UNLINK, { CWD, at, 8 } },
		{ "rename", SYS_RENAME, { CWD, at, 8, CWD, (long)"new" } },
		{ "link", SYS_LINK, { CWD, at, 8, CWD, (long)"new" } },
		{ "symlink", SYS_SYMLINK, { at, 8, CWD, (long)"new", 3 } },
		{ "readlink", SYS_READLINK, { CWD, (long)"/tmp", 4, at, 100 } },
		{ "chmod", SYS_CHMOD, { CWD, at, 8 } },
		{ "utimens", SYS_UTIMENS, { CWD, (long)"/tmp", 4, at } },
		{ "truncate", SYS_TRUNCATE, { CWD, at, 8 } },
		{ "statfs", SYS_STATFS, { CWD, (long)"/tmp", 4, at } },
		{ "chdir", SYS_CHDIR, { CWD, at, 8 } },
		{ "getcwd", SYS_GETCWD, { at, 4096 } },
		{ "rusage", SYS_RUSAGE, { at, 0, 0 } },
		{ "missing", SYS_MISSING, { at, 8, 0 } },
		{ "counters", SYS_COUNTERS, { at, 1, 0 } },
	};

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (strcmp(calls[i].name, name) == 0)
			return call(calls[i].number, calls[i].arguments[0], calls[i].arguments[1],
			            calls[i].arguments[2], calls[i].arguments[3],
			            calls[i].arguments[4], 0);
	return -1;
}

static unsigned long place(const char *name)
{
	for (int i = 0; i < BAD; i++)
		if (strcmp(bad[i].name, name) == 0)
			return bad[i].at;
	return (unsigned long)(strcmp(name, "text") ? constant : (const char *)place);
}

static void posix_calls(void)
{
	TRY("write_fd", SYS_WRITE, 77, buffer, 1, HERE);
	TRY("write_negative_fd", SYS_WRITE, -1, buffer, 1, HERE);
	TRY("write_stdin", SYS_WRITE, 0, buffer, 1, HERE);
	TRY("read_fd", SYS_READ, 77, buffer, 1, HERE);
	TRY("read_stdout", SYS_READ, 1, buffer, 1, HERE);
	TRY("open_missing", SYS_OPEN, CWD, "nothing", 7, 0);
	TRY("open_write", SYS_OPEN, CWD, "handed.txt", 10, MARGAY_O_WRONLY);
	TRY("open_new", SYS_OPEN, CWD, "nothing", 7, MARGAY_O_WRONLY);
	TRY("close_fd", SYS_CLOSE, 77);
	TRY("close_negative", SYS_CLOSE, -5);
	TRY("lseek_fd", SYS_LSEEK, 77, 0, 0);
	TRY("lseek_stream", SYS_LSEEK, 1, 0, 0);
	TRY("fstat_fd", SYS_STAT, 77, 0, 0, MARGAY_AT_EMPTY, buffer);
	TRY("number_high", 100000, 0);
	TRY("number_negative", -1, 0);
	TRY("number_count", SYS_COUNT, 0);
}

static void file_calls(void)
{
	long fd = call(SYS_OPEN, CWD, (long)"handed.txt", 10, 0, 0, 0);

	TRY("lseek_whence", SYS_LSEEK, fd, 0, 9);
	TRY("lseek_negative", SYS_LSEEK, fd, -1, 0);
	TRY("write_readonly", SYS_WRITE, fd, buffer, 1, HERE);
	TRY("close_good", SYS_CLOSE, fd);
	TRY("close_twice", SYS_CLOSE, fd);
}

/* The calls whose argument is a struct or that store one value: all with `at` as the address. */
static void portals_structs(const char *name, unsigned long at, ptl_handle_any_t ni,
                            ptl_handle_any_t me, ptl_handle_any_t md,
                            struct margay_me_args *args, ptl_md_t *memory)
{
	ptl_handle_any_t other;
	uint32_t pt;
	struct margay_post post = { .me_handle = at, .md_handle = (unsigned long)&other };
	struct margay_post post_md = { .me_handle = (unsigned long)&other, .md_handle = at };
	const struct { const char *what; long number, a, b, c, d, e; } calls[] = {
		{ "ni_init", SYS_NI_INIT, 0, (int)PTL_PID_ANY, 0, 0, at },
		{ "ni_handle", SYS_NI_HANDLE, ni, at, 0, 0, 0 },
		{ "ni_dist", SYS_NI_DIST, ni, 0, at, 0, 0 },
		{ "me_any", SYS_ME_ATTACH_ANY, at, (long)&pt, (long)&other, 0, 0 },
		{ "me_any_portal", SYS_ME_ATTACH_ANY, (long)args, at, (long)&other, 0, 0 },
		{ "me_any_handle", SYS_ME_ATTACH_ANY, (long)args, (long)&pt, at, 0, 0 },
		{ "md_insert", SYS_MD_INSERT, md, at, 0, 0, (long)&other },
		{ "md_insert_handle", SYS_MD_INSERT, md, (long)memory, 0, 0, at },
		{ "ac_entry", SYS_AC_ENTRY, at, 0, 0, 0, 0 },
		{ "post", SYS_ME_MD_POST, at, me, 0, 0, 0 },
		{ "post_me", SYS_ME_MD_POST, (long)&post, me, 0, 0, 0 },
		{ "post_md", SYS_ME_MD_POST, (long)&post_md, me, 0, 0, 0 },
		{ "put_region", SYS_PUT_REGION, md, 0, 0, at, 0 },
		{ "get_region", SYS_GET_REGION, at, 0, 0, 0, 0 },
		{ "get_put", SYS_GET_PUT, at, 0, 0, 0, 0 },
		{ "atomic", SYS_ATOMIC, at, 0, 0, 0, 0 },
		{ "fetch_atomic", SYS_FETCH_ATOMIC, at, 0, 0, 0, 0 },
		/* these may be null */
		{ "ni_init_desired", SYS_NI_INIT, 0, (int)PTL_PID_ANY, at, 0, (long)&other },
		{ "ni_init_actual", SYS_NI_INIT, 0, (int)PTL_PID_ANY, 0, at, (long)&other },
		{ "md_update_old", SYS_MD_UPDATE, md, at, 0, 0, 0 },
		{ "md_update_new", SYS_MD_UPDATE, md, 0, at, 0, 0 },
	};

	for (size_t i = 0; i < sizeof calls / sizeof calls[0] - (at ? 0 : 4); i++)
		named(calls[i].what, name, call(calls[i].number, calls[i].a, calls[i].b, calls[i].c,
		                                calls[i].d, calls[i].e, 0));
}

/* Each call before the interface is open. */
static void portals_closed(void)
{
	static const struct { const char *name; long number; } calls[] = {
		{ "closed_ni_handle", SYS_NI_HANDLE }, { "closed_ni_dist", SYS_NI_DIST },
		{ "closed_ni_barrier", SYS_NI_BARRIER }, { "closed_me_any", SYS_ME_ATTACH_ANY },
		{ "closed_md_insert", SYS_MD_INSERT }, { "closed_md_update", SYS_MD_UPDATE },
		{ "closed_ac_entry", SYS_AC_ENTRY }, { "closed_put_region", SYS_PUT_REGION },
		{ "closed_get_region", SYS_GET_REGION }, { "closed_get_put", SYS_GET_PUT },
		{ "closed_atomic", SYS_ATOMIC }, { "closed_fetch_atomic", SYS_FETCH_ATOMIC },
		{ "closed_post", SYS_ME_MD_POST },
	};
	static uint64_t zero[32];
	long at = (long)zero, self = MARGAY_TARGET(margay_process(0).nid, margay_process(0).pid);

	zero[9] = zero[10] = at;           /* where the post would store its handles */
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		printf("%s: %ld\n", calls[i].name, call(calls[i].number, at, at, at, at,
		                                         calls[i].number == SYS_PUT_REGION ? self : at,
		                                         at));
}

static void portals_calls(void)
{
	ptl_handle_any_t ni = 0, me = 0, md = 0, other, any = ~0ULL;
	struct margay_eq eq = { 0 };
	static uint64_t index;
	struct margay_me_args args = { .match_nid = PTL_NID_ANY, .match_pid = PTL_PID_ANY,
	                               .pt_index = 2 };
	ptl_md_t memory = { .start = buffer, .length = 8, .threshold = 1, .options = PTL_MD_OP_PUT };
	long self = MARGAY_TARGET(margay_process(0).nid, margay_process(0).pid);

	TRY("before_init", SYS_ME_ATTACH, &args, &me);
	portals_closed();
	PtlInit(&(int){ 0 });
	PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	args.base = ni;
	TRY("me_good", SYS_ME_ATTACH, &args, &me);
	TRY("md_good", SYS_MD_ATTACH, me, &memory, PTL_RETAIN, &md);
	TRY("eq_good", SYS_EQ_ALLOC, ni, 4, &index, &eq);
	for (int i = 0; i < BAD; i++) {
		unsigned long at = bad[i].at;

		memory.start = (void *)at;
		named("md_bind_memory", bad[i].name,
		      call(SYS_MD_BIND, ni, (long)&memory, PTL_RETAIN, (long)&other, 0, 0));
		memory.start = buffer;
		named("md_bind", bad[i].name, call(SYS_MD_BIND, ni, at, PTL_RETAIN, (long)&other, 0, 0));
		named("md_bind_handle", bad[i].name,
		      call(SYS_MD_BIND, ni, (long)&memory, PTL_RETAIN, at, 0, 0));
		named("me_attach", bad[i].name, call(SYS_ME_ATTACH, at, (long)&other, 0, 0, 0, 0));
		named("me_attach_handle", bad[i].name, call(SYS_ME_ATTACH, (long)&args, at, 0, 0, 0, 0));
		named("ni_status", bad[i].name, call(SYS_NI_STATUS, ni, 0, at, 0, 0, 0));
		named("eq_index", bad[i].name, call(SYS_EQ_ALLOC, ni, 4, at, (long)&eq, 0, 0));
		named("eq_alloc", bad[i].name, call(SYS_EQ_ALLOC, ni, 4, (long)&index, at, 0, 0));
		named("eq_wait", bad[i].name, call(SYS_EQ_WAIT, at, 1, 0, 0, 0, 0));
		portals_structs(bad[i].name, at, ni, me, md, &args, &memory);
	}
	memory.length = 1UL << 50;
	TRY("md_length", SYS_MD_BIND, ni, &memory, PTL_RETAIN, &other);
	memory.length = 8;
	memory.start = (void *)constant;
	memory.options = PTL_MD_OP_PUT;
	TRY("md_constant", SYS_MD_BIND, ni, &memory, PTL_RETAIN, &other);
	memory.start = (void *)portals_calls;
	TRY("md_text", SYS_MD_BIND, ni, &memory, PTL_RETAIN, &other);
	TRY("me_unlink_any", SYS_ME_UNLINK, any);
	TRY("me_unlink_md", SYS_ME_UNLINK, md);
	TRY("md_unlink_zero", SYS_MD_UNLINK, 0);
	TRY("md_unlink_me", SYS_MD_UNLINK, me);
	TRY("eq_free_any", SYS_EQ_FREE, any);
	TRY("eq_count_huge", SYS_EQ_ALLOC, ni, 1UL << 40, &index, &eq);
	TRY("eq_wait_many", SYS_EQ_WAIT, &eq.handle, 1000000, 0);
	TRY("eq_wait_handle", SYS_EQ_WAIT, &any, 1, 0);
	TRY("put_handle", SYS_PUT, any, self, MARGAY_WHERE(2, 0), 0, 0, 0);
	TRY("put_target", SYS_PUT, md, MARGAY_TARGET(12345, 1), MARGAY_WHERE(2, 0), 0, 0, 0);
	TRY("get_handle", SYS_GET, me, self, MARGAY_WHERE(2, 0), 0, 0);
	TRY("ni_barrier_any", SYS_NI_BARRIER, any);
	TRY("ni_fini_any", SYS_NI_FINI, any);
	TRY("ni_status_register", SYS_NI_STATUS, ni, 1000, &other);
	TRY("me_unlink_good", SYS_ME_UNLINK, me);
	TRY("me_unlink_twice", SYS_ME_UNLINK, me);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		printf("%s_%s: %ld\n", argv[1], argv[2], pointer_call(argv[1], place(argv[2])));
		return 0;
	}
	posix_calls();
	file_calls();
	portals_calls();
	printf("constant is %s\n", strcmp(constant, "constant") ? "damaged" : "whole");
	return 0;
}
