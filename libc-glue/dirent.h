/*
 * <sys/dirent.h> for newlib, which has none for an unknown system: what its
 * opendir and readdir want. There are no folders here, so opendir fails; the
 * header is there for programs that only mention it.
 */
#ifndef SYS_DIRENT_H
#define SYS_DIRENT_H
#include <sys/types.h>

typedef struct {
	int dd_fd;              /* descriptor of the folder */
	long dd_loc, dd_seek;   /* place in the buffer, and of the buffer */
	char *dd_buf;
	int dd_len, dd_size;    /* bytes of the buffer in use, and in all */
} DIR;

struct dirent {
	ino_t d_ino;
	off_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[256];
};
#define d_fileno d_ino

DIR *opendir(const char *path);
struct dirent *readdir(DIR *folder);
int readdir_r(DIR *__restrict folder, struct dirent *__restrict entry,
	      struct dirent **__restrict result);
void rewinddir(DIR *folder);
int closedir(DIR *folder);
int dirfd(DIR *folder);
long telldir(DIR *folder);
void seekdir(DIR *folder, long place);
int scandir(const char *path, struct dirent ***names, int (*filter)(const struct dirent *),
	    int (*compare)(const struct dirent **, const struct dirent **));
int alphasort(const struct dirent **a, const struct dirent **b);
#endif
