/*
 * For the engine (net/port.h): what the application may use of its segment. A descriptor must not
 * open memory to others that is closed to the application itself. Copying is in copy.c.
 */
#include "net/port.h"

#include "kernel/process/uaccess.h"

int port_may_use(const struct process_view *view, uint64_t address, uint64_t bytes, int write)
{
	(void)view; /* the owner's: this node has one process, and the view has its segment */
	return user_may(address, bytes, write ? USER_WRITE : USER_READ);
}
