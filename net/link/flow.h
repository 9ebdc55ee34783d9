/*
 * Flows, the records of messages and frames, and the pools of these records. All of them are in
 * the memory that link_open was given. Private to net/link/.
 */
#ifndef NET_LINK_FLOW_H
#define NET_LINK_FLOW_H
#include <stddef.h>
#include "flow_state.h"
#include "link.h"
#include "wire_fast.h"

#define NO_RECORD  0xffffu         /* in place of a record's or peer's index: none */
#define NO_FLOW    0xffffffffu     /* in place of a flow's index: none */

/* Times within a flow are in units of 1024 ns, and wrap: compare them with is_due. */
#define UNIT_SHIFT 10
#define EPOCH_SHIFT 21             /* an epoch is 2^21 ns: senders are counted anew in each */
/* Round trips are stored in 8 units. */
#define TRIP_SHIFT 3

/* Frames that a flow's maps cover. More may be under way while none is missing. Frames further
 * behind a gap are dropped by the receiver, and retransmitted. */
#define MAPPED       64u
#define DUP_THRESHOLD 3            /* later frames that must have arrived before a missing one
                                      counts as lost */

/* A map of frames: bit i stands for the frame i behind the map's first. */
typedef uint64_t frame_map __attribute__((aligned(4)));
typedef uint64_t frame_word __attribute__((aligned(4)));

enum tx_flag {
	TX_TIMER    = 0x01,        /* the retransmission timer runs, until resend_at */
	TX_SAMPLING = 0x02         /* a round trip is being measured */
};

/* The sending half of a flow. Written by message.c, transmit.c, ack.c, timer.c and clock.c, and by
 * receive.c when the peer's incarnation becomes known; flow_reset resets both halves. The first frame
 * of the maps is una. */
struct flow_tx {
	frame_map sacked;          /* frames that have arrived; bit 0: frame una is an announcement
	                              that has arrived and waits for its payload */
	frame_map lost;            /* frames to retransmit */
	frame_map resent;          /* frames retransmitted that count as under way again */
	uint32_t una, next;        /* oldest frame not acknowledged, first frame not yet sent */
	uint32_t after_resend;     /* first frame sent after the last retransmission, but at least
	                              una - LOSSLESS_FRAMES (ack.c) */
	uint32_t sampled_at;       /* when the frame `sample` was sent */
	uint32_t resend_at;        /* when the retransmission timer expires */
	uint16_t srtt, rttvar;     /* smoothed round trip and its deviation, in 8 units; srtt is 0
	                              until one is measured */
	uint16_t head, tail;       /* first and last message being sent */
	uint16_t unsent;           /* the message of frame `next`, or NO_RECORD */
	uint16_t sends;            /* messages being sent */
	uint16_t sample;           /* frame used to measure the round trip: its number's low half */
	uint8_t  window;           /* send window: frames from una on that the peer allows */
	uint8_t  cwnd;             /* congestion window: most frames under way */
	uint8_t  timeouts;         /* timeouts of frame una; the peer resets the count when it says
	                              that the frame was refused or waits for its payload */
	uint8_t  flags;            /* enum tx_flag */
};

enum rx_flag {
	RX_ACK_TIMER = 0x01,       /* a bare acknowledgement is due at ack_at */
	RX_ACK_NOW   = 0x02,       /* an acknowledgement waits for room in the card */
	RX_WAITER    = 0x04        /* the sender may wait for the acknowledgement, to reuse the
	                              memory of its message: it is due before a halt at the latest */
};

/* The receiving half of a flow. Written by receive.c, reassemble.c and timer.c, by frame.c and
 * message.c when a frame acknowledges, and by bulk.c when a deferred acknowledgement is due. */
struct flow_rx {
	frame_map arrived;         /* bit i: frame expected + i has arrived; bit 0: and is an
	                              announcement that waits for its payload */
	frame_map refused;         /* bit i: frame expected + i was refused: the next bare ack says
	                              AGAIN */
	uint32_t expected;         /* first missing frame */
	uint32_t begun;            /* first frame of the first message that has not begun */
	uint32_t ack_at;           /* when a bare acknowledgement is sent at the latest */
	uint16_t assembly;         /* list of the messages begun and not ended, in order */
	uint16_t stash;            /* list of the short messages that arrived early, in any order */
	uint8_t  window;           /* receive window: frames from `expected` on that the peer may
	                              send */
	uint8_t  unacked;          /* frames received since the last acknowledgement */
	uint8_t  flags;            /* enum rx_flag */
};

enum flow_flag {
	FLOW_LANE    = 0x01,       /* the lane of answers */
	FLOW_READY   = 0x02,       /* in the ready list */
	FLOW_GIVE_UP = 0x04,       /* the peer is given up at the next tick */
	FLOW_TIMED   = 0x08,       /* in the list of flows with a timer */
	FLOW_DELAYED = 0x10        /* its last message, with those that join it, is delayed for a
	                              batch (batch.c) */
};

/* One lane between this node and a peer, in both directions. */
struct flow {
	struct flow_tx tx;
	struct flow_rx rx;
	uint16_t node;             /* the peer */
	uint8_t  flags;            /* enum flow_flag */
	uint8_t  epoch;            /* epoch in which data last came, its low 8 bits */
	union {
		struct {
			uint32_t theirs, mine;  /* incarnations; theirs is 0 until known */
		};
		frame_word incarnations;        /* both, in the layout of the peer's frames */
	};
	uint32_t ready_next;       /* next in the ready list, or NO_FLOW */
	uint32_t timed_next;       /* next in the list of flows with a timer, or NO_FLOW */
};

_Static_assert(sizeof(struct flow) == 120, "two lanes stay below 256 bytes per peer");

/* Memory of a peer: two flows and its index. */
#define PEER_BYTES  (2 * sizeof(struct flow) + sizeof(uint16_t))
_Static_assert(PEER_BYTES == 242, "as promised in link.h");

/* A plain put, which is reported only if it fails: alone in its frame, or the first of a batch. */
enum unsignalled { UNSIGNALLED_ALONE = 1, UNSIGNALLED_BATCH };

/* A message being sent. Written by message.c; the fields for parts by bulk_send.c, `batch` and
 * `unsignalled` by batch.c, `with_card` by frame.c, transmit.c and receive.c. */
struct send {
	uint16_t next;             /* next message of its flow; free: next free record */
	uint16_t with_card;        /* frames that the card has not yet read */
	uint8_t  lane;             /* enum link_lane */
	uint8_t  ended;            /* 1: acknowledged or failed, and waits for the card */
	uint8_t  fail;             /* with `ended`: 1 if it failed */
	uint8_t  reported;         /* with `ended`: 1 if the user was told */
	uint8_t  unsignalled;      /* enum unsignalled; 0: link_port_sent reports its end */
	uint8_t  is_inline;        /* 1: its payload is in `message` */
	uint32_t first;            /* sequence number of its first frame */
	uint32_t frames;           /* number of frames */
	uint32_t fragment;         /* payload bytes of each frame, or part, but the last */
	uint8_t  announced;        /* 1: one frame announces it; its payload is sent in parts, as
	                              they are granted */
	uint8_t  ordinary;         /* 1: its parts go to the ordinary card */
	uint64_t length;           /* payload bytes of the message */
	union {
		uint16_t batch;    /* UNSIGNALLED_BATCH: index of its struct batch */
		uint16_t tail;     /* announced: last payload bytes, in the announcement */
	};
	uint16_t bulk_next;        /* next in the list of messages with parts to send */
	uint32_t flow;             /* announced: index of its flow */
	uint32_t parts_sent, granted; /* parts sent at least once, and parts that may be sent */
	uint32_t again, again_until; /* parts [again, again_until) are to be sent again */
	/* The card reads one frame's header from here; others have a struct transmit. */
	struct link_message message;
};
_Static_assert(LINK_FRAME_BYTES == WIRE_HEADER + WIRE_ENTRY &&
	       LINK_FRAME_BYTES + LINK_HEADER_BYTES == WIRE_DATA &&
	       LINK_FRAME_BYTES + LINK_PUT_BYTES == WIRE_PUT_DATA, "a frame's headers are adjacent");
_Static_assert(LINK_HEADER_BYTES == WIRE_MESSAGE && LINK_PUT_BYTES == WIRE_PUT &&
	       LINK_FAST_BYTES == WIRE_PUT_BYTES, "as on the wire");

/* Where a message's frame begins in its record. A plain put's header is shorter, and it too ends
 * where the payload begins. */
static inline uint8_t *send_frame_at(const struct send *send)
{
	return (uint8_t *)send->message.frame + (send->unsignalled ? WIRE_DATA - WIRE_PUT_DATA : 0);
}

/* The payload of a batch, in the layout of the wire: of its first message, then the others, each
 * with its entry and header. */
struct batch {
	uint16_t next;             /* free: next free record */
	uint16_t messages;         /* the first one included */
	uint16_t bytes;            /* bytes of `room` in use */
	uint8_t  room[WIRE_BATCH_BYTES] __attribute__((aligned(8)));
};

/* Addresses from `low` to below `high`, which contain some bytes of payload. */
struct memory {
	uintptr_t low, high;
};

static inline int memory_is_shared(const struct memory *one, const struct memory *other)
{
	return one->low < other->high && other->low < one->high;
}

/* A message being received in several frames. Written by reassemble.c; the fields for turns and
 * parts by bulk.c and bulk_land.c. */
struct assembly {
	uint16_t next;             /* next begun message of its flow; free: next free record */
	uint8_t  taken;            /* 1: the user takes its payload */
	uint8_t  dropped;          /* 1: the user is not told of its end */
	uint32_t first, frames;    /* as in struct send */
	uint32_t fragment;         /* likewise */
	uint64_t length;           /* payload bytes; announced: without those of the announcement */
	uint8_t  announced;        /* 1: its payload comes in parts, as they are granted */
	uint8_t  queued;           /* 1: in the list of messages that wait for a turn */
	uint16_t turn_next;        /* next in the list of messages that wait for a turn */
	uint32_t flow;             /* index of its flow */
	uint32_t parts;            /* number of parts; 0: not announced, or its payload is not taken */
	uint32_t received;         /* parts that have arrived, up to the first missing one */
	uint32_t granted;          /* parts that have, or had, a buffer in struct bulk */
	uint32_t sent;             /* parts that may have been sent before their buffers were
	                              withdrawn: the next grant of them says AGAIN */
	uint8_t  passes;           /* turns in which nothing arrived */
	struct memory memory;      /* if `taken`: of the payload that `length` counts */
	struct link_target target;
};

/* A short message, or a batch, that arrived early. */
struct stash {
	uint16_t next;
	uint16_t batch;            /* struct batch with the payload, or NO_RECORD: it is here */
	struct wire wire;          /* its frame; the pointers are to `header` and the payload */
	uint8_t  header[LINK_HEADER_BYTES]; /* header of the message, or of the batch's first one */
	uint8_t  payload[LINK_WHOLE_BYTES]; /* unless it is in `batch` */
};

#define AGGREGATE_FRAMES 12u       /* most frames of an aggregate */

/* A frame that the card has not yet read, if its header is not in its message's record. Or an
 * aggregate: the headers of its frames are in their messages' records. */
struct transmit {
	uint16_t next;
	uint16_t send;             /* the message of a MSG or BULK frame, or NO_RECORD */
	uint8_t part;              /* 1: a BULK frame */
	uint8_t messages;          /* frames of an aggregate, one message each; 0: a single frame */
	uint16_t frames[AGGREGATE_FRAMES]; /* aggregate: indices of the messages */
	uint8_t  header[WIRE_DATA] __attribute__((aligned(64)));
};

/* A pool of records of one size. A record begins with a uint16_t, which links free records. */
struct record_pool {
	uint8_t *base;
	uint32_t bytes;            /* size of a record */
	uint16_t limit, used;      /* records in the pool, and in use */
	uint16_t high;             /* most records that were ever in use */
	uint16_t free;             /* first free record, or NO_RECORD */
};

#define BULK_POSTED   64u          /* most buffers posted to the card; a power of two */
#define BULK_BUFFERS  128u         /* most buffers in use: posted, or with parts that wait for
                                      earlier ones; a power of two */
#define BULK_PARTS_OUT 64u         /* most parts that the cards have not yet read */

/* Values of buffer.at that are not a buffer's index: */
#define PART_MISSING  0xffu        /* the part has not arrived */
#define PART_ASIDE    0xfeu        /* the part is in the memory that is set aside */

/* A receive buffer: the final memory of one part. The card has it, or one part is in it; unless the
 * parts come by the ordinary card. */
struct buffer {
	uint16_t assembly;         /* the part's message */
	uint8_t  at;               /* index of the buffer in which this part is now, see above */
	uint32_t part;             /* the part's number in its message */
	uint32_t after;            /* number of a buffer: if its part, or a later one, arrives by
	                              its first transmission, this part is lost */
	uint32_t others;           /* bulk.others when it was posted */
	struct memory memory;      /* while `lossy`: contains the buffer */
};

/* Long messages, the receiver. Written by bulk.c and bulk_land.c; `others` by receive.c and
 * reassemble.c, too. Buffers have consecutive numbers, which wrap. */
struct bulk {
	uint8_t copied;            /* 1: the granted parts come by the ordinary card */
	uint8_t tries;             /* timeouts in this turn since the last part arrived */
	uint8_t backoff;           /* doublings of the timeouts in this turn */
	uint32_t flow;             /* the flow that has the turn, and so sends parts of long messages
	                              to this node; or NO_FLOW */
	uint16_t first;            /* list of messages that wait for a turn: one of each flow */
	uint16_t *end;             /* where that list ends: NO_RECORD is there */
	uint16_t most;             /* most buffers posted */
	uint16_t lossy;            /* after a loss: parts to land in place until buffers may share
	                              memory again; 0: no recent loss */
	uint32_t others;           /* frames with payload of other nodes during turns, and calls
	                              of link_note_writes; it wraps */
	struct flow *deferred;     /* the flow of answers to the peer that has the turn, if they are
	                              deferred; or null */
	uint32_t oldest, next;     /* numbers of the first buffer in use and of the next new one */
	uint32_t posted, filled;   /* count of buffers posted so far, and of those filled */
	uint32_t spent;            /* parts granted in this turn */
	uint32_t level;            /* buffers posted just after the last grant */
	uint32_t unreported;       /* buffers posted since the last one that interrupts */
	uint32_t trip;             /* ns from a grant to its first part, smoothed */
	uint32_t gap;              /* ns between two parts that arrive, smoothed */
	uint64_t landed_at;        /* ns: when the last part arrived */
	uint64_t granted_at;       /* ns: when a grant was sent while none was open, or 0 */
	uint64_t shared_from;      /* ns: when the turn began or, if that was later, the first of
	                              those that wait now began to wait */
	uint64_t at;               /* ns: when the turn's timer expires, or LINK_NEVER */
	uint8_t *aside;            /* memory for one part */
	uint8_t ring[BULK_POSTED]; /* indices of the posted buffers, in the card's order */
	struct buffer buffers[BULK_BUFFERS]; /* a buffer's index is its number modulo the size */
};

/* Long messages, the sender. Written by bulk_send.c; `full` by receive.c and clock.c, too, and
 * `parts_out` by frame.c and receive.c. */
struct bulk_send {
	uint16_t first;            /* list of messages that have parts to send */
	uint16_t parts_out;        /* parts that the cards have not yet read */
	uint32_t flow;             /* the flow of the last part that was sent */
	uint32_t longest;          /* most payload bytes of a part; 0: there is no bulk card */
	uint8_t full;              /* 1: the bulk card's transmit ring is full */
};

struct link {
	struct link_config config; /* as given to link_open */
	struct nic *nic;           /* the ordinary card */
	struct nic *bulk_nic;      /* the bulk card, or null */
	void *context;             /* argument of link_port_* */
	const uint8_t *key;        /* config.key, or null */
	uint32_t fragment;         /* payload bytes that fit in a frame */
	uint8_t long_window;       /* config.window_bytes in frames of full length */
	uint8_t most_unacked;      /* three quarters of long_window */
	uint8_t ring_share;        /* frames of the card's ring for each sender */
	struct wire_fast_prefix prefix; /* start of the frames of the fast path */
	uint16_t most_requests;    /* records that the lane of requests may use */
	uint16_t n_delayed;        /* flows with FLOW_DELAYED */
	uint64_t delayed_until;    /* ns: when all delayed messages are sent, if there are any */
	uint64_t counters[LINK_COUNTERS_END];
	struct flow *flows;        /* a peer's two flows are adjacent, that of requests first */
	uint32_t n_flows;          /* flows in use; they are never freed */
	uint16_t *peers;           /* by node: index of the peer, or NO_RECORD */
	uint32_t timed;            /* list of flows with a timer, or that had one when clock.c
	                              last looked */
	uint32_t due;              /* units: no timer of these flows expires earlier */
	uint32_t ready_first, ready_last; /* ready list: flows that may have something to send */
	uint16_t sends_used[LINK_LANES]; /* records of messages in use, by lane */
	uint16_t reserved;         /* records reserved for answers */
	uint32_t senders;          /* flows on which data came in this epoch */
	uint32_t sharers;          /* ring_share is for that many: the larger of `senders` and those
	                              of the previous epoch, at least 1 */
	uint16_t epoch;            /* number of the present epoch; wraps */
	uint8_t transmitting;      /* 1: transmit does nothing, as a caller sends, or will */
	uint8_t stalled;           /* 1: the card was full; cleared by a completion or a tick */
	uint8_t guards;            /* 1: frames have tags or payload checksums */
	uint16_t ended_with_card;  /* messages that have ended and wait for the card */
	uint64_t now;              /* ns: when the link was last called, as its caller said */
	struct record_pool sends, assemblies, stashes, transmits, batches;
	struct bulk bulk;
	struct bulk_send bulk_send;
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

static inline struct assembly *assembly_at(const struct link *link, uint32_t index)
{
	return (struct assembly *)link->assemblies.base + index;
}

static inline struct stash *stash_at(const struct link *link, uint32_t index)
{
	return (struct stash *)link->stashes.base + index;
}

static inline struct transmit *transmit_at(const struct link *link, uint32_t index)
{
	return (struct transmit *)link->transmits.base + index;
}

static inline struct batch *batch_at(const struct link *link, uint32_t index)
{
	return (struct batch *)link->batches.base + index;
}

/* Count one more record in use. */
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

/* Whether a is before b, as serial numbers (RFC 1982). */
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

/* Whether a frame under way is, or recently was, known to be missing. */
static inline int flow_has_gap(const struct flow *flow)
{
	return (flow->tx.sacked | flow->tx.lost | flow->tx.resent) != 0;
}

/* The send window now, in frames from una on: not beyond the maps while there is a gap. */
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

/* ---- what a flow has received ---- */

/* 1: an announced message waits for its payload. */
static inline int assembly_waits(const struct assembly *assembly)
{
	return assembly->received != assembly->parts;
}

/* 1: frame `expected` is an announcement that has arrived and waits for its payload. */
static inline int flow_waits(const struct flow *flow)
{
	return flow->rx.arrived & 1;
}

/* 1: a cumulative acknowledgement describes all that this flow has received, so frames of the
 * other lane can carry it. */
static inline int flow_is_cumulative(const struct flow *flow)
{
	return !(flow->rx.arrived | flow->rx.refused);
}

/* A frame that is sent now carries this flow's acknowledgement: open the receive window to the
 * peer's share of the card's ring, and cancel the pending bare acknowledgement. */
static inline void flow_piggyback(struct flow *flow, uint8_t share)
{
	if (flow->rx.window < share)
		flow->rx.window = share;
	flow->rx.unacked = 0;
	flow->rx.flags = 0;
}

#endif
