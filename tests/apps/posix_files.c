/*
 * posix_files FOLDER: POSIX's calls on files, below FOLDER, which it makes and removes. It prints
 * what each call returns; the same program prints the same lines on Linux, on a node over the
 * host's folder, and on a node in memory.
 */
#include "posix_say.h"

#include <sys/uio.h>

static char home[PATH_MAX];

static void flags(void)
{
	int fd;
	char text[10] = "";

	SAY(open("missing", O_RDONLY));
	put("a", "0123456789");
	SAY(open("a", O_RDWR | O_CREAT | O_EXCL, 0644));
	SAY(open("a/b", O_RDONLY));
	SAY(open(".", O_WRONLY));
	SAY(open("a", O_RDONLY | O_DIRECTORY));
	SAY(open("", O_RDONLY));
	fd = open("a", O_RDONLY);
	SAY(write(fd, "x", 1));
	VALUE(read(fd, text, 4));
	VALUE(lseek(fd, 0, SEEK_CUR));
	VALUE(lseek(fd, -2, SEEK_END));
	VALUE(read(fd, text, 9));
	VALUE(read(fd, text, 9));
	SAY(lseek(fd, -1, SEEK_SET));
	SAY(lseek(fd, 0, 77));
	VALUE(pread(fd, text, 3, 5));
	VALUE(lseek(fd, 0, SEEK_CUR));
	SAY(close(fd));
	SAY(close(fd));
	SAY(read(fd, text, 1));
	fd = open("a", O_WRONLY | O_APPEND);
	VALUE(write(fd, "abc", 3));
	VALUE(lseek(fd, 0, SEEK_CUR));
	VALUE(lseek(fd, 2, SEEK_SET));
	VALUE(write(fd, "def", 3));
	SAY(close(fd));
	show("a");
	fd = open("a", O_WRONLY | O_TRUNC);
	VALUE(pwrite(fd, "hole", 4, 8));
	VALUE(lseek(fd, 0, SEEK_END));
	SAY(close(fd));
	show_stat("a");
	VALUE(fcntl(open("a", O_RDONLY | O_APPEND), F_GETFL) & (O_ACCMODE | O_APPEND));
}

static void sizes(void)
{
	int fd = open("sizes", O_RDWR | O_CREAT, 0600);
	struct stat s;
	char text[100];

	VALUE(write(fd, "0123456789", 10));
	SAY(ftruncate(fd, 4));
	VALUE(lseek(fd, 0, SEEK_CUR));
	SAY(ftruncate(fd, 8));
	VALUE(pread(fd, text, 100, 0));
	printf("zeros %d %d\n", text[3], text[4]);
	SAY(truncate("sizes", 3));
	SAY(truncate("missing", 3));
	SAY(fstat(fd, &s));
	printf("%lld %o\n", (long long)s.st_size, (unsigned)s.st_mode);
	SAY(fsync(fd));
	SAY(close(fd));
	show("sizes");
}

static void names(void)
{
	put("one", "1");
	put("two", "2");
	SAY(rename("one", "three"));
	SAY(rename("one", "three"));
	SAY(rename("three", "two"));
	show("two");
	SAY(mkdir("folder", 0755));
	SAY(mkdir("folder", 0755));
	SAY(mkdir("missing/folder", 0755));
	SAY(rename("two", "folder"));
	SAY(rename("folder", "two"));
	SAY(rename("two", "folder/two"));
	SAY(rmdir("folder"));
	SAY(unlink("folder"));
	SAY(rmdir("a"));
	list("folder");
	SAY(rename("folder", "folder/inside"));
	SAY(link("folder/two", "linked"));
	show_stat("linked");
	SAY(link("folder/two", "linked"));
	SAY(unlink("folder/two"));
	show("linked");
	SAY(rmdir("folder"));
	SAY(rmdir("folder"));
	SAY(unlink("missing"));
	SAY(remove("linked"));
	SAY(access("a", R_OK));
	SAY(access("missing", F_OK));
	SAY(chmod("a", 0400));
	show_stat("a");
	SAY(chmod("a", 0644));
}

static void links(void)
{
	char text[100];

	put("target", "pointed at");
	SAY(symlink("target", "link"));
	SAY(symlink("target", "link"));
	show("link");
	show_stat("link");
	VALUE(readlink("link", text, sizeof text));
	SAY(readlink("target", text, sizeof text));
	SAY(open("link", O_RDONLY | O_NOFOLLOW));
	SAY(symlink("nowhere", "dangling"));
	SAY(open("dangling", O_RDONLY));
	put("dangling", "made");
	show("nowhere");
	SAY(symlink("round", "round"));
	SAY(open("round", O_RDONLY));
	SAY(mkdir("d", 0755));
	SAY(mkdir("d/e", 0755));
	SAY(symlink("d/e", "to_e"));
	put("to_e/f", "through a link");
	show("d/e/f");
	show("to_e/../e/f");
	SAY(symlink("../../target", "d/e/up"));
	show("d/e/up");
	SAY(unlink("link"));
	show("target");
	SAY(rmdir("to_e"));
	SAY(unlink("to_e"));
	SAY(unlink("target/"));
	SAY(unlink("d/e/up"));
	SAY(unlink("d/e/f"));
	SAY(rmdir("d/e/"));
	SAY(rmdir("d"));
	SAY(unlink("round"));
	SAY(unlink("dangling"));
	SAY(unlink("nowhere"));
	SAY(unlink("target"));
}

/* A link to a folder at each depth: a kernel may walk a fixed number of names at once. */
static void deep_links(void)
{
	enum { DEPTH = 40 };
	char path[4 * DEPTH] = "", through[4 * DEPTH + 8];
	struct stat s;
	int i;

	for (i = 0; i < DEPTH; i++) {
		strcat(path, i ? "/d" : "d");
		if (mkdir(path, 0755))
			break;
		sprintf(through, "%s/l", path);
		if (symlink(".", through) || stat(strcat(through, "/l"), &s))
			break;
	}
	printf("deep links %d\n", i);
	while (i-- > 0) {
		sprintf(through, "%s/l", path);
		unlink(through);
		rmdir(path);
		path[i ? 2 * i - 1 : 0] = 0;
	}
	SAY(stat("d", &s));
}

static void unlinked(void)
{
	char text[20] = "";
	struct stat s;
	int fd = open("gone", O_RDWR | O_CREAT, 0644), again;

	VALUE(write(fd, "still here", 10));
	SAY(unlink("gone"));
	SAY(open("gone", O_RDONLY));
	SAY(fstat(fd, &s));
	printf("size %lld\n", (long long)s.st_size);
	SAY(ftruncate(fd, 5));
	VALUE(pread(fd, text, 20, 0));
	again = open("gone", O_RDWR | O_CREAT | O_EXCL, 0644);
	VALUE(write(again, "another", 7));
	VALUE(pread(fd, text, 20, 0));
	SAY(close(fd));
	SAY(close(again));
	show("gone");
	fd = open("gone", O_RDONLY);
	put("new", "new");
	SAY(rename("new", "gone"));
	VALUE(read(fd, text, 20));
	SAY(close(fd));
	show("gone");
	SAY(unlink("gone"));
	list(".");
}

static void descriptors(void)
{
	int fd = open("a", O_RDWR), other, third;
	char text[4];

	other = dup(fd);
	VALUE(lseek(fd, 3, SEEK_SET));
	VALUE(lseek(other, 0, SEEK_CUR));
	third = dup2(fd, 77);
	printf("%d\n", third);
	SAY(close(fd));
	VALUE(read(third, text, 4));
	VALUE(lseek(other, 0, SEEK_CUR));
	SAY(close(other));
	SAY(close(third));
	SAY(dup(third));
	SAY(dup2(third, 5));
}

static void folders(void)
{
	char where[PATH_MAX];
	int at;

	SAY(mkdir("here", 0700));
	SAY(chdir("here"));
	printf("%d\n", getcwd(where, sizeof where) && !strncmp(where, home, strlen(home)) &&
	       !strcmp(where + strlen(home), "/here"));
	put("file", "here");
	show("../here/file");
	SAY(chdir("file"));
	SAY(chdir("missing"));
	SAY(chdir(".."));
	at = open("here", O_RDONLY | O_DIRECTORY);
	SAY(faccessat(at, "file", R_OK, 0));
	SAY(mkdirat(at, "sub", 0755));
	SAY(openat(at, "sub/new", O_WRONLY | O_CREAT, 0644));
	list("here/sub");
	SAY(unlinkat(at, "sub", AT_REMOVEDIR));
	SAY(unlinkat(at, "sub/new", 0));
	SAY(unlinkat(at, "sub", AT_REMOVEDIR));
	SAY(unlinkat(at, "file", 0));
	SAY(close(at));
	SAY(getcwd(where, 1) ? 0 : -1);
	SAY(rmdir("here"));
}

static void times(void)
{
	struct timespec set[2] = { { 1000000000, 5000 }, { 1100000000, 7000 } };
	struct stat s;

	SAY(utimensat(AT_FDCWD, "a", set, 0));
	SAY(stat("a", &s));
	printf("%lld %ld %lld %ld\n", (long long)s.st_atim.tv_sec, s.st_atim.tv_nsec,
	       (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	put("a", "later");
	SAY(stat("a", &s));
	printf("%d\n", s.st_mtim.tv_sec > 1100000000);
}

static void stdio(void)
{
	char name[] = "tmpXXXXXX", line[20];
	int fd = mkstemp(name);
	FILE *file;

	printf("%d\n", fd >= 0);
	VALUE(write(fd, "text", 4));
	SAY(close(fd));
	SAY(unlink(name));
	file = tmpfile();
	printf("%d\n", file != NULL);
	fprintf(file, "one %d\n", 1);
	rewind(file);
	printf("%s", fgets(line, sizeof line, file));
	SAY(fclose(file));
	file = fopen("a", "r+");
	fseek(file, 2, SEEK_SET);
	fputs("XX", file);
	printf("%ld\n", ftell(file));
	SAY(fclose(file));
	show("a");
	file = fopen("a", "a+");
	fputs("!", file);
	rewind(file);
	printf("%s\n", fgets(line, sizeof line, file));
	SAY(fclose(file));
}

/* How many times a folder lists this name. */
static int listed(const char *name)
{
	int times = 0;
	struct dirent *entry;
	DIR *folder = opendir(".");

	while ((entry = readdir(folder)))
		times += !strcmp(entry->d_name, name);
	closedir(folder);
	return times;
}

static void strange(void)
{
	char name[257];
	struct iovec pieces[2] = { { "ab", 2 }, { "cde", 3 } };
	int fd;

	for (int i = 1; i < 255; i++)
		name[i] = (char)(i == '/' ? 'x' : i);
	name[0] = (char)255;       /* so that the name has each allowed byte */
	name[255] = 0;
	fd = open(name, O_RDWR | O_CREAT, 0644);
	printf("%d %d\n", fd >= 0, listed(name));
	VALUE(writev(fd, pieces, 2));
	SAY(close(fd));
	SAY(unlink(name));
	name[255] = 'y';
	name[256] = 0;
	SAY(open(name, O_RDWR | O_CREAT, 0644));
	SAY(open("/dev/null", O_RDWR | O_CREAT | O_EXCL, 0600));
	SAY(open("/dev/null", O_RDONLY | O_DIRECTORY));
	SAY(opendir("/dev/null") ? 0 : -1);
	fd = open("/dev/null", O_RDWR);
	VALUE(write(fd, "gone", 4));
	VALUE(read(fd, name, 4));
	SAY(close(fd));
	fd = open("/dev/zero", O_RDONLY);
	VALUE(read(fd, name, 9));
	printf("%d\n", name[8]);
	SAY(close(fd));
	fd = open("/dev/urandom", O_RDONLY);
	VALUE(read(fd, name, 16));
	SAY(close(fd));
}

int main(int argc, char **argv)
{
	umask(022);
	if (argc != 2 || mkdir(argv[1], 0755) || chdir(argv[1]) || !getcwd(home, sizeof home)) {
		perror(argc == 2 ? argv[1] : "usage: posix_files FOLDER");
		return 1;
	}
	flags();
	sizes();
	names();
	links();
	deep_links();
	unlinked();
	descriptors();
	folders();
	times();
	stdio();
	strange();
	list(".");
	SAY(unlink("a"));
	SAY(unlink("sizes"));
	SAY(chdir(".."));
	return rmdir(argv[1]) != 0;
}
