/* Ends the job, or sets a handler for the end of the process, as the arguments say. */
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints without stdio, which is closed by then. */
static int handler(int status)
{
	char line[40];
	int bytes = snprintf(line, sizeof line, "handler %d\n", status);

	if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
		return 98;
	if (status == 5)
		_exit(6);               /* the handler does not run again */
	return status + 10;
}

static void last(void)
{
	printf("atexit\n");
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int status = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(way, "job")) {
		int ender = atoi(argv[3]);

		if (margay_rank() != ender)
			for (;;)
				pause();
		printf("rank %d ends it\n", margay_rank());
		fflush(stdout);
		margay_end_job(status);
	}
	atexit(last);
	if (margay_at_end(handler) != NULL)
		return 99;
	if (!strcmp(way, "return"))
		return status;
	if (!strcmp(way, "exit"))
		exit(status);
	if (!strcmp(way, "_exit"))
		_exit(status);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "end-job"))
		margay_end_job(status);
	return margay_at_end(NULL) == handler ? status : 97;
}
