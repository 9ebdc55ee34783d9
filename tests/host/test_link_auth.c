/*
 * Frames with a tag (the job has a key): the hash, what it covers, and that a link drops a frame
 * with a wrong tag, with no other effect than a count.
 */
#include <string.h>
#include "../../net/link/siphash.h"
#include "../../net/port.h"
#include "link_probe.h"
#include "traffic.h"

static const uint8_t key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t other_key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14 };
static uint8_t frame[WIRE_DATA + 100];

static uint64_t hash_of(const void *bytes, uint64_t n)
{
	struct siphash hash;

	siphash_start(&hash, key);
	siphash_add(&hash, bytes, n);
	return siphash_end(&hash);
}

/* From the specification's appendix, and from the test vectors of its authors. */
TEST(siphash_has_the_known_values)
{
	uint8_t bytes[64];

	for (int i = 0; i < 64; i++)
		bytes[i] = (uint8_t)i;
	CHECK_IS(hash_of(bytes, 15), 0xa129ca6149be45e5);
	CHECK_IS(hash_of(bytes, 0), 0x726fdb47dd0e0e31);
	CHECK_IS(hash_of(bytes, 1), 0x74f839c593dc67fd);
	CHECK_IS(hash_of(bytes, 7), 0xab0200f58b01d137);
	CHECK_IS(hash_of(bytes, 8), 0x93f5f5799a932462);
	CHECK_IS(hash_of(bytes, 63), 0x958a324ceb064572);
}

TEST(siphash_of_pieces_is_that_of_the_whole)
{
	uint8_t bytes[300];
	uint64_t dice = 3;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)check_random(&dice);
	for (int turn = 0; turn < 2000; turn++) {
		uint32_t n = check_random(&dice) % (sizeof(bytes) + 1), at = 0;
		struct siphash hash;

		siphash_start(&hash, key);
		while (at < n) {
			uint32_t piece = check_random(&dice) % (turn % 2 ? 5 : 100);

			piece = piece < n - at ? piece : n - at;
			siphash_add(&hash, bytes + at, piece);
			at += piece;
		}
		CHECK_IS(siphash_end(&hash), hash_of(bytes, n));
	}
}

/* ---- frames ---- */

/* Make a signed frame of this kind from node 3 to node 7; returns its length. */
static uint32_t make(uint8_t kind, uint32_t payload)
{
	struct wire wire = { .kind = kind, .source = 9, .destination = 8, .sequence = 5, .ack = 4,
			     .window = 8, .messages = payload > 0, .bytes = payload,
			     .length = payload };
	uint32_t header = payload ? WIRE_DATA : WIRE_HEADER;
	struct nic_piece pieces[4] = {
		{ frame, header }, { frame + header, payload / 3 },
		{ frame + header + payload / 3, 0 },
		{ frame + header + payload / 3, payload - payload / 3 }
	};
	uint8_t here[6], there[6];

	for (uint32_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(7 * i);
	wire_address(there, 7, 0);
	wire_address(here, 3, 0);
	wire_write(frame, wire_get(there, 6), wire_get(here, 6), &wire);
	wire_seal(key, 0, pieces, 4);
	return header + payload;
}

static enum wire_result reads(uint32_t bytes, const uint8_t *with)
{
	struct wire wire;

	return wire_read(frame, bytes, 7, with, &wire);
}

TEST(auth_tag_covers_every_bit)
{
	static const uint8_t kinds[] = { WIRE_KIND_MSG, WIRE_KIND_MSG, WIRE_KIND_GRANT,
					 WIRE_KIND_RESET };

	for (uint32_t k = 0; k < 4; k++) {
		uint32_t bytes = make(kinds[k], k ? 0 : 77);

		CHECK_IS(reads(bytes, key), WIRE_OK);
		for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
			CHECK(reads(bytes, key) != WIRE_OK);
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		CHECK_IS(reads(bytes, key), WIRE_OK);
	}
}

TEST(auth_tag_is_where_the_table_says)
{
	uint32_t bytes = make(WIRE_KIND_MSG, 77);
	uint8_t rest[sizeof(frame)];

	CHECK_IS(frame[14], 4);
	memcpy(rest, frame, 16);
	memcpy(rest + 16, frame + 24, bytes - 24);
	CHECK_IS(wire_get(frame + 16, 8), hash_of(rest, bytes - 8));
}

TEST(auth_and_plain_frames_do_not_mix)
{
	uint32_t bytes = make(WIRE_KIND_MSG, 40);
	struct wire wire;

	CHECK_IS(reads(bytes, other_key), WIRE_FORGED);
	CHECK_IS(reads(bytes, 0), WIRE_FOREIGN);
	CHECK_IS(wire_read(frame, bytes, 7, key, &wire), WIRE_OK); /* a tag, no payload checksum */
	wire_write(frame, wire_get(frame, 6), wire_get(frame + 6, 6), &wire);
	wire_seal(0, 0, &(struct nic_piece){ frame, bytes }, 1);
	CHECK_IS(reads(bytes, 0), WIRE_OK);
	CHECK_IS(reads(bytes, key), WIRE_FOREIGN);
	frame[14] = 4;
	CHECK_IS(reads(bytes, key), WIRE_FORGED);
}

/* ---- the link ---- */

static void open_keyed(struct probe *p)
{
	probe_open(p);
	p->config.keyed = 1;
	memcpy(p->config.key, key, sizeof(key));
	probe_start(p);
}

TEST(auth_link_signs_everything_that_leaves)
{
	struct wire wire;
	struct probe p;

	/* The probe's card reads each frame with the key and insists that it is right. */
	open_keyed(&p);
	p.config.check_payload = 1;
	probe_send(&p, 1, 700, 1);
	CHECK_IS(p.n_sent, 3);
	probe_pass(&p, 100 * MS);
	CHECK(p.n_sent > 3);                      /* sent again, with other acknowledgements */
	wire = probe_data(0, 8, 0);
	probe_give(&p, 2, &wire, 5);
	probe_pass(&p, MS);
	CHECK(probe_is_bare(&p.sent[p.n_sent - 1]));
	wire.destination = PROBE_LIFE - 1;
	probe_give(&p, 3, &wire, 5);
	CHECK_IS(p.sent[p.n_sent - 1].kind, WIRE_KIND_RESET);
	CHECK_IS(link_counter(p.link, LINK_FORGED), 0);
	probe_close(&p, 0);
}

TEST(auth_link_drops_forged_frames_without_an_answer)
{
	static const uint8_t *const keys[] = { other_key, 0 };
	struct wire data = probe_data(0, 8, 0), part = probe_data(0, 700, 0), ack = probe_ack(1, 0, 8);
	struct wire reset = { .kind = WIRE_KIND_RESET, .source = PEER_LIFE + 256,
			      .destination = PROBE_LIFE, .over = 1 };
	const struct wire *const forged[] = { &data, &part, &ack, &reset };
	struct probe p;

	open_keyed(&p);
	probe_send(&p, 1, 8, 1);
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < 4; i++) {
			p.key = keys[k];
			probe_give(&p, 1, forged[i], 6);
			/* nor does it make an unknown node a peer */
			probe_give(&p, 2 + i, forged[i], 6);
		}
	TOLD(&p, "");
	CHECK_IS(p.n_sent, 1);
	CHECK_IS(link_counter(p.link, LINK_FORGED), 8);
	CHECK_IS(link_counter(p.link, LINK_FOREIGN), 8);
	CHECK_IS(link_figures(p.link).peer_bytes, 242);
	/* The conversation continues where it was. */
	p.key = key;
	probe_give(&p, 1, &ack, 0);
	probe_give(&p, 1, &data, 7);
	TOLD(&p, "sw");
	probe_close(&p, 1);
}

/* Damaged payload is dropped before it reaches any of its destinations; the same frame undamaged is
 * accepted. */
static void check_payload(int keyed)
{
	/* whole; early and kept; begin and data; longer, and whole; a later part */
	static const struct { uint32_t sequence; uint64_t length, at; const char *story; } cases[] = {
		{ 0, 100, 0, "w" }, { 2, 100, 0, "" }, { 0, 700, 0, "bd" }, { 0, 200, 0, "w" },
		{ 2, 700, 512, "d" }
	};
	static uint8_t bytes[WIRE_DATA + PROBE_FRAGMENT];
	uint8_t here[6], there[6];

	wire_address(here, 1, 0);
	wire_address(there, 0, 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct wire wire = probe_data(cases[i].sequence, cases[i].length, cases[i].at);
		struct wire first = probe_data(0, 700, 0);
		struct nic_piece whole = { bytes, WIRE_DATA + wire.bytes };
		struct probe p;

		probe_open(&p);
		p.config.keyed = (uint8_t)keyed;
		memcpy(p.config.key, key, sizeof(key));
		probe_start(&p);
		if (i == 4) {
			probe_give(&p, 1, &first, 0);
			probe_story(&p);
		}
		memset(bytes, 0x55, sizeof(bytes));
		memset(bytes + LINK_FRAME_BYTES, 0, WIRE_MESSAGE);
		wire_write(bytes, wire_get(there, 6), wire_get(here, 6), &wire);
		wire_seal(keyed ? key : 0, 1, &whole, 1);
		bytes[whole.length - 1] ^= 1;
		link_receive(p.link, p.now, bytes, whole.length);
		CHECK_IS(link_counter(p.link, keyed ? LINK_FORGED : LINK_DAMAGED), 1);
		CHECK_IS(link_counter(p.link, LINK_STASHED), 0);
		TOLD(&p, "");
		bytes[whole.length - 1] ^= 1;
		link_receive(p.link, p.now, bytes, whole.length);
		CHECK_IS(link_counter(p.link, LINK_STASHED), i == 1);
		TOLD(&p, cases[i].story);
		probe_close(&p, 0);
	}
}

TEST(auth_link_takes_payload_only_with_its_tag)
{
	check_payload(1);
}

TEST(link_takes_payload_only_with_its_checksum)
{
	check_payload(0);
}

TEST(auth_link_bears_all_faults_at_once)
{
	struct traffic_config config = { .nodes = 4, .messages = 600, .seed = 61, .longest = 40000,
					 .longer = 300000, .busy = 20000, .answers = 300000,
					 .most_time = 20000000000ull };
	struct netsim_config network = netsim_defaults(4, 61);
	struct traffic t;

	network.loss = network.duplicate = network.reorder = network.delay = 50000;
	network.damage = 200000;
	traffic_open(&t, &config, &network);
	t.links.keyed = 1;
	memcpy(t.links.key, key, sizeof(key));
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK(traffic_count(&t, LINK_FORGED) > 100);
	CHECK_IS(traffic_count(&t, LINK_DAMAGED), 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* Short puts take the fast path with a key and with checksums of payload too. Their frames equal
 * those of the general path. */
TEST(auth_guards_frames_of_the_fast_path)
{
	for (uint32_t kind = 0; kind < 3; kind++) {
		struct wire data = probe_data(0, 8, 0), ack;
		const struct wire *sent;
		struct link_room room;
		struct probe p;

		probe_open(&p);
		p.config.keyed = kind == 1;
		p.config.check_payload = kind == 2;
		memcpy(p.config.key, key, sizeof(key));
		probe_start(&p);
		probe_give(&p, 1, &data, 7);           /* the peer is known */
		TOLD(&p, "w");
		room = link_fast_room(p.link, 1);
		CHECK(room.header != 0);
		memset(room.header, 5, LINK_PUT_BYTES + 16);
		CHECK_IS(link_fast_send(p.link, room, p.now, 16), 1); /* on the fast path */
		CHECK_IS(p.n_sent, 1);
		sent = &p.sent[0];                     /* read by wire_read, key and all */
		CHECK(probe_is_data(sent) && sent->bytes == 16 && sent->ack == 1);
		if (kind != 1)                         /* the tag takes its place */
			CHECK_IS(wire_get(p.frames[0] + WIRE_PAYLOAD_CRC, 4) != 0, kind == 2);
		CHECK_IS(p.frames[0][WIRE_AT_VERSION], kind == 1 ? WIRE_SIGNED : WIRE_VERSION);
		ack = probe_ack(1, 0, 8);
		ack.ack = 1;
		probe_give(&p, 1, &ack, 0);
		probe_close(&p, 1);
	}
}
