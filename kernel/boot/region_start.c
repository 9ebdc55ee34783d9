/*
 * Joining the shared region. Runs once, at boot, when the command line says link=shm or
 * link=frames; with link=frames a node may also have no region. Data: the region's numbers, copied
 * from its header and checked. The header is not read after that, since every kernel of the job can
 * write there.
 */
#include "region_start.h"

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/files/stdin.h"
#include "kernel/loader/parameters.h"
#include "kernel/process/process.h"
#include "kernel/transport/wait.h"
#include "net/shm/region.h"

static struct region opened;

/* The console's wait for room in its ring, and its bell. */
static void wait_for_launcher(bool (*ready)(void *arg), void *arg)
{
	wait_until(ready, arg, NEVER, "room in the console ring");
}

static void wake_launcher(void)
{
	ivshmem_ring(node.region->nodes);
}

void region_start(void)
{
	struct block_place *block = &this_process()->block;
	const struct region *region = &opened;
	struct ivshmem device;
	int error = ivshmem_start(&device);

	if (error == IVSHMEM_ABSENT && parameters.frames)
		return; /* link=frames on separate machines */
	if (error)
		panic("link=shm, but %s", ivshmem_error_text(error));
	error = region_open(&opened, device.memory, device.bytes);
	if (error)
		panic("the shared region is not usable: %s", region_error_text(error));
	if (device.id != node.id || node.id >= region->nodes)
		panic("this is node %u of %u, but its ivshmem device is peer %u", node.id,
		      region->nodes, device.id);
	if (node.size != region->nodes)
		panic("the command line says n=%u, but the region has %u nodes", node.size,
		      region->nodes);
	node.region = region;
	node.region_physical = device.physical;
	node.region_bytes = device.bytes;
	node.own = region_node(region, node.id);
	block->pointer = region_slice(region, node.id) + region->block_offset;
	block->bytes = region->block_bytes;
	block->physical = device.physical + (uint64_t)(block->pointer - (uint8_t *)device.memory);
	count(COUNTER_KERNEL_BYTES, block->bytes);
	console_use_ring(wait_for_launcher, wake_launcher);
	stdin_start();
	wall_set(node.own->start_ns);
}
