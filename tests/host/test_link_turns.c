/*
 * A long message does not delay another node's short one, neither at a node that receives both nor
 * at one that sends both, and fragments of messages from different nodes interleave. Measured in
 * the time of the simulated network.
 */
#include "check.h"
#include "traffic.h"

#define LONG     500000u              /* bytes of a long message: 0.5 ms on the wire */
#define LONGS    32u
#define SHORT    64u
#define SHORTS   100u
#define PACE     10000u               /* ns from one short message to the next */

/* Nodes that send only what the test tells them to. */
static void open_quiet(struct traffic *t, uint32_t nodes, uint32_t messages, uint32_t announce)
{
	struct traffic_config config = { .nodes = nodes, .messages = messages, .seed = 90,
					 .longest = LONG, .announce = announce,
					 .most_time = 1000000000 };
	struct netsim_config network = netsim_defaults(nodes, 90);

	traffic_open(t, &config, &network);
	t->config.messages = 0;
	t->links.sends = 1000;
	traffic_start(t);
}

static void run_until(struct traffic *t, uint64_t time)
{
	while (netsim_now(t->sim) < time && traffic_step(t))
		continue;
}

/* Node 1 sends 16 MB to node 0. Meanwhile node 2 sends short messages to node 0, and node 1 to node
 * 3. All of these arrive before a quarter of the 16 MB has. */
static void short_ones_pass(uint32_t announce)
{
	struct traffic t;
	uint32_t short_sum = SHORTS * SHORT;

	open_quiet(&t, 4, LONGS + 2 * SHORTS, announce);
	for (uint32_t i = 0; i < LONGS; i++)
		traffic_send(&t, 1, 0, LONG);
	run_until(&t, 500000);
	for (uint32_t i = 0; i < SHORTS; i++) {
		traffic_send(&t, 2, 0, SHORT);
		traffic_send(&t, 1, 3, SHORT);
		run_until(&t, netsim_now(t.sim) + PACE);
	}
	while ((t.nodes[2].bytes < short_sum || t.nodes[1].bytes % LONG < short_sum) &&
	       traffic_step(&t))
		continue;
	CHECK(t.nodes[1].bytes / LONG < LONGS / 4);
	CHECK(traffic_run(&t, ~0u));
	CHECK_IS(t.nodes[1].bytes, LONGS * LONG + short_sum);
	CHECK_IS(traffic_count(&t, LINK_ANNOUNCED) > 0, announce > 0);
	CHECK_IS(traffic_close(&t), 0);
}

TEST(link_long_messages_do_not_hold_up_others)
{
	short_ones_pass(0);
}

TEST(bulk_does_not_hold_up_others)
{
	short_ones_pass(16384);
}

/* Three nodes send one long message each to a fourth, at the same time: none is complete before
 * most of all three has arrived. */
TEST(link_interleaves_messages_of_several_nodes)
{
	uint64_t first, last;
	struct traffic t;

	open_quiet(&t, 4, 3, 0);
	for (uint32_t i = 1; i < 4; i++)
		traffic_send(&t, i, 0, LONG);
	while (t.nodes[1].bytes + t.nodes[2].bytes + t.nodes[3].bytes == 0 && traffic_step(&t))
		continue;
	first = netsim_now(t.sim);
	while (t.nodes[1].bytes + t.nodes[2].bytes + t.nodes[3].bytes < 3 * LONG &&
	       traffic_step(&t))
		continue;
	last = netsim_now(t.sim);
	CHECK(first > last * 3 / 4);
	CHECK_IS(traffic_close(&t), 0);
}
