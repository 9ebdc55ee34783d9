/*
 * The link in a simulated network: faults, fairness, restarts, cut links, pools
 * that run out. Short runs, for the sanitizers; tests/test_netsim.py has the long ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include "check.h"
#include "link_probe.h"
#include "traffic.h"

#define LEAST_MTU  (WIRE_DATA + LINK_ROOM_BYTES)

static const uint32_t rates[] = { 1000, 10000, 50000, 200000 };

static struct traffic_config usual(uint32_t nodes, uint32_t messages, uint64_t seed)
{
	return (struct traffic_config){ .nodes = nodes, .messages = messages, .seed = seed,
					.longest = 40000, .longer = 200000, .busy = 20000,
					.answers = 300000, .fast = 500000,
					.most_time = 20000000000ull };
}

/* All of them arrive. */
static void all_arrive(const struct traffic_config *config, const struct netsim_config *network)
{
	struct traffic t;

	traffic_open(&t, config, network);
	t.links.check_payload = 1;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK_IS(traffic_count(&t, LINK_MESSAGES_OUT), t.sent);
	CHECK_IS(traffic_count(&t, LINK_MESSAGES_IN), t.sent);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(link_carries_messages_between_many_nodes)
{
	struct traffic_config config = usual(64, 6400, 1);
	struct netsim_config network = netsim_defaults(64, 1);

	all_arrive(&config, &network);
}

TEST(link_sends_nothing_again_without_faults)
{
	struct traffic_config config = usual(8, 2000, 2);
	struct netsim_config network = netsim_defaults(8, 2);
	struct traffic t;

	config.busy = 0;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(traffic_count(&t, LINK_RESENT), 0);
	CHECK_IS(traffic_count(&t, LINK_TIMEOUTS), 0);
	CHECK_IS(traffic_count(&t, LINK_DUPLICATES), 0);
	CHECK_IS(traffic_close(&t), 0);
}

#define FAULTS 7u

static uint32_t *rate_of(struct netsim_config *network, uint32_t fault)
{
	uint32_t *faults[] = { &network->loss, &network->duplicate, &network->reorder,
			       &network->damage, &network->delay, &network->cut,
			       &network->stop };

	return faults[fault];
}

TEST(link_bears_pairs_of_all_faults)
{
	for (uint32_t rate = 0; rate < 4; rate++)
		for (uint32_t a = 0; a < FAULTS; a++)
			for (uint32_t b = a; b < FAULTS; b++) {
				uint64_t seed = 100 * rate + 10 * a + b;
				struct traffic_config config = usual(4, 240, seed);
				struct netsim_config network = netsim_defaults(4, seed);

				*rate_of(&network, a) = rates[rate];
				*rate_of(&network, b) = rates[rate];
				all_arrive(&config, &network);
			}
}

TEST(link_bears_all_faults_at_once)
{
	struct traffic_config config = usual(4, 600, 7);
	struct netsim_config network = netsim_defaults(4, 7);

	for (uint32_t fault = 0; fault < FAULTS; fault++)
		*rate_of(&network, fault) = 100000;
	all_arrive(&config, &network);
}

TEST(link_fails_honestly_when_wires_are_cut_for_long)
{
	uint32_t failed = 0;

	for (uint64_t seed = 70; seed < 74; seed++) {
		struct traffic_config config = usual(4, 2000, seed);
		struct netsim_config network = netsim_defaults(4, seed);
		struct traffic t;

		network.cut = 50000;
		network.cut_ns = 500000000;
		network.loss = network.duplicate = network.reorder = 10000;
		config.most_time = 300000000000ull;
		traffic_open(&t, &config, &network);
		t.links.check_payload = 1;
		t.links.tries = 3;
		traffic_start(&t);
		CHECK_IS(traffic_run(&t, ~0u), 1);
		failed += t.failed;
		CHECK_IS(traffic_close(&t), 0);
	}
	CHECK(failed > 0);
}

TEST(link_bears_pools_of_one)
{
	struct traffic_config config = usual(4, 400, 8);
	struct netsim_config network = netsim_defaults(4, 8);
	struct traffic t;

	network.loss = 20000;
	network.ring = 1;
	traffic_open(&t, &config, &network);
	t.links.sends = 2;
	t.links.answers = 1;
	t.links.assemblies = t.links.stashes = t.links.transmits = 1;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(t.failed, 0);
	CHECK_IS(traffic_close(&t), 0);
}

/* More frames are in flight than the maps can show, and frames beyond the maps are dropped at each
 * gap. */
TEST(link_sends_little_again_where_some_of_many_frames_are_lost)
{
	struct traffic_config config = usual(2, 4000, 3);
	struct netsim_config network = netsim_defaults(2, 3);
	struct traffic t;

	config.longest = 500000;
	config.longer = 1000000;
	config.answers = config.busy = 0;
	network.mtu = 9230;
	network.loss = 10000;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK(traffic_count(&t, LINK_RESENT) * 10 < traffic_count(&t, LINK_DATA_OUT));
	CHECK_IS(traffic_close(&t), 0);
}

TEST(link_bears_short_frames_and_busy_users)
{
	struct traffic_config config = usual(4, 400, 9);
	struct netsim_config network = netsim_defaults(4, 9);

	config.busy = 400000;
	network.mtu = LEAST_MTU;
	network.loss = 10000;
	all_arrive(&config, &network);
}

TEST(link_refuses_a_card_with_frames_too_short_for_a_record)
{
	struct probe p;

	probe_open(&p);
	p.memory = aligned_alloc(64, link_bytes(&p.config));
	p.nic.mtu = LEAST_MTU - 1;
	CHECK(!link_open(p.memory, &p.config, &p.nic, 0, &p));
	p.nic.mtu = LEAST_MTU;
	CHECK(link_open(p.memory, &p.config, &p.nic, 0, &p) != 0);
	probe_close(&p, 0);
}

/* 15 nodes send messages of this length, or of random lengths (0), to one node. */
static void send_to_one(uint32_t fixed)
{
	struct traffic_config config = usual(16, 3000, 10);
	struct netsim_config network = netsim_defaults(16, 10);
	uint64_t least = ~0ull, most = 0;
	struct traffic t;

	config.incast = 1;
	config.fixed = fixed;
	config.busy = config.fast = 0;   /* so that no record holds several messages */
	network.queue_bytes = 256 * 1024;
	network.ring = 64;
	traffic_open(&t, &config, &network);
	/* not all messages are in flight at once */
	t.links.sends = (uint16_t)(t.links.answers + 64);
	traffic_start(&t);
	/* While all still have messages to send, all get equal shares. */
	CHECK_IS(traffic_run(&t, 2000), 1);
	for (uint32_t i = 1; i < 16; i++) {
		least = t.nodes[i].bytes < least ? t.nodes[i].bytes : least;
		most = t.nodes[i].bytes > most ? t.nodes[i].bytes : most;
	}
	CHECK(least > 0 && (!fixed || most < 2 * least));
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK(netsim_counter(t.sim, NETSIM_OVERFLOW) * 50 < netsim_counter(t.sim, NETSIM_SENT));
	CHECK_IS(t.failed, 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(link_lets_15_nodes_send_to_one)
{
	send_to_one(0);
	send_to_one(1000);
}

/* A port that stops: frames wait in its queue, in order, as far as there is room. */
TEST(link_bears_ports_that_stop_reading)
{
	static const uint32_t queues[] = { 4u << 20, 20000 };

	for (uint32_t i = 0; i < 2; i++) {
		struct traffic_config config = usual(4, 2000, 11);
		struct netsim_config network = netsim_defaults(4, 11);
		struct traffic t;

		config.busy = 0;
		network.stop = 200000;
		network.queue_bytes = queues[i];
		traffic_open(&t, &config, &network);
		traffic_start(&t);
		CHECK_IS(traffic_run(&t, ~0u), 1);
		CHECK_IS(t.failed, 0);
		CHECK(netsim_counter(t.sim, NETSIM_STOPPED) > 100);
		CHECK_IS(netsim_counter(t.sim, NETSIM_OVERFLOW) > 0, i);
		if (i == 0)
			CHECK(!traffic_count(&t, LINK_EARLY) && !traffic_count(&t, LINK_STASHED));
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(link_believes_no_frames_of_an_earlier_life)
{
	for (uint64_t seed = 20; seed < 30; seed++) {
		struct traffic_config config = usual(4, 1200, seed);
		struct netsim_config network = netsim_defaults(4, seed);
		struct traffic t;

		/* Old frames arrive late, some of them long after the restart. */
		network.delay = 100000;
		network.duplicate = 100000;
		network.delay_ns = 20000000;
		traffic_open(&t, &config, &network);
		t.links.check_payload = 1;
		/* and the traffic outlasts the restarts */
		t.links.sends = (uint16_t)(t.links.answers + 64);
		traffic_start(&t);
		for (uint32_t at = 300; at < 1200; at += 300) {
			CHECK_IS(traffic_run(&t, at), 1);
			traffic_restart(&t, (uint32_t)(at / 300));
		}
		CHECK_IS(traffic_run(&t, ~0u), 1);
		CHECK(t.nodes[0].lost > 0);
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(link_gives_up_what_is_not_answered)
{
	struct traffic_config config = usual(3, 300, 31);
	struct netsim_config network = netsim_defaults(3, 31);
	struct traffic t;

	traffic_open(&t, &config, &network);
	t.links.tries = 5;
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, 150), 1);
	traffic_kill(&t, 2);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK(t.failed > 0);
	CHECK(t.nodes[0].lost > 0 && t.nodes[1].lost > 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(link_goes_on_when_a_cut_wire_heals)
{
	for (uint64_t seed = 40; seed < 46; seed++) {
		struct traffic_config config = usual(3, 900, seed);
		struct netsim_config network = netsim_defaults(3, seed);
		struct traffic t;
		uint32_t failed;

		network.duplicate = 50000;
		network.delay = 50000;
		traffic_open(&t, &config, &network);
		t.links.tries = seed < 43 ? 3 : LINK_MOST_TRIES;
		traffic_start(&t);
		CHECK_IS(traffic_run(&t, 200), 1);
		netsim_cut(t.sim, 0, 1, 1);
		if (seed % 2)
			netsim_cut(t.sim, 1, 0, 1);
		CHECK_IS(traffic_run(&t, 500), 1);
		netsim_cut(t.sim, 0, 1, 0);
		netsim_cut(t.sim, 1, 0, 0);
		failed = t.failed;
		CHECK_IS(traffic_run(&t, ~0u), 1);
		if (seed >= 43)
			CHECK_IS(t.failed, failed);
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(link_takes_bounded_memory_per_peer)
{
	struct link_config small = link_defaults(0, 64, 1), large = small;
	struct traffic_config config = usual(64, 640, 50);
	struct netsim_config network = netsim_defaults(64, 50);
	struct traffic t;

	large.nodes = 164;
	CHECK(link_bytes(&large) - link_bytes(&small) <= 100 * 256 + 64);
	config.incast = 1;
	config.messages = 63;
	traffic_open(&t, &config, &network);
	traffic_start(&t);
	CHECK_IS(traffic_run(&t, ~0u), 1);
	CHECK_IS(link_figures(t.nodes[5].link).peer_bytes, 242); /* node 0 alone */
	CHECK_IS(traffic_close(&t), 0);
}
