/*
 * file_calls CASE [ARGUMENT]: what the kernel does in calls on files and streams: its requests to
 * the host, its table of paths, the times of files, messages that come during a call. Each case
 * prints results that the test checks.
 */
#include "ptl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 120, LINES = 1000, MOST_WRITES = 20 };

static char buffer[LINES * LINE];

static void tell(const char *what, long result)
{
	printf("%s: %ld\n", what, result < 0 ? -(long)errno : 0);
}

/* short READS: so many reads of more bytes than the file has. */
static void read_short(long reads)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);

	EQUAL(write(fd, "short", 5), 5);
	while (reads--)
		EQUAL(pread(fd, buffer, 100, 0), 5);
	EQUAL(unlink("file"), 0);
}

/* paths: the paths of open folders almost fill the kernel's table of them, which has 64 KiB. A
 * rename that they would not fit after is refused; others go on as usual. */
static void paths(void)
{
	enum { TOP = 9, LEVELS = 20, LEVEL = 201, DEEP = 16, SMALL = 100 };
	static char deep[TOP + LEVELS * LEVEL + 1] = "/tmp/aaaa", name[TOP + 101];
	int fds[DEEP], small[SMALL];

	EQUAL(mkdir(deep, 0755), 0);
	for (int i = 0; i < LEVELS; i++) {
		char *at = deep + TOP + i * LEVEL;

		*at = '/';
		memset(at + 1, 'n', LEVEL - 1);
		EQUAL(mkdir(deep, 0755), 0);
	}
	for (int i = 0; i < DEEP; i++)
		CHECK((fds[i] = open(deep, O_RDONLY)) >= 0);
	for (int i = 0; i < SMALL; i++)
		CHECK((small[i] = open("/tmp", O_RDONLY)) >= 0);
	EQUAL(chdir(deep), 0);

	EQUAL(rename("/tmp/aaaa", "/tmp/bbbb"), 0);
	for (int i = 0; i < DEEP; i++)
		EQUAL(close(openat(fds[i], "file", O_WRONLY | O_CREAT, 0644)), 0);
	EQUAL(access("file", F_OK), 0);
	for (int i = 0; i < SMALL; i++)
		EQUAL(faccessat(small[i], "bbbb", F_OK, 0), 0);

	memcpy(name, "/tmp/", 5);
	memset(name + 5, 'c', 64);               /* 60 more bytes in each */
	tell("rename too many", rename("/tmp/bbbb", name));
	EQUAL(faccessat(fds[0], "file", F_OK, 0), 0);
	EQUAL(access("/tmp/bbbb", F_OK), 0);
	for (int i = DEEP / 2; i < DEEP; i++)
		EQUAL(close(fds[i]), 0);
	tell("rename fewer", rename("/tmp/bbbb", name));
	EQUAL(faccessat(fds[DEEP / 2 - 1], "file", F_OK, 0), 0);
	EQUAL(access("file", F_OK), 0);
	EQUAL(rename(name, "/tmp/d"), 0);
	EQUAL(faccessat(fds[0], "file", F_OK, 0), 0);
	memset(name + 5, 'c', 100);
	tell("rename too long", rename("/tmp/d", name));
	EQUAL(faccessat(fds[0], "file", F_OK, 0), 0);
	EQUAL(access("file", F_OK), 0);
}

/* stamps: files in memory have the times of CLOCK_REALTIME, here to 50 ms. */
static void stamps(void)
{
	int fd = open("/tmp/file", O_RDWR | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < 12; i++) {
		struct timespec before, after;
		struct stat s;
		double stamp;

		EQUAL(clock_gettime(CLOCK_REALTIME, &before), 0);
		EQUAL(write(fd, "x", 1), 1);
		EQUAL(fstat(fd, &s), 0);
		EQUAL(clock_gettime(CLOCK_REALTIME, &after), 0);
		stamp = (double)s.st_mtim.tv_sec + (double)s.st_mtim.tv_nsec / 1e9;
		CHECK(stamp > (double)before.tv_sec + (double)before.tv_nsec / 1e9 - 0.05);
		CHECK(stamp < (double)after.tv_sec + (double)after.tv_nsec / 1e9 + 0.05);
		usleep(100000);
	}
	puts("right");
}

/* Rank 0 repeats a call until puts have arrived during WANTED of them, for at most MOST calls; rank 1
 * puts and waits for each ack. Whether that many were reached; false on rank 1. */
static int serves_during(void (*call)(void), long wanted, int most)
{
	struct roles r;
	volatile uint64_t *word = (volatile uint64_t *)r.in;
	ptl_handle_md_t md;
	uint64_t next = 1;

	open_roles(&r);
	*word = 0;
	attach(&r, 1, 0, memory(r.in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	                        PTL_EQ_NONE), PTL_RETAIN);
	EQUAL(PtlMDBind(r.job.ni, memory(&next, 8, PTL_MD_THRESH_INF, 0, r.own), PTL_RETAIN, &md),
	      PTL_OK);
	sync_ranks(&r);
	if (margay_rank() == 0) {
		for (int i = 0; i < most && wanted > 0; i++) {
			uint64_t before = *word;

			call();
			wanted -= *word >= before + 2;
		}
		EQUAL(PtlPut(md, PTL_NO_ACK_REQ, margay_process(1), PT, 0, 1, 0, 0), PTL_OK);
		expect(r.own, PTL_EVENT_SEND_END);
	} else {
		for (; !*word; next++) {
			EQUAL(PtlPut(md, PTL_ACK_REQ, margay_process(0), PT, 0, 1, 0, 0), PTL_OK);
			expect(r.own, PTL_EVENT_SEND_END);
			expect(r.own, PTL_EVENT_ACK);
		}
	}
	sync_ranks(&r);
	return wanted == 0;
}

static int bytes_fd;

static void read_much(void)
{
	static char much[16 << 20];

	EQUAL(pread(bytes_fd, much, sizeof much, 0), sizeof much);
}

/* beside CALLS: messages come during so many long reads of a file. */
static void beside(long calls)
{
	if (margay_rank() == 0) {
		bytes_fd = open("bytes", O_RDWR | O_CREAT | O_TRUNC, 0644);
		EQUAL(ftruncate(bytes_fd, 16 << 20), 0);
	}
	if (serves_during(read_much, calls, INT_MAX))
		puts("puts came");
	if (margay_rank() == 0) {
		EQUAL(close(bytes_fd), 0);
		EQUAL(unlink("bytes"), 0);
	}
}

static void write_much(void)
{
	EQUAL(write(1, buffer, sizeof buffer), sizeof buffer);
}

/* aside CALLS: messages come during so many long writes to the standard output. */
static void aside(long calls)
{
	memset(buffer, '.', sizeof buffer);
	for (int i = 1; i <= LINES; i++)
		buffer[i * LINE - 1] = '\n';
	if (serves_during(write_much, calls, MOST_WRITES))
		puts("puts came");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	long value = argc > 2 ? strtol(argv[2], NULL, 0) : 0;

	if (!strcmp(name, "short"))
		read_short(value);
	else if (!strcmp(name, "paths"))
		paths();
	else if (!strcmp(name, "stamps"))
		stamps();
	else if (!strcmp(name, "beside"))
		beside(value);
	else if (!strcmp(name, "aside"))
		aside(value);
	else
		return 2;
	return 0;
}
