/*
 * Traffic over links in a simulated network, and checks of what arrives: every message arrives at
 * most once, in order of its pair and lane, with the right bytes, and exactly once if its sender
 * got a completion. Used by tests of the link and by the program that runs long simulations
 * (tests/netsim).
 */
#ifndef TESTS_TRAFFIC_H
#define TESTS_TRAFFIC_H
#include "../../host/netsim.h"
#include "../../net/link/link.h"
#include "link_users.h"

#define TRAFFIC_PATTERN  (1u << 20)   /* bytes from which all payload is taken */
#define TRAFFIC_LONGEST  (TRAFFIC_PATTERN / 2)  /* bytes of a message */

struct traffic_config {
	uint32_t nodes;
	uint32_t messages;         /* in total */
	uint64_t seed;
	uint32_t longest;          /* payload bytes, at most half of the pattern */
	uint32_t fixed;            /* payload bytes of every message, if not 0 */
	uint32_t longer;           /* per million messages: more than LINK_WHOLE_BYTES */
	uint32_t busy;             /* per million messages: the receiver says LINK_BUSY */
	uint32_t dropped;          /* per million messages in several frames or parts: the receiver
	                              drops it */
	uint32_t headers;          /* per million of these: it wants no payload */
	uint32_t answers;          /* per million messages: on the lane of answers */
	uint32_t fast;             /* per million short requests: by link_fast_room, where it has room */
	uint32_t keyed;            /* 1: frames carry tags */
	uint32_t strangers;        /* the last nodes: no traffic; tests send in their names */
	uint32_t announce;         /* payload bytes from which on messages are announced, or 0 */
	uint32_t unplaceable;      /* 1: a card cannot place every eighth announced message */
	uint32_t cardless;         /* with announce: bit i: node i has no bulk card */
	uint32_t incast;           /* 1: all send to node 0, which sends nothing of its own */
	uint32_t answered;         /* unanswered messages of a node at most; 0: none is answered */
	uint64_t most_time;        /* simulated ns: a run that takes longer hangs */
};

struct traffic;

/* The memory of an announced message that has begun; freed when it ends. */
struct payload {
	struct payload *next, **at;
	uint64_t length;
	uint8_t bytes[];
};

struct traffic_node {
	struct link_user_context user; /* the judge */
	struct traffic *traffic;
	struct link *link;
	struct nic *nic;
	void *memory;
	uint32_t node, lives;
	uint32_t to_send;          /* messages left */
	uint32_t under_way;        /* sent, neither acknowledged nor failed */
	uint32_t unanswered;       /* sent, but not yet answered */
	uint32_t lost;             /* calls of lost() */
	struct payload *payloads;  /* of messages that have begun here */
	uint64_t bytes;            /* payload received from this node, by all others */
	uint32_t most_records;     /* records of its link in use at once, as seen between events */
};

struct traffic {
	struct traffic_config config;
	struct netsim *sim;
	struct link_config links;  /* of all nodes, except node and incarnation */
	struct traffic_node *nodes;
	uint8_t *states;           /* per message */
	uint8_t *pattern;
	uint64_t *lengths;         /* per message */
	uint16_t *to;              /* per message */
	uint32_t *last;            /* per receiver, sender and lane: last message begun */
	uint32_t sent;
	uint32_t errors;           /* violations; the first few are printed */
	uint32_t failed;           /* messages that failed */
	uint32_t fast;             /* messages sent by link_fast_room */
	uint32_t fast_failed;      /* of these, failed; it is not known which */
	int lenient;               /* 1: frames are forged, so arrivals are not checked */
	uint64_t dice;
};

void traffic_open(struct traffic *t, const struct traffic_config *config,
		  const struct netsim_config *network);
/* Changes of t->links must come before this. */
void traffic_start(struct traffic *t);
/* The same in two steps: the links, and their first messages. */
void traffic_boot(struct traffic *t);
void traffic_go(struct traffic *t);
/* Run until `until` messages have been sent (~0u: all, and all are settled), or time is
 * up. Returns 1 if it got there. */
int traffic_run(struct traffic *t, uint32_t until);
/* Run the next event and the sends that follow from it. Returns 0 if there are no more events. */
int traffic_step(struct traffic *t);
/* Send one more message, of a length that the test chooses. It counts as one of config.messages;
 * tests that send all messages in this way set t->config.messages to 0 before traffic_start. */
void traffic_send(struct traffic *t, uint32_t from, uint32_t to, uint64_t length);
/* Switch a node off and, with a newer incarnation, on again. */
void traffic_restart(struct traffic *t, uint32_t node);
void traffic_kill(struct traffic *t, uint32_t node);
void traffic_revive(struct traffic *t, uint32_t node);
/* Check all messages, pools and memory, and free everything. Returns the number of errors. */
uint32_t traffic_close(struct traffic *t);

uint64_t traffic_count(const struct traffic *t, enum link_counter counter);

#endif
