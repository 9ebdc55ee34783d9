/*
 * The frame on the wire: byte offsets, and the functions that read and write
 * them (wire_fast.h: the fast branch). docs/wire.md says what each kind of frame is for, and has
 * a table of all fields. Ethernet's own are big-endian, everything else is little-endian.
 */
#ifndef NET_LINK_WIRE_H
#define NET_LINK_WIRE_H
#include <stdint.h>
#include "../nic.h"

#define WIRE_HEADER        64u     /* of every frame */
#define WIRE_ENTRY         16u     /* length and offset of a message */
#define WIRE_MESSAGE       112u    /* bytes of a message's header */
#define WIRE_DATA          192u    /* all three: in front of a MSG's first payload */
#define WIRE_GRANT         80u     /* all of a GRANT */
#define WIRE_MOST_PAYLOAD  65472u  /* of BULK: a multiple of 64 */
#define WIRE_MOST_FRAGMENT 65344u  /* of MSG, likewise */
#define WIRE_TAIL_BYTES    1024u   /* most payload of an announcement */
#define WIRE_MOST_LENGTH   ((1ULL << 48) - 1)
#define WIRE_ETHERTYPE     0x88b5u
#define WIRE_VERSION       1u
#define WIRE_SIGNED        2u      /* the version of frames with a tag */
#define WIRE_KEY_BYTES     16u

enum wire_offset {
	WIRE_DESTINATION = 0, WIRE_SOURCE = 6, WIRE_TYPE = 12,
	WIRE_AT_VERSION = 14, WIRE_KIND = 15,
	WIRE_CHECKSUM = 16, WIRE_PAYLOAD_CRC = 20, WIRE_TAG = 16,
	WIRE_SOURCE_INCARNATION = 24, WIRE_DESTINATION_INCARNATION = 28,
	WIRE_SEQUENCE = 32, WIRE_ACK = 36, WIRE_SELECTIVE = 40,
	WIRE_OTHER_ACK = 48, WIRE_WINDOW = 52, WIRE_OTHER_WINDOW = 53, WIRE_BEHIND = 54,
	WIRE_MESSAGES = 56, WIRE_REFUSED = 56, WIRE_PART = 56,
	WIRE_UNTIL = 64, WIRE_REACH = 68, WIRE_LENGTH = 64, WIRE_OFFSET = 72
};

enum wire_kind { WIRE_KIND_MSG = 1, WIRE_KIND_GRANT = 2, WIRE_KIND_BULK = 3, WIRE_KIND_RESET = 4 };

#define WIRE_KIND_MASK  0x07u
#define WIRE_ANNOUNCE   0x08u      /* MSG: the payload of its message is granted */
#define WIRE_LANE       0x10u      /* the lane of answers */
#define WIRE_AGAIN      0x20u      /* MSG without messages: some frames were refused, send them
                                      again. GRANT: send also what was sent before. BULK: it was */
#define WIRE_OVER       0x40u      /* RESET: what was sent so far counts as failed */
#define WIRE_ORDINARY   0x40u      /* GRANT: to the ordinary card */
#define WIRE_WAITS      0x80u      /* MSG, GRANT: what is acknowledged next has arrived and
                                      waits for its payload */

/* A batch: most payload bytes of each message, and of all behind the first one's header. */
#define WIRE_BATCH_EACH   128u
#define WIRE_BATCH_BYTES  2048u

/* A frame's fields. `message` and `payload` point into the frame. */
struct wire {
	uint32_t node;             /* of the source */
	uint8_t kind;              /* enum wire_kind */
	uint8_t lane;              /* 0 or 1 */
	uint8_t announce, again, waits; /* 0 or 1 */
	union { uint8_t over, ordinary; }; /* 0 or 1: one bit on the wire */
	uint32_t source, destination; /* incarnations */
	uint32_t sequence, ack, other_ack;
	uint64_t selective;
	uint32_t window, other_window; /* below 256 */
	uint32_t messages;         /* MSG */
	uint32_t bytes;            /* behind the header of the first message; BULK: of payload */
	uint64_t offset, length;   /* MSG: the first message's */
	uint32_t part;             /* GRANT: the first; BULK */
	uint32_t until;            /* GRANT: of the last message: the part behind the last */
	uint32_t reach;            /* GRANT: to the last message, from the first */
	uint64_t refused;          /* MSG without messages and with AGAIN */
	uint32_t payload_crc;
	const uint8_t *message, *payload;
};

enum wire_result {
	WIRE_OK,
	WIRE_SHORT,                /* less than a header, or not the length that it says */
	WIRE_FOREIGN,              /* another protocol, address or version */
	WIRE_DAMAGED,              /* a checksum is wrong */
	WIRE_FORGED,               /* the tag is: forged, or damaged */
	WIRE_NONSENSE              /* fields that no sender of ours writes */
};

/*
 * Read a frame of `bytes` bytes that node `node` has received. Everything is
 * checked that can be without knowing the sender's flow; the first check is
 * that of the length. With a key only frames with the right tag are taken, without
 * one (null) only those that have none. On an error *wire is not to be used.
 */
enum wire_result wire_read(const uint8_t *frame, uint32_t bytes, uint32_t node,
			   const uint8_t *key, struct wire *wire);

/* The same if only the header is at `frame`, and the payload in `n` pieces. */
enum wire_result wire_read_apart(const uint8_t *frame, uint32_t bytes, uint32_t node,
				 const uint8_t *key, const struct nic_piece *pieces, uint32_t n,
				 struct wire *wire);

/* How long the first of several frames is that lie one behind the other. All of it, if that
 * one ends where none can begin: then wire_read finds what is wrong. */
uint32_t wire_first(const uint8_t *frames, uint32_t bytes);
/* Whether a frame with `bytes` bytes may be behind this one: from the same card to the same. */
int wire_follows(const uint8_t *first, const uint8_t *frame, uint32_t bytes);

/* A walk through a batch: begins with all zero but `wire`. */
struct wire_walk {
	const struct wire *wire;
	uint32_t at;               /* in the payload: behind the present message */
	uint32_t n;                /* messages so far */
	const uint8_t *header, *payload; /* of the present one */
	uint32_t bytes;            /* of its payload */
};

/* To the next message: 1, or 0: no more, or (at < wire->bytes) none that can be. */
int wire_walk(struct wire_walk *walk);

static inline uint32_t wire_padded(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

/*
 * Write the header of a frame from `source` to the destination (both addresses)
 * and its checksum. wire->message and ->payload are not looked at: the first message's
 * header is in its place already.
 */
void wire_write(uint8_t *frame, const uint8_t *destination, const uint8_t *source,
		const struct wire *wire);
/* The same; addresses as wire_get reads them. */
void wire_write_to(uint8_t *frame, uint64_t destination, uint64_t source,
		   const struct wire *wire);

/*
 * The tag of a frame whose first `bytes` bytes are at `frame` (its header) and the
 * others in `n` pieces. wire_sign puts it there instead of the checksums: the last step
 * before pieces[0], which holds the whole header, goes to the card with the others.
 */
__attribute__((noinline))
uint64_t wire_tag(const uint8_t *key, const uint8_t *frame, uint32_t bytes,
		  const struct nic_piece *pieces, uint32_t n);
__attribute__((noinline))
void wire_sign(const uint8_t *key, uint8_t *frame, const struct nic_piece *pieces, uint32_t n);

/* Tag or (without a key) both checksums of a frame in one piece, with a message of `bytes` bytes. */
__attribute__((noinline, cold))
void wire_guard(const uint8_t *key, uint8_t *frame, uint32_t bytes);

/* The checksum of a batch, likewise, as it is not that of its header only. */
void wire_sum_batch(uint8_t *frame, const struct nic_piece *pieces, uint32_t n);

/* The address of a node's card; and as wire_get reads it. */
void wire_address(uint8_t *address, uint32_t node, uint32_t card);

static inline uint64_t wire_address_word(uint32_t node, uint32_t card)
{
	return 0x474d02 | card << 24 | (uint64_t)__builtin_bswap16((uint16_t)node) << 32;
}

/* CRC32C without help from the processor: the checksum of `n` more bytes
 * behind those whose checksum is `crc` (0: none). For ports (net/port.h). */
uint32_t wire_crc32c(uint32_t crc, const void *bytes, uint64_t n);

/* Little-endian fields of 2, 3, 4, 6 or 8 bytes, wherever they lie. Each is a load or
 * two, or a store or two, once inlined: every frame is read and written field by field. */
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
	case 3:
		*(wire_quarter *)at = (uint16_t)value;
		at[2] = (uint8_t)(value >> 16);
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

/*
 * A header's checksum. Its words of 8 bytes go in pairs into a state of two words: each XORed
 * into one of the state's, whose product, of 128 bits, is the next state. At the end all of that
 * is XORed, 32 bits at a time. Its own field counts as zero, and `bytes` is a multiple of 16 that
 * the compiler knows. Not a CRC32C, as payload has it: an emulated processor computes that bit by
 * bit, and takes 60 ns for 8 bytes.
 *
 * What is behind a batch's header goes in word by word, as it may be long, and zeros without end
 * would leave a state of zeros: its halves, XORed, take a word and are multiplied by a constant.
 */
#define WIRE_FIRST   0xb7e151628aed2a6bu /* of no pattern: the fractions of e and of */
#define WIRE_FACTOR  0x9e3779b97f4a7c15u /* the golden ratio */

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

		/* Nothing is done here but to say that both stay where the processor multiplies:
		 * the compiler would move them to other registers and back. */
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
