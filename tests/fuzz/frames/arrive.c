/*
 * The fuzzer's frames: the frames that arrive in a step, correct except where the step changes
 * them.
 */
#include <string.h>
#include "fuzz_frames.h"
#include "../../../net/frames/state.h"
#include "../../../net/link/wire.h"
#include "../../../net/port.h"
#include "../../../net/portals/md.h"
#include "../../../net/portals/op.h"

#define MOST_PARTS  12u            /* of a message that arrives in one step */

/* Bytes of a frame's header. */
static uint32_t header_bytes(const struct wire *wire)
{
	if (wire->messages)
		return wire->puts ? WIRE_PUT_DATA : WIRE_DATA;
	return WIRE_HEADER;
}

static const uint8_t key[WIRE_KEY_BYTES] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
};

const uint8_t *job_key(void)
{
	return job & JOB_KEYED ? key : 0;
}

/* The header of a message of that node, mostly an acceptable one. */
struct message header_of(const struct step *step, uint32_t node, uint64_t length)
{
	struct message m = { .operation = step->operation % (MESSAGE_OPERATIONS + 1),
			     .source_nid = node, .source_pid = 1, .target_pid = 1, .uid = 1000,
			     .jid = 7, .pt_index = 2, .match_bits = 5, .offset = step->value & 0xfff,
			     .length = length, .mlength = length };

	if (m.operation == MESSAGE_GET || m.operation == MESSAGE_ACK)
		m.length = step->value >> 12 & 0x3ff;
	if (m.operation == MESSAGE_ATOMIC || m.operation == MESSAGE_FETCH_ATOMIC) {
		m.atomic_operation = step->more % ATOMIC_OPERATIONS;
		m.datatype = step->more / 16 % ATOMIC_TYPES;
		if (m.atomic_operation == ATOMIC_CSWAP)
			m.length /= 2;
	}
	if (m.operation == MESSAGE_ACK)
		m.link = step->value >> 28 & 1;
	if (step->flags & 0x40) {
		m.ack_request = ACK_YES;
		m.op_handle = view.ops[step->more % limits.ops].handle;
		m.eq_handle = view.ops[step->more % limits.ops].eq_handle;
		m.md_handle = source;
	}
	if (step->flags & 0x80)
		((uint8_t *)&m)[step->header_at % sizeof(m)] = step->header_value;
	return m;
}

/* The same for a plain put. */
static struct plain_put put_of(const struct step *step, uint32_t node)
{
	struct message m = header_of(step, node, 0);

	return (struct plain_put){ m.pt_index, m.cookie, m.match_bits, m.offset, m.hdr_data };
}

/* Deliver bytes. If they are not a valid frame, they must have no effect. */
void hand_up(const uint8_t *frame, uint32_t bytes)
{
	uint64_t before = link_digest(link_);
	struct wire wire;

	nic.receive(nic.context, frame, bytes);
	if (wire_read(frame, wire_first(frame, bytes), 0, job_key(), &wire) != WIRE_OK)
		MUST(link_digest(link_) == before);
}

/* The same frame twice, one after the other; the second may be cut. */
static void hand_up_twice(const uint8_t *frame, uint32_t bytes)
{
	static uint8_t aggregate[2 * (WIRE_DATA + 65536)];

	memcpy(aggregate, frame, bytes);
	memcpy(aggregate + bytes, frame, bytes);
	hand_up(aggregate, 2 * bytes);
}

/* Make the payload of a batch of `n` equal messages; returns its length. */
static uint32_t fill_batch(const struct step *step, uint32_t node, uint32_t n, uint32_t length,
			    uint8_t *payload)
{
	struct plain_put put = put_of(step, node);
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i > 0) {
			wire_put(payload + at, length, 8);
			wire_put(payload + at + 8, step->header_at % 16 == 15, 8);
			memcpy(payload + at + WIRE_ENTRY, &put, sizeof(put));
			at += WIRE_ENTRY + WIRE_PUT;
		}
		memset(payload + at, 0, wire_padded(length));
		memset(payload + at, (int)(step->value + i), length);
		at += wire_padded(length);
	}
	return at;
}

/* Write a frame of that node, change it as the step says, and deliver it. */
static void arrive_one(const struct step *step, uint32_t node, int on_bulk, struct wire *wire)
{
	static uint8_t frame[WIRE_DATA + 65536];
	struct message message = header_of(step, node, wire->length);
	int is_batch = wire->messages > 1;
	struct plain_put put = put_of(step, node);
	uint32_t header = header_bytes(wire), bytes = header + wire->bytes;
	struct nic_piece whole = { frame, bytes };
	uint8_t to[6], from[6];

	memcpy(frame + LINK_FRAME_BYTES, &message, sizeof(message));
	if (wire->puts)
		memcpy(frame + LINK_FRAME_BYTES, &put, sizeof(put));
	if (is_batch) {
		wire->bytes = fill_batch(step, node, 2 + step->bytes % 5, (uint32_t)wire->length,
					  frame + header);
		whole.length = bytes = header + wire->bytes;
	}
	for (uint32_t i = 0; i < wire->bytes && !is_batch; i++)
		frame[header + i] = (uint8_t)(step->value + i);
	wire_address(to, 0, 0);
	wire_address(from, step->how & 0x20 ? step->value & 0xffff : node, 0);
	wire_write(frame, wire_get(to, 6), wire_get(from, 6), wire);
	if (is_batch && step->flags & 16)
		frame[header + step->offset % wire->bytes] ^= (uint8_t)step->value;
	wire_seal(0, job & JOB_CHECKED, &whole, 1);
	if (step->incarnation & 0x80)
		frame[WIRE_KIND] ^= (uint8_t)step->value;
	if (job & JOB_KEYED)
		wire_seal(key, 0, &whole, 1);
	if (step->how & 0x40)
		frame[step->bit / 8 % bytes] ^= (uint8_t)(1 << step->bit % 8);
	if (step->how & 0x80)
		bytes = step->bit % (bytes + 2);
	if (on_bulk && (step->header_value == 1 || step->how & 8))
		land(frame, bytes);
	else if (step->more % 4 == 3)
		hand_up_twice(frame, bytes);
	else
		hand_up(frame, bytes);
}

/* All parts of a message, from the `last` one or from the first. */
static void arrive_whole(const struct step *step, uint32_t node, struct wire *wire, int last)
{
	uint32_t cut = step->bytes & 1 ? 256 : 64, first = wire->sequence;
	uint32_t n = wire->length ? ((uint32_t)wire->length - 1) / cut + 1 : 1;

	for (uint32_t i = 0; i < n && i < MOST_PARTS; i++) {
		uint32_t part = last ? n - 1 - i : i;

		wire->sequence = first + part;
		wire->offset = (uint64_t)part * cut;
		wire->bytes = wire->length - wire->offset < cut ?
			(uint32_t)(wire->length - wire->offset) : cut;
		arrive_one(step, node, 0, wire);
	}
}

/* The kind of a frame by a number. */
enum shape { DATA, BARE, RESET, ANNOUNCEMENT, GRANT, BULK, NEXT_BULK, BATCH };

static const uint8_t kinds[] = {
	[DATA] = WIRE_KIND_MSG, [BARE] = WIRE_KIND_MSG, [RESET] = WIRE_KIND_RESET,
	[ANNOUNCEMENT] = WIRE_KIND_MSG, [GRANT] = WIRE_KIND_GRANT, [BULK] = WIRE_KIND_BULK,
	[NEXT_BULK] = WIRE_KIND_BULK, [BATCH] = WIRE_KIND_MSG
};

void arrive(const struct step *step, int on_bulk)
{
	uint32_t node = 1 + step->node % (NODES - 1), lane = step->flags & 1;
	struct link_view at = link_look(link_, node, lane);
	enum shape shape = on_bulk ? (enum shape)(step->how % 8) : step->how % 8 < 6 ? DATA :
		step->how % 8 < 7 ? BARE : RESET;
	struct wire wire = {
		.kind = kinds[shape], .announce = shape == ANNOUNCEMENT,
		.lane = (uint8_t)lane, .again = step->flags >> 1 & 1, .over = step->flags >> 2 & 1,
		.source = 500u + (step->incarnation & 3), .destination = at.mine,
		.sequence = (step->header_at & 0x80 ? at.begun : at.expected) +
			(uint32_t)step->sequence,
		.ack = at.una + (uint32_t)step->ack,
		.other_ack = link_look(link_, node, !lane).una + (uint32_t)(step->ack / 2),
		.selective = step->selective << 1 | (step->flags >> 5 & 1), .window = step->window,
		.other_window = step->selective & 255
	};

	if (wire.kind == WIRE_KIND_BULK)
		wire.over = 0;
	if (shape == DATA || shape == ANNOUNCEMENT)
		wire.messages = 1;
	wire.part = shape == BULK && step->offset < 0x8000 ? at.part : step->offset % 8;
	if (shape == NEXT_BULK)
		wire.part = at.part + step->offset % 4;
	wire.parts = (uint16_t)(step->flags & 8 ? step->value : step->length % 8);
	wire.reach = step->bytes % 4;
	if (shape == BARE)
		wire.refused = step->selective >> 7;
	if (shape == GRANT) {
		wire.sequence = (at.sent_parts ? at.sent : at.una) + (uint32_t)(step->sequence / 16);
		if (at.sent_parts && !(step->flags & 8)) {
			wire.part = step->offset % at.sent_parts;
			wire.parts = (uint16_t)(1 + step->length % at.sent_parts);
		}
	}
	if (wire.kind == WIRE_KIND_BULK) {
		wire.sequence = at.bulk + (uint32_t)(step->sequence / 16);
		wire.bytes = step->flags & 16 ? 1 + step->bytes % 256 : at.part_bytes;
	}
	if (shape == ANNOUNCEMENT) {
		wire.offset = step->flags & 16 ? 1 + step->bytes % 2048 : 256;
		wire.bytes = step->flags & 32 ? step->length % (WIRE_TAIL_BYTES + 8) : 0;
		wire.length = wire.offset + step->length % 2048 + wire.bytes;
	}
	if (shape == DATA || shape == ANNOUNCEMENT || shape == BATCH)
		wire.puts = shape == BATCH ? !(step->flags & 4) :
			shape == DATA && !(step->how & 8) && step->flags & 4;
	if (shape == BATCH) {
		wire.length = step->length % (step->flags & 8 ? 200 : 16);
		wire.messages = 2 + step->bytes % 5 + (step->how >> 4 & 1);
		wire.bytes = 1;
	}
	if (step->incarnation & 0x10)
		wire.destination = step->incarnation & 0x20 ? 0 : step->value;
	if (step->incarnation & 0x40)
		wire.source = step->value;
	if (shape == DATA) {
		wire.length = step->flags & 8 ? step->length % 2048 : step->length % 256;
		if (step->how & 8) {
			arrive_whole(step, node, &wire, step->flags & 4);
			return;
		}
		wire.bytes = step->flags & 16 ? step->bytes % 257 : 0;
		wire.offset = step->flags & 16 ? (uint64_t)(step->offset % 16) * wire.bytes :
			step->offset;
		if (!(step->flags & 16)) {
			/* a fragment as a correct sender cuts it */
			uint32_t cut = step->bytes & 1 ? 256 : 64, n = wire.length ?
				((uint32_t)wire.length - 1) / cut + 1 : 1;

			wire.offset = (uint64_t)(step->offset % n) * cut;
			wire.bytes = wire.length - wire.offset < cut ?
				(uint32_t)(wire.length - wire.offset) : cut;
		}
		if (step->how & 0x10)
			wire.length = ((uint64_t)step->value << 16 | step->length) & WIRE_MOST_LENGTH;
	}
	arrive_one(step, node, on_bulk, &wire);
}
