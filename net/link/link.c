/*
 * The link as a whole: its memory, its configuration, and figures about it.
 */
#include "internal.h"

#define LEAST_MTU  (WIRE_DATA + LINK_ROOM_BYTES)  /* payload in a record goes in one frame */

/* The defaults. docs/measurements.md, "What each mechanism of the link gives", has the effect of
 * the window. */
#define RING           256u        /* frames: the receive ring of every card here */
#define LEAST_RECORDS  64u         /* of a small job; from 32 nodes on two for each node */
#define MOST_RECORDS   2048u
#define LEAST_REQUESTS 192u        /* one flow may use half of them: enough for several
                                      acknowledgements in a window */
#define TRANSMITS      160u        /* fewer than RING: the header of a message's first frame is in
                                      the message's record. Without a free one a frame waits for
                                      the card */
#define BATCHES        64u         /* without a free one a short message is sent by itself */
#define WINDOW_BYTES   (2u << 20)  /* more would overrun cards that lose what finds no room */
#define TRIES          24u         /* about four seconds: a busy host may stop a living node */

struct link_config link_defaults(uint32_t node, uint32_t nodes, uint32_t incarnation)
{
	/* More nodes may send at once, so pools grow with the job, up to a limit. */
	uint32_t records = nodes < LEAST_RECORDS / 2 ? LEAST_RECORDS :
			   nodes < MOST_RECORDS / 2 ? 2 * nodes : MOST_RECORDS;
	/* Each message in a card's ring may need an answer. An answer keeps its record until it is
	 * acknowledged. With fewer records, arriving messages would be refused. */
	uint32_t answers = records < RING ? RING : records;
	uint32_t requests = records < LEAST_REQUESTS ? LEAST_REQUESTS : records;

	return (struct link_config){
		.node = node, .nodes = nodes, .incarnation = incarnation,
		.sends = (uint16_t)(requests + answers), .answers = (uint16_t)answers,
		.assemblies = (uint16_t)(2 * answers), .stashes = (uint16_t)records,
		.transmits = TRANSMITS, .batches = BATCHES,
		.window_bytes = WINDOW_BYTES, .tries = TRIES,
	};
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 63) & ~63ULL;
}

static int is_valid(const struct link_config *config)
{
	return config->nodes > 0 && config->nodes <= 0xffff && config->node < config->nodes &&
	       config->incarnation != 0 &&
	       config->answers > 0 && config->answers < config->sends &&
	       config->sends < NO_RECORD && config->assemblies > 0 &&
	       config->assemblies < NO_RECORD && config->stashes < NO_RECORD &&
	       config->batches < NO_RECORD && config->transmits > 0 &&
	       config->transmits < NO_RECORD && config->tries > 0 &&
	       config->tries <= LINK_MOST_TRIES;
}

uint64_t link_bytes(const struct link_config *config)
{
	uint64_t flows = LINK_LANES * (uint64_t)config->nodes;

	if (!is_valid(config))
		return 0;
	return rounded(sizeof(struct link)) + rounded(flows * sizeof(struct flow)) +
	       rounded(config->nodes * sizeof(uint16_t)) +
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
		       struct nic *bulk, void *context)
{
	uint32_t flows = LINK_LANES * config->nodes, burst;
	struct link *link = memory;
	uint8_t *at = memory;

	if (!is_valid(config) || nic->mtu < LEAST_MTU)
		return 0;
	*link = (struct link){ .config = *config, .nic = nic, .context = context,
			       .ready_first = NO_FLOW, .ready_last = NO_FLOW,
			       .timed = NO_FLOW };
	link->key = config->keyed ? link->config.key : 0;
	link->most_requests = config->sends - config->answers;
	link->prefix = wire_fast_prefix(nic->address, config->node,
					config->keyed ? WIRE_SIGNED : WIRE_VERSION);
	link->guards = config->keyed || config->check_payload;
	flow_share(link, 1);
	link->fragment = (nic->mtu - WIRE_DATA) & ~63u;
	if (link->fragment > WIRE_MOST_FRAGMENT)
		link->fragment = WIRE_MOST_FRAGMENT;
	burst = config->window_bytes / link->fragment;
	link->long_window = (uint8_t)(burst > LINK_MOST_WINDOW ? LINK_MOST_WINDOW :
				     burst < LINK_FIRST_WINDOW ? LINK_FIRST_WINDOW : burst);
	link->most_unacked = (uint8_t)(link->long_window * 3u / 4);
	at += rounded(sizeof(struct link));
	link->flows = (struct flow *)at;
	at += rounded(flows * sizeof(struct flow));
	link->peers = (uint16_t *)at;
	at += rounded(config->nodes * sizeof(uint16_t));
	for (uint32_t i = 0; i < config->nodes; i++)
		link->peers[i] = NO_RECORD;
	at = pool(&link->sends, at, sizeof(struct send), config->sends);
	at = pool(&link->assemblies, at, sizeof(struct assembly), config->assemblies);
	at = pool(&link->stashes, at, sizeof(struct stash), config->stashes);
	at = pool(&link->transmits, at, sizeof(struct transmit), config->transmits);
	at = pool(&link->batches, at, sizeof(struct batch), config->batches);
	bulk_open(link, config->announce ? bulk : 0, at);
	return link;
}

struct link_figures link_figures(const struct link *link)
{
	struct link_figures figures = {
		.peer_bytes = (uint64_t)link->n_flows / LINK_LANES * PEER_BYTES,
		.records = (uint32_t)link->sends.used + link->assemblies.used + link->stashes.used +
		           link->transmits.used + link->batches.used,
		.sends = link->sends.used,
		.sends_high = link->sends.high,
		.parts_high = link->assemblies.high,
		.early_high = link->stashes.high,
	};

	for (uint32_t i = 0; i < LINK_COUNTERS_END; i++)
		figures.counters[i] = link->counters[i];
	return figures;
}
