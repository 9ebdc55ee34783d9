/*
 * Answers that were not asked for, over frames: from a node of the job that was
 * not asked, or from the right one with a wrong field (rule 17). The link has let
 * them through: their frames were whole, and signed if the job has a key.
 */
#include "../../net/frames/state.h"
#include "world.h"

#define LONG_NS  60000000000ull
#define LONG     1000u            /* bytes: too long to be delivered in one step */
#define ASKED    1u               /* the target of node 0's requests */
#define OTHER    2u               /* another node of the job */

struct scene {
	struct world w;
	struct fabric fabric;
	struct frames *frames;        /* node 0's */
	handle_t eq, md, put_md;      /* node 0's */
	struct initiator_args args;
	struct message request;       /* node 0's request */
};

enum kind { PUT, PUT_LONG, ATOMIC, GET, GET_LONG, GETPUT, KINDS };

static void scene_open(struct scene *s)
{
	struct netsim_config network = netsim_defaults(PROCESSES, 1);
	struct link_config config = link_defaults(0, PROCESSES, 1000);

	world_open(&s->w, &test_limits);
	fabric_open(&s->fabric, s->w.views, PROCESSES, &network, &config);
	s->frames = s->fabric.nodes[0].frames;
	for (uint32_t p = 1; p < PROCESSES; p++)
		attach(&s->w, p, new_me(&s->w, p, 5),
		       memory(0, WORDS, MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE, EQ_NONE),
		       UNLINK_NEVER);
	s->eq = new_eq(&s->w, 0, 64);
	s->md = bind(&s->w, 0, memory(1000, LONG, 0, s->eq), UNLINK_NEVER);
	s->put_md = bind(&s->w, 0, memory(4000, 64, MD_EVENT_START_DISABLE |
					  MD_EVENT_END_DISABLE, s->eq), UNLINK_NEVER);
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

static int is_put(enum kind kind)
{
	return kind <= ATOMIC;
}

/* Node 0 sends a request, which has not arrived yet. */
static void ask(struct scene *s, enum kind kind)
{
	const struct link_message *message = link_message(s->frames->link); /* that it will use */

	s->args = to(s->md, ASKED, 5);
	s->args.length = kind == PUT_LONG || kind == GET_LONG ? LONG : 16;
	s->args.ack = is_put(kind) ? ACK_YES : ACK_NO;
	s->args.remote_offset = 20000;
	if (kind == ATOMIC) {
		s->args.operation = MESSAGE_ATOMIC;
		s->args.atomic_operation = ATOMIC_SUM, s->args.datatype = ATOMIC_UINT64;
	}
	if (kind == GETPUT) {
		s->args.operation = MESSAGE_GETPUT;
		s->args.put_md = s->put_md;
	}
	CHECK_IS(is_put(kind) || kind == GETPUT ? fabric_start(&s->fabric, 0, &s->args) :
		 fabric_get(&s->fabric, 0, &s->args), 0);
	if (is_put(kind))
		CHECK_IS(next(&s->w, 0, s->eq), EVENT_SEND_START);
	CHECK_IS(status(&s->w, 0, STAT_OP_USED), 1);
	s->request = *(const struct message *)message->header;
	CHECK_IS(s->request.target_nid, ASKED);
	CHECK(s->request.op_handle != HANDLE_NONE);
}

/* The correct answer. */
static struct message answer_to(const struct scene *s)
{
	struct message answer;

	CHECK(message_refuse(&s->request, NI_OK, &answer));
	answer.mlength = s->request.length;
	return answer;
}

/* An answer from this node has no effect. */
static void not_believed(struct scene *s, uint32_t node, const struct message *answer)
{
	static const uint8_t payload[LONG] = { 0xee };
	uint64_t drops = status(&s->w, 0, STAT_DROPPED);
	uint64_t copied = frames_figures(s->frames).copied_in;
	uint32_t bytes = answer->operation == MESSAGE_REPLY ? (uint32_t)answer->mlength : 0;
	struct link_target target;

	link_port_whole(s->frames, node, LINK_ANSWERS, answer, payload, bytes);
	CHECK_IS(status(&s->w, 0, STAT_DROPPED), ++drops);
	if (answer->operation == MESSAGE_REPLY) {     /* in parts */
		CHECK_IS(link_port_begin(s->frames, node, LINK_ANSWERS, answer, bytes, &target),
			 LINK_DROP);
		CHECK_IS(status(&s->w, 0, STAT_DROPPED), ++drops);
	}
	CHECK_IS(frames_figures(s->frames).bad, 0);
	CHECK_IS(frames_figures(s->frames).copied_in, copied);
	CHECK_IS(status(&s->w, 0, STAT_OP_USED), 1);
	CHECK_IS(next(&s->w, 0, s->eq), -1);          /* no SEND_END either */
	CHECK(shows(&s->w, 0, 0, 0, 0, WORDS));
}

/* The correct answer still ends the operation. */
static void ends_well(struct scene *s, enum kind kind)
{
	CHECK_IS(fabric_settle(&s->fabric, LONG_NS), 1);
	if (is_put(kind)) {
		CHECK_IS(next(&s->w, 0, s->eq), EVENT_SEND_END);
		CHECK_IS(next(&s->w, 0, s->eq), EVENT_ACK);
	} else {
		CHECK_IS(next(&s->w, 0, s->eq), EVENT_REPLY_START);
		CHECK_IS(next(&s->w, 0, s->eq), EVENT_REPLY_END);
		CHECK(kind == GETPUT || shows(&s->w, 0, 1000, ASKED, 20000, s->args.length));
	}
	CHECK_IS(s->w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&s->w, 0, s->eq), -1);
	CHECK_IS(status(&s->w, 0, STAT_OP_USED), 0);
	for (uint32_t p = 0; p < PROCESSES; p++)
		fill(&s->w, p);
}

/* One forged answer to each kind of request. */
static void forge_each(void (*forge)(struct scene *s, struct message answer))
{
	struct scene s;

	scene_open(&s);
	for (int kind = 0; kind < KINDS; kind++) {
		ask(&s, (enum kind)kind);
		forge(&s, answer_to(&s));
		ends_well(&s, (enum kind)kind);
	}
	scene_close(&s);
}

/* Another node of the job has seen the frames and knows all fields of the operation. */
static void come_from_another_node(struct scene *s, struct message answer)
{
	answer.source_nid = OTHER;
	not_believed(s, OTHER, &answer);
	answer.fail = NI_FAIL;                        /* as if the target were dead */
	not_believed(s, OTHER, &answer);
	answer.fail = NI_DROPPED;
	not_believed(s, OTHER, &answer);
	answer.fail = NI_OK;
	answer.link = FRAMES_NO_ACK;                  /* nothing is acknowledged */
	not_believed(s, OTHER, &answer);
}

TEST(frames_believe_no_answer_of_another_node)
{
	forge_each(come_from_another_node);
}

static void name_no_record(struct scene *s, struct message answer)
{
	answer.op_handle = HANDLE_NONE;
	not_believed(s, ASKED, &answer);
	answer.link = FRAMES_NO_ACK;
	not_believed(s, ASKED, &answer);
	answer.source_nid = OTHER;
	not_believed(s, OTHER, &answer);
}

TEST(frames_believe_no_answer_that_names_no_operation)
{
	forge_each(name_no_record);
}

static void have_a_wrong_field(struct scene *s, struct message answer)
{
	struct message wrong = answer;

	for (int none = 0; none < 2; none++) {
		wrong.link = none ? FRAMES_NO_ACK : 0;
		wrong.op_handle += HANDLE_NEXT;
		not_believed(s, ASKED, &wrong);
		wrong.op_handle = answer.op_handle;
		wrong.md_handle += HANDLE_NEXT;
		not_believed(s, ASKED, &wrong);
		wrong.md_handle = s->put_md;
		not_believed(s, ASKED, &wrong);
		wrong.md_handle = answer.md_handle;
		wrong.source_pid = 2;
		not_believed(s, ASKED, &wrong);
		wrong.source_pid = answer.source_pid;
		if (answer.operation == MESSAGE_ACK) {
			wrong.eq_handle += HANDLE_NEXT;
			not_believed(s, ASKED, &wrong);
			wrong.eq_handle = answer.eq_handle;
		}
		wrong.operation = answer.operation == MESSAGE_ACK ? MESSAGE_REPLY : MESSAGE_ACK;
		not_believed(s, ASKED, &wrong);
		wrong.operation = answer.operation;
	}
}

TEST(frames_believe_no_answer_with_a_wrong_field)
{
	forge_each(have_a_wrong_field);
}

/* The ACK of a target whose block is damaged may arrive before the link knows that the request has
 * arrived: SEND_END is recorded first all the same (rule 18). */
TEST(frames_report_a_failed_ack_behind_its_send)
{
	static const uint32_t lengths[] = { 16, LONG };
	struct message answer;
	struct scene s;

	scene_open(&s);
	for (int i = 0; i < 2; i++) {
		ask(&s, i ? PUT_LONG : PUT);
		CHECK(message_refuse(&s.request, NI_FAIL, &answer));
		CHECK_IS(link_port_whole(s.frames, ASKED, LINK_ANSWERS, &answer, 0, 0), LINK_TAKE);
		CHECK_IS(next(&s.w, 0, s.eq), EVENT_SEND_END);
		CHECK_IS(s.w.event.ni_fail_type, NI_OK);
		CHECK_IS(s.w.event.mlength, lengths[i]);
		CHECK_IS(next(&s.w, 0, s.eq), EVENT_ACK);
		CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(next(&s.w, 0, s.eq), -1);
	}
	scene_close(&s);
}

/* The target is lost while the card still reads the message: the ACK that says so waits for
 * SEND_END (rule 18), also if the death is reported to the block meanwhile. */
TEST(frames_report_a_lost_ack_behind_its_send)
{
	struct scene s;

	scene_open(&s);
	ask(&s, PUT_LONG);
	fabric_kill(&s.fabric, ASKED);
	frames_ended(s.frames, ASKED, 0);
	CHECK_IS(block_peer_died(&s.w.views[0], ASKED, 0), 0);
	CHECK_IS(next(&s.w, 0, s.eq), -1);
	CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
	CHECK_IS(next(&s.w, 0, s.eq), EVENT_SEND_END);
	CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&s.w, 0, s.eq), EVENT_ACK);
	CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&s.w, 0, s.eq), -1);
	CHECK_IS(status(&s.w, 0, STAT_FAILED), 2);
	scene_close(&s);
}

/* The target dies, and its next life answers an earlier request. */
TEST(frames_believe_no_answer_of_a_later_life)
{
	struct scene s;

	for (int kind = 0; kind < KINDS; kind++) {
		struct message answer;

		scene_open(&s);
		ask(&s, (enum kind)kind);
		answer = answer_to(&s);
		fabric_kill(&s.fabric, ASKED);
		frames_ended(s.frames, ASKED, 0);            /* as when its next life is noticed */
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		fabric_revive(&s.fabric, ASKED);
		CHECK_IS(status(&s.w, 0, STAT_OP_USED), 0);
		while (next(&s.w, 0, s.eq) >= 0)
			continue;
		CHECK_IS(s.w.event.ni_fail_type, NI_FAIL);
		ask(&s, GET);                         /* takes the same record */
		CHECK_IS(HANDLE_INDEX(s.request.op_handle), HANDLE_INDEX(answer.op_handle));
		not_believed(&s, ASKED, &answer);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		scene_close(&s);
	}
}

/* A field of the header by which an answer is known. */
#define FIELD(name) { offsetof(struct message, name), sizeof(((struct message *)0)->name) }

static const struct {
	size_t at, bytes;
} known_by[] = {
	FIELD(operation), FIELD(source_nid), FIELD(source_pid), FIELD(target_nid),
	FIELD(target_pid), FIELD(md_handle), FIELD(op_handle), FIELD(eq_handle),
};

/* Messages that came to nothing. */
static uint64_t discarded(struct scene *s)
{
	return status(&s->w, 0, STAT_DROPPED) + frames_figures(s->frames).bad;
}

/* The node that was asked answers, but one bit of the header is wrong. */
static void have_a_wrong_bit(struct scene *s, size_t bit, struct message answer)
{
	static const uint8_t payload[LONG] = { 0xee };
	uint32_t bytes = answer.operation == MESSAGE_REPLY ? (uint32_t)answer.mlength : 0;
	uint64_t before = discarded(s), copied = frames_figures(s->frames).copied_in;
	struct link_target target;

	((uint8_t *)&answer)[bit / 8] ^= (uint8_t)(1u << bit % 8);
	link_port_whole(s->frames, ASKED, LINK_ANSWERS, &answer, payload, bytes);
	CHECK_IS(discarded(s), before + 1);
	if (bytes)
		CHECK_IS(link_port_begin(s->frames, ASKED, LINK_ANSWERS, &answer, bytes, &target),
			 LINK_DROP);
	CHECK_IS(frames_figures(s->frames).copied_in, copied);
	CHECK_IS(status(&s->w, 0, STAT_OP_USED), 1);
	CHECK_IS(next(&s->w, 0, s->eq), -1);
	CHECK(shows(&s->w, 0, 0, 0, 0, WORDS));
}

static void have_any_wrong_bit(struct scene *s, struct message answer)
{
	size_t fields = sizeof(known_by) / sizeof(known_by[0]);

	/* a reply's events go to its descriptor's queue, whatever it says */
	fields -= answer.operation == MESSAGE_REPLY;
	for (int none = 0; none < 1 + (answer.operation == MESSAGE_ACK); none++) {
		answer.link = none ? FRAMES_NO_ACK : 0;
		for (size_t i = 0; i < fields; i++)
			for (size_t bit = 0; bit < 8 * known_by[i].bytes; bit++)
				have_a_wrong_bit(s, 8 * known_by[i].at + bit, answer);
	}
}

TEST(frames_believe_no_answer_with_a_wrong_bit)
{
	forge_each(have_any_wrong_bit);
}

/* The fast path of short puts has no record for an ack, so it leaves acked puts to the other one. */
TEST(frames_ack_short_puts_without_send_events)
{
	struct initiator_args args;
	struct scene s;

	scene_open(&s);
	args = to(s.put_md, ASKED, 5);
	for (args.ack = ACK_NO; args.ack <= ACK_YES; args.ack++) {
		CHECK_IS(fabric_start(&s.fabric, 0, &args), 0);
		CHECK_IS(fabric_settle(&s.fabric, LONG_NS), 1);
		CHECK_IS(next(&s.w, 0, s.eq), args.ack == ACK_YES ? EVENT_ACK : -1);
	}
	scene_close(&s);
}
