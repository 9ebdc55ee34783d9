/*
 * Long messages over links in a simulated network with bulk cards: every fault, cards that are
 * missing or reset themselves, dead and new peers, malicious frames. The memory that a message is
 * written to is freed when it ends, so that ASan finds a card that writes later.
 */
#include <stdlib.h>
#include <string.h>
#include "../../net/link/wire.h"
#include "check.h"
#include "traffic.h"

static struct traffic_config usual(uint32_t nodes, uint32_t messages, uint64_t seed)
{
	return (struct traffic_config){ .nodes = nodes, .messages = messages, .seed = seed,
					.longest = 300000, .longer = 400000, .busy = 20000,
					.announce = 16384, .unplaceable = 1, .answers = 300000,
					.most_time = 60000000000ull };
}

static void all_arrive(const struct traffic_config *config, const struct netsim_config *network)
{
	struct traffic t;

	traffic_open(&t, config, network);
	t.links.check_payload = 1;
	t.links.keyed = (uint8_t)config->keyed;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK_IS(traffic_count(&t, LINK_MESSAGES_IN), t.sent);
	CHECK(traffic_count(&t, LINK_ANNOUNCED) > 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(bulk_puts_payload_in_its_place)
{
	struct traffic_config config = usual(8, 600, 1);
	struct netsim_config network = netsim_defaults(8, 1);
	struct traffic t;

	config.busy = config.unplaceable = 0;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK(traffic_count(&t, LINK_PLACED) > 500);
	CHECK_IS(traffic_count(&t, LINK_PLACED), traffic_count(&t, LINK_PARTS_OUT));
	CHECK_IS(traffic_count(&t, LINK_COPIED), 0);
	CHECK_IS(traffic_count(&t, LINK_MISPLACED), 0);
	CHECK_IS(traffic_count(&t, LINK_WITHDRAWN), 0);
	CHECK_IS(traffic_count(&t, LINK_TIMEOUTS), 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* Their announcements must not claim parts longer than the message. */
TEST(bulk_announces_messages_of_one_part)
{
	struct traffic_config config = usual(4, 600, 2);
	struct netsim_config network = netsim_defaults(4, 2);

	config.announce = 600;
	config.longest = 8000;
	all_arrive(&config, &network);
	config.keyed = 1;
	network.loss = network.damage = 20000;
	all_arrive(&config, &network);
}

TEST(bulk_bears_pairs_of_all_faults)
{
	static const uint32_t rates[] = { 1000, 10000, 50000, 200000 };

	for (uint32_t rate = 0; rate < 4; rate++)
		for (uint32_t a = 0; a < 5; a++)
			for (uint32_t b = a; b < 5; b++) {
				uint64_t seed = 100 * rate + 10 * a + b;
				struct traffic_config config = usual(3, 90, seed);
				struct netsim_config network = netsim_defaults(3, seed);
				uint32_t *faults[] = { &network.loss, &network.duplicate,
						       &network.reorder, &network.damage,
						       &network.delay };

				*faults[a] = *faults[b] = rates[rate];
				all_arrive(&config, &network);
			}
}

TEST(bulk_is_repaired)
{
	struct traffic_config config = usual(2, 900, 2);
	struct netsim_config network = netsim_defaults(2, 2);
	struct traffic t;

	network.loss = 50000;
	config.unplaceable = 0;
	config.fixed = 262144;         /* in parts of the same length */
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK(traffic_count(&t, LINK_MISPLACED) > 10);
	CHECK(traffic_count(&t, LINK_MOVED) > 10);
	CHECK(traffic_count(&t, LINK_WITHDRAWN) < 10);
	CHECK_IS(traffic_count(&t, LINK_COPIED), 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* Payload that the user does not take is not granted, and so not sent. */
static void leave_out(struct traffic_config config, const struct netsim_config *network)
{
	struct traffic t;

	config.busy = config.unplaceable = 0;
	traffic_open(&t, &config, network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK(traffic_count(&t, LINK_PLACED) > 500);
	CHECK_IS(traffic_count(&t, LINK_PLACED), traffic_count(&t, LINK_PARTS_OUT));
	CHECK_IS(traffic_count(&t, LINK_MISPLACED), 0);
	CHECK_IS(traffic_count(&t, LINK_COPIED), 0);
	CHECK_IS(traffic_count(&t, LINK_TIMEOUTS), 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(bulk_leaves_out_messages_that_the_user_drops)
{
	struct traffic_config config = usual(2, 900, 4);
	struct netsim_config network = netsim_defaults(2, 4);

	config.dropped = 300000;
	leave_out(config, &network);
}

/* The user is told when these messages end, in the order of all. */
TEST(bulk_leaves_out_payload_that_the_user_does_not_want)
{
	struct traffic_config config = usual(2, 900, 5);
	struct netsim_config network = netsim_defaults(2, 5);

	config.headers = 300000;
	leave_out(config, &network);
	config.dropped = config.busy = 100000;
	network.loss = network.reorder = 50000;
	all_arrive(&config, &network);
}

/* A part without a buffer is sent by the ordinary card, whose frames may be shorter. */
TEST(bulk_parts_fit_both_cards)
{
	struct traffic_config config = usual(2, 300, 3);
	struct netsim_config network = netsim_defaults(2, 3);
	struct traffic t;

	network.loss = 50000;
	traffic_open(&t, &config, &network);
	for (uint32_t node = 0; node < 2; node++)
		netsim_bulk(t.sim, node)->mtu = 2 * network.mtu;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK(traffic_count(&t, LINK_COPIED) > 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* Messages of many lengths, and so with parts of many lengths. */
TEST(bulk_of_any_length_is_repaired_soon)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct traffic_config config = usual(2, 900, seed);
		struct netsim_config network = netsim_defaults(2, seed);

		network.loss = 50000;
		config.unplaceable = 0;
		config.most_time = 3000000000ull;
		all_arrive(&config, &network);
	}
}

/* Simulated time of a stream that loses so many frames per million. */
static uint64_t time_of_stream(uint32_t bytes, uint32_t loss, uint64_t seed)
{
	struct traffic_config config = usual(2, 100000000 / bytes, seed);
	struct netsim_config network = netsim_defaults(2, seed);
	struct traffic t;
	uint64_t ns;

	config.busy = config.answers = config.unplaceable = 0;
	config.fixed = bytes;
	network.mtu = 65549;
	network.queue_bytes = 16u << 20;
	network.loss = loss;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	ns = netsim_now(t.sim);
	CHECK_IS(traffic_close(&t), 0);
	return ns;
}

/* Only a lost part is sent again, and parts that are granted continue. */
TEST(bulk_streams_bear_losses)
{
	static const uint32_t sizes[] = { 65536, 500000 };

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t whole = 0, lossy = 0;

		for (uint64_t seed = 1; seed < 5; seed++) {
			whole += time_of_stream(sizes[i], 0, seed);
			lossy += time_of_stream(sizes[i], 10000, seed);
		}
		CHECK(lossy * 85 <= whole * 100);
	}
}

TEST(bulk_comes_by_copies_where_there_is_no_card)
{
	for (uint32_t cardless = 1; cardless < 7; cardless++) {
		struct traffic_config config = usual(3, 200, 3 + cardless);
		struct netsim_config network = netsim_defaults(3, 3 + cardless);

		config.cardless = cardless;
		network.loss = cardless & 1 ? 10000 : 0;
		all_arrive(&config, &network);
	}
}

TEST(bulk_bears_small_pools_and_short_frames)
{
	for (uint32_t seed = 10; seed < 14; seed++) {
		struct traffic_config config = usual(3, 150, seed);
		struct netsim_config network = netsim_defaults(3, seed);
		struct traffic t;

		network.loss = seed & 1 ? 10000 : 0;
		network.mtu = seed & 2 ? 4096 + WIRE_HEADER : 9014;
		traffic_open(&t, &config, &network);
		t.links.sends = 2;
		t.links.answers = 1;
		t.links.assemblies = t.links.stashes = 1;
		t.links.transmits = 1 + seed % 3;
		traffic_start(&t);
		CHECK_IS(traffic_run(&t, ~0u), 1);
		CHECK_IS(t.failed, 0);
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(bulk_frames_are_signed)
{
	struct traffic_config config = usual(3, 150, 20);
	struct netsim_config network = netsim_defaults(3, 20);
	struct traffic t;

	network.damage = 20000;
	traffic_open(&t, &config, &network);
	t.links.keyed = 1;
	memset(t.links.key, 7, sizeof(t.links.key));
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* The simulated card writes frames before it reports them, and loses posted buffers by itself. */
TEST(bulk_bears_a_card_that_resets_itself)
{
	for (uint64_t seed = 30; seed < 40; seed++) {
		struct traffic_config config = usual(3, 300, seed);
		struct netsim_config network = netsim_defaults(3, seed);
		uint64_t dice = seed;
		struct traffic t;

		traffic_open(&t, &config, &network);
		traffic_start(&t);
		for (uint32_t at = 10; at < 300; at += 10) {
			CHECK_IS(traffic_run(&t, at), 1);
			netsim_bulk_reset(t.sim, (uint32_t)(netsim_random(&dice) % 3));
		}
		CHECK_IS(traffic_run(&t, ~0u), 1);
		CHECK_IS(t.failed, 0);
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(bulk_ends_with_its_peers_lives)
{
	for (uint64_t seed = 40; seed < 60; seed++) {
		struct traffic_config config = usual(4, 600, seed);
		struct netsim_config network = netsim_defaults(4, seed);
		struct traffic t;

		network.delay = network.duplicate = 50000;
		network.delay_ns = 20000000;
		traffic_open(&t, &config, &network);
		t.links.check_payload = 1;
		traffic_start(&t);
		for (uint32_t at = 100; at < 600; at += 100) {
			CHECK_IS(traffic_run(&t, at), 1);
			traffic_restart(&t, at / 100 % 4);
		}
		CHECK_IS(traffic_run(&t, ~0u), 1);
		CHECK_IS(traffic_close(&t), 0);
	}
}

/* A node dies in its turn: the others still get theirs, and a node that knows of the death ends the
 * messages that had begun and takes back their buffers. */
TEST(bulk_of_a_dead_node_stops_no_other)
{
	struct traffic_config config = usual(4, 400, 70);
	struct netsim_config network = netsim_defaults(4, 70);
	struct traffic t;

	config.incast = 1;
	config.busy = config.answers = 0;
	config.fixed = 200000;
	traffic_open(&t, &config, &network);
	t.links.tries = 5;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, 60), 1);
	while (traffic_count(&t, LINK_PLACED) % 7 != 3)
		CHECK(netsim_step(t.sim) >= 0);
	traffic_kill(&t, 2);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK(t.nodes[1].bytes >= 100ull * 200000 && t.nodes[3].bytes >= 100ull * 200000);
	link_ended(t.nodes[0].link, netsim_now(t.sim), 2, 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(bulk_has_turns)
{
	struct traffic_config config = usual(16, 450, 80);
	struct netsim_config network = netsim_defaults(16, 80);
	uint64_t least = ~0ull, most = 0;
	struct traffic t;

	config.incast = 1;
	config.busy = config.answers = config.unplaceable = 0;
	config.fixed = 300000;
	network.mtu = 65549;
	network.queue_bytes = 4u << 20;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, 300), 1);
	for (uint32_t i = 1; i < 16; i++) {
		least = t.nodes[i].bytes < least ? t.nodes[i].bytes : least;
		most = t.nodes[i].bytes > most ? t.nodes[i].bytes : most;
	}
	CHECK(most <= least + 20 * 300000ull);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	/* Nothing is lost for lack of a buffer, and the wire is busy nearly all the time. */
	CHECK_IS(netsim_counter(t.sim, NETSIM_OVERFLOW), 0);
	CHECK_IS(traffic_count(&t, LINK_MISPLACED), 0);
	CHECK(netsim_now(t.sim) < 450 * 300000ull * 12 / 10);
	CHECK_IS(traffic_close(&t), 0);
}

/*
 * 15 nodes send to one, each with up to 8 unanswered messages. There are records for all, so
 * nothing is refused and sent again, and no flow has to ask for its turn. The messages of a turn
 * are acknowledged and answered all at once.
 */
TEST(bulk_answers_a_turn_at_its_end)
{
	struct traffic_config config = usual(16, 600, 81);
	struct netsim_config network = netsim_defaults(16, 81);
	struct traffic t;

	config.incast = 1;
	config.busy = config.answers = config.unplaceable = 0;
	config.fixed = 65536;
	config.answered = 8;
	network.mtu = 65549;
	network.queue_bytes = 4u << 20;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(traffic_count(&t, LINK_REFUSED), 0);
	CHECK_IS(traffic_count(&t, LINK_RESENT), 0);
	CHECK_IS(traffic_count(&t, LINK_MISPLACED), 0);
	CHECK(link_counter(t.nodes[0].link, LINK_ACKS_OUT) < 240);
	CHECK_IS(traffic_close(&t), 0);
}

/* ---- malicious frames ---- */

static uint32_t forge(uint8_t *frame, uint64_t *dice)
{
	uint32_t node = (uint32_t)(netsim_random(dice) % 3), bytes;
	uint64_t r = netsim_random(dice);
	struct wire wire = {
		.kind = (uint8_t)(r % 5), .lane = r >> 8 & 1, .again = r >> 9 & 1, .over = r >> 10 & 1,
		.source = 1000, .destination = 1000,
		.sequence = (uint32_t)(r >> 12) % 64, .ack = (uint32_t)(r >> 18) % 64,
		.selective = netsim_random(dice) << 1 | (r >> 11 & 1), .window = 64,
		.part = (uint32_t)(r >> 30) % 32,
		.parts = (uint16_t)(r >> 36 & 1 ? netsim_random(dice) : (r >> 37) % 32),
		.reach = (uint16_t)(r >> 42) % 8
	};
	uint8_t to[6], from[6];

	if (wire.kind == WIRE_KIND_MSG) {
		wire.messages = r % 3;
		wire.announce = r % 7 < 2;
	}
	if (wire.announce)
		wire.offset = 1 + (uint32_t)(r >> 48) % 9000;
	else if (wire.messages || wire.kind == WIRE_KIND_BULK)
		wire.bytes = 1 + (uint32_t)(r >> 48) % 8800;
	wire.length = wire.offset + wire.bytes + netsim_random(dice) % 300000;
	wire_address(to, node, r >> 62 & 1);
	wire_address(from, (node + 1 + (r >> 60 & 1)) % 3, 0);
	memset(frame + WIRE_HEADER, 0xee, WIRE_DATA - WIRE_HEADER);
	bytes = (wire.messages ? WIRE_DATA : WIRE_HEADER) + wire.bytes;
	wire_write(frame, wire_get(to, 6), wire_get(from, 6), &wire);
	wire_seal(0, 0, &(struct nic_piece){ frame, bytes }, 1);
	if (r >> 63)
		bytes = netsim_random(dice) % (bytes + 1);
	return bytes < 6 ? 6 : bytes;
}

/*
 * In a network without a key a node can forge others' frames. Then the link guarantees only that
 * memory that was not granted is not touched (ASan, as messages' memory is freed), that all records
 * return to their pools, and that everything ends. With a key forged frames have no effect.
 */
TEST(bulk_frames_that_are_forged)
{
	static uint8_t frame[16384];

	for (uint64_t seed = 100; seed < 112; seed++) {
		struct traffic_config config = usual(3, 200, seed);
		struct netsim_config network = netsim_defaults(3, seed);
		int keyed = seed % 2;
		uint64_t dice = seed;
		struct traffic t;

		traffic_open(&t, &config, &network);
		t.links.keyed = (uint8_t)keyed;
		t.links.tries = 4;
		t.lenient = !keyed;
		traffic_start(&t);
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t bytes = forge(frame, &dice);

			netsim_inject(t.sim, (uint32_t)frame[4] << 8 | frame[5], frame, bytes);
			for (uint32_t n = 0; n < 5; n++)
				traffic_step(&t);
		}
		if (keyed) {
			CHECK_IS(traffic_run(&t, ~0u), 1);
			CHECK_IS(t.failed, 0);
		}
		for (uint32_t a = 0; a < 3; a++)
			for (uint32_t b = 0; b < 3; b++)
				link_ended(t.nodes[a].link, netsim_now(t.sim), b, 0);
		CHECK_IS(traffic_close(&t), 0);
	}
}
