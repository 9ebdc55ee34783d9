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

/* Whether there is room for the new paths of open folders and of the current one, if a folder is
 * renamed: 0, -ENAMETOOLONG or -ENOMEM. */
int64_t path_may_move(const char *from, const char *to);

/* A folder was renamed (path_may_move was 0), and so those below it; a folder was removed. */
void path_moved(const char *from, const char *to);
void path_removed(const char *path);

#endif
