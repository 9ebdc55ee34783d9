/*
 * The application's current folder, and the paths of open folders.
 */
#ifndef KERNEL_FILES_FOLDERS_H
#define KERNEL_FILES_FOLDERS_H
#include "files.h"

/* Sets the folder in which the application starts. At boot. */
void path_start(const char *path);

/* Finds the folder that a path is relative to: 0, or -errno. */
int64_t path_base(uint64_t at, const char **base);

/* Keeps the path of an open folder, for calls relative to it: 0, or -EMFILE. */
int64_t path_keep(struct open_file *file, const char *path);
const char *path_kept(const struct open_file *file);
void path_forget(struct open_file *file);

/* A folder was renamed, and so those below it; a folder was removed. */
void path_moved(const char *from, const char *to);
void path_removed(const char *path);

#endif
