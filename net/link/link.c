/*
 * The link as a whole: its memory, its configuration, and figures about it.
 */
#include "internal.h"

#define LEAST_MTU  (WIRE_DATA + 64u)
#define US 1000u                   /* ns */
#define MS 1000000u                /* ns */

struct link_config link_defaults(uint32_t node, uint32_t nodes, uint32_t incarnation)
{
	/* More nodes may send at once, so pools grow with the job, up to a limit. */
	uint32_t records = nodes < 32 ? 64 : nodes < 1024 ? 2 * nodes : 2048;
	/* Each message in a card's ring (256 frames) may need an answer, whose record is in use
	 * until it is acknowledged. With fewer records, arriving messages would be refused. */
	uint32_t answers = records < 256 ? 256 : records;
	/* One flow may use half of these: that is enough for several acknowledgements in a
	 * window. */
	uint32_t requests = records < 192 ? 192 : records;

	return (struct link_config){
		.node = node, .nodes = nodes, .incarnation = incarnation,
		.peers = (uint16_t)(nodes < NO_RECORD ? nodes : NO_RECORD),
		.sends = (uint16_t)(requests + answers), .answers = (uint16_t)answers,
		.assemblies = (uint16_t)(2 * answers), .stashes = (uint16_t)records,
		.transmits = 160, .batches = 64, .ring = 256, .window_bytes = 2u << 20,
		.tries = 24,
		.batch_delay = 50 * US, .ack_delay = 200 * US, .again_delay = 100 * US,
		.first_timeout = 20 * MS, .least_timeout = 2 * MS, .most_timeout = 200 * MS,
	};
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 63) & ~63ULL;
}

static int is_valid(const struct link_config *config)
{
	return config->nodes > 0 && config->nodes <= 0xffff && config->node < config->nodes &&
	       config->incarnation != 0 && config->peers > 0 &&
	       config->answers > 0 && config->answers < config->sends &&
	       config->sends < NO_RECORD && config->assemblies > 0 &&
	       config->assemblies < NO_RECORD && config->stashes < NO_RECORD &&
	       config->batches < NO_RECORD && config->transmits > 0 &&
	       config->transmits < NO_RECORD && config->tries > 0 &&
	       config->tries <= LINK_MOST_TRIES && config->ring > 0;
}

uint64_t link_bytes(const struct link_config *config)
{
	uint64_t flows = 2 * (uint64_t)config->peers;

	if (!is_valid(config))
		return 0;
	return rounded(sizeof(struct link)) + rounded(flows * sizeof(struct flow)) +
	       2 * rounded(config->peers * sizeof(uint16_t)) + rounded(flows * sizeof(uint32_t)) +
	       rounded(config->sends * sizeof(struct send)) +
	       rounded(config->assemblies * sizeof(struct assembly)) +
	       rounded(config->stashes * sizeof(struct stash)) +
	       rounded(config->transmits * sizeof(struct transmit)) +
	       rounded(config->batches * sizeof(struct batch)) +
	       (config->announce ? WIRE_MOST_PAYLOAD : 0);
}

/* Make a pool of `n` free records at `at`; returns the address behind it. */
static uint8_t *pool(struct record_pool *records, uint8_t *at, uint32_t bytes, uint16_t n)
{
	*records = (struct record_pool){ .base = at, .bytes = bytes, .limit = n, .free = NO_RECORD };
	for (uint32_t i = n; i-- > 0;) {
		*(uint16_t *)record_at(records, i) = records->free;
		records->free = (uint16_t)i;
	}
	return at + rounded((uint64_t)bytes * n);
}

struct link *link_open(void *memory, const struct link_config *config, struct nic *nic,
		       void *context)
{
	uint32_t flows = 2 * (uint32_t)config->peers, burst;
	struct link *link = memory;
	uint8_t *at = memory;

	if (!is_valid(config) || nic->mtu < LEAST_MTU)
		return 0;
	*link = (struct link){ .config = *config, .nic = nic, .context = context,
			       .ready_first = NO_FLOW, .ready_last = NO_FLOW,
			       .due = LINK_NEVER };
	link->key = config->keyed ? link->config.key : 0;
	link->most_requests = config->sends - config->answers;
	link->prefix = wire_fast_prefix(nic->address, config->node,
					config->keyed ? WIRE_SIGNED : WIRE_VERSION);
	link->guards = config->keyed || config->check_payload;
	link->config.check_payload &= !config->keyed; /* the tag covers the payload, too */
	link->first_timeout = units(config->first_timeout);
	link->least_timeout = units(config->least_timeout);
	link->most_timeout = units(config->most_timeout);
	link->ack_delay = units(config->ack_delay);
	flow_share(link);
	link->fragment = (nic->mtu - WIRE_DATA) & ~63u;
	if (link->fragment > WIRE_MOST_FRAGMENT)
		link->fragment = WIRE_MOST_FRAGMENT;
	burst = config->window_bytes / link->fragment;
	link->long_window = (uint8_t)(burst > LINK_MOST_WINDOW ? LINK_MOST_WINDOW :
				     burst < LINK_FIRST_WINDOW ? LINK_FIRST_WINDOW : burst);
	burst = link->long_window * 3u / 4;
	link->most_unacked = (uint8_t)(burst < MOST_UNACKED ? burst : MOST_UNACKED);
	at += rounded(sizeof(struct link));
	link->flows = (struct flow *)at;
	at += rounded(flows * sizeof(struct flow));
	link->heads = (uint16_t *)at;
	at += rounded(config->peers * sizeof(uint16_t));
	link->chains = (uint16_t *)at;
	at += rounded(config->peers * sizeof(uint16_t));
	link->heap = (uint32_t *)at;
	at += rounded(flows * sizeof(uint32_t));
	for (uint32_t i = 0; i < config->peers; i++)
		link->heads[i] = NO_RECORD;
	at = pool(&link->sends, at, sizeof(struct send), config->sends);
	at = pool(&link->assemblies, at, sizeof(struct assembly), config->assemblies);
	at = pool(&link->stashes, at, sizeof(struct stash), config->stashes);
	at = pool(&link->transmits, at, sizeof(struct transmit), config->transmits);
	at = pool(&link->batches, at, sizeof(struct batch), config->batches);
	bulk_open(link, at);
	return link;
}

uint64_t link_counter(const struct link *link, enum link_counter counter)
{
	return link->counters[counter];
}

uint32_t link_peer_bytes(const struct link *link, uint32_t node)
{
	return flow_find(link, node, LINK_REQUESTS) ? PEER_BYTES : 0;
}

uint32_t link_records_used(const struct link *link)
{
	return (uint32_t)link->sends.used + link->assemblies.used + link->stashes.used +
	       link->transmits.used + link->batches.used;
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
