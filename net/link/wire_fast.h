/*
 * The codec's fast branch: the frames that most are, written and compared word by word and
 * inlined where they are sent and received. Such a frame is a MSG without flags, with one
 * short message whole or with none, whose sender misses nothing. Everything else goes through
 * wire.c, which this only shortens. Used by message.c and receive.c.
 */
#ifndef NET_LINK_WIRE_FAST_H
#define NET_LINK_WIRE_FAST_H
#include "wire.h"

/* In the order of the wire, little-endian: places in the word at 8, which holds the end of the
 * source's address, type, version and kind. */
#define FAST_NODE_SHIFT 16
#define FAST_NODE_BITS  (0xffffull << FAST_NODE_SHIFT)
#define FAST_LANE_BIT   ((uint64_t)WIRE_LANE << 56)

/* The first two words, as this node sends and expects them. */
struct wire_fast_prefix {
	uint64_t to;               /* the first of what it sends, without the peer's id */
	uint64_t from;             /* the second */
	uint64_t here;             /* the first of what it receives */
};

/* What such a frame says. */
struct wire_fast {
	uint64_t incarnations;     /* the source's, and above it the destination's */
	uint32_t sequence;         /* with a message */
	uint32_t ack, other_ack;
	uint8_t window, other_window;
};

static inline struct wire_fast_prefix wire_fast_prefix(const uint8_t *address, uint32_t node,
						       uint32_t version)
{
	uint64_t source = wire_get(address, NIC_ADDRESS_BYTES);
	uint64_t to = wire_address_word(0, address[3]) | source << 48;

	return (struct wire_fast_prefix){
		.to = to, .here = to | wire_address_word(node, address[3]),
		.from = source >> 16 |
			(uint64_t)(WIRE_ETHERTYPE >> 8 | (WIRE_ETHERTYPE & 0xff) << 8 |
				   version << 16 | WIRE_KIND_MSG << 24) << 32
	};
}

/* ---- reading ---- */

/* Source and lane, if all else at the front is as it must be: 1. */
static inline int wire_fast_source(const struct wire_fast_prefix *prefix, const uint8_t *frame,
				   uint32_t *node, uint32_t *lane)
{
	uint64_t start = wire_get(frame + WIRE_SOURCE + 2, 8);

	if (((start ^ prefix->from) & ~(FAST_NODE_BITS | FAST_LANE_BIT)) ||
	    wire_get(frame, 8) != prefix->here)
		return 0;
	*node = __builtin_bswap16((uint16_t)(start >> FAST_NODE_SHIFT));
	*lane = !!(start & FAST_LANE_BIT);
	return 1;
}

/* The tag or the header's checksum is right, and there is no checksum of the payload. This is
 * asked first, and what is compared afterwards is read again: the registers would not hold
 * all of it meanwhile. */
static inline int wire_fast_is_sealed(const uint8_t *key, const uint8_t *frame, uint32_t bytes,
				      uint32_t header)
{
	uint64_t seal = __builtin_expect(key != 0, 0) ? wire_tag(key, frame, bytes, 0, 0) :
		wire_checksum(frame, header);

	__asm__("" : : : "memory");
	return seal == wire_get(frame + WIRE_CHECKSUM, 8);
}

/* All other fields, of a frame with a message of `payload` bytes or, `header` is WIRE_HEADER,
 * with none. 0: they say more than such a frame does. */
static inline int wire_fast_read(const uint8_t *frame, uint32_t header, uint32_t payload,
				 struct wire_fast *fast)
{
	uint64_t word = wire_get(frame + WIRE_OTHER_ACK, 8);

	fast->incarnations = wire_get(frame + WIRE_SOURCE_INCARNATION, 8);
	fast->sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	fast->ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	fast->other_ack = (uint32_t)word;
	fast->window = (uint8_t)(word >> 32);
	fast->other_window = (uint8_t)(word >> 40);
	if (word >> 48 != header - WIRE_HEADER + payload || wire_get(frame + WIRE_SELECTIVE, 8) ||
	    wire_get(frame + WIRE_MESSAGES, 8) != (header == WIRE_DATA) || !fast->window)
		return 0;
	return header == WIRE_HEADER ? fast->sequence == 0 :
		wire_get(frame + WIRE_LENGTH, 8) == payload && !wire_get(frame + WIRE_OFFSET, 8);
}

/* ---- writing ---- */

/* All of the header in front of a message of `bytes` bytes, which lies behind it, whole. `guard`:
 * the frame has a tag or, without a key, a checksum of its payload. */
static inline void wire_fast_write(const struct wire_fast_prefix *prefix, int guard,
				   const uint8_t *key, uint32_t node,
				   const struct wire_fast *fast, uint8_t *frame, uint32_t bytes)
{
	wire_put(frame + WIRE_DESTINATION,
		 prefix->to | (uint64_t)__builtin_bswap16((uint16_t)node) << 32, 8);
	wire_put(frame + WIRE_SOURCE + 2, prefix->from, 8);
	wire_put(frame + WIRE_PAYLOAD_CRC, 0, 4);
	wire_put(frame + WIRE_SOURCE_INCARNATION, fast->incarnations, 8);
	wire_put(frame + WIRE_SEQUENCE, fast->sequence | (uint64_t)fast->ack << 32, 8);
	wire_put(frame + WIRE_SELECTIVE, 0, 8);
	wire_put(frame + WIRE_OTHER_ACK, fast->other_ack | (uint64_t)fast->window << 32 |
		 (uint64_t)fast->other_window << 40 |
		 (uint64_t)(WIRE_DATA - WIRE_HEADER + bytes) << 48, 8);
	wire_put(frame + WIRE_MESSAGES, 1, 8);
	wire_put(frame + WIRE_LENGTH, bytes, 8);
	wire_put(frame + WIRE_OFFSET, 0, 8);
	if (__builtin_expect(guard, 0))
		wire_guard(key, frame, bytes);
	else
		wire_put(frame + WIRE_CHECKSUM, wire_checksum(frame, WIRE_DATA), 4);
}

#endif
