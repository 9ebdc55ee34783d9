/*
 * The choice of the transport: see transport.h. No data.
 */
#include "transport.h"

#include "kernel/base/node.h"
#include "kernel/process/process.h"

static int start_near(const struct initiator_args *args)
{
	int error = near_long_put(own_view(), 0, args) ? PORTALS_OK :
		    near_start(own_view(), 0, args);

	upcall_check();
	return error;
}

int transport_start(const struct initiator_args *args)
{
	if (transport_is_near(args->target_nid))
		return start_near(args);
	return args->target_nid < node.size ? link_frames_start_operation(args) :
	       PORTALS_PROCESS_INVALID;
}
