/*
 * The states of a flow: each row of the table in net/link/flow_state.h is walked through.
 */
#include "../../net/link/internal.h"
#include "link_probe.h"

#define PEER     1u
#define MESSAGES 6u
#define TRIES    3u

enum event { EVENT_SEND, EVENT_ACKED_SOME, EVENT_ACKED_ALL, EVENT_OVERTAKEN, EVENT_REFUSED,
	     EVENT_TIMEOUT, EVENT_RESENT, EVENT_UNREADABLE, EVENT_TICK, EVENT_TRIES,
	     EVENT_RENEWED };

static const char *const states[] = {
#define X(state, when) #state,
	FLOW_STATES(X)
#undef X
};

static enum flow_state state_of(const struct probe *p)
{
	const struct flow *flow = flow_find(p->link, PEER, LINK_REQUESTS);

	return flow ? flow_state(flow) : FLOW_IDLE;
}

static void send_some(struct probe *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK_IS(probe_send(p, PEER, 200, i), LINK_OK);
}

static void acknowledge(struct probe *p, uint32_t ack, uint64_t selective, uint64_t refused)
{
	struct wire wire = probe_ack(ack, selective, 8);

	wire.again = refused != 0;
	wire.refused = refused;
	probe_give(p, PEER, &wire, 0);
}

/* A frame to be sent again stays so while the card is full. */
static void happen(struct probe *p, enum event event)
{
	switch (event) {
	case EVENT_SEND:
		send_some(p, 1);
		break;
	case EVENT_ACKED_SOME:
		acknowledge(p, 2, 0, 0);
		break;
	case EVENT_ACKED_ALL:
		acknowledge(p, MESSAGES, 0, 0);
		break;
	case EVENT_OVERTAKEN:
		p->card = NIC_FULL;
		acknowledge(p, 0, 7, 0);
		break;
	case EVENT_REFUSED:
		p->card = NIC_FULL;
		acknowledge(p, 0, 0, 1);
		break;
	case EVENT_TIMEOUT:
		p->card = NIC_FULL;
		probe_pass(p, 100 * MS);
		CHECK(link_counter(p->link, LINK_TIMEOUTS) > 0);
		break;
	case EVENT_RESENT:
		p->card = NIC_OK;
		link_tick(p->link, p->now);
		break;
	case EVENT_UNREADABLE:
		p->cannot = 1;
		p->card = NIC_OK;
		link_tick(p->link, p->now);      /* lost frames leave, if there are any */
		send_some(p, 1);
		break;
	case EVENT_TICK:
		link_tick(p->link, p->now);
		break;
	case EVENT_TRIES:
		probe_pass(p, 10000 * MS);
		break;
	case EVENT_RENEWED:
		link_ended(p->link, p->now, PEER, PEER_LIFE + 1);
		break;
	}
}

static void reach(struct probe *p, enum flow_state state)
{
	if (state != FLOW_IDLE)
		send_some(p, MESSAGES);
	if (state == FLOW_REPAIR)
		happen(p, EVENT_OVERTAKEN);
	if (state == FLOW_ENDING)
		happen(p, EVENT_UNREADABLE);
	CHECK_IS(state_of(p), state);
}

static void walk(enum flow_state from, enum event event, enum flow_state to, const char *what)
{
	struct probe p;

	probe_open(&p);
	p.config.tries = TRIES;
	probe_start(&p);
	reach(&p, from);
	happen(&p, event);
	if (state_of(&p) != to)
		check_failed(what, to, states[state_of(&p)]);
	link_ended(p.link, p.now, PEER, 0);
	CHECK_IS(state_of(&p), FLOW_IDLE);
	probe_close(&p, 1);
}

TEST(link_keeps_to_the_table_of_states)
{
#define X(state, event, next, what) \
	walk(FLOW_##state, EVENT_##event, FLOW_##next, #state " " #event);
	FLOW_TRANSITIONS(X)
#undef X
}
