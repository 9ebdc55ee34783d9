/*
 * clock:       three times: prints "go", sleeps a second, prints how long that was by its clock
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

static void sleep_once(void)
{
	const struct timespec second = { 1, 0 };
	struct timespec before, after;

	puts("go");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &before);
	nanosleep(&second, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("slept %.3f s\n", (double)(after.tv_sec - before.tv_sec) +
	       (double)(after.tv_nsec - before.tv_nsec) * 1e-9);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "on") == 0)
		tell(CLOCK_MONOTONIC, -1);
	else if (argc > 1)
		tell(CLOCK_REALTIME, 50);
	for (int i = 0; argc == 1 && i < 3; i++)
		sleep_once();
	return 0;
}
