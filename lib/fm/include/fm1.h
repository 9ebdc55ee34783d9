/*
 * Fast Messages 1.1 on Portals: table 1 of the paper that <fm.h> names [3.1]. A message is one
 * piece of memory, at the sender and at the receiver; a handler starts when all of it is there.
 * Beginning, end, barrier, FM_wait, FM_check, ranks, credits and results are those of <fm.h>. Both
 * generations share handler indices; a message must go to a handler of its own kind.
 *
 * A file that includes this header has FM_extract() without an argument.
 */
#ifndef FM1_H
#define FM1_H
#include <fm.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A handler of 1.1: its message is the `bytes` bytes at `buf`, aligned to 16. They are the
 * handler's until it returns. It may send. A message of one packet is handed over where it landed;
 * a longer one is assembled in the library's memory first (the paper has that copy too [3.2]).
 */
typedef int FM_handler_1(void *buf, size_t bytes, unsigned sender);

/* Names a handler; null takes the name away. */
int FM_register_1(unsigned index, FM_handler_1 *handler);

/* Sends a message of four words (16 bytes). Waits for credit like FM_send_piece. EAGAIN: see
 * FM_begin_message. */
int FM_send_4(unsigned dest, unsigned handler, uint32_t i0, uint32_t i1, uint32_t i2,
	      uint32_t i3);

/* Sends `size` bytes, which may be changed when it returns. Waits for credit; for a long message it
 * waits until the last packet has been sent. EFAULT: unreadable memory, as in FM_send_piece; the
 * handler does not see the message. */
int FM_send(unsigned dest, unsigned handler, const void *buff, size_t size);

/* Takes all messages that have come, and runs their handlers. Returns the same as
 * FM_extract(bytes). */
int FM_extract_all(void);
#define FM_extract() FM_extract_all()

#ifdef __cplusplus
}
#endif
#endif
