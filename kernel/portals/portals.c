/*
 * The process block from boot to end, and the system calls of the Portals group
 * about the interface. Match entries and descriptors are in portals_list.c,
 * event queues in portals_eq.c, messages in portals_message.c.
 *
 * Every call checks the addresses that the application passes, holds its own block's lock during
 * the engine's call, and turns the engine's result into a PTL_* value. The contracts are in
 * include/portals3.h.
 *
 * The interface's handle, its users and the limits granted to them are in struct process.
 */
#include "portals.h"

#include <margay/abi.h>
#include <margay/notes.h>
#include <portals3.h>

#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/base/syscall.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"
#include "kernel/transport/link_count.h"
#include "kernel/transport/link_frames.h"
#include "kernel/transport/link_shm.h"
#include "kernel/transport/membership.h"
#include "kernel/transport/upcall.h"
#include "kernel/transport/wait.h"
#include "net/portals/ac.h"

#define STOP_NS    10000000000UL   /* longest wait for operations under way, as at PtlNIFini */
#define SLOWEST_NS 1000UL          /* added for each byte of them that cards carry */

/* How many of each object this job's blocks have: constant from portals_start on. All nodes
 * of a job run one image with one command line, so they have the same. */
static struct block_limits limits = BLOCK_DEFAULT_LIMITS;

/* ---- start and stop ---- */

/* The largest number that a note of the image asks for (MARGAY_EVENT_SLOTS in <margay.h>), or 0. */
static uint32_t noted_slots(void)
{
	static const char vendor[8] = MARGAY_NOTE_NAME;
	uint32_t most = 0;

	for (const uint8_t *at = margay_notes; at + sizeof(struct margay_note) <= margay_notes_end;) {
		const struct margay_note *note = (const struct margay_note *)at;

		if (note->type == MARGAY_NOTE_EVENT_SLOTS && note->bytes == sizeof(note->value) &&
		    !memcmp(note->name, vendor, sizeof(vendor)) && note->value > most)
			most = note->value;
		at += sizeof(*note); /* all notes have this size: linker.ld */
	}
	return most;
}

/* Chooses the event slots: from the command line, the image's note, or the default. */
static void choose_slots(void)
{
	uint32_t slots = parameters.event_slots ? parameters.event_slots : noted_slots();

	if (!slots)
		return;
	if (slots < MARGAY_EVENT_SLOTS_LEAST || slots > MARGAY_EVENT_SLOTS_MOST)
		panic("%u event slots are asked for by %s: %u to %u are possible", slots,
		      parameters.event_slots ? "the command line" : "the image's note",
		      MARGAY_EVENT_SLOTS_LEAST, MARGAY_EVENT_SLOTS_MOST);
	limits.slots = slots;
}

/* The part of the block that the application may read. */
static void map_events(void)
{
	struct block_layout layout;

	block_layout(&limits, &layout);
	memory_map_events(this_process()->block.physical + layout.slots,
	                  layout.bytes - layout.slots);
}

void portals_start(void)
{
	choose_slots();
	if (!node.region) {
		uint64_t bytes = block_bytes(&limits);
		uint8_t *block = memory_take(bytes, BLOCK_PAGE);

		this_process()->block = (struct block_place){ (uint64_t)block, bytes, block };
	}
	link_shm_start(&limits);
	link_frames_start();
	map_events();
	membership_start();
}

/* In a broken block no operation ever ends, so nothing is waited for. */
static bool nothing_pending(void *unused)
{
	(void)unused;
	return block_pending(own_view()) == 0 || link_shm_is_broken();
}

/* In a region, a damaged block may count operations that nothing will end. Without a region only
 * this kernel writes its block. Cards take longer than a copy. */
uint64_t portals_deadline(uint64_t bytes)
{
	if (!node.region)
		return NEVER;
	if (bytes > this_process()->segment.bytes)
		bytes = this_process()->segment.bytes;
	return deadline_in(STOP_NS + (link_frames ? bytes * SLOWEST_NS : 0));
}

/* Refuses messages from now on, and waits for those under way until `deadline`. */
static int close_block(uint64_t deadline)
{
	if (!link_shm_lock())
		return PTL_FAIL;
	block_close(own_view());
	link_shm_unlock();
	if (!wait_until(nothing_pending, 0, deadline,
	                "other nodes' operations in this process to end")) {
		console_line("rank %u (node %u): other nodes' operations in this process do not end",
		             this_process()->rank, node.id);
		return PTL_FAIL;
	}
	upcall_remove_all();
	this_process()->interface.users = 0;
	this_process()->interface.handle = HANDLE_NONE;
	return PTL_OK;
}

void portals_stop(void)
{
	portals_count();
	/* The node's memory is not used again in this job, so an operation that still runs after
	 * that time, or exists only by damage, does no harm. */
	if (portals_is_open())
		close_block(portals_deadline(this_process()->segment.bytes));
}

/* Which of the node's counters the block has. Those from POOL_ME on are high-water marks. */
static const struct { enum counter counter; enum block_register from; } counted[] = {
	{ COUNTER_MESSAGES,     STAT_MESSAGES_OUT },
	{ COUNTER_BYTES_OUT,    STAT_BYTES_OUT },
	{ COUNTER_BYTES_IN,     STAT_BYTES_IN },
	{ COUNTER_DROPS,        STAT_DROPPED },
#define FIRST_HIGH 4u
	{ COUNTER_POOL_ME_HIGH, STAT_ME_HIGH },
	{ COUNTER_POOL_MD_HIGH, STAT_MD_HIGH },
	{ COUNTER_POOL_EQ_HIGH, STAT_EQ_HIGH },
	{ COUNTER_POOL_OP_HIGH, STAT_OP_HIGH },
};
_Static_assert(sizeof(counted) / sizeof(counted[0]) == INTERFACE_COUNTERS, "one each");

void portals_count(void)
{
	const uint64_t *before = this_process()->interface.before;

	for (unsigned i = 0; i < INTERFACE_COUNTERS; i++) {
		uint64_t value = 0;

		block_status(own_view(), counted[i].from, &value);
		if (i < FIRST_HIGH)
			value += before[i];
		node.counters[counted[i].counter] = value > before[i] ? value : before[i];
	}
	link_frames_count();
}

/* Formats the block again, for the next use of the interface. */
static void reopen(struct interface *interface)
{
	portals_count();
	for (unsigned i = 0; i < INTERFACE_COUNTERS; i++)
		interface->before[i] = node.counters[counted[i].counter];
	block_init(own_view());
}

/* ---- interface ---- */

bool portals_is_open(void)
{
	return this_process()->interface.users != 0;
}

bool portals_is_interface(uint64_t ni)
{
	return portals_is_open() && ni == this_process()->interface.handle;
}

/* The largest limits of an interface. */
static ptl_ni_limits_t most(void)
{
	return (ptl_ni_limits_t){
		.max_mes = limits.mes, .max_mds = limits.mds, .max_eqs = limits.eqs,
		.max_ac_index = limits.acs - 1, .max_pt_index = limits.portals - 1,
		.max_md_iovecs = BLOCK_MAX_PIECES, .max_me_list = limits.mes,
		.max_getput_md = BLOCK_MAX_GETPUT,
	};
}

/* Clamps a wanted limit between `least` and the maximum. */
static int grant(int wanted, int least, int maximum)
{
	return wanted >= least && wanted <= maximum ? wanted : maximum;
}

/* Between block_init and block_open. */
static void grant_limits(const ptl_ni_limits_t *wanted)
{
	ptl_ni_limits_t all = most(), *given = &this_process()->interface.granted;
	struct block_limits block;

	*given = (ptl_ni_limits_t){
		.max_mes = grant(wanted->max_mes, 1, all.max_mes),
		.max_mds = grant(wanted->max_mds, 1, all.max_mds),
		.max_eqs = grant(wanted->max_eqs, 1, all.max_eqs),
		.max_ac_index = grant(wanted->max_ac_index, 1, all.max_ac_index),
		.max_pt_index = grant(wanted->max_pt_index, 0, all.max_pt_index),
		.max_md_iovecs = grant(wanted->max_md_iovecs, 1, all.max_md_iovecs),
		.max_me_list = grant(wanted->max_me_list, 1, all.max_me_list),
		.max_getput_md = grant(wanted->max_getput_md, 1, all.max_getput_md),
	};
	block = (struct block_limits){
		.portals = given->max_pt_index + 1, .acs = given->max_ac_index + 1,
		.mes = given->max_mes, .mds = given->max_mds, .eqs = given->max_eqs,
	};
	block_grant(own_view(), &block, given->max_me_list, given->max_md_iovecs);
}

int64_t sys_ni_init(uint64_t iface, uint64_t pid, uint64_t desired, uint64_t actual,
                    uint64_t ni)
{
	uint64_t *handle = user_range(ni, sizeof(*handle), USER_WRITE);
	ptl_ni_limits_t *limits_out = user_range(actual, sizeof(*limits_out), USER_WRITE);
	const ptl_ni_limits_t *limits_in = user_range(desired, sizeof(*limits_in), USER_READ);
	struct interface *interface = &this_process()->interface;
	ptl_ni_limits_t wanted = most();

	if (!handle || (actual && !limits_out) || (desired && !limits_in))
		return PTL_SEGV;
	if (iface != PTL_IFACE_DEFAULT)
		return PTL_IFACE_INVALID;
	if ((uint32_t)pid != PTL_PID_ANY && (uint32_t)pid != this_process()->pid)
		return PTL_PID_INVALID;
	if (desired)
		wanted = *limits_in; /* once: a message may change it meanwhile */
	if (!interface->users) {
		link_shm_set_segment();
		if (!link_shm_lock())
			return PTL_FAIL;
		if (interface->opened_before)
			reopen(interface);
		interface->opened_before = true;
		grant_limits(&wanted);
		interface->handle = block_open(own_view());
		link_shm_unlock();
	}
	interface->users++;
	*handle = interface->handle;
	if (actual)
		*limits_out = interface->granted;
	return PTL_OK;
}

int64_t sys_ni_fini(uint64_t ni)
{
	struct interface *interface = &this_process()->interface;

	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (interface->users > 1) {
		interface->users--;
		return PTL_OK;
	}
	return close_block(portals_deadline(this_process()->segment.bytes));
}

int64_t sys_ni_status(uint64_t ni, uint64_t status_register, uint64_t value)
{
	uint64_t *out = user_range(value, sizeof(*out), USER_WRITE);

	if (!out)
		return PTL_SEGV;
	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (link_frames) /* a loop that polls these must see a change */
		link_frames_progress();
	return -block_status(own_view(), status_register, out);
}

int64_t portals_with_handle(int (*call)(struct process_view *, handle_t), uint64_t handle)
{
	int error;

	if (!portals_is_open())
		return PTL_NO_INIT;
	if (!link_shm_lock())
		return PTL_FAIL;
	error = call(own_view(), handle);
	link_shm_unlock();
	return -error;
}

int64_t sys_ni_handle(uint64_t handle, uint64_t ni)
{
	uint64_t *out = user_range(ni, sizeof(*out), USER_WRITE);

	if (!out)
		return PTL_SEGV;
	if (!portals_is_open())
		return PTL_NO_INIT;
	if (!block_is_alive(own_view(), handle))
		return PTL_HANDLE_INVALID;
	*out = this_process()->interface.handle;
	return PTL_OK;
}

/* Every node is one hop from every other: they share memory, or one network. */
int64_t sys_ni_dist(uint64_t ni, uint64_t target, uint64_t distance)
{
	uint64_t *out = user_range(distance, sizeof(*out), USER_WRITE);
	uint32_t nid = (uint32_t)target, pid = (uint32_t)(target >> 32);

	if (!out)
		return PTL_SEGV;
	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (nid >= node.size || pid != this_process()->pid)
		return PTL_PROCESS_INVALID;
	*out = nid != node.id;
	return PTL_OK;
}

int64_t sys_ac_entry(uint64_t args)
{
	const struct margay_ac_args *from = user_range(args, sizeof(*from), USER_READ);
	struct margay_ac_args in;
	struct ac_args entry;
	int error;

	if (!from)
		return PTL_SEGV;
	in = *from;
	entry = (struct ac_args){ .nid = in.nid, .pid = in.pid, .uid = in.uid, .jid = in.jid,
	                          .pt_index = in.pt_index };
	if (!portals_is_interface(in.ni))
		return PTL_NI_INVALID;
	if (!link_shm_lock())
		return PTL_FAIL;
	error = ac_set(own_view(), in.index, &entry);
	link_shm_unlock();
	return -error;
}
