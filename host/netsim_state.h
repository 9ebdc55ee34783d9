/*
 * The simulated network, inside: see netsim.h. Private to host/netsim*.c.
 */
#ifndef HOST_NETSIM_STATE_H
#define HOST_NETSIM_STATE_H
#include "netsim.h"

#define BULK_RING  64u             /* receive buffers that a bulk card holds */
#define BACKLOG    256u            /* frames that wait for a buffer */

enum event_kind { LEAVES, ARRIVES, TIMER, LANDS, REPORTS };

struct event {
	uint64_t time, order;      /* ordered by time, then by creation */
	enum event_kind kind;
	uint32_t node;
	uint32_t life;             /* LEAVES: of the node that sends; REPORTS: of the buffers */
	uint32_t card;             /* LEAVES, ARRIVES: 1: the bulk card */
	uint64_t cookie;           /* LEAVES */
	uint32_t pieces;           /* LEAVES */
	uint32_t bytes;            /* of the frame */
	struct nic_piece piece[NIC_PIECES];
	uint8_t *frame;            /* ARRIVES */
};

struct card {
	struct nic nic;            /* first: a nic is its card */
	struct netsim *sim;
	struct netsim_node user;
	uint32_t node;
	uint32_t life;             /* counts netsim_leave */
	struct sending {
		uint32_t waiting;  /* sends not yet complete */
		uint64_t out_free; /* when the last bit of the last send leaves */
	} sending[2];              /* of the card and the bulk card */
	uint64_t in_free;          /* when the last bit to this node has arrived */
	uint64_t timer;            /* the earliest of its events, or NETSIM_NEVER */
	uint8_t *cut;              /* per destination: 1: frames are lost */
};

struct waiting_frame {
	uint8_t *bytes;
	uint32_t n;
};

struct bulk_card {
	struct nic nic;            /* first */
	struct netsim *sim;
	uint32_t node;
	uint32_t life;             /* counts withdraw */
	struct receive_buffer {
		struct nic_piece piece[NIC_BULK_PIECES];
		uint32_t pieces;   /* number of pieces, at least 1 */
		uint8_t header[NIC_BULK_HEADER];
		uint32_t bytes;    /* of the frame that is in it */
	} buffers[BULK_RING];
	uint32_t posted, written, reported; /* buffers so far */
	struct waiting_frame backlog[BACKLOG];
	uint32_t waits;            /* frames in it */
	int woken;                 /* a LANDS event is under way */
};

struct netsim {
	struct netsim_config config;
	uint64_t now, order, dice;
	struct card *cards;
	struct bulk_card *bulk;
	struct event **heap;
	uint32_t n, capacity;      /* events in the heap, and its capacity */
	uint32_t most;             /* most events that were in it at once */
	netsim_watcher *watcher;   /* or null */
	void *watching;            /* its context */
	uint64_t counters[NETSIM_COUNTERS];
};

/* ---- netsim.c ---- */

/* Schedules a copy of this event. */
void netsim_schedule(struct netsim *sim, const struct event *what);
/* A send of this node's card, or (which: 1) of its bulk card. */
int netsim_send(struct card *card, uint32_t which, struct nic *nic, const struct nic_piece *pieces,
		uint32_t n, uint64_t cookie);
uint32_t netsim_poll(struct nic *nic, uint32_t budget);
void netsim_interrupts(struct nic *nic, int on);
void netsim_close_card(struct nic *nic);

/* ---- netsim_bulk.c ---- */

extern const struct nic_ops netsim_bulk_ops;

/* A frame has come: takes the event's bytes, unless there is no space for them. */
void netsim_bulk_arrives(struct bulk_card *card, struct event *event);
/* Writes waiting frames into posted buffers. */
void netsim_bulk_land(struct bulk_card *card);
/* Reports the next written buffer. */
void netsim_bulk_report(struct bulk_card *card);

#endif
