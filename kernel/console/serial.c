/*
 * The first serial port at 115200 baud, 8N1, polled. Data: whether there is one.
 */
#include "serial.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernel/base/x86.h"
#include "uart_regs.h"

/* A byte takes 87 us, and longer while the other end does not read. Reading a register takes at
 * least 0.1 us, under emulation some 0.5 us. A port that is not ready after this many reads is
 * given up: output must never hang a node. */
#define READY_TRIES 10000000

static bool present;

void serial_start(void)
{
	outb(UART_COM1 + UART_IER, 0);
	outb(UART_COM1 + UART_LCR, UART_LCR_DLAB);
	outb(UART_COM1 + UART_DATA, UART_DIVISOR_115200);
	outb(UART_COM1 + UART_IER, 0);
	outb(UART_COM1 + UART_LCR, UART_LCR_8N1);
	outb(UART_COM1 + UART_FCR, UART_FCR_ENABLE_CLEAR);
	outb(UART_COM1 + UART_MCR, UART_MCR_DTR_RTS);
	present = inb(UART_COM1 + UART_LSR) != UART_LSR_ABSENT;
}

void serial_write(const void *data, size_t bytes)
{
	const uint8_t *byte = data;

	for (; bytes && present; bytes--, byte++) {
		int tries = READY_TRIES;

		while (!(inb(UART_COM1 + UART_LSR) & UART_LSR_THRE) && --tries)
			cpu_relax();
		if (!tries)
			present = false;
		else
			outb(UART_COM1 + UART_DATA, *byte);
	}
}
