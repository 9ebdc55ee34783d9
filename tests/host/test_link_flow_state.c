/*
 * The states of a flow: each event in each state leads where the table in net/link/flow_state.h
 * says. An event without a row for a state keeps that state.
 */
#include "../../net/link/internal.h"
#include "link_probe.h"
#include <stdio.h>

#define PEER     1u
#define MESSAGES 7u
#define TRIES    3u

#define EVENTS(X) \
	X(SEND) X(ACKED_SOME) X(ACKED_LOST) X(ACKED_ALL) X(OVERTAKEN) X(REFUSED) X(TIMEOUT) \
	X(RESET) X(RESENT) X(UNREADABLE) X(TICK) X(TRIES) X(RENEWED)

enum event {
#define X(event) EVENT_##event,
	EVENTS(X)
#undef X
	N_EVENTS
};

static const char *const events[] = {
#define X(event) #event,
	EVENTS(X)
#undef X
};

static const char *const states[] = {
#define X(state, when) #state,
	FLOW_STATES(X)
#undef X
};

#define N_STATES (sizeof(states) / sizeof(*states))

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
	case EVENT_ACKED_LOST:                   /* all that reach() marks lost, and not the last */
		acknowledge(p, MESSAGES - 1, 0, 0);
		break;
	case EVENT_ACKED_ALL:
		acknowledge(p, MESSAGES, 0, 0);
		break;
	case EVENT_OVERTAKEN:
		p->card = NIC_FULL;
		acknowledge(p, 0, 0x3a, 0);      /* frames 1, 3, 4 and 5: 0 and 2 are lost */
		break;
	case EVENT_REFUSED:
		p->card = NIC_FULL;
		acknowledge(p, 0, 0, 1);
		break;
	case EVENT_TIMEOUT:
		p->card = NIC_FULL;
		probe_pass(p, 100 * MS);
		break;
	case EVENT_RESET:
		p->card = NIC_FULL;
		probe_give(p, PEER, &(struct wire){ .kind = WIRE_KIND_RESET, .source = PEER_LIFE,
						    .destination = PROBE_LIFE }, 0);
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
	case N_EVENTS:
		break;
	}
}

/* Until a frame of the peer comes, its incarnation is unknown. */
static void reach(struct probe *p, enum flow_state state, enum event event)
{
	if (state != FLOW_IDLE)
		send_some(p, MESSAGES);
	if (state == FLOW_REPAIR)
		happen(p, event == EVENT_RESET ? EVENT_TIMEOUT : EVENT_OVERTAKEN);
	if (state == FLOW_ENDING)
		happen(p, EVENT_UNREADABLE);
	CHECK_IS(state_of(p), state);
}

/* In ENDING the first tick comes before the events that need one. In IDLE nothing can be shown. */
static int is_possible(enum flow_state state, enum event event)
{
	if (event == EVENT_UNREADABLE)
		return state == FLOW_OPEN || state == FLOW_REPAIR;
	return state != FLOW_ENDING ||
	       (event != EVENT_TIMEOUT && event != EVENT_RESENT && event != EVENT_TRIES);
}

static void walk(enum flow_state from, enum event event, enum flow_state to)
{
	char what[64];
	struct probe p;

	probe_open(&p);
	p.config.tries = TRIES;
	probe_start(&p);
	reach(&p, from, event);
	happen(&p, event);
	snprintf(what, sizeof(what), "%s %s", states[from], events[event]);
	if (state_of(&p) != to)
		check_failed(what, to, states[state_of(&p)]);
	link_ended(p.link, p.now, PEER, 0);
	CHECK_IS(state_of(&p), FLOW_IDLE);
	probe_close(&p, 1);
}

TEST(link_keeps_to_the_table_of_states)
{
	enum flow_state next_of[N_STATES][N_EVENTS];

	for (uint32_t state = 0; state < N_STATES; state++)
		for (uint32_t event = 0; event < N_EVENTS; event++)
			next_of[state][event] = state;
#define X(state, event, next, what) \
	CHECK(is_possible(FLOW_##state, EVENT_##event)); \
	next_of[FLOW_##state][EVENT_##event] = FLOW_##next;
	FLOW_TRANSITIONS(X)
#undef X
	for (uint32_t state = 0; state < N_STATES; state++)
		for (uint32_t event = 0; event < N_EVENTS; event++)
			if (is_possible(state, event))
				walk(state, event, next_of[state][event]);
}
