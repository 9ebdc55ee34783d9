/*
 * A port: its stream socket, incoming frames, and frames that wait to go out.
 *
 * A frame is not copied on its way through. Frames to a port are collected as pointers into the
 * input buffer of the port that they came from, and written together at the end of that buffer.
 * What the socket does not take is copied into the port's ring. Frames that find the ring full are
 * dropped whole and counted. So a port that does not read costs its senders frames, and other ports
 * nothing.
 */
#include "switch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void watch(struct network *net, struct port *port, int operation, bool room)
{
	struct epoll_event event = { .events = EPOLLIN | (room ? EPOLLOUT : 0),
				     .data.ptr = port };

	if (epoll_ctl(net->epoll, operation, port->fd, &event) != 0) {
		perror("switch: epoll_ctl");
		exit(1);
	}
	port->wants_room = room;
}

void port_open(struct network *net, uint32_t index, int fd)
{
	struct port *port = &net->ports[index];

	if (port->fd >= 0)
		port_close(port);
	port->fd = fd;
	port->input_bytes = port->queue_first = 0;
	if (!port->input) {
		port->dice.state = net->faults.seed * MOST_PORTS + index;
		port->input = malloc(INPUT_BYTES);
		port->queue = malloc(QUEUE_BYTES);
	}
	if (!port->input || !port->queue || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		fprintf(stderr, "switch: port %u (descriptor %d): %s\n", index, fd, strerror(errno));
		exit(1);
	}
	watch(net, port, EPOLL_CTL_ADD, false);
}

/* Uncounts frames that could not be sent. */
static void take_back(struct port *port, enum port_counter why, uint32_t frames, uint64_t bytes)
{
	port->counters[why] += frames;
	port->counters[PORT_frames_out] -= frames;
	port->counters[PORT_bytes_out] -= bytes;
}

void port_close(struct port *port)
{
	close(port->fd); /* leaves the epoll set with it */
	port->fd = -1;
	for (uint32_t i = 0; i < port->batched; i++)
		take_back(port, PORT_gone, 1, port->batch[i].iov_len - LENGTH_BYTES);
	take_back(port, PORT_gone, port->queue_frames,
		  port->queue_bytes + port->queue_sent - LENGTH_BYTES * port->queue_frames);
	port->batched = port->queue_bytes = port->queue_frames = port->queue_sent = 0;
}

/* ---- out ---- */

static uint32_t length_at(const uint8_t *wire)
{
	return (uint32_t)wire[0] << 24 | (uint32_t)wire[1] << 16 | (uint32_t)wire[2] << 8 | wire[3];
}

/* Queues a frame, of which `skip` bytes have left already. */
static void enqueue(struct port *port, const uint8_t *bytes, size_t n, size_t skip)
{
	uint32_t at = (port->queue_first + port->queue_bytes) % QUEUE_BYTES;
	size_t straight;

	if (!port->queue_frames++) {
		port->queue_frame = (uint32_t)n;
		port->queue_sent = (uint32_t)skip;
	}
	bytes += skip;
	n -= skip;
	straight = QUEUE_BYTES - at < n ? QUEUE_BYTES - at : n;
	memcpy(port->queue + at, bytes, straight);
	memcpy(port->queue, bytes + straight, n - straight);
	port->queue_bytes += (uint32_t)n;
}

/* The first `bytes` of the ring have left: removes their frames. */
static void dequeue(struct port *port, uint32_t bytes)
{
	uint32_t at = port->queue_first - port->queue_sent;      /* offset of the first frame */

	port->queue_first = (port->queue_first + bytes) % QUEUE_BYTES;
	port->queue_bytes -= bytes;
	port->queue_sent += bytes;
	while (port->queue_frames && port->queue_sent >= port->queue_frame) {
		uint8_t length[LENGTH_BYTES];

		port->queue_sent -= port->queue_frame;
		at += port->queue_frame;
		for (uint32_t i = 0; i < LENGTH_BYTES; i++)
			length[i] = port->queue[(at + i) % QUEUE_BYTES];
		port->queue_frames--;
		port->queue_frame = LENGTH_BYTES + length_at(length);
	}
}

/* Queues what is left of the frames of a batch, from `skip` bytes on. A frame that is partly out
 * goes first and always fits: the ring is empty. */
static void enqueue_rest(struct network *net, struct port *port, size_t skip)
{
	for (uint32_t i = 0; i < port->batched; i++) {
		const struct iovec *piece = &port->batch[i];

		if (skip >= piece->iov_len) {
			skip -= piece->iov_len;
			continue;
		}
		if (piece->iov_len - skip > QUEUE_BYTES - port->queue_bytes)
			take_back(port, PORT_overflow, 1, piece->iov_len - LENGTH_BYTES);
		else
			enqueue(port, piece->iov_base, piece->iov_len, skip);
		skip = 0;
	}
	port->batched = 0;
	if (port->fd >= 0 && !port->wants_room)
		watch(net, port, EPOLL_CTL_MOD, true);
}

/* sendmsg, not writev: a closed peer raises no signal. -1: the peer has closed. */
static ssize_t write_some(struct port *port, struct iovec *pieces, size_t n)
{
	struct msghdr message = { .msg_iov = pieces, .msg_iovlen = n };
	ssize_t done = sendmsg(port->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (done >= 0)
		return done;
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

static void flush(struct network *net, struct port *port)
{
	size_t all = 0;
	ssize_t done;

	for (uint32_t i = 0; i < port->batched; i++)
		all += port->batch[i].iov_len;
	done = port->queue_bytes || faults_stopped(net, port)
		? 0 : write_some(port, port->batch, port->batched);
	if (done < 0)
		port_close(port);
	else if ((size_t)done < all)
		enqueue_rest(net, port, (size_t)done);
	else
		port->batched = 0;
}

void port_flush_all(struct network *net)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (net->ports[i].batched)
			flush(net, &net->ports[i]);
}

void port_give(struct network *net, struct port *port, struct frame frame, bool stays)
{
	if (port->batched == BATCH)
		flush(net, port);
	if (port->fd < 0) {
		port->counters[PORT_gone]++;
		return;
	}
	port->batch[port->batched++] = (struct iovec){ frame.wire, LENGTH_BYTES + frame.bytes };
	port->counters[PORT_frames_out]++;
	port->counters[PORT_bytes_out] += frame.bytes;
	if (!stays)
		flush(net, port);
}

void port_writable(struct network *net, struct port *port)
{
	uint32_t straight = QUEUE_BYTES - port->queue_first;
	struct iovec pieces[2];
	ssize_t done;

	if (faults_stopped(net, port)) {
		watch(net, port, EPOLL_CTL_MOD, false); /* main.c looks again when it may go on */
		return;
	}
	if (straight > port->queue_bytes)
		straight = port->queue_bytes;
	pieces[0] = (struct iovec){ port->queue + port->queue_first, straight };
	pieces[1] = (struct iovec){ port->queue, port->queue_bytes - straight };
	done = write_some(port, pieces, pieces[1].iov_len ? 2 : 1);
	if (done < 0) {
		port_close(port);
		return;
	}
	dequeue(port, (uint32_t)done);
	if ((port->queue_bytes != 0) != port->wants_room)
		watch(net, port, EPOLL_CTL_MOD, port->queue_bytes != 0);
}

/* ---- in ---- */

/* Forwards complete frames; the rest moves to the front. False: a length that no frame can have, so
 * the stream is out of step for ever. */
static bool take_frames(struct network *net, struct port *port)
{
	uint32_t at = 0;

	while (port->input_bytes - at >= LENGTH_BYTES) {
		uint32_t bytes = length_at(port->input + at);

		if (bytes > FRAME_MOST) {
			port->counters[PORT_malformed]++;
			return false;
		}
		if (port->input_bytes - at - LENGTH_BYTES < bytes)
			break;
		if (bytes < FRAME_LEAST)
			port->counters[PORT_malformed]++;
		else
			forward(net, port, (struct frame){ port->input + at, bytes });
		at += LENGTH_BYTES + bytes;
	}
	port_flush_all(net);
	memmove(port->input, port->input + at, port->input_bytes - at);
	port->input_bytes -= at;
	return true;
}

void port_readable(struct network *net, struct port *port)
{
	ssize_t got = recv(port->fd, port->input + port->input_bytes,
			   INPUT_BYTES - port->input_bytes, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		port_close(port);
		return;
	}
	port->input_bytes += (uint32_t)got;
	if (!take_frames(net, port) && port->fd >= 0) {
		printf("card %u of node %u sent a frame longer than %u bytes, as no card does: "
		       "its port is closed, and nothing passes to or from it any more\n",
		       port->address[3], port_node(port), FRAME_MOST);
		port_close(port);
	}
}
