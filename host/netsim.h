/*
 * A simulated network with simulated time: cards (net/nic.h) of many nodes in
 * one Linux process, joined by a switch that loses, repeats, reorders, damages
 * and delays frames by a seed. The same seed and the same calls give the same
 * run. One thread.
 *
 * Each card sends at the network's bandwidth, and completes a send when its last bit has left; the
 * frame is read from the sender's memory only then. The switch forwards it to the receiver's port,
 * after frames that wait there. A frame that finds the port's queue full is lost. A port may stop
 * reading for a while.
 *
 * Each node has a bulk card too (net/nic.h), which sends likewise. Frames to it wait in order until
 * there is a buffer, are written, and are reported a little later.
 */
#ifndef HOST_NETSIM_H
#define HOST_NETSIM_H
#include "../net/nic.h"

#define NETSIM_NEVER (~0ULL)

struct netsim_config {
	uint32_t nodes;
	uint64_t seed;
	uint64_t start;            /* ns: start of simulated time */
	/* per million frames */
	uint32_t loss, duplicate, reorder, damage, delay;
	uint32_t cut;              /* per million stretches of cut_ns: with a pair's link cut */
	uint64_t cut_ns;
	uint32_t stop;             /* per million stretches of stop_ns (less than all) in which a
	                              node's port reads nothing; frames wait in its queue, in
	                              order */
	uint64_t stop_ns;
	uint64_t latency_ns;       /* ns of each hop */
	uint64_t delay_ns;         /* longest delay of a delayed frame */
	uint64_t bytes_per_s;      /* of each link */
	uint32_t queue_bytes;      /* bytes that may wait at one port of the switch */
	uint32_t mtu;
	uint32_t ring;             /* receive ring that an ordinary card states; it has no other
	                              effect */
};

/* 10 us, 1 GB/s, no faults. */
struct netsim_config netsim_defaults(uint32_t nodes, uint64_t seed);

/* The node behind a card. */
struct netsim_node {
	void *context;
	uint64_t (*deadline)(void *context);
	void (*tick)(void *context, uint64_t now);
};

enum netsim_counter {
	NETSIM_SENT, NETSIM_DELIVERED, NETSIM_LOST, NETSIM_DUPLICATED, NETSIM_REORDERED,
	NETSIM_DAMAGED, NETSIM_DELAYED, NETSIM_CUT, NETSIM_STOPPED, NETSIM_OVERFLOW,
	NETSIM_COUNTERS
};

struct netsim;

struct netsim *netsim_open(const struct netsim_config *config);
/* Also frees frames under way; calls no callback. */
void netsim_close(struct netsim *sim);

/* A node's card; receive, sent and context are the caller's to set. */
struct nic *netsim_nic(struct netsim *sim, uint32_t node);
/* Its bulk card; landed and context are the caller's to set. */
struct nic *netsim_bulk(struct netsim *sim, uint32_t node);
/* The bulk card drops its buffers by itself, and reports it. */
void netsim_bulk_reset(struct netsim *sim, uint32_t node);
void netsim_join(struct netsim *sim, uint32_t node, const struct netsim_node *user);
/* The node is switched off: its card's unsent and uncompleted frames are dropped. */
void netsim_leave(struct netsim *sim, uint32_t node);

/* Simulates the next event: returns its node, or -1 if there is none. */
int netsim_step(struct netsim *sim);
uint64_t netsim_now(const struct netsim *sim);
/* The node's deadline may have become earlier. */
void netsim_deadline_changed(struct netsim *sim, uint32_t node);

/* Frames from a to b are lost (on: from now on; off: no longer). */
void netsim_cut(struct netsim *sim, uint32_t a, uint32_t b, int on);
/* Shows each frame that a card has sent, before any fault. */
typedef void netsim_watcher(void *context, uint64_t now, const uint8_t *frame, uint32_t bytes);
void netsim_watch(struct netsim *sim, netsim_watcher *watcher, void *context);
/* Injects a frame on its way to a node's card, as if it had been sent. */
void netsim_inject(struct netsim *sim, uint32_t node, const void *frame, uint32_t bytes);

uint64_t netsim_counter(const struct netsim *sim, enum netsim_counter counter);
/* Frames, completions and timers: the most that were under way at once. */
uint32_t netsim_most_events(const struct netsim *sim);
uint64_t netsim_random(uint64_t *state);

#endif
