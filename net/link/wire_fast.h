/*
 * Frames of the fast path: written and compared word by word, and inlined where they are sent and
 * received (message.c, receive.c). Such a frame is a MSG without flags but PUTS, with no message or
 * one short one, and its selective acknowledgement is empty. wire.c reads and writes the same
 * frames, only slower, and all others.
 */
#ifndef NET_LINK_WIRE_FAST_H
#define NET_LINK_WIRE_FAST_H
#include "wire.h"

/* Fields of the word at offset 8, which holds the end of the source's address, type, version and
 * kind: the source's id, and the bit for the lane. */
#define FAST_NODE_SHIFT 16
#define FAST_NODE_BITS  (0xffffull << FAST_NODE_SHIFT)
#define FAST_LANE_BIT   ((uint64_t)WIRE_LANE << 56)
#define FAST_PUTS_BIT   ((uint64_t)WIRE_PUTS << 56)

/* The first two words of the frames that this node sends and expects. */
struct wire_fast_prefix {
	uint64_t to;               /* first word of a frame sent, without the peer's id */
	uint64_t from;             /* second word of a frame sent, without PUTS */
	uint64_t here;             /* first word of a frame received */
};

/* The variable fields of such a frame. */
struct wire_fast {
	uint64_t incarnations;     /* the source's in the lower half, the destination's above it */
	uint32_t sequence;         /* 0 without a message */
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

/* Read source and lane of a frame with a header of `header` bytes: 1, or 0 if the rest of the prefix
 * is not as expected. A plain put is a request. */
static inline int wire_fast_source(const struct wire_fast_prefix *prefix, const uint8_t *frame,
				   uint32_t header, uint32_t *node, uint32_t *lane)
{
	uint64_t start = wire_get(frame + WIRE_SOURCE + 2, 8);
	uint64_t from = prefix->from ^ (header == WIRE_PUT_DATA ? FAST_PUTS_BIT : 0);
	uint64_t varies = FAST_NODE_BITS | (header == WIRE_PUT_DATA ? 0 : FAST_LANE_BIT);

	if (((start ^ from) & ~varies) || wire_get(frame, 8) != prefix->here)
		return 0;
	*node = __builtin_bswap16((uint16_t)(start >> FAST_NODE_SHIFT));
	*lane = !!(start & FAST_LANE_BIT);
	return 1;
}

/* Whether the tag is right; or without a key, whether the header's checksum is right and there is
 * no payload checksum. The barrier makes the compiler read the fields again afterwards, instead
 * of keeping them in registers, of which there are not enough. */
static inline int wire_fast_is_sealed(const uint8_t *key, const uint8_t *frame, uint32_t bytes,
				      uint32_t header)
{
	uint64_t seal = __builtin_expect(key != 0, 0) ? wire_tag(key, frame, bytes, 0, 0) :
		wire_checksum(frame, header);

	__asm__("" : : : "memory");
	return seal == wire_get(frame + WIRE_CHECKSUM, 8);
}

/* Read all other fields of a frame with a message of `payload` bytes or, if `header` is
 * WIRE_HEADER, without one. 0: it is not a frame of the fast path. */
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
	    wire_get(frame + WIRE_MESSAGES, 8) != (header != WIRE_HEADER) || !fast->window)
		return 0;
	return header == WIRE_HEADER ? fast->sequence == 0 :
		wire_get(frame + WIRE_LENGTH, 8) == payload && !wire_get(frame + WIRE_OFFSET, 8);
}

/* ---- writing ---- */

/* Write the header of a frame with a plain put of `bytes` payload bytes, without the checksum. */
static inline void wire_fast_write(const struct wire_fast_prefix *prefix, uint32_t node,
				   const struct wire_fast *fast, uint8_t *frame, uint32_t bytes)
{
	wire_put(frame + WIRE_DESTINATION,
		 prefix->to | (uint64_t)__builtin_bswap16((uint16_t)node) << 32, 8);
	wire_put(frame + WIRE_SOURCE + 2, prefix->from | FAST_PUTS_BIT, 8);
	wire_put(frame + WIRE_PAYLOAD_CRC, 0, 4);
	wire_put(frame + WIRE_SOURCE_INCARNATION, fast->incarnations, 8);
	wire_put(frame + WIRE_SEQUENCE, fast->sequence | (uint64_t)fast->ack << 32, 8);
	wire_put(frame + WIRE_SELECTIVE, 0, 8);
	wire_put(frame + WIRE_OTHER_ACK, fast->other_ack | (uint64_t)fast->window << 32 |
		 (uint64_t)fast->other_window << 40 |
		 (uint64_t)(WIRE_PUT_DATA - WIRE_HEADER + bytes) << 48, 8);
	wire_put(frame + WIRE_MESSAGES, 1, 8);
	wire_put(frame + WIRE_LENGTH, bytes, 8);
	wire_put(frame + WIRE_OFFSET, 0, 8);
}

#endif
