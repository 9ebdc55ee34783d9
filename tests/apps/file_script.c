/*
 * file_script: makes the calls on files that standard input names, one per line, and prints their
 * results. The test generates random sequences, and compares a node's output with that of the same
 * program on the host. "new NAME" begins a sequence in a new empty folder; "end" shows and removes
 * its contents. "@" in front of a path is the initial folder.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4, WORDS = 6, MOST = 100000 };

static char home[PATH_MAX], paths[2][PATH_MAX * 2];
static char bytes[MOST];
static int slots[SLOTS];

static const char *path(const char *word, int which)
{
	snprintf(paths[which], sizeof paths[which], "%s%s", word[0] == '@' ? home : "",
		 word + (word[0] == '@'));
	return paths[which];
}

static unsigned sum(const char *data, long n)
{
	unsigned hash = 2166136261u;

	while (n-- > 0)
		hash = (hash ^ (unsigned char)*data++) * 16777619u;
	return hash;
}

static void print(long result)
{
	if (result < 0)
		printf(" error %d\n", errno);
	else
		printf(" %ld\n", result);
}

static void print_read(long n)
{
	if (n < 0)
		print(n);
	else
		printf(" %ld %08x\n", n, sum(bytes, n));
}

static void print_stat(int result, const struct stat *s)
{
	if (result < 0)
		print(result);
	else if (S_ISREG(s->st_mode))
		printf(" %o %ld %lld\n", (unsigned)s->st_mode, (long)s->st_nlink, (long long)s->st_size);
	else
		printf(" %o\n", (unsigned)s->st_mode);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void list(const char *name)
{
	struct dirent **found;
	int n = scandir(name, &found, NULL, by_name);

	if (n < 0) {
		print(n);
		return;
	}
	for (int i = 0; i < n; i++) {
		printf(" %s:%d", found[i]->d_name, found[i]->d_type);
		free(found[i]);
	}
	printf("\n");
	free(found);
}

static int is_folder(int fd)
{
	struct stat s;

	return !fstat(fd, &s) && S_ISDIR(s.st_mode);
}

/* A folder that was removed while it was open has no attributes over 9P. */
static int is_gone(int fd)
{
	struct stat s;

	return fd >= 0 && (fstat(fd, &s) ? errno == ENOENT : S_ISDIR(s.st_mode) && !s.st_nlink);
}

static int flags_of(const char *word)
{
	static const struct { char letter; int flag; } all[] = {
		{ 'r', O_RDONLY }, { 'w', O_WRONLY }, { 'b', O_RDWR }, { 'c', O_CREAT }, { 'x', O_EXCL },
		{ 't', O_TRUNC }, { 'a', O_APPEND }, { 'd', O_DIRECTORY }, { 'n', O_NOFOLLOW },
	};
	int flags = 0;

	for (; *word; word++)
		for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
			flags |= *word == all[i].letter ? all[i].flag : 0;
	return flags;
}

/* Show what a sequence has left: names, kinds, contents. */
static void show(const char *name, int depth)
{
	struct dirent **found;
	int n = scandir(name, &found, NULL, by_name);

	for (int i = 0; i < n; i++) {
		char inner[PATH_MAX];
		struct stat s;

		snprintf(inner, sizeof inner, "%.2000s/%s", name, found[i]->d_name);
		if (found[i]->d_name[0] != '.' && !lstat(inner, &s)) {
			printf("  %s", inner + strlen(home));
			print_stat(0, &s);
			if (S_ISREG(s.st_mode)) {
				int fd = open(inner, O_RDONLY);

				print_read(read(fd, bytes, sizeof bytes));
				close(fd);
			}
			if (S_ISDIR(s.st_mode) && depth < 9)
				show(inner, depth + 1);
		}
		free(found[i]);
	}
	if (n >= 0)
		free(found);
}

static int erase(const char *name, const struct stat *s, int kind, struct FTW *at)
{
	(void)s, (void)kind;
	return at->level ? remove(name) : 0;
}

static void end(void)
{
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i] >= 0)
			close(slots[i]);
		slots[i] = -1;
	}
	if (chdir(home) || (show(home, 0), nftw(home, erase, 100, FTW_PHYS | FTW_DEPTH)))
		printf("cannot end: error %d\n", errno);
	putchar('\n');
}

static void call(char **w)
{
	const char *name = w[0];
	int *slot = &slots[w[1][0] & (SLOTS - 1)];
	const char *first = path(w[1], 0), *second = path(w[2], 1);
	long a = atol(w[2]), b = atol(w[3]);
	struct stat s;

#define IS(text) (!strcmp(name, text))
	if (IS("new")) {
		print(mkdir(first, 0755) ? -1 : chdir(first));
	} else if (IS("end")) {
		end();
	} else if (IS("open")) {
		int fd = open(second, flags_of(w[3]), 0644);

		if (*slot >= 0 && fd >= 0)
			close(*slot);
		if (fd >= 0)
			*slot = fd;
		print(fd < 0 ? -1 : 0);
	} else if (IS("close")) {
		print(close(*slot));
		*slot = -1;
	} else if (IS("dup")) {
		print(slots[a & (SLOTS - 1)] >= 0 && *slot >= 0 &&
		      dup2(slots[a & (SLOTS - 1)], *slot) >= 0 ? 0 : -1);
	} else if (IS("read")) {
		print_read(read(*slot, bytes, (size_t)a));
	} else if (IS("pread")) {
		print_read(pread(*slot, bytes, (size_t)a, b));
	} else if (IS("write") || IS("pwrite")) {
		for (long i = 0; i < a; i++)
			bytes[i] = (char)(a + b + i * 7 + i / 256);
		print(IS("write") ? write(*slot, bytes, (size_t)a) : pwrite(*slot, bytes, (size_t)a, b));
	} else if (IS("lseek")) {
		print(is_folder(*slot) ? 0 : lseek(*slot, a, (int)b));
	} else if (IS("ftruncate")) {
		print(ftruncate(*slot, a));
	} else if ((IS("fstat") || IS("fchmod") || IS("fchdir")) && is_gone(*slot)) {
		printf(" gone\n");
	} else if (IS("fstat")) {
		print_stat(fstat(*slot, &s), &s);
	} else if (IS("append")) {
		print(*slot < 0 ? -1 : fcntl(*slot, F_SETFL, a ? O_APPEND : 0));
	} else if (IS("fchdir")) {
		print(fchdir(*slot));
	} else if (IS("fchmod")) {
		print(fchmod(*slot, 0700 | (mode_t)a));
	} else if (IS("mkdirat")) {
		print(mkdirat(*slot, second, 0755));
	} else if (IS("openat")) {
		int fd = openat(*slot, second, O_RDWR | O_CREAT, 0600);

		print(fd < 0 ? -1 : close(fd));
	} else if (IS("truncate")) {
		print(truncate(first, a));
	} else if (IS("unlink")) {
		print(unlink(first));
	} else if (IS("rmdir")) {
		print(rmdir(first));
	} else if (IS("mkdir")) {
		print(mkdir(first, 0755));
	} else if (IS("rename")) {
		print(rename(first, second));
	} else if (IS("link")) {
		print(link(first, second));
	} else if (IS("symlink")) {
		print(symlink(first, second));
	} else if (IS("readlink")) {
		long n = readlink(first, bytes, sizeof bytes);
		long cut = n > 0 && bytes[0] == '/' ? (long)strlen(home) : 0;

		printf(n < 0 ? " error %d\n" : " %.0d%.*s\n", n < 0 ? errno : 0, (int)(n - cut), bytes + cut);
	} else if (IS("stat")) {
		print_stat(stat(first, &s), &s);
	} else if (IS("lstat")) {
		print_stat(lstat(first, &s), &s);
	} else if (IS("chmod")) {
		print(chmod(first, 0700 | (mode_t)a));
	} else if (IS("access")) {
		print(access(first, (int)a));
	} else if (IS("list")) {
		list(first);
	} else if (IS("chdir")) {
		print(chdir(first));
	} else if (IS("getcwd")) {
		printf(" %s\n", getcwd(bytes, sizeof bytes) ? bytes + strlen(home) : "none");
	} else {
		printf(" not known\n");
	}
}

int main(int argc, char **argv)
{
	static char line[4000];
	char *words[WORDS];

	umask(022);
	if (argc != 2 || mkdir(argv[1], 0755) || chdir(argv[1]) || !getcwd(home, sizeof home))
		return 1;
	for (int i = 0; i < SLOTS; i++)
		slots[i] = -1;
	while (fgets(line, sizeof line, stdin)) {
		int n = 0;

		line[strcspn(line, "\n")] = 0;
		printf("%s:", line);
		for (char *word = strtok(line, " "); n < WORDS; word = word ? strtok(NULL, " ") : NULL)
			words[n++] = word ? word : "";
		errno = 0;
		call(words);
	}
	end();
	return chdir("..") || rmdir(argv[1]);
}
