/*
 * The first serial port, for output. Any context; bytes go out as they are.
 */
#ifndef KERNEL_SERIAL_H
#define KERNEL_SERIAL_H
#include <stddef.h>

void serial_start(void);
void serial_write(const void *data, size_t bytes);

#endif
