/*
 * FMS_poll: which sockets are ready, and the wait for them.
 */
#include "clock.h"
#include "socket.h"
#include <errno.h>
#include <fm.h>

enum { CREDIT_MS = 1 };         /* interval at which FMS_poll looks for credit */

static short ready(const struct socket *s)
{
	int over = fms_is_over(s);
	short is = 0;

	if (s->state == LISTENS)
		return s->waiting_count ? FMS_IN : 0;
	if (s->filled || s->ended || over)
		is |= FMS_IN;
	if (s->state == OPEN && (s->ended || s->gone || s->cut || fms_room(s)))
		is |= FMS_OUT;
	if (s->ended || over)
		is |= FMS_HUP;
	return is;
}

static int all_ready(struct FMS_pollfd *polled, unsigned count)
{
	int found = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct socket *s = &fms_sockets[polled[i].socket];

		polled[i].revents = ready(s) & (short)(polled[i].events | FMS_HUP);
		found += polled[i].revents != 0;
	}
	return found;
}

/* Whether a socket waits for credit. FM_wait does not end when credit comes. */
static int lacks_credit(const struct FMS_pollfd *polled, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct socket *s = &fms_sockets[polled[i].socket];

		if ((polled[i].events & FMS_OUT) && s->state == OPEN && s->window && !fms_room(s))
			return 1;
	}
	return 0;
}

int FMS_poll(struct FMS_pollfd *polled, unsigned count, int ms)
{
	int64_t end = fm_now() + ms;

	if (!polled && count) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned i = 0; i < count; i++)
		if (!fms_socket_of(polled[i].socket))
			return -1;
	for (;;) {
		int64_t left, most = LOOK_MS;
		int found;

		if (FM_extract(SIZE_MAX) < 0)
			return -1;
		for (unsigned i = 0; i < count; i++) {
			struct socket *s = &fms_sockets[polled[i].socket];

			fms_look_for_death(s);
			fms_consume(s, 0);
		}
		found = all_ready(polled, count);
		left = ms < 0 ? LOOK_MS : end - fm_now();
		if (found || left <= 0)
			return found;
		if (lacks_credit(polled, count))
			most = CREDIT_MS;
		if (FM_wait((int)(left < most ? left : most)) < 0)
			return -1;
	}
}
