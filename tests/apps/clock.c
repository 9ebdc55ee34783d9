/*
 * clock tell:  prints CLOCK_REALTIME in nanoseconds, 50 times, 10 ms apart
 * clock on:    prints CLOCK_MONOTONIC in nanoseconds, 10 ms apart, without end
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

static void tell(clockid_t clock, long times)
{
	const struct timespec pause = { 0, 10000000 };
	struct timespec now;

	for (long i = 0; i != times; i++) {
		clock_gettime(clock, &now);
		printf("%lld ns\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
		fflush(stdout);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "on") == 0)
		tell(CLOCK_MONOTONIC, -1);
	else
		tell(CLOCK_REALTIME, 50);
	return 0;
}
