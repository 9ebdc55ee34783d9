/*
 * Long messages over frames with bulk cards: what is placed without a copy, what is not, and that
 * only memory that the operation grants is written.
 */
#include <string.h>
#include "../../net/frames/state.h"
#include "../../net/portals/atomic.h"
#include "world.h"

#define LONG_NS   60000000000ull
#define ANNOUNCE  (ATOMIC_LONGEST + 1)
#define ARRAY     0x8100u          /* where arrays of pieces lie, after the readers' words */

struct scene {
	struct world w;
	struct fabric fabric;
	handle_t eq, eq_in;           /* node 1's, node 0's */
	handle_t source;              /* of node 1: its lower half */
};

static void scene_open(struct scene *s, uint32_t rate, uint64_t seed)
{
	struct netsim_config network = netsim_defaults(PROCESSES, seed);
	struct link_config config = link_defaults(0, PROCESSES, 1000);

	network.loss = network.duplicate = network.reorder = network.damage = network.delay = rate;
	config.check_payload = 1;
	config.announce = ANNOUNCE;
	world_open(&s->w, &test_limits);
	fabric_open(&s->fabric, s->w.views, PROCESSES, &network, &config);
	s->eq = new_eq(&s->w, 1, 256);
	s->eq_in = new_eq(&s->w, 0, 256);
	s->source = bind(&s->w, 1, memory(0, WORDS, 0, s->eq), UNLINK_NEVER);
}

static void scene_close(struct scene *s)
{
	CHECK_IS(fabric_close(&s->fabric), 0);
	for (uint32_t p = 0; p < PROCESSES; p++)
		CHECK_IS(block_pending(&s->w.views[p]), 0);
	world_drop(&s->w);
}

static void offer(struct scene *s, struct md_args args)
{
	attach(&s->w, 0, new_me(&s->w, 0, 5), args, UNLINK_NEVER);
}

static uint64_t copied(const struct scene *s, uint32_t node)
{
	return frames_figures(s->fabric.nodes[node].frames).copied_in;
}

static uint64_t counted(const struct scene *s, uint32_t node, enum link_counter counter)
{
	return frames_figures(s->fabric.nodes[node].frames).link.counters[counter];
}

static void put_settled(struct scene *s, uint64_t from, uint64_t bytes, uint64_t at)
{
	struct initiator_args args = to(s->source, 0, 5);

	args.local_offset = from;
	args.length = bytes;
	args.remote_offset = at;
	args.ack = ACK_YES;
	CHECK_IS(fabric_start(&s->fabric, 1, &args), 0);
	CHECK_IS(fabric_settle(&s->fabric, LONG_NS), 1);
}

TEST(frames_bulk_lands_without_a_copy)
{
	struct scene s;

	scene_open(&s, 0, 1);
	offer(&s, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, s.eq_in));
	put_settled(&s, 100, 24960, 3000);
	CHECK(shows(&s.w, 0, 3000, 1, 100, 24960));
	CHECK(shows(&s.w, 0, 0, 0, 0, 3000) && shows(&s.w, 0, 27960, 0, 27960, WORDS - 27960));
	CHECK_IS(copied(&s, 0), 0);
	CHECK_IS(counted(&s, 0, LINK_PLACED), 3);
	CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_START);
	CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_END);
	CHECK_IS(s.w.event.mlength, 24960);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_START);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_END);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_ACK);
	/* One byte less than the limit for announcements arrives by a copy. */
	put_settled(&s, 0, ANNOUNCE - 1, 0);
	CHECK(shows(&s.w, 0, 0, 1, 0, ANNOUNCE - 1));
	CHECK_IS(copied(&s, 0), ANNOUNCE - 1);
	scene_close(&s);
}

TEST(frames_bulk_carries_replies)
{
	struct initiator_args args;
	struct scene s;

	scene_open(&s, 0, 2);
	offer(&s, memory(0, WORDS, MD_OP_GET | MD_MANAGE_REMOTE, s.eq_in));
	args = to(s.source, 0, 5);
	args.local_offset = 500;
	args.length = 19968;
	args.remote_offset = 7;
	CHECK_IS(fabric_get(&s.fabric, 1, &args), 0);
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK(shows(&s.w, 1, 500, 0, 7, 19968));
	CHECK_IS(copied(&s, 1), 0);
	scene_close(&s);
}

/* The descriptor is shorter than the message: memory after it does not change. */
TEST(frames_bulk_is_cut_to_what_is_granted)
{
	static const uint64_t rooms[] = { 0, 1, 7999, 8960, 8961, 20000, 24999 };

	for (uint32_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct scene s;

		scene_open(&s, 0, 3 + i);
		offer(&s, memory(1000, rooms[i], MD_OP_PUT | MD_TRUNCATE, s.eq_in));
		put_settled(&s, 0, 25000, 0);
		CHECK(shows(&s.w, 0, 1000, 1, 0, rooms[i]));
		CHECK(shows(&s.w, 0, 1000 + rooms[i], 0, 1000 + rooms[i],
			    WORDS - 1000 - rooms[i]));
		CHECK(shows(&s.w, 0, 0, 0, 0, 1000));
		scene_close(&s);
	}
}

/* Operands of an atomic operation never land in the target's memory: they are applied, once. So they
 * are not announced, as announced payload may come again. */
TEST(frames_bulk_carries_no_operands)
{
	for (uint32_t rate = 0; rate <= 50000; rate += 50000) {
		struct initiator_args args;
		uint8_t wanted[WORDS];
		struct scene s;

		scene_open(&s, rate, 40);
		offer(&s, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, s.eq_in));
		memcpy(wanted, s.w.views[0].memory, WORDS);
		args = to(s.source, 0, 5);
		args.operation = MESSAGE_ATOMIC;
		args.atomic_operation = ATOMIC_SUM;
		args.datatype = ATOMIC_UINT64;
		args.length = ATOMIC_LONGEST;
		args.remote_offset = 80;
		args.ack = ACK_YES;
		for (uint32_t i = 0; i < 4; i++) {
			atomic_apply(ATOMIC_SUM, ATOMIC_UINT64, wanted + 80, ATOMIC_LONGEST,
				     s.w.views[1].memory, ATOMIC_LONGEST);
			CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		}
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(memcmp(s.w.views[0].memory, wanted, WORDS), 0);
		CHECK_IS(counted(&s, 1, LINK_ANNOUNCED), 0);
		scene_close(&s);
	}
}

/* A faulty node may announce them: then no card may write them. */
TEST(frames_bulk_places_no_operands)
{
	struct initiator_args args;
	struct nic_piece pieces[2];
	struct link_target target;
	struct message message;
	struct frames *frames;
	struct scene s;

	scene_open(&s, 0, 41);
	frames = s.fabric.nodes[0].frames;
	offer(&s, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, s.eq_in));
	args = to(s.source, 0, 5);
	args.length = 4096;
	args.ack = ACK_YES;
	for (int atomic = 0; atomic < 2; atomic++) {
		const struct link_message *sent =
			link_message(s.fabric.nodes[1].frames->link); /* which the next one uses */

		if (atomic) {
			args.operation = MESSAGE_ATOMIC;
			args.atomic_operation = ATOMIC_SUM;
			args.datatype = ATOMIC_UINT64;
		}
		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		message = *(const struct message *)sent->header;
		CHECK_IS(message.operation, atomic ? MESSAGE_ATOMIC : MESSAGE_PUT);
		CHECK_IS(link_port_begin(frames, 1, LINK_REQUESTS, &message, 4096, &target),
			 LINK_TAKE);
		CHECK_IS(link_port_place(frames, &target, 0, 4096, pieces, 2), !atomic);
		link_port_end(frames, &target, 1);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	}
	scene_close(&s);
}

TEST(frames_bulk_of_zero_bytes_is_not_sent)
{
	struct scene s;

	scene_open(&s, 0, 10);
	put_settled(&s, 0, 25000, 0);
	CHECK_IS(counted(&s, 1, LINK_ANNOUNCED), 1);
	CHECK_IS(counted(&s, 1, LINK_PARTS_OUT), 0);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_START);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_END);
	scene_close(&s);
}

/* Nor is what the target cuts to nothing. Its events and its ack come in their order. */
TEST(frames_bulk_cut_to_nothing_is_not_sent)
{
	struct scene s;

	scene_open(&s, 0, 11);
	offer(&s, memory(0, 0, MD_OP_PUT | MD_TRUNCATE, s.eq_in));
	put_settled(&s, 0, 25000, 0);
	CHECK_IS(counted(&s, 1, LINK_ANNOUNCED), 1);
	CHECK_IS(counted(&s, 1, LINK_PARTS_OUT), 0);
	CHECK_IS(copied(&s, 0), 0);
	CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_START);
	CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_END);
	CHECK_IS(s.w.event.mlength, 0);
	CHECK_IS(s.w.event.rlength, 25000);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_START);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_SEND_END);
	CHECK_IS(next(&s.w, 1, s.eq), EVENT_ACK);
	CHECK_IS(s.w.event.mlength, 0);
	scene_close(&s);
}

/* If a part covers few pieces, the card writes them in place; if many, they are copied. */
TEST(frames_bulk_lands_in_pieces)
{
	for (uint32_t n = 1; n <= 40; n += 3) {
		uint64_t length = 24000 / n, at = 0;
		struct iovec_args *array;
		struct scene s;

		scene_open(&s, 0, 20 + n);
		array = (struct iovec_args *)(s.w.views[0].memory + ARRAY);
		for (uint32_t i = 0; i < n; i++)
			array[i] = (struct iovec_args){ BASE + (n - 1 - i) * (length + 5), length };
		offer(&s, memory(ARRAY, n, MD_OP_PUT | MD_IOVEC, s.eq_in));
		put_settled(&s, 50, n * length, 0);
		for (uint32_t i = 0; i < n; i++, at += length)
			CHECK(shows(&s.w, 0, (n - 1 - i) * (length + 5), 1, 50 + at, length));
		if (n < 10)
			CHECK(copied(&s, 0) < 3 * 64);  /* the last bytes */
		if (n == 40)
			CHECK_IS(copied(&s, 0), n * length);
		scene_close(&s);
	}
}

/* Long and short messages in both directions stay in order under every fault. */
TEST(frames_bulk_keeps_the_order)
{
	for (uint32_t rate = 0; rate <= 200000; rate += 50000) {
		uint64_t numbers[2] = { 0, 0 };
		struct scene s;

		scene_open(&s, rate, 100 + rate);
		offer(&s, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, s.eq_in));
		for (uint32_t i = 0; i < 60; i++) {
			struct initiator_args args = to(s.source, 0, 5);

			args.length = i % 3 ? i % 2 ? 40 : 900 : 15000;
			args.remote_offset = i % 3 ? 20000 + i * 100 : 0;
			args.local_offset = args.remote_offset;
			args.hdr_data = i;
			CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		}
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		for (int type; (type = next(&s.w, 0, s.eq_in)) >= 0;)
			CHECK_IS(s.w.event.hdr_data, numbers[type == EVENT_PUT_END]++);
		CHECK(numbers[0] == 60 && numbers[1] == 60);
		CHECK(shows(&s.w, 0, 0, 1, 0, 15000) && shows(&s.w, 0, 20200, 1, 20200, 5500));
		scene_close(&s);
	}
}

/* The sender dies while its parts arrive: the operation ends, and its buffers are freed. */
TEST(frames_bulk_of_a_dead_node_ends)
{
	for (uint32_t parts = 0; parts < 3; parts++) {
		struct initiator_args args;
		struct scene s;

		scene_open(&s, 0, 200 + parts);
		offer(&s, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, s.eq_in));
		args = to(s.source, 0, 5);
		args.length = 25000;
		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		while (status(&s.w, 0, STAT_OP_USED) == 0 || counted(&s, 0, LINK_PLACED) < parts)
			CHECK_IS(fabric_step(&s.fabric), 1);
		fabric_kill(&s.fabric, 1);
		frames_ended(s.fabric.nodes[0].frames, 1, 0);
		fill(&s.w, 0);
		netsim_deadline_changed(s.fabric.sim, 0);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK(shows(&s.w, 0, 0, 0, 0, WORDS));
		CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_START);
		CHECK_IS(next(&s.w, 0, s.eq_in), EVENT_PUT_END);
		CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
		CHECK_IS(status(&s.w, 0, STAT_OP_USED), 0);
		CHECK_IS(fabric_close(&s.fabric), 0);
		world_drop(&s.w);
	}
}
