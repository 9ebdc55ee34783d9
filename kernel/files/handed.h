/*
 * Files that the application may use: those of the region's table, or the loader's modules.
 */
#ifndef KERNEL_FILES_HANDED_H
#define KERNEL_FILES_HANDED_H
#include <stdbool.h>
#include <stdint.h>

#define FILE_OUT_LIMIT 64u         /* most files for the host */

struct file {
	uint32_t index;            /* in the table: distinct per file */
	bool     out;              /* a file for the host: only rank 0 may open it, for writing */
	uint32_t out_index;        /* among the files for the host */
	uint64_t bytes;
	const uint8_t *data;
};

/* Finds the file with this absolute path, which has no dots. Relative names are below the folder in
 * which the application starts. */
bool file_find(const char *path, struct file *found);

#endif
