/*
 * Stream sockets: byte streams over messages of 2.x. Owns the table of sockets. All messages go to
 * one handler; their header, which travels in the packet's, names the socket. socket_poll.c has
 * FMS_poll.
 *
 *   FREE -> LISTENS -> FREE
 *   FREE -> CONNECTS -> OPEN | REFUSED      by FMS_connect, then the answer
 *   FREE -> OPEN                            by a connection request from another rank
 *   OPEN, REFUSED -> FREE                   when both ends are closed: no message is under way
 */
#include "clock.h"
#include "socket.h"
#include <errno.h>
#include <fm.h>
#include <margay.h>
#include <stdlib.h>
#include <string.h>

enum kind { SOCKET_CONNECT, SOCKET_ACCEPTED, SOCKET_REFUSED, SOCKET_DATA, SOCKET_WINDOW,
	    SOCKET_CLOSED };

struct header {
	uint8_t kind, spare;
	uint16_t socket;        /* of the receiver; CONNECT: of the sender */
	uint32_t value;         /* port, sender's socket, bytes */
};

struct socket fms_sockets[FMS_SOCKETS];

static int fail(int error)
{
	errno = error;
	return -1;
}

/* Whether the calls may be used: an extract of nothing fails in handlers, and before FM_initialize,
 * with the errno of the call. */
static int is_usable(void)
{
	return FM_extract(0) == 0;
}

struct socket *fms_socket_of(int number)
{
	if (!is_usable())
		return 0;
	if (number < 0 || number >= FMS_SOCKETS || fms_sockets[number].state == FREE ||
	    fms_sockets[number].closed) {
		errno = EBADF;
		return 0;
	}
	return &fms_sockets[number];
}

static int number_of(const struct socket *s)
{
	return (int)(s - fms_sockets);
}

/* A number that this end has closed is free when the other end has closed, too, or is gone. */
static void free_if_over(struct socket *s)
{
	if (s->closed && (s->ended || s->gone) && !s->receiving)
		s->state = FREE;
}

static void free_those_of_the_dead(void)
{
	for (struct socket *s = fms_sockets; s < fms_sockets + FMS_SOCKETS; s++) {
		if (s->state == FREE || !s->closed)
			continue;
		s->gone |= FM_ask(s->rank) != 0;
		free_if_over(s);
	}
}

/* A free socket, with a buffer if it is for a connection; or null with errno. */
static struct socket *take(enum state state)
{
	struct socket *s = fms_sockets;
	char *buffer;

	while (s < fms_sockets + FMS_SOCKETS && s->state != FREE)
		s++;
	if (s == fms_sockets + FMS_SOCKETS) {
		free_those_of_the_dead();
		for (s = fms_sockets; s < fms_sockets + FMS_SOCKETS && s->state != FREE; s++)
			;
	}
	if (s == fms_sockets + FMS_SOCKETS) {
		errno = EMFILE;
		return 0;
	}
	buffer = s->buffer;             /* the buffer stays with the socket number */
	if (!buffer && state != LISTENS)
		buffer = malloc(FMS_BUFFER);
	if (!buffer && state != LISTENS) {
		errno = ENOMEM;
		return 0;
	}
	*s = (struct socket){ .state = state, .blocking = 1, .buffer = buffer,
			      .window = FMS_BUFFER };
	return s;
}

/* Sends a message. EFAULT: nothing was sent of it; ECANCELED: a part. */
static int tell(unsigned rank, enum kind kind, unsigned socket, uint32_t value, const void *data,
		size_t bytes)
{
	const struct header header = { .kind = (uint8_t)kind, .socket = (uint16_t)socket,
				       .value = value };
	FM_stream *stream = FM_begin_message(rank, sizeof(header) + bytes, FMS_HANDLER);
	int failed;

	if (!stream)
		return -1;
	failed = FM_send_piece(stream, &header, sizeof(header)) ||
		 FM_send_piece(stream, data, bytes);
	if (failed && errno == EFAULT) {
		failed = FM_stream_bytes(stream) < bytes ? ECANCELED : EFAULT;
		FM_cancel_message(stream);
		return fail(failed);
	}
	return FM_end_message(stream) || failed ? -1 : 0;
}

/* ---- messages that come ---- */

static void connection(unsigned sender, const struct header *header)
{
	struct socket *listener = fms_sockets, *s = 0;

	while (listener < fms_sockets + FMS_SOCKETS &&
	       !(listener->state == LISTENS && listener->port == header->value))
		listener++;
	if (listener < fms_sockets + FMS_SOCKETS && listener->waiting_count < FMS_BACKLOG)
		s = take(OPEN);
	if (!s) {
		tell(sender, SOCKET_REFUSED, header->socket, 0, 0, 0);
		return;
	}
	s->rank = sender;
	s->other = header->socket;
	listener->waiting[listener->waiting_count++] = (uint16_t)number_of(s);
	tell(sender, SOCKET_ACCEPTED, header->socket, (uint32_t)number_of(s), 0, 0);
}

/* The rest of a message does not come. */
static void lose(struct socket *s)
{
	*(errno == ECANCELED ? &s->cut : &s->gone) = 1;
}

/* Bytes of a connection: into the buffer of a waiting FMS_recv, the rest into the socket's ring. */
static void data(FM_stream *stream, struct socket *s)
{
	size_t bytes = FM_stream_bytes(stream);

	if (s->wanted && s->filled == 0 && !s->landing && bytes > 0) {
		size_t part = bytes < s->room ? bytes : s->room;

		s->landing = 1;
		if (FM_receive(stream, s->wanted, part) == 0)
			s->landed = part;
		else
			lose(s);
		s->landing = 0;
		s->wanted = 0;
		bytes -= part;
	}
	while (bytes > 0 && s->filled < FMS_BUFFER) {
		uint32_t at = (s->first + s->filled) % FMS_BUFFER;
		uint32_t part = FMS_BUFFER - (at > s->first || s->filled == 0 ? at :
					      at + FMS_BUFFER - s->first);

		if (part > bytes)
			part = (uint32_t)bytes;
		if (FM_receive(stream, s->buffer + at, part)) {
			lose(s);
			return;
		}
		s->filled += part;
		bytes -= part;
	}
}

static int handle(FM_stream *stream, unsigned sender)
{
	struct header header;
	struct socket *s;

	if (FM_receive(stream, &header, sizeof(header)))
		return FM_CONTINUE;
	if (header.kind == SOCKET_CONNECT) {
		connection(sender, &header);
		return FM_CONTINUE;
	}
	s = &fms_sockets[header.socket % FMS_SOCKETS];
	if (s->state == FREE || s->state == LISTENS || s->rank != sender)
		return FM_CONTINUE;
	switch ((enum kind)header.kind) {
	case SOCKET_ACCEPTED:
		s->state = OPEN;
		s->other = (uint16_t)header.value;
		if (s->closed)          /* closed before the answer came */
			tell(s->rank, SOCKET_CLOSED, s->other, 0, 0, 0);
		break;
	case SOCKET_REFUSED:
		s->state = s->closed ? FREE : REFUSED;
		s->ended = 1;
		break;
	case SOCKET_DATA:
		if (s->closed)
			break;
		s->receiving = 1;
		data(stream, s);
		s->receiving = 0;
		free_if_over(s);
		break;
	case SOCKET_WINDOW:
		s->window += header.value;
		break;
	case SOCKET_CLOSED:
		s->ended = 1;
		s->gone = 0;            /* it ended after this */
		free_if_over(s);
		break;
	default:
		break;
	}
	return FM_CONTINUE;
}

int FMS_open(void)
{
	if (!is_usable())
		return -1;
	for (struct socket *s = fms_sockets; s < fms_sockets + FMS_SOCKETS; s++)
		s->state = FREE;
	return FM_register(FMS_HANDLER, handle) ? -1 : FM_barrier();
}

/* ---- waiting ---- */

void fms_look_for_death(struct socket *s)
{
	int64_t now = fm_now();

	if (s->state == LISTENS || s->gone || s->ended || now < s->look_at)
		return;
	s->look_at = now + LOOK_MS;
	if (FM_ask(s->rank) == 0)
		return;
	FM_extract(SIZE_MAX);
	s->gone = !s->ended;
}

int fms_is_over(const struct socket *s)
{
	return s->cut || (s->gone && !(FM_ask(s->rank) && errno == ESHUTDOWN));
}

/* Takes a packet, or waits for one. */
static int step(struct socket *s)
{
	int taken = FM_extract(1);

	if (taken == 0)
		taken = FM_wait(LOOK_MS);
	fms_look_for_death(s);
	return taken < 0 ? -1 : 0;
}

/* ---- the calls ---- */

int FMS_listen(unsigned port)
{
	struct socket *s;

	if (!is_usable())
		return -1;
	for (s = fms_sockets; s < fms_sockets + FMS_SOCKETS; s++)
		if (s->state == LISTENS && s->port == port)
			return fail(EADDRINUSE);
	s = take(LISTENS);
	if (!s)
		return -1;
	s->port = port;
	return number_of(s);
}

int FMS_connect(unsigned rank, unsigned port, int blocking)
{
	struct socket *s;

	if (rank >= (unsigned)margay_size())
		return fail(EINVAL);
	if (!is_usable())
		return -1;
	if (!blocking && !FM_room(rank) && (FM_extract(SIZE_MAX) < 0 || !FM_room(rank)))
		return fail(EAGAIN);
	s = take(CONNECTS);
	if (!s)
		return -1;
	s->rank = rank;
	s->blocking = blocking;
	if (tell(rank, SOCKET_CONNECT, (unsigned)number_of(s), port, 0, 0)) {
		s->state = FREE;
		return fail(errno == EHOSTDOWN ? ECONNRESET : errno);
	}
	while (blocking && s->state == CONNECTS && !s->gone)
		if (step(s))
			return -1;
	if (!blocking || s->state == OPEN)
		return number_of(s);
	s->closed = 1;
	free_if_over(s);
	return fail(s->gone ? ECONNRESET : ECONNREFUSED);
}

int FMS_accept(int listener, unsigned *rank)
{
	struct socket *s = fms_socket_of(listener);
	int accepted;

	if (!s)
		return -1;
	if (s->state != LISTENS)
		return fail(EINVAL);
	if (s->waiting_count == 0 && FM_extract(SIZE_MAX) < 0)
		return -1;
	while (s->waiting_count == 0) {
		if (!s->blocking)
			return fail(EAGAIN);
		if (step(s))
			return -1;
	}
	accepted = s->waiting[0];
	memmove(s->waiting, s->waiting + 1, --s->waiting_count * sizeof(s->waiting[0]));
	if (rank)
		*rank = fms_sockets[accepted].rank;
	return accepted;
}

/* A socket of a connection that is open; or null with errno. */
static struct socket *connected(int number)
{
	struct socket *s = fms_socket_of(number);

	if (s && s->state != OPEN) {
		errno = s->state == LISTENS ? EINVAL : ENOTCONN;
		return 0;
	}
	return s;
}

size_t fms_room(const struct socket *s)
{
	size_t room = FM_room(s->rank);

	room = room > sizeof(struct header) ? room - sizeof(struct header) : 0;
	return room < s->window ? room : s->window;
}

/* The errno for which nothing can be sent now; 0: it can. A socket that blocks waits for credit. */
static int why_not(const struct socket *s)
{
	if (s->gone || s->cut)
		return ECONNRESET;
	if (s->ended)
		return EPIPE;
	return (s->blocking ? s->window : fms_room(s)) ? 0 : EAGAIN;
}

ssize_t FMS_send(int socket, const void *buf, size_t bytes)
{
	struct socket *s = connected(socket);
	size_t sent = 0;

	if (!s || (!buf && bytes))
		return s ? fail(EINVAL) : -1;
	while (sent < bytes) {
		size_t part = bytes - sent, room;
		int error = why_not(s);

		if (error == EAGAIN && FM_extract(SIZE_MAX) > 0)
			error = why_not(s);
		if (error == EAGAIN && s->blocking) {
			if (step(s))
				return -1;
			continue;
		}
		if (error == EAGAIN) {
			fms_look_for_death(s);
			error = why_not(s);
		}
		if (error)
			return sent ? (ssize_t)sent : fail(error);
		room = s->blocking ? s->window : fms_room(s);
		part = part < room ? part : room;
		part = part < MESSAGE_MOST ? part : MESSAGE_MOST;
		s->window -= (uint32_t)part;
		if (tell(s->rank, SOCKET_DATA, s->other, 0, (const char *)buf + sent, part)) {
			s->window += (uint32_t)part;
			s->cut = errno == ECANCELED;
			if (s->cut)
				errno = EFAULT;
			if (errno != EHOSTDOWN)
				return sent ? (ssize_t)sent : -1;
			s->gone = 1;
			continue;
		}
		sent += part;
	}
	return (ssize_t)sent;
}

void fms_consume(struct socket *s, size_t bytes)
{
	s->consumed += (uint32_t)bytes;
	if (s->consumed < FMS_BUFFER / 2 || s->ended || s->gone ||
	    (!s->blocking && !FM_room(s->rank)))
		return;
	if (tell(s->rank, SOCKET_WINDOW, s->other, s->consumed, 0, 0) == 0)
		s->consumed = 0;
}

static ssize_t from_buffer(struct socket *s, char *to, size_t bytes)
{
	size_t taken = 0;

	while (taken < bytes && s->filled > 0) {
		uint32_t part = FMS_BUFFER - s->first;

		if (part > s->filled)
			part = s->filled;
		if (part > bytes - taken)
			part = (uint32_t)(bytes - taken);
		memcpy(to + taken, s->buffer + s->first, part);
		s->first = (s->first + part) % FMS_BUFFER;
		s->filled -= part;
		taken += part;
	}
	fms_consume(s, taken);
	return (ssize_t)taken;
}

ssize_t FMS_recv(int socket, void *buf, size_t bytes)
{
	struct socket *s = connected(socket);

	if (!s || (!buf && bytes))
		return s ? fail(EINVAL) : -1;
	if (bytes == 0)
		return 0;
	fms_consume(s, 0);
	if (s->filled == 0 && !s->blocking) {
		if (FM_extract(SIZE_MAX) < 0)
			return -1;
		if (s->filled == 0)
			fms_look_for_death(s);
	}
	if (s->filled == 0 && s->blocking) {
		s->wanted = buf;
		s->room = bytes;
		s->landed = 0;
		while (s->landing || (s->wanted && s->filled == 0 && !s->ended && !fms_is_over(s))) {
			if (step(s)) {
				s->wanted = 0;
				return -1;
			}
		}
		s->wanted = 0;
		if (s->landed) {
			fms_consume(s, s->landed);
			return (ssize_t)s->landed;
		}
	}
	if (s->filled)
		return from_buffer(s, buf, bytes);
	if (fms_is_over(s))
		return fail(ECONNRESET);
	return s->ended ? 0 : fail(EAGAIN);
}

/* Closes a connection. Its number is free once the other end has closed, too. -1: EAGAIN; it is as
 * it was. */
static int close_connection(struct socket *s)
{
	if (s->state == OPEN && !s->gone && tell(s->rank, SOCKET_CLOSED, s->other, 0, 0, 0)) {
		if (errno == EAGAIN)
			return -1;
		s->gone = 1;
	}
	s->closed = 1;
	free_if_over(s);
	return 0;
}

int FMS_close(int socket)
{
	struct socket *s = fms_socket_of(socket);

	if (!s)
		return -1;
	if (s->state != LISTENS)
		return close_connection(s);
	while (s->waiting_count > 0) {
		uint16_t last = s->waiting[--s->waiting_count];

		if (close_connection(&fms_sockets[last])) {         /* no handler has run */
			s->waiting[s->waiting_count++] = last;
			return -1;
		}
	}
	s->state = FREE;
	return 0;
}

int FMS_set_blocking(int socket, int blocking)
{
	struct socket *s = fms_socket_of(socket);

	if (!s)
		return -1;
	s->blocking = blocking != 0;
	return 0;
}
