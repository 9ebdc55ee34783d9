/*
 * output KIND [N]: a program's output and its end.
 *   lines N    N numbered lines of 100 bytes on stdout, then a checksum on stderr
 *   exit N     exits with status N; exit N RANK: only rank RANK, the others sleep
 *   return N   the same from main
 *   cat [K]    copies standard input to standard output, except rank K, which exits
 *   poll       the result and, in hexadecimal, the events of a poll on standard input forever
 *   args ...   one line per argument, in brackets
 *   env NAME   the value of a variable
 *   copy A B   copies file A to file B
 *   partial    a line in pieces, and a last line without its newline
 *   both       lines on stdout and stderr in turn
 */
#include <fcntl.h>
#include <margay.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lines(long count)
{
	unsigned long sum = 0;

	for (long i = 0; i < count; i++) {
		char line[101];

		snprintf(line, sizeof line, "%099ld", i);
		sum += (unsigned long)i;
		puts(line);
	}
	fprintf(stderr, "sum %lu\n", sum);
	return 0;
}

static int leave(int status, const char *rank)
{
	if (rank && margay_rank() != atoi(rank))
		for (;;)
			sleep(1);
	exit(status);
}

static int cat(void)
{
	char buffer[8192];
	long got, total = 0;

	while ((got = read(0, buffer, sizeof buffer)) > 0) {
		fwrite(buffer, 1, got, stdout);
		total += got;
	}
	fprintf(stderr, "read %ld\n", total);
	return got < 0;
}

static int wait_for_input(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	int result = poll(&input, 1, -1);

	printf("%d: %x\n", result, input.revents);
	return 0;
}

static int copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char buffer[5000];
	size_t got;

	if (!in || !out) {
		perror(in ? to : from);
		return 1;
	}
	while ((got = fread(buffer, 1, sizeof buffer, in)) > 0)
		if (fwrite(buffer, 1, got, out) != got)
			return 1;
	return fclose(out) || fclose(in);
}

static int echo(void)
{
	char line[100];

	while (fgets(line, sizeof line, stdin)) {
		fputs(line, stdout);
		fflush(stdout);
	}
	return 0;
}

static int both(void)
{
	for (int i = 0; i < 50; i++) {
		printf("out %d\n", i);
		fprintf(stderr, "err %d\n", i);
	}
	return 0;
}

static int partial(void)
{
	for (int i = 0; i < 10; i++) {
		printf("piece%d ", i);
		fflush(stdout);
	}
	printf("\nlast");
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "", *first = argc > 2 ? argv[2] : "";

	if (strcmp(kind, "lines") == 0)
		return lines(atol(first));
	if (strcmp(kind, "exit") == 0)
		return leave(atoi(first), argc > 3 ? argv[3] : NULL);
	if (strcmp(kind, "return") == 0)
		return atoi(first);
	if (strcmp(kind, "cat") == 0)
		return *first && atoi(first) == margay_rank() ? 0 : cat();
	if (strcmp(kind, "poll") == 0)
		return wait_for_input();
	if (strcmp(kind, "echo") == 0)
		return echo();
	if (strcmp(kind, "env") == 0)
		return printf("%s=%s\n", first, getenv(first) ? getenv(first) : "(none)") < 0;
	if (strcmp(kind, "copy") == 0)
		return copy(first, argv[3]);
	if (strcmp(kind, "partial") == 0)
		return partial();
	if (strcmp(kind, "both") == 0)
		return both();
	for (int i = 2; i < argc; i++)
		printf("[%s]\n", argv[i]);
	return strcmp(kind, "args") != 0;
}
