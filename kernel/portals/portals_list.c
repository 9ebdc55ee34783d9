/*
 * The system calls about match entries and memory descriptors. See portals.c.
 */
#include <margay/abi.h>
#include <portals3.h>

#include "kernel/base/node.h"
#include "kernel/base/syscall.h"
#include "kernel/console/console.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/transport/link_frames.h"
#include "kernel/transport/link_shm.h"
#include "kernel/transport/wait.h"
#include "net/portals/md.h"
#include "net/portals/me.h"
#include "net/portals/post.h"
#include "portals.h"

_Static_assert(sizeof(ptl_md_t) == sizeof(struct md_args) &&
               sizeof(ptl_md_t) == sizeof(((struct margay_post *)0)->md),
               "ptl_md_t crosses as md_args");
_Static_assert((int)PTL_UNLINK == (int)UNLINK_AUTO && (int)PTL_RETAIN == (int)UNLINK_NEVER &&
               (int)PTL_INS_BEFORE == (int)INSERT_BEFORE &&
               (int)PTL_INS_AFTER == (int)INSERT_AFTER && PTL_MD_OP_PUT == MD_OP_PUT,
               "the engine's constants are the public ones");

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

/* Where to insert a new entry. */
enum entry_place { AT_PORTAL, AT_ENTRY, AT_ANY_PORTAL };

/* A new entry; for AT_ENTRY the base is another entry, else the interface. */
static int64_t new_me(uint64_t args, uint64_t handle, enum entry_place place, uint32_t *pt_index)
{
	struct margay_me_args in;
	struct me_args me;
	uint64_t *result;
	int error;

	if (!me_arguments(args, handle, &in, &me, &result))
		return PTL_SEGV;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (place != AT_ENTRY && !portals_is_interface(in.base))
		return PTL_NI_INVALID;
	if (!link_shm_lock())
		return PTL_FAIL;
	if (place == AT_ENTRY)
		error = me_insert(own_view(), in.base, &me, result);
	else if (place == AT_PORTAL)
		error = me_attach(own_view(), in.pt_index, &me, result);
	else
		error = me_attach_any(own_view(), pt_index, &me, result);
	link_shm_unlock();
	return -error;
}

int64_t sys_me_attach(uint64_t args, uint64_t handle)
{
	return new_me(args, handle, AT_PORTAL, 0);
}

int64_t sys_me_insert(uint64_t args, uint64_t handle)
{
	return new_me(args, handle, AT_ENTRY, 0);
}

int64_t sys_me_attach_any(uint64_t args, uint64_t pt_index, uint64_t handle)
{
	uint32_t *index = user_range(pt_index, sizeof(*index), USER_WRITE);

	return index ? new_me(args, handle, AT_ANY_PORTAL, index) : PTL_SEGV;
}

int64_t sys_me_unlink(uint64_t me)
{
	return portals_with_handle(me_unlink, me);
}

/* ---- memory descriptors ---- */

/* The application's descriptor; its memory is checked by the engine. */
static int md_argument(uint64_t md, struct md_args *args)
{
	const struct md_args *from = user_range(md, sizeof(*from), USER_READ);

	if (!from)
		return PTL_SEGV;
	*args = *from;
	return PTL_OK;
}

/* What a new descriptor belongs to. */
enum md_place { OF_ENTRY, OF_ENTRY_OF_MD, OF_INTERFACE };

/* A new descriptor; `base` is an entry, another descriptor or the interface. */
static int64_t new_md(enum md_place place, uint64_t base, uint64_t md, uint64_t unlink,
                      uint64_t position, uint64_t handle)
{
	uint64_t *result = user_range(handle, sizeof(*result), USER_WRITE);
	struct md_args args;
	int error = result ? md_argument(md, &args) : PTL_SEGV;

	if (error)
		return error;
	if (place == OF_INTERFACE && !portals_is_interface(base))
		return PTL_NI_INVALID;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (!link_shm_lock())
		return PTL_FAIL;
	if (place == OF_ENTRY)
		error = md_attach(own_view(), base, &args, unlink, result);
	else if (place == OF_ENTRY_OF_MD)
		error = md_insert(own_view(), base, &args, unlink, position, result);
	else
		error = md_bind(own_view(), &args, unlink, result);
	link_shm_unlock();
	return -error;
}

int64_t sys_md_attach(uint64_t me, uint64_t md, uint64_t unlink, uint64_t handle)
{
	return new_md(OF_ENTRY, me, md, unlink, 0, handle);
}

int64_t sys_md_insert(uint64_t base, uint64_t md, uint64_t unlink, uint64_t position,
                      uint64_t handle)
{
	return new_md(OF_ENTRY_OF_MD, base, md, unlink, position, handle);
}

int64_t sys_md_bind(uint64_t ni, uint64_t md, uint64_t unlink, uint64_t handle)
{
	return new_md(OF_INTERFACE, ni, md, unlink, 0, handle);
}

/* A descriptor, and how many operations of this process on it are pending. */
struct started {
	handle_t md;
	uint32_t left;
};

static bool has_one_ended(void *arg)
{
	const struct started *started = arg;

	return md_started(own_view(), started->md) < started->left;
}

/* Operations that this process starts with a descriptor end before their call returns, unless
 * frames carry them. Then this waits for them, one after the other. If another kernel of the region
 * has damaged an operation's record, it never ends: then the call finds the descriptor in use. */
static void settle(handle_t handle)
{
	struct started started = { .md = handle };

	while (link_frames && (started.left = md_started(own_view(), handle)) != 0) {
		const struct md *md = md_lookup(own_view(), handle); /* it may be gone by damage */

		if (wait_until(has_one_ended, &started, portals_deadline(md ? md->room : 0),
		               "an operation on the descriptor to end"))
			continue;
		console_line("rank %u (node %u): %u operations on a descriptor do not end: a node "
		             "does not answer, or another node has damaged their record",
		             this_process()->rank, node.id, started.left);
		return;
	}
}

int64_t sys_md_update(uint64_t md, uint64_t old_md, uint64_t new_md, uint64_t test_eq)
{
	struct md_args *old = user_range(old_md, sizeof(*old), USER_WRITE);
	struct md_args args;
	int error = PTL_OK;

	if (old_md && !old)
		return PTL_SEGV;
	if (new_md)
		error = md_argument(new_md, &args);
	if (error)
		return error;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (new_md)
		settle(md);
	if (!link_shm_lock())
		return PTL_FAIL;
	error = md_update(own_view(), md, old_md ? old : 0, new_md ? &args : 0, test_eq);
	link_shm_unlock();
	return -error;
}

int64_t sys_md_unlink(uint64_t md)
{
	settle(md);
	return portals_with_handle(md_unlink, md);
}

/* ---- both at once ---- */

__attribute__((flatten))
int64_t sys_me_md_post(uint64_t args, uint64_t base, uint64_t match_id, uint64_t match_bits,
                       uint64_t ignore_bits, uint64_t unlink)
{
	const struct margay_post *from;
	struct post_args post;
	uint64_t me, md;
	int error;

	if (!user_may(args, sizeof(*from), USER_READ))
		return PTL_SEGV;
	from = user_alias(args);
	/* Each word is read once: a message may change it meanwhile. */
	me = __atomic_load_n(&from->me_handle, __ATOMIC_RELAXED);
	md = __atomic_load_n(&from->md_handle, __ATOMIC_RELAXED);
	if (!user_may(me, sizeof(handle_t), USER_WRITE) ||
	    !user_may(md, sizeof(handle_t), USER_WRITE))
		return PTL_SEGV;
	if (!portals_is_open())
		return PTL_NO_INIT;
	post = (struct post_args){
		.base = base, .test_eq = from->test_eq, .unlink = from->md_unlink,
		.me = { .match_bits = match_bits, .ignore_bits = ignore_bits,
		        .nid = (uint32_t)match_id, .pid = (uint32_t)(match_id >> 32),
		        .unlink = (uint32_t)unlink, .position = from->position },
		.md = *(const struct md_args *)from->md,
	};
	post.md.pad0 = post.md.pad1 = 0;
	if (!link_shm_lock())
		return PTL_FAIL;
	error = post_entry(own_view(), &post, user_alias(me), user_alias(md));
	link_shm_unlock();
	return -error;
}
