/*
 * The system calls about match entries and memory descriptors. See portals.c.
 */
#include <margay/abi.h>
#include <portals3.h>

#include "../net/portals/md.h"
#include "../net/portals/me.h"
#include "link_shm.h"
#include "portals.h"
#include "syscall.h"
#include "uaccess.h"

_Static_assert(sizeof(ptl_md_t) == sizeof(struct md_args), "ptl_md_t crosses as md_args");
_Static_assert((int)PTL_UNLINK == (int)UNLINK_AUTO && (int)PTL_RETAIN == (int)UNLINK_NEVER &&
               (int)PTL_INS_BEFORE == (int)INSERT_BEFORE &&
               (int)PTL_INS_AFTER == (int)INSERT_AFTER && (int)PTL_ACK_REQ == (int)ACK_YES &&
               PTL_MD_OP_PUT == MD_OP_PUT, "the engine's constants are the public ones");

/* ---- match entries ---- */

/* Copy the application's arguments and the place for the handle; false: PTL_SEGV. */
static bool me_arguments(uint64_t args, uint64_t handle, struct margay_me_args *in,
                         struct me_args *out, uint64_t **result)
{
	const struct margay_me_args *from = user_range(args, sizeof(*from), USER_READ);

	*result = user_range(handle, sizeof(**result), USER_WRITE);
	if (!from || !*result)
		return false;
	*in = *from;
	*out = (struct me_args){
		.match_bits = in->match_bits, .ignore_bits = in->ignore_bits,
		.nid = in->match_nid, .pid = in->match_pid,
		.unlink = in->unlink, .position = in->position,
	};
	return true;
}

/* A new entry at a portal, whose base is the interface, or at another entry. */
static int64_t new_me(uint64_t args, uint64_t handle, bool at_entry)
{
	struct margay_me_args in;
	struct me_args me;
	uint64_t *result;
	int error;

	if (!me_arguments(args, handle, &in, &me, &result))
		return PTL_SEGV;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (!at_entry && !portals_is_interface(in.base))
		return PTL_NI_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = at_entry ? me_insert(&own_view, in.base, &me, result) :
	                   me_attach(&own_view, in.pt_index, &me, result);
	link_unlock();
	return -error;
}

int64_t sys_me_attach(uint64_t args, uint64_t handle)
{
	return new_me(args, handle, false);
}

int64_t sys_me_insert(uint64_t args, uint64_t handle)
{
	return new_me(args, handle, true);
}

int64_t sys_me_unlink(uint64_t me)
{
	return portals_with_handle(me_unlink, me);
}

/* ---- memory descriptors ---- */

/*
 * The application's descriptor and the place for its handle. Beyond the
 * engine's own checks: memory that the application itself may not write (its
 * text, the page under its stack) must not be opened to puts.
 */
static int md_arguments(uint64_t md, uint64_t handle, struct md_args *args, uint64_t **result)
{
	const struct md_args *from = user_range(md, sizeof(*from), USER_READ);

	*result = user_range(handle, sizeof(**result), USER_WRITE);
	if (!from || !*result)
		return PTL_SEGV;
	*args = *from;
	if (!user_range(args->start, args->length,
	                args->options & MD_OP_PUT ? USER_WRITE : USER_READ))
		return PTL_SEGV;
	return PTL_OK;
}

int64_t sys_md_attach(uint64_t me, uint64_t md, uint64_t unlink, uint64_t handle)
{
	struct md_args args;
	uint64_t *result;
	int error = md_arguments(md, handle, &args, &result);

	if (error)
		return error;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (!link_lock())
		return PTL_FAIL;
	error = md_attach(&own_view, me, &args, unlink, result);
	link_unlock();
	return -error;
}

int64_t sys_md_bind(uint64_t ni, uint64_t md, uint64_t unlink, uint64_t handle)
{
	struct md_args args;
	uint64_t *result;
	int error = md_arguments(md, handle, &args, &result);

	if (error)
		return error;
	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = md_bind(&own_view, &args, unlink, result);
	link_unlock();
	return -error;
}

int64_t sys_md_unlink(uint64_t md)
{
	return portals_with_handle(md_unlink, md);
}
