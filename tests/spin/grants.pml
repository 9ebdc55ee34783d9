/*
 * Long messages as a model for spin (`make model`): announcements in the flow, and payload
 * by grants, from A (grants_send.pml: net/link/bulk_send.c) to B (grants_receive.pml:
 * net/link/bulk.c, bulk_land.c) and its bulk card (here), over a network that loses, repeats
 * and reorders. Names and states are those of the code. A timer is either late, so that nothing
 * is under way any more, or too early, which is a fault like the others.
 *
 *   SENDERS    how many A there are; each sends MESSAGES messages of PARTS parts
 *   FAULTS     how often in all a frame is lost, repeated or overtaken, or a timer too early
 *   SHORT      the last message of each A is a short one: whole as soon as it has begun
 *   UNPLACED   any part may be one that the card cannot place
 *   RESTART_A, RESTART_B, GIVEUP_A, GIVEUP_B
 *              it may happen once: a new life, or that the peer is given up
 *   WITHOUT    the number of a rule that is left out: an error must be found
 *
 * What must hold: a message ends only if every byte of it is right. When it ends or fails
 * no room of it is posted, so the card writes to nobody's memory. Messages end in order and
 * once in a life; A is never told so of one that has not ended. Faults are numbered,
 * so every run has an end (no cycle), and in it all messages of A have ended or
 * failed and no room is posted (no other end).
 */
#ifndef SENDERS
#define SENDERS   1
#endif
#ifndef MESSAGES
#define MESSAGES  2
#endif
#ifndef PARTS
#define PARTS     2
#endif
#ifndef FAULTS
#define FAULTS    2
#endif
#ifndef WITHOUT
#define WITHOUT   0
#endif
#define WINDOW    2
#define QUEUE     3            /* frames under way on each wire */
#define ROOMS     2
#define LOW       1            /* with so few rooms left more are posted */
#define SHARE     2            /* parts of a turn, while others wait */
#define GRANT_TRIES 2
#define DRAIN_TRIES 2
#define PULL_TRIES  2
#define ALL       (SENDERS * MESSAGES)
#define LIFE      4            /* a restart adds this to the incarnation, giving up adds 1 */
#define NONE      255

#ifdef SHORT
#define IS_SHORT(message)  ((message) % MESSAGES == MESSAGES - 1)
#else
#define IS_SHORT(message)  false
#endif

/*
 * What WITHOUT leaves out: 1 who was passed over has another turn when it is heard of;
 * 2 A believes no grant for its earlier life; 3 the rooms of a lost peer are taken
 * back; of a part that was asked for one by one 4 the message is compared; of one that lands
 * 5 for which life of B it is, 6 its message, 7 its number. (The turn's number and
 * the sender's life are compared as well, but without them nothing wrong is found: the
 * three of them tell the rest.)
 */
#define RULE(number, condition)  (WITHOUT == number || (condition))

mtype = { ANNOUNCE, BULK, MARK, RESET, ACK, GRANT, AGAIN, OVER,
	  IDLE, GRANTED, DRAIN, PULLED, NOTHING };

/* kind, both incarnations, turn, sequence number, part, whose and which message it is */
chan to_b[SENDERS] = [QUEUE] of { mtype, byte, byte, byte, byte, byte, byte };
chan to_rooms[SENDERS] = [QUEUE] of { mtype, byte, byte, byte, byte, byte, byte };
/* kind, both incarnations, acknowledgement, first frame that has not arrived, turn,
 * sequence number, part, reach, until (AGAIN: map; RESET: whether all is over) */
chan to_a[SENDERS] = [QUEUE] of { mtype, byte, byte, byte, byte, byte, byte, byte, byte, byte };

byte faults = FAULTS;

/* A's messages that have parts to send; whether the first one's go to the ordinary card. */
chan serving[SENDERS] = [MESSAGES] of { byte };
bool pulls[SENDERS];
bool done[SENDERS];            /* all have ended, one way or the other */

/* B's flows, by sender, and its assemblies, by sender and sequence number. */
byte mine[SENDERS], theirs[SENDERS], expected[SENDERS], begun[SENDERS];
bool queued[SENDERS];
byte message[ALL], received[ALL], granted[ALL], pulled[ALL];
bool whole[ALL];

/* B's struct bulk. Rooms are posted, the oldest first; in `written` of them lies a
 * frame that B has not yet seen. */
mtype state = IDLE;
byte flow, turn, tries, spent;
chan waiting = [SENDERS] of { byte };
byte posted, written;
byte room_sequence[ROOMS], room_part[ROOMS], room_message[ROOMS];
chan landed = [ROOMS] of { mtype, byte, byte, byte, byte, byte, byte };

/* What only the model knows. */
bool right[ALL * PARTS];       /* this part lies in its place */
bool ended[ALL];               /* in one of B's lives */
bool known[ALL], failed[ALL];  /* as A was told */
byte after[SENDERS];           /* the message behind the last one that ended, in this life */

#define UNDER_WAY(s) \
	(len(to_a[s]) > 0 || len(to_b[s]) > 0 || (len(to_rooms[s]) > 0 && posted > written) || \
	 (len(serving[s]) > 0 && (pulls[s] || len(to_rooms[s]) < QUEUE)))
#if SENDERS == 1
#define QUIET     (!UNDER_WAY(0) && written == 0)
#define DONE      (done[0] && QUIET && state == IDLE)
#else
#define QUIET     (!UNDER_WAY(0) && !UNDER_WAY(1) && written == 0)
#define DONE      (done[0] && done[1] && QUIET && state == IDLE)
#endif

inline spend_if_early(is_late)
{
	if
	:: is_late -> skip
	:: else -> faults--
	fi
}

/* A frame's fields, in the variables of who reads it. */
#define FRAME     kind, source, destination, w_turn, w_sequence, w_part, content
#define ANSWER    kind, source, destination, w_ack, w_arrived, w_turn, w_sequence, w_part, \
		  w_reach, w_until

/* Take one from a network that does what it likes: it is the next one, comes again later, is
 * lost, or is overtaken. NOTHING: it has not come. */
#define TAKE(network, ...) \
	if \
	:: network?__VA_ARGS__ \
	:: faults > 0 -> network?<__VA_ARGS__>; faults-- \
	:: faults > 0 -> network?__VA_ARGS__; kind = NOTHING; faults-- \
	:: faults > 0 && len(network) > 1 -> \
		network?__VA_ARGS__; network!__VA_ARGS__; kind = NOTHING; faults-- \
	fi

#include "grants_send.pml"
#include "grants_receive.pml"

/* The bulk card: what comes is written into the oldest room that is free; without one it waits. */
active proctype Card()
{
	mtype kind;
	byte source, destination, w_turn, w_sequence, w_part, content;

	do
	:: atomic {
		if
		:: posted > written && len(to_rooms[0]) > 0 ->
			TAKE(to_rooms[0], FRAME)
#if SENDERS == 2
		:: posted > written && len(to_rooms[1]) > 0 ->
			TAKE(to_rooms[1], FRAME)
#endif
		fi;
		if
		:: kind != NOTHING ->
			if
			:: kind == BULK && room_message[written] != NONE ->
				right[room_message[written] * PARTS + room_part[written]] =
					content == room_message[written] && w_part == room_part[written]
			:: kind != BULK && room_message[written] != NONE -> skip
			:: else -> skip
			fi;
			landed!FRAME;
			written++
		:: else -> skip
		fi;
		kind = NOTHING; source = 0; destination = 0; w_turn = 0; w_sequence = 0; w_part = 0;
		content = 0 }
	:: DONE -> break
	od
}
