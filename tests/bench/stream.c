/*
 * stream KIND BYTES: how fast standard output and input are. For tests/bench/streams.py; the
 * results are on stderr, as stdin and stdout are measured.
 *   lines    BYTES in lines of 100 bytes by fputs: each is written when it is complete
 *   blocks   BYTES in writes of 64 KB
 *   input    reads standard input to its end; the clock starts at its first byte
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define LINE  100
#define BLOCK (64 << 10)

static char buffer[BLOCK];

static void write_lines(long bytes)
{
	char line[LINE + 1];

	memset(line, 'x', LINE);
	memcpy(line + LINE - 1, "\n", 2);
	for (long at = 0; at < bytes; at += LINE)
		fputs(line, stdout);
	fflush(stdout);
}

static int write_blocks(long bytes)
{
	memset(buffer, 'x', sizeof(buffer));
	for (long at = 0; at < bytes; at += BLOCK)
		if (write(1, buffer, sizeof(buffer)) != (long)sizeof(buffer))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long bytes = argc > 2 ? atol(argv[2]) : 0, got;
	double start;

	if (strcmp(kind, "input") == 0) {
		bytes = read(0, buffer, sizeof(buffer));
		start = seconds();
		while ((got = read(0, buffer, sizeof(buffer))) > 0)
			bytes += got;
	} else {
		start = seconds();
		if (strcmp(kind, "lines") == 0)
			write_lines(bytes);
		else if (write_blocks(bytes))
			return 1;
	}
	fprintf(stderr, "MBps %.1f\nbytes %ld\n", (double)bytes * 1e-6 / (seconds() - start), bytes);
	return 0;
}
