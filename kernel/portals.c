/*
 * The system calls of the Portals group that look after structures: interface,
 * match entries, memory descriptors, event queues. Each checks the addresses
 * that the application passes, takes the own block's lock for the engine's
 * call, and turns the engine's result into a PTL_* value. The contracts are in
 * include/portals3.h; messages are in portals_message.c.
 *
 * Data: the interface's handle and its users.
 */
#include "portals.h"

#include <margay/abi.h>
#include <portals3.h>

#include "../net/portals/eq.h"
#include "../net/portals/md.h"
#include "../net/portals/me.h"
#include "link_shm.h"
#include "memory.h"
#include "node.h"
#include "syscall.h"
#include "time.h"
#include "uaccess.h"
#include "wait.h"

_Static_assert(sizeof(ptl_md_t) == sizeof(struct md_args), "ptl_md_t crosses as md_args");
_Static_assert(sizeof(ptl_event_t) == sizeof(struct event), "ptl_event_t is what slots hold");
_Static_assert((int)PTL_UNLINK == (int)UNLINK_AUTO && (int)PTL_RETAIN == (int)UNLINK_NEVER &&
               (int)PTL_INS_BEFORE == (int)INSERT_BEFORE &&
               (int)PTL_INS_AFTER == (int)INSERT_AFTER && (int)PTL_ACK_REQ == (int)ACK_YES &&
               PTL_MD_OP_PUT == MD_OP_PUT && PTL_EQ_DROPPED == -PORTALS_EQ_DROPPED,
               "the engine's constants are the public ones");

static const struct block_limits limits = BLOCK_DEFAULT_LIMITS;
static uint32_t users;             /* NI_INITs not yet undone */
static handle_t interface;
static bool opened_before;         /* the block is not fresh: NI_INIT formats it again */

/* ---- start and stop ---- */

/* The part of the block that the application may read. */
static void map_events(void)
{
	struct block_layout layout;

	block_layout(&limits, &layout);
	memory_map_events(node.block.physical + layout.slots, layout.bytes - layout.slots);
}

void portals_start(void)
{
	if (!node.region) {
		uint64_t bytes = block_bytes(&limits);
		uint8_t *block = memory_take(bytes, BLOCK_PAGE);

		node.block = (struct block_place){ (uint64_t)block, bytes, block };
	}
	link_start();
	map_events();
}

/* Nobody ends anything in a broken block: then there is nothing to wait for. */
static bool nothing_pending(void *unused)
{
	(void)unused;
	return block_pending(&own_view) == 0 || link_is_broken();
}

/* Refuse messages from now on, and wait for those under way. */
static int close_block(void)
{
	if (!link_lock())
		return PTL_FAIL;
	block_close(&own_view);
	link_unlock();
	wait_until(nothing_pending, 0, NEVER, "other nodes' operations in this process to end");
	users = 0;
	interface = HANDLE_NONE;
	return PTL_OK;
}

void portals_stop(void)
{
	portals_count();
	if (users)
		close_block();
}

void portals_count(void)
{
	static const struct { enum counter counter; enum block_register from; } shown[] = {
		{ COUNTER_MESSAGES,     STAT_MESSAGES_OUT },
		{ COUNTER_BYTES_OUT,    STAT_BYTES_OUT },
		{ COUNTER_BYTES_IN,     STAT_BYTES_IN },
		{ COUNTER_DROPS,        STAT_DROPPED },
		{ COUNTER_POOL_ME_HIGH, STAT_ME_HIGH },
		{ COUNTER_POOL_MD_HIGH, STAT_MD_HIGH },
		{ COUNTER_POOL_EQ_HIGH, STAT_EQ_HIGH },
		{ COUNTER_POOL_OP_HIGH, STAT_OP_HIGH },
	};

	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		block_status(&own_view, shown[i].from, &node.counters[shown[i].counter]);
}

/* ---- interface ---- */

static bool is_interface(uint64_t ni)
{
	return users && ni == interface;
}

static const ptl_ni_limits_t granted = {
	.max_mes = 4096, .max_mds = 4096, .max_eqs = 64, .max_ac_index = 63,
	.max_pt_index = 63, .max_md_iovecs = 0, .max_me_list = 4096, .max_getput_md = 0,
};

int64_t sys_ni_init(uint64_t iface, uint64_t pid, uint64_t desired, uint64_t actual,
                    uint64_t ni)
{
	uint64_t *handle = user_range(ni, sizeof(*handle), USER_WRITE);
	ptl_ni_limits_t *limits_out = user_range(actual, sizeof(*limits_out), USER_WRITE);

	if (!handle || (actual && !limits_out) ||
	    (desired && !user_range(desired, sizeof(ptl_ni_limits_t), USER_READ)))
		return PTL_SEGV;
	if (iface != PTL_IFACE_DEFAULT)
		return PTL_IFACE_INVALID;
	if ((uint32_t)pid != PTL_PID_ANY && (uint32_t)pid != node.pid)
		return PTL_PID_INVALID;
	if (!users) {
		link_set_segment();
		if (!link_lock())
			return PTL_FAIL;
		if (opened_before)
			block_init(&own_view);
		opened_before = true;
		interface = block_open(&own_view);
		link_unlock();
	}
	users++;
	*handle = interface;
	if (actual)
		*limits_out = granted;
	return PTL_OK;
}

int64_t sys_ni_fini(uint64_t ni)
{
	if (!is_interface(ni))
		return PTL_NI_INVALID;
	if (users > 1) {
		users--;
		return PTL_OK;
	}
	return close_block();
}

int64_t sys_ni_status(uint64_t ni, uint64_t status_register, uint64_t value)
{
	uint64_t *out = user_range(value, sizeof(*out), USER_WRITE);

	if (!out)
		return PTL_SEGV;
	if (!is_interface(ni))
		return PTL_NI_INVALID;
	return -block_status(&own_view, status_register, out);
}

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
	if (!users)
		return PTL_NO_INIT;
	if (!at_entry && !is_interface(in.base))
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

/* A call of the engine that takes nothing but a handle. */
static int64_t with_handle(int (*call)(struct process_view *, handle_t), uint64_t handle)
{
	int error;

	if (!users)
		return PTL_NO_INIT;
	if (!link_lock())
		return PTL_FAIL;
	error = call(&own_view, handle);
	link_unlock();
	return -error;
}

int64_t sys_me_unlink(uint64_t me)
{
	return with_handle(me_unlink, me);
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
	if (!users)
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
	if (!is_interface(ni))
		return PTL_NI_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = md_bind(&own_view, &args, unlink, result);
	link_unlock();
	return -error;
}

int64_t sys_md_unlink(uint64_t md)
{
	return with_handle(md_unlink, md);
}

/* ---- event queues ---- */

int64_t sys_eq_alloc(uint64_t ni, uint64_t slots, uint64_t read_index, uint64_t out)
{
	struct margay_eq *result = user_range(out, sizeof(*result), USER_WRITE);
	struct eq_info info;
	int error;

	if (!result || !user_range(read_index, sizeof(uint64_t), USER_WRITE))
		return PTL_SEGV;
	if (!is_interface(ni))
		return PTL_NI_INVALID;
	if (!link_lock())
		return PTL_FAIL;
	error = eq_alloc(&own_view, slots, read_index, &info);
	link_unlock();
	if (!error)
		*result = (struct margay_eq){
			.handle = info.handle, .count = info.count,
			.slots = APP_EVENTS + (uint64_t)info.first_slot * EVENT_SLOT_BYTES,
		};
	return -error;
}

int64_t sys_eq_free(uint64_t eq)
{
	return with_handle(eq_free, eq);
}

struct queues {
	const uint64_t *handles;
	uint64_t count;
};

/* Asked again and again while the process waits: it reads the queues without
 * the lock, as the application itself does. */
static bool any_unread(void *arg)
{
	const struct queues *queues = arg;

	for (uint64_t i = 0; i < queues->count; i++)
		if (eq_unread(&own_view, queues->handles[i]) != 0)
			return true;
	return false;
}

/* A broken block gets no event any more: who waits for one must be told. */
static bool unread_or_broken(void *arg)
{
	return any_unread(arg) || link_is_broken();
}

int64_t sys_eq_wait(uint64_t eqs, uint64_t n, uint64_t timeout)
{
	struct queues queues = { .count = n };

	if (n < 1 || n > limits.eqs)
		return PTL_EQ_INVALID;
	queues.handles = user_range(eqs, n * sizeof(uint64_t), USER_READ);
	if (!queues.handles)
		return PTL_SEGV;
	if (!users)
		return PTL_NO_INIT;
	for (uint64_t i = 0; i < n; i++)
		if (eq_unread(&own_view, queues.handles[i]) < 0)
			return PTL_EQ_INVALID;
	if (!wait_until(unread_or_broken, &queues, deadline_in(timeout), "an event (PtlEQWait)"))
		return PTL_EQ_EMPTY;
	return any_unread(&queues) ? PTL_OK : PTL_FAIL;
}
