/*
 * posix_paths FOLDER: POSIX's calls on trees, links, names and attributes, below FOLDER, which it
 * makes and removes. Prints as posix_files does.
 */
#define _GNU_SOURCE
#include "posix_say.h"

#include <ftw.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <utime.h>

static char home[PATH_MAX];

/* ---- trees ---- */

static int files, directories, others;

static int visit(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	(void)path, (void)s, (void)at;
	files += kind == FTW_F;
	directories += kind == FTW_D || kind == FTW_DP;
	others += kind != FTW_F && kind != FTW_D && kind != FTW_DP;
	return 0;
}

static int erase(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	(void)s, (void)kind, (void)at;
	return remove(path);
}

static void trees(void)
{
	char path[80] = "tree", found[PATH_MAX];

	SAY(mkdir(path, 0755));
	for (int i = 0; i < 20; i++) {
		strcat(path, "/n");
		mkdir(path, 0755);
	}
	strcat(path, "/leaf");
	put(path, "leaf");
	show(path);
	SAY(symlink("n/n", "tree/l"));
	SAY(nftw("tree", visit, 40, FTW_PHYS));
	printf("%d %d %d\n", files, directories, others);
	VALUE(realpath("tree/l/../n/./n/..//n", found) && !strncmp(found, home, strlen(home)));
	puts(found + strlen(home));
	SAY(realpath("tree/none/x", found) ? 0 : -1);
	SAY(realpath("", found) ? 0 : -1);
	SAY(nftw("tree", erase, 40, FTW_PHYS | FTW_DEPTH));
	show_stat("tree");
}

/* ---- links ---- */

static void chains(void)
{
	char name[20], to[20], text[300], path[PATH_MAX + 8];

	put("0", "end of the chain");
	for (int i = 1; i <= 41; i++) {
		snprintf(name, sizeof name, "%d", i);
		snprintf(to, sizeof to, "%d", i - 1);
		if (symlink(to, name))
			printf("symlink %d\n", i);
	}
	show("40");
	show("41");
	show_stat("41");
	for (int i = 0; i <= 41; i++) {
		snprintf(name, sizeof name, "%d", i);
		unlink(name);
	}
	SAY(mkdir("d", 0755));
	put("d/f", "in d");
	snprintf(path, sizeof path, "%s/d", home);
	SAY(symlink(path, "absolute"));
	SAY(symlink("d/", "slash"));
	SAY(symlink(".", "here"));
	SAY(symlink("..", "d/up"));
	SAY(symlink("none/x", "dangling"));
	SAY(symlink("f/", "d/to_file"));
	SAY(symlink("", "empty"));
	show("absolute/f");
	show("absolute/../d/f");
	show("slash/f");
	show("here/here/d/up/d/f");
	show("d/up/absolute/up/slash/f");
	SAY(open("d/to_file", O_RDONLY));
	SAY(open("dangling", O_WRONLY | O_CREAT, 0644));
	SAY(open("dangling", O_WRONLY | O_CREAT | O_EXCL, 0644));
	SAY(open("absolute", O_RDONLY | O_NOFOLLOW));
	SAY(open("absolute", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
	SAY(open("absolute/f", O_RDONLY | O_NOFOLLOW));
	SAY(open("absolute/", O_RDONLY | O_NOFOLLOW) >= 0 ? 0 : -1);
	SAY(mkdir("dangling", 0755));
	SAY(mkdir("dangling/", 0755));
	SAY(rmdir("absolute"));
	SAY(rmdir("absolute/"));
	SAY(unlink("absolute/"));
	SAY(unlink("d/f/"));
	SAY(chmod("dangling", 0600));
	SAY(truncate("dangling", 0));
	SAY(access("dangling", F_OK));
	VALUE(readlink("dangling", text, 3));
	printf("%.3s\n", text);
	VALUE(readlink("absolute", text, sizeof text) == (long)strlen(path));
	SAY(readlink("absolute/", text, sizeof text));
	SAY(readlink("d", text, sizeof text));
	SAY(readlink("none", text, sizeof text));
	SAY(readlink("d/f", text, 0));
	SAY(symlink("x", "d"));
	SAY(symlink("x", "none/x"));
	SAY(symlink("x", "new/"));
	SAY(symlink("x", ""));
	show_stat("slash");
	SAY(rename("dangling", "d/moved"));
	show_stat("d/moved");
	SAY(rename("slash", "absolute"));
	VALUE(readlink("absolute", text, sizeof text));
	SAY(rename("d/", "here/"));
	SAY(lchown("absolute", -1, -1));
	SAY(symlink("a2", "a1"));
	SAY(symlink("a1", "a2"));
	SAY(open("a1/x", O_RDONLY));
	SAY(open("a1", O_WRONLY | O_CREAT, 0644));
	SAY(stat("a2", &(struct stat){ 0 }));
	SAY(chdir("a1"));
	SAY(unlink("a1"));
	SAY(unlink("a2"));
	SAY(unlink("d/moved"));
	SAY(unlink("d/to_file"));
	SAY(unlink("d/up"));
	SAY(unlink("d/f"));
	SAY(unlink("absolute"));
	SAY(unlink("here"));
	SAY(rmdir("d"));
	list(".");
}

/* ---- names ---- */

static void strange(void)
{
	char name[PATH_MAX + 10], *at;
	static char deep[PATH_MAX + 10];
	struct dirent *entry;
	struct stat s;
	int found = 0, n = 0;
	DIR *folder;

	SAY(mkdir("names", 0755));
	SAY(chdir("names"));
	for (int c = 1; c < 256; c++) {
		char one[3] = { 'n', (char)c, 0 };
		int fd = c == '/' ? -1 : open(one, O_WRONLY | O_CREAT | O_EXCL, 0644);

		n += fd >= 0;
		close(fd);
	}
	VALUE(n);
	folder = opendir(".");
	while ((entry = readdir(folder)))
		found += entry->d_name[0] == 'n' && strlen(entry->d_name) == 2 &&
			!unlink(entry->d_name);
	closedir(folder);
	VALUE(found);
	memset(name, 'a', sizeof name);
	name[255] = 0;
	put(name, "255");
	SAY(stat(name, &s));
	SAY(rename(name, "short"));
	SAY(rename("short", name));
	SAY(symlink(name, "l"));
	show_stat("l");
	SAY(unlink("l"));
	SAY(unlink(name));
	name[255] = 'a';
	name[256] = 0;
	SAY(open(name, O_RDWR | O_CREAT, 0644));
	SAY(mkdir(name, 0755));
	SAY(symlink("x", name));
	SAY(stat(name, &s));
	SAY(unlink(name));
	put("x", "x");
	SAY(rename("x", name));
	SAY(link("x", name));
	for (at = name; at < name + PATH_MAX; at += 2)
		memcpy(at, "./", 2);
	name[PATH_MAX - 2] = 'x';
	name[PATH_MAX - 1] = 0;
	SAY(stat(name, &s));
	name[PATH_MAX - 1] = 'x';
	name[PATH_MAX] = 0;
	SAY(stat(name, &s));
	memset(name, '/', PATH_MAX - 1);
	name[PATH_MAX - 1] = 0;
	SAY(stat(name, &s));
	SAY(symlink(name, "slashes"));
	SAY(stat("slashes", &s));
	SAY(unlink("slashes"));
	SAY(unlink("x"));
	SAY(open("", O_RDONLY));
	SAY(open("", O_WRONLY | O_CREAT, 0644));
	SAY(stat("", &s));
	SAY(mkdir("", 0755));
	SAY(unlink(""));
	SAY(rmdir(""));
	SAY(rename("", "x"));
	SAY(chdir(""));
	SAY(truncate("", 0));
	SAY(chmod("", 0644));
	SAY(chown("", -1, -1));
	SAY(access("", F_OK));
	SAY(readlink("", name, 10));
	SAY(link("", "x"));
	SAY(utimensat(AT_FDCWD, "", NULL, 0));
	SAY(statfs("", &(struct statfs){ 0 }));
	put("file", "x");
	SAY(open("file/", O_RDONLY));
	SAY(open("file/.", O_RDONLY));
	SAY(open("file/..", O_RDONLY));
	SAY(open("file/x/y", O_RDONLY));
	SAY(open("none/", O_WRONLY | O_CREAT, 0644));
	SAY(open("file/", O_RDONLY | O_CREAT | O_EXCL, 0644));
	SAY(open("none/../file", O_RDONLY));
	SAY(stat("file/x", &s));
	SAY(mkdir("file/x", 0755));
	SAY(unlink("file/x"));
	SAY(chmod("file/", 0644));
	SAY(open(".//./file", O_RDONLY) >= 0 ? 0 : -1);
	SAY(open(".", O_RDONLY | O_CREAT, 0644));
	SAY(open(".", O_RDWR));
	SAY(open(".", O_RDONLY | O_TRUNC));
	SAY(open("..", O_RDONLY | O_CREAT | O_EXCL, 0644));
	SAY(unlink("file"));
	SAY(chdir(".."));
	SAY(rmdir("names"));

	/* A current folder whose path has nearly PATH_MAX bytes. */
	memset(deep, 'd', 200);
	for (n = 0; n < 8 && !mkdir(deep, 0755) && !chdir(deep); n++)
		continue;
	VALUE(n);
	put("f", "deep");
	show("f");
	VALUE(getcwd(name, sizeof name) && strlen(name) == strlen(home) + 8 * 201);
	SAY(unlink("f"));
	for (n = 0; n < 8 && !chdir("..") && !rmdir(deep); n++)
		continue;
	VALUE(n);
}

/* ---- attributes ---- */

static void attributes(void)
{
	struct timespec set[2] = { { 1234567890, 123456789 }, { 1000000001, 1 } };
	struct timespec bad[2] = { { 1, 1000000000 }, { 1, -5 } };
	struct stat s, t;
	struct statfs space;
	struct statvfs vspace;
	int fd = open("file", O_RDWR | O_CREAT, 0666);

	VALUE(umask(027));
	show_fstat("file", fd);
	SAY(futimens(fd, set));
	SAY(fstat(fd, &s));
	printf("%lld.%09ld %lld.%09ld\n", (long long)s.st_atim.tv_sec, s.st_atim.tv_nsec,
	       (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	set[0].tv_nsec = UTIME_OMIT;
	set[1] = (struct timespec){ -5, 7 };
	SAY(utimensat(AT_FDCWD, "file", set, 0));
	SAY(stat("file", &s));
	printf("%lld.%09ld %lld.%09ld\n", (long long)s.st_atim.tv_sec, s.st_atim.tv_nsec,
	       (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	set[0].tv_nsec = set[1].tv_nsec = UTIME_OMIT;
	SAY(utimensat(AT_FDCWD, "file", set, 0));
	SAY(utimensat(AT_FDCWD, "file", bad, 0));
	SAY(utimensat(AT_FDCWD, "none", NULL, 0));
	set[1].tv_nsec = UTIME_NOW;
	SAY(utimensat(AT_FDCWD, "file", set, 0));
	SAY(stat("file", &t));
	VALUE(t.st_mtim.tv_sec > 1600000000 && t.st_atim.tv_sec == s.st_atim.tv_sec);
	SAY(utime("file", &(struct utimbuf){ 11, 22 }));
	SAY(stat("file", &s));
	printf("%lld %lld\n", (long long)s.st_atim.tv_sec, (long long)s.st_mtim.tv_sec);
	VALUE(write(fd, "x", 1));
	SAY(fstat(fd, &s));
	VALUE(s.st_mtim.tv_sec > 1600000000);
	SAY(symlink("file", "link"));
	set[0] = set[1] = (struct timespec){ 77, 88 };
	SAY(utimensat(AT_FDCWD, "link", set, AT_SYMLINK_NOFOLLOW));
	SAY(lstat("link", &s));
	printf("%lld\n", (long long)s.st_mtim.tv_sec);
	SAY(unlink("link"));
	SAY(utimensat(AT_FDCWD, "file", NULL, 0));
	SAY(futimens(fd, set));
	SAY(fstat(fd, &s));
	printf("%lld %d\n", (long long)s.st_mtim.tv_sec, s.st_dev != 0 && s.st_ino != 0);
	VALUE(s.st_blksize >= 512);

	SAY(fchmod(fd, 0751));
	show_stat("file");
	SAY(chmod("file", 0));
	show_stat("file");
	SAY(chmod("none", 0));
	SAY(access("file", F_OK));
	SAY(chmod("file", 0644));
	SAY(access("file", R_OK | W_OK));
	SAY(access("file", X_OK));
	SAY(access(".", R_OK | W_OK | X_OK));
	SAY(access("file/x", F_OK));
	SAY(access("file", 0100));
	SAY(eaccess("file", R_OK));
	SAY(faccessat(AT_FDCWD, "file", R_OK, AT_EACCESS));
	SAY(chown("file", -1, -1));
	SAY(fchown(fd, -1, -1));
	SAY(fchown(-1, -1, -1));
	SAY(chown("none", -1, -1));
	SAY(chown("file", s.st_uid, s.st_gid));
	SAY(chown("file", getuid(), -1));
	SAY(fchownat(AT_FDCWD, "file", getuid(), getgid(), AT_SYMLINK_NOFOLLOW));
	SAY(fchown(fd, s.st_uid, -1));
	SAY(statfs(".", &space));
	VALUE(space.f_namelen);
	VALUE(space.f_bsize >= 512 && space.f_blocks >= space.f_bfree);
	SAY(fstatfs(fd, &space));
	SAY(statfs("none", &space));
	SAY(fstatfs(-1, &space));
	SAY(statvfs(".", &vspace));
	VALUE(vspace.f_namemax);
	SAY(fstatvfs(fd, &vspace));
	SAY(close(fd));
	SAY(unlink("file"));
	fd = open("file", O_RDONLY | O_CREAT, 07777);
	show_fstat("file", fd);
	SAY(close(fd));
	SAY(unlink("file"));
	SAY(mkdir("sub", 0777));
	show_stat("sub");
	SAY(rmdir("sub"));
	VALUE(umask(022));
}

static void temporary(void)
{
	char a[] = "aXXXXXX", b[] = "bXXXXXX.c", c[] = "cXXXXXX", d[] = "dXXXX", line[20] = "";
	FILE *files[8];
	int fd;

	fd = mkstemp(a);
	show_fstat("mkstemp", fd);
	VALUE(strlen(a));
	SAY(close(fd));
	SAY(unlink(a));
	fd = mkostemps(b, 2, O_APPEND);
	VALUE(fd >= 0 && !strcmp(b + 7, ".c"));
	SAY(close(fd));
	SAY(unlink(b));
	VALUE(mkdtemp(c) != NULL);
	SAY(access(c, R_OK | W_OK | X_OK));
	SAY(rmdir(c));
	SAY(mkstemp(d));
	for (int i = 0; i < 8; i++) {
		files[i] = tmpfile();
		if (!files[i] || fprintf(files[i], "%d", i) != 1)
			printf("tmpfile %d: error %d\n", i, errno);
	}
	for (int i = 0; i < 8; i++) {
		rewind(files[i]);
		if (!fgets(line, sizeof line, files[i]) || atoi(line) != i || fclose(files[i]))
			printf("tmpfile %d: %s\n", i, line);
	}
	list(".");
}

int main(int argc, char **argv)
{
	umask(022);
	if (argc != 2 || mkdir(argv[1], 0755) || chdir(argv[1]) || !getcwd(home, sizeof home)) {
		perror(argc == 2 ? argv[1] : "usage: posix_paths FOLDER");
		return 1;
	}
	trees();
	chains();
	strange();
	attributes();
	temporary();
	list(".");
	SAY(chdir(".."));
	return rmdir(argv[1]) != 0;
}
