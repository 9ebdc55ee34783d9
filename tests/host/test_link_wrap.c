/*
 * Numbers that wrap: sequence numbers past 2^31 and 2^32, and the link's time, whose units of 1024
 * ns wrap every 73 minutes. Each simulation begins shortly before.
 */
#include "../../net/link/internal.h"
#include "check.h"
#include "traffic.h"

#define NODES  3u
#define BEFORE 50u

static struct traffic_config traffic(uint64_t seed, int bulk)
{
	return (struct traffic_config){ .nodes = NODES, .messages = 3000, .seed = seed,
					.longest = bulk ? 200000 : 20000, .longer = 150000,
					.announce = bulk ? 16384 : 0, .unplaceable = 1,
					.busy = 20000, .answers = 300000, .fast = 300000,
					.most_time = 100000000000ull };
}

static struct netsim_config network(uint64_t seed, uint32_t rate)
{
	struct netsim_config network = netsim_defaults(NODES, seed);

	network.loss = network.duplicate = network.reorder = network.delay = rate;
	return network;
}

static void all_arrive(struct traffic *t)
{
	CHECK_IS(traffic_run(t, ~0u), 1);
	CHECK_IS(t->failed, 0);
	CHECK_IS(traffic_count(t, LINK_LOST), 0);
	CHECK_IS(traffic_count(t, LINK_NONSENSE), 0);
}

static struct flow *flow_between(struct traffic *t, uint32_t from, uint32_t to, uint32_t lane)
{
	struct flow *flow = flow_open(t->nodes[from].link, to, (enum link_lane)lane);

	CHECK(flow != 0);
	return flow;
}

/* Every flow, at both ends, begins with frame `first`. */
static void begin_at(struct traffic *t, uint32_t first)
{
	for (uint32_t i = 0; i < NODES * NODES * LINK_LANES; i++) {
		uint32_t from = i / LINK_LANES / NODES, to = i / LINK_LANES % NODES;
		struct flow *flow;

		if (from == to)
			continue;
		flow = flow_between(t, from, to, i % LINK_LANES);
		flow->tx.una = flow->tx.next = flow->tx.after_resend = first;
		flow->tx.sample = (uint16_t)first;
		flow->rx.expected = flow->rx.begun = first;
	}
}

TEST(link_bears_that_sequence_numbers_wrap)
{
	static const uint32_t firsts[] = { (1u << 31) - BEFORE, 0u - BEFORE };

	for (uint32_t i = 0; i < 8; i++) {
		struct traffic_config config = traffic(80 + i, i & 1);
		struct netsim_config with = network(80 + i, i & 2 ? 50000 : 0);
		uint32_t first = firsts[i / 4];
		struct traffic t;

		traffic_open(&t, &config, &with);
		traffic_boot(&t);
		begin_at(&t, first);
		traffic_go(&t);
		all_arrive(&t);
		for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
			const struct flow *flow = flow_between(&t, 0, 1, lane);

			CHECK(flow->tx.una == flow->tx.next && flow->tx.una - first > BEFORE);
			CHECK_IS(flow_between(&t, 1, 0, lane)->rx.expected, flow->tx.una);
		}
		CHECK_IS(traffic_close(&t), 0);
	}
}

TEST(link_bears_that_its_time_wraps)
{
	static const uint64_t wraps[] = { 1ull << 31, 1ull << 32 };

	for (uint32_t i = 0; i < 8; i++) {
		struct traffic_config config = traffic(90 + i, i & 1);
		struct netsim_config with = network(90 + i, i & 2 ? 50000 : 1000);
		uint64_t wrap = wraps[i / 4] << UNIT_SHIFT;
		struct traffic t;

		with.start = wrap - 300000;
		config.most_time += with.start;
		traffic_open(&t, &config, &with);
		traffic_start(&t);
		CHECK_IS(traffic_run(&t, 1), 1);
		CHECK(netsim_now(t.sim) < wrap);
		all_arrive(&t);
		CHECK(netsim_now(t.sim) > wrap);
		CHECK_IS(traffic_close(&t), 0);
	}
}
