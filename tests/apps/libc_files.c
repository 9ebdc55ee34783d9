/*
 * Files handed over with --file (`data`: the bytes 0 to 255, 1000 times) and --out (`result`), and
 * names that cannot be opened. Standard input has two lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "libc.h"

#define BYTES 256000

static void streams(void)
{
	FILE *file = fopen("data", "rb");
	unsigned char buffer[1000];
	size_t total = 0, got;
	int right = 1;

	TEST("fopen", file != NULL);
	while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
		for (size_t i = 0; i < got; i++, total++)
			right &= buffer[i] == (total & 255);
	TEST("fread", right && total == BYTES && feof(file) && !ferror(file));
	TEST("fseek", !fseek(file, -3, SEEK_END) && fgetc(file) == 253 && ftell(file) == BYTES - 2);
	rewind(file);
	TEST("rewind", fgetc(file) == 0 && ungetc('x', file) == 'x' && fgetc(file) == 'x');
	TEST("fclose", !fclose(file));
	TEST("fopen-none", !fopen("nothing", "r") && errno == ENOENT);
}

static void descriptors(void)
{
	unsigned char buffer[300];
	struct stat found;
	int file = open("data", O_RDONLY), other;

	TEST("open", file > 2);
	TEST("lseek", lseek(file, 300, SEEK_SET) == 300 && read(file, buffer, 2) == 2 &&
	     buffer[0] == 44 && lseek(file, 0, SEEK_CUR) == 302);
	TEST("lseek-wrong", lseek(file, -1, SEEK_SET) == -1 && errno == EINVAL);
	TEST("read-end", lseek(file, 0, SEEK_END) == BYTES && read(file, buffer, 9) == 0);
	TEST("pread", pread(file, buffer, 300, 256) == 300 && buffer[299] == 43);
	TEST("fstat", !fstat(file, &found) && S_ISREG(found.st_mode) && found.st_size == BYTES);
	other = open("data", O_RDONLY);
	TEST("open-twice", other > 2 && other != file && read(other, buffer, 1) == 1);
	TEST("getfl", fcntl(file, F_GETFL) == O_RDONLY);
	TEST("isatty", !isatty(file) && errno == ENOTTY);
	TEST("close", !close(file) && !close(other));
	TEST("close-twice", close(file) == -1 && errno == EBADF);
	TEST("read-closed", read(file, buffer, 1) == -1 && errno == EBADF);
	TEST("stat", !stat("data", &found) && found.st_size == BYTES);
	TEST("stat-none", stat("nothing", &found) == -1 && errno == ENOENT);
	TEST("access", !access("data", R_OK) && access("nothing", F_OK) == -1);
	TEST("stdout-stat", !fstat(1, &found) && S_ISCHR(found.st_mode));
}

static void writing(void)
{
	FILE *file;

	TEST("write-data", open("data", O_WRONLY) == -1 && errno == EROFS);
	TEST("append-data", open("data", O_RDWR | O_APPEND) == -1 && errno == EROFS);
	TEST("create-data", open("data", O_WRONLY | O_CREAT | O_TRUNC, 0666) == -1 && errno == EROFS);
	file = fopen("new", "w");
	TEST("fopen-new", file && fputs("text\n", file) >= 0 && !fclose(file) && !remove("new"));
	file = fopen("result", "w");
	TEST("fopen-out", file != NULL);
	if (!file)
		return;
	for (int i = 0; i < 1000; i++)
		fprintf(file, "line %d\n", i);
	TEST("fclose-out", !fclose(file));
}

static void input(void)
{
	char line[100];
	int number;

	TEST("fgets", fgets(line, sizeof line, stdin) && !strcmp(line, "first line\n"));
	TEST("scanf", scanf("%d", &number) == 1 && number == 4711);
	TEST("stdin-end", getchar() == '\n' && getchar() == EOF && feof(stdin));
}

int main(void)
{
	streams();
	descriptors();
	writing();
	input();
	return failed;
}
