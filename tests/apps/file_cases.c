/*
 * file_cases CASE [ARGUMENT]: files shared by ranks, many files, large files, limits, and the
 * borders of the served folder. Each case prints results that the test checks.
 */
#include "ptl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <utime.h>

enum { LINE = 120, RECORD = 1000, BIG = 1 << 20 };

static char buffer[BIG];

static void tell(const char *what, const char *path, long result)
{
	printf("%s %s: %ld\n", what, path, result < 0 ? -(long)errno : 0);
}

/* ---- between ranks ---- */

/* append LINES: all ranks append lines of different lengths to "log". */
static void append(long lines)
{
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	char line[LINE * 2];

	CHECK(fd >= 0);
	for (long i = 0; i < lines; i++) {
		int n = snprintf(line, sizeof line, "rank %d line %ld ", margay_rank(), i);

		while (n < LINE / 2 + i * 7 % LINE)
			line[n++] = '.';
		line[n++] = '\n';
		EQUAL(write(fd, line, (size_t)n), n);
	}
	EQUAL(close(fd), 0);
}

/* see: each rank sees the others' changes, once they have reported them. */
static void see(void)
{
	struct job job;
	char name[20], text[20];
	struct stat s;
	int fd, shared;

	job_start(&job);
	snprintf(name, sizeof name, "of%d", job.rank);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	EQUAL(write(fd, name, 4), 3 + (job.rank > 9 ? 1 : 0) + 1);
	shared = open("shared", O_RDWR | O_CREAT, 0644);
	EQUAL(pwrite(shared, &job.rank, sizeof job.rank, job.rank * 4), 4);
	job_barrier(&job);
	for (int rank = 0; rank < job.size; rank++) {
		int seen = -1, other;

		EQUAL(pread(shared, &seen, sizeof seen, rank * 4), 4);
		EQUAL(seen, rank);
		snprintf(name, sizeof name, "of%d", rank);
		other = open(name, O_RDONLY);
		CHECK(other >= 0);
		EQUAL(read(other, text, sizeof text), 4);
		CHECK(!memcmp(text, name, 4));
		EQUAL(close(other), 0);
	}
	EQUAL(fstat(shared, &s), 0);
	EQUAL(s.st_size, 4 * job.size);
	job_barrier(&job);
	snprintf(name, sizeof name, "of%d", job.rank);
	snprintf(text, sizeof text, "new%d", job.rank);
	EQUAL(rename(name, text), 0);
	if (!job.rank)
		EQUAL(ftruncate(shared, 1), 0);
	job_barrier(&job);
	EQUAL(lseek(shared, 0, SEEK_END), 1);
	snprintf(name, sizeof name, "of%d", (job.rank + 1) % job.size);
	EQUAL(open(name, O_RDONLY), -1);
	snprintf(text, sizeof text, "new%d", (job.rank + 1) % job.size);
	EQUAL(unlink(text), 0);
	job_barrier(&job);
	snprintf(text, sizeof text, "new%d", job.rank);
	EQUAL(stat(text, &s), -1);
	EQUAL(write(fd, "more", 4), 4);          /* another rank has unlinked its file */
	EQUAL(pread(fd, text, 8, 0), 8);
	EQUAL(close(fd), 0);
	if (!job.rank)
		EQUAL(unlink("shared"), 0);
	puts("seen");
}

/* replaced: what rank 0 does with an open file does not reach the one that rank 1 puts in its
 * place. */
static void replaced(void)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	struct job job;
	struct stat s;
	char text[8] = "";
	int fd = -1;

	job_start(&job);
	if (job.rank == 0) {
		fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);
		EQUAL(write(fd, "old", 3), 3);
	}
	job_barrier(&job);
	if (job.rank == 1) {
		fd = open("new", O_RDWR | O_CREAT | O_TRUNC, 0644);
		EQUAL(write(fd, "new", 3), 3);
		EQUAL(rename("new", "file"), 0);
	}
	job_barrier(&job);
	if (job.rank == 0) {
		tell("ftruncate", "file", ftruncate(fd, 0));
		tell("fchmod", "file", fchmod(fd, 0600));
		tell("futimens", "file", futimens(fd, times));
		EQUAL(fcntl(fd, F_SETFL, O_APPEND), 0);
		EQUAL(write(fd, "er", 2), 2);
		EQUAL(pread(fd, text, 8, 0), 5);
		CHECK(!strcmp(text, "older"));
	}
	job_barrier(&job);
	if (job.rank == 1) {
		EQUAL(pread(fd, text, 8, 0), 3);
		CHECK(!strcmp(text, "new"));
		EQUAL(fstat(fd, &s), 0);
		CHECK((s.st_mode & 0777) == 0644 && s.st_mtime > 1);
		EQUAL(ftruncate(fd, 0), 0);
		EQUAL(unlink("file"), 0);
		EQUAL(ftruncate(fd, 1), 0); /* this node has hidden it */
	}
	EQUAL(close(fd), 0);
}

/* moved OUTSIDE: rank 0 is in a folder that rank 1 moves away, replaces by a link to a folder of the
 * host that is not shared, puts back, and makes anew. */
static void moved(const char *outside)
{
	struct job job;
	char text[8] = "";

	job_start(&job);
	for (int turn = 0; turn < 5; turn++) {
		int fd = -1;

		if (job.rank == 1 && turn == 0)
			CHECK(!mkdir("a", 0755) && !mkdir("a/b", 0755));
		else if (job.rank == 1 && turn == 1)
			EQUAL(rename("a", "c"), 0);
		else if (job.rank == 1 && turn == 2)
			EQUAL(symlink(outside, "a"), 0);
		else if (job.rank == 1 && turn == 3)
			CHECK(!unlink("a") && !rename("c", "a"));
		else if (job.rank == 1)
			CHECK(!unlink("a/b/file") && !rmdir("a/b") && !mkdir("a/b", 0755));
		if (job.rank == 1 && turn % 4 == 0) {
			fd = open("a/b/file", O_WRONLY | O_CREAT | O_TRUNC, 0644);
			EQUAL(write(fd, turn ? "new" : "old", 3), 3);
		}
		job_barrier(&job);
		if (job.rank == 0) {
			if (turn == 0)
				EQUAL(chdir("a/b"), 0);
			fd = open("file", O_RDONLY);
			printf("%s\n", read(fd, text, 3) == 3 ? text : "none");
		}
		job_barrier(&job);
		close(fd);
	}
}

/* killed: a rank writes records until its machine is killed; the others wait for "stop". */
static void killed(int victim)
{
	char record[RECORD];
	int fd, lost;

	if (margay_rank() != victim) {
		puts("waits");
		fflush(stdout);
		while (access("stop", F_OK))
			usleep(1000);
		puts("saw it");
		return;
	}
	lost = open("lost", O_RDWR | O_CREAT, 0644);
	EQUAL(write(lost, "x", 1), 1);
	EQUAL(unlink("lost"), 0);
	fd = open("records", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (long i = 0;; i++) {
		memset(record, '.', RECORD);
		record[snprintf(record, RECORD, "record %ld", i)] = '.';
		record[RECORD - 1] = '\n';
		EQUAL(write(fd, record, RECORD), RECORD);
		if (i == 100) {
			puts("writes");
			fflush(stdout);
		}
	}
}

/* ---- numbers and sizes ---- */

/* most: opens as many files as possible; after a close another one can be opened. */
static void most(void)
{
	int fd, last = -1;
	long n = 3;

	for (; (fd = open("/dev/null", O_RDWR)) >= 0; n++)
		last = fd;
	printf("%ld open, then error %d\n", n, errno);
	EQUAL(close(last), 0);
	EQUAL(open("/dev/null", O_RDWR), last);
}

/* many FILES: opens so many files in folder "many", then as many as possible. */
static void many(long files)
{
	static int fds[2000];
	char name[40];
	long n, made = 0;

	EQUAL(mkdir("many", 0755), 0);
	for (n = 0; n < files; n++) {
		snprintf(name, sizeof name, "many/%ld", n);
		fds[n] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
		CHECK(fds[n] >= 0);
		EQUAL(write(fds[n], name, sizeof name), sizeof name);
	}
	for (n = 0; n < files; n++) {
		char wanted[40] = "", found[40];

		snprintf(wanted, sizeof wanted, "many/%ld", n);
		EQUAL(pread(fds[n], found, sizeof found, 0), sizeof found);
		CHECK(!strcmp(wanted, found));
		EQUAL(write(fds[n], "+", 1), 1);
		EQUAL(lseek(fds[n], 0, SEEK_END), sizeof name + 1);
	}
	while ((fds[n] = open("many", O_RDONLY)) >= 0)
		n++;
	printf("%ld open, then error %d\n", n + 3, errno);
	EQUAL(sysconf(_SC_OPEN_MAX), n + 3);
	EQUAL(dup(0), -1);
	EQUAL(errno, EMFILE);
	for (long i = 0; i < n; i++)
		EQUAL(close(fds[i]), 0);
	for (n = 0; n < files; n++) {
		snprintf(name, sizeof name, "many/%ld", n);
		made += !unlink(name);
	}
	EQUAL(made, files);
	EQUAL(rmdir("many"), 0);
}

/* sparse: a file with bytes at offsets above 2 and 4 GB. */
static void sparse(void)
{
	static const off_t at[] = { 0, (1L << 31) - 2, (1L << 31) + 5, 3L << 30, (1L << 32) - 1,
	                            (1L << 32) + 7 };
	int fd = open("sparse", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char text[8];
	struct stat s;
	FILE *file;

	for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++)
		EQUAL(pwrite(fd, "byte", 4, at[i]), 4);
	EQUAL(fstat(fd, &s), 0);
	printf("size %lld, of them less than 1 MB there: %d\n", (long long)s.st_size,
	       s.st_blocks * 512 < 1 << 20);
	for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++) {
		EQUAL(lseek(fd, at[i], SEEK_SET), at[i]);
		EQUAL(read(fd, text, 4), 4);
		CHECK(!memcmp(text, "byte", 4));
	}
	EQUAL(lseek(fd, -11, SEEK_END), (1L << 32));
	EQUAL(read(fd, text, 8), 8);
	CHECK(!memcmp(text, "yte\0\0\0\0b", 8));
	EQUAL(ftruncate(fd, 3L << 30), 0);
	EQUAL(close(fd), 0);
	EQUAL(stat("sparse", &s), 0);
	printf("then %lld\n", (long long)s.st_size);
	file = fopen("sparse", "r+");
	EQUAL(fseeko(file, (1L << 31) + 6, SEEK_SET), 0);
	EQUAL(fgetc(file), 'y');
	EQUAL(ftello(file), (1L << 31) + 7);
	EQUAL(fclose(file), 0);
	EQUAL(truncate("sparse", 5L << 30), 0);
	EQUAL(stat("sparse", &s), 0);
	printf("then %lld\n", (long long)s.st_size);
	EQUAL(unlink("sparse"), 0);
}

/* full FILE: writes until there is no space; after an unlink there is space again. */
static void full(const char *name)
{
	long bytes = 0, n;
	FILE *file;
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	memset(buffer, 'f', BIG);
	while ((n = write(fd, buffer, 60000)) > 0 && bytes < 1L << 30)
		bytes += n;
	printf("full: error %d after %ld KB\n", errno, bytes >> 10);
	EQUAL(write(fd, buffer, 60000), -1);
	CHECK(lseek(fd, 0, SEEK_END) >= bytes);
	while (bytes > 0) {
		EQUAL(pread(fd, buffer, 1, --bytes), 1);
		EQUAL(buffer[0], 'f');
		bytes -= bytes % 7919;
	}
	file = fopen("/tmp/another", "w");
	/* a full disk is reported by the close at the latest */
	if (file && !strncmp(name, "/tmp", 4)) {
		int failed = 0;

		for (int i = 0; i < 100000; i++)
			failed |= fputc('x', file) == EOF;
		failed |= fclose(file) == EOF;
		EQUAL(failed, 1);
		EQUAL(errno, ENOSPC);
		unlink("/tmp/another");
	}
	EQUAL(ftruncate(fd, 0), 0);
	for (n = 0; n < 8; n++)
		EQUAL(write(fd, buffer, 60000), 60000);
	EQUAL(close(fd), 0);
	EQUAL(unlink(name), 0);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (n = 0; n < 8; n++)
		EQUAL(write(fd, buffer, 60000), 60000);
	EQUAL(close(fd), 0);
	EQUAL(unlink(name), 0);
	puts("works again");
}

/* names: names in /tmp until its memory is full; each is there, and the one that failed is not. */
static void names(void)
{
	char name[40], failed[40];
	struct stat s;
	int fd, n;

	EQUAL(mkdir("/tmp/names", 0755), 0);
	fd = open("/tmp/names/0", O_RDWR | O_CREAT, 0644);
	while (write(fd, buffer, 4096) > 0)
		continue;
	for (n = 1; snprintf(failed, sizeof failed, "/tmp/names/%d", n); n++)
		if (link("/tmp/names/0", failed))
			break;
	EQUAL(errno, ENOSPC);
	CHECK(n > 1);
	EQUAL(stat(failed, &s), -1);
	EQUAL(unlink(failed), -1);
	EQUAL(fstat(fd, &s), 0);
	EQUAL(s.st_nlink, n);
	while (n--) {
		snprintf(name, sizeof name, "/tmp/names/%d", n);
		EQUAL(unlink(name), 0);
	}
	EQUAL(rmdir("/tmp/names"), 0);
	puts("all are there");
}

/* copied FILE: 8 MB are written and read. */
static void copied(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < 8; i++)
		EQUAL(write(fd, buffer, BIG), BIG);
	EQUAL(lseek(fd, 0, SEEK_SET), 0);
	for (int i = 0; i < 8; i++)
		EQUAL(read(fd, buffer, BIG), BIG);
	EQUAL(close(fd), 0);
	EQUAL(unlink(name), 0);
}

/* ---- borders ---- */

/* reach PATHS: opens each for reading, for writing and with O_CREAT, and makes a folder and a
 * link. */
static void reach(char **paths)
{
	char text[100];

	for (; *paths; paths++) {
		const char *path = *paths;
		int fd = open(path, O_RDONLY);
		long n = fd < 0 ? -1 : read(fd, text, sizeof text);

		tell("open", path, fd);
		if (n > 0)
			printf("read %s: %.*s\n", path, (int)n, text);
		tell("write", path, open(path, O_WRONLY));
		tell("create", path, open(path, O_WRONLY | O_CREAT, 0644));
		tell("truncate", path, truncate(path, 0));
		tell("mkdir", path, mkdir(path, 0755));
		tell("chdir", path, chdir(path));
		tell("unlink", path, unlink(path));
		tell("rename", path, rename("own", path));
	}
}

/* swapped PATH WORD ROUNDS: opens PATH repeatedly while the test replaces a folder of the path
 * by a link; it reads WORD or nothing. Prints "reads" when it has read WORD once. */
static void swapped(const char *path, const char *word, long rounds)
{
	char text[100], other[200];
	long found = 0, n;

	snprintf(other, sizeof other, "%s-new", path);
	puts("begins");
	fflush(stdout);
	for (; rounds && access("stop", F_OK); rounds--) {
		int fd = open(path, O_RDONLY);

		if (fd >= 0) {
			n = read(fd, text, sizeof text - 1);
			text[n > 0 ? n : 0] = 0;
			CHECK(!strcmp(text, word));
			if (!found++) {
				puts("reads");
				fflush(stdout);
			}
			close(fd);
		}
		fd = open(other, O_WRONLY | O_CREAT, 0644);
		if (fd >= 0)
			close(fd);
		unlink(other);
	}
	puts("ends");
}

/* changes FOLDER: each kind of change, in a folder that may be read-only. */
static void changes(const char *folder)
{
	struct utimbuf times = { 1, 2 };
	struct statfs space;
	int fd;

	CHECK(!chdir(folder));
	tell("open", "file", open("file", O_WRONLY));
	tell("open", "truncate", open("file", O_RDONLY | O_TRUNC));
	tell("open", "new", open("new", O_RDONLY | O_CREAT, 0644));
	tell("open", "exclusive", open("file", O_RDONLY | O_CREAT | O_EXCL, 0644));
	tell("open", "there", open("file", O_RDONLY | O_CREAT, 0644));
	tell("unlink", "file", unlink("file"));
	tell("rmdir", "sub", rmdir("sub"));
	tell("mkdir", "new", mkdir("new", 0755));
	tell("mkdir", "sub", mkdir("sub", 0755));
	tell("rename", "file", rename("file", "new"));
	tell("rename", "sub", rename("sub", "new"));
	tell("link", "file", link("file", "new"));
	tell("symlink", "new", symlink("x", "new"));
	tell("truncate", "file", truncate("file", 0));
	tell("chmod", "file", chmod("file", 0600));
	tell("utime", "file", utime("file", &times));
	fd = open("file", O_RDONLY);
	tell("fchmod", "file", fchmod(fd, 0600));
	tell("futimens", "file", futimens(fd, NULL));
	tell("access", "W", access("file", W_OK));
	tell("access", "R", access("file", R_OK));
	tell("fcntl", "append", fcntl(fd, F_SETFL, O_APPEND));
	tell("statfs", ".", statfs(".", &space));
	printf("read only %d\n", (int)(space.f_flags & 1));
	fd = open(".", O_RDONLY);
	tell("openat", "new", openat(fd, "new", O_WRONLY | O_CREAT, 0644));
	tell("fchmod", ".", fchmod(fd, 0700));
}

/* far PATH: a write beyond the maximum size of a file. */
static void far_away(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	struct stat found;

	tell("pwrite", path, pwrite(fd, "x", 1, 1L << 60));
	tell("fallocate", path, posix_fallocate(fd, 0x7fffffffffffffff, 1) == EFBIG ? 0 : -1);
	CHECK(!fstat(fd, &found) && found.st_size == 0);
}

/* reserve PATH: more than the disk has, which leaves the file as it is; then a little. */
static void reserve(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	struct stat found;

	printf("reserve: error %d", posix_fallocate(fd, 0, 1L << 60));
	CHECK(!fstat(fd, &found));
	printf(", size %ld", (long)found.st_size);
	printf(", then error %d", posix_fallocate(fd, 0, 1000));
	CHECK(!fstat(fd, &found));
	printf(", size %ld\n", (long)found.st_size);
}

/* refused FROM ONTO: FROM cannot be renamed, and ONTO is open. */
static void refused(const char *from, const char *onto)
{
	int fd = open(onto, O_RDONLY), again;
	char text[2][8] = { "" };

	tell("rename", from, rename(from, onto));
	again = open(onto, O_RDONLY);
	CHECK(read(fd, text[0], 7) >= 0 && read(again, text[1], 7) >= 0);
	printf("open before: %sopen after: %s", text[0], text[1]);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "", *text = argc > 2 ? argv[2] : "";
	long value = strtol(text, NULL, 0);

	if (!strcmp(name, "append"))
		append(value);
	else if (!strcmp(name, "see"))
		see();
	else if (!strcmp(name, "replaced"))
		replaced();
	else if (!strcmp(name, "moved"))
		moved(text);
	else if (!strcmp(name, "killed"))
		killed((int)value);
	else if (!strcmp(name, "most"))
		most();
	else if (!strcmp(name, "many"))
		many(value);
	else if (!strcmp(name, "sparse"))
		sparse();
	else if (!strcmp(name, "full"))
		full(text);
	else if (!strcmp(name, "names"))
		names();
	else if (!strcmp(name, "copied"))
		copied(text);
	else if (!strcmp(name, "reach"))
		reach(argv + 2);
	else if (!strcmp(name, "swapped") && argc > 4)
		swapped(text, argv[3], strtol(argv[4], NULL, 0));
	else if (!strcmp(name, "far"))
		far_away(text);
	else if (!strcmp(name, "reserve"))
		reserve(text);
	else if (!strcmp(name, "refused") && argc > 3)
		refused(text, argv[3]);
	else if (!strcmp(name, "changes"))
		changes(text);
	else
		return 2;
	return 0;
}
