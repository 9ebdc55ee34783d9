/*
 * Output: records in the node's console ring; without a region, the serial port and the screen.
 * Interrupts off. Writing may wait, halted, for the launcher. So it is only for system calls,
 * exceptions and region_requests.c (even in a doorbell's interrupt of the application), with no
 * lock held. During a panic nothing waits.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H
#include <stdbool.h>
#include <stdint.h>

/* The region has been checked and mapped: use its ring from now on. `wait` returns once ready(arg)
 * is true, and may serve other nodes meanwhile; `wake` rings the launcher. */
void console_use_ring(void (*wait)(bool (*ready)(void *arg), void *arg), void (*wake)(void));

/* Without a region, output is as slow as the serial port, and interrupts are off: `serve` is called
 * between the pieces of a long write, and handles what has come from other nodes. */
void console_serves(void (*serve)(void));

/* Writes all of it to a STREAM_*. Waits, halted, while the ring is full. */
void console_write(uint16_t stream, const void *data, uint64_t bytes);

/* One line of the kernel's own, with "margay: " before and a newline after it. */
void console_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The lines between these two leave as one record, with no other node's between. */
void console_begin_report(void);
void console_end_report(void);

/* A panic: everything goes to the serial port and the screen from now on. */
void console_panic(void);

#endif
