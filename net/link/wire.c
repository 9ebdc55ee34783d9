/*
 * Reading and writing frames: see wire.h. No state. Called by the link for every frame that is not
 * on the fast path. An arriving frame may contain anything.
 */
#include "wire.h"
#include "siphash.h"
#include "../port.h"

_Static_assert(WIRE_KEY_BYTES == SIPHASH_KEY_BYTES, "one key for both");

static uint32_t node_of(const uint8_t *address)
{
	return (uint32_t)address[4] << 8 | address[5];
}

static uint64_t mix_all(uint64_t state, const uint8_t *words, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8)
		state = wire_mix(state, wire_get(words + at, 8));
	return state;
}

/* The checksum of a batch: `bytes` bytes are at `frame`, the header and perhaps more, and the
 * others in `n` pieces. All these lengths are multiples of 8. */
static uint32_t sum_batch(const uint8_t *frame, uint32_t bytes, const struct nic_piece *pieces,
			  uint32_t n)
{
	uint64_t state = mix_all(wire_mixed(frame, WIRE_PUT_DATA), frame + WIRE_PUT_DATA,
				 bytes - WIRE_PUT_DATA);

	for (uint32_t i = 0; i < n; i++)
		state = mix_all(state, pieces[i].bytes, pieces[i].length);
	return wire_folded(state);
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

static int is_of_type(const uint8_t *frame)
{
	return frame[WIRE_TYPE] == WIRE_ETHERTYPE >> 8 &&
	       frame[WIRE_TYPE + 1] == (WIRE_ETHERTYPE & 0xff);
}

static int is_ours(const uint8_t *frame, uint32_t node, uint32_t version)
{
	return wire_get(frame + WIRE_DESTINATION, 3) == WIRE_PREFIX &&
	       node_of(frame + WIRE_DESTINATION) == node &&
	       wire_get(frame + WIRE_SOURCE, 3) == WIRE_PREFIX &&
	       is_of_type(frame) && frame[WIRE_AT_VERSION] == version;
}

/* The header's length of a frame with this byte at WIRE_KIND and `behind` bytes behind the first
 * 64. */
static uint32_t header_of(uint32_t kind, uint32_t behind)
{
	if ((kind & WIRE_KIND_MASK) != WIRE_KIND_MSG || !behind)
		return WIRE_HEADER;
	return kind & WIRE_PUTS ? WIRE_PUT_DATA : WIRE_DATA;
}

/* Whether a frame with a header of this length is a batch: then its checksum covers all of it. */
static int is_several(const uint8_t *frame, uint32_t header)
{
	return header == WIRE_PUT_DATA && wire_get(frame + WIRE_MESSAGES, 8) != 1;
}

void wire_seal(const uint8_t *key, int check, const struct nic_piece *pieces, uint32_t n)
{
	uint8_t *frame = (uint8_t *)pieces[0].bytes;
	uint32_t bytes = pieces[0].length, crc = 0;
	uint32_t header = header_of(frame[WIRE_KIND], (uint32_t)wire_get(frame + WIRE_BEHIND, 2));
	int is_batch = is_several(frame, header);

	if (key) {
		frame[WIRE_AT_VERSION] = WIRE_SIGNED;
		wire_put(frame + WIRE_TAG, wire_tag(key, frame, bytes, pieces + 1, n - 1), 8);
		return;
	}
	if (check && !is_batch) {
		crc = port_crc32c(0, frame + header, bytes - header);
		for (uint32_t i = 1; i < n; i++)
			crc = port_crc32c(crc, pieces[i].bytes, pieces[i].length);
	}
	wire_put(frame + WIRE_PAYLOAD_CRC, crc, 4);
	wire_put(frame + WIRE_CHECKSUM, is_batch ? sum_batch(frame, bytes, pieces + 1, n - 1) :
		 wire_checksum(frame, header), 4);
}

uint32_t wire_first(const uint8_t *frames, uint32_t bytes)
{
	uint32_t length;

	if (bytes < WIRE_HEADER || !is_of_type(frames))
		return bytes;
	length = WIRE_HEADER + (uint32_t)wire_get(frames + WIRE_BEHIND, 2);
	return length % 8 || length > bytes ? bytes : length;
}

int wire_follows(const uint8_t *first, const uint8_t *frame, uint32_t bytes)
{
	uint32_t n = WIRE_KIND - WIRE_TYPE;      /* bytes of type and version */

	if (bytes < WIRE_HEADER || wire_get(frame, 8) != wire_get(first, 8))
		return 0;
	return wire_get(frame + 8, 4) == wire_get(first + 8, 4) &&
	       wire_get(frame + WIRE_TYPE, n) == wire_get(first + WIRE_TYPE, n);
}

/* A valid fragment is within its message, and not empty unless the message is. */
static int is_fragment(const struct wire *wire)
{
	return wire->bytes <= WIRE_MOST_FRAGMENT && wire->offset <= wire->length &&
	       wire->bytes <= wire->length - wire->offset &&
	       (wire->bytes > 0 || wire->length == 0);
}

int wire_walk(struct wire_walk *walk)
{
	const struct wire *wire = walk->wire;
	const uint8_t *header = wire->message, *payload = wire->payload;
	uint64_t bytes = wire->length, offset = wire->offset;
	uint32_t at = walk->at;

	if (walk->n > 0) {
		if (wire->bytes - at < WIRE_ENTRY + WIRE_PUT)
			return 0;
		bytes = wire_get(payload + at, 8);
		offset = wire_get(payload + at + 8, 8);
		header = payload + at + WIRE_ENTRY;
		at += WIRE_ENTRY + WIRE_PUT;
	}
	if (bytes > WIRE_PUT_BYTES || offset || wire_padded((uint32_t)bytes) > wire->bytes - at)
		return 0;
	payload += at;
	at += wire_padded((uint32_t)bytes);
	for (uint64_t i = bytes; i % 8; i++)
		if (payload[i])
			return 0;
	*walk = (struct wire_walk){ wire, at, walk->n + 1, header, payload, (uint32_t)bytes };
	return 1;
}

/* A valid batch has as many plain puts as it says, without gaps. */
static int is_batch(const struct wire *wire)
{
	struct wire_walk walk = { .wire = wire };

	if (wire->bytes > WIRE_BATCH_BYTES)
		return 0;
	while (wire_walk(&walk))
		continue;
	return walk.at == wire->bytes && walk.n == wire->messages;
}

/* A valid announcement carries the end of its message, but not all of it; and the receiver can
 * count the parts of the rest. */
static int is_announcement(const struct wire *wire)
{
	uint64_t rest = wire->length - wire->bytes;

	return wire->bytes <= WIRE_TAIL_BYTES && wire->bytes < wire->length &&
	       wire->offset > 0 && wire->offset <= rest && wire->offset <= WIRE_MOST_PAYLOAD &&
	       (rest - 1) / wire->offset < WIRE_MOST_FRAMES;
}

/* A plain put is a whole short request. */
static int is_put(const struct wire *wire)
{
	return wire->bytes <= WIRE_PUT_BYTES && wire->bytes == wire->length && wire->offset == 0 &&
	       !wire->announce && !wire->lane;
}

/* Whether the fields are valid for their kind. A window must not be 0: its receiver could send
 * nothing, and so would never learn of a larger one. */
static int is_sound(const struct wire *wire)
{
	int acknowledges = wire->kind == WIRE_KIND_MSG || wire->kind == WIRE_KIND_GRANT;

	if (wire->source == 0 || (acknowledges && wire->window == 0))
		return 0;
	switch (wire->kind) {
	case WIRE_KIND_MSG:
		if (wire->messages != 1)        /* is_batch checks the messages of a batch */
			return !wire->announce && !(wire->puts && wire->lane) &&
			       wire->puts == (wire->messages > 1);
		if (wire->puts)
			return is_put(wire);
		return wire->announce ? is_announcement(wire) : is_fragment(wire);
	case WIRE_KIND_BULK:
		return !wire->announce && !wire->over && wire->bytes > 0 &&
		       wire->bytes <= WIRE_MOST_PAYLOAD;
	case WIRE_KIND_GRANT:
	case WIRE_KIND_RESET:
		return wire->bytes == 0 && !wire->announce;
	default:
		return 0;
	}
}

/* Read the fields of the first message. 0: they are invalid. */
static int read_message(const uint8_t *frame, struct wire *wire)
{
	uint64_t messages = wire_get(frame + WIRE_MESSAGES, 8);

	wire->message = frame + WIRE_HEADER + WIRE_ENTRY;
	wire->length = wire_get(frame + WIRE_LENGTH, 8);
	wire->offset = wire_get(frame + WIRE_OFFSET, 8);
	wire->messages = (uint32_t)messages;
	return messages > 0 && messages <= WIRE_BATCH_BYTES && wire->length <= WIRE_MOST_LENGTH;
}

/* Read all fields. 0: those of the first message are invalid. */
static int read_fields(const uint8_t *frame, uint32_t header, struct wire *wire)
{
	uint8_t kind = frame[WIRE_KIND];

	wire->node = node_of(frame + WIRE_SOURCE);
	wire->announce = !!(kind & WIRE_ANNOUNCE);
	wire->lane = !!(kind & WIRE_LANE);
	wire->again = !!(kind & WIRE_AGAIN);
	wire->over = !!(kind & WIRE_OVER);
	wire->source = (uint32_t)wire_get(frame + WIRE_SOURCE_INCARNATION, 4);
	wire->destination = (uint32_t)wire_get(frame + WIRE_DESTINATION_INCARNATION, 4);
	wire->sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	wire->ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	wire->selective = wire_get(frame + WIRE_SELECTIVE, 8);
	wire->other_ack = (uint32_t)wire_get(frame + WIRE_OTHER_ACK, 4);
	wire->window = frame[WIRE_WINDOW];
	wire->other_window = frame[WIRE_OTHER_WINDOW];
	wire->messages = 0;
	wire->refused = 0;
	if (header != WIRE_HEADER)
		return read_message(frame, wire);
	if (wire->kind != WIRE_KIND_MSG || wire->again)
		wire->refused = wire_get(frame + WIRE_REFUSED, 8); /* or the numbers of parts */
	return 1;
}

enum wire_result wire_read_apart(const uint8_t *frame, uint32_t bytes, uint32_t node,
				 const uint8_t *key, const struct nic_piece *pieces, uint32_t n,
				 struct wire *wire)
{
	uint32_t header, crc = 0, sent_crc;
	struct nic_piece payload;
	int several;

	if (bytes < WIRE_HEADER)
		return WIRE_SHORT;
	header = header_of(frame[WIRE_KIND], bytes - WIRE_HEADER);
	if (bytes < header)
		return WIRE_SHORT;
	if (!is_ours(frame, node, key ? WIRE_SIGNED : WIRE_VERSION))
		return WIRE_FOREIGN;
	several = is_several(frame, header);
	if (bytes != WIRE_HEADER + wire_get(frame + WIRE_BEHIND, 2) || (several && bytes % 8))
		return WIRE_SHORT;
	wire->kind = frame[WIRE_KIND] & WIRE_KIND_MASK;
	wire->bytes = bytes - header;
	wire->payload = frame + header;
	if (!pieces) {
		payload = (struct nic_piece){ wire->payload, wire->bytes };
		pieces = &payload;
		n = 1;
	}
	if (key && wire_tag(key, frame, header, pieces, n) != wire_get(frame + WIRE_TAG, 8))
		return WIRE_FORGED;
	if (!key && wire_get(frame + WIRE_CHECKSUM, 4) !=
	    (several ? sum_batch(frame, header, pieces, n) : wire_checksum(frame, header)))
		return WIRE_DAMAGED;
	sent_crc = key ? 0 : (uint32_t)wire_get(frame + WIRE_PAYLOAD_CRC, 4); /* 0: none */
	if (!read_fields(frame, header, wire) || !is_sound(wire))
		return WIRE_NONSENSE;
	if (sent_crc && wire->bytes && !several) {
		for (uint32_t i = 0; i < n; i++)
			crc = port_crc32c(crc, pieces[i].bytes, pieces[i].length);
		if (crc != sent_crc)
			return WIRE_DAMAGED;
	}
	return wire->messages > 1 && !is_batch(wire) ? WIRE_NONSENSE : WIRE_OK;
}

/* Adjacent fields are written as one word where possible. */
void wire_write(uint8_t *frame, uint64_t destination, uint64_t source, const struct wire *wire)
{
	uint32_t kind = wire->kind | (wire->announce ? WIRE_ANNOUNCE : 0) |
		(wire->lane ? WIRE_LANE : 0) | (wire->again ? WIRE_AGAIN : 0) |
		(wire->over ? WIRE_OVER : 0);
	uint32_t header = header_of(kind, wire->messages);

	wire_put(frame + WIRE_DESTINATION, destination | source << 48, 8);
	wire_put(frame + WIRE_SOURCE + 2, source >> 16, 4);
	wire_put(frame + WIRE_TYPE, WIRE_ETHERTYPE >> 8 | (WIRE_ETHERTYPE & 0xff) << 8 |
		 WIRE_VERSION << 16 | kind << 24, 4);
	wire_put(frame + WIRE_SOURCE_INCARNATION,
		 wire->source | (uint64_t)wire->destination << 32, 8);
	wire_put(frame + WIRE_SEQUENCE, wire->sequence | (uint64_t)wire->ack << 32, 8);
	wire_put(frame + WIRE_SELECTIVE, wire->selective, 8);
	wire_put(frame + WIRE_OTHER_ACK, wire->other_ack | (uint64_t)wire->window << 32 |
		 (uint64_t)wire->other_window << 40 |
		 (uint64_t)(header - WIRE_HEADER + wire->bytes) << 48, 8);
	wire_put(frame + WIRE_MESSAGES, wire->messages ? wire->messages : wire->refused, 8);
	if (header != WIRE_HEADER) {
		wire_put(frame + WIRE_LENGTH, wire->length, 8);
		wire_put(frame + WIRE_OFFSET, wire->offset, 8);
	}
}
