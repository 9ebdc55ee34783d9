/*
 * clock:       three times: prints "go", sleeps a second, prints how long that was by its clock
 * clock tell:  prints CLOCK_REALTIME in nanoseconds, 50 times, 10 ms apart
 */
#include <stdio.h>
#include <time.h>

static void tell(void)
{
	const struct timespec pause = { 0, 10000000 };
	struct timespec now;

	for (int i = 0; i < 50; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
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
	(void)argv;
	if (argc > 1)
		tell();
	for (int i = 0; argc == 1 && i < 3; i++)
		sleep_once();
	return 0;
}
