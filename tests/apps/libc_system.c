/*
 * System services of a process: memory, clocks, names, limits, signals to itself, unsupported
 * calls. Arguments: the rank and size to expect, the host's time, and the current folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <margay.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include "libc.h"

static volatile int caught;

static void catch(int signal)
{
	caught = signal;
}

static void memory(void)
{
	size_t largest = 0;
	void *blocks[64], *place = NULL;
	char *block;
	volatile size_t much = SIZE_MAX / 2;
	int count = 0;

	for (size_t bytes = (size_t)1 << 40; bytes >= 4096; bytes /= 2)
		while (count < 64 && (blocks[count] = malloc(bytes))) {
			memset(blocks[count], 0x5a, bytes);
			if (bytes > largest)
				largest = bytes;
			count++;
		}
	TEST("malloc-much", largest >= 16 << 20);
	errno = 0;
	TEST("malloc-null", !malloc((size_t)1 << 30) && errno == ENOMEM);
	TEST("malloc-huge", !malloc(much));
	while (count)
		free(blocks[--count]);
	block = malloc(largest);
	TEST("malloc-again", block != NULL);
	free(block);
	block = calloc(1000, 10);
	TEST("calloc", block && !block[0] && !block[9999]);
	block = realloc(block, 100000);
	TEST("realloc", block && !block[9999]);
	free(block);
	TEST("calloc-overflow", !calloc(much, 3));
	TEST("posix_memalign", !posix_memalign(&place, 4096, 100) && !((uintptr_t)place & 4095));
	free(place);
	TEST("posix_memalign-wrong", posix_memalign(&place, 24, 100) == EINVAL);
	TEST("posix_memalign-full", posix_memalign(&place, 64, (size_t)1 << 40) == ENOMEM);
	place = aligned_alloc(256, 512);
	TEST("aligned_alloc", place && !((uintptr_t)place & 255));
	free(place);
	place = malloc(1);
	TEST("malloc-aligned", !((uintptr_t)place & 15));
	free(place);
}

static double now(clockid_t clock)
{
	struct timespec time = { 0 };

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void clocks(double host)
{
	struct timespec wait = { 0, 20000000 }, left, until;
	struct timeval day;
	struct rusage used;
	struct tms ticks;
	double start, before;
	int backwards = 0;

	TEST("realtime", fabs(now(CLOCK_REALTIME) - host) < 20);
	gettimeofday(&day, NULL);
	TEST("gettimeofday", fabs((double)day.tv_sec + (double)day.tv_usec * 1e-6
				  - now(CLOCK_REALTIME)) < 1);
	TEST("time", llabs((long long)time(NULL) - (long long)day.tv_sec) <= 1);
	before = now(CLOCK_MONOTONIC);
	for (int i = 0; i < 100000; i++) {
		double next = now(CLOCK_MONOTONIC);

		backwards += next < before;
		before = next;
	}
	TEST("monotonic", !backwards);
	start = now(CLOCK_MONOTONIC);
	TEST("nanosleep", !nanosleep(&wait, &left) && now(CLOCK_MONOTONIC) - start >= 0.02);
	start = now(CLOCK_MONOTONIC);
	usleep(5000);
	TEST("usleep", now(CLOCK_MONOTONIC) - start >= 0.005);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	TEST("clock_nanosleep", now(CLOCK_MONOTONIC) >= (double)until.tv_sec +
	     (double)until.tv_nsec * 1e-9);
	wait.tv_nsec = 1000000000;
	TEST("nanosleep-wrong", nanosleep(&wait, NULL) == -1 && errno == EINVAL);
	TEST("clock-wrong", clock_gettime(99, &wait) == -1 && errno == EINVAL);
	TEST("clock_getres", !clock_getres(CLOCK_MONOTONIC, &wait) && wait.tv_nsec == 1);
	TEST("getrusage", !getrusage(RUSAGE_SELF, &used) &&
	     (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6 < 60);
	start = (double)clock() / CLOCKS_PER_SEC;
	for (before = now(CLOCK_MONOTONIC); now(CLOCK_MONOTONIC) - before < 0.05; )
		;
	TEST("clock", (double)clock() / CLOCKS_PER_SEC - start > 0.04);
	TEST("times", times(&ticks) != (clock_t)-1 && ticks.tms_utime > 0);
	TEST("gmtime", gmtime(&(time_t){ 86400 * 365 })->tm_year == 71);
	TEST("mktime", mktime(&(struct tm){ .tm_year = 71, .tm_mday = 1 }) == 86400 * 365);
}

static void names(int rank, int size, const char *here)
{
	char name[64], expected[64], folder[4096];

	snprintf(expected, sizeof expected, "node%d", rank);
	TEST("gethostname", !gethostname(name, sizeof name) && !strcmp(name, expected));
	TEST("gethostname-short", !gethostname(name, 3) && !strcmp(name, "no"));
	TEST("rank", margay_rank() == rank && margay_size() == size);
	TEST("rank-variable", atoi(getenv("MARGAY_RANK")) == rank);
	TEST("size-variable", atoi(getenv("MARGAY_SIZE")) == size);
	TEST("environment", getenv("COLOUR") && !strcmp(getenv("COLOUR"), "blue green"));
	TEST("setenv", !setenv("COLOUR", "red", 1) && !strcmp(getenv("COLOUR"), "red"));
	TEST("getcwd", getcwd(folder, sizeof folder) && !strcmp(folder, here));
	TEST("getcwd-short", !getcwd(folder, 1) && errno == ERANGE);
	TEST("getpid", getpid() > 0);
	TEST("page-size", sysconf(_SC_PAGESIZE) == 4096 && getpagesize() == 4096);
	TEST("processors", sysconf(_SC_NPROCESSORS_ONLN) == 1);
	TEST("physical-pages", sysconf(_SC_PHYS_PAGES) >= 15000);
	TEST("clock-tick", sysconf(_SC_CLK_TCK) > 0);
	TEST("sysconf-wrong", sysconf(9999) == -1 && errno == EINVAL);
	TEST("isatty", !isatty(1) && errno == ENOTTY);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = catch }, old;
	sigset_t set, before;

	signal(SIGUSR1, catch);
	TEST("raise", !raise(SIGUSR1) && caught == SIGUSR1);
	sigaction(SIGUSR2, &action, &old);
	TEST("sigaction-old", old.sa_handler == SIG_DFL);
	caught = 0;
	TEST("kill-self", !kill(getpid(), SIGUSR2) && caught == SIGUSR2);
	caught = 0;
	TEST("sigaction-stays", !raise(SIGUSR2) && caught == SIGUSR2);
	signal(SIGTERM, SIG_IGN);
	TEST("ignored", !raise(SIGTERM));
	TEST("kill-other", kill(getpid() + 1, SIGTERM) == -1 && errno == ESRCH);
	TEST("kill-zero", !kill(getpid(), 0));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &before);
	caught = 0;
	kill(getpid(), SIGUSR2);
	TEST("blocked", caught == 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	TEST("unblocked", caught == SIGUSR2);
}

static void options(void)
{
	char *arguments[] = { "program", "-v", "--output=file", "-n", "5", "rest", NULL };
	struct option longs[] = { { "output", required_argument, NULL, 'o' }, { 0 } };
	char seen[8] = { 0 }, *output = NULL;
	int option, number = 0, index = 0;

	while ((option = getopt_long(6, arguments, "vn:", longs, NULL)) != -1) {
		seen[index++] = (char)option;
		if (option == 'o')
			output = optarg;
		if (option == 'n')
			number = atoi(optarg);
	}
	TEST("getopt", !strcmp(seen, "von") && number == 5 && output && !strcmp(output, "file"));
	TEST("getopt-rest", !strcmp(arguments[optind], "rest"));
}

static void missing(void)
{
	int ends[2];

	errno = 0;
	TEST("pipe", pipe(ends) == -1 && errno == ENOSYS);
	errno = 0;
	TEST("system", system("true") == -1 && errno == ENOSYS);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	memory();
	clocks(atof(argv[3]));
	names(atoi(argv[1]), atoi(argv[2]), argv[4]);
	signals();
	options();
	missing();
	return failed;
}
