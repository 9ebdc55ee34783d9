/*
 * Reading standard input. The launcher writes its ring, but any kernel can: its numbers are read
 * once and checked. Data: whether this node reads it, its read position, and whether the ring is
 * damaged.
 */
#include "stdin.h"

#include <stdatomic.h>

#include "../../include/margay/abi.h"
#include "drivers/ivshmem.h"
#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/wait.h"
#include "net/shm/region.h"

static bool reads;                 /* this node reads it; false: there is nothing to read */
static uint64_t taken;             /* own copy; the entry's is for the launcher */
static bool damaged;               /* the ring: nothing more is read */

static struct region_ring *stdin_ring(void)
{
	return region_at(node.region, node.region->stdin_ring);
}

void stdin_start(void)
{
	reads = atomic_load(&node.own->stdin_reads);
	taken = atomic_load(&node.own->stdin_taken); /* not 0 in a restarted node */
}

/* Bytes to read; more than the ring holds are damage. */
static uint64_t available(void)
{
	uint64_t bytes = atomic_load(&stdin_ring()->written) - taken;

	if (bytes <= node.region->stdin_bytes - sizeof(struct region_ring))
		return bytes;
	damaged = true;
	return 0;
}

static bool is_ready(void)
{
	return available() || damaged || atomic_load(&stdin_ring()->closed);
}

static bool has_input(void *unused)
{
	(void)unused;
	if (is_ready())
		return true;
	/* Both are stored each time: another node may have overwritten them. */
	atomic_store(&node.own->stdin_taken, taken);
	if (!atomic_exchange(&node.own->stdin_wanted, 1))
		ivshmem_ring(node.region->nodes);
	return is_ready();
}

/* The ring has input or has ended: reports an end by damage. */
static void arrived(void)
{
	atomic_store(&node.own->stdin_wanted, 0);
	if (damaged) {
		console_line("rank %u (node %u): the ring of standard input is damaged; nothing more "
		             "is read from it", this_process()->rank, node.id);
		reads = false;
	}
}

int64_t stdin_read(void *to, uint64_t bytes, bool waits)
{
	struct region_ring *ring;
	uint64_t size, there, first;

	if (!reads || !bytes)
		return 0;
	if (!waits && !has_input(NULL))
		return -EAGAIN;
	if (wait_or_upcall(has_input, NULL, NEVER, "standard input") == WAIT_UPCALL)
		return -EINTR;
	ring = stdin_ring();
	size = node.region->stdin_bytes - sizeof(*ring);
	there = available();       /* once: the launcher adds to it */
	arrived();
	if (bytes > there)
		bytes = there;
	first = size - (taken & (size - 1));
	if (first > bytes)
		first = bytes;
	memcpy(to, ring->data + (taken & (size - 1)), first);
	memcpy((uint8_t *)to + first, ring->data, bytes - first);
	taken += bytes;
	atomic_store(&node.own->stdin_taken, taken);
	if (there - bytes <= size / 2 && atomic_load(&ring->full) && atomic_exchange(&ring->full, 0))
		ivshmem_ring(node.region->nodes);
	return (int64_t)bytes;
}

int64_t stdin_await(uint64_t deadline)
{
	enum wait_end end;

	if (!reads)
		return MARGAY_READY_IN | MARGAY_READY_END;
	end = wait_or_upcall(has_input, NULL, deadline, "standard input, in poll or select");
	if (end != WAIT_READY)
		return end == WAIT_UPCALL ? -EINTR : 0;
	if (available())
		return MARGAY_READY_IN;
	arrived();
	return MARGAY_READY_IN | MARGAY_READY_END;
}
