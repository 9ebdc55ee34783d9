/*
 * The link: messages from node to node over a network that loses, duplicates, reorders and
 * damages frames. Each message arrives once, in order and intact, or the peer is lost: then the
 * sender learns that it failed. The link knows nothing of Portals.
 *
 * There are no connections. Between two nodes there are up to two flows each way (lanes), one
 * for requests and one for answers, so that an answer never waits behind a request that the
 * peer cannot accept yet. Both lanes together take 242 bytes per peer. link_open is given memory
 * for config.nodes peers; a peer's part is touched at the first message to it or from it.
 *
 * docs/wire.md, "How it becomes reliable" and "Long messages without a copy", says what happens
 * to each frame; flow_state.h has the states of a flow. A peer is given up after config.tries
 * timeouts of one frame in which the frame was neither acknowledged, nor waited for its payload,
 * nor was refused. Toward that peer this node then counts as restarted, so that the peer, too,
 * ends everything that was under way.
 *
 * All memory comes from the caller of link_open. Time is an argument, in ns. The caller must
 * serialise all calls. link_port_* are called from within them and may call link_send.
 */
#ifndef NET_LINK_LINK_H
#define NET_LINK_LINK_H
#include <stdint.h>
#include "../nic.h"

#define LINK_HEADER_BYTES  112u    /* of a message's header */
#define LINK_PUT_BYTES     32u     /* of a plain put's header */
#define LINK_WHOLE_BYTES   128u    /* up to this, a message's payload is in one frame */
#define LINK_FRAME_BYTES   80u     /* of a frame's own header, in front of the message's */
#define LINK_ROOM_BYTES    128u    /* longest payload that fits in a message's record */
#define LINK_FAST_BYTES    64u     /* longest payload of link_fast_room */
#define LINK_USER_WORDS    8u      /* 8-byte words of a message's record for the link's user */
#define LINK_MOST_WINDOW   192u    /* most frames under way in a flow; 64 while it has a gap */
#define LINK_FIRST_WINDOW  8u      /* the same before the first frame from the peer */
#define LINK_MOST_TRIES    255u    /* largest link_config.tries */
#define LINK_ANNOUNCE      65536u  /* usual link_config.announce with a bulk card */
#define LINK_NEVER         (~0ULL) /* a time that does not come */

/* Times in ns. docs/measurements.md, "What each mechanism of the link gives", has the effect of the
 * delays and of the longest timeout. */
#define LINK_BATCH_DELAY   50000ull        /* longest that a short message is delayed for a batch:
                                              about a round trip over virtio */
#define LINK_ACK_DELAY     200000ull       /* longest that an acknowledgement waits to be
                                              piggybacked: several round trips, so an answer mostly
                                              carries it sooner */
#define LINK_AGAIN_DELAY   100000ull       /* until refused frames are requested again: time for
                                              the user to free records */
#define LINK_FIRST_TIMEOUT 20000000ull     /* retransmission timeout before the first measured
                                              trip; the host may be busy */
#define LINK_LEAST_TIMEOUT 2000000ull      /* least retransmission timeout: below this a busy
                                              host's delays look like losses */
#define LINK_MOST_TIMEOUT  200000000ull    /* longest retransmission timeout: bounds the pause
                                              after several losses in a row */

enum link_result {
	LINK_OK    =  0,
	LINK_FULL  = -1,           /* no record free: try again after the next link_port_sent */
	LINK_WRONG = -2            /* invalid arguments, or there is no such node */
};

/* The user's answer to an arriving message: take it, take it without its payload, discard it, or ask
 * for it again later. */
enum link_verdict { LINK_TAKE, LINK_HEADER, LINK_DROP, LINK_BUSY };

enum link_lane { LINK_REQUESTS, LINK_ANSWERS };
#define LINK_LANES         2u

/* X(name, what it counts) */
#define LINK_COUNTERS(X) \
	X(MESSAGES_OUT,  "messages sent and acknowledged") \
	X(MESSAGES_IN,   "messages received completely") \
	X(FRAMES_OUT,    "frames given to a card") \
	X(FRAMES_IN,     "frames received from the ordinary card") \
	X(DATA_OUT,      "frames given to a card that carry a message, a fragment or a batch") \
	X(BATCHES,       "batches of short messages begun") \
	X(BATCHED,       "messages in batches, without the first one of each") \
	X(AGGREGATES,    "frames given to a card that hold several frames") \
	X(AGGREGATED,    "frames in aggregates, without the first one of each") \
	X(RESENT,        "frames retransmitted") \
	X(FAST,          "frames found lost before their timeout (fast retransmission)") \
	X(TIMEOUTS,      "retransmission timeouts") \
	X(ACKS_OUT,      "bare acknowledgements sent") \
	X(DUPLICATES,    "frames that had arrived before") \
	X(EARLY,         "frames refused or dropped: what they must follow is missing") \
	X(STASHED,       "short messages kept until the frames before them have arrived") \
	X(REFUSED,       "frames refused for want of a record, of the link's or of its user's") \
	X(OUTSIDE,       "frames outside the receive window") \
	X(SHORT,         "frames with an invalid length") \
	X(FOREIGN,       "frames of another protocol, version or address") \
	X(DAMAGED,       "frames with a wrong checksum; some retransmissions, see docs/wire.md") \
	X(FORGED,        "frames with a tag that was not made with this job's key") \
	X(NONSENSE,      "frames whose fields contradict each other or an earlier frame") \
	X(GHOSTS,        "frames from or to an earlier incarnation") \
	X(RESETS_OUT,    "RESET frames sent in answer to them") \
	X(LOST,          "peers lost: everything that was under way with them has failed") \
	X(FAILED_OUT,    "messages that could not be sent") \
	X(ANNOUNCED,     "long messages sent as an announcement") \
	X(GRANTS_OUT,    "grants sent, repeated ones included") \
	X(PARTS_OUT,     "parts of long messages sent") \
	X(PLACED,        "parts that landed in their own buffer") \
	X(MISPLACED,     "frames on the bulk card that were not the part of their buffer") \
	X(MOVED,         "misplaced parts copied to their place") \
	X(COPIED,        "parts that came to the ordinary card and were copied") \
	X(WITHDRAWN,     "times that buffers were withdrawn from the bulk card") \
	X(PASSED,        "turns that ended because nothing, or little, arrived") \
	X(CARD_FULL,     "times that a card's ring or the frame records were full")

enum link_counter {
#define X(name, what) LINK_##name,
	LINK_COUNTERS(X)
#undef X
	LINK_COUNTERS_END
};

/*
 * A message to be sent: the part of its record that the user may write. It is valid from
 * link_message until link_port_sent. The card reads header and payload from here.
 */
struct link_message {
	uint64_t user[LINK_USER_WORDS];        /* for the user's own data */
	uint8_t  frame[LINK_FRAME_BYTES];      /* written by the link */
	uint8_t  header[LINK_HEADER_BYTES];    /* must not change after link_send */
	uint8_t  payload[LINK_ROOM_BYTES];     /* used with is_inline; must not change either */
};

/* Numbers of records are limits for the whole link. */
struct link_config {
	uint32_t node;             /* own id */
	uint32_t nodes;            /* ids are below this; at most 65535 */
	uint32_t incarnation;      /* of this life, not 0; a serial number (it wraps). Failures add
	                              to it; the next life's must be larger than any such sum */
	uint8_t  strict;           /* 1: the node may have lived before. Accept nothing from a peer
	                              that does not know this incarnation (costs one round trip) */
	uint8_t  check_payload;    /* 1: frames carry a checksum of the payload */
	uint8_t  keyed;            /* 1: frames carry a tag made with `key` instead of checksums */
	uint8_t  key[16];          /* the job's secret key */
	uint16_t sends;            /* records of messages being sent, for all flows */
	uint16_t answers;          /* of these, records reserved for LINK_ANSWERS */
	uint16_t assemblies;       /* records of messages being received in several frames */
	uint16_t stashes;          /* records of short messages that arrived early */
	uint16_t transmits;        /* records of frames that the card has not yet read */
	uint16_t batches;          /* batches being sent or arrived early; 0: never make a batch */
	uint16_t tries;            /* timeouts of one frame before its peer is given up; at most
	                              LINK_MOST_TRIES */
	uint32_t announce;         /* messages of this many payload bytes or more are announced;
	                              0: none */
	uint32_t window_bytes;     /* most payload bytes of one flow under way, but at least
	                              LINK_FIRST_WINDOW frames; messages of at most 4 KiB do not
	                              count */
	uint64_t boot_deadline;    /* ns: a point in time; until then a peer that was never heard
	                              from may still be booting, and is not given up */
};

/* The default configuration for a job of `nodes` nodes, which announces nothing; the caller may
 * change any field. */
struct link_config link_defaults(uint32_t node, uint32_t nodes, uint32_t incarnation);

/* The user's data about one message that is being received in parts. */
struct link_target {
	uint64_t room[21];
};

struct link;

/*
 * The link's port: functions that its user, net/frames, defines. The link calls them from within
 * its own functions, and they may call link_send. `context` is link_open's. `header` and
 * `payload` are bytes of a received frame: they may contain anything, and are valid only during
 * the call. `node` is the sender, by the frame's source address.
 */

/* A message with all its payload in one frame. Every message of up to LINK_WHOLE_BYTES comes by
 * this call, and a longer one if it is in order. LINK_BUSY: the link delivers it again later. */
int link_port_whole(void *context, uint32_t node, uint32_t lane, const void *header,
		    const void *payload, uint32_t bytes);
/* The same for a plain put: a request with a header of LINK_PUT_BYTES and at most LINK_FAST_BYTES
 * of payload. The user cannot be busy for it. */
void link_port_put(void *context, uint32_t node, const void *header, const void *payload,
		   uint32_t bytes);
/* Another message begins. After LINK_TAKE link_port_data and link_port_end follow, after
 * LINK_HEADER only link_port_end, after LINK_DROP neither. LINK_BUSY: it begins again later. If the
 * message is announced, payload that is not taken is not sent. */
int link_port_begin(void *context, uint32_t node, uint32_t lane, const void *header,
		    uint64_t length, struct link_target *target);
/* Payload bytes [at, at + bytes) of a begun message, in any order. Each byte comes once, unless the
 * message was announced: those may come again after a loss. */
void link_port_data(void *context, struct link_target *target, uint64_t at,
		    const void *payload, uint32_t bytes);
/* A begun message is complete, or has failed. Messages end in the order in which they began. */
void link_port_end(void *context, struct link_target *target, int fail);
/* The final addresses of payload bytes [at, at + bytes) of a begun message, in at most `most`
 * pieces: a card will write there directly. Returns the number of pieces, 0 if there is no
 * such memory. Bytes that a card has written there do not come by link_port_data. */
uint32_t link_port_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			 struct nic_piece *pieces, uint32_t most);
/* The addresses of payload bytes [at, at + bytes) of a message being sent: returns the number of
 * pieces. The link may ask for the same bytes several times, until link_port_sent. */
uint32_t link_port_gather(void *context, const struct link_message *message, uint64_t at,
			  uint32_t bytes, struct nic_piece *pieces, uint32_t most);
/* A message has ended. Without `fail` the peer has received all of it. The card may still have
 * to read a needless retransmission, whose contents do not matter. With `fail` the peer was given
 * up, and the card has read every frame that was sent; the message may have arrived nevertheless.
 * The record may be read until the next call of link_message. */
void link_port_sent(void *context, struct link_message *message, int fail);
/* A message of link_fast_send with this many payload bytes has failed, as by link_port_sent. */
void link_port_failed(void *context, uint32_t bytes);
/* Everything that was under way with this node has failed, and answers to earlier requests will
 * not come. Messages that the card still reads end when it is done. The node has restarted or is
 * unreachable. Messages sent from now on are tried anew. */
void link_port_lost(void *context, uint32_t node);

/* Bytes that link_open needs for this configuration; 0: the configuration is invalid. */
uint64_t link_bytes(const struct link_config *config);

/* Make a link in `memory` (64-byte aligned, link_bytes bytes). The user polls the cards and
 * passes their callbacks on: of the ordinary card to link_receive and link_transmitted, of the bulk
 * card to link_landed and link_transmitted. The bulk card is used for granted payload, in both
 * directions. It has post and withdraw and carries nothing else; all nodes' bulk cards have the
 * same number. Without one (null), or without config.announce, the link announces nothing, and
 * copies what its peers announce.
 * All senders share the ordinary card's receive ring as their windows. Null: the configuration is
 * invalid, or the MTU of the ordinary card is too small. */
struct link *link_open(void *memory, const struct link_config *config, struct nic *nic,
		       struct nic *bulk, void *context);

/* The record of the next message, for the user to fill; link_has_room says whether there is one.
 * It stays free until link_send, so nothing else may be sent in between. */
struct link_message *link_message(const struct link *link);

/*
 * Send the message in link_message's record: its header and `length` bytes of payload. With
 * `is_inline` the payload is in the record (at most LINK_ROOM_BYTES); otherwise link_port_gather
 * shows it until link_port_sent. Messages to one node and lane stay in order. `fragment`: most
 * payload bytes that are always in at most NIC_PIECES - 1 pieces; 0: no limit. A node does not
 * send to itself.
 */
int link_send(struct link *link, uint64_t now, uint32_t node, enum link_lane lane,
	      uint64_t length, int is_inline, uint32_t fragment);

/*
 * The fast path of plain puts: short requests with a header of LINK_PUT_BYTES, of which only
 * failures are reported to the user (unsignalled, as in RDMA). link_fast_room returns memory for
 * this header, 8-byte aligned, and right behind it for at most LINK_FAST_BYTES of payload. `header`
 * is null if there is no room now, or the node is not yet known. The user fills it and calls
 * link_fast_send, with no other call of the link in between, or does nothing. link_port_gather and
 * link_port_sent are not called for the message; link_port_failed is called if it fails. The peer
 * gets it by link_port_put.
 */
struct link_room {
	uint8_t *header;
	struct flow *flow;         /* for link_fast_send */
};

struct link_room link_fast_room(struct link *link, uint32_t node);
/* 1: the message has left, or has joined delayed ones. Of the times that link_deadline depends
 * on, only link_due may have changed. 0: call link_deadline again. */
int link_fast_send(struct link *link, struct link_room room, uint64_t now, uint32_t bytes);

/*
 * While frames of a flow are under way, such messages are delayed for a batch (batch.c), for at
 * most LINK_BATCH_DELAY. A user that is about to wait, and so sends nothing more for a while,
 * calls link_flush to send them. link_has_delayed: 1 if there are any.
 */
void link_flush(struct link *link, uint64_t now);
int link_has_delayed(const struct link *link);

/* 1 if link_send to this node would find a record. A node never gets more records than it leaves
 * free, so that a slow node does not block the others. */
int link_has_room(const struct link *link, uint32_t node, enum link_lane lane);

/* Messages to this node and lane that have not ended yet. */
uint32_t link_sends_to(const struct link *link, uint32_t node, enum link_lane lane);

/* Reserve a record of the lane of answers: 1, or 0 if there is none. Call link_unreserve right
 * before the link_send that uses it. */
int link_reserve(struct link *link, uint32_t node);
void link_unreserve(struct link *link);

/* The bulk card's callback. */
void link_landed(struct link *link, uint64_t now, const uint8_t *header, uint32_t bytes);
/* 1: the bulk card has no buffers posted and no frames to read, so it need not be polled. */
int link_bulk_is_idle(const struct link *link);

/* The ordinary card's callbacks. */
void link_receive(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes);
void link_transmitted(struct link *link, uint64_t now, uint64_t cookie);

/* The time at which link_tick must be called; it may be too early. LINK_NEVER: not at all. */
uint64_t link_deadline(const struct link *link);
/* Called before the user halts. Sends acknowledgements that a peer may wait for, and makes
 * link_deadline exact: timers that move to a later time do not update it, so it may be too
 * early and would end the halt for nothing. */
void link_before_halt(struct link *link, uint64_t now);
/* The part of link_deadline that comes from retransmissions and acknowledgements. */
uint64_t link_due(const struct link *link);
/* 1: at time `at`, and soon after it, link_tick has only retransmissions to do. Call
 * link_before_halt first. */
int link_only_retransmits(const struct link *link, uint64_t at);
void link_tick(struct link *link, uint64_t now);
/* Outside the link's calls the user may have written to memory that messages go to, for example by
 * a put to this node itself. Called before the next link_landed or link_tick. */
void link_note_writes(struct link *link);

/* The user knows that this node has ended: everything that is under way with it fails. `next`: the
 * incarnation of its next life; nothing happens if the link knows it already. 0: there is none. */
void link_ended(struct link *link, uint64_t now, uint32_t node, uint32_t next);

/* Messages to all nodes that have not ended yet, and records that link_reserve has reserved and
 * link_unreserve has not released. */
uint32_t link_pending(const struct link *link);

struct link_figures {
	uint64_t counters[LINK_COUNTERS_END];  /* by enum link_counter */
	uint64_t peer_bytes;                   /* bytes of state of all peers */
	uint32_t records;                      /* in use now, of all pools */
	uint32_t sends;                        /* of these, messages that have not ended */
	uint32_t sends_high;                   /* most messages being sent at once */
	uint32_t parts_high;                   /* most messages being received in several frames */
	uint32_t early_high;                   /* most short messages that had arrived early */
};

struct link_figures link_figures(const struct link *link);

#endif
