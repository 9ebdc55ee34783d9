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

#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "net/port.h"
#include "net/shm/region.h"
#include "screen.h"
#include "serial.h"

#define RECORD_ALIGN  sizeof(struct region_record)
#define RECORD_LIMIT  16384u       /* data bytes in one record at most */
#define PLAIN_PIECE   256u         /* bytes: 22 ms of a serial port */
#define LINE_BYTES    512u
#define REPORT_BYTES  4096u

static struct region_ring *ring;   /* NULL: serial port and screen */
static uint64_t ring_bytes;        /* of data: a power of two */
static uint64_t written;           /* own copy; the ring's is for the launcher */

/* How to wait for the launcher, and how to wake it: console_use_ring names both. */
static void (*wait_for_launcher)(bool (*ready)(void *arg), void *arg);
static void (*wake_launcher)(void);

static void (*serve_others)(void); /* between pieces of output without a ring; NULL: nothing to do */

enum report_state { REPORT_NONE, REPORT_GATHERED, REPORT_LEAVES };
static enum report_state report_state;
static char report[REPORT_BYTES];  /* REPORT_GATHERED: lines that are written as one record */
static size_t report_used;

void console_use_ring(void (*wait)(bool (*ready)(void *arg), void *arg), void (*wake)(void))
{
	wait_for_launcher = wait;
	wake_launcher = wake;
	ring = (struct region_ring *)(region_slice(node.region, node.id) +
	                              node.region->console_offset);
	ring_bytes = node.region->console_bytes - sizeof(*ring);
	written = atomic_load(&ring->written);
}

void console_serves(void (*serve)(void))
{
	serve_others = serve;
}

void console_panic(void)
{
	ring = NULL;
	serve_others = NULL;
	console_end_report();
}

/* Other nodes can write there as well: an impossible position counts as no room. */
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
	/* Both are stored each time: another node may have overwritten them. The launcher then
	 * corrects its own position (tools/margaylib/ring.py). */
	atomic_store(&ring->written, written);
	atomic_store(&node.own->console_waits, 1);
	return room() >= *wanted;
}

/* Puts bytes at position `at`, around the ring's end. */
static void put(uint64_t at, const void *data, uint64_t bytes)
{
	uint64_t offset = at & (ring_bytes - 1), first = ring_bytes - offset;

	if (bytes <= first) {
		port_copy(ring->data + offset, data, bytes);
		return;
	}
	port_copy(ring->data + offset, data, first);
	port_copy(ring->data, (const uint8_t *)data + first, bytes - first);
}

static uint64_t record_bytes(uint64_t bytes)
{
	return sizeof(struct region_record) + ((bytes + RECORD_ALIGN - 1) & -RECORD_ALIGN);
}

/* The record is complete: rings the launcher, unless it will see the record before it waits. */
static void tell_launcher(void)
{
	_Atomic uint32_t *idle = &node.region->shared->idle;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(idle, memory_order_relaxed) && atomic_exchange(idle, 0))
		wake_launcher();
}

static void write_record(uint16_t stream, const void *data, uint32_t bytes)
{
	struct region_record record = { .bytes = bytes, .stream = stream };
	uint64_t whole = record_bytes(bytes);

	if (room() < whole) {
		count(COUNTER_CONSOLE_WAITS, 1);
		wake_launcher(); /* the launcher may sleep although there is output */
		wait_for_launcher(has_room, &whole);
	}
	/* The header lies in one piece: positions are multiples of its size. */
	*(struct region_record *)(ring->data + (written & (ring_bytes - 1))) = record;
	put(written + sizeof(record), data, bytes);
	written += whole;
	atomic_store_explicit(&ring->written, written, memory_order_release);
	tell_launcher();
}

/* Without a region, the serial port and the screen show one stream: records other than plain output
 * are marked. */
static void write_plain(uint16_t stream, const uint8_t *data, uint64_t bytes)
{
	static const char mark[] = "margay: stats ";

	if (stream == STREAM_STATS) {
		screen_write(mark, sizeof(mark) - 1);
		serial_write(mark, sizeof(mark) - 1);
	}
	while (bytes) {
		uint64_t part = bytes < PLAIN_PIECE ? bytes : PLAIN_PIECE;

		screen_write(data, part); /* first: what was sent is on the screen */
		serial_write(data, part);
		data += part;
		bytes -= part;
		if (bytes && serve_others)
			serve_others();
	}
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

/* One record, so that the launcher gets all of it at once. If a report comes while this one waits
 * for room in the ring (region_requests.c), it is written line by line. */
static void write_report(void)
{
	report_state = REPORT_LEAVES;
	console_write(STREAM_KERNEL, report, report_used);
	report_used = 0;
}

void console_begin_report(void)
{
	if (report_state == REPORT_NONE)
		report_state = REPORT_GATHERED;
}

void console_end_report(void)
{
	if (report_state != REPORT_GATHERED)
		return;
	write_report();
	report_state = REPORT_NONE;
}

static void write_line(const char *line, size_t bytes)
{
	if (report_state != REPORT_GATHERED) {
		console_write(STREAM_KERNEL, line, bytes);
		return;
	}
	if (report_used + bytes > sizeof(report)) {
		write_report();
		report_state = REPORT_GATHERED;
	}
	memcpy(report + report_used, line, bytes);
	report_used += bytes;
}

void console_line(const char *format, ...)
{
	char line[LINE_BYTES];
	size_t used = format_text(line, sizeof(line), "margay: ");
	va_list list;

	va_start(list, format);
	used += format_list(line + used, sizeof(line) - used - 1, format, list);
	va_end(list);
	line[used++] = '\n';
	write_line(line, used);
}
