/*
 * The node's output. Data: the writer's side of the console ring. Only this
 * node's processor writes, with interrupts off; the launcher reads.
 *
 * A record is written whole or not at all: the position `written` moves after
 * the record's last byte is in place.
 */
#include "console.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../drivers/ivshmem.h"
#include "../drivers/screen.h"
#include "../drivers/serial.h"
#include "../net/shm/region.h"
#include "format.h"
#include "node.h"
#include "string.h"
#include "time.h"
#include "wait.h"

#define RECORD_ALIGN  8u
#define RECORD_LIMIT  16384u       /* data bytes in one record at most */
#define LINE_BYTES    512u

static struct region_ring *ring;   /* NULL: serial port and screen */
static uint64_t ring_bytes;        /* of data: a power of two */
static uint64_t written;           /* own copy: the ring's is for the launcher */

void console_use_ring(void)
{
	ring = (struct region_ring *)(region_slice(node.region, node.id) +
	                              node.region->console_offset);
	ring_bytes = node.region->console_bytes - sizeof(*ring);
	written = atomic_load(&ring->written);
}

void console_panic(void)
{
	ring = NULL;
}

/* A neighbour can write there as well: a position that cannot be is no room. */
static uint64_t room(void)
{
	uint64_t used = written - atomic_load_explicit(&ring->taken, memory_order_acquire);

	return used <= ring_bytes ? ring_bytes - used : 0;
}

static bool has_room(void *arg)
{
	const uint64_t *wanted = arg;

	if (room() >= *wanted)
		return true;
	/* Both at each look: a neighbour may have overwritten them. The launcher then puts
	 * its own position right (tools/margaylib/ring.py). */
	atomic_store(&ring->written, written);
	atomic_store(&node.own->console_waits, 1);
	return room() >= *wanted;
}

/* Puts bytes at position `at`, around the ring's end; returns the position behind. */
static uint64_t put(uint64_t at, const void *data, uint64_t bytes)
{
	uint64_t offset = at & (ring_bytes - 1);
	uint64_t first = bytes < ring_bytes - offset ? bytes : ring_bytes - offset;

	memcpy(ring->data + offset, data, first);
	memcpy(ring->data, (const uint8_t *)data + first, bytes - first);
	return at + bytes;
}

static uint64_t record_bytes(uint64_t bytes)
{
	return sizeof(struct region_record) + ((bytes + RECORD_ALIGN - 1) & -(uint64_t)RECORD_ALIGN);
}

static void write_record(uint16_t stream, const void *data, uint32_t bytes)
{
	struct region_record record = { .bytes = bytes, .stream = stream };
	uint64_t whole = record_bytes(bytes), at;

	if (room() < whole) {
		count(COUNTER_CONSOLE_WAITS, 1);
		wait_until(has_room, &whole, NEVER, "room in the console ring");
	}
	at = put(written, &record, sizeof(record));
	put(at, data, bytes);
	written += whole;
	atomic_store_explicit(&ring->written, written, memory_order_release);
	ivshmem_ring(node.region->nodes);
}

/* Without a region there is one stream for people, on the serial port and on the
 * screen: what is not for them is marked. */
static void write_plain(uint16_t stream, const void *data, uint64_t bytes)
{
	static const char mark[] = "margay: stats ";

	if (stream == STREAM_STATS) {
		screen_write(mark, sizeof(mark) - 1);
		serial_write(mark, sizeof(mark) - 1);
	}
	screen_write(data, bytes); /* first: what has left the serial port is on the screen */
	serial_write(data, bytes);
}

void console_write(uint16_t stream, const void *data, uint64_t bytes)
{
	const uint8_t *from = data;
	uint64_t limit = RECORD_LIMIT;

	count(COUNTER_CONSOLE_BYTES, bytes);
	if (!ring) {
		write_plain(stream, data, bytes);
		return;
	}
	if (limit > ring_bytes / 4)
		limit = ring_bytes / 4;
	while (bytes) {
		uint64_t part = bytes < limit ? bytes : limit;

		write_record(stream, from, (uint32_t)part);
		from += part;
		bytes -= part;
	}
}

void kernel_line(const char *format, ...)
{
	char line[LINE_BYTES];
	size_t used = format_text(line, sizeof(line), "margay: ");
	va_list list;

	va_start(list, format);
	used += format_list(line + used, sizeof(line) - used - 1, format, list);
	va_end(list);
	line[used++] = '\n';
	console_write(STREAM_KERNEL, line, used);
}
