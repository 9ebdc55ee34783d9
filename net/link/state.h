/*
 * The link's inside: records, pools, and the functions that its files share.
 * All of it lies in the memory that link_open was given. Private to net/link/.
 */
#ifndef NET_LINK_STATE_H
#define NET_LINK_STATE_H
#include <stddef.h>
#include "link.h"
#include "wire.h"

#define NO_RECORD  0xffffu

/* Times within a flow count units of 1024 ns and wrap: compare with is_due. */
#define UNIT_SHIFT 10
#define EPOCH_SHIFT 21             /* ns: who sends is counted anew every 2 ms */
/* Round trips count eight of them. */
#define TRIP_SHIFT 3

enum flow_flag {
	FLOW_LANE     = 0x01,      /* of answers */
	FLOW_READY    = 0x02,      /* in the list of those that have something to send */
	FLOW_RESENDS  = 0x04,      /* resend_at counts */
	FLOW_ACKS     = 0x08,      /* ack_at counts */
	FLOW_TIMED    = 0x10,      /* a round trip is being measured */
	FLOW_MEASURED = 0x20,      /* one has been */
	FLOW_REFUSED  = 0x40,      /* frames were refused: the next acknowledgement says AGAIN */
	FLOW_ACK_NOW  = 0x80       /* an acknowledgement waits for room in the card */
};

/* One lane of one peer, both directions. Bitmaps of the sending half: bit i is
 * frame una + i; of the receiving half: bit i is frame expected + 1 + i. */
struct flow {
	uint16_t node;
	uint8_t  flags;            /* enum flow_flag */
	uint8_t  tries;            /* timeouts since the peer was heard */
	uint32_t mine, theirs;     /* incarnations; theirs is 0 until known */
	uint16_t hash_next;        /* of a peer's first: pair in the same hash chain */
	uint16_t heap_at;          /* place in the heap of timers, or NO_RECORD */
	uint32_t timer_at;         /* its key there: not later than the two times below */
	uint32_t resend_at, ack_at;
	uint32_t una, next;        /* sending: oldest not acknowledged, first not yet sent */
	uint32_t recover;          /* `next` when a frame was last sent again */
	uint32_t timed, timed_at;  /* which frame is measured, and when it left */
	uint16_t trip, trip_varies; /* smoothed round trip and its deviation */
	uint16_t head, tail;       /* messages being sent, in order */
	uint16_t fresh;            /* the one that frame `next` is of, or NO_RECORD */
	uint16_t sends;            /* how many */
	uint16_t ready_next;       /* flow behind it in the ready list */
	uint16_t epoch;            /* when it last received data (link->epoch) */
	uint64_t acked;            /* frames that have arrived; bit 0 is always 0 */
	uint64_t marked;           /* frames to send again */
	uint64_t again;            /* frames that were sent again since `recover` began */
	uint64_t arrived;          /* receiving: frames behind `expected` */
	uint64_t refused;          /* frames not taken since this was last said; bit i is expected + i */
	uint32_t expected;         /* first frame missing */
	uint32_t begun;            /* first frame of the first message that has not begun */
	uint16_t assembly;         /* messages begun and not ended, in order */
	uint16_t stash;            /* short messages that came early, in any order */
	uint8_t  credit;           /* frames from una on that may be sent */
	uint8_t  burst;            /* most frames under way, as far as loss allows */
	uint8_t  granted;          /* frames from `expected` on that the peer may send */
	uint8_t  unacked;          /* frames received since the last acknowledgement */
};

_Static_assert(sizeof(struct flow) == 120, "two lanes stay below 256 bytes per peer");

/* What a peer takes: two flows, a place in the heap for each, a hash head. */
#define PEER_BYTES  (2 * (sizeof(struct flow) + sizeof(uint16_t)) + sizeof(uint16_t))
_Static_assert(PEER_BYTES == 246, "as promised in link.h");

/* A message being sent. */
struct send {
	uint16_t next;             /* in its flow, or free */
	uint16_t with_card;        /* frames that the card has not yet read */
	uint8_t  lane;             /* enum link_lane */
	uint8_t  over;             /* 1: acknowledged or failed, waits for the card */
	uint8_t  fail;
	uint32_t first;            /* number of its first frame */
	uint32_t frames;
	uint32_t fragment;         /* payload bytes of each frame but the last */
	uint64_t length;
	uint64_t source;           /* the user's name for it */
	uint8_t  header[LINK_HEADER_BYTES];
};

/* A message being received in parts. */
struct assembly {
	uint16_t next;             /* begun after it in its flow, or free */
	uint8_t  taken;            /* 0: the user dropped it */
	uint32_t first, frames;    /* as in struct send */
	uint32_t fragment;
	uint64_t length;
	struct link_target target;
};

/* A short message that came before its turn. */
struct stash {
	uint16_t next;
	uint16_t bytes;
	uint32_t sequence;
	uint8_t  header[LINK_HEADER_BYTES];
	uint8_t  payload[LINK_WHOLE_BYTES];
};

/* A frame's header, until the card has read it. */
struct transmit {
	uint16_t next;
	uint16_t send;             /* of DATA, else NO_RECORD */
	uint8_t  header[WIRE_DATA] __attribute__((aligned(64)));
};

/* Records of one kind; each begins with the uint16_t that chains the free ones. */
struct records {
	uint8_t *base;
	uint32_t bytes;            /* of each */
	uint16_t limit, used;
	uint16_t free;             /* first free one, or NO_RECORD */
};

struct link {
	struct link_config config;
	struct nic *nic;
	struct link_user user;
	void *context;             /* of its calls */
	const uint8_t *key;        /* the configuration's, or null */
	uint32_t fragment;         /* payload bytes that fit in a frame */
	uint8_t most_burst;        /* long frames of one flow under way: config.burst_bytes */
	uint64_t counters[LINK_COUNTERS_END];
	struct flow *flows;        /* a peer's two lie side by side, that of requests first */
	uint16_t n_flows;          /* in use: they are never given back */
	uint16_t *heads;           /* hash of node to its pair of flows */
	uint16_t *heap;            /* flows with a timer, the earliest first */
	uint16_t n_heap;
	uint16_t ready_first, ready_last;
	uint16_t sends_used[LINK_LANES];
	uint16_t reserved;         /* answers' records kept */
	uint16_t senders;          /* flows that sent data in this epoch */
	uint16_t senders_before;   /* and in the last */
	uint16_t epoch;
	uint8_t pumping;           /* send_pump is at work further up */
	uint8_t stalled;           /* the card was full */
	uint64_t now;              /* ns: the last that was said */
	struct records sends, assemblies, stashes, transmits;
};

/* ---- pools ---- */

static inline void *record_at(const struct records *records, uint32_t index)
{
	return records->base + (uint64_t)records->bytes * index;
}

static inline uint32_t record_take(struct records *records)
{
	uint16_t index = records->free;

	if (index != NO_RECORD) {
		records->free = *(uint16_t *)record_at(records, index);
		records->used++;
	}
	return index;
}

static inline void record_give(struct records *records, uint32_t index)
{
	*(uint16_t *)record_at(records, index) = records->free;
	records->free = (uint16_t)index;
	records->used--;
}

/* ---- time and numbers ---- */

static inline uint32_t units(uint64_t ns)
{
	return (uint32_t)(ns >> UNIT_SHIFT);
}

/* Serial numbers: a before b. */
static inline int is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline int is_due(uint32_t at, uint32_t now)
{
	return !is_before(now, at);
}

/* The lowest n bits. */
static inline uint64_t bits(uint32_t n)
{
	return n >= 64 ? ~0ULL : (1ULL << n) - 1;
}

static inline uint64_t shifted(uint64_t map, uint32_t n)
{
	return n >= 64 ? 0 : map >> n;
}

static inline void count(struct link *link, enum link_counter counter)
{
	link->counters[counter]++;
}

static inline uint32_t flow_index(const struct link *link, const struct flow *flow)
{
	return (uint32_t)(flow - link->flows);
}

static inline struct flow *flow_other(struct flow *flow)
{
	return flow->flags & FLOW_LANE ? flow - 1 : flow + 1;
}

static inline enum link_lane flow_lane(const struct flow *flow)
{
	return flow->flags & FLOW_LANE ? LINK_ANSWERS : LINK_REQUESTS;
}

/* ---- flow.c ---- */

struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane);
/* The same, both made if they are not there; null: no memory for them. */
struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane);
/* Both lanes of a node start anew: what is under way fails. `bump`: toward this node the
 * own incarnation grows. `theirs`: its new one, 0: as known. Calls lost(). */
void flow_lose(struct link *link, uint32_t node, int bump, uint32_t theirs);

/* ---- timer.c ---- */

void timer_resend(struct link *link, struct flow *flow, uint32_t now);
void timer_ack(struct link *link, struct flow *flow, uint32_t now, uint64_t ns);
void timer_measure(struct flow *flow, uint32_t trip);
uint32_t timer_timeout(const struct link *link, const struct flow *flow);
/* Neither of its times counts any more. */
void timer_cancel(struct link *link, struct flow *flow);
/* Give the peer up as soon as the caller has returned. */
void timer_give_up(struct link *link, struct flow *flow);

/* ---- send.c ---- */

/* This flow may have something to send. */
void send_ready(struct link *link, struct flow *flow);
/* Send what may be sent now, flow by flow. */
void send_turns(struct link *link, uint64_t now);

static inline void send_pump(struct link *link, uint64_t now)
{
	if (!link->pumping && !link->stalled && link->ready_first != NO_RECORD)
		send_turns(link, now);
}

/* An acknowledgement by itself, now or as soon as there is room. */
void send_ack(struct link *link, struct flow *flow, uint64_t now);
/* Answer a frame that was meant for somebody else. */
void send_reset(struct link *link, const struct wire *to, uint32_t mine, int over);
/* A message is acknowledged or failed: sent(), as soon as the card is done with it. */
void send_end(struct link *link, uint32_t send, int fail);

/* ---- ack.c ---- */

/* What a frame says about what this node has sent. 0: it cannot be. */
int ack_take(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);

/* ---- assemble.c ---- */

/* A DATA frame of the right incarnations. */
void assemble(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* These begun messages end with failure, these early ones are dropped. */
void assemble_lose(struct link *link, uint32_t assembly, uint32_t stash);

#endif
