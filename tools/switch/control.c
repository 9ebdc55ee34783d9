/*
 * The launcher's control channel: standard input. At its end the switch ends. If it is a socket, a
 * message with a port's index (4 bytes, native order) and one descriptor replaces that port's
 * socket: its node has been restarted. Frames in the port's ring are dropped; delayed frames, from
 * it and to it, still arrive.
 */
#include "switch.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The descriptor that came with a message, or -1. */
static int descriptor_of(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}

bool control_is_socket(void)
{
	int type;
	socklen_t bytes = sizeof(type);

	return getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0;
}

bool control_readable(struct network *net)
{
	uint32_t index = 0;
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room;
	struct iovec word = { &index, sizeof(index) };
	struct msghdr message = { .msg_iov = &word, .msg_iovlen = 1, .msg_control = &room,
				  .msg_controllen = sizeof(room) };
	ssize_t got;
	int fd;

	if (!net->controlled_by_socket)
		return read(STDIN_FILENO, &index, sizeof(index)) > 0;
	got = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return false;
	fd = descriptor_of(&message);
	if (fd >= 0 && got == sizeof(index) && index < net->n)
		port_open(net, index, fd);
	else if (fd >= 0)
		close(fd);
	return true;
}
