/*
 * Frames by net/link/wire.c from the command line, for tests/test_wire.py: a line in,
 * a line out, numbers in decimal, bytes in hexadecimal, "-" for none.
 *
 *   W key to card sender card kind lane announce again over puts source destination
 *     sequence ack selective window other_ack other_window messages offset length part parts
 *     reach refused payload_crc message payload   -> frame
 *   R key node frame    -> result, and if it is OK the same fields as after W's key
 *   T frames            -> the bytes of each frame, then ".", or "-" if the bytes after the last
 *                          one are not another frame
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../net/link/wire.h"

#define MOST  (WIRE_DATA + 70000u)

static uint8_t message[MOST], payload[MOST], frame[MOST];

static uint64_t number(void)
{
	const char *word = strtok(0, " \n");

	return word ? strtoull(word, 0, 10) : 0;
}

/* Bytes into `to`; how many. */
static uint32_t bytes(uint8_t *to)
{
	const char *word = strtok(0, " \n");
	uint32_t n = 0;
	unsigned value;

	while (word && sscanf(word, "%2x", &value) == 1 && n < MOST) {
		to[n++] = (uint8_t)value;
		word += 2;
	}
	return n;
}

/* A copy of exactly these bytes, so that ASan finds any access past them. */
static uint8_t *exact(const uint8_t *from, uint32_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	memcpy(copy, from, n);
	return copy;
}

static void print(const uint8_t *from, uint32_t n)
{
	if (n == 0)
		putchar('-');
	while (n--)
		printf("%02x", *from++);
}

static uint32_t header_of(const struct wire *wire)
{
	if (wire->kind != WIRE_KIND_MSG || !wire->messages)
		return WIRE_HEADER;
	return wire->puts ? WIRE_PUT_DATA : WIRE_DATA;
}

/* The length of a message's header in this frame, which is a MSG. */
static uint32_t message_bytes(const struct wire *wire)
{
	return wire->puts ? WIRE_PUT : WIRE_MESSAGE;
}

static void do_write(const uint8_t *key)
{
	uint8_t to[6], from[6];
	struct wire wire;
	uint32_t header, third, node = (uint32_t)number();
	int check;

	memset(frame, 0, sizeof(frame));
	memset(&wire, 0, sizeof(wire));
	wire_address(to, node, (uint32_t)number());
	node = (uint32_t)number();
	wire_address(from, node, (uint32_t)number());
	wire.kind = (uint8_t)number();
	wire.lane = (uint8_t)number();
	wire.announce = (uint8_t)number();
	wire.again = (uint8_t)number();
	wire.over = (uint8_t)number();
	wire.puts |= (uint8_t)number();         /* the same bit: not both are 1 */
	wire.source = (uint32_t)number();
	wire.destination = (uint32_t)number();
	wire.sequence = (uint32_t)number();
	wire.ack = (uint32_t)number();
	wire.selective = number();
	wire.window = (uint8_t)number();
	wire.other_ack = (uint32_t)number();
	wire.other_window = (uint8_t)number();
	wire.messages = (uint32_t)number();
	wire.offset = number();
	wire.length = number();
	wire.part = (uint32_t)number();
	wire.parts = (uint16_t)number();
	wire.reach = (uint16_t)number();
	wire.refused |= number();               /* the same bytes: not both are set */
	check = number() != 0;
	bytes(message);
	wire.bytes = bytes(payload);
	header = header_of(&wire);
	if (wire.kind == WIRE_KIND_MSG && wire.messages)
		memcpy(frame + WIRE_HEADER + WIRE_ENTRY, message, message_bytes(&wire));
	wire_write(frame, wire_get(to, 6), wire_get(from, 6), &wire);
	/* in several pieces, as it would leave; those of a batch have multiples of 8 bytes */
	third = wire.messages > 1 ? 0 : wire.bytes / 3;
	wire_seal(key, check, (const struct nic_piece[]){
		{ frame, header }, { payload, third }, { payload + third, wire.bytes - third } }, 3);
	memcpy(frame + header, payload, wire.bytes);
	print(frame, header + wire.bytes);
}

static void print_fields(const uint8_t *from, uint32_t node, const struct wire *w)
{
	int message = w->messages > 0, grant = w->kind == WIRE_KIND_GRANT;
	int msg = w->kind == WIRE_KIND_MSG;

	printf(" %u %u %u %u %u %u ", node, from[3], w->node, from[9], w->kind, w->lane);
	printf("%u %u %u %u ", w->announce, w->again, msg ? 0 : w->over, msg ? w->puts : 0);
	printf("%u %u ", w->source, w->destination);
	printf("%u %u %" PRIu64 " %u ", w->sequence, w->ack, w->selective, w->window);
	printf("%u %u %u ", w->other_ack, w->other_window, w->messages);
	printf("%" PRIu64 " %" PRIu64 " ", message ? w->offset : 0, message ? w->length : 0);
	printf("%u %u %u ", grant || w->kind == WIRE_KIND_BULK ? w->part : 0,
	       grant ? w->parts : 0, grant ? w->reach : 0);
	printf("%" PRIu64 " ", msg ? w->refused : 0);
	print(w->message, message ? message_bytes(w) : 0);
	putchar(' ');
	print(w->payload, w->bytes);
}

static void do_read(const uint8_t *key)
{
	static const char *const results[] = {
		[WIRE_OK] = "OK", [WIRE_SHORT] = "SHORT", [WIRE_FOREIGN] = "FOREIGN",
		[WIRE_DAMAGED] = "DAMAGED", [WIRE_FORGED] = "FORGED", [WIRE_NONSENSE] = "NONSENSE"
	};
	uint32_t node = (uint32_t)number(), n = bytes(payload);
	uint8_t *copy = exact(payload, n);
	enum wire_result result;
	struct wire wire;

	result = wire_read(copy, n, node, key, &wire);
	printf("%s", results[result]);
	if (result == WIRE_OK)
		print_fields(copy, node, &wire);
	free(copy);
}

static void do_aggregate(void)
{
	uint32_t n = bytes(payload), at = 0, each;
	uint8_t *copy = exact(payload, n);

	do {
		each = wire_first(copy + at, n - at);
		printf("%u ", each);
		at += each;
	} while (at < n && wire_follows(copy, copy + at, n - at));
	putchar(at == n ? '.' : '-');
	free(copy);
}

int main(void)
{
	static char line[2 * 3 * MOST];

	while (fgets(line, sizeof(line), stdin)) {
		const char *what = strtok(line, " \n");
		uint8_t key[MOST];
		uint32_t keyed;

		if (what && *what == 'T') {
			do_aggregate();
		} else {
			keyed = bytes(key);
			if (what && *what == 'W')
				do_write(keyed ? key : 0);
			else
				do_read(keyed ? key : 0);
		}
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
