/*
 * Traffic over links in a simulated network, and the judge of what arrives:
 * every message at most once, in order of its pair and lane, right to the byte; and
 * if its sender was told that it arrived, exactly once. Used by tests of the link
 * and by the program that runs long simulations (tests/netsim).
 */
#ifndef TESTS_TRAFFIC_H
#define TESTS_TRAFFIC_H
#include "../../host/netsim.h"
#include "../../net/link/link.h"
#include "link_users.h"

#define TRAFFIC_PATTERN  (1u << 20)   /* bytes that all payload is cut from */

struct traffic_config {
	uint32_t nodes;
	uint32_t messages;         /* altogether */
	uint64_t seed;
	uint32_t longest;          /* payload bytes, at most half of the pattern */
	uint32_t fixed;            /* payload bytes of every message, if not 0 */
	uint32_t longer;           /* per million messages: more than LINK_WHOLE_BYTES */
	uint32_t busy;             /* per million messages: the receiver says LINK_BUSY */
	uint32_t answers;          /* per million messages: on the lane of answers */
	uint32_t brief;            /* per million short requests: by link_fast_room, where it has room */
	uint32_t keyed;            /* 1: frames carry tags */
	uint32_t strangers;        /* the last nodes: no traffic; what they send, tests make */
	uint32_t announce;         /* payload bytes from which on messages are announced, or 0 */
	uint32_t unplaceable;      /* 1: of every eighth announced message a card cannot be told
	                              where it is to be */
	uint32_t cardless;         /* with announce: bit i: node i has no bulk card */
	uint32_t incast;           /* 1: all send to node 0, which sends nothing of its own */
	uint32_t answered;         /* messages that each node sends before the first of them is
	                              answered, which all are then; 0: any, and none is. Of
	                              more than LINK_WHOLE_BYTES, and no lives end */
	uint64_t most_time;        /* simulated ns: a run that takes longer hangs */
};

struct traffic;

/* Where an announced message that has begun is to be; freed when it ends. */
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
	uint32_t unanswered;       /* sent, and the answer has not come */
	uint32_t lost;             /* calls of lost() */
	struct payload *payloads;  /* of messages that have begun here */
	uint64_t bytes;            /* payload received from this node, by all others */
	uint32_t most_records;     /* of its link in use at once, as seen between events */
};

struct traffic {
	struct traffic_config config;
	struct netsim *sim;
	struct link_config links;  /* of all nodes, but node and incarnation */
	struct traffic_node *nodes;
	uint8_t *states;           /* per message */
	uint8_t *pattern;
	uint64_t *lengths;         /* per message */
	uint16_t *to;              /* per message */
	uint32_t *last;            /* per receiver, sender and lane: last message begun */
	uint32_t sent;
	uint32_t errors;           /* things that must not be; the first few are printed */
	uint32_t failed;           /* messages that failed */
	uint32_t brief;            /* messages sent by link_fast_room */
	uint32_t brief_failed;     /* of them: which ones they are is not told */
	int lenient;               /* 1: frames are forged: what arrives is not judged */
	uint64_t dice;
};

void traffic_open(struct traffic *t, const struct traffic_config *config,
		  const struct netsim_config *network);
/* Change t->links before this. */
void traffic_start(struct traffic *t);
/* The same in two steps: the links, and their first messages. */
void traffic_boot(struct traffic *t);
void traffic_go(struct traffic *t);
/* Run until `until` messages have been sent (~0u: all, and all are settled), or time is
 * up. Returns 1 if it got there. */
int traffic_run(struct traffic *t, uint32_t until);
/* What happens next, and what nodes then have to send; 0: nothing ever will. */
int traffic_step(struct traffic *t);
/* One message more, of a length that the test chooses. It counts as one of config.messages;
 * tests that send all of theirs so set t->config.messages to 0 before traffic_start. */
void traffic_send(struct traffic *t, uint32_t from, uint32_t to, uint64_t length);
/* Switch a node off and, with a newer incarnation, on again. */
void traffic_restart(struct traffic *t, uint32_t node);
void traffic_kill(struct traffic *t, uint32_t node);
void traffic_revive(struct traffic *t, uint32_t node);
/* The verdict on all messages, and on pools and memory; then free. Returns errors. */
uint32_t traffic_close(struct traffic *t);

uint64_t traffic_count(const struct traffic *t, enum link_counter counter);

#endif
