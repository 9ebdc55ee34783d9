/*
 * The application: placing it and starting it.
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H
#include <stdint.h>

/* Decides where the segment is, maps it, copies the image into it. */
void process_load(void);

/* Enters the application. */
_Noreturn void process_start(void);

/* When it was entered. */
uint64_t process_start_ns(void);

#endif
