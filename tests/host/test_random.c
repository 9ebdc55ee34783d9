/*
 * Long random sequences on healthy blocks, begins and ends of many operations interleaved: nothing
 * leaks, whatever the order. Other tests check the result of each step; here only the counts must
 * balance at the end.
 */
#include "world.h"

#define ROUNDS    300
#define STEPS     400
#define UNDER_WAY 12

struct flight {
	struct grant grant;
	struct message answer;
	uint32_t p;                   /* whose block */
	int used;
};

struct run {
	struct world w;
	struct flight flights[UNDER_WAY];
	handle_t md[PROCESSES][8], me[PROCESSES][4], eq[PROCESSES];
	uint64_t state;
};

static uint64_t roll(struct run *run, uint64_t sides)
{
	return check_random(&run->state) % sides;
}

/* Deliver a message; leave the operation pending if there is room to record it. */
static void begin(struct run *run, const struct message *m)
{
	struct flight *flight = &run->flights[roll(run, UNDER_WAY)];
	struct flight now = { .p = m->target_nid };
	struct message next;
	int result;

	if (m->target_nid >= PROCESSES)
		return;
	result = deliver_begin(&run->w.views[now.p], m, m->source_nid, &now.grant, &now.answer);
	CHECK(result != DELIVER_DAMAGED);
	if (now.grant.answers) {
		next = now.answer;
		begin(run, &next);
	}
	if (now.grant.op == HANDLE_NONE)
		return;
	CHECK(now.grant.offset + now.grant.bytes <= SEGMENT);
	if (flight->used) {
		deliver_end(&run->w.views[now.p], &now.grant, roll(run, 2), &now.answer);
		if (now.grant.answers)
			begin(run, &now.answer);
	} else {
		now.used = 1;
		*flight = now;
	}
}

static void finish(struct run *run, struct flight *flight)
{
	struct message answer;

	if (!flight->used)
		return;
	flight->used = 0;
	CHECK_IS(deliver_end(&run->w.views[flight->p], &flight->grant, roll(run, 2),
			     &flight->answer), DELIVER_OK);
	answer = flight->answer;
	if (flight->grant.answers)
		begin(run, &answer);
}

static void operate(struct run *run, uint32_t p)
{
	struct initiator_args args = to(run->md[p][roll(run, 8)], (uint32_t)roll(run, PROCESSES),
					roll(run, 3));
	struct process_view *view = &run->w.views[p];
	struct grant source;
	struct message m;

	args.ack = roll(run, 2), args.remote_offset = roll(run, 80);
	if (roll(run, 2)) {
		if (!initiator_get(view, &args, &m))
			begin(run, &m);
		return;
	}
	if (initiator_put(view, &args, &m, &source))
		return;
	begin(run, &m);
	initiator_sent(view, &m, &source, roll(run, 2));
}

static void step(struct run *run)
{
	uint32_t p = (uint32_t)roll(run, PROCESSES);
	struct process_view *view = &run->w.views[p];
	const uint32_t options[] = { 0, MD_TRUNCATE, MD_MANAGE_REMOTE, MD_MAX_SIZE, MD_ACK_DISABLE,
				     MD_EVENT_START_DISABLE, MD_EVENT_END_DISABLE,
				     MD_MANAGE_REMOTE | MD_TRUNCATE };
	struct md_args args = memory(roll(run, 1000), roll(run, 100), options[roll(run, 8)] |
				     (uint32_t)roll(run, 4), roll(run, 2) ? run->eq[p] : EQ_NONE);
	struct me_args entry = { .match_bits = roll(run, 3), .nid = ANY_ID, .pid = ANY_ID,
				 .unlink = (uint32_t)roll(run, 2), .position = (uint32_t)roll(run, 2) };
	uint64_t i = roll(run, 8);

	args.threshold = (int)roll(run, 4) - 1, args.max_size = roll(run, 60);
	switch (roll(run, 10)) {
	case 0:
		if (!me_lookup(view, run->me[p][i & 3]))
			me_attach(view, PT, &entry, &run->me[p][i & 3]);
		break;
	case 1:
		if (!md_lookup(view, run->md[p][i]))
			md_attach(view, run->me[p][i & 3], &args, roll(run, 2), &run->md[p][i]);
		break;
	case 2:
		if (!md_lookup(view, run->md[p][i]))
			md_bind(view, &args, roll(run, 2), &run->md[p][i]);
		break;
	case 3:
		if (roll(run, 2))
			md_unlink(view, run->md[p][i]);
		else
			me_unlink(view, run->me[p][i & 3]);
		break;
	case 4: case 5: case 6:
		operate(run, p);
		break;
	case 7:
		next(&run->w, p, run->eq[p]);
		break;
	default:
		finish(run, &run->flights[roll(run, UNDER_WAY)]);
		break;
	}
}

TEST(random_sequences_balance)
{
	static struct run run;

	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		run = (struct run){ .state = seed };
		world_open(&run.w, &test_limits);
		for (uint32_t p = 0; p < PROCESSES; p++)
			run.eq[p] = new_eq(&run.w, p, 16);
		for (int i = 0; i < STEPS; i++)
			step(&run);
		for (int again = 0; again < 4; again++)  /* ends cause answers, and answers begin */
			for (int i = 0; i < UNDER_WAY; i++)
				finish(&run, &run.flights[i]);
		for (uint32_t p = 0; p < PROCESSES; p++) {
			struct eq *eq = eq_lookup(&run.w.views[p], run.eq[p]);

			/* descriptors that disable acks: no answer will come, so all peers die */
			for (uint32_t q = 0; q < PROCESSES; q++)
				block_peer_died(&run.w.views[p], q, 0);
			CHECK_IS(eq->begun, 0);
			CHECK_IS(eq->reserved, 0);
			for (int i = 0; i < 4; i++)
				remove_me(&run.w, p, run.me[p][i]);
			for (int i = 0; i < 8; i++)
				remove_md(&run.w, p, run.md[p][i]);
			remove_eq(&run.w, p, run.eq[p]);
		}
		world_close(&run.w);
	}
}
