/*
 * clock:       prints "go", sleeps two seconds, prints how long that was by its clock
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

int main(int argc, char **argv)
{
	const struct timespec two = { 2, 0 };
	struct timespec before, after;

	(void)argv;
	if (argc > 1) {
		tell();
		return 0;
	}
	puts("go");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &before);
	nanosleep(&two, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("slept %.3f s\n", (double)(after.tv_sec - before.tv_sec) +
	       (double)(after.tv_nsec - before.tv_nsec) * 1e-9);
	return 0;
}
