/*
 * The first serial port, for output. Any context; bytes go out as they are.
 */
#ifndef DRIVERS_SERIAL_H
#define DRIVERS_SERIAL_H
#include <stddef.h>

void serial_start(void);
void serial_write(const void *data, size_t bytes);

#endif
