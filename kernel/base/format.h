/*
 * Formatting text into a buffer: %s %c %d %u %x, l, field widths, zeros.
 */
#ifndef KERNEL_FORMAT_H
#define KERNEL_FORMAT_H
#include <stdarg.h>
#include <stddef.h>

/* Writes at most `bytes` - 1 characters and a NUL; returns the characters written. */
size_t format_list(char *out, size_t bytes, const char *format, va_list list);
size_t format_text(char *out, size_t bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
