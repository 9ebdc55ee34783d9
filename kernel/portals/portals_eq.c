/*
 * The system calls about event queues. See portals.c.
 */
#include <margay/abi.h>
#include <portals3.h>

#include "kernel/base/syscall.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/transport/link_shm.h"
#include "kernel/transport/upcall.h"
#include "kernel/transport/wait.h"
#include "net/portals/eq.h"
#include "portals.h"

_Static_assert(sizeof(ptl_event_t) == sizeof(struct event), "ptl_event_t is what slots hold");
_Static_assert(PTL_EQ_DROPPED == -PORTALS_EQ_DROPPED, "the engine's constants are the public ones");

int64_t sys_eq_alloc(uint64_t ni, uint64_t slots, uint64_t read_index, uint64_t out,
                     uint64_t entry, uint64_t stack)
{
	enum eq_handler handler = !entry ? EQ_NO_HANDLER :
	                          stack & MARGAY_EQ_FILLING ? EQ_HANDLER_FILLING : EQ_HANDLER_EACH;
	struct margay_eq *result = user_range(out, sizeof(*result), USER_WRITE);
	struct eq_info info;
	int error;

	stack &= ~MARGAY_EQ_FILLING;
	if (!result || !user_range(read_index, (1 + handler) * sizeof(uint64_t), USER_WRITE) ||
	    (entry && !upcall_may_enter(entry, stack)))
		return PTL_SEGV;
	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (!link_shm_lock())
		return PTL_FAIL;
	error = eq_alloc(own_view(), slots, read_index, handler, &info);
	link_shm_unlock();
	if (!error && entry)
		upcall_add(info.handle, entry, stack);
	if (!error)
		*result = (struct margay_eq){
			.handle = info.handle, .count = info.count,
			.slots = APP_EVENTS + (uint64_t)info.first_slot * EVENT_SLOT_BYTES,
		};
	return -error;
}

int64_t sys_eq_free(uint64_t eq)
{
	int64_t result = portals_with_handle(eq_free, eq);

	if (result == PTL_OK)
		upcall_remove(eq);
	return result;
}

struct queues {
	const uint64_t *handles;
	uint64_t count;
};

/* Whether one of the queues has an event: PTL_OK, PTL_EQ_EMPTY or PTL_EQ_INVALID. Called repeatedly
 * while the process waits: it reads the queues without the lock, as the application itself does.
 * The application may already have taken an event that its writer, another node, has not counted yet:
 * then the queue looks full for a moment, and is empty at the next call. */
static int64_t look(const struct queues *queues)
{
	int64_t found = PTL_EQ_EMPTY;

	for (uint64_t i = 0; i < queues->count; i++) {
		int64_t unread = eq_unread(own_view(), queues->handles[i]);

		if (unread < 0)
			return PTL_EQ_INVALID;
		if (unread > 0)
			found = PTL_OK;
	}
	return found;
}

/* A broken block gets no more events, so a wait for one must end. */
static bool found_or_broken(void *arg)
{
	return look(arg) != PTL_EQ_EMPTY || link_shm_is_broken();
}

int64_t sys_eq_wait(uint64_t eqs, uint64_t n, uint64_t timeout)
{
	struct queues queues = { .count = n };
	int64_t found;

	if (n < 1 || n > own_view()->limits.eqs)
		return PTL_EQ_INVALID;
	queues.handles = user_range(eqs, n * sizeof(uint64_t), USER_READ);
	if (!queues.handles)
		return PTL_SEGV;
	if (!portals_is_open())
		return PTL_NO_INIT;
	upcall_check(); /* the library may have deferred a handler */
	switch (wait_halted_or_upcall(found_or_broken, &queues, deadline_in(timeout),
	                              "an event (PtlEQWait)")) {
	case WAIT_TIMEOUT: return PTL_EQ_EMPTY;
	case WAIT_UPCALL:  return PTL_OK; /* the library looks again, and repeats the call */
	default:
		found = look(&queues);
		if (found != PTL_EQ_EMPTY)
			return found;
		return link_shm_is_broken() ? PTL_FAIL : PTL_OK; /* as above */
	}
}
