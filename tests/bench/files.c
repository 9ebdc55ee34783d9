/*
 * Benchmark of files. One line per figure on stdout: NAME VALUE.
 *
 *   files stream FILE MB     write and read MB MiB, 1 MiB at a time
 *   files open FILE N        open and close it N times, and stat it N times
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

enum { MB = 1 << 20 };

static char piece[MB];

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void stream(const char *file, int mb)
{
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0666);
	double start;

	check(fd >= 0, file);
	memset(piece, 'x', sizeof piece);
	start = seconds();
	for (int i = 0; i < mb; i++)
		check(write(fd, piece, MB) == MB, "write");
	printf("write_MBps %.1f\n", (double)mb * MB / 1e6 / (seconds() - start));
	lseek(fd, 0, SEEK_SET);
	start = seconds();
	for (int i = 0; i < mb; i++)
		check(read(fd, piece, MB) == MB, "read");
	printf("read_MBps %.1f\n", (double)mb * MB / 1e6 / (seconds() - start));
	close(fd);
}

static void opens(const char *file, int n)
{
	struct stat found;
	double start;

	close(open(file, O_RDWR | O_CREAT, 0666));
	start = seconds();
	for (int i = 0; i < n; i++) {
		int fd = open(file, O_RDONLY);

		check(fd >= 0, file);
		close(fd);
	}
	printf("open_close_per_s %.0f\n", n / (seconds() - start));
	start = seconds();
	for (int i = 0; i < n; i++)
		check(stat(file, &found) == 0, file);
	printf("stat_per_s %.0f\n", n / (seconds() - start));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "stream"))
		stream(argv[2], atoi(argv[3]));
	else if (argc == 4 && !strcmp(argv[1], "open"))
		opens(argv[2], atoi(argv[3]));
	return 0;
}
