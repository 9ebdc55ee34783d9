/*
 * Engines over a simulated network: see fabric.h. The port of net/frames for Linux: its clock is
 * simulated time, and its lock is empty, as there is one thread.
 */
#include "fabric.h"
#include <stdlib.h>

#define WAIT_NS  60000000000ull    /* simulated ns until an operation without room fails */

uint64_t frames_port_now(void *context)
{
	return netsim_now(((struct fabric_node *)context)->fabric->sim);
}

int frames_port_lock(void *context)
{
	(void)context;
	return 1;
}

void frames_port_unlock(void *context)
{
	(void)context;
}

void frames_port_upcall(void *context)
{
	(void)context;
}

void frames_port_lost(void *context, uint32_t node)
{
	(void)context, (void)node;
}

static uint64_t deadline(void *context)
{
	return frames_next_poll(((struct fabric_node *)context)->frames, 0).at;
}

/* The simulated cards hand up frames by themselves. */
static void tick(void *context, uint64_t now)
{
	(void)now;
	frames_poll(((struct fabric_node *)context)->frames, 1);
}

void fabric_revive(struct fabric *fabric, uint32_t node)
{
	struct fabric_node *n = &fabric->nodes[node];
	struct netsim_node user = { n, deadline, tick };
	struct link_config config = fabric->config;

	config.node = node;
	config.incarnation += 256 * n->lives;
	config.strict = n->lives > 0;
	n->lives++;
	n->memory = aligned_alloc(64, frames_bytes(&config, &n->view->limits));
	n->frames = frames_open(n->memory, &config, netsim_nic(fabric->sim, node),
				config.announce ? netsim_bulk(fabric->sim, node) : 0, n->view, n);
	netsim_join(fabric->sim, node, &user);
}

void fabric_kill(struct fabric *fabric, uint32_t node)
{
	netsim_leave(fabric->sim, node);
	free(fabric->nodes[node].memory);
	fabric->nodes[node].memory = 0;
	fabric->nodes[node].frames = 0;
}

void fabric_open(struct fabric *fabric, struct process_view *views, uint32_t n,
		 const struct netsim_config *network, const struct link_config *config)
{
	*fabric = (struct fabric){ .n = n, .sim = netsim_open(network) };
	fabric->config = config ? *config : link_defaults(0, n, 1000);
	fabric->nodes = calloc(n, sizeof(*fabric->nodes));
	for (uint32_t i = 0; i < n; i++) {
		fabric->nodes[i].fabric = fabric;
		fabric->nodes[i].view = &views[i];
		fabric_revive(fabric, i);
	}
}

uint32_t fabric_close(struct fabric *fabric)
{
	uint32_t used = 0;

	fabric_settle(fabric, WAIT_NS);
	for (uint32_t i = 0; i < fabric->n; i++) {
		struct fabric_node *n = &fabric->nodes[i];

		if (n->frames)
			used += frames_pending(n->frames) + frames_figures(n->frames).link.records;
		free(n->memory);
	}
	netsim_close(fabric->sim);
	free(fabric->nodes);
	return used;
}

int fabric_step(struct fabric *fabric)
{
	return netsim_step(fabric->sim) >= 0;
}

int fabric_settle(struct fabric *fabric, uint64_t most)
{
	uint64_t until = netsim_now(fabric->sim) + most;

	while (fabric_step(fabric))
		if (netsim_now(fabric->sim) > until)
			return 0;
	return 1;
}

int fabric_start(struct fabric *fabric, uint32_t from, const struct initiator_args *args)
{
	uint64_t until = netsim_now(fabric->sim) + WAIT_NS;
	struct frames *frames = fabric->nodes[from].frames;
	int result = PORTALS_OK;
	uint64_t due;

	/* As the kernel does it: the fast path first. */
	if (frames_fast_put(frames, args, &due) == FRAMES_OTHER)
		result = frames_start(frames, args);
	netsim_deadline_changed(fabric->sim, from);
	while (result == FRAMES_AGAIN) {
		if (!fabric_step(fabric) || netsim_now(fabric->sim) > until)
			return PORTALS_NO_SPACE;
		result = frames_start(frames, args);
		netsim_deadline_changed(fabric->sim, from);
	}
	return result;
}

int fabric_get(struct fabric *fabric, uint32_t from, const struct initiator_args *args)
{
	struct initiator_args get = *args;

	get.operation = MESSAGE_GET;
	return fabric_start(fabric, from, &get);
}
