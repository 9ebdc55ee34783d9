/*
 * The link: messages from node to node over a network that loses, repeats,
 * reorders and damages frames. Every message arrives once, in order, right to
 * the byte, or both sides hear of its failure. It knows no portals.
 *
 * There is no connection. Between two nodes there are up to two flows each way,
 * one for requests and one for answers (lanes), so that an answer never waits
 * behind a request that the peer cannot take yet. Both lanes' state is 248
 * bytes per peer that was ever heard of or sent to, from the memory that the link is given
 * for config.peers of them: no more is touched than is used.
 *
 * The sending half of a flow (message.c, transmit.c, ack.c, clock.c) is in one of the states
 * of flow_state.h. A peer is given up when a frame has had as many timeouts as config.tries,
 * and neither arrived, nor waited, nor was refused.
 *
 * The receiving half (receive.c, reassemble.c; expected: first frame missing):
 *
 *   frame                          action
 *   before expected, or arrived    acknowledge at once
 *   outside the granted window     drop
 *   64 or more behind a gap        drop: the maps end there. The sender knows, once it has
 *                                  heard of the gap, and sends all these again
 *   of a message that has begun    data, acknowledge; in order: end of what is whole
 *   first of the next message,     begin, data
 *     or shows where it begins
 *   batch, in its turn            each message to the user, from the first that it has not
 *                                  taken on; BUSY ends that, and the frame comes again
 *   of a later one                 into the stash if it is short, else drop, and ask
 *                                  for it AGAIN a little later
 *   begin says BUSY                likewise
 *   announcement                   begin; it waits: `expected` stays there until the payload
 *                                  is whole, so what follows can begin, but not end
 *
 * The payload of long messages is granted, one peer at a time (bulk.c, bulk_land.c,
 * bulk_send.c). Whose turn it is sends parts of its messages in order to a card of its own, which
 * holds buffers for these parts only, at their final addresses. The receiver's turn:
 *
 *   state     event                         action, next state
 *   NONE      a message waits               next peer's turn, buffers are posted and granted: TURN
 *   TURN      a part landed in its buffer   few are left: others, grant them: TURN
 *             all landed, none is left      NONE
 *             others wait, had its share,   NONE, and behind the others
 *               all landed
 *             the first misplaced frame,    take buffers back, post and grant such as share
 *               or card reset                 no memory: TURN
 *             another misplaced part        it stays until its own buffer is filled; what was sent
 *                                             before it is granted again: TURN
 *             other frames                  what belongs in the buffer is moved there, or the
 *                                             buffer is posted again: TURN
 *             timer                         grant again; take buffers back: NONE
 *             peer LOST                     take buffers back: NONE
 *
 * Parts that cannot have a buffer are granted for the ordinary card, and copied.
 * A peer whose turn ended by a timer waits for another until something is heard of it. What the
 * buffers bring that a turn begins with while others wait is acknowledged, and its answers
 * leave, when more are granted or the turn ends.
 *
 * Incarnations (receive.c). Each node has a number that grows when it restarts.
 * Toward one peer it grows also when that peer was given up, so that the peer
 * sees the same: everything of before is over. Frames name both sides' numbers.
 *
 *   source older than known        drop: a ghost
 *   destination not mine           drop, answer RESET with mine
 *   destination 0 (unknown)        accept on a node's first incarnation; else RESET
 *   source newer than known        LOST, then accept (link_renewed: LOST)
 *   RESET for mine, newer source   remember it; LOST, unless the peer is heard of for the
 *                                  first time and does not say OVER
 *
 * Memory comes from the caller and is never more; time is an argument, in ns.
 * All functions want the same exclusion; the calls up (link_port_*) come
 * from within them and may call link_send.
 */
#ifndef NET_LINK_LINK_H
#define NET_LINK_LINK_H
#include <stdint.h>
#include "../nic.h"

#define LINK_HEADER_BYTES  112u    /* of a message's header */
#define LINK_WHOLE_BYTES   128u    /* longest payload that comes by whole() */
#define LINK_FRAME_BYTES   80u     /* of a frame's own header, in front of the message's */
#define LINK_ROOM_BYTES    128u    /* longest payload that a message's record has room for */
#define LINK_FAST_BYTES   64u     /* longest payload of link_fast_room */
#define LINK_USER_WORDS    8u      /* of a message's record, for its user */
#define LINK_MOST_WINDOW   192u    /* frames under way in one flow; behind a gap, 64 */
#define LINK_FIRST_WINDOW  8u      /* the same before the peer was heard of */
#define LINK_MOST_TRIES    255u    /* of struct link_config */
#define LINK_NEVER         (~0ULL)

enum link_result {
	LINK_OK    =  0,
	LINK_FULL  = -1,           /* no record free: after the next sent() try again; or no
	                              memory for another peer (LINK_NO_PEER), for good */
	LINK_WRONG = -2            /* arguments that cannot be, or a node that does not exist */
};

enum link_verdict { LINK_TAKE, LINK_DROP, LINK_BUSY };

enum link_lane { LINK_REQUESTS, LINK_ANSWERS };
#define LINK_LANES         2u

/* X(name, what) */
#define LINK_COUNTERS(X) \
	X(MESSAGES_OUT,  "messages sent and acknowledged") \
	X(MESSAGES_IN,   "messages that have arrived whole") \
	X(FRAMES_OUT,    "frames given to the card") \
	X(FRAMES_IN,     "frames that the card gave") \
	X(DATA_OUT,      "of them with a part of a message, or several messages") \
	X(BATCHES,       "batches of short messages begun") \
	X(BATCHED,       "messages in them, but for the first of each") \
	X(AGGREGATES,    "frames given to the card that hold several") \
	X(AGGREGATED,    "messages' frames in them, but for the first of each") \
	X(RESENT,        "frames sent again") \
	X(FAST,          "of them before the timer said so") \
	X(TIMEOUTS,      "times that a timer said so") \
	X(ACKS_OUT,      "acknowledgements by themselves") \
	X(DUPLICATES,    "frames that had arrived before") \
	X(EARLY,         "frames dropped because what comes before was missing") \
	X(STASHED,       "short messages kept until what comes before has arrived") \
	X(REFUSED,       "frames refused for want of a record, here or of the user's") \
	X(OUTSIDE,       "frames outside the granted window") \
	X(SHORT,         "frames with a length that cannot be") \
	X(FOREIGN,       "frames of another protocol, version or address") \
	X(DAMAGED,       "frames with a wrong checksum; also repeats, see docs/wire.md") \
	X(FORGED,        "frames with a tag that this job's key does not make") \
	X(NONSENSE,      "frames whose fields contradict each other or what came before") \
	X(GHOSTS,        "frames of or for an earlier incarnation") \
	X(RESETS_OUT,    "answers to such frames") \
	X(LOST,          "times that everything with a peer was over") \
	X(FAILED_OUT,    "messages that could not be sent") \
	X(FAILED_IN,     "messages that began and never will be whole") \
	X(ANNOUNCED,     "long messages whose payload waits for a grant") \
	X(GRANTS_OUT,    "grants sent, repeated ones too") \
	X(PARTS_OUT,     "parts of such messages sent") \
	X(PLACED,        "parts that the card has put in their place") \
	X(MISPLACED,     "frames that it put elsewhere, or that are no part that is awaited") \
	X(MOVED,         "parts that were copied from there to their place") \
	X(PULLED,        "parts that came to the ordinary card and were copied") \
	X(TAKEN_BACK,    "times that buffers were taken back from the bulk card") \
	X(PASSED,        "turns that ended because nothing came") \
	X(CARD_FULL,     "times that the card or the headers ran out") \
	X(NO_RECORD,     "times that link_send or link_reserve found no record") \
	X(NO_PEER,       "frames of, and messages to, peers for which there is no memory")

enum link_counter {
#define X(name, what) LINK_##name,
	LINK_COUNTERS(X)
#undef X
	LINK_COUNTERS_END
};

/*
 * A message to be sent, its user's part: from link_message until sent(). Header and payload
 * lie where the card reads them.
 */
struct link_message {
	uint64_t user[LINK_USER_WORDS];        /* what the user keeps of it */
	uint8_t  frame[LINK_FRAME_BYTES];      /* the link's */
	uint8_t  header[LINK_HEADER_BYTES];    /* written before link_send, and not afterwards */
	uint8_t  payload[LINK_ROOM_BYTES];     /* likewise, if link_send is told that it is here */
};

struct link_config {
	uint32_t node;             /* own id */
	uint32_t nodes;            /* ids are below this; at most 65535 */
	uint32_t incarnation;      /* this life's, not 0; compared as serial numbers, the next
	                              life's larger by more than failures may add to it */
	uint8_t  strict;           /* 1: the node may have lived before: accept nothing from a peer
	                              that does not know this incarnation (costs a round trip once) */
	uint8_t  check_payload;    /* 1: checksums of payload */
	uint8_t  keyed;            /* 1: frames carry a tag, which makes the checksums superfluous */
	uint8_t  key[16];          /* the job's: with it frames can be forged */
	uint16_t peers;            /* most of them: 248 bytes are kept for each */
	uint16_t sends;            /* messages being sent, of all flows */
	uint16_t answers;          /* of them kept for LINK_ANSWERS */
	uint16_t assemblies;       /* messages being received in parts */
	uint16_t stashes;          /* short messages that came too early */
	uint16_t transmits;        /* frames that the card has not yet read */
	uint16_t batches;          /* of short messages, being sent or come too early; 0: none */
	uint16_t tries;            /* timeouts of one frame before its peer is given up; at most
	                              LINK_MOST_TRIES */
	uint32_t announce;         /* payload bytes from which on a message is announced; 0: none */
	uint32_t ring;             /* short frames that may come at once: about the windows' sum */
	uint32_t window_bytes;      /* payload of one flow under way, of at least LINK_FIRST_WINDOW
	                              frames; messages of one page or less do not count */
	uint64_t batch_delay;      /* ns that a short message may wait for its batch */
	uint64_t ack_delay;        /* ns that an acknowledgement may wait for a frame that carries it */
	uint64_t again_delay;      /* ns until what was refused is asked for again */
	uint64_t first_timeout;    /* ns, before a round trip was measured */
	uint64_t least_timeout, most_timeout; /* ns */
	uint64_t patience;         /* ns: until then a peer that was never heard of may still boot,
	                              and only link_give_up gives it up; 0: is as any other */
};

/* What suits a job of `nodes` nodes; everything may be changed before link_open. */
struct link_config link_defaults(uint32_t node, uint32_t nodes, uint32_t incarnation);

/* The user's room for one message that is being received. */
struct link_target {
	uint64_t room[30];
};

struct link;

/*
 * The link's port: what its user, which is one per program, defines (net/frames/). The calls
 * come from within the link's own work and may call link_send. `context` is link_open's.
 * `header` and `payload` are the wire's bytes: they may be anything, and they are gone after
 * the call. `node` is the sender; that is not forged unless the network lets nodes forge
 * their addresses.
 */

/* A message of at most LINK_WHOLE_BYTES. LINK_BUSY: it comes again. */
int link_port_whole(void *context, uint32_t node, uint32_t lane, const void *header,
		    const void *payload, uint32_t bytes);
/* A longer one begins. LINK_TAKE: data follows, then end; LINK_DROP: neither does. */
int link_port_begin(void *context, uint32_t node, uint32_t lane, const void *header,
		    uint64_t length, struct link_target *target);
/* Every byte once, the pieces in any order. */
void link_port_data(void *context, struct link_target *target, uint64_t at,
		    const void *payload, uint32_t bytes);
/* All of it is there, or (fail) never will be. In the order of begin. */
void link_port_end(void *context, struct link_target *target, int fail);
/* Where payload bytes [at, at + bytes) of a begun message are to be, in at most `most`
 * pieces, which a card then writes: how many, 0 if that cannot be said. What a card has put
 * there does not come by link_port_data. */
uint32_t link_port_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			 struct nic_piece *pieces, uint32_t most);
/* Payload bytes [at, at + bytes) of a message that is sent, in place: returns how many
 * pieces. It may be asked for the same bytes several times, until sent. */
uint32_t link_port_gather(void *context, const struct link_message *message, uint64_t at,
			  uint32_t bytes, struct nic_piece *pieces, uint32_t most);
/* The peer has all of it: if the card still has a frame of it to read, it was sent again in
 * vain, and may say anything. Or (fail) the peer was given up and the card has read all that
 * there was of the message; it may have arrived all the same. The record may be read until
 * the next call of link_message. */
void link_port_sent(void *context, struct link_message *message, int fail);
/* A message of link_fast_room with so many bytes of payload has failed, as sent says it. */
void link_port_failed(void *context, uint32_t bytes);
/* Everything with this node is over: begun messages have ended with failure, and messages
 * under way too, but those that the card still reads do so when it is done; answers that are
 * awaited do not come. The node may have restarted, or be unreachable; what is sent from now
 * on is tried anew. */
void link_port_lost(void *context, uint32_t node);

/* Bytes that link_open needs for this configuration; 0: it cannot be. */
uint64_t link_bytes(const struct link_config *config);

/* Make a link in `memory` (64-byte aligned, of link_bytes bytes). The user polls the card
 * and passes what it hands up to link_receive and link_transmitted. Null: the
 * configuration cannot be, or the card's frames are too short. */
struct link *link_open(void *memory, const struct link_config *config, struct nic *nic,
		       void *context);

/* The record of the next message, to be filled; whether there is one says link_has_room.
 * It is not taken before link_send, and nothing else may send in between. */
struct link_message *link_message(const struct link *link);

/*
 * Send the message of link_message: its header, and `length` bytes of payload, which with
 * `is_inline` lie in its record, LINK_ROOM_BYTES at most, and else gather() will show until
 * sent(). In order with all others of this node and lane. `fragment`: most payload bytes of
 * one frame that gather() can show in NIC_PIECES - 1 pieces; 0: any. A node does not send
 * to itself.
 */
int link_send(struct link *link, uint64_t now, uint32_t node, enum link_lane lane,
	      uint64_t length, int is_inline, uint32_t fragment);

/*
 * The fast path of short requests of which the user hears only if they fail (unsignalled, in
 * the terms of RDMA). link_fast_room returns room for a message's header, at a multiple of 8,
 * and right behind it for its payload of at most LINK_FAST_BYTES: null if there is none now, or
 * the node is not yet known. The user fills it and calls link_fast_send, and nothing else
 * before that; or it leaves it. link_port_gather and link_port_sent are not called for it,
 * but link_port_failed if it fails.
 */
struct link_room {
	uint8_t *header;
	struct flow *flow;         /* the link's */
};

struct link_room link_fast_room(struct link *link, uint32_t node);
/* 1: only link_due may have changed of what link_deadline looks at: the message has left, or is
 * delayed with others already. 0: look at link_deadline again. */
int link_fast_send(struct link *link, struct link_room room, uint64_t now, uint32_t bytes);

/*
 * While frames of a flow are under way such messages are delayed for a batch (batch.c), for
 * config.batch_delay at most. A user that sends nothing more for a while, as it waits for
 * something, calls link_flush: all leave. link_has_delayed: 1 if there are any.
 */
void link_flush(struct link *link, uint64_t now);
int link_has_delayed(const struct link *link);

/* 1 if link_send to this node would find a record. One node gets at most as many
 * as it leaves free, so a slow one does not stop the others. */
int link_has_room(const struct link *link, uint32_t node, enum link_lane lane);

/* Messages of this lane to that node that are being sent. */
uint32_t link_sends_to(const struct link *link, uint32_t node, enum link_lane lane);

/* Keep a record of the lane of answers for later: 1, or 0 if there is none. The
 * link_send that it was kept for comes right after link_unreserve. */
int link_reserve(struct link *link, uint32_t node);
void link_unreserve(struct link *link);

/* This card (it has post and take_back, and no other use) sends and receives what is
 * granted; all nodes' have the same number. Without one nothing is announced, and what
 * others announce is copied. Once, after link_open. Its `sent` is link_transmitted too. */
void link_bulk(struct link *link, struct nic *nic);
void link_landed(struct link *link, uint64_t now, const uint8_t *header, uint32_t bytes);
/* 1: nothing can land on it and it reads nothing: it need not be polled for the link's sake. */
int link_bulk_is_idle(const struct link *link);

/* From the card. */
void link_receive(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes);
void link_transmitted(struct link *link, uint64_t now, uint64_t cookie);

/* When link_tick wants to be called (LINK_NEVER: not at all), perhaps too early. */
uint64_t link_deadline(const struct link *link);
/* Before the user halts: acknowledges what a sender may wait for, and makes link_deadline as
 * late as it can be. It may be too early, as times that move later cost nothing, and the halt
 * would end for nothing. */
void link_before_halt(struct link *link, uint64_t now);
/* The part of it that is about acknowledgements and what is sent again. */
uint64_t link_due(const struct link *link);
/* 1: what link_tick is for at that moment, as link_before_halt leaves it, and soon after it, is
 * only retransmission. */
int link_only_retransmits(const struct link *link, uint64_t at);
void link_tick(struct link *link, uint64_t now);

/* The user knows that this node is dead: as if its tries were used up. */
void link_give_up(struct link *link, uint64_t now, uint32_t node);

/* The user knows that this node lives anew: as if a frame of that incarnation had come.
 * Of those that are known already it is nothing new. */
void link_renewed(struct link *link, uint64_t now, uint32_t node, uint32_t incarnation);

uint64_t link_counter(const struct link *link, enum link_counter counter);

/* Messages that are being sent. */
uint32_t link_sends_used(const struct link *link);

/* For tests and figures: bytes of state that this peer takes; records in use. */
uint32_t link_peer_bytes(const struct link *link, uint32_t node);
uint32_t link_records_used(const struct link *link);

/* The most records of a pool that were ever in use. */
enum link_pool {
	LINK_POOL_SENDS,           /* messages being sent */
	LINK_POOL_ASSEMBLIES,      /* messages being received in parts */
	LINK_POOL_STASHES,         /* short messages that came too early */
};
uint32_t link_pool_high(const struct link *link, enum link_pool pool);

#endif
