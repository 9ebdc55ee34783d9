/*
 * Flows: finding and making them, losing a peer, and the link's memory. A flow
 * is made when a node is first sent to or heard of; it is never given back, as its
 * numbers are what tells old frames from new ones. See link.h, records.h.
 */
#include "state.h"

#define LEAST_MTU  (WIRE_DATA + 64u)

struct link_config link_defaults(uint32_t node, uint32_t nodes, uint32_t incarnation)
{
	uint32_t records = nodes < 32 ? 64 : nodes < 1024 ? 2 * nodes : 2048;
	/* Each message that a card's ring holds may want an answer, which needs a record until
	 * it is acknowledged: with fewer, what comes is refused and has to come again. */
	uint32_t answers = records < 256 ? 256 : records;
	/* One flow may take half of these: several acknowledgements' worth. */
	uint32_t requests = records < 192 ? 192 : records;

	return (struct link_config){
		.node = node, .nodes = nodes, .incarnation = incarnation,
		.peers = (uint16_t)(nodes < 32000 ? nodes : 32000),
		.sends = (uint16_t)(requests + answers), .answers = (uint16_t)answers,
		.assemblies = (uint16_t)(2 * answers), .stashes = (uint16_t)records,
		.transmits = 160, .bundles = 64, .hold = 50000, .tries = 24, .ring = 256,
		.burst_bytes = 2u << 20,
		.ack_delay = 200000, .again_delay = 100000,
		.first_timeout = 20000000, .least_timeout = 2000000, .most_timeout = 200000000,
	};
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 63) & ~63ULL;
}

static int is_valid(const struct link_config *config)
{
	return config->nodes > 0 && config->nodes <= 0xffff && config->node < config->nodes &&
	       config->incarnation != 0 && config->peers > 0 && config->peers <= 32000 &&
	       config->answers > 0 && config->answers < config->sends &&
	       config->sends < NO_RECORD && config->assemblies > 0 &&
	       config->assemblies < NO_RECORD && config->stashes < NO_RECORD &&
	       config->bundles < NO_RECORD && config->transmits > 0 &&
	       config->transmits < NO_RECORD && config->tries > 0 &&
	       config->tries <= LINK_MOST_TRIES && config->ring > 0;
}

uint64_t link_bytes(const struct link_config *config)
{
	uint64_t flows = 2 * (uint64_t)config->peers;

	if (!is_valid(config))
		return 0;
	return rounded(sizeof(struct link)) + rounded(flows * sizeof(struct flow)) +
	       2 * rounded(config->peers * sizeof(uint16_t)) + rounded(flows * sizeof(uint16_t)) +
	       rounded(config->sends * sizeof(struct send)) +
	       rounded(config->assemblies * sizeof(struct assembly)) +
	       rounded(config->stashes * sizeof(struct stash)) +
	       rounded(config->transmits * sizeof(struct transmit)) +
	       rounded(config->bundles * sizeof(struct bundle)) +
	       (config->announce ? WIRE_MOST_PAYLOAD : 0);
}

/* Format a pool at `at`; returns where the next part begins. */
static uint8_t *pool(struct records *records, uint8_t *at, uint32_t bytes, uint16_t n)
{
	*records = (struct records){ .base = at, .bytes = bytes, .limit = n, .free = NO_RECORD };
	for (uint32_t i = n; i-- > 0;) {
		*(uint16_t *)record_at(records, i) = records->free;
		records->free = (uint16_t)i;
	}
	return at + rounded((uint64_t)bytes * n);
}

void flow_share_anew(struct link *link, uint16_t senders)
{
	uint32_t share;

	link->sharers = senders;
	share = link->config.ring / senders;
	link->share = share < 2 ? 2 :
		share > LINK_MOST_WINDOW ? LINK_MOST_WINDOW : (uint8_t)share;
}

struct link *link_open(void *memory, const struct link_config *config, struct nic *nic,
		       const struct link_user *user, void *context)
{
	uint32_t flows = 2 * (uint32_t)config->peers, burst;
	struct link *link = memory;
	uint8_t *at = memory;

	if (!is_valid(config) || nic->mtu < LEAST_MTU)
		return 0;
	*link = (struct link){ .config = *config, .nic = nic, .user = *user, .context = context,
			       .ready_first = NO_RECORD, .ready_last = NO_RECORD,
			       .due = LINK_NEVER };
	link->key = config->keyed ? link->config.key : 0;
	link->no_plain = config->keyed || config->check_payload;
	link->most_requests = config->sends - config->answers;
	link->plain_to = wire_address_word(0, nic->address[3]) |
		wire_get(nic->address, NIC_ADDRESS_BYTES) << 48;
	link->plain_here = link->plain_to | wire_address_word(config->node, nic->address[3]);
	link->plain_from = wire_get(nic->address, NIC_ADDRESS_BYTES) >> 16 |
		(uint64_t)(WIRE_ETHERTYPE >> 8 | (WIRE_ETHERTYPE & 0xff) << 8 |
			   WIRE_VERSION << 16 | WIRE_KIND_MSG << 24) << 32;
	link->first_timeout = units(config->first_timeout);
	link->least_timeout = units(config->least_timeout);
	link->most_timeout = units(config->most_timeout);
	link->ack_delay = units(config->ack_delay);
	flow_share(link);
	link->fragment = (nic->mtu - WIRE_DATA) & ~63u;
	if (link->fragment > WIRE_MOST_FRAGMENT)
		link->fragment = WIRE_MOST_FRAGMENT;
	burst = config->burst_bytes / link->fragment;
	link->most_burst = (uint8_t)(burst > LINK_MOST_WINDOW ? LINK_MOST_WINDOW :
				     burst < LINK_FIRST_WINDOW ? LINK_FIRST_WINDOW : burst);
	burst = link->most_burst * 3u / 4;
	link->most_unacked = (uint8_t)(burst < MOST_UNACKED ? burst : MOST_UNACKED);
	at += rounded(sizeof(struct link));
	link->flows = (struct flow *)at;
	at += rounded(flows * sizeof(struct flow));
	link->heads = (uint16_t *)at;
	at += rounded(config->peers * sizeof(uint16_t));
	link->chains = (uint16_t *)at;
	at += rounded(config->peers * sizeof(uint16_t));
	link->heap = (uint16_t *)at;
	at += rounded(flows * sizeof(uint16_t));
	for (uint32_t i = 0; i < config->peers; i++)
		link->heads[i] = NO_RECORD;
	at = pool(&link->sends, at, sizeof(struct send), config->sends);
	at = pool(&link->assemblies, at, sizeof(struct assembly), config->assemblies);
	at = pool(&link->stashes, at, sizeof(struct stash), config->stashes);
	at = pool(&link->transmits, at, sizeof(struct transmit), config->transmits);
	at = pool(&link->bundles, at, sizeof(struct bundle), config->bundles);
	bulk_open(link, at);
	return link;
}

/* Neighbouring ids have neighbouring places: chains are as short as can be. */
static uint16_t *chain(const struct link *link, uint32_t node)
{
	uint32_t peers = link->config.peers;

	return &link->heads[node < peers ? node : node % peers];
}

struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane)
{
	uint16_t index = *chain(link, node);

	while (index != NO_RECORD) {
		struct flow *flow = &link->flows[index];

		if (flow->node == node)
			return flow + lane;
		index = link->chains[index / LINK_LANES];
	}
	return 0;
}

/* A flow's numbers at the beginning of a conversation. */
static void start(struct flow *flow)
{
	flow->una = flow->next = flow->recover = 0;
	flow->expected = flow->begun = 0;
	flow->acked = flow->marked = flow->again = flow->arrived = flow->refused = 0;
	flow->head = flow->tail = flow->fresh = NO_RECORD;
	flow->assembly = flow->stash = NO_RECORD;
	flow->sends = 0;
	flow->tries = flow->stuck = flow->doomed = 0;
	flow->unacked = flow->taken = 0;
	flow->credit = flow->granted = LINK_FIRST_WINDOW;
	flow->burst = LINK_MOST_WINDOW;
	flow->flags &= FLOW_LANE | FLOW_READY | FLOW_MEASURED;
}

struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane)
{
	struct flow *flow = flow_find(link, node, lane);
	uint16_t *first = chain(link, node);

	if (flow)
		return flow;
	if (link->n_flows >= 2u * link->config.peers)
		return 0;
	for (uint32_t i = 0; i < LINK_LANES; i++) {
		flow = &link->flows[link->n_flows + i];
		*flow = (struct flow){ .node = (uint16_t)node, .heap_at = NO_RECORD,
				       .ready_next = NO_RECORD, .flags = i ? FLOW_LANE : 0,
				       .mine = link->config.incarnation,
				       .epoch = (uint8_t)(link->epoch - 2) };
		start(flow);
	}
	link->chains[link->n_flows / LINK_LANES] = *first;
	*first = link->n_flows;
	link->n_flows += LINK_LANES;
	return &link->flows[*first + lane];
}

void flow_lose(struct link *link, uint32_t node, int bump, uint32_t theirs)
{
	uint32_t assembly[LINK_LANES], stash[LINK_LANES], send[LINK_LANES];
	struct flow *pair = flow_find(link, node, LINK_REQUESTS);

	/* First both lanes start anew: what the user sends from within the calls up
	 * belongs to the time after. */
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		struct flow *flow = pair + lane;

		bulk_lose(link, flow);
		bundle_leave(link, flow);
		assembly[lane] = flow->assembly;
		stash[lane] = flow->stash;
		send[lane] = flow->head;
		timer_cancel(link, flow);
		link->doomed -= flow->doomed;
		start(flow);
		flow->mine += !!bump;
		flow->mine += flow->mine == 0;
		if (theirs)
			flow->theirs = theirs;
	}
	count(link, LINK_LOST);
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		assemble_lose(link, assembly[lane], stash[lane]);
		while (send[lane] != NO_RECORD) {
			struct send *message = record_at(&link->sends, send[lane]);
			uint32_t next = message->next;

			send_end(link, send[lane], 1);
			send[lane] = next;
		}
	}
	link->user.lost(link->context, node);
}

void link_give_up(struct link *link, uint64_t now, uint32_t node)
{
	if (flow_find(link, node, LINK_REQUESTS)) {
		flow_lose(link, node, 1, 0);
		bulk_run(link, now);
		send_pump(link, now);
	}
}

void link_renewed(struct link *link, uint64_t now, uint32_t node, uint32_t incarnation)
{
	const struct flow *flow = flow_find(link, node, LINK_REQUESTS);

	if (flow && (!flow->theirs || is_before(flow->theirs, incarnation))) {
		flow_lose(link, node, 0, incarnation);
		bulk_run(link, now);
		send_pump(link, now);
	}
}

uint64_t link_counter(const struct link *link, enum link_counter counter)
{
	return link->counters[counter];
}

int link_reserve(struct link *link, uint32_t node)
{
	if (!link_has_room(link, node, LINK_ANSWERS)) {
		count(link, LINK_NO_RECORD);
		return 0;
	}
	link->reserved++;
	return 1;
}

void link_unreserve(struct link *link)
{
	link->reserved--;
}

uint32_t link_peer_bytes(const struct link *link, uint32_t node)
{
	return flow_find(link, node, LINK_REQUESTS) ? PEER_BYTES : 0;
}

uint32_t link_sends_to(const struct link *link, uint32_t node, enum link_lane lane)
{
	const struct flow *flow = flow_find(link, node, lane);

	return flow ? flow->sends : 0;
}

uint32_t link_sends_used(const struct link *link)
{
	return link->sends.used;
}

uint32_t link_records_used(const struct link *link)
{
	return (uint32_t)link->sends.used + link->assemblies.used + link->stashes.used +
	       link->transmits.used + link->bundles.used;
}

uint32_t link_pool_high(const struct link *link, enum link_pool pool)
{
	switch (pool) {
	case LINK_POOL_SENDS:
		return link->sends.high;
	case LINK_POOL_ASSEMBLIES:
		return link->assemblies.high;
	case LINK_POOL_STASHES:
		return link->stashes.high;
	}
	return 0;
}
