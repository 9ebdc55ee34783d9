/*
 * Reading and writing frames: see wire.h. No state. Called by the link for
 * every frame; what arrives may be anything.
 */
#include "wire.h"
#include "siphash.h"
#include "../port.h"

_Static_assert(WIRE_KEY_BYTES == SIPHASH_KEY_BYTES, "one key for both");

#define ADDRESS_PREFIX  0x474d02u  /* 02:4d:47, as wire_get reads it */

void wire_address(uint8_t *address, uint32_t node, uint32_t card)
{
	wire_put(address, ADDRESS_PREFIX, 3);
	address[3] = (uint8_t)card;
	address[4] = (uint8_t)(node >> 8);
	address[5] = (uint8_t)node;
}

static uint32_t node_of(const uint8_t *address)
{
	return (uint32_t)address[4] << 8 | address[5];
}

/* Of a header of either length. */
static uint32_t checksum(const uint8_t *frame, uint32_t bytes)
{
	return bytes == WIRE_DATA ? wire_checksum(frame, WIRE_DATA) :
		wire_checksum(frame, WIRE_HEADER);
}

static uint64_t mix_all(uint64_t state, const uint8_t *words, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8)
		state = wire_mix(state, wire_get(words + at, 8));
	return state;
}

/* Of a frame of which `bytes` bytes are at `frame`, its header and perhaps more, and the others
 * in `n` pieces; each is a multiple of 8. */
static uint32_t sum_bundle(const uint8_t *frame, uint32_t bytes, const struct nic_piece *pieces,
			   uint32_t n)
{
	uint64_t state = mix_all(wire_mixed(frame, WIRE_DATA), frame + WIRE_DATA,
				 bytes - WIRE_DATA);

	for (uint32_t i = 0; i < n; i++)
		state = mix_all(state, pieces[i].bytes, pieces[i].length);
	return wire_folded(state);
}

void wire_sum_bundle(uint8_t *frame, const struct nic_piece *pieces, uint32_t n)
{
	wire_put(frame + WIRE_CHECKSUM,
		 sum_bundle(frame, pieces[0].length, pieces + 1, n - 1), 4);
}

uint64_t wire_tag(const uint8_t *key, const uint8_t *frame, uint32_t bytes,
		  const struct nic_piece *pieces, uint32_t n)
{
	struct siphash hash;

	siphash_start(&hash, key);
	siphash_add(&hash, frame, WIRE_TAG);
	siphash_add(&hash, frame + WIRE_TAG + 8, bytes - WIRE_TAG - 8);
	for (uint32_t i = 0; i < n; i++)
		siphash_add(&hash, pieces[i].bytes, pieces[i].length);
	return siphash_end(&hash);
}

void wire_sign(const uint8_t *key, uint8_t *frame, const struct nic_piece *pieces, uint32_t n)
{
	frame[WIRE_AT_VERSION] = WIRE_SIGNED;
	wire_put(frame + WIRE_TAG, wire_tag(key, frame, pieces[0].length, pieces + 1, n - 1), 8);
}

static int is_ours(const uint8_t *frame, uint32_t node, uint32_t version)
{
	return wire_get(frame + WIRE_DESTINATION, 3) == ADDRESS_PREFIX &&
	       node_of(frame + WIRE_DESTINATION) == node &&
	       wire_get(frame + WIRE_SOURCE, 3) == ADDRESS_PREFIX &&
	       frame[WIRE_TYPE] == WIRE_ETHERTYPE >> 8 &&
	       frame[WIRE_TYPE + 1] == (WIRE_ETHERTYPE & 0xff) &&
	       frame[WIRE_AT_VERSION] == version;
}

/* How long a header of this kind is. */
static uint32_t header_of(uint32_t kind)
{
	return kind == WIRE_KIND_DATA || kind == WIRE_KIND_ANNOUNCE || kind == WIRE_KIND_BUNDLE ?
		WIRE_DATA : WIRE_HEADER;
}

static int has_payload(uint32_t kind)
{
	return kind == WIRE_KIND_DATA || kind == WIRE_KIND_BULK || kind == WIRE_KIND_ANNOUNCE;
}

int wire_is_train(const uint8_t *frame, uint32_t bytes, uint32_t node, const uint8_t *key)
{
	return bytes > WIRE_TRAIN && frame[WIRE_KIND] == WIRE_KIND_TRAIN &&
	       is_ours(frame, node, key ? WIRE_SIGNED : WIRE_VERSION);
}

uint32_t wire_in_train(const uint8_t *train, uint32_t bytes, uint32_t at)
{
	const uint8_t *frame = train + at;
	uint32_t kind, length;

	if (bytes - at < WIRE_HEADER || wire_get(frame, 8) != wire_get(train, 8) ||
	    wire_get(frame + WIRE_KIND - 8, 8) != wire_get(train + WIRE_KIND - 8, 8))
		return 0;
	kind = frame[WIRE_KIND] & WIRE_KIND_MASK;
	length = header_of(kind);
	if (kind != WIRE_KIND_GRANT)
		length += (uint32_t)wire_get(frame + WIRE_PAYLOAD, 2);
	if (kind == WIRE_KIND_TRAIN || length > bytes - at ||
	    (length % 8 && length < bytes - at))
		return 0;
	return length;
}

void wire_write_train(uint8_t *train, const uint8_t *frame)
{
	wire_put(train, wire_get(frame, 8), 8);
	wire_put(train + 8, wire_get(frame + 8, 8), 8);
	train[WIRE_KIND] = WIRE_KIND_TRAIN;
}

static int acknowledges(uint32_t kind)
{
	return kind != WIRE_KIND_RESET && kind != WIRE_KIND_BULK && kind != WIRE_KIND_MARK;
}

static int has_turn(uint32_t kind)
{
	return kind >= WIRE_KIND_GRANT && kind <= WIRE_KIND_MARK;
}

/* A fragment: within its message, and not empty unless the message is. */
static int is_fragment(const struct wire *wire)
{
	return wire->bytes <= WIRE_MOST_PAYLOAD && wire->offset <= wire->length &&
	       wire->bytes <= wire->length - wire->offset &&
	       (wire->bytes > 0 || wire->length == 0);
}

int wire_walk(struct wire_walk *walk)
{
	const struct wire *wire = walk->wire;
	const uint8_t *header = wire->message, *payload = wire->payload;
	uint64_t bytes = wire->length;
	uint32_t at = walk->at;

	if (walk->n > 0) {
		if (wire->bytes - at < WIRE_ENTRY + WIRE_MESSAGE)
			return 0;
		bytes = wire_get(payload + at, 8); /* what must be zero makes it too long */
		header = payload + at + WIRE_ENTRY;
		at += WIRE_ENTRY + WIRE_MESSAGE;
	}
	if (bytes > WIRE_BUNDLE_EACH || wire_padded((uint32_t)bytes) > wire->bytes - at)
		return 0;
	payload += at;
	at += wire_padded((uint32_t)bytes);
	for (uint64_t i = bytes; i % 8; i++)
		if (payload[i])
			return 0;
	*walk = (struct wire_walk){ wire, at, walk->n + 1, header, payload, (uint32_t)bytes };
	return 1;
}

/* Several messages, as many as it says, one right behind the other. */
static int is_bundle(const struct wire *wire)
{
	struct wire_walk walk = { .wire = wire };

	if (wire->bytes > WIRE_BUNDLE_BYTES)
		return 0;
	while (wire_walk(&walk))
		continue;
	return walk.at == wire->bytes && walk.n > 1 && walk.n == wire->offset;
}

/* What the fields of each kind must keep, whoever sent it. With a window of 0 its receiver would
 * have nothing to send, and so nothing to ask again for. */
static int is_sound(const struct wire *wire)
{
	if (wire->source == 0 || (wire->window == 0 && acknowledges(wire->kind)))
		return 0;
	switch (wire->kind) {
	case WIRE_KIND_DATA:
		return is_fragment(wire);
	case WIRE_KIND_BULK:
		return !wire->waits && wire->bytes > 0 && wire->bytes <= WIRE_MOST_PAYLOAD;
	case WIRE_KIND_ANNOUNCE:
		return wire->bytes <= WIRE_TAIL_BYTES && wire->bytes < wire->length &&
		       wire->offset > 0 && wire->offset <= wire->length - wire->bytes &&
		       wire->offset <= WIRE_MOST_PAYLOAD;
	case WIRE_KIND_ACK:
	case WIRE_KIND_GRANT:
		return wire->bytes == 0;
	case WIRE_KIND_RESET:
	case WIRE_KIND_MARK:
		return wire->bytes == 0 && !wire->waits;
	case WIRE_KIND_BUNDLE:
		return 1;                       /* is_bundle looks at the payload as well */
	default:
		return 0;
	}
}

static void read_fields(const uint8_t *frame, struct wire *wire)
{
	uint8_t kind = frame[WIRE_KIND];

	wire->node = node_of(frame + WIRE_SOURCE);
	wire->lane = !!(kind & WIRE_LANE);
	wire->again = !!(kind & WIRE_AGAIN);
	wire->over = !!(kind & WIRE_OVER);
	wire->waits = !!(kind & WIRE_WAITS);
	wire->source = (uint32_t)wire_get(frame + WIRE_SOURCE_INCARNATION, 4);
	wire->destination = (uint32_t)wire_get(frame + WIRE_DESTINATION_INCARNATION, 4);
	wire->sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	wire->ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	wire->selective = wire_get(frame + WIRE_SELECTIVE, 8);
	wire->window = (uint32_t)wire_get(frame + WIRE_WINDOW, 2);
	wire->offset = wire_get(frame + WIRE_OFFSET, 6);
	wire->length = wire_get(frame + WIRE_LENGTH, 6);
	wire->refused = wire->kind == WIRE_KIND_ACK && wire->again ?
		wire_get(frame + WIRE_REFUSED, 8) : 0;
	if (has_turn(wire->kind)) {
		wire->turn = (uint32_t)wire_get(frame + WIRE_TURN, 4);
		wire->part = (uint32_t)wire_get(frame + WIRE_PART, 4);
		wire->until = (uint32_t)wire_get(frame + WIRE_UNTIL, 4);
	}
	wire->message = frame + WIRE_HEADER;
}

enum wire_result wire_read_apart(const uint8_t *frame, uint32_t bytes, uint32_t node,
				 const uint8_t *key, const struct nic_piece *pieces, uint32_t n,
				 struct wire *wire)
{
	uint32_t header, crc = 0;

	if (bytes < WIRE_HEADER)
		return WIRE_SHORT;
	if (!is_ours(frame, node, key ? WIRE_SIGNED : WIRE_VERSION))
		return WIRE_FOREIGN;
	wire->kind = frame[WIRE_KIND] & WIRE_KIND_MASK;
	wire->bytes = (uint32_t)wire_get(frame + WIRE_PAYLOAD, 2);
	wire->reach = 0;
	if (wire->kind == WIRE_KIND_GRANT) {
		wire->reach = wire->bytes;
		wire->bytes = 0;
	}
	header = header_of(wire->kind);
	if (bytes < header || bytes - header != wire->bytes ||
	    (wire->kind == WIRE_KIND_BUNDLE && bytes % 8))
		return WIRE_SHORT;
	if (key && wire_tag(key, frame, header, pieces, n) != wire_get(frame + WIRE_TAG, 8))
		return WIRE_FORGED;
	if (!key && wire_get(frame + WIRE_CHECKSUM, 4) !=
	    (wire->kind == WIRE_KIND_BUNDLE ? sum_bundle(frame, header, pieces, n) :
	     checksum(frame, header)))
		return WIRE_DAMAGED;
	read_fields(frame, wire);
	wire->payload_crc = key ? 0 : (uint32_t)wire_get(frame + WIRE_PAYLOAD_CRC, 4);
	wire->payload = frame + header;
	if (!is_sound(wire))
		return WIRE_NONSENSE;
	if (wire->payload_crc && has_payload(wire->kind)) {
		for (uint32_t i = 0; i < n; i++)
			crc = port_crc32c(crc, pieces[i].bytes, pieces[i].length);
		if (crc != wire->payload_crc)
			return WIRE_DAMAGED;
	}
	return WIRE_OK;
}

enum wire_result wire_read(const uint8_t *frame, uint32_t bytes, uint32_t node,
			   const uint8_t *key, struct wire *wire)
{
	struct nic_piece payload;
	enum wire_result result;
	uint32_t header;

	if (bytes < WIRE_HEADER)
		return WIRE_SHORT;
	header = header_of(frame[WIRE_KIND] & WIRE_KIND_MASK);
	payload = (struct nic_piece){ frame + header, bytes - header };
	result = wire_read_apart(frame, bytes, node, key, &payload, bytes > header, wire);
	return result == WIRE_OK && wire->kind == WIRE_KIND_BUNDLE && !is_bundle(wire) ?
		WIRE_NONSENSE : result;
}

/* Whole words where it is as well: every frame is written. */
void wire_write_to(uint8_t *frame, uint64_t destination, uint64_t source, const struct wire *wire)
{
	uint32_t kind = wire->kind | (wire->lane ? WIRE_LANE : 0) |
		(wire->again ? WIRE_AGAIN : 0) | (wire->over ? WIRE_OVER : 0) |
		(wire->waits ? WIRE_WAITS : 0);
	uint32_t bytes = wire->kind == WIRE_KIND_GRANT ? wire->reach : wire->bytes;

	wire_put(frame + WIRE_DESTINATION, destination | source << 48, 8);
	wire_put(frame + WIRE_SOURCE + 2, source >> 16, 4);
	wire_put(frame + WIRE_TYPE, WIRE_ETHERTYPE >> 8 | (WIRE_ETHERTYPE & 0xff) << 8 |
		 WIRE_VERSION << 16 | kind << 24, 4);
	wire_put(frame + WIRE_PAYLOAD_CRC, wire->payload_crc, 4);
	wire_put(frame + WIRE_SOURCE_INCARNATION, wire->source, 4);
	wire_put(frame + WIRE_DESTINATION_INCARNATION, wire->destination, 4);
	wire_put(frame + WIRE_SEQUENCE, wire->sequence, 4);
	wire_put(frame + WIRE_ACK, wire->ack, 4);
	wire_put(frame + WIRE_SELECTIVE, wire->selective, 8);
	wire_put(frame + WIRE_WINDOW, (uint16_t)wire->window |
		 (uint64_t)(uint16_t)bytes << 16 | wire->offset << 32, 8);
	wire_put(frame + WIRE_OFFSET + 4, (uint16_t)(wire->offset >> 32) | wire->length << 16, 8);
	if (wire->kind == WIRE_KIND_ACK)
		wire_put(frame + WIRE_REFUSED, wire->refused, 8);
	if (has_turn(wire->kind)) {
		wire_put(frame + WIRE_TURN, wire->turn, 4);
		wire_put(frame + WIRE_PART, wire->part, 4);
		wire_put(frame + WIRE_UNTIL, wire->until, 4);
	}
	wire_put(frame + WIRE_CHECKSUM, checksum(frame, header_of(wire->kind)), 4);
}

void wire_write(uint8_t *frame, const uint8_t *destination, const uint8_t *source,
		const struct wire *wire)
{
	wire_write_to(frame, wire_get(destination, 6), wire_get(source, 6), wire);
}
