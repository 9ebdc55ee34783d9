/*
 * Which answers are believed: rule 17. An ack or a reply must name an operation that this process
 * has started and that waits, in every field that it is known by, and come from the process that
 * was asked. Any other answer changes nothing but a counter, whether it is delivered in three
 * phases or in one.
 */
#include <string.h>
#include "../../net/portals/answer.h"
#include "world.h"

#define GENERATION  HANDLE_NEXT

/* Node 1 waits for answers of node 0 to four operations. */
struct asking {
	struct world w;
	handle_t eq, other_eq, md, other_md;
	struct message put, atomic, get, getput;
};

static void ask(struct asking *a)
{
	struct process_view *view = &a->w.views[1];
	struct initiator_args args;
	struct grant grant;

	world_open(&a->w, &test_limits);
	a->eq = new_eq(&a->w, 1, 64);
	a->other_eq = new_eq(&a->w, 1, 64);
	a->md = bind(&a->w, 1, memory(2000, 64, 0, a->eq), UNLINK_NEVER);
	a->other_md = bind(&a->w, 1, memory(3000, 64, 0, a->eq), UNLINK_NEVER);
	args = to(a->md, 0, 5);
	args.ack = ACK_YES, args.remote_offset = 24;
	a->put = sent_put(&a->w, 1, &args);
	args.operation = MESSAGE_ATOMIC, args.atomic_operation = ATOMIC_SUM;
	args.datatype = ATOMIC_UINT64, args.length = 8;
	a->atomic = sent_put(&a->w, 1, &args);
	args.operation = MESSAGE_GETPUT, args.put_md = a->other_md, args.length = LENGTH_WHOLE;
	CHECK_IS(initiator_exchange(view, &args, &a->getput, &grant), 0);
	CHECK_IS(initiator_sent(view, &a->getput, &grant, NI_OK), 0);
	CHECK_IS(initiator_get(view, &args, &a->get), 0);
	for (int i = 0; i < 6; i++)
		CHECK_IS(next(&a->w, 1, a->eq), i % 2 ? EVENT_SEND_END : EVENT_SEND_START);
}

/* The correct answer of node 0; a reply brings 64 bytes. */
static struct message answer_to(const struct message *request)
{
	struct message answer;

	CHECK(message_refuse(request, NI_OK, &answer));
	answer.mlength = request->length;
	return answer;
}

static int deliver(struct world *w, uint32_t p, const struct message *answer, int in_one_step,
		   struct grant *grant)
{
	static const uint8_t payload[DELIVER_INLINE_BYTES] = { 0xee, 0xee, 0xee };
	struct message none;

	return in_one_step ? deliver_inline(&w->views[p], answer, payload, grant, &none, 0) :
			     deliver_begin(&w->views[p], answer, 0, grant, &none);
}

/* The answer has no effect, and all four operations still wait. */
static void not_believed(struct asking *a, const struct message *answer)
{
	for (int in_one_step = 0; in_one_step < 2; in_one_step++) {
		uint64_t drops = status(&a->w, 1, STAT_DROPPED);
		uint64_t others = status(&a->w, 1, STAT_MESSAGES_IN);
		struct grant grant;

		CHECK_IS(deliver(&a->w, 1, answer, in_one_step, &grant), DELIVER_DROPPED);
		CHECK_IS(grant.op, HANDLE_NONE);
		CHECK_IS(grant.events, 0);
		CHECK_IS(status(&a->w, 1, STAT_DROPPED), drops + 1);
		CHECK_IS(status(&a->w, 1, STAT_MESSAGES_IN), others);
		CHECK_IS(status(&a->w, 1, STAT_OP_USED), 4);
		CHECK_IS(next(&a->w, 1, a->eq), -1);
		CHECK_IS(next(&a->w, 1, a->other_eq), -1);
		CHECK(shows(&a->w, 1, 0, 1, 0, WORDS));
	}
	if (answer->operation == MESSAGE_ACK) {               /* one without acknowledgement */
		CHECK_IS(answer_none(&a->w.views[1], answer), DELIVER_DROPPED);
		CHECK_IS(status(&a->w, 1, STAT_OP_USED), 4);
	}
}

/* The correct answer ends its operation. */
static void believed(struct asking *a, const struct message *answer, int events)
{
	uint64_t waiting = status(&a->w, 1, STAT_OP_USED);
	struct grant grant;

	CHECK_IS(deliver(&a->w, 1, answer, 1, &grant), DELIVER_OK);
	CHECK_IS(status(&a->w, 1, STAT_OP_USED), waiting - 1);
	CHECK_IS(grant.events, events);
}

static void answer_all(struct asking *a)
{
	const struct message requests[] = { a->put, a->atomic, a->get, a->getput };

	for (int i = 0; i < 4; i++) {
		struct message answer = answer_to(&requests[i]);

		believed(a, &answer, i < 2 ? 1 : 2);
	}
	CHECK_IS(next(&a->w, 1, a->eq), EVENT_ACK);
	CHECK_IS(next(&a->w, 1, a->eq), EVENT_ACK);
	for (int i = 0; i < 4; i++)
		CHECK_IS(next(&a->w, 1, a->eq), i % 2 ? EVENT_REPLY_END : EVENT_REPLY_START);
	CHECK_IS(next(&a->w, 1, a->eq), -1);
	remove_md(&a->w, 1, a->md);
	remove_md(&a->w, 1, a->other_md);
	remove_eq(&a->w, 1, a->eq);
	remove_eq(&a->w, 1, a->other_eq);
	world_close(&a->w);
}

/* Call `forge` with each of the four correct answers. */
static void forge_each(void (*forge)(struct asking *a, struct message answer))
{
	struct asking a;

	ask(&a);
	forge(&a, answer_to(&a.put));
	forge(&a, answer_to(&a.atomic));
	forge(&a, answer_to(&a.get));
	forge(&a, answer_to(&a.getput));
	answer_all(&a);
}

static void name_no_record(struct asking *a, struct message answer)
{
	answer.op_handle = HANDLE_NONE;
	not_believed(a, &answer);
	answer.md_handle = a->other_md;
	not_believed(a, &answer);
}

TEST(rule17_answer_that_names_no_operation)
{
	forge_each(name_no_record);
}

static void name_another_generation(struct asking *a, struct message answer)
{
	answer.op_handle += GENERATION;
	not_believed(a, &answer);
	answer.op_handle -= 2 * GENERATION;
	not_believed(a, &answer);
	answer.op_handle += GENERATION;
	answer.op_handle += 1000;                     /* outside the pool */
	not_believed(a, &answer);
}

TEST(rule17_answer_that_names_an_operation_of_before)
{
	forge_each(name_another_generation);
}

static void name_another_kind_of_object(struct asking *a, struct message answer)
{
	answer.op_handle = a->md;
	not_believed(a, &answer);
	answer.op_handle = a->eq;
	not_believed(a, &answer);
}

TEST(rule17_answer_that_names_no_record_but_an_object)
{
	forge_each(name_another_kind_of_object);
}

/* The answer with another object, another generation of the right one, or none in `field`. */
static void name_wrongly(struct asking *a, const struct message *answer, handle_t *field,
			 handle_t other)
{
	const handle_t wrong[] = { other, *field + GENERATION, HANDLE_NONE };

	for (int i = 0; i < 3; i++) {
		*field = wrong[i];
		not_believed(a, answer);
	}
}

static void name_another_descriptor(struct asking *a, struct message answer)
{
	name_wrongly(a, &answer, &answer.md_handle, a->other_md);
}

TEST(rule17_answer_that_names_another_descriptor)
{
	forge_each(name_another_descriptor);
}

/* A reply's events go to the queue of its descriptor, whatever queue it names. */
static void name_another_queue(struct asking *a, struct message answer)
{
	if (answer.operation == MESSAGE_ACK)
		name_wrongly(a, &answer, &answer.eq_handle, a->other_eq);
}

TEST(rule17_ack_that_names_another_queue)
{
	forge_each(name_another_queue);
}

/* The request went to process 1 of node 0. */
static void come_from_another_process(struct asking *a, struct message answer)
{
	answer.source_pid = 2;
	not_believed(a, &answer);
	answer.source_pid = ANY_ID;
	not_believed(a, &answer);
	answer.source_pid = 1;
	answer.source_nid = 2;
	not_believed(a, &answer);
	answer.source_nid = 1;                        /* the initiator's own */
	not_believed(a, &answer);
}

TEST(rule17_answer_from_another_process)
{
	forge_each(come_from_another_process);
}

static void be_of_the_other_kind(struct asking *a, struct message answer)
{
	answer.operation = answer.operation == MESSAGE_ACK ? MESSAGE_REPLY : MESSAGE_ACK;
	not_believed(a, &answer);
}

TEST(rule17_answer_of_the_wrong_kind)
{
	forge_each(be_of_the_other_kind);
}

/* Every field fits one operation, but the record is another operation's. */
TEST(rule17_answer_to_one_operation_that_names_another)
{
	struct asking a;

	ask(&a);
	for (int i = 0; i < 4; i++) {
		const struct message *of[] = { &a.put, &a.atomic, &a.get, &a.getput };
		struct message answer = answer_to(of[i]);

		for (int j = 0; j < 4; j++) {
			int same_kind = (i < 2) == (j < 2);

			answer.op_handle = of[j]->op_handle;
			/*
			 * a put and an atomic operation on one descriptor differ in the record only
			 */
			if (!same_kind)
				not_believed(&a, &answer);
		}
	}
	answer_all(&a);
}

/* An operation that is pending at the target has a record too, but waits for no answer. */
TEST(rule17_answer_that_names_what_others_do_here)
{
	struct message m = request(MESSAGE_PUT, 0, 1, 6, 32), answer, none;
	struct grant open, grant;
	struct asking a;
	handle_t me, md;

	ask(&a);
	me = new_me(&a.w, 1, 6);
	md = attach(&a.w, 1, me, memory(4000, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(deliver_begin(&a.w.views[1], &m, 0, &open, &answer), DELIVER_OK);
	for (int operation = MESSAGE_ACK; operation <= MESSAGE_REPLY; operation++) {
		answer = answer_to(operation == MESSAGE_ACK ? &a.put : &a.get);
		answer.op_handle = open.op;
		answer.md_handle = md;
		for (int in_one_step = 0; in_one_step < 2; in_one_step++)
			CHECK_IS(deliver(&a.w, 1, &answer, in_one_step, &grant), DELIVER_DROPPED);
	}
	CHECK_IS(deliver_end(&a.w.views[1], &open, NI_OK, &none), DELIVER_OK);
	remove_me(&a.w, 1, me);
	answer_all(&a);
}

/* A second answer is dropped: the record is free, or a reply is being carried out. */
TEST(rule17_answer_that_comes_again)
{
	struct initiator_args args;
	struct message answer, none;
	struct grant open, grant;
	struct asking a;

	ask(&a);
	answer = answer_to(&a.get);
	CHECK_IS(deliver_begin(&a.w.views[1], &answer, 0, &open, &none), DELIVER_OK);
	for (int i = 0; i < 2; i++)
		CHECK_IS(deliver(&a.w, 1, &answer, i, &grant), DELIVER_DROPPED);
	CHECK_IS(deliver_end(&a.w.views[1], &open, NI_OK, &none), DELIVER_OK);
	for (int i = 0; i < 2; i++)
		CHECK_IS(deliver(&a.w, 1, &answer, i, &grant), DELIVER_DROPPED);
	args = to(a.md, 0, 5);
	CHECK_IS(initiator_get(&a.w.views[1], &args, &a.get), 0);
	for (int i = 0; i < 2; i++)                   /* nor as the answer to a later one */
		CHECK_IS(deliver(&a.w, 1, &answer, i, &grant), DELIVER_DROPPED);
	CHECK_IS(next(&a.w, 1, a.eq), EVENT_REPLY_START);
	CHECK_IS(next(&a.w, 1, a.eq), EVENT_REPLY_END);
	answer = answer_to(&a.put);
	believed(&a, &answer, 1);
	for (int i = 0; i < 2; i++)
		CHECK_IS(deliver(&a.w, 1, &answer, i, &grant), DELIVER_DROPPED);
	args.ack = ACK_YES;
	a.put = sent_put(&a.w, 1, &args);
	for (int i = 0; i < 2; i++)
		CHECK_IS(deliver(&a.w, 1, &answer, i, &grant), DELIVER_DROPPED);
	CHECK_IS(next(&a.w, 1, a.eq), EVENT_ACK);
	CHECK_IS(next(&a.w, 1, a.eq), EVENT_SEND_START);
	CHECK_IS(next(&a.w, 1, a.eq), EVENT_SEND_END);
	CHECK_IS(status(&a.w, 1, STAT_DROPPED), 10);
	answer_all(&a);
}

/* Rule 15: the initiator itself knows what it asked for. The answer only tells how many bytes were
 * manipulated, never more than were asked for, and by which identity. */
TEST(rule15_events_show_what_was_asked_for)
{
	struct asking a;

	ask(&a);
	for (int i = 0; i < 4; i++) {
		const struct message *of[] = { &a.put, &a.atomic, &a.get, &a.getput };
		struct message answer = answer_to(of[i]);
		int ends = i < 2;

		answer.pt_index = 9999, answer.cookie = 9999, answer.match_bits = ~0ULL;
		answer.offset = 1, answer.length = 3, answer.hdr_data = 0x666, answer.sequence = 77;
		answer.uid = 1234, answer.jid = JOB + 1;
		if (ends)
			answer.mlength = 10000;
		believed(&a, &answer, ends ? 1 : 2);
		if (!ends)
			CHECK_IS(next(&a.w, 1, a.eq), EVENT_REPLY_START);
		CHECK_IS(next(&a.w, 1, a.eq), ends ? EVENT_ACK : EVENT_REPLY_END);
		CHECK_IS(a.w.event.pt_index, PT);
		CHECK_IS(a.w.event.match_bits, 5);
		CHECK_IS(a.w.event.offset, 24);
		CHECK_IS(a.w.event.rlength, of[i]->length);
		CHECK_IS(a.w.event.mlength, of[i]->length);
		CHECK_IS(a.w.event.hdr_data, of[i]->hdr_data);
		CHECK_IS(a.w.event.link, (uint32_t)of[i]->sequence);
		CHECK_IS(a.w.event.uid, 1234);
		CHECK_IS(a.w.event.jid, JOB + 1);
		CHECK_IS(a.w.event.initiator.nid, 0);
	}
	CHECK_IS(next(&a.w, 1, a.eq), -1);
	remove_md(&a.w, 1, a.md);
	remove_md(&a.w, 1, a.other_md);
	remove_eq(&a.w, 1, a.eq);
	remove_eq(&a.w, 1, a.other_eq);
	world_close(&a.w);
}

/* Rules 9 and 17: a reply is written to the region that the call named, however long it is. */
TEST(rule17_reply_writes_only_what_the_call_named)
{
	static const uint8_t payload[DELIVER_INLINE_BYTES] = { 0xee };
	struct message m, answer, none;
	struct initiator_args args;
	struct grant grant;
	struct world w;
	handle_t md;

	world_open(&w, &test_limits);
	md = bind(&w, 1, memory(2000, 64, 0, EQ_NONE), UNLINK_NEVER);
	args = to(md, 0, 5);
	args.local_offset = 20, args.length = 8;
	for (int in_one_step = 0; in_one_step < 2; in_one_step++) {
		CHECK_IS(initiator_get(&w.views[1], &args, &m), 0);
		answer = answer_to(&m);
		answer.length = answer.mlength = 64;
		answer.offset = 0;
		if (in_one_step) {
			CHECK_IS(deliver_inline(&w.views[1], &answer, payload, &grant, &none, 0),
				 DELIVER_OK);
		} else {
			CHECK_IS(deliver_begin(&w.views[1], &answer, 0, &grant, &none), DELIVER_OK);
			CHECK_IS(deliver_data(&w.views[1], &grant, 0, payload, 64), DELIVER_OK);
			CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
		}
		CHECK_IS(grant.bytes, 8);
		CHECK_IS(w.views[1].memory[2020], 0xee);
		CHECK(shows(&w, 1, 2000, 1, 2000, 20) && shows(&w, 1, 2028, 1, 2028, 36));
		fill(&w, 1);
	}
	remove_md(&w, 1, md);
	world_close(&w);
}

/* A node's death ends the operations that wait for it, and no later life of it answers them. */
TEST(rule17_answer_of_a_later_life)
{
	const struct message *of[4];
	struct grant grant;
	struct asking a;

	ask(&a);
	of[0] = &a.put, of[1] = &a.atomic, of[2] = &a.get, of[3] = &a.getput;
	CHECK_IS(block_peer_died(&a.w.views[1], 0, 0), 4);
	while (next(&a.w, 1, a.eq) >= 0)
		CHECK(a.w.event.type == PTL_EVENT_REPLY_START || a.w.event.ni_fail_type == NI_FAIL);
	for (int i = 0; i < 4; i++) {
		struct message answer = answer_to(of[i]), late = answer;

		for (int in_one_step = 0; in_one_step < 2; in_one_step++)
			CHECK_IS(deliver(&a.w, 1, &answer, in_one_step, &grant), DELIVER_DROPPED);
		/*
		 * a request to the new life has another record, or another generation of the same
		 */
		CHECK_IS(initiator_get(&a.w.views[1], &(struct initiator_args){
			.md = a.md, .length = LENGTH_WHOLE, .target_nid = 0, .target_pid = 1,
			.pt_index = PT, .match_bits = 5 }, &late), 0);
		for (int in_one_step = 0; in_one_step < 2; in_one_step++)
			CHECK_IS(deliver(&a.w, 1, &answer, in_one_step, &grant), DELIVER_DROPPED);
		late = answer_to(&late);
		CHECK_IS(deliver(&a.w, 1, &late, 1, &grant), DELIVER_OK);
	}
	CHECK_IS(status(&a.w, 1, STAT_DROPPED), 16);
	while (next(&a.w, 1, a.eq) >= 0)
		CHECK_IS(a.w.event.ni_fail_type, NI_OK);
	remove_md(&a.w, 1, a.md);
	remove_md(&a.w, 1, a.other_md);
	remove_eq(&a.w, 1, a.eq);
	remove_eq(&a.w, 1, a.other_eq);
	world_close(&a.w);
}
