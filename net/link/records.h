/*
 * The link's records: flows, messages, frames, and the pools of them. All of it lies in
 * the memory that link_open was given. Private to net/link/.
 */
#ifndef NET_LINK_RECORDS_H
#define NET_LINK_RECORDS_H
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

/* Frames that the maps of a flow show. More may be under way as long as none is missing:
 * what comes so far behind a gap is dropped, and sent again once the gap is filled. */
#define MAPPED 64u

#define MOST_UNACKED 48u           /* frames that one acknowledgement waits for */
#define MOST_FRAMES  (1u << 30)    /* of one message, and parts: both ends say the same */
#define LATER_FRAMES 3             /* that arrived before a missing one counts as lost */

/* One lane of one peer, both directions. Bitmaps of the sending half: bit i is
 * frame una + i; of the receiving half: bit i is frame expected + 1 + i. */
struct flow {
	uint16_t node;             /* the peer */
	uint8_t  flags;            /* enum flow_flag */
	uint8_t  tries;            /* timeouts since the peer was heard */
	uint32_t theirs, mine;     /* incarnations; theirs is 0 until known */
	uint8_t  stuck;            /* timeouts since frame una was first sent, was refused, or
	                              waited; tries is 0 again for any frame of the peer */
	uint8_t  doomed;           /* 1: to be given up as soon as the caller has returned */
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
	uint8_t  epoch;            /* when it last received data (link->epoch, its low bits) */
	uint8_t  taken;            /* messages of the bundle `expected` that the user has */
	uint64_t acked;            /* frames that have arrived; bit 0: frame una has, and waits for
	                              its payload */
	uint64_t marked;           /* frames to send again */
	uint64_t again;            /* frames that were sent again since `recover` began */
	uint64_t arrived;          /* receiving: frames behind `expected` */
	uint64_t refused;          /* frames not taken since this was last said; bit i is expected + i */
	uint32_t expected;         /* first frame missing */
	uint32_t begun;            /* first frame of the first message that has not begun */
	uint16_t assembly;         /* messages begun and not ended, in order */
	uint16_t stash;            /* short messages that came early, in any order */
	uint8_t  credit;           /* frames from una on that may be sent: the peer's window */
	uint8_t  burst;            /* most frames under way, as far as loss allows: the congestion
	                              window */
	uint8_t  granted;          /* frames from `expected` on that the peer may send */
	uint8_t  unacked;          /* frames received since the last acknowledgement */
};

_Static_assert(sizeof(struct flow) == 120, "two lanes stay below 256 bytes per peer");

/* What a peer takes: two flows, a place in the heap for each, a hash head, and its place in the
 * chain that begins there. */
#define PEER_BYTES  (2 * (sizeof(struct flow) + sizeof(uint16_t)) + 2 * sizeof(uint16_t))
_Static_assert(PEER_BYTES == 248, "as promised in link.h");

/* Of the timeouts of a frame one in so many counts, if the peer is heard meanwhile. */
#define STUCK_TRIES 3u
_Static_assert(LINK_MOST_TRIES * STUCK_TRIES <= UINT8_MAX, "struct flow counts that far");

/* A short message that nobody looks after, by itself or with others behind it. */
enum brief { BRIEF_ALONE = 1, BRIEF_BUNDLE };

/* A message being sent. */
struct send {
	uint16_t next;             /* in its flow, or free */
	uint16_t with_card;        /* frames that the card has not yet read */
	uint8_t  lane;             /* enum link_lane */
	uint8_t  over;             /* 1: acknowledged or failed, waits for the card */
	uint8_t  fail;             /* with `over`: what sent() says */
	uint8_t  told;             /* with `over`: sent() has said so */
	uint8_t  brief;            /* not 0: failed() comes if it does, and else nothing; enum brief */
	uint8_t  is_here;          /* 1: its payload is in `message` */
	uint32_t first;            /* number of its first frame */
	uint32_t frames;           /* how many it goes in */
	uint32_t fragment;         /* payload bytes of each frame but the last */
	uint8_t  announced;        /* 1: in one frame; its payload goes as it is granted */
	uint8_t  serving;          /* 1: in the list of those that send parts; counts as with_card */
	uint8_t  ordinary;         /* 1: its parts go to the ordinary card */
	uint64_t length;           /* of all payload, bytes */
	union {
		uint16_t bundle;   /* BRIEF_BUNDLE: where the others are */
		uint16_t tail;     /* announced: last bytes of payload, which go with that */
	};
	uint16_t serve_next;       /* in that list */
	uint16_t flow;             /* announced: whose it is */
	uint32_t served, granted;  /* parts that were sent, and that may be */
	uint32_t again, again_until; /* from here to there once more */
	/* The card reads one frame from here, and others' headers from a struct transmit. */
	struct link_message message;
};
_Static_assert(LINK_FRAME_BYTES == WIRE_HEADER + WIRE_ENTRY && LINK_HEADER_BYTES == WIRE_MESSAGE,
	       "a frame's headers lie one behind the other");

/* The messages of a bundle behind the first, each with its entry, as the wire has them. Of
 * one that came early: the payload of the first as well. */
struct bundle {
	uint16_t next;             /* free */
	uint16_t messages;         /* with the first */
	uint16_t bytes;            /* of `room` in use */
	uint8_t  room[WIRE_BUNDLE_BYTES] __attribute__((aligned(8)));
};

#define MOST_OWED 8u               /* flows that have to wait for none longer than a halt */
#define BUNDLES_HELD 16u           /* flows that may hold messages back */

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
	uint16_t length;           /* of the message's, or the first one's in a bundle */
	uint16_t bundle;           /* where the payload is, or NO_RECORD: here */
	uint32_t sequence;         /* of its frame */
	uint8_t  header[LINK_HEADER_BYTES]; /* the message's, or the first one's */
	uint8_t  payload[LINK_WHOLE_BYTES]; /* unless it is in `bundle` */
};

#define TRAIN_MESSAGES 12u         /* most frames one behind the other */

/* A frame's header that is not in its message's record, until the card has read it. */
struct transmit {
	uint16_t next;
	uint16_t send;             /* of a MSG with a message, and of BULK, else NO_RECORD */
	uint8_t part;              /* 1: BULK */
	uint8_t messages;          /* in several frames one behind the other, or 0 */
	uint16_t train[TRAIN_MESSAGES]; /* they: the frames are in their records */
	uint8_t  header[WIRE_DATA] __attribute__((aligned(64)));
};

/* Records of one kind; each begins with the uint16_t that chains the free ones. */
struct records {
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
	struct flow *held;         /* answers to whose turn it is: they wait for its end, or null */
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
	uint16_t serve_first, serve_last; /* sends that have parts to send, in turns */
	uint16_t parts_out;        /* parts that the cards have not yet read */
};

struct link {
	struct link_config config; /* as link_open was given it */
	struct nic *nic;           /* the ordinary card */
	struct link_user user;     /* calls up */
	void *context;             /* of its calls */
	const uint8_t *key;        /* the configuration's, or null */
	uint32_t fragment;         /* payload bytes that fit in a frame */
	uint8_t most_burst;        /* long frames of one flow under way: config.burst_bytes */
	uint8_t most_unacked;      /* MOST_UNACKED, or fewer: it leaves who sends long frames work */
	uint8_t share;             /* frames that each sender may send */
	uint32_t first_timeout, least_timeout, most_timeout, ack_delay; /* the configuration's, units */
	uint64_t plain_to;         /* first word of a plain frame (brief.c), without its destination */
	uint64_t plain_from;       /* its second word */
	uint64_t plain_here;       /* first word of one for this node */
	uint16_t most_requests;    /* records that the lane of requests may take */
	uint16_t n_held;           /* in use */
	struct held {
		uint16_t flow;     /* whose messages wait for company (bundle.c) */
		uint16_t first;    /* from this one on */
	} held[BUNDLES_HELD];
	uint64_t hold_until;       /* ns: when all of them leave, if n_held */
	uint16_t n_owed;           /* in use */
	uint16_t owed[MOST_OWED];  /* flows with senders that may wait for an acknowledgement */
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
	uint16_t sharers;          /* the larger number, for `share` */
	uint16_t epoch;            /* the clock's, of 2 ms */
	uint8_t pumping;           /* send_pump is at work further up */
	uint8_t stalled;           /* the card was full */
	uint16_t no_plain;         /* 1: no frame is plain, as tags or checksums of payload are wanted */
	uint16_t ending;           /* sends that are over and wait for the card */
	uint16_t doomed;           /* flows that are to be given up */
	uint64_t now;              /* ns: the last that was said */
	uint64_t due;              /* ns: when the earliest in the heap is looked at */
	struct records sends, assemblies, stashes, transmits, bundles;
	struct bulk bulk;
};

/* ---- pools ---- */

static inline void *record_at(const struct records *records, uint32_t index)
{
	return records->base + (uint64_t)records->bytes * index;
}

static inline struct send *send_at(const struct link *link, uint32_t index)
{
	return (struct send *)link->sends.base + index;
}

/* One more is in use. */
static inline void record_count(struct records *records)
{
	if (++records->used > records->high)
		records->high = records->used;
}

static inline uint32_t record_take(struct records *records)
{
	uint16_t index = records->free;

	if (index != NO_RECORD) {
		records->free = *(uint16_t *)record_at(records, index);
		record_count(records);
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

/* Something under way is missing, as far as is known, or was. */
static inline int flow_has_gap(const struct flow *flow)
{
	return (flow->acked | flow->marked | flow->again) != 0;
}

/* Frames from una on that may be under way now. */
static inline uint32_t flow_window(const struct flow *flow)
{
	return flow->credit > MAPPED && flow_has_gap(flow) ? MAPPED : flow->credit;
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
