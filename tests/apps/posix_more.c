/*
 * posix_more FOLDER: more of POSIX's calls on files, below FOLDER, which it makes and removes: open
 * files that are unlinked or renamed, appending, offsets, folders. Prints as posix_files does.
 */
#define _GNU_SOURCE
#include "posix_say.h"

#include <sys/uio.h>

static char home[PATH_MAX];

/* ---- open files that are unlinked or renamed ---- */

static void replaced(void)
{
	char text[40] = "";
	int old, older, fd;

	put("old", "the old one");
	put("new", "the new one");
	old = open("old", O_RDWR);
	older = open("old", O_RDONLY);
	SAY(rename("new", "old"));
	VALUE(read(old, text, sizeof text));
	puts(text);
	show_fstat("old", old);
	show_fstat("older", older);
	show("old");
	SAY(ftruncate(old, 3));
	VALUE(pwrite(old, "more", 4, 3));
	SAY(close(old));
	memset(text, 0, sizeof text);
	VALUE(read(older, text, sizeof text));
	puts(text);
	SAY(fchmod(older, 0600));
	show_fstat("older", older);
	SAY(close(older));
	show("old");

	/* Opened twice, unlinked, created again, unlinked again. */
	fd = open("old", O_RDWR);
	old = open("old", O_RDWR | O_APPEND);
	SAY(unlink("old"));
	VALUE(write(old, "+", 1));
	VALUE(lseek(fd, 0, SEEK_END));
	older = open("old", O_RDWR | O_CREAT, 0644);
	VALUE(write(older, "3", 1));
	SAY(unlink("old"));
	SAY(close(fd));
	show_fstat("old", old);
	show_fstat("older", older);
	SAY(close(older));
	show_fstat("old", old);
	SAY(close(old));
	SAY(unlink("old"));

	/* With another link left. */
	put("one", "two names");
	SAY(link("one", "two"));
	fd = open("one", O_RDONLY);
	SAY(unlink("one"));
	show_fstat("fd", fd);
	show_stat("two");
	SAY(unlink("two"));
	show_fstat("fd", fd);
	SAY(close(fd));
	/* Opened by two names, which are unlinked in turn. */
	put("one", "by two");
	SAY(link("one", "two"));
	fd = open("one", O_RDWR);
	old = open("two", O_RDWR);
	SAY(unlink("two"));
	show_fstat("one", fd);
	show_fstat("two", old);
	SAY(unlink("one"));
	show_fstat("one", fd);
	show_fstat("two", old);
	SAY(ftruncate(fd, 3));
	SAY(ftruncate(old, 2));
	SAY(close(old));
	show_fstat("one", fd);
	SAY(close(fd));
	list(".");

	/* A folder can be removed while a file in it is open; then nothing can be created there. */
	SAY(mkdir("d", 0755));
	put("d/f", "in d");
	fd = open("d/f", O_RDONLY);
	old = open("d", O_RDONLY | O_DIRECTORY);
	SAY(unlink("d/f"));
	SAY(rmdir("d"));
	show_fstat("fd", fd);
	SAY(openat(old, "g", O_WRONLY | O_CREAT, 0644));
	SAY(close(fd));
	SAY(close(old));

	/* Renamed while it is open. */
	put("a", "moved");
	fd = open("a", O_RDWR);
	SAY(mkdir("e", 0755));
	SAY(rename("a", "e/b"));
	show_fstat("fd", fd);
	SAY(ftruncate(fd, 2));
	show("e/b");
	SAY(rename("e", "f"));
	show_fstat("fd", fd);
	SAY(fchmod(fd, 0640));
	show_stat("f/b");
	SAY(rename("f/b", "f/b"));
	SAY(close(fd));

	/* The current folder and an open one below it, renamed to a longer and a shorter name. */
	SAY(mkdir("folder", 0755));
	SAY(chdir("folder"));
	SAY(mkdir("in", 0755));
	put("in/x", "x");
	fd = open("in", O_RDONLY | O_DIRECTORY);
	old = open("../f", O_RDONLY | O_DIRECTORY);
	SAY(rename("../folder", "../a_longer_name"));
	show("in/x");
	SAY(openat(fd, "y", O_WRONLY | O_CREAT, 0644));
	SAY(rename("../a_longer_name", "../s"));
	show("in/x");
	SAY(unlinkat(fd, "y", 0));
	SAY(rename("in", "../f/other"));
	SAY(unlinkat(fd, "x", 0));
	SAY(faccessat(old, "b", F_OK, 0));
	SAY(unlinkat(old, "other", AT_REMOVEDIR));
	SAY(close(fd));
	SAY(close(old));
	SAY(chdir(".."));
	SAY(rmdir("s"));
	SAY(unlink("f/b"));
	SAY(rmdir("f"));
}

/* ---- bytes ---- */

static void appending(void)
{
	char text[40] = "";
	int fd, other;

	put("log", "start");
	SAY(symlink("log/", "slashed"));
	SAY(open("slashed", O_RDWR));
	SAY(open("slashed", O_RDWR | O_CREAT, 0644));
	SAY(open("slashed", O_RDWR | O_CREAT | O_EXCL, 0644));
	SAY(unlink("slashed"));
	fd = open("log", O_RDWR);
	VALUE(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
	SAY(fcntl(fd, F_SETFL, O_APPEND));
	VALUE(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
	VALUE(write(fd, " more", 5));
	VALUE(lseek(fd, 0, SEEK_CUR));
	SAY(fcntl(fd, F_SETFL, 0));
	VALUE(lseek(fd, 0, SEEK_SET));
	VALUE(write(fd, "S", 1));
	SAY(close(fd));
	show("log");

	fd = open("log", O_RDWR | O_APPEND);
	other = dup(fd);
	VALUE(write(fd, "!", 1));
	SAY(fcntl(fd, F_SETFL, 0));
	VALUE(fcntl(other, F_GETFL) & (O_ACCMODE | O_APPEND));
	VALUE(pwrite(other, "T", 1, 1));
	VALUE(lseek(other, 2, SEEK_SET));
	VALUE(write(other, "A", 1));
	SAY(fcntl(other, F_SETFL, O_APPEND | O_NONBLOCK));
	VALUE(write(other, "?", 1));
	VALUE(pread(fd, text, 40, 0));
	puts(text);
	SAY(close(fd));
	SAY(close(other));
	show("log");

	/* Truncated after the file was unlinked. */
	fd = open("log", O_RDWR | O_APPEND);
	SAY(unlink("log"));
	SAY(fcntl(fd, F_SETFL, 0));
	VALUE(pwrite(fd, "X", 1, 0));
	VALUE(lseek(fd, 0, SEEK_END));
	VALUE(pread(fd, text, 1, 0));
	putchar(text[0]);
	putchar('\n');
	SAY(close(fd));

	fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0400);
	VALUE(write(fd, "ab", 2));
	SAY(fcntl(fd, F_SETFL, 0));
	VALUE(pwrite(fd, "c", 1, 0));
	SAY(close(fd));
	show("log");
	SAY(unlink("log"));
}

static void places(void)
{
	char a[4], b[4], text[40];
	struct iovec parts[3] = { { a, 4 }, { b, 4 }, { text, 40 } };
	struct iovec out[3] = { { "0123", 4 }, { NULL, 0 }, { "456789", 6 } };
	int fd = open("places", O_RDWR | O_CREAT | O_TRUNC, 0644), other;

	VALUE(writev(fd, out, 3));
	VALUE(lseek(fd, 0, SEEK_SET));
	VALUE(readv(fd, parts, 3));
	printf("%.4s %.4s %.2s\n", a, b, text);
	VALUE(preadv(fd, parts, 2, 3));
	printf("%.4s %.3s\n", a, b);
	VALUE(pwritev(fd, out, 3, 20));
	VALUE(lseek(fd, 0, SEEK_CUR));
	VALUE(pread(fd, text, 40, 8));
	printf("%d %d %.4s\n", text[1], text[11], text + 12);
	SAY(writev(fd, out, -1));
	SAY(writev(fd, out, 1025));
	SAY(pread(fd, text, 4, -1));
	SAY(pwrite(fd, text, 4, -1));
	VALUE(pread(fd, text, 4, 1L << 40));
	VALUE(read(fd, text, 0));
	VALUE(write(fd, text, 0));
	VALUE(lseek(fd, 100, SEEK_END));
	VALUE(read(fd, text, 4));
	show_fstat("not longer", fd);
	VALUE(write(fd, "end", 3));
	VALUE(pread(fd, text, 40, 110));
	printf("%d %d %.3s\n", text[0], text[19], text + 20);
	SAY(ftruncate(fd, 5));
	SAY(ftruncate(fd, 8));
	VALUE(pread(fd, text, 40, 0));
	printf("%.5s %d %d %d\n", text, text[5], text[6], text[7]);
	SAY(ftruncate(fd, -1));
	SAY(truncate("places", -1));
	SAY(truncate(".", 0));
	other = open("places", O_RDONLY);
	SAY(ftruncate(other, 1));
	SAY(write(other, "x", 1));
	VALUE(posix_fallocate(other, 0, 1)); /* the error is the result */
	SAY(fsync(other));
	SAY(fdatasync(other));
	SAY(close(other));
	other = open("places", O_WRONLY);
	SAY(read(other, text, 1));
	SAY(close(other));
	VALUE(lseek(fd, 5000000000, SEEK_SET));
	VALUE(write(fd, "far", 3));
	show_fstat("far", fd);
	VALUE(pread(fd, text, 40, 4999999999));
	printf("%d %.3s\n", text[0], text + 1);
	VALUE(lseek(fd, -5, SEEK_CUR));
	SAY(lseek(fd, -5000000009, SEEK_CUR));
	SAY(lseek(fd, LONG_MAX, SEEK_CUR));
	SAY(posix_fallocate(-1, 0, 1) ? -1 : 0);
	SAY(close(fd));
	fd = open("places", O_RDWR | O_TRUNC);
	show_fstat("cut", fd);
	SAY(close(fd));
	SAY(unlink("places"));
	SAY(fsync(fd));
	SAY(ftruncate(fd, 0));
	SAY(fchmod(fd, 0));
}

static void duplicates(void)
{
	int fd = open("dup", O_RDWR | O_CREAT, 0644), other, high;
	char text[8] = "";

	VALUE(write(fd, "abcdef", 6));
	other = open("dup", O_RDONLY);
	SAY(dup2(fd, other));
	VALUE(lseek(other, 1, SEEK_SET));
	VALUE(read(fd, text, 2));
	puts(text);
	VALUE(dup2(fd, fd) == fd);
	high = fcntl(fd, F_DUPFD, 100);
	VALUE(high);
	SAY(dup3(fd, fd, 0));
	VALUE(dup3(fd, 200, O_CLOEXEC));
	SAY(dup2(fd, -1));
	SAY(dup2(-1, 7));
	SAY(dup(-1));
	SAY(fcntl(999, F_GETFL));
	SAY(fcntl(high, F_GETFD));
	SAY(unlink("dup"));
	SAY(close(fd));
	SAY(close(other));
	SAY(close(high));
	VALUE(read(200, text, 8));
	SAY(close(200));
	list(".");
}

/* ---- folders ---- */

static void entries(void)
{
	struct dirent *entry;
	char names[12][20], again[20], name[20];
	long where[12];
	int n = 0, fd;
	DIR *folder;

	SAY(mkdir("many", 0755));
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "many/%d", i);
		put(name, "x");
	}
	SAY(mkdir("many/sub", 0755));
	SAY(symlink("0", "many/link"));
	list("many");
	folder = opendir("many");
	for (; n < 12; n++) {
		where[n] = telldir(folder);
		entry = readdir(folder);
		if (!entry)
			break;
		snprintf(names[n], sizeof names[n], "%.19s", entry->d_name);
	}
	VALUE(n);
	for (int i = n - 1; i >= 0; i--) {
		seekdir(folder, where[i]);
		entry = readdir(folder);
		snprintf(again, sizeof again, "%.19s", entry ? entry->d_name : "none");
		if (strcmp(again, names[i]))
			printf("seekdir: %s is not %s\n", again, names[i]);
	}
	rewinddir(folder);
	VALUE(readdir(folder) != NULL);
	fd = dirfd(folder);
	SAY(faccessat(fd, "3", F_OK, 0));
	SAY(closedir(folder));
	SAY(close(fd));
	folder = opendir("many");
	while ((entry = readdir(folder)))
		if (entry->d_type != (entry->d_name[0] == '.' || !strcmp(entry->d_name, "sub") ? DT_DIR :
				      !strcmp(entry->d_name, "link") ? DT_LNK : DT_REG))
			printf("%s is of type %d\n", entry->d_name, entry->d_type);
	/* Removed while it is read. */
	rewinddir(folder);
	for (n = 0; (entry = readdir(folder));)
		if (entry->d_name[0] != '.') {
			snprintf(name, sizeof name, "many/%.10s", entry->d_name);
			n += !remove(name);
		}
	VALUE(n);
	SAY(closedir(folder));
	list("many");
	SAY(opendir("many/none") ? 0 : -1);
	put("file", "x");
	SAY(opendir("file") ? 0 : -1);
	fd = open("file", O_RDONLY);
	SAY(fdopendir(fd) ? 0 : -1);
	SAY(close(fd));
	fd = open("many", O_RDONLY);
	SAY(read(fd, name, 1));
	SAY(write(fd, name, 1));
	SAY(ftruncate(fd, 0));
	SAY(fsync(fd));
	show_fstat("many", fd);
	SAY(fchdir(fd));
	put("inside", "by fchdir");
	SAY(fchdir(open("inside", O_RDONLY)));
	SAY(fchdir(-1));
	SAY(chdir(home));
	show("many/inside");
	folder = fdopendir(fd);
	VALUE(folder != NULL);
	SAY(closedir(folder));
	SAY(unlink("many/inside"));
	SAY(rmdir("many/."));
	SAY(rmdir("many/.."));
	SAY(rmdir("."));
	SAY(unlink("."));
	SAY(rename(".", "x"));
	SAY(rename("many/..", "x"));
	SAY(rename("many", "."));
	SAY(mkdir(".", 0755));
	SAY(mkdir("many/..", 0755));
	SAY(mkdir("many/", 0755));
	SAY(mkdir("new/", 0755));
	SAY(rename("new", "many"));
	put("many/x", "x");
	SAY(rename("many", "many/x"));
	SAY(rename("many/x", "many"));
	SAY(unlink("many/x"));
	SAY(rename("many/", "newer/"));
	SAY(rename("file", "newer"));
	SAY(rename("newer", "file"));
	SAY(rename("file", "file/x"));
	SAY(rename("file", "new/x"));
	SAY(rename("file", "other/"));
	SAY(rename("file/", "other"));
	SAY(rmdir("newer"));
	SAY(rmdir("file"));
	SAY(unlink("file"));
	SAY(rmdir("/"));
}

static void relative(void)
{
	int at, fd;
	char text[20];

	SAY(mkdir("at", 0755));
	at = open("at", O_RDONLY | O_DIRECTORY);
	SAY(mkdirat(at, "in", 0700));
	fd = openat(at, "in/f", O_RDWR | O_CREAT | O_EXCL, 0644);
	VALUE(fd >= 0);
	VALUE(write(fd, "file", 4));
	SAY(openat(fd, "x", O_RDONLY));
	SAY(openat(-1, "x", O_RDONLY));
	SAY(openat(-1, home, O_RDONLY));
	SAY(renameat(at, "in/f", AT_FDCWD, "out"));
	SAY(linkat(AT_FDCWD, "out", at, "in/g", 0));
	SAY(symlinkat("in/g", at, "l"));
	VALUE(readlinkat(at, "l", text, sizeof text));
	SAY(linkat(at, "l", at, "hard", 0));
	SAY(linkat(at, "l", at, "followed", AT_SYMLINK_FOLLOW));
	show_stat("at/hard");
	show_stat("at/followed");
	show("at/l");
	SAY(fchmodat(at, "l", 0640, 0));
	SAY(faccessat(at, "../out", F_OK, 0));
	SAY(unlinkat(at, "in", 0));
	SAY(unlinkat(at, "hard", 99));
	SAY(unlinkat(at, "in", ~AT_REMOVEDIR));
	SAY(unlinkat(at, "in", AT_REMOVEDIR));
	SAY(unlinkat(at, "in/g", AT_REMOVEDIR));
	SAY(unlinkat(at, "in/g", 0));
	SAY(unlinkat(at, "in", AT_REMOVEDIR));
	SAY(unlinkat(at, "hard", 0));
	SAY(unlinkat(at, "followed", 0));
	SAY(rename("at", "moved"));
	SAY(mkdirat(at, "later", 0755));
	list("moved");
	SAY(unlinkat(at, "later", AT_REMOVEDIR));
	SAY(unlinkat(at, "l", 0));
	SAY(close(at));
	SAY(close(fd));
	SAY(unlink("out"));
	SAY(rmdir("moved"));
}

int main(int argc, char **argv)
{
	umask(022);
	if (argc != 2 || mkdir(argv[1], 0755) || chdir(argv[1]) || !getcwd(home, sizeof home)) {
		perror(argc == 2 ? argv[1] : "usage: posix_more FOLDER");
		return 1;
	}
	replaced();
	appending();
	places();
	duplicates();
	entries();
	relative();
	list(".");
	SAY(chdir(".."));
	return rmdir(argv[1]) != 0;
}
