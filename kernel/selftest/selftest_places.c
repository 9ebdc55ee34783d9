/*
 * Memory for raw frames, and its contents. Frames touch as much of it as the messages that they are
 * compared with, at sender and receiver. A receiver copies a payload to its place, or gives a bulk
 * card a chain of buffers exactly as long as the payload, as for messages. Used by
 * selftest_frames.c. Data: the memory, the next places, the length of the buffers.
 */
#include "selftest_places.h"

#include "kernel/process/process.h"
#include "net/port.h"

#define LINE 64u                   /* places begin at a cache line, like those of messages */

static struct {
	uint8_t *source, *target;
	uint32_t bytes;            /* bytes in use of each half */
	uint32_t from, to;         /* next place in each */
	uint32_t room_bytes;       /* payload bytes of a buffer */
	uint32_t rooms;            /* buffers given to the card */
	void (*landed)(void *context, const uint8_t *header, uint32_t bytes);
} places;

uint64_t places_middle(uint64_t bytes)
{
	const struct segment *segment = &this_process()->segment;
	uint64_t middle = segment->bytes / 2 & ~(uint64_t)0x1fffff;

	return middle >= segment->data_offset && middle + bytes <= segment->guard_offset ?
	       middle : 0;
}

void places_start(uint8_t *memory, uint32_t bytes)
{
	places.source = memory;
	places.target = memory + PLACES_MOST;
	places.bytes = bytes;
	places.from = places.to = 0;
}

/* Takes the place at *next and advances it, with wrap-around. */
static uint32_t take(uint32_t *next, uint32_t bytes)
{
	uint32_t at = *next + bytes > places.bytes ? 0 : *next;

	*next = (at + bytes + LINE - 1) & ~(LINE - 1);
	return at;
}

uint8_t *places_source(uint32_t bytes)
{
	return places.source + take(&places.from, bytes);
}

static uint8_t pattern(uint64_t sequence, uint32_t at)
{
	return (uint8_t)(sequence * 31 + at * 7 + (at >> 8));
}

void places_fill(uint64_t sequence, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at++)
		places.source[at] = pattern(sequence, at);
}

bool places_check(uint64_t sequence, const uint8_t *payload, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at++)
		if (payload[at] != pattern(sequence, at))
			return false;
	return true;
}

void places_copy(const uint8_t *payload, uint32_t bytes)
{
	port_copy(places.target + take(&places.to, bytes), payload, bytes);
}

static bool post(struct nic *nic)
{
	const struct nic_piece piece = {
		places.target + take(&places.to, places.room_bytes), places.room_bytes };

	if (nic->ops->post(nic, &piece, 1, (places.rooms + 1) % PLACES_TELL == 0) != NIC_OK)
		return false;
	places.rooms++;
	return true;
}

/* Without a header all buffers are gone: the card was reset. */
static void landed(void *context, const uint8_t *header, uint32_t bytes)
{
	if (!header)
		return;
	places.landed(context, header, bytes);
	post((struct nic *)context);
}

void places_open_rooms(struct nic *nic, uint32_t bytes,
                       void (*user)(void *context, const uint8_t *header, uint32_t bytes))
{
	places.room_bytes = bytes - NIC_BULK_HEADER;
	places.rooms = 0;
	places.landed = user;
	nic->context = nic;
	nic->landed = landed;
	while (post(nic))
		;
}

void places_close_rooms(struct nic *nic)
{
	nic->ops->withdraw(nic);
}
