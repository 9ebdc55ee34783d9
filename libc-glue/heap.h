/*
 * The heap between the application's bss and its stack, as libc-glue/ sees it.
 */
#ifndef LIBC_GLUE_HEAP_H
#define LIBC_GLUE_HEAP_H
#include <stddef.h>
#include <stdint.h>

/* Once, before anything else of this header; glue_start must be filled. */
void heap_begin(void);

/* Memory that is never given back, before main; ends the process if there is none. */
void *heap_take(size_t bytes, size_t align);

/* The first byte of the heap that is not taken. */
uintptr_t heap_break(void);

#endif
