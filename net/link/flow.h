/*
 * Flows, the records of messages and frames, and the pools of these. All of it lies in
 * the memory that link_open was given. Private to net/link/.
 */
#ifndef NET_LINK_FLOW_H
#define NET_LINK_FLOW_H
#include <stddef.h>
#include "flow_state.h"
#include "link.h"
#include "wire_fast.h"

#define NO_RECORD  0xffffu

/* Times within a flow count units of 1024 ns and wrap: compare with is_due. */
#define UNIT_SHIFT 10
#define EPOCH_SHIFT 21             /* ns: senders are counted anew every 2 ms */
/* Round trips count eight of them. */
#define TRIP_SHIFT 3

/* Frames that the maps of a flow show. More may be under way as long as none is missing:
 * what comes further behind a gap is dropped, and sent again. */
#define MAPPED       64u
#define MOST_UNACKED 48u           /* frames, then they are acknowledged at once */
#define MOST_FRAMES  (1u << 30)    /* of one message, and parts: both ends say the same */
#define DUP_THRESHOLD 3            /* later frames that arrived, before a missing one is lost */

/* Bit i is a frame so many behind the first that the map is of. */
typedef uint64_t frame_map __attribute__((aligned(4)));
typedef uint64_t frame_word __attribute__((aligned(4)));

enum tx_flag {
	TX_TIMER    = 0x01,        /* resend_at counts */
	TX_TIMED    = 0x02,        /* a round trip is being measured */
	TX_MEASURED = 0x04         /* one has been */
};

/* The sending half of a flow. Written by message.c, transmit.c, ack.c, timer.c and clock.c. Maps
 * begin with frame una. flow.c begins both halves anew. */
struct flow_tx {
	frame_map sacked;          /* frames that have arrived; bit 0: frame una has, and waits for
	                              its payload */
	frame_map lost;            /* frames to send again */
	frame_map resent;          /* frames that were sent again since `recover` began */
	uint32_t una, next;        /* oldest not acknowledged, first not yet sent */
	uint32_t recover;          /* `next` when a frame was last sent again */
	uint32_t timed, timed_at;  /* which frame is measured, and when it left */
	uint32_t resend_at;        /* when the retransmission timeout ends */
	uint16_t srtt, rttvar;     /* smoothed round trip and its deviation */
	uint16_t head, tail;       /* messages being sent, in order */
	uint16_t unsent;           /* the one that frame `next` is of, or NO_RECORD */
	uint16_t sends;            /* how many */
	uint8_t  window;           /* frames from una on that may be sent: the peer's window */
	uint8_t  cwnd;             /* congestion window: most frames under way, as far as loss
	                              allows */
	uint8_t  timeouts;         /* of frame una since it was first sent, or the peer said that it
	                              was refused or waits */
	uint8_t  flags;            /* enum tx_flag */
};

enum rx_flag {
	RX_ACK_TIMER = 0x01,       /* ack_at counts */
	RX_ACK_NOW   = 0x02,       /* an acknowledgement waits for room in the card */
	RX_REFUSED   = 0x04        /* frames were refused: the next acknowledgement says AGAIN */
};

/* The receiving half. Written by receive.c, reassemble.c, batch.c, and frame.c when an
 * acknowledgement leaves. */
struct flow_rx {
	frame_map arrived;         /* bit i: frame expected + 1 + i */
	frame_map refused;         /* bit i: frame expected + i, since this was last said */
	uint32_t expected;         /* first frame missing */
	uint32_t begun;            /* first frame of the first message that has not begun */
	uint32_t ack_at;           /* when what has arrived is acknowledged at the latest */
	uint16_t assembly;         /* messages begun and not ended, in order */
	uint16_t stash;            /* short messages that came early, in any order */
	uint8_t  window;           /* receive window: frames from `expected` on that the peer may
	                              send */
	uint8_t  unacked;          /* frames received since the last acknowledgement */
	uint8_t  taken;            /* messages of the batch `expected` that the user has */
	uint8_t  flags;            /* enum rx_flag */
};

enum flow_flag {
	FLOW_LANE    = 0x01,       /* of answers */
	FLOW_READY   = 0x02,       /* in the list of those that have something to send */
	FLOW_GIVE_UP = 0x04        /* the peer is given up as soon as the caller has returned */
};

/* One lane of one peer, both directions. */
struct flow {
	struct flow_tx tx;
	struct flow_rx rx;
	uint16_t node;             /* the peer */
	uint8_t  flags;            /* enum flow_flag */
	uint8_t  epoch;            /* when data last came (link->epoch, its low bits) */
	union {
		struct {
			uint32_t theirs, mine;  /* incarnations; theirs is 0 until known */
		};
		frame_word incarnations;        /* both, as the peer's frames have them */
	};
	uint32_t timer_at;         /* key in the heap of timers: not later than resend_at, ack_at */
	uint16_t heap_at;          /* place there, or NO_RECORD */
	uint16_t ready_next;       /* flow behind it in the ready list */
};

_Static_assert(sizeof(struct flow) == 120, "two lanes stay below 256 bytes per peer");

/* What a peer takes: two flows, a place in the heap for each, a hash head, and its place in the
 * chain that begins there. */
#define PEER_BYTES  (2 * (sizeof(struct flow) + sizeof(uint16_t)) + 2 * sizeof(uint16_t))
_Static_assert(PEER_BYTES == 248, "as promised in link.h");

/* A short message of which the user hears only if it fails, by itself or with others behind
 * it. */
enum unsignalled { UNSIGNALLED_ALONE = 1, UNSIGNALLED_BATCH };

/* A message being sent. */
struct send {
	uint16_t next;             /* in its flow, or free */
	uint16_t with_card;        /* frames that the card has not yet read */
	uint8_t  lane;             /* enum link_lane */
	uint8_t  ended;            /* 1: acknowledged or failed, waits for the card */
	uint8_t  fail;             /* with `ended`: what link_port_sent says */
	uint8_t  reported;         /* with `ended`: it has said so */
	uint8_t  unsignalled;      /* enum unsignalled, or 0: link_port_sent reports its end */
	uint8_t  is_inline;        /* 1: its payload is in `message` */
	uint32_t first;            /* number of its first frame */
	uint32_t frames;           /* how many it goes in */
	uint32_t fragment;         /* payload bytes of each frame but the last */
	uint8_t  announced;        /* 1: in one frame; its payload goes as it is granted */
	uint8_t  sending_parts;    /* 1: in the list of those that send parts; counts as with_card */
	uint8_t  ordinary;         /* 1: its parts go to the ordinary card */
	uint64_t length;           /* of all payload, bytes */
	union {
		uint16_t batch;    /* UNSIGNALLED_BATCH: where the others are */
		uint16_t tail;     /* announced: last bytes of payload, which go with that */
	};
	uint16_t bulk_next;        /* in that list */
	uint16_t flow;             /* announced: whose it is */
	uint32_t parts_sent, granted; /* parts that were sent, and that may be */
	uint32_t again, again_until; /* from here to there once more */
	/* The card reads one frame from here, and others' headers from a struct transmit. */
	struct link_message message;
};
_Static_assert(LINK_FRAME_BYTES == WIRE_HEADER + WIRE_ENTRY && LINK_HEADER_BYTES == WIRE_MESSAGE,
	       "a frame's headers lie one behind the other");

/* The messages of a batch behind the first, each with its entry, as the wire has them. Of
 * one that came early: the payload of the first as well. */
struct batch {
	uint16_t next;             /* free */
	uint16_t messages;         /* with the first */
	uint16_t bytes;            /* of `room` in use */
	uint8_t  room[WIRE_BATCH_BYTES] __attribute__((aligned(8)));
};

#define MOST_WAITERS 8u            /* flows that are acknowledged before a halt */
#define MOST_DELAYED 16u           /* flows that may delay messages for a batch */

/* A message being received in parts. */
struct assembly {
	uint16_t next;             /* begun after it in its flow, or free */
	uint8_t  taken;            /* 0: the user dropped it */
	uint32_t first, frames;    /* as in struct send */
	uint32_t fragment;
	uint64_t length;           /* announced: of all parts */
	uint8_t  announced;        /* 1: its payload comes in parts, which are granted */
	uint8_t  whole;            /* 1: and all of them are there */
	uint8_t  queued;           /* 1: in the list of those that want a turn */
	uint16_t flow;             /* whose it is */
	uint16_t turn_next;        /* in that list */
	uint32_t parts;            /* how many there are */
	uint32_t received;         /* parts that are there, from the first on */
	uint32_t granted;          /* parts that have a buffer in struct bulk, or had one */
	uint32_t again_at;         /* units: not before that another turn, if there were any passes */
	uint8_t  passes;           /* turns in which nothing came */
	struct link_target target;
};

/* A short message that came before its turn. */
struct stash {
	uint16_t next;
	uint16_t bytes;            /* of all payload */
	uint16_t length;           /* of the message's, or the first one's in a batch */
	uint16_t batch;            /* where the payload is, or NO_RECORD: here */
	uint32_t sequence;         /* of its frame */
	uint8_t  header[LINK_HEADER_BYTES]; /* the message's, or the first one's */
	uint8_t  payload[LINK_WHOLE_BYTES]; /* unless it is in `batch` */
};

#define AGGREGATE_FRAMES 12u       /* most frames one behind the other */

/* A frame's header that is not in its message's record, until the card has read it. */
struct transmit {
	uint16_t next;
	uint16_t send;             /* of a MSG with a message, and of BULK, else NO_RECORD */
	uint8_t part;              /* 1: BULK */
	uint8_t messages;          /* in several frames one behind the other, or 0 */
	uint16_t frames[AGGREGATE_FRAMES]; /* they: the frames are in their records */
	uint8_t  header[WIRE_DATA] __attribute__((aligned(64)));
};

/* Records of one kind; each begins with the uint16_t that chains the free ones. */
struct record_pool {
	uint8_t *base;
	uint32_t bytes;            /* of each */
	uint16_t limit, used;
	uint16_t high;             /* the most that were ever in use */
	uint16_t free;             /* first free one, or NO_RECORD */
};

/* Whether a flow has the turn to send parts of long messages here. */
enum bulk_state { BULK_NONE, BULK_TURN };

#define BULK_POSTED   64u          /* buffers that the card may have; a power of two */
#define BULK_BUFFERS  128u         /* with those whose parts wait to be moved; likewise */
#define BULK_PARTS_OUT 64u         /* most that are with the cards */

/* In place of a buffer's index: */
#define BUFFER_POSTED 0xffu        /* the card has it */
#define BUFFER_FREE   0xfeu        /* nothing lies in it */
#define PART_MISSING  0xffu        /* it has not arrived */
#define PART_ASIDE    0xfeu        /* it lies in the link's own memory */

/* The memory where one part is to be. */
struct buffer {
	uint16_t assembly;         /* whose part */
	uint8_t  holds;            /* index of the buffer whose part lies here, or see above */
	uint8_t  at;               /* index of the buffer in which this part lies, likewise */
	uint32_t part;             /* which */
	uint32_t after;            /* the part is lost if the one of that number, or a later one,
	                              arrives that is sent for the first time */
	uintptr_t low, high;       /* while `lossy`: it lies between these addresses */
};

struct bulk {
	struct nic *nic;           /* the bulk card, or null */
	uint8_t state;             /* enum bulk_state */
	uint8_t copied;            /* 1: what is granted comes by the ordinary card */
	uint8_t tries;             /* timers without anything new, in this turn */
	uint8_t full;              /* the bulk card has no room for another frame */
	uint16_t flow;             /* whose turn it is */
	uint16_t first, last;      /* announced messages of flows that want a turn, one of each */
	uint16_t most;             /* buffers that may be posted */
	uint16_t lossy;            /* a frame was lost lately: parts until that is forgotten */
	struct flow *deferred;     /* answers to whose turn it is: they wait for its end, or null */
	uint32_t oldest, next;     /* numbers of buffers: the first in use, the next new one */
	uint32_t posted, filled;   /* how many the card was given, and has filled */
	uint32_t spent;            /* parts granted in this turn */
	uint32_t level;            /* buffers posted when some were last granted */
	uint32_t unreported;       /* posted since the last whose filling interrupts */
	uint32_t trip;             /* ns from a grant to what it brings, smoothed */
	uint64_t granted_at;       /* ns: when a grant left while none was under way, or 0 */
	uint64_t at;               /* ns: the timer, or LINK_NEVER */
	uint8_t *aside;            /* memory for one part */
	uint8_t ring[BULK_POSTED]; /* indices of posted buffers, in the order of the card */
	struct buffer buffers[BULK_BUFFERS]; /* each at its number modulo this */
	uint16_t sends_first, sends_last; /* sends that have parts to send, in turns */
	uint16_t parts_out;        /* parts that the cards have not yet read */
};

struct link {
	struct link_config config; /* as link_open was given it; with a key check_payload is 0 */
	struct nic *nic;           /* the ordinary card */
	void *context;             /* of the link's port */
	const uint8_t *key;        /* the configuration's, or null */
	uint32_t fragment;         /* payload bytes that fit in a frame */
	uint8_t long_window;       /* long frames of one flow under way: config.window_bytes */
	uint8_t most_unacked;      /* MOST_UNACKED, or fewer, as senders of long frames may send
	                              fewer */
	uint8_t ring_share;        /* frames that each sender may send */
	uint32_t first_timeout, least_timeout, most_timeout; /* the configuration's, in units */
	uint32_t ack_delay;        /* likewise */
	struct wire_fast_prefix prefix; /* of frames of the fast path */
	uint16_t most_requests;    /* records that the lane of requests may take */
	uint16_t n_delayed;        /* in use */
	struct delayed {
		uint16_t flow;     /* its messages are delayed for a batch (batch.c) */
		uint16_t first;    /* from this one on */
	} delayed[MOST_DELAYED];
	uint64_t delayed_until;    /* ns: when all of them leave, if n_delayed */
	uint16_t n_waiters;        /* in use */
	uint16_t waiters[MOST_WAITERS]; /* flows whose senders may wait for acknowledgements */
	uint64_t counters[LINK_COUNTERS_END];
	struct flow *flows;        /* a peer's two lie side by side, that of requests first */
	uint16_t n_flows;          /* in use: they are never given back */
	uint16_t *heads;           /* hash of node to its pair of flows */
	uint16_t *chains;          /* of each pair: the next in its hash chain */
	uint16_t *heap;            /* flows with a timer, the earliest first */
	uint16_t n_heap;           /* in use */
	uint16_t ready_first, ready_last; /* flows with something to send, in turn */
	uint16_t sends_used[LINK_LANES]; /* records of messages, by lane */
	uint16_t reserved;         /* answers' records kept */
	uint16_t senders;          /* flows that sent data in this epoch */
	uint16_t senders_before;   /* and in the last */
	uint16_t sharers;          /* the larger number, for `ring_share` */
	uint16_t epoch;            /* the clock's, of 2 ms */
	uint8_t transmitting;      /* transmit is at work further up */
	uint8_t stalled;           /* the card was full */
	uint8_t guards;            /* 1: frames have tags, or checksums of payload */
	uint16_t ended_with_card;  /* sends that have ended and wait for the card */
	uint16_t giving_up;        /* flows whose peers are to be given up */
	uint64_t now;              /* ns: the last that was said */
	uint64_t due;              /* ns: when the earliest in the heap is looked at */
	struct record_pool sends, assemblies, stashes, transmits, batches;
	struct bulk bulk;
};

/* ---- pools ---- */

static inline void *record_at(const struct record_pool *records, uint32_t index)
{
	return records->base + (uint64_t)records->bytes * index;
}

static inline struct send *send_at(const struct link *link, uint32_t index)
{
	return (struct send *)link->sends.base + index;
}

/* One more is in use. */
static inline void record_count(struct record_pool *records)
{
	if (++records->used > records->high)
		records->high = records->used;
}

static inline uint32_t record_alloc(struct record_pool *records)
{
	uint16_t index = records->free;

	if (index != NO_RECORD) {
		records->free = *(uint16_t *)record_at(records, index);
		record_count(records);
	}
	return index;
}

static inline void record_free(struct record_pool *records, uint32_t index)
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

/* Something under way is missing, as far as is known, or was. */
static inline int flow_has_gap(const struct flow *flow)
{
	return (flow->tx.sacked | flow->tx.lost | flow->tx.resent) != 0;
}

/* Frames from una on that may be under way now. */
static inline uint32_t flow_window(const struct flow *flow)
{
	return flow->tx.window > MAPPED && flow_has_gap(flow) ? MAPPED : flow->tx.window;
}

static inline enum flow_state flow_state(const struct flow *flow)
{
	if (flow->flags & FLOW_GIVE_UP)
		return FLOW_ENDING;
	if (flow->tx.lost)
		return FLOW_REPAIR;
	return flow->tx.head == NO_RECORD ? FLOW_IDLE : FLOW_OPEN;
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

#endif
