/*
 * Hostile frames against links that talk to each other in a simulated network: repeated, changed,
 * forged, invented, and many. They are counted and dropped without an effect on the traffic of the
 * other nodes: every message arrives, no peer is lost.
 *
 * Without a key the network refuses forged addresses (the switch does); an
 * attacker that owns a node may then send any frame in that node's name. With a key the
 * network need not help.
 */
#include <stdlib.h>
#include <string.h>
#include "../../net/link/wire.h"
#include "link_probe.h"
#include "traffic.h"

#define NODES     5u
#define STRANGER  (NODES - 1)         /* a port of the network without a link */
#define KEPT      2048u
#define MTU       9014u
#define ANNOUNCED 16384u   /* messages with at least so many payload bytes are announced */

struct kept {
	uint32_t bytes;
	uint8_t frame[MTU];
};

struct attack {
	struct traffic t;
	struct kept *kept;                /* frames that others have sent, a ring */
	uint64_t n_kept;
	uint64_t dice;
	uint64_t injected;
	uint32_t next[NODES];             /* next sequence number of the stranger to each node */
};

static const uint8_t key[16] = "the job's secret";
static const uint8_t other_key[16] = "somebody else's!";

static void on_frame(void *context, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	struct attack *a = context;
	struct kept *kept = &a->kept[a->n_kept++ % KEPT];

	(void)now;
	kept->bytes = bytes;
	memcpy(kept->frame, frame, bytes);
}

static void attack_open(struct attack *a, uint64_t seed, int keyed)
{
	struct traffic_config config = { .nodes = NODES, .messages = 4 * 700, .seed = seed,
					 .longest = 40000, .longer = 200000, .busy = 10000,
					 .answers = 300000, .fast = 500000, .strangers = 1,
					 .announce = ANNOUNCED,
					 .most_time = 60000000000ull };
	struct netsim_config network = netsim_defaults(NODES, seed);

	memset(a, 0, sizeof(*a));
	a->dice = seed;
	a->kept = malloc(KEPT * sizeof(*a->kept));
	network.mtu = MTU;
	traffic_open(&a->t, &config, &network);
	a->t.links.check_payload = !keyed;
	a->t.links.keyed = (uint8_t)keyed;
	memcpy(a->t.links.key, key, sizeof(key));
	netsim_watch(a->t.sim, on_frame, a);
	traffic_start(&a->t);
}

/* All messages have arrived, and then the stranger's unfinished ones have been given up too. */
static void attack_close(struct attack *a, int unharmed)
{
	CHECK_IS(traffic_run(&a->t, ~0u), 1);
	if (unharmed) {
		CHECK_IS(a->t.failed, 0);
		for (uint32_t i = 0; i < STRANGER; i++)
			CHECK_IS(a->t.nodes[i].lost, 0);
	}
	for (uint32_t i = 0; i < STRANGER; i++)
		link_ended(a->t.nodes[i].link, netsim_now(a->t.sim), STRANGER, 0);
	CHECK_IS(traffic_close(&a->t), 0);
	free(a->kept);
}

/* Run until `n` more messages are sent; returns 0 if none is left to send. */
static int goes_on(struct attack *a, uint32_t n)
{
	int runs;

	if (a->t.sent + n > a->t.config.messages)
		return 0;
	runs = traffic_run(&a->t, a->t.sent + n);
	CHECK_IS(runs, 1);
	return runs && a->n_kept > 0 && !a->t.errors;
}

static uint64_t roll(struct attack *a, uint64_t n)
{
	return netsim_random(&a->dice) % n;
}

static void inject(struct attack *a, uint32_t node, const uint8_t *frame, uint32_t bytes)
{
	netsim_inject(a->t.sim, node, frame, bytes);
	a->injected++;
}

/* A frame that was sent earlier; `*node`: its receiver. */
static struct kept some_frame(struct attack *a, uint32_t *node)
{
	uint64_t n = a->n_kept < KEPT ? a->n_kept : KEPT;
	struct kept kept = a->kept[roll(a, n)];

	*node = kept.frame[5];
	return kept;
}

/* ---- replayed ---- */

static void replay(struct attack *a)
{
	uint32_t node;
	struct kept kept = some_frame(a, &node);

	if (node != STRANGER)
		inject(a, node, kept.frame, kept.bytes);
}

TEST(hostile_replays_change_nothing)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct attack a;

		attack_open(&a, seed, seed % 2);
		while (goes_on(&a, 20)) {
			for (uint32_t i = 0; i < 20; i++)
				replay(&a);
		}
		CHECK_IS(traffic_run(&a.t, ~0u), 1);
		CHECK(traffic_count(&a.t, LINK_DUPLICATES) > 0);
		attack_close(&a, 1);
	}
}

TEST(hostile_replays_of_earlier_lives_are_ghosts)
{
	for (uint64_t seed = 11; seed <= 14; seed++) {
		uint32_t restarts = 0;
		struct attack a;

		attack_open(&a, seed, seed % 2);
		while (goes_on(&a, 20)) {
			if (a.t.sent > 700 * (restarts + 1))
				traffic_restart(&a.t, ++restarts);
			for (uint32_t i = 0; i < 20; i++)
				replay(&a);
		}
		CHECK(traffic_count(&a.t, LINK_GHOSTS) > 0);
		attack_close(&a, 0);
	}
}

/* ---- changed and forged, in a job with a key ---- */

/* Change a frame at random; returns its new length. */
static uint32_t change(struct attack *a, struct kept *kept)
{
	uint32_t bytes = kept->bytes;
	uint64_t how = roll(a, 6);

	if (how == 0)
		return (uint32_t)roll(a, bytes);
	if (how == 1) {
		uint32_t more = 1 + (uint32_t)roll(a, 200);

		if (bytes + more <= MTU) {
			memset(kept->frame + bytes, 0x33, more);
			return bytes + more;
		}
	}
	if (how == 2 || bytes < WIRE_HEADER) {
		kept->frame[roll(a, bytes)] ^= (uint8_t)(1 + roll(a, 255));
		return bytes;
	}
	/* change a field; then set a checksum, another key's tag, or keep the old tag */
	kept->frame[14 + roll(a, 50)] ^= (uint8_t)(1 + roll(a, 255));
	if (how == 4) {
		struct nic_piece whole = { kept->frame, bytes };

		wire_seal(other_key, 0, &whole, 1);
	} else if (how == 5) {
		struct wire wire = { .kind = WIRE_KIND_RESET, .over = 1, .source = 5000,
				     .destination = 1000 };

		wire_write(kept->frame, wire_get(kept->frame, 6), wire_get(kept->frame + 6, 6), &wire);
		wire_seal(0, 0, &(struct nic_piece){ kept->frame, WIRE_HEADER }, 1);
		return WIRE_HEADER;
	}
	return bytes;
}

TEST(auth_hostile_frames_are_counted_and_dropped)
{
	for (uint64_t seed = 21; seed <= 26; seed++) {
		struct attack a;
		uint64_t dropped;

		attack_open(&a, seed, 1);
		while (goes_on(&a, 20)) {
			for (uint32_t i = 0; i < 20; i++) {
				uint32_t node, bytes;
				struct kept kept = some_frame(&a, &node);

				/* A frame for the bulk card may wait there for a buffer. */
				if (kept.frame[3])
					continue;
				bytes = change(&a, &kept);
				inject(&a, node, kept.frame, bytes);
			}
		}
		CHECK_IS(traffic_run(&a.t, ~0u), 1);
		for (uint32_t i = 0; i < 100000 && netsim_step(a.t.sim) >= 0; i++)
			continue;
		dropped = traffic_count(&a.t, LINK_SHORT) + traffic_count(&a.t, LINK_FOREIGN) +
			  traffic_count(&a.t, LINK_FORGED);
		CHECK_IS(dropped, a.injected);
		CHECK(traffic_count(&a.t, LINK_FORGED) > a.injected / 4);
		CHECK_IS(traffic_count(&a.t, LINK_NONSENSE) + traffic_count(&a.t, LINK_GHOSTS) +
			 traffic_count(&a.t, LINK_OUTSIDE) + traffic_count(&a.t, LINK_RESETS_OUT), 0);
		attack_close(&a, 1);
	}
}

/* ---- in the stranger's own name, without a key ---- */

/* Fill a frame of a kind that carries messages or payload; returns its length. */
static uint32_t fill(struct attack *a, struct wire *wire, uint8_t *frame)
{
	uint32_t header = WIRE_HEADER;

	if (wire->messages)
		header = wire->puts ? WIRE_PUT_DATA : WIRE_DATA;
	if (wire->messages == 1 && !wire->announce) {
		wire->bytes = (uint32_t)roll(a, roll(a, 2) ? 128 : 2000);
		wire->length = roll(a, 3) ? wire->bytes : wire->bytes * roll(a, 1u << 20);
		wire->offset = wire->bytes ? roll(a, 4) * wire->bytes : 0;
	} else if (wire->messages == 1) {
		wire->bytes = roll(a, 2) ? (uint32_t)roll(a, WIRE_TAIL_BYTES + 8) : 0;
		wire->offset = roll(a, 8) ? 1 + roll(a, MTU) : netsim_random(&a->dice) >> 16;
		wire->length = ANNOUNCED + (roll(a, 4) ? roll(a, 200000) : netsim_random(&a->dice) >> 17);
	} else if (wire->kind == WIRE_KIND_BULK) {
		wire->bytes = roll(a, 4) ? MTU - WIRE_HEADER : (uint32_t)roll(a, 2000);
	} else if (wire->messages) {
		wire->length = roll(a, 4) ? 8 * roll(a, 16) : netsim_random(&a->dice) >> 16;
		wire->bytes = (uint32_t)wire_padded((uint32_t)wire->length % 128) + 8 * (6 + (uint32_t)
			roll(a, 9)) * (wire->messages - 1);
	}
	for (uint32_t i = 0; i < header + wire->bytes; i++)
		frame[i] = (uint8_t)(i * 11);
	if (wire->messages > 1 && roll(a, 4)) {
		uint32_t n = wire->messages - 1, last = header + wire->bytes;
		uint32_t first = wire_padded((uint32_t)wire->length % 128);

		for (uint32_t each = (wire->bytes - first) / n; n > 0; n--) {
			wire_put(frame + last - n * each, each - WIRE_ENTRY - WIRE_PUT, 8);
			wire_put(frame + last - n * each + 8, roll(a, 16) == 0, 8);
		}
	}
	return header + wire->bytes;
}

/* A frame of the stranger of any kind, to any card, with some wrong fields. */
static uint32_t invent(struct attack *a, uint32_t node, uint8_t *frame)
{
	struct wire wire = { .kind = (uint8_t)(roll(a, 2) ? WIRE_KIND_MSG :
					       1 + roll(a, WIRE_KIND_RESET)),
			     .lane = (uint8_t)roll(a, 2), .again = (uint8_t)roll(a, 2),
			     .over = (uint8_t)roll(a, 2),
			     .source = 2000 + (roll(a, 50) == 0 ? (uint32_t)roll(a, 3) : 0),
			     .destination = roll(a, 10) ? 1000 : (uint32_t)roll(a, 2000),
			     .sequence = a->next[node] + (uint32_t)roll(a, 16) - 3,
			     .ack = (uint32_t)roll(a, 4),
			     .selective = netsim_random(&a->dice) << 1 | (roll(a, 8) == 0),
			     .other_ack = (uint32_t)roll(a, 4),
			     .window = (uint8_t)roll(a, 1u << 8),
			     .other_window = (uint8_t)roll(a, 1u << 8),
			     .part = (uint32_t)roll(a, 32),
			     .reach = (uint16_t)roll(a, 4) };
	uint8_t from[6], to[6];
	uint32_t bytes;

	wire.parts = (uint16_t)(roll(a, 2) ? roll(a, 32) : netsim_random(&a->dice));
	if (roll(a, 8) == 0)
		wire.sequence = (uint32_t)netsim_random(&a->dice);
	else
		a->next[node] += roll(a, 2) == 0;
	if (wire.kind == WIRE_KIND_MSG)
		wire.messages = roll(a, 2) ? 1 : roll(a, 2) ? 0 : 2 + (uint32_t)roll(a, 6);
	wire.announce = wire.messages == 1 && roll(a, 3) == 0;
	if (!wire.messages && wire.kind == WIRE_KIND_MSG)
		wire.refused = netsim_random(&a->dice);
	bytes = fill(a, &wire, frame);
	wire_address(to, node, wire.kind == WIRE_KIND_BULK ?
		     roll(a, 4) != 0 : roll(a, 16) == 0);
	wire_address(from, STRANGER, 0);
	wire_write(frame, wire_get(to, 6), wire_get(from, 6), &wire);
	wire_seal(0, 0, &(struct nic_piece){ frame, bytes }, 1);
	return bytes;
}

/* Several of these in one aggregate. */
static uint32_t invent_aggregate(struct attack *a, uint32_t node, uint8_t *aggregate)
{
	uint32_t end = 0;

	for (uint64_t n = 1 + roll(a, 4); n > 0; n--) {
		uint32_t at = roll(a, 8) ? wire_padded(end) : end;
		uint32_t bytes = invent(a, node, aggregate + at);

		if (at + bytes > MTU)
			break;
		end = at + bytes;
	}
	return end;
}

TEST(hostile_node_harms_no_other)
{
	static uint8_t frame[2 * MTU + 8];

	for (uint64_t seed = 31; seed <= 36; seed++) {
		struct attack a;

		attack_open(&a, seed, 0);
		while (goes_on(&a, 20)) {
			for (uint32_t i = 0; i < 40; i++) {
				uint32_t node = (uint32_t)roll(&a, STRANGER);

				inject(&a, node, frame, roll(&a, 8) ? invent(&a, node, frame) :
				       invent_aggregate(&a, node, frame));
			}
		}
		CHECK_IS(traffic_run(&a.t, ~0u), 1);
		CHECK_IS(a.t.failed, 0);
		CHECK(traffic_count(&a.t, LINK_NONSENSE) > 0 && traffic_count(&a.t, LINK_OUTSIDE) > 0);
		/*
		 * Its frames fill buffers of the others, whose messages arrive whole nevertheless.
		 */
		CHECK(traffic_count(&a.t, LINK_MISPLACED) > 0 && traffic_count(&a.t, LINK_PLACED) > 0);
		/* Messages to the stranger may fail, as it restarts all the time. */
		CHECK_IS(traffic_count(&a.t, LINK_FAILED_OUT), 0);
		attack_close(&a, 0);
	}
}

TEST(hostile_nodes_that_do_not_exist_are_foreign)
{
	static const uint16_t nodes[] = { NODES, NODES + 1, 255, 256, 65535, 0 };
	struct wire wire = probe_data(0, 8, 0);
	uint8_t frame[WIRE_DATA + 8] = { 0 }, to[6], from[6];
	struct attack a;

	attack_open(&a, 41, 0);
	CHECK_IS(traffic_run(&a.t, 100), 1);
	wire_address(to, 0, 0);
	/* the last is the receiver itself */
	for (uint32_t i = 0; i < 6; i++) {
		wire_address(from, nodes[i], 0);
		wire_write(frame, wire_get(to, 6), wire_get(from, 6), &wire);
		wire_seal(0, 0, &(struct nic_piece){ frame, sizeof(frame) }, 1);
		inject(&a, 0, frame, sizeof(frame));
	}
	CHECK_IS(traffic_run(&a.t, ~0u), 1);
	CHECK_IS(traffic_count(&a.t, LINK_FOREIGN), 6);
	attack_close(&a, 1);
}

/* ---- floods ---- */

/* Time that the traffic takes with so many hostile frames between two messages. */
static uint64_t flooded(uint32_t each, int keyed, int right)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .messages = 1, .source = 2000, .destination = 1000,
			     .sequence = 1000000, .window = 8, .bytes = 8, .length = 8 };
	uint8_t frame[WIRE_DATA + 8] = { 0 }, to[6], from[6];
	struct attack a;
	uint64_t time;

	attack_open(&a, 51, keyed);
	wire_address(from, STRANGER, 0);
	for (uint32_t node = 0; goes_on(&a, 10); node = (node + 1) % STRANGER) {
		for (uint32_t i = 0; i < 10 * each; i++) {
			wire_address(to, node, 0);
			wire_write(frame, wire_get(to, 6), wire_get(from, 6), &wire);
			wire_seal(0, 0, &(struct nic_piece){ frame, sizeof(frame) }, 1);
			frame[100] ^= !right;
			inject(&a, node, frame, sizeof(frame));
		}
	}
	CHECK_IS(traffic_run(&a.t, ~0u), 1);
	time = netsim_now(a.t.sim);
	attack_close(&a, 1);
	return time;
}

TEST(hostile_floods_cost_no_more_than_their_bytes)
{
	/* In simulated time: 40 frames of 200 bytes come for each message of 2,000 on average,
	 * so the network alone makes it five times as long. */
	uint64_t quiet = flooded(0, 0, 1);

	CHECK(flooded(40, 0, 0) < 8 * quiet);
	CHECK(flooded(40, 0, 1) < 8 * quiet);
	CHECK(flooded(40, 1, 0) < 8 * quiet);
}

TEST(hostile_node_gets_no_more_stashes_than_it_leaves)
{
	struct wire wire;
	struct probe p;

	probe_open(&p);
	p.config.stashes = 4;
	probe_start(&p);
	for (uint32_t i = 1; i < 8; i++) {
		wire = probe_data(i, 8, 0);
		probe_give(&p, 1, &wire, i);
	}
	CHECK_IS(link_counter(p.link, LINK_STASHED), 3);
	wire = probe_data(1, 8, 0);
	probe_give(&p, 2, &wire, 1);
	CHECK_IS(link_counter(p.link, LINK_STASHED), 4);
	probe_close(&p, 0);
}

/* A message has at most 2^30 parts. With 2^32 the count would wrap to 0, and the message would end
 * while it waits for a turn: another one in its record would follow itself in that queue. */
TEST(hostile_announcements_of_too_many_parts_are_nonsense)
{
	struct wire wire = { .kind = WIRE_KIND_BULK, .source = PEER_LIFE, .bytes = 256,
			     .destination = PROBE_LIFE };
	struct wire good = probe_data(0, 256, 0), bad = good;
	struct probe p;

	good.announce = bad.announce = 1;
	good.bytes = bad.bytes = 0;
	good.offset = 256;
	bad.offset = 1;
	probe_open(&p);
	probe_start(&p);
	probe_give(&p, 1, &good, 7);                     /* has the turn */
	for (uint32_t shift = 31; shift < 48; shift++) {
		bad.length = 1ull << shift;
		probe_give(&p, 2, &bad, 8);
	}
	TOLD(&p, "b");
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 17);
	probe_give(&p, 2, &good, 9);
	probe_give(&p, 1, &wire, 0);
	probe_give(&p, 2, &wire, 0);
	TOLD(&p, "bdede");
	probe_close(&p, 1);
}
