/*
 * Messages over frames: operations that overlap, records that run out, peers that die, invalid
 * headers. The other host tests run over frames too, one operation at a time (CHECK_FRAMES).
 */
#include <stdlib.h>
#include <string.h>
#include "../../net/frames/state.h"
#include "link_users.h"
#include "world.h"

#define LONG_NS  60000000000ull

struct scene {
	struct world w;
	struct fabric fabric;
	handle_t eq[PROCESSES];       /* of sources */
	handle_t source[PROCESSES];   /* the lower half of each segment */
	handle_t eq_in[PROCESSES];
};

static struct netsim_config faults(uint32_t rate, uint64_t seed)
{
	struct netsim_config network = netsim_defaults(PROCESSES, seed);

	network.loss = network.duplicate = network.reorder = network.damage = network.delay = rate;
	return network;
}

static struct link_config usual(void)
{
	struct link_config config = link_defaults(0, PROCESSES, 1000);

	config.check_payload = 1;
	return config;
}

/* Each process accepts puts and gets at any offset of its lower half, and sends from it. */
static void scene_open(struct scene *s, const struct block_limits *limits,
		       const struct netsim_config *network, const struct link_config *config)
{
	world_open(&s->w, limits);
	fabric_open(&s->fabric, s->w.views, PROCESSES, network, config);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		s->eq[p] = new_eq(&s->w, p, 256);
		s->eq_in[p] = new_eq(&s->w, p, 256);
		attach(&s->w, p, new_me(&s->w, p, 5),
		       memory(0, WORDS, MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE, s->eq_in[p]),
		       UNLINK_NEVER);
		s->source[p] = bind(&s->w, p, memory(0, WORDS, 0, s->eq[p]), UNLINK_NEVER);
	}
}

static void scene_close(struct scene *s)
{
	CHECK_IS(fabric_close(&s->fabric), 0);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		CHECK_IS(status(&s->w, p, STAT_OP_USED), 0);
		CHECK_IS(block_pending(&s->w.views[p]), 0);
	}
	world_drop(&s->w);
}

/* `bytes` bytes from offset `from` of this process to offset `at` of another. */
static struct initiator_args region(struct scene *s, uint32_t p, uint32_t node, uint64_t from,
				    uint64_t bytes, uint64_t at, int ack)
{
	struct initiator_args args = to(s->source[p], node, 5);

	args.local_offset = from;
	args.length = bytes;
	args.remote_offset = at;
	args.ack = ack ? ACK_YES : ACK_NO;
	return args;
}

/* Take all events of a queue; returns how many have this kind and failure. */
static uint32_t events(struct scene *s, uint32_t p, handle_t eq, int kind, int fail)
{
	uint32_t n = 0;
	int type;

	while ((type = next(&s->w, p, eq)) >= 0)
		n += type == kind && (int)s->w.event.ni_fail_type == fail;
	return n;
}

TEST(frames_carry_overlapping_operations)
{
	for (uint32_t rate = 0; rate <= 200000; rate += 50000) {
		struct netsim_config network = faults(rate, rate + 1);
		struct link_config config = usual();
		struct scene s;

		scene_open(&s, &test_limits, &network, &config);
		/* Both send 25 messages of 500 bytes to process 0, each to its own place, while 0
		 * gets from both. */
		for (uint32_t i = 0; i < 25; i++)
			for (uint32_t p = 1; p <= 2; p++) {
				uint64_t at = (p - 1) * 15000 + i * 500ull;
				struct initiator_args args =
					region(&s, p, 0, at, 500, at, i & 1);

				CHECK_IS(fabric_start(&s.fabric, p, &args), 0);
			}
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK(shows(&s.w, 0, 0, 1, 0, 12500));
		CHECK(shows(&s.w, 0, 15000, 2, 15000, 12500));
		CHECK_IS(events(&s, 0, s.eq_in[0], EVENT_PUT_END, NI_OK), 50);
		CHECK_IS(events(&s, 1, s.eq[1], EVENT_SEND_END, NI_OK), 25);
		CHECK_IS(events(&s, 2, s.eq[2], EVENT_ACK, NI_OK), 12);
		for (uint32_t i = 0; i < 20; i++) {
			struct initiator_args args = region(&s, 0, 1 + i % 2, i * 600ull,
							    i & 2 ? 600 : 40, i * 600ull, 0);

			CHECK_IS(fabric_get(&s.fabric, 0, &args), 0);
		}
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(events(&s, 0, s.eq[0], EVENT_REPLY_END, NI_OK), 20);
		for (uint32_t i = 0; i < 20; i++)
			CHECK(shows(&s.w, 0, i * 600ull, 1 + i % 2, i * 600ull, i & 2 ? 600 : 40));
		scene_close(&s);
	}
}

TEST(frames_report_events_in_order)
{
	struct netsim_config network = faults(0, 3);
	struct link_config config = usual();
	struct initiator_args args;
	struct scene s;

	scene_open(&s, &test_limits, &network, &config);
	args = region(&s, 1, 0, 0, 20000, 0, 1);
	CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_START);
	CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_END);
	CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_ACK);
	CHECK_IS(s.w.event.mlength, 20000);
	CHECK_IS(next(&s.w, 1, s.eq[1]), -1);
	CHECK_IS(frames_figures(s.fabric.nodes[1].frames).copied_out, 0);
	CHECK_IS(frames_figures(s.fabric.nodes[0].frames).copied_in, 20000);
	scene_close(&s);
}

/* Payload in pieces stays readable until the link has finished with it; an ACK that arrives earlier
 * waits. */
TEST(frames_report_events_of_pieces_in_order)
{
	static const uint32_t lengths[] = { 20, 300, 3000, 20000 };

	for (uint32_t i = 0; i < 12; i++) {
		struct netsim_config network = faults(i / 4 * 50000, 30 + i);
		uint32_t half = lengths[i % 4] / 2;
		struct link_config config = usual();
		struct initiator_args args;
		struct iovec_args *array;
		struct scene s;

		scene_open(&s, &test_limits, &network, &config);
		array = (struct iovec_args *)(s.w.views[1].memory + 0x7000);
		array[0] = (struct iovec_args){ BASE + 12000, half };
		array[1] = (struct iovec_args){ BASE + 100, half };
		args = to(bind(&s.w, 1, memory(0x7000, 2, MD_IOVEC, s.eq[1]), UNLINK_NEVER), 0, 5);
		args.length = 2 * half;
		args.ack = ACK_YES;
		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_START);
		CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_END);
		CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_ACK);
		CHECK_IS(s.w.event.mlength, 2 * half);
		CHECK_IS(next(&s.w, 1, s.eq[1]), -1);
		CHECK(shows(&s.w, 0, 0, 1, 12000, half));
		CHECK(shows(&s.w, 0, half, 1, 100, half));
		scene_close(&s);
	}
}

TEST(frames_wait_for_operation_records)
{
	struct block_limits few = test_limits;
	struct netsim_config network = faults(10000, 4);
	struct link_config config = usual();
	struct scene s;

	few.ops = 2;
	scene_open(&s, &few, &network, &config);
	for (uint32_t i = 0; i < 40; i++) {
		struct initiator_args args = region(&s, 1 + i % 2, 0, 3000, 300 + 300 * (i % 50),
						    3000, 0);

		CHECK_IS(fabric_start(&s.fabric, 1 + i % 2, &args), 0);
	}
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK_IS(events(&s, 0, s.eq_in[0], EVENT_PUT_END, NI_OK), 40);
	CHECK_IS(events(&s, 1, s.eq[1], EVENT_SEND_END, NI_OK), 20);
	scene_close(&s);
}

/* Two nodes ask each other for answers while each has one record for them. */
TEST(frames_do_not_wait_for_each_other_for_ever)
{
	struct netsim_config network = faults(0, 5);
	struct link_config config = usual();
	struct scene s;

	config.sends = 6;
	config.answers = 1;
	scene_open(&s, &test_limits, &network, &config);
	for (uint32_t i = 0; i < 60; i++)
		for (uint32_t p = 0; p < PROCESSES; p++) {
			struct initiator_args args = region(&s, p, (p + 1 + i % 2) % PROCESSES, 0,
							    i % 3 ? 8 : 400, 16000, 1);

			CHECK_IS(fabric_start(&s.fabric, p, &args), 0);
		}
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		CHECK_IS(events(&s, p, s.eq[p], EVENT_ACK, NI_OK), 60);
		CHECK_IS(events(&s, p, s.eq_in[p], EVENT_PUT_END, NI_OK), 60);
	}
	scene_close(&s);
}

/* If all records of two nodes waited for answers, each would refuse the other's requests. */
TEST(frames_leave_an_operation_record_for_requests)
{
	for (uint32_t fetches = 0; fetches < 2; fetches++) {
		struct block_limits few = test_limits;
		struct netsim_config network = faults(0, 5);
		struct link_config config = usual();
		struct scene s;

		few.ops = 2;
		scene_open(&s, &few, &network, &config);
		for (uint32_t i = 0; i < 20; i++)
			for (uint32_t p = 0; p < 2; p++) {
				struct initiator_args args = region(&s, p, 1 - p, 0, 300, 16000, 1);

				CHECK_IS(fetches ? fabric_get(&s.fabric, p, &args) :
					 fabric_start(&s.fabric, p, &args), 0);
			}
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		for (uint32_t p = 0; p < 2; p++)
			CHECK_IS(events(&s, p, s.eq[p], fetches ? EVENT_REPLY_END : EVENT_ACK, NI_OK),
				 20);
		scene_close(&s);
	}
}

static uint64_t kept[8];              /* cookies of frames that node 1's card still reads */
static uint32_t n_kept;

static void keep(void *context, uint64_t cookie)
{
	(void)context;
	kept[n_kept++ % 8] = cookie;
}

/* The receiver is lost while the card still reads two messages: the get fails at once, the send when
 * the card has finished, and neither a second time. */
TEST(frames_fail_once)
{
	static const int types[] = { EVENT_SEND_START, EVENT_REPLY_START, EVENT_REPLY_END,
				     EVENT_SEND_END, EVENT_ACK };
	struct netsim_config network = faults(0, 20);
	struct link_config config = usual();
	struct initiator_args args;
	struct frames *frames;
	struct scene s;
	struct nic *nic;
	void (*sent)(void *, uint64_t);

	scene_open(&s, &test_limits, &network, &config);
	frames = s.fabric.nodes[1].frames;
	nic = netsim_nic(s.fabric.sim, 1);
	sent = nic->sent;
	nic->sent = keep;
	n_kept = 0;
	fabric_kill(&s.fabric, 0);
	args = region(&s, 1, 0, 0, 100, 0, 1);
	CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
	CHECK_IS(fabric_get(&s.fabric, 1, &args), 0);
	while (n_kept < 2)
		CHECK_IS(fabric_step(&s.fabric), 1);
	frames_ended(frames, 0, 0);
	CHECK_IS(status(&s.w, 1, STAT_OP_USED), 1);
	for (uint32_t i = 0; i < n_kept; i++)
		sent(nic->context, kept[i]);
	CHECK_IS(status(&s.w, 1, STAT_OP_USED), 0);
	CHECK_IS(status(&s.w, 1, STAT_DROPPED), 0);
	CHECK_IS(frames_pending(frames), 0);
	nic->sent = sent;
	for (unsigned i = 0; i < 5; i++)
		CHECK(next(&s.w, 1, s.eq[1]) == types[i] &&
		      s.w.event.ni_fail_type == (i < 2 ? NI_OK : NI_FAIL));
	CHECK_IS(next(&s.w, 1, s.eq[1]), -1);
	CHECK_IS(fabric_close(&s.fabric), 0);
	world_drop(&s.w);
}

TEST(frames_end_what_a_dead_node_leaves)
{
	struct netsim_config network = faults(0, 6);
	struct link_config config = usual();
	struct initiator_args args;
	struct scene s;

	config.tries = 4;
	scene_open(&s, &test_limits, &network, &config);
	/* Node 0 dies while it sends to 1; 2 sends to it and waits for answers. */
	args = region(&s, 0, 1, 0, 30000, 0, 1);
	CHECK_IS(fabric_start(&s.fabric, 0, &args), 0);
	args = region(&s, 2, 0, 0, 30000, 0, 1);
	CHECK_IS(fabric_start(&s.fabric, 2, &args), 0);
	args = region(&s, 2, 0, 0, 900, 0, 0);
	CHECK_IS(fabric_get(&s.fabric, 2, &args), 0);
	while (status(&s.w, 1, STAT_OP_USED) == 0)
		CHECK_IS(fabric_step(&s.fabric), 1);
	fabric_kill(&s.fabric, 0);
	/* Node 1 notices when it sends to node 0. */
	args = region(&s, 1, 0, 0, 100, 0, 0);
	CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK_IS(events(&s, 1, s.eq_in[1], EVENT_PUT_END, NI_FAIL), 1);
	CHECK_IS(events(&s, 1, s.eq[1], EVENT_SEND_END, NI_FAIL), 1);
	CHECK_IS(next(&s.w, 2, s.eq[2]), EVENT_SEND_START);
	CHECK_IS(next(&s.w, 2, s.eq[2]), EVENT_SEND_END);
	CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&s.w, 2, s.eq[2]), EVENT_ACK);
	CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&s.w, 2, s.eq[2]), EVENT_REPLY_START);
	CHECK_IS(next(&s.w, 2, s.eq[2]), EVENT_REPLY_END);
	CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(status(&s.w, 1, STAT_OP_USED), 0);
	CHECK_IS(status(&s.w, 2, STAT_OP_USED), 0);
	CHECK_IS(fabric_close(&s.fabric), 0);
	world_drop(&s.w);
}

TEST(frames_end_a_send_that_no_ack_answers)
{
	struct netsim_config network = faults(0, 7);
	struct link_config config = usual();
	struct initiator_args args;
	struct scene s;

	scene_open(&s, &test_limits, &network, &config);
	attach(&s.w, 0, new_me(&s.w, 0, 6), memory(0, 2000, MD_OP_PUT | MD_ACK_DISABLE |
						  MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	for (uint32_t i = 0; i < 3; i++) {
		args = region(&s, 1, 0, 0, i ? 500 * i : 8, 0, 1);
		args.match_bits = 6;
		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(status(&s.w, 1, STAT_OP_USED), 0);
	}
	CHECK_IS(events(&s, 1, s.eq[1], EVENT_ACK, NI_OK), 0);
	scene_close(&s);
}

/* ---- a malicious peer ---- */

static int take(void *c, uint32_t n, uint32_t l, const void *h, const void *p, uint32_t b)
{
	(void)c, (void)n, (void)l, (void)h, (void)p, (void)b;
	return LINK_DROP;
}

static int begin(void *c, uint32_t n, uint32_t l, const void *h, uint64_t b, struct link_target *t)
{
	(void)c, (void)n, (void)l, (void)h, (void)b, (void)t;
	return LINK_DROP;
}

static uint8_t garbage[8192];

static uint32_t gather(void *c, const struct link_message *s, uint64_t at, uint32_t b,
		       struct nic_piece *p, uint32_t m)
{
	(void)c, (void)s, (void)m;
	p[0] = (struct nic_piece){ garbage + at, b };
	return 1;
}

static void sent(void *c, struct link_message *s, int f)
{
	(void)c, (void)s, (void)f;
}

static void lost(void *c, uint32_t n)
{
	(void)c, (void)n;
}

struct liar {
	struct link_user_context user;
	struct link *link;
	struct netsim *sim;
};

static void liar_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
	struct liar *liar = context;

	link_receive(liar->link, netsim_now(liar->sim), frame, bytes);
}

static void liar_sent(void *context, uint64_t cookie)
{
	struct liar *liar = context;

	link_transmitted(liar->link, netsim_now(liar->sim), cookie);
}

static uint64_t liar_deadline(void *context)
{
	return link_deadline(((struct liar *)context)->link);
}

static void liar_tick(void *context, uint64_t now)
{
	link_tick(((struct liar *)context)->link, now);
}

TEST(frames_drop_headers_that_cannot_be)
{
	static const struct link_user user = { &user, take, 0, begin, 0, 0, 0, gather, sent, 0,
					       lost };
	struct netsim_config network = faults(0, 8);
	struct link_config config = usual(), own = usual();
	struct liar liar = { .user = { &user } };
	struct netsim_node who = { &liar, liar_deadline, liar_tick };
	uint64_t dice = 8;
	struct scene s;
	struct nic *nic;
	void *room;

	scene_open(&s, &test_limits, &network, &config);
	fabric_kill(&s.fabric, 2);
	nic = netsim_nic(s.fabric.sim, 2);
	own.node = 2;
	room = aligned_alloc(64, link_bytes(&own));
	liar.sim = s.fabric.sim;
	liar.link = link_open(room, &own, nic, 0, &liar);
	nic->context = &liar;
	nic->receive = liar_frame;
	nic->sent = liar_sent;
	netsim_join(s.fabric.sim, 2, &who);
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t r = check_random(&dice);
		struct message m = request((uint8_t)(r % 10), 2, 0, 5, r >> 8 & 0x1fff);
		uint64_t length = m.operation == MESSAGE_PUT || r & 0x200000 ? m.length : r >> 40 & 0x7f;
		uint8_t *byte = (uint8_t *)&m + (r >> 32) % sizeof(m);

		m.mlength = r >> 12 & 0x1fff;
		if (r & 0x400000)
			*byte = (uint8_t)check_random(&dice);
		while (!link_has_room(liar.link, 0, r >> 23 & 1))
			CHECK_IS(fabric_step(&s.fabric), 1);
		memcpy(link_message(liar.link)->header, &m, sizeof(m));
		link_send(liar.link, netsim_now(liar.sim), 0, r >> 23 & 1, length, 0, 0);
		netsim_deadline_changed(s.fabric.sim, 2);
	}
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK(frames_figures(s.fabric.nodes[0].frames).bad > 500);
	CHECK_IS(link_figures(liar.link).records, 0);
	/* Other nodes are not affected. */
	fill(&s.w, 0);
	{
		struct initiator_args args = region(&s, 1, 0, 0, 9000, 100, 1);

		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
	}
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK(shows(&s.w, 0, 100, 1, 0, 9000));
	CHECK_IS(events(&s, 1, s.eq[1], EVENT_ACK, NI_OK), 1);
	CHECK_IS(fabric_close(&s.fabric), 0);
	free(room);
	world_drop(&s.w);
}

/* Short puts without ack take the fast path; more of them than the window and the records allow. */
static void brief_puts(uint32_t rate)
{
	struct netsim_config network = faults(rate, 17);
	struct link_config config = usual();
	uint64_t copied;
	struct scene s;
	handle_t md;
	int type, starts = 0, ends = 0;

	config.check_payload = rate != 0;
	scene_open(&s, &test_limits, &network, &config);
	md = bind(&s.w, 1, memory(0, 8, 0, HANDLE_NONE), UNLINK_NEVER);
	copied = frames_figures(s.fabric.nodes[1].frames).copied_out;
	for (uint64_t i = 0; i < 100; i++) {
		struct initiator_args args = to(md, 0, 5);

		args.remote_offset = 8 * i % 512;
		CHECK_IS(fabric_start(&s.fabric, 1, &args), PORTALS_OK);
	}
	CHECK(fabric_settle(&s.fabric, LONG_NS));
	while ((type = next(&s.w, 0, s.eq_in[0])) >= 0)
		starts += type == EVENT_PUT_START, ends += type == EVENT_PUT_END;
	CHECK(starts == 100 && ends == 100);
	for (uint64_t at = 0; at < 512; at += 8)
		CHECK(shows(&s.w, 0, at, 1, 0, 8));
	CHECK(frames_figures(s.fabric.nodes[1].frames).copied_out > copied);
	scene_close(&s);
}

TEST(frames_carry_puts_by_the_fast_path)
{
	brief_puts(0);
	brief_puts(20000);
}

/* A peer can send any header: it must name that peer, and fit the lane and the number of bytes. */
TEST(frames_drop_messages_whose_headers_cannot_be)
{
	struct netsim_config network = faults(0, 18);
	struct link_config config = usual();
	uint8_t payload[64] = { 0 };
	struct initiator_args args;
	struct message m, wrong;
	struct frames *frames;
	struct grant grant;
	struct scene s;

	scene_open(&s, &test_limits, &network, &config);
	frames = s.fabric.nodes[0].frames;
	args = to(bind(&s.w, 1, memory(0, 8, 0, HANDLE_NONE), UNLINK_NEVER), 0, 5);
	CHECK_IS(initiator_fast_put(&s.w.views[1], &args, 8, &m, &grant), 1);
	CHECK_IS(link_port_whole(frames, 1, LINK_REQUESTS, &m, payload, 8), LINK_TAKE);
	CHECK_IS(events(&s, 0, s.eq_in[0], EVENT_PUT_END, NI_OK), 1);
	CHECK_IS(link_port_whole(frames, 2, LINK_REQUESTS, &m, payload, 8), LINK_DROP);
	CHECK_IS(link_port_whole(frames, 1, LINK_ANSWERS, &m, payload, 8), LINK_DROP);
	CHECK_IS(link_port_whole(frames, 1, LINK_REQUESTS, &m, payload, 7), LINK_DROP);
	wrong = m;
	wrong.ack_request = ACK_YES;                    /* not on the fast path */
	CHECK_IS(link_port_whole(frames, 2, LINK_REQUESTS, &wrong, payload, 8), LINK_DROP);
	CHECK_IS(link_port_whole(frames, 1, LINK_REQUESTS, &wrong, payload, 9), LINK_DROP);
	wrong.target_nid = 2;
	CHECK_IS(link_port_whole(frames, 1, LINK_REQUESTS, &wrong, payload, 8), LINK_DROP);
	wrong = m;
	wrong.operation = MESSAGE_ACK;                  /* an answer among requests */
	CHECK_IS(link_port_whole(frames, 1, LINK_REQUESTS, &wrong, payload, 0), LINK_DROP);
	CHECK_IS(frames_figures(frames).bad, 7);
	CHECK_IS(events(&s, 0, s.eq_in[0], EVENT_PUT_END, NI_OK), 0);
	scene_close(&s);
}

/* A short put that failed causes no event, but the process's status counts it. */
TEST(frames_count_fast_puts_that_fail)
{
	struct netsim_config network = faults(0, 19);
	struct link_config config = usual();
	struct initiator_args args;
	uint64_t sent;
	struct scene s;

	scene_open(&s, &test_limits, &network, &config);
	args = to(bind(&s.w, 1, memory(0, 8, 0, HANDLE_NONE), UNLINK_NEVER), 0, 5);
	CHECK_IS(fabric_start(&s.fabric, 1, &args), PORTALS_OK);
	CHECK(fabric_settle(&s.fabric, LONG_NS));
	sent = status(&s.w, 1, STAT_BYTES_OUT);
	CHECK_IS(fabric_start(&s.fabric, 1, &args), PORTALS_OK);
	frames_ended(s.fabric.nodes[1].frames, 0, 0);
	CHECK(fabric_settle(&s.fabric, LONG_NS));
	CHECK_IS(status(&s.w, 1, STAT_FAILED), 1);
	CHECK_IS(status(&s.w, 1, STAT_BYTES_OUT), sent);
	events(&s, 0, s.eq_in[0], EVENT_PUT_END, NI_OK);
	scene_close(&s);
}

/* Rule 18: SEND_END of a short put is recorded when the call returns. Later changes of its
 * payload's memory are never sent, however often the frame is retransmitted. */
TEST(frames_read_short_payload_at_the_call)
{
	struct netsim_config network = faults(100000, 7);
	struct link_config config = usual();
	struct scene s;

	scene_open(&s, &test_limits, &network, &config);
	for (uint64_t i = 0; i < 100; i++) {
		struct initiator_args args = region(&s, 1, 0, 8000, 8, 16 * i, 0);

		memcpy(s.w.views[1].memory + 8000, &i, 8);
		CHECK_IS(fabric_start(&s.fabric, 1, &args), 0);
		CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_START);
		CHECK_IS(next(&s.w, 1, s.eq[1]), EVENT_SEND_END);
	}
	CHECK(fabric_settle(&s.fabric, LONG_NS));
	for (uint64_t i = 0; i < 100; i++)
		CHECK(!memcmp(s.w.views[0].memory + 16 * i, &i, 8));
	scene_close(&s);
}
