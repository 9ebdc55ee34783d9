/*
 * Frames on the wire: byte offsets, and the functions that read and write frames (wire_fast.h has
 * those of the fast path). docs/wire.md says what each kind of frame is for, and has a table of
 * all fields. Ethernet's own fields are big-endian, everything else is little-endian.
 */
#ifndef NET_LINK_WIRE_H
#define NET_LINK_WIRE_H
#include <stddef.h>
#include <stdint.h>
#include "../nic.h"

/* All lengths are in bytes. */
#define WIRE_HEADER        64u     /* the common header of every frame */
#define WIRE_ENTRY         16u     /* length and offset in front of each message's header */
#define WIRE_MESSAGE       112u    /* a message's header */
#define WIRE_DATA          192u    /* these three: offset of the first payload of a MSG */
#define WIRE_PUT           32u     /* with PUTS: a message's header */
#define WIRE_PUT_DATA      112u    /* with PUTS: offset of the first payload */
#define WIRE_MOST_PAYLOAD  65472u  /* most payload of a BULK frame: a multiple of 64 */
#define WIRE_MOST_FRAGMENT 65344u  /* most payload of a fragment: a multiple of 64 */
#define WIRE_TAIL_BYTES    1024u   /* most payload of an announcement */
#define WIRE_MOST_LENGTH   ((1ULL << 48) - 1) /* most payload of a message */
#define WIRE_MOST_FRAMES   (1u << 30) /* most frames, or parts, of one message */
#define WIRE_ETHERTYPE     0x88b5u
#define WIRE_PREFIX        0x474d02u /* 02:4d:47: the start of each address, as wire_get reads it */
#define WIRE_VERSION       3u      /* version of frames with checksums */
#define WIRE_SIGNED        4u      /* version of frames with a tag */
#define WIRE_KEY_BYTES     16u

enum wire_offset {
	WIRE_DESTINATION = 0, WIRE_SOURCE = 6, WIRE_TYPE = 12,
	WIRE_AT_VERSION = 14, WIRE_KIND = 15,
	WIRE_CHECKSUM = 16, WIRE_PAYLOAD_CRC = 20, WIRE_TAG = 16,
	WIRE_SOURCE_INCARNATION = 24, WIRE_DESTINATION_INCARNATION = 28,
	WIRE_SEQUENCE = 32, WIRE_ACK = 36, WIRE_SELECTIVE = 40,
	WIRE_OTHER_ACK = 48, WIRE_WINDOW = 52, WIRE_OTHER_WINDOW = 53, WIRE_BEHIND = 54,
	WIRE_MESSAGES = 56, WIRE_REFUSED = 56, WIRE_PART = 56, WIRE_PARTS = 60, WIRE_REACH = 62,
	WIRE_LENGTH = 64, WIRE_OFFSET = 72
};

enum wire_kind { WIRE_KIND_MSG = 1, WIRE_KIND_GRANT = 2, WIRE_KIND_BULK = 3, WIRE_KIND_RESET = 4 };

/* Bits of the byte at WIRE_KIND: */
#define WIRE_KIND_MASK  0x07u      /* enum wire_kind */
#define WIRE_ANNOUNCE   0x08u      /* MSG: an announcement */
#define WIRE_LANE       0x10u      /* the lane of answers */
#define WIRE_AGAIN      0x20u      /* MSG without messages: retransmit the refused frames.
                                      GRANT: also send parts that were sent before.
                                      BULK: this part was sent before */
#define WIRE_OVER       0x40u      /* RESET: the peer has given this node up, so everything that
                                      was sent so far has failed */
#define WIRE_ORDINARY   0x40u      /* GRANT: send the parts to the ordinary card */
#define WIRE_PUTS       0x40u      /* MSG with messages: all of them are plain puts. Each is whole,
                                      and has a short header */

_Static_assert(WIRE_OVER == WIRE_ORDINARY && WIRE_OVER == WIRE_PUTS, "a union in struct wire");

/* PUTS: most payload bytes of each message, and most bytes behind the first one's header. */
#define WIRE_PUT_BYTES    64u
#define WIRE_BATCH_BYTES  2048u

/* A frame's fields. `message` and `payload` point into the frame. */
struct wire {
	uint32_t node;             /* the source's id */
	uint8_t kind;              /* enum wire_kind */
	uint8_t lane;              /* 0: requests, 1: answers */
	uint8_t announce, again;   /* flags: 0 or 1 */
	union { uint8_t over, ordinary, puts; }; /* flags that share a bit on the wire */
	uint8_t window, other_window; /* frames */
	uint32_t source, destination; /* incarnations */
	uint32_t sequence, ack, other_ack; /* sequence numbers */
	uint64_t selective;        /* selective acknowledgement: bit i: frame ack + i has arrived;
	                              bit 0: and waits for its payload */
	uint32_t messages;         /* MSG: number of messages */
	uint32_t bytes;            /* bytes behind the first message's header; BULK: of payload */
	uint64_t offset, length;   /* MSG: of the first message; announcement: offset is the length
	                              of its parts */
	union {                    /* as on the wire; a MSG with messages has their number there */
		uint64_t refused;  /* MSG without messages, with AGAIN: bit i: frame ack + i */
		struct {
			uint32_t part;  /* BULK: the part; GRANT: first part of the first message */
			uint16_t parts; /* GRANT: parts of the last message */
			uint16_t reach; /* GRANT: sequence numbers from the first to the last
			                   message; 0: it is the same one */
		};
	};
	const uint8_t *message, *payload;
};
_Static_assert(offsetof(struct wire, parts) - offsetof(struct wire, refused) ==
	       WIRE_PARTS - WIRE_REFUSED &&
	       offsetof(struct wire, reach) - offsetof(struct wire, refused) ==
	       WIRE_REACH - WIRE_REFUSED, "read and written as one word");

enum wire_result {
	WIRE_OK,
	WIRE_SHORT,                /* less than a header, or not as long as the frame says */
	WIRE_FOREIGN,              /* another protocol, address or version */
	WIRE_DAMAGED,              /* a checksum is wrong */
	WIRE_FORGED,               /* the tag is wrong: forged or damaged */
	WIRE_NONSENSE              /* invalid fields: no node of the job sends such a frame */
};

/*
 * Read a frame of `bytes` bytes that node `node` has received. Checks everything that does not
 * depend on the sender's flow; the length is checked first. With a key, only frames with the
 * right tag are accepted; without one (null), only frames without a tag. The payload of a BULK
 * frame may be in `n` pieces; if `pieces` is null it is behind the header. On an error *wire must
 * not be used.
 */
enum wire_result wire_read_apart(const uint8_t *frame, uint32_t bytes, uint32_t node,
				 const uint8_t *key, const struct nic_piece *pieces, uint32_t n,
				 struct wire *wire);

static inline enum wire_result wire_read(const uint8_t *frame, uint32_t bytes, uint32_t node,
					 const uint8_t *key, struct wire *wire)
{
	return wire_read_apart(frame, bytes, node, key, 0, 0, wire);
}

/* The length of the first frame of an aggregate. Returns `bytes` if that frame has an impossible
 * length: wire_read then rejects it. */
uint32_t wire_first(const uint8_t *frames, uint32_t bytes);
/* Whether `frame` may follow `first` in an aggregate: same addresses, type and version. */
int wire_follows(const uint8_t *first, const uint8_t *frame, uint32_t bytes);

/* An iterator over the messages of a batch. It starts with all fields 0 but `wire`. */
struct wire_walk {
	const struct wire *wire;
	uint32_t at;               /* offset in wire->payload: behind the current message */
	uint32_t n;                /* messages so far */
	const uint8_t *header, *payload; /* of the current message */
	uint32_t bytes;            /* payload bytes of the current message */
};

/* Go to the next message: 1, or 0 at the end. If then at < wire->bytes the rest is invalid. */
int wire_walk(struct wire_walk *walk);

static inline uint32_t wire_padded(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

/*
 * Write a frame's header, without checksums; the addresses are values of wire_get. wire->message
 * and ->payload are not used. wire_seal writes the checksums or, with a key, the tag,
 * as the last step before the card gets the frame. It is in `n` pieces; the first one holds the
 * whole header, and is written to. `check`: the payload gets a checksum, too.
 */
void wire_write(uint8_t *frame, uint64_t destination, uint64_t source, const struct wire *wire);
__attribute__((noinline))
void wire_seal(const uint8_t *key, int check, const struct nic_piece *pieces, uint32_t n);

/* The tag of a frame. Its first `bytes` bytes, at least the header, are at `frame`; the others are
 * in `n` pieces. */
__attribute__((noinline))
uint64_t wire_tag(const uint8_t *key, const uint8_t *frame, uint32_t bytes,
		  const struct nic_piece *pieces, uint32_t n);

/* Extend the CRC32C `crc` (0 at the start) by `n` bytes, without the processor's instruction for
 * it. For ports (net/port.h). */
uint32_t wire_crc32c(uint32_t crc, const void *bytes, uint64_t n);

/* Read and write little-endian fields of 2, 4, 6 or 8 bytes, and read those of 3, at any address.
 * Inlined with a constant length each is one or two loads or stores. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are as the processor's words");

typedef uint64_t __attribute__((may_alias, aligned(1))) wire_word;
typedef uint32_t __attribute__((may_alias, aligned(1))) wire_half;
typedef uint16_t __attribute__((may_alias, aligned(1))) wire_quarter;

static inline uint64_t wire_get(const uint8_t *at, uint32_t bytes)
{
	switch (bytes) {
	case 2:
		return *(const wire_quarter *)at;
	case 3:
		return *(const wire_quarter *)at | (uint64_t)at[2] << 16;
	case 4:
		return *(const wire_half *)at;
	case 6:
		return *(const wire_half *)at | (uint64_t)*(const wire_quarter *)(at + 4) << 32;
	default:
		return *(const wire_word *)at;
	}
}

static inline void wire_put(uint8_t *at, uint64_t value, uint32_t bytes)
{
	switch (bytes) {
	case 2:
		*(wire_quarter *)at = (uint16_t)value;
		break;
	case 4:
		*(wire_half *)at = (uint32_t)value;
		break;
	case 6:
		*(wire_half *)at = (uint32_t)value;
		*(wire_quarter *)(at + 4) = (uint16_t)(value >> 32);
		break;
	default:
		*(wire_word *)at = value;
	}
}

/* The address of a node's card, as wire_get reads it. */
static inline uint64_t wire_address_word(uint32_t node, uint32_t card)
{
	return WIRE_PREFIX | card << 24 | (uint64_t)__builtin_bswap16((uint16_t)node) << 32;
}

static inline void wire_address(uint8_t *address, uint32_t node, uint32_t card)
{
	wire_put(address, wire_address_word(node, card), NIC_ADDRESS_BYTES);
}

/*
 * The header's checksum. The state has two 8-byte words. Each step XORs the header's next two
 * words into them; their 128-bit product is the next state. At the end the state's four 32-bit
 * halves are XORed. The checksum's own field counts as zero. `bytes` is a multiple of 16.
 * CRC32C, as payload has it, would be too slow: an emulated processor computes it bit by bit, and
 * takes 60 ns for 8 bytes.
 *
 * For a batch this continues behind the header with a state of one word: the XOR of both. Each
 * word is XORed into it and the result is multiplied by a constant; the XOR of the product's two
 * halves is the next state. (In the two-word form a long run of zeros could make the state zero.)
 */
/* Constants without a pattern: the fractional parts of e and of the golden ratio. */
#define WIRE_FIRST   0xb7e151628aed2a6bu
#define WIRE_FACTOR  0x9e3779b97f4a7c15u

static inline uint64_t wire_mix(uint64_t state, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(state ^ word) * WIRE_FACTOR;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t wire_mixed(const uint8_t *frame, uint32_t bytes)
{
	uint64_t low = WIRE_FIRST, high = WIRE_FACTOR;

#pragma GCC unroll 12
	for (uint32_t at = 0; at < bytes; at += 16) {
		unsigned __int128 product;

		/* The empty asm statements keep both words in the registers of the multiply
		 * instruction. The compiler would move them to others and back. */
		low ^= at == WIRE_CHECKSUM ? wire_get(frame + WIRE_PAYLOAD_CRC, 4) << 32 :
			wire_get(frame + at, 8);
		__asm__("" : "+a"(low));
		high ^= wire_get(frame + at + 8, 8);
		__asm__("" : "+d"(high));
		product = (unsigned __int128)low * high;
		low = (uint64_t)product;
		high = (uint64_t)(product >> 64);
	}
	return low ^ high;
}

static inline uint32_t wire_folded(uint64_t state)
{
	return (uint32_t)(state ^ state >> 32);
}

static inline uint32_t wire_checksum(const uint8_t *frame, uint32_t bytes)
{
	return wire_folded(wire_mixed(frame, bytes));
}

#endif
