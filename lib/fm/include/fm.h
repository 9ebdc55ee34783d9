/*
 * Fast Messages 2.x on Portals, after "Efficient Layering for High Speed Communication: Fast
 * Messages 2.x" by Lauria, Pakin and Chien; [4.1] and the like are its sections, [M] is a choice
 * of Margay. <fm1.h> has the calls of 1.1, <fm_match.h> messages with tags, <fm_socket.h> streams.
 *
 * A message is a stream of bytes to a handler at another rank. It is sent in pieces and received
 * in pieces; their sizes need not agree. Guarantees [3.1, 4.1]: every message arrives, once;
 * messages between two ranks start their handlers in the order in which their first packets were
 * sent, which is that of FM_begin_message if only one is open at a time. Credits hold a sender
 * back. What it has sent lies in the receiver's memory while the receiver computes. The receiver
 * decides when its handlers see a message, and how much of it.
 *
 * Handlers are logical threads [4.1, Transparent Handler Multithreading]. One starts when
 * FM_extract takes the first packet of its message. FM_receive deschedules it while the bytes
 * that it wants have not come; then others run, and FM_extract returns.
 *
 * Packets, credits, limits
 * - A packet is what one put carries. In the receiver's ring it has at most packet_bytes
 *   (FM_get_limits): 65536 with up to 16 ranks, then less. A piece that lands at its final
 *   address is one packet, however long it is.
 * - Each rank has a ring of ring_bytes for each other rank, of `credits` units. A packet uses one
 *   unit for each started unit of its bytes, and also those at the ring's end that it does not fit
 *   into; a piece that lands at its final address uses one. They come back when an eighth of the
 *   ring is free: FM_extract puts the new limit into the sender's memory, which needs no call
 *   there. So the program can send 3/8 of ring_bytes to a rank that extracts nothing; the rest is
 *   for handlers. FM_room says how much it can send now.
 * - That rest makes requests safe: ranks may send each other any number of messages of one packet
 *   whose handlers answer with one packet, not longer than the request. A program whose handlers
 *   send more than that, answer messages of several packets, or send to other ranks, must bound the
 *   messages under way: handlers of several ranks that all wait for each other's credit deadlock. In
 *   jobs of more than 256 ranks it must also bound what handlers send while no call of FM_extract,
 *   FM_wait or FM_room hears of credits: beyond the answers, 1,000 packets. More end the process.
 * - A message is one packet if it is sent in one piece of at most packet_bytes, or in a first piece
 *   of at most FM_INLINE bytes and one more of at most packet_bytes.
 * - A packet's first bytes, at most FM_INLINE, travel in the put's header: a short first piece,
 *   such as a protocol header, causes no copy of the bytes that follow.
 *
 * Results: calls return 0 or more, or -1 with errno. Common: EINVAL: an argument that the call
 * does not allow (a null pointer, a rank or an index out of range, a stream of another kind or
 * that has ended), or FM is not initialised; EHOSTDOWN: the other rank has died or ended [M].
 * Context: the application's one thread, and handlers where the call says so.
 * Portals: the library uses the portals 40 to 43 of the process. It opens the interface itself,
 * even if the program has also done so.
 */
#ifndef FM_H
#define FM_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FM_HANDLERS      256        /* indices of handlers: 0 to 255 */
#define FM_RANKS         512        /* ranks of a job, at most */
#define FM_STREAMS       4          /* messages that one rank may have open to another at a time */
#define FM_LONGEST       UINT32_MAX /* bytes of a message */
#define FM_INLINE        8          /* bytes of a packet that travel in its header */
#define FM_STACK         16384      /* bytes of a handler's stack */
#define FM_DIRECT_LEAST  4096       /* shortest piece that lands without a copy, in bytes */

/* A message that is being sent, or received. Owned by FM. */
typedef struct FM_stream FM_stream;

/*
 * A handler: `sender` is a rank. It runs on a stack of FM_STACK bytes. An overflow ends the process
 * with a line on stderr; the library checks for it in FM_receive, and when the handler waits or
 * returns. The handler may call FM_receive, the calls that send, and FM_stream_bytes. It must
 * return FM_CONTINUE. Bytes of its message that it has not received are discarded. If it sends
 * without credit, it is descheduled until credit comes. Until then the next message of the same
 * sender waits, and all messages wait that came after that one.
 */
typedef int FM_handler(FM_stream *stream, unsigned sender);
#define FM_CONTINUE 0

/* ---- begin and end [M] ---- */

/* Opens the library: all ranks call it, and it waits for all of them. May be called again; each
 * call needs its own FM_finalize. ENOMEM: out of memory or Portals objects; EHOSTDOWN: a rank has
 * died; EOPNOTSUPP: more than FM_RANKS ranks. */
int FM_initialize(void);

/* The last of nested calls waits for all ranks like FM_barrier, and until all that they have sent
 * has arrived; then it closes the library. The others return at once. Messages that have not been
 * extracted by then are lost, and all handlers are forgotten. EBUSY: called by a handler;
 * EHOSTDOWN: closed, though a rank did not come. */
int FM_finalize(void);

/* Waits until all ranks have called it as often as this one. Handlers run meanwhile. It guarantees
 * nothing about messages under way. EBUSY: called by a handler; EHOSTDOWN: a rank is gone. */
int FM_barrier(void);

/* Names a handler; null takes the name away. Messages for an index without a handler are
 * discarded and counted. May be called at any time, also before FM_initialize. */
int FM_register(unsigned index, FM_handler *handler);

/* ---- sending [4.1, table 2] ---- */

/*
 * Begins a message of `size` bytes to rank `dest`, which may be this one, for the handler with
 * that index there. Null with errno: as above, EAGAIN: the caller itself has FM_STREAMS messages to
 * that rank open, or 128 in all. If the program and handlers together have as many, it waits
 * like FM_send_piece until one ends. So while the program keeps FM_STREAMS messages to a rank open,
 * handlers that begin one to that rank do not go on, and FM_extract does not help: a program must not
 * wait for such a handler before it has ended a message. Handlers may call it.
 */
FM_stream *FM_begin_message(unsigned dest, size_t size, unsigned handler);

/*
 * Sends the next bytes of the message. They may be changed when it returns. Pieces of at most
 * 2048 bytes are gathered until they fill a packet or the message is complete. Waits for credit.
 * Meanwhile a handler is descheduled; outside of handlers, messages are extracted packet by packet,
 * and their handlers run (the paper: send calls "do not normally process incoming messages" [3.1]).
 * FM_extract at the other rank ends the wait, or its death. EMSGSIZE: more bytes than the message
 * has left; nothing of the piece is sent. EFAULT: unreadable memory, if the kernel reads it; what
 * the library copies (small pieces; over cards, packets) faults. After EFAULT the rest of the
 * message (FM_stream_bytes says how much) may be sent from other memory, or FM_cancel_message
 * abandons it. EHOSTDOWN: FM_end_message must still be called.
 */
int FM_send_piece(FM_stream *stream, const void *buf, size_t bytes);

/* Ends the message and the stream. EMSGSIZE: bytes are missing, and the stream stays open;
 * EHOSTDOWN: the stream is closed. Waits like FM_send_piece. Handlers may call it. */
int FM_end_message(FM_stream *stream);

/* Abandons a message, for example after EFAULT, and closes its stream. If no packet has been sent,
 * nothing of it arrives. Otherwise the receiver gets what has been sent, and then ECANCELED; for that
 * it waits like FM_send_piece. EALREADY: all of it has been sent; EHOSTDOWN: the stream is closed.
 * Handlers may call it. [M] */
int FM_cancel_message(FM_stream *stream);

/*
 * How many bytes a message to a rank can have, at most packet_bytes, so that it is sent without
 * waiting for credit or until another message ends. It is sent in one piece, or in a first piece of
 * FM_INLINE bytes and the rest. 0: every message waits. If the rank is dead, the calls that send fail
 * without waiting. Handlers may call it. [M]
 */
size_t FM_room(unsigned rank);

/* ---- receiving [4.1, table 2] ---- */

/*
 * In a handler: takes the next bytes of its message. (The paper's table has these arguments, its
 * example another order.) If they have not come, the handler is descheduled until they have.
 * If FM_DIRECT_LEAST bytes or more are missing, the sender learns the address of `buf`: packets
 * that it sends from then on land there without a copy (FM_get_counters: bytes_direct). EMSGSIZE:
 * more than the message has left; nothing is taken. ECANCELED: the sender has abandoned the
 * message, and the rest will not come; what it had sent is given first. EHOSTDOWN: the same, as the
 * sender has died. (Over cards that takes 2 s if it ended by itself.)
 */
int FM_receive(FM_stream *stream, void *buf, size_t bytes);

/* How many bytes of the message FM_receive can still give, or that are still to be sent. [M] */
size_t FM_stream_bytes(const FM_stream *stream);

/*
 * Takes packets that have come, and runs their handlers, until `bytes` bytes are taken, rounded
 * up to a packet, or none is left [4.1, Receiver Flow Control]. Handlers whose credit has come, or
 * whose peer has died, go on first. Never waits. Returns how many bytes those packets had (INT_MAX if
 * more); one without bytes counts as 1. It returns 1 if it took no packet, but a handler has gone
 * on. So after 0 no handler has run, and FM_wait may follow. Every 100 ms it probes the ranks for
 * which handlers wait, like FM_wait, and does not wait for the answers. 0 for `bytes` takes nothing.
 * EBUSY: called by a handler.
 */
int FM_extract(size_t bytes);

/* Waits until a packet can be extracted (1), or `ms` milliseconds are over (0); -1: without limit.
 * The node halts. Every 100 ms, however many packets come, it probes the ranks from which handlers
 * expect the rest of a message, or credit. If one has died, its handlers go on, and the result is 1.
 * The death of another rank does not end the wait: a program that expects the first packet of its
 * message waits with a limit, and calls FM_ask. FM_barrier and calls that wait for credit probe
 * likewise. EBUSY: called by a handler; EHOSTDOWN: a rank died over shared memory while it wrote into
 * this rank's structures, so nothing more comes, and all ranks count as dead. [M] */
int FM_wait(int ms);

/* Checks whether a rank lives: 0, or -1 with EHOSTDOWN, or with ESHUTDOWN: it has ended by itself,
 * and its last messages may still come (over cards, for 2 s). Waits for its kernel's answer.
 * Handlers may call it. [M] */
int FM_check(unsigned rank);

/* Like FM_check, but does not wait: 0 until an answer says otherwise. Each call asks the rank's
 * kernel again, so that a later call reports a death. Handlers may call it. [M] */
int FM_ask(unsigned rank);

/* ---- limits and counters [M] ---- */

struct FM_limits {
	size_t packet_bytes;            /* longest packet in the ring */
	size_t ring_bytes;              /* of the ring of one sender */
	unsigned credits;               /* units of a ring */
	unsigned stacks;                /* most handlers under way at a time */
};

struct FM_counters {
	uint64_t packets_sent;
	uint64_t packets_taken;         /* by FM_extract */
	uint64_t bytes_gathered;        /* copied by FM_send_piece */
	uint64_t bytes_copied;          /* copied out of the ring */
	uint64_t bytes_direct;          /* landed at an address named by FM_receive */
	uint64_t handlers_started;
	uint64_t handlers_waited;       /* times that FM_receive descheduled a handler */
	uint64_t handlers_most;         /* most under way at a time */
	uint64_t credit_waits;          /* sends that found no credit */
	uint64_t discarded;             /* messages without a handler */
};

int FM_get_limits(struct FM_limits *limits);
int FM_get_counters(struct FM_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
