/*
 * Output: records in the node's console ring, or the serial port and the screen
 * where there is no region. Interrupts off. Writing may wait, halted, for the launcher: it is
 * for system calls, exceptions and region_requests.c (also in a doorbell's interrupt that
 * came from the application), with no lock held. While panicking nothing waits.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H
#include <stdbool.h>
#include <stdint.h>

/* The region is checked and mapped: use its ring from now on. `wait` returns when ready(arg) is
 * true, and may serve others meanwhile; `wake` rings the launcher. */
void console_use_ring(void (*wait)(bool (*ready)(void *arg), void *arg), void (*wake)(void));

/* Writes all of it to a STREAM_*. Waits, halted, while the ring is full. */
void console_write(uint16_t stream, const void *data, uint64_t bytes);

/* One line of the kernel's own, "margay: " in front and a newline behind. */
void kernel_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The lines between these two leave as one record, so that no other node's come between them. */
void console_begin_report(void);
void console_end_report(void);

/* A panic: everything goes to the serial port and the screen from now on. */
void console_panic(void);

#endif
