/*
 * Engines of many nodes over links with faults, and nodes that restart: short runs, for the
 * sanitizers; tests/test_netsim.py has the long ones.
 */
#include "check.h"
#include "engines.h"

static struct engines_config usual(uint32_t nodes, uint32_t operations, uint64_t seed)
{
	return (struct engines_config){ .nodes = nodes, .operations = operations, .seed = seed,
					.most_time = 60000000000ull };
}

TEST(frames_between_many_engines)
{
	struct engines_config config = usual(16, 4000, 1);
	struct netsim_config network = netsim_defaults(16, 1);
	struct engines_result result = engines_run(&config, &network);

	CHECK_IS(result.errors, 0);
	CHECK_IS(result.failed, 0);
	CHECK_IS(result.started, 4000);
	CHECK(result.busy > 0);
}

TEST(frames_between_engines_bear_faults)
{
	for (uint32_t rate = 1000; rate <= 200000; rate = rate == 1000 ? 10000 : rate * 20) {
		struct engines_config config = usual(4, 1200, rate);
		struct netsim_config network = netsim_defaults(4, rate);
		struct engines_result result;

		network.loss = network.duplicate = network.reorder = network.damage = rate;
		network.delay = network.cut = network.stop = rate;
		result = engines_run(&config, &network);
		CHECK_IS(result.errors, 0);
		CHECK_IS(result.failed, 0);
	}
}

TEST(frames_between_engines_by_bulk_cards)
{
	struct engines_config config = usual(4, 2000, 3);
	struct netsim_config network = netsim_defaults(4, 3);
	struct engines_result result;

	config.longest = 60000;
	config.announce = 20000;
	network.loss = 1000;
	result = engines_run(&config, &network);
	CHECK_IS(result.errors, 0);
	CHECK_IS(result.failed, 0);
	CHECK(result.placed > 0);
}

/* Frames of earlier lives arrive late and have no effect. */
TEST(frames_between_engines_that_restart)
{
	uint64_t ghosts = 0, failed = 0;

	for (uint64_t seed = 10; seed < 20; seed++) {
		struct engines_config config = usual(6, 2400, seed);
		struct netsim_config network = netsim_defaults(6, seed);
		struct engines_result result;

		config.restarts = 8;
		network.delay = network.duplicate = 50000;
		network.loss = seed % 2 * 10000;
		result = engines_run(&config, &network);
		CHECK_IS(result.errors, 0);
		ghosts += result.ghosts;
		failed += result.failed;
	}
	CHECK(ghosts > 0 && failed > 0);
}
