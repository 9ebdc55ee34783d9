/*
 * Stream sockets between ranks over Fast Messages 2.x, after the paper's Socket-FM [4.1, 6 of the
 * paper that <fm.h> names]. In -lfm; open it by FM_initialize and FMS_open.
 *
 * A socket is a number from 0 to FMS_SOCKETS - 1. A listening socket has a port of its rank; a
 * connection is a stream of bytes each way. Each end has a buffer of FMS_BUFFER bytes for what has
 * not been received. The sender never has more than that under way, so a connection that is not
 * read holds up only its own sender. If FMS_recv is waiting, the bytes land in its buffer.
 *
 * Sockets block at first: FMS_recv, FMS_accept and FMS_connect wait, and FMS_send waits until all
 * is sent. After FMS_set_blocking(s, 0) these calls fail with EAGAIN instead, except FMS_connect
 * (see there); FMS_send also fails with EAGAIN while there is no credit for the other rank. A call
 * that waits extracts messages, and so runs handlers of the program too.
 *
 * Results: 0 or more, or -1 with errno: EBADF: no such socket; EINVAL: wrong argument, wrong kind
 * of socket for this call, or Fast Messages is not initialised; EBUSY: called by a handler;
 * ECONNRESET: the other rank is gone (calls that wait or fail with EAGAIN check every 200 ms) and
 * all that it had sent has been received: over cards FMS_recv and FMS_poll report it 2 s after a
 * rank has ended by itself; ENOTCONN: not connected (yet). FMS_connect, FMS_send and
 * FMS_close fail with EAGAIN, blocking or not, while the program itself has all messages to that
 * rank open: see FM_begin_message.
 */
#ifndef FM_SOCKET_H
#define FM_SOCKET_H
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMS_SOCKETS  256
#define FMS_BUFFER   65536      /* bytes of the receive buffer of a connection */
#define FMS_BACKLOG  64         /* connections of a listening socket that wait for FMS_accept */
#define FMS_HANDLER  254        /* index of the handler of Fast Messages */

/* Registers the handler. All ranks call it before any of them connects; it ends with FM_barrier,
 * and fails like it. A second call forgets all sockets. */
int FMS_open(void);

/* A listening socket. EADDRINUSE: this rank listens there; EMFILE: no socket is free. */
int FMS_listen(unsigned port);

/*
 * A socket that is connected to a rank's port. Waits for the answer: ECONNREFUSED: nothing listens
 * there, its backlog is full, or that rank has no free socket. With `blocking` 0 it returns at
 * once: with EAGAIN, and no socket, while there is no credit for that rank. Otherwise FMS_poll
 * reports FMS_OUT when it is connected, and FMS_HUP if it was refused (then close it). EMFILE,
 * ENOMEM: no socket, or no memory for its buffer, here.
 */
int FMS_connect(unsigned rank, unsigned port, int blocking);

/* Accepts the oldest waiting connection; *rank becomes its rank, if `rank` is not null. */
int FMS_accept(int listener, unsigned *rank);

/* Sends bytes, which may be changed when it returns. Returns how many: all, or with a non-blocking
 * socket as many as there was room for. EPIPE: the other end was closed; EFAULT: unreadable memory,
 * as in FM_send_piece; in jobs of more than 32 ranks it may find that behind bytes that have been
 * sent: then the connection is broken, and both ends can only close it (ECONNRESET). If bytes were
 * sent before an error, it returns how many, and the next call fails. */
ssize_t FMS_send(int socket, const void *buf, size_t bytes);

/* Receives at least one byte and at most `bytes`. 0: `bytes` is 0, or the other end was closed and
 * everything that it sent has been received. */
ssize_t FMS_recv(int socket, void *buf, size_t bytes);

/* Ends a connection, or listening. Bytes that were sent arrive; bytes that were not received are
 * lost. Connections that wait for FMS_accept are closed. Waits for credit like FM_send_piece, not
 * for the other end. After EAGAIN the socket is still open. */
int FMS_close(int socket);

/* 0: calls on this socket do not wait any more. Other values: they do. */
int FMS_set_blocking(int socket, int blocking);

#define FMS_IN   1      /* FMS_recv or FMS_accept would not wait */
#define FMS_OUT  2      /* FMS_send would take bytes without waiting, or fail: EPIPE, ECONNRESET */
#define FMS_HUP  4      /* refused, closed by the other end, or its rank gone; in revents always */

struct FMS_pollfd {
	int socket;
	short events, revents;
};

/* Waits until one of the sockets is ready, at most `ms` milliseconds (-1: without limit). Returns
 * how many are ready. */
int FMS_poll(struct FMS_pollfd *sockets, unsigned count, int ms);

#ifdef __cplusplus
}
#endif
#endif
