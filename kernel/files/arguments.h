/*
 * The paths that a call of the application names.
 */
#ifndef KERNEL_FILES_ARGUMENTS_H
#define KERNEL_FILES_ARGUMENTS_H
#include "files.h"

extern char path_of_call[2][PATH_BYTES]; /* as the application gave it */

/* The open file that an empty path stands for: 0 or -errno. */
int64_t path_itself(uint64_t at, struct open_file **file);

/* Copies the application's path; 0, or -errno. A bad pointer ends the application, as `call`. */
int64_t path_copy(const char *call, uint64_t address, uint64_t bytes, char *path);

/* Whether the path of a call is a file that the job hands over. */
bool path_handed(uint64_t at, const char *path, struct file *found);

/* The same, and resolves it (paths.h). */
int64_t path_argument(const char *call, uint64_t at, uint64_t address, uint64_t bytes,
                      unsigned flags, struct found *found);

#endif
