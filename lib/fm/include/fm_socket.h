/*
 * Stream sockets between ranks over Fast Messages 2.x, after the paper's Socket-FM [4.1, 6 of the
 * paper that <fm.h> names]. In -lfm; open it by FM_initialize and FMS_open.
 *
 * A socket is a number from 0 to FMS_SOCKETS - 1. A listening socket has a port of its rank; a
 * connection is a stream of bytes each way. Each end has FMS_BUFFER bytes for what was not yet
 * received; its sender never has more than that under way, so a connection that is not read
 * holds up its own sender only. Bytes for a call of FMS_recv that waits land in its buffer.
 *
 * Sockets block at first: FMS_recv, FMS_accept and FMS_connect wait, and FMS_send waits until all
 * is sent. After FMS_set_blocking(s, 0) they do not, and fail with EAGAIN, FMS_connect excepted:
 * see there. While a call waits it extracts messages and runs handlers of the program, too.
 *
 * Results: 0 or more, or -1 with errno: EBADF: no such socket; EINVAL: argument, or a call that
 * this kind of socket does not have; EBUSY: called by a handler; ECONNRESET: the other rank is
 * gone; ENOTCONN: not connected (yet).
 */
#ifndef FM_SOCKET_H
#define FM_SOCKET_H
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMS_SOCKETS  256
#define FMS_BUFFER   65536      /* bytes of a connection that wait at its receiver, at most */
#define FMS_BACKLOG  64         /* connections of a listening socket that wait for FMS_accept */
#define FMS_HANDLER  254        /* index of the handler of Fast Messages */

/* Names the handler. Before any rank connects to this one: all ranks, then a barrier, which this
 * call is. */
int FMS_open(void);

/* A listening socket. EADDRINUSE: this rank listens there; EMFILE: no socket is free. */
int FMS_listen(unsigned port);

/*
 * A socket that is connected to a rank's port. Waits for the answer: ECONNREFUSED: nothing listens
 * there, or its backlog is full. With `blocking` 0 it returns at once; FMS_poll says FMS_OUT when
 * it is connected, and FMS_HUP if it was refused (then close it). EMFILE, ENOMEM.
 */
int FMS_connect(unsigned rank, unsigned port, int blocking);

/* The oldest connection that waits; its rank goes to *rank, if that is not null. */
int FMS_accept(int listener, unsigned *rank);

/* Sends bytes, which may be changed when it returns. How many: all, or what there was room for if
 * the socket does not block. EPIPE: the other end was closed. */
ssize_t FMS_send(int socket, const void *buf, size_t bytes);

/* Receives at most so many bytes, at least one. 0: the other end was closed, and all that it had
 * sent is received. */
ssize_t FMS_recv(int socket, void *buf, size_t bytes);

/* Ends a connection, or listening: what was sent arrives, what was not received is lost.
 * Connections that wait for FMS_accept are closed. */
int FMS_close(int socket);

int FMS_set_blocking(int socket, int blocking);

#define FMS_IN   1      /* FMS_recv or FMS_accept would not wait */
#define FMS_OUT  2      /* FMS_send would not wait, or fail with EPIPE */
#define FMS_HUP  4      /* refused, closed by the other end, or its rank gone; in revents always */

struct FMS_pollfd {
	int socket;
	short events, revents;
};

/* Waits until one of the sockets is ready, at most `ms` milliseconds (-1: for ever). How many. */
int FMS_poll(struct FMS_pollfd *sockets, unsigned count, int ms);

#ifdef __cplusplus
}
#endif
#endif
