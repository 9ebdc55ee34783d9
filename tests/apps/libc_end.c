/* Ends in the way that its argument names; earlier output must appear. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void handler(int signal)
{
	printf("caught %d\n", signal);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	printf("before\n");
	printf("no newline");
	if (!strcmp(way, "return"))
		return argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(way, "exit"))
		exit(atoi(argv[2]));
	if (!strcmp(way, "_exit"))
		_exit(atoi(argv[2]));
	if (!strcmp(way, "quick"))
		quick_exit(atoi(argv[2]));
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "assert"))
		assert(argc == 99);
	if (!strcmp(way, "raise"))
		raise(atoi(argv[2]));
	if (!strcmp(way, "timer")) {
		setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 1000 }, NULL);
		pause();
	}
	if (!strcmp(way, "caught-abort")) {
		signal(SIGABRT, handler);
		abort();
	}
	return 99;
}
