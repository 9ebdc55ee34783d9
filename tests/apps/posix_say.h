/*
 * Shared by the programs of POSIX's calls on files, which print the result of each call: the same
 * lines on Linux, on a node over the host's folder, and on a node in memory.
 */
#ifndef TESTS_APPS_POSIX_SAY_H
#define TESTS_APPS_POSIX_SAY_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAY(call)   say(#call, (long)(call))
#define VALUE(call) say_value(#call, (long)(call))

/* Print a call's result: its value if that is the same everywhere, and the error. */
static inline long say(const char *what, long result)
{
	int error = errno;

	if (result < 0)
		printf("%s: error %d\n", what, error);
	else
		printf("%s: ok\n", what);
	errno = 0;
	return result;
}

static inline long say_value(const char *what, long result)
{
	if (result < 0)
		return say(what, result);
	printf("%s: %ld\n", what, result);
	return result;
}

static inline void put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		printf("put %s: error %d\n", name, errno);
}

static inline void show(const char *name)
{
	char text[200];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n < 0) {
		printf("%s: error %d\n", name, errno);
	} else {
		text[n] = 0;
		printf("%s holds '%s'\n", name, text);
	}
	if (fd >= 0)
		close(fd);
}

static inline void print_stat(const char *name, const struct stat *s)
{
	printf("%s: mode %o links %ld", name, (unsigned)s->st_mode,
	       S_ISDIR(s->st_mode) ? 0L : (long)s->st_nlink);
	printf(S_ISDIR(s->st_mode) ? "\n" : " size %lld\n", (long long)s->st_size);
}

static inline void show_stat(const char *name)
{
	struct stat s;

	if (lstat(name, &s))
		printf("lstat %s: error %d\n", name, errno);
	else
		print_stat(name, &s);
}

static inline void show_fstat(const char *what, int fd)
{
	struct stat s;

	if (fstat(fd, &s))
		printf("fstat %s: error %d\n", what, errno);
	else
		print_stat(what, &s);
}

static inline int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void list(const char *name)
{
	char *names[200];
	int n = 0;
	struct dirent *entry;
	DIR *folder = opendir(name);

	if (!folder) {
		printf("opendir %s: error %d\n", name, errno);
		return;
	}
	while ((entry = readdir(folder)) && n < 200)
		names[n++] = strdup(entry->d_name);
	closedir(folder);
	qsort(names, (size_t)n, sizeof names[0], by_name);
	printf("%s:", name);
	for (int i = 0; i < n; i++) {
		printf(" %s", names[i]);
		free(names[i]);
	}
	printf("\n");
}

#endif
