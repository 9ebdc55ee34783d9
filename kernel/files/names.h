/*
 * Names of files, for the files that are open.
 */
#ifndef KERNEL_FILES_NAMES_H
#define KERNEL_FILES_NAMES_H
#include "files.h"

/* The last descriptor of a file in a mount was closed. */
void name_closed(struct open_file *file);

#endif
