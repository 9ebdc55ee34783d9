/*
 * Many engines with links in one Linux process, over a simulated network: node
 * i's process is view i. The counterpart of loop.h for frames. One thread.
 */
#ifndef HOST_FABRIC_H
#define HOST_FABRIC_H
#include "../net/frames/frames.h"
#include "netsim.h"

struct fabric;

struct fabric_node {
	struct fabric *fabric;
	struct process_view *view;
	struct frames *frames;     /* null while the node is dead */
	void *memory;
	uint32_t lives;
};

struct fabric {
	struct netsim *sim;
	struct link_config config; /* of all nodes, except node and incarnation */
	struct fabric_node *nodes;
	uint32_t n;
};

/* Joins the views (their nids are 0 ... n - 1) by a network. `config`: null for suitable defaults.
 * If it announces messages, all have bulk cards. */
void fabric_open(struct fabric *fabric, struct process_view *views, uint32_t n,
		 const struct netsim_config *network, const struct link_config *config);
/* Waits until everything has ended, then frees. Returns records still in use. */
uint32_t fabric_close(struct fabric *fabric);

/* Starts an operation of node `from`, after waiting until there is room for it. 0 or an enum
 * portals_error. Events report its end: fabric_settle waits for it. */
int fabric_start(struct fabric *fabric, uint32_t from, const struct initiator_args *args);

/* The same with MESSAGE_GET as the operation. */
int fabric_get(struct fabric *fabric, uint32_t from, const struct initiator_args *args);

/* Simulates the next event; 0: there is none. */
int fabric_step(struct fabric *fabric);
/* Simulates until nothing is under way; 0 if that takes more than `most` simulated ns. */
int fabric_settle(struct fabric *fabric, uint64_t most);

/* A node dies; it comes back with a newer incarnation (its block is the caller's). */
void fabric_kill(struct fabric *fabric, uint32_t node);
void fabric_revive(struct fabric *fabric, uint32_t node);

#endif
