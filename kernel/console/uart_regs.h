/*
 * Serial port, 16550A. Source: National Semiconductor PC16550D data sheet,
 * June 1995, section 8. Offsets count from the port's base.
 */
#ifndef KERNEL_UART_REGS_H
#define KERNEL_UART_REGS_H

#define UART_COM1         0x3f8u

#define UART_DATA         0u       /* RW 8.4; with UART_LCR_DLAB: divisor, low byte */
#define UART_IER          1u       /* RW 8.7; with UART_LCR_DLAB: divisor, high byte */
#define UART_FCR          2u       /* W  8.5 */
#define UART_LCR          3u       /* RW 8.1 */
#define UART_MCR          4u       /* RW 8.8 */
#define UART_LSR          5u       /* R  8.4 */

#define UART_FCR_ENABLE_CLEAR 0x07u /* queues on, both emptied */
#define UART_LCR_8N1      0x03u
#define UART_LCR_DLAB     0x80u
#define UART_MCR_DTR_RTS  0x03u
#define UART_LSR_THRE     0x20u    /* room to send */
#define UART_LSR_ABSENT   0xffu    /* what an absent port reads as */
#define UART_DIVISOR_115200 1u

#endif
