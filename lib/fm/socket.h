/*
 * What socket.c and socket_poll.c share: the table of sockets, which socket.c owns.
 */
#ifndef FM_SOCKET_INNER_H
#define FM_SOCKET_INNER_H
#include <fm_socket.h>
#include <stdint.h>

enum state { FREE, LISTENS, CONNECTS, OPEN, REFUSED };
enum { LOOK_MS = 200, MESSAGE_MOST = FMS_BUFFER / 2 };

struct socket {
	enum state state;
	int blocking;
	int closed, ended;      /* by this end; by the other end */
	int gone;               /* the other rank is gone; see fms_is_over */
	int cut;                /* a message was abandoned: bytes are missing */
	int receiving;          /* a handler receives its bytes: the number is not free yet */
	int64_t look_at;        /* when to check next whether it is, ms */
	unsigned rank, port;
	uint16_t other;         /* the other end's number */
	uint32_t window;        /* bytes that may still be sent */
	uint32_t consumed;      /* bytes received since the last window update */
	char *buffer;           /* FMS_BUFFER bytes, a ring: */
	uint32_t first, filled; /* index of the oldest byte; bytes in it */
	char *wanted;           /* buffer of a waiting FMS_recv, or null; */
	size_t room;
	int landing;            /* a handler is filling it; */
	size_t landed;          /* bytes in it so far */
	uint16_t waiting[FMS_BACKLOG];  /* LISTENS: connections, oldest first */
	unsigned waiting_count;
};

extern struct socket fms_sockets[FMS_SOCKETS];

/* The socket of a number that the program has given; or null with errno. */
struct socket *fms_socket_of(int number);

/* Checks every LOOK_MS whether the other rank lives, however many packets of others come. If it
 * does not, all that it has sent is taken first. Does not wait. */
void fms_look_for_death(struct socket *s);

/* The other rank is gone, and nothing more of what it has sent can come; or bytes are missing. */
int fms_is_over(const struct socket *s);

/* Bytes that can be sent now without waiting for the window or for credit. */
size_t fms_room(const struct socket *s);

/* Bytes that were received free buffer space: updates the sender's window. That fails while the
 * program has all messages to that rank open, or there is no credit and the socket does not block;
 * the next FMS_recv or FMS_poll tries again. */
void fms_consume(struct socket *s, size_t bytes);

#endif
