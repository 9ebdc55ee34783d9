/*
 * poll and select. Files and outputs are always ready; only standard input may have to be waited
 * for, and all its descriptors are one stream.
 */
#include "linux.h"

#include "syscall.h"

#define CAN_READ   (POLLIN | POLLRDNORM)
#define CAN_WRITE  (POLLOUT | POLLWRNORM)

/* The poll events for which a descriptor is ready now; 0: standard input has none yet. */
static short events_now(int fd)
{
	long ready = glue_call3(SYS_READY, fd, 0, 0);

	if (ready == -EBADF)
		return POLLNVAL;
	return (short)((ready & MARGAY_READY_IN ? CAN_READ : 0) |
		       (ready & MARGAY_READY_OUT ? CAN_WRITE : 0) |
		       (ready & MARGAY_READY_END ? POLLHUP : 0));
}

/* The deadline of a wait, by the monotonic clock; none if the timeout is negative. */
static uint64_t end_of(int64_t timeout_ns)
{
	uint64_t now = glue_now_ns();

	return timeout_ns < 0 || (uint64_t)timeout_ns > ~0UL - now ? ~0UL :
	       now + (uint64_t)timeout_ns;
}

/* How many descriptors have events. *waits: a descriptor to wait for, or -1. */
static long look(struct pollfd *fds, size_t count, int *waits)
{
	long told = 0;

	*waits = -1;
	for (size_t i = 0; i < count; i++) {
		short now = fds[i].fd < 0 ? 0 : events_now(fds[i].fd);

		if (fds[i].fd >= 0 && !now)
			*waits = fds[i].fd;
		fds[i].revents = now & (fds[i].events | POLLHUP | POLLNVAL);
		told += fds[i].revents != 0;
	}
	return told;
}

long linux_poll(struct pollfd *fds, size_t count, int64_t timeout_ns, const uint64_t *mask)
{
	uint64_t end = end_of(timeout_ns);
	long told, result;
	int waits;

	if (count > MARGAY_OPEN_FILES || timeout_ns < NO_TIMEOUT)
		return -EINVAL;
	while ((told = look(fds, count, &waits)) == 0 && timeout_ns) {
		result = wait_for(waits, end, mask);
		if (result <= 0)
			return result;
	}
	return told;
}

static int is_in(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

/* Like look, for select: -EBADF for one that is closed. */
static long look_at_sets(int count, const fd_set *in, const fd_set *out, const fd_set *errors,
			 fd_set *can_in, fd_set *can_out, int *waits)
{
	long told = 0;

	FD_ZERO(can_in);
	FD_ZERO(can_out);
	*waits = -1;
	for (int fd = 0; fd < count; fd++) {
		short now;

		if (!is_in(in, fd) && !is_in(out, fd) && !is_in(errors, fd))
			continue;
		now = events_now(fd);
		if (now & POLLNVAL)
			return -EBADF;
		if (is_in(in, fd) && now & POLLIN) {
			FD_SET(fd, can_in);
			told++;
		} else if (is_in(in, fd)) {
			*waits = fd;
		}
		if (is_in(out, fd) && now & POLLOUT) {
			FD_SET(fd, can_out);
			told++;
		}
	}
	return told;
}

long linux_select(int count, fd_set *in, fd_set *out, fd_set *errors, int64_t timeout_ns,
		  const uint64_t *mask)
{
	uint64_t end = end_of(timeout_ns);
	fd_set can_in, can_out;
	long told, result;
	int waits;

	if (count < 0 || count > FD_SETSIZE || timeout_ns < NO_TIMEOUT)
		return -EINVAL;
	while ((told = look_at_sets(count, in, out, errors, &can_in, &can_out, &waits)) == 0 &&
	       timeout_ns) {
		result = wait_for(waits, end, mask);
		if (result < 0)
			return result;
		if (!result)
			break;
	}
	if (told < 0)
		return told;
	if (in)
		*in = can_in;
	if (out)
		*out = can_out;
	if (errors)
		FD_ZERO(errors);
	return told;
}
