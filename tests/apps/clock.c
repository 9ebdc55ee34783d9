/*
 * clock tell:  prints CLOCK_REALTIME in nanoseconds for each line of standard input clock on:
 * prints CLOCK_MONOTONIC in nanoseconds, every 10 ms, forever
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

static void tell(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	printf("%lld ns\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[80];

	if (argc < 2 || strcmp(argv[1], "on") != 0) {
		while (fgets(line, sizeof line, stdin))
			tell(CLOCK_REALTIME);
		return 0;
	}
	for (;;) {
		tell(CLOCK_MONOTONIC);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}
