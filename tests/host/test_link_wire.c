/*
 * Frames: checksum, offsets, reading back what was written, refused frames.
 */
#include <string.h>
#include "../../net/link/wire.h"
#include "../../net/port.h"
#include "link_probe.h"

static uint8_t frame[WIRE_DATA + 512];
static uint8_t here[6], there[6];

/* A correct MSG with one message, from node 3 to node 7. */
static struct wire sample(uint32_t bytes)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .messages = 1, .lane = 1, .source = 0x01020304,
			     .destination = 0x11121314, .sequence = 0x21222324,
			     .ack = 0x31323334, .selective = 0x4142434445464748,
			     .other_ack = 0x51525354, .window = 0x55, .other_window = 0x56,
			     .bytes = bytes, .offset = 0x616263646566,
			     .length = 0x717273747576 };

	return wire;
}

static uint32_t put_checked(const struct wire *wire, int check)
{
	uint32_t bytes = probe_header(wire) + wire->bytes;

	wire_address(there, 7, 0);
	wire_address(here, 3, 0);
	for (uint32_t i = 0; i < sizeof(frame) - 64; i++)
		frame[64 + i] = (uint8_t)(i * 7);
	wire_write(frame, wire_get(there, 6), wire_get(here, 6), wire);
	wire_seal(0, check, &(struct nic_piece){ frame, bytes }, 1);
	return bytes;
}

static uint32_t put(const struct wire *wire)
{
	return put_checked(wire, 0);
}

static int has_part(uint32_t kind)
{
	return kind == WIRE_KIND_GRANT || kind == WIRE_KIND_BULK;
}

TEST(wire_checksum_has_the_known_values)
{
	uint8_t bytes[32];

	CHECK_IS(wire_crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, 32);
	CHECK_IS(wire_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	CHECK_IS(wire_crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	CHECK_IS(wire_crc32c(0, bytes, 32), 0x46dd794e);
	CHECK_IS(wire_crc32c(wire_crc32c(0, bytes, 5), bytes + 5, 27), 0x46dd794e);
}

TEST(wire_checksum_of_the_port_is_the_same)
{
	uint64_t dice = 1;
	uint8_t bytes[300];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)check_random(&dice);
	for (uint32_t n = 0; n < sizeof(bytes); n++)
		CHECK_IS(port_crc32c(n, bytes, n), wire_crc32c(n, bytes, n));
}

TEST(wire_fields_lie_where_the_table_says)
{
	struct wire wire = sample(16);
	struct wire granted = { .kind = WIRE_KIND_GRANT, .ordinary = 1,
				.part = 0xa1a2a3a4, .parts = 0xb1b2, .reach = 0xc1c2 };
	static const uint8_t want[80] = {
		0x02, 0x4d, 0x47, 0x00, 0x00, 0x07, 0x02, 0x4d, 0x47, 0x00, 0x00, 0x03,
		0x88, 0xb5, 0x03, 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
		0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
		0x34, 0x33, 0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
		0x54, 0x53, 0x52, 0x51, 0x55, 0x56, 0x90, 0x00, 1, 0, 0, 0, 0, 0, 0, 0,
		0x76, 0x75, 0x74, 0x73, 0x72, 0x71, 0, 0, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0, 0
	};
	static const uint8_t grant[8] = { 0xa4, 0xa3, 0xa2, 0xa1, 0xb2, 0xb1, 0xc2, 0xc1 };

	put(&wire);
	CHECK_IS(wire_get(frame + WIRE_CHECKSUM, 4) != 0, 1);
	memset(frame + WIRE_CHECKSUM, 0, 4);
	CHECK_IS(memcmp(frame, want, 80), 0);
	CHECK_IS(put(&granted), 64);
	CHECK_IS(frame[WIRE_KIND], 0x42);
	CHECK_IS(frame[WIRE_BEHIND], 0);
	CHECK_IS(memcmp(frame + 56, grant, 8), 0);
}

TEST(wire_reads_what_it_wrote)
{
	uint64_t dice = 2;

	for (int i = 0; i < 2000; i++) {
		struct wire wire, read;
		uint64_t r = check_random(&dice);

		memset(&wire, 0, sizeof(wire));
		wire.kind = (uint8_t)(1 + r % 4);
		wire.lane = r >> 8 & 1;
		wire.again = r >> 9 & 1;
		wire.over = wire.kind > WIRE_KIND_MSG && wire.kind != WIRE_KIND_BULK && r >> 10 & 1;
		wire.source = (uint32_t)(check_random(&dice) | 1);
		wire.destination = (uint32_t)check_random(&dice);
		wire.sequence = (uint32_t)check_random(&dice);
		wire.ack = (uint32_t)check_random(&dice);
		wire.other_ack = (uint32_t)check_random(&dice);
		wire.selective = check_random(&dice);
		wire.window = (uint8_t)(check_random(&dice) | 1);
		wire.other_window = (uint8_t)check_random(&dice);
		if (wire.kind == WIRE_KIND_MSG && r >> 13 & 1) {
			wire.messages = 1;
			wire.announce = r >> 14 & 1;
			wire.puts = !wire.announce && !wire.lane && r >> 10 & 1;
		}
		if (wire.announce) {
			wire.offset = 1 + (r >> 16) % WIRE_MOST_PAYLOAD;
			wire.bytes = r >> 12 & 1 ? (uint32_t)(check_random(&dice) % 800) : 0;
			wire.length = wire.offset + wire.bytes + (check_random(&dice) >> 17) %
				((uint64_t)wire.offset * ((1u << 30) - 1) + 1);
		} else if (wire.messages && wire.puts) {
			wire.bytes = (uint32_t)(r >> 16) % (WIRE_PUT_BYTES + 1);
			wire.length = wire.bytes;
		} else if (wire.messages) {
			wire.bytes = (uint32_t)(1 + (r >> 16) % 512);
			wire.offset = check_random(&dice) >> 17;
			wire.length = wire.offset + wire.bytes + (check_random(&dice) >> 17);
		} else if (wire.kind == WIRE_KIND_MSG && wire.again) {
			wire.refused = check_random(&dice);
		} else if (has_part(wire.kind)) {
			wire.part = (uint32_t)check_random(&dice);
		}
		if (wire.kind == WIRE_KIND_GRANT) {
			wire.parts = (uint16_t)check_random(&dice);
			wire.reach = (uint16_t)check_random(&dice);
		}
		if (wire.kind == WIRE_KIND_BULK)
			wire.bytes = (uint32_t)(1 + (r >> 16) % 512);
		CHECK_IS(wire_read(frame, put(&wire), 7, 0, &read), WIRE_OK);
		CHECK_IS(read.node, 3);
		CHECK(read.kind == wire.kind && read.lane == wire.lane &&
		      read.again == wire.again && read.over == wire.over &&
		      read.announce == wire.announce);
		CHECK(read.source == wire.source && read.destination == wire.destination);
		CHECK(read.sequence == wire.sequence && read.ack == wire.ack);
		CHECK(read.selective == wire.selective && read.window == wire.window);
		CHECK(read.other_ack == wire.other_ack && read.other_window == wire.other_window);
		CHECK(read.messages == wire.messages);
		CHECK(read.bytes == wire.bytes && read.refused == wire.refused);
		if (wire.messages)
			CHECK(read.offset == wire.offset && read.length == wire.length &&
			      read.message == frame + 80);
		if (has_part(wire.kind))
			CHECK_IS(read.part, wire.part);
		if (wire.kind == WIRE_KIND_GRANT)
			CHECK(read.parts == wire.parts && read.reach == wire.reach);
		CHECK(read.payload == frame + (put(&wire) - wire.bytes));
	}
}

TEST(wire_refuses_every_wrong_length)
{
	struct wire wire = sample(100), read;
	uint32_t bytes = put(&wire);

	for (uint32_t n = 0; n < sizeof(frame); n++)
		CHECK_IS(wire_read(frame, n, 7, 0, &read), n == bytes ? WIRE_OK : WIRE_SHORT);
}

TEST(wire_finds_every_changed_bit_of_the_header)
{
	struct wire wire = sample(8), read;
	uint32_t bytes = put(&wire);

	for (uint32_t bit = 0; bit < WIRE_DATA * 8; bit++) {
		/* the source address is checked against the switch's ports, not here alone */
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CHECK(wire_read(frame, bytes, 7, 0, &read) != WIRE_OK);
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CHECK_IS(wire_read(frame, bytes, 7, 0, &read), WIRE_OK);
}

TEST(wire_finds_changed_payload_if_there_is_a_checksum)
{
	struct wire wire = sample(8), read;
	uint32_t bytes = put_checked(&wire, 1);

	CHECK_IS(wire_get(frame + WIRE_PAYLOAD_CRC, 4), port_crc32c(0, frame + WIRE_DATA, 8));
	CHECK_IS(wire_read(frame, bytes, 7, 0, &read), WIRE_OK);
	frame[WIRE_DATA + 3] ^= 4;
	CHECK_IS(wire_read(frame, bytes, 7, 0, &read), WIRE_DAMAGED);
	put(&wire);
	frame[WIRE_DATA + 3] ^= 4;
	CHECK_IS(wire_read(frame, bytes, 7, 0, &read), WIRE_OK);
}

static enum wire_result reads(struct wire wire)
{
	struct wire read;

	return wire_read(frame, put(&wire), 7, 0, &read);
}

TEST(wire_refuses_fields_that_cannot_be)
{
	struct wire wire = sample(8), read;

	CHECK_IS(wire_read(frame, put(&wire), 8, 0, &read), WIRE_FOREIGN);
	wire.offset = wire.length;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.offset = wire.length - 7;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.offset = wire.length - 8;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.bytes = 0;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.length = wire.offset = 0;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.source = 0;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = sample(8);
	wire.length = WIRE_MOST_LENGTH + 1;              /* the field could hold more */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = sample(8);
	put(&wire);
	wire_put(frame + WIRE_MESSAGES, 1 + (1ull << 32), 8);
	wire_put(frame + WIRE_CHECKSUM, wire_checksum(frame, WIRE_DATA), 4);
	CHECK_IS(wire_read(frame, WIRE_DATA + 8, 7, 0, &read), WIRE_NONSENSE);
	for (uint32_t kind = 0; kind < 8; kind++) {
		struct nic_piece whole = { .bytes = frame };

		wire = (struct wire){ .kind = (uint8_t)kind, .source = 1, .window = 1 };
		wire.bytes = kind == WIRE_KIND_BULK;
		CHECK_IS(reads(wire), kind >= 1 && kind <= 4 ? WIRE_OK : WIRE_NONSENSE);
		whole.length = put(&wire);
		frame[WIRE_KIND] |= 0x80;                /* without a meaning */
		wire_seal(0, 0, &whole, 1);
		CHECK_IS(wire_read(frame, whole.length, 7, 0, &read),
			 kind >= 1 && kind <= 4 ? WIRE_OK : WIRE_NONSENSE);
		wire.announce = 1;                       /* of no message */
		CHECK_IS(reads(wire), WIRE_NONSENSE);
		wire.announce = 0;
		wire.bytes = 10;
		CHECK_IS(reads(wire), kind == WIRE_KIND_BULK ? WIRE_OK :
			 kind == WIRE_KIND_MSG ? WIRE_SHORT : WIRE_NONSENSE);
	}
	wire = (struct wire){ .kind = WIRE_KIND_BULK, .source = 1, .bytes = 10, .over = 1 };
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	/* An announcement's message is not empty, and its parts are neither empty nor longer than
	 * the message. */
	wire = (struct wire){ .kind = WIRE_KIND_MSG, .messages = 1, .announce = 1, .source = 1,
			      .window = 1, .length = 70000 };
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.offset = WIRE_MOST_PAYLOAD;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.offset++;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.offset = 70001;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.length = wire.offset = 20;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.offset = 21;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	/* An announcement may carry the message's last bytes, but not all. */
	wire = (struct wire){ .kind = WIRE_KIND_MSG, .messages = 1, .announce = 1, .source = 1,
			      .window = 1, .length = 70000, .offset = 60000,
			      .bytes = WIRE_TAIL_BYTES };
	CHECK_IS(reads(wire), WIRE_OK);
	wire.bytes++;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.bytes = 100;
	wire.length = 60100;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.length--;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.length = 100;
	wire.offset = 1;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	/* It has at most 2^30 parts, and bytes with the announcement. */
	wire.length = (1ull << 30) + wire.bytes;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.length++;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.length = (1ull << 32) + wire.bytes;         /* a count of 32 bits would be 0 */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.offset = 2;
	wire.length = (1ull << 31) + wire.bytes;
	CHECK_IS(reads(wire), WIRE_OK);
	wire.length++;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
}

/* An acknowledgement never closes the window, as no sender would ask for it to be opened. */
TEST(wire_refuses_windows_of_nothing)
{
	for (uint32_t kind = WIRE_KIND_MSG; kind <= WIRE_KIND_RESET; kind++) {
		int acknowledges = kind == WIRE_KIND_MSG || kind == WIRE_KIND_GRANT;
		struct wire wire = { .kind = (uint8_t)kind, .source = 1,
				     .bytes = kind == WIRE_KIND_BULK };

		for (wire.messages = 0; wire.messages <= (uint32_t)acknowledges; wire.messages++) {
			if (wire.messages && kind == WIRE_KIND_GRANT)
				continue;
			wire.window = 0;
			CHECK_IS(reads(wire), acknowledges ? WIRE_NONSENSE : WIRE_OK);
			wire.window = 1;         /* the other lane's window may be 0 */
			CHECK_IS(reads(wire), WIRE_OK);
		}
	}
}

/* A frame with two messages of 8 bytes; the second one's entry has this length and offset. */
static enum wire_result reads_two(uint32_t messages, uint64_t length, uint64_t offset)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .messages = messages, .puts = 1, .source = 1,
			     .window = 1, .length = 8, .bytes = 8 + 48 + 8 }, read;
	uint32_t bytes = put(&wire);

	wire_put(frame + WIRE_PUT_DATA + 8, length, 8);
	wire_put(frame + WIRE_PUT_DATA + 16, offset, 8);
	wire_seal(0, 0, &(struct nic_piece){ frame, bytes }, 1);
	return wire_read(frame, bytes, 7, 0, &read);
}

TEST(wire_refuses_batches_that_cannot_be)
{
	CHECK_IS(reads_two(2, 8, 0), WIRE_OK);
	CHECK_IS(reads_two(3, 8, 0), WIRE_NONSENSE);     /* fewer messages than it claims */
	CHECK_IS(reads_two(2, 8, 8), WIRE_NONSENSE);     /* a wrong offset */
	CHECK_IS(reads_two(2, 16, 0), WIRE_NONSENSE);    /* longer than the frame */
	CHECK_IS(reads_two(2, 0, 0), WIRE_NONSENSE);     /* with bytes after it */
	CHECK_IS(reads_two(2, 8 | 1ull << 32, 0), WIRE_NONSENSE);
	CHECK_IS(reads((struct wire){ .kind = WIRE_KIND_BULK, .source = 1 }), WIRE_NONSENSE);
}

TEST(wire_refuses_puts_that_cannot_be)
{
	const struct wire good = { .kind = WIRE_KIND_MSG, .messages = 1, .puts = 1, .source = 1,
				  .window = 1, .length = WIRE_PUT_BYTES,
				  .bytes = WIRE_PUT_BYTES };
	struct wire wire = good, read;
	uint32_t bytes;

	CHECK_IS(reads(wire), WIRE_OK);
	wire.length++;                                   /* a fragment */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.bytes++;                                    /* too long */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire.puts = 0;
	CHECK_IS(reads(wire), WIRE_OK);
	wire = good;
	wire.offset = 1;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = good;
	wire.lane = 1;                                   /* not a request */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = good;
	wire.announce = 1;
	wire.offset = 1;
	wire.bytes = 0;
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = good;
	wire.messages = wire.bytes = 0;                  /* of no message */
	CHECK_IS(reads(wire), WIRE_NONSENSE);
	wire = good;
	wire.messages = 2;                               /* a batch of other messages, without payload */
	wire.puts = wire.length = 0;
	wire.bytes = WIRE_ENTRY + WIRE_PUT;
	bytes = put(&wire);
	memset(frame + WIRE_DATA, 0, wire.bytes);
	CHECK_IS(wire_read(frame, bytes, 7, 0, &read), WIRE_NONSENSE);
}

TEST(wire_reads_payload_that_lies_apart)
{
	static const uint8_t key[WIRE_KEY_BYTES] = { 1, 2, 3 };
	struct wire wire = { .kind = WIRE_KIND_BULK, .source = 1, .bytes = 100 }, read;
	uint8_t header[WIRE_HEADER], payload[100];
	struct nic_piece apart[2] = { { payload, 30 }, { payload + 30, 70 } };
	struct nic_piece pieces[3] = { { header, sizeof(header) }, apart[0], apart[1] };

	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 3);
	for (uint32_t keyed = 0; keyed < 2; keyed++) {
		put(&wire);
		memcpy(header, frame, sizeof(header));
		wire_seal(keyed ? key : 0, 1, pieces, 3);
		for (uint32_t bit = 0; bit < 8 * sizeof(payload); bit += 7) {
			payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
			CHECK_IS(wire_read_apart(header, 164, 7, keyed ? key : 0, apart, 2, &read),
				 keyed ? WIRE_FORGED : WIRE_DAMAGED);
			payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		CHECK_IS(wire_read_apart(header, 164, 7, keyed ? key : 0, apart, 2, &read), WIRE_OK);
		CHECK_IS(wire_read_apart(header, 163, 7, keyed ? key : 0, apart, 2, &read),
			 WIRE_SHORT);
	}
}
