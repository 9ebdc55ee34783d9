/*
 * The states of a flow's sending half, as one table. The enum and its names come from it. Tests
 * compare it with the drawing below and with docs/wire.md (tests/test_wire.py), and walk through
 * it (tests/host/test_link_flow_state.c). The state is not stored: it follows from the flow's
 * fields (flow_state).
 *
 *     IDLE   -- SEND --> OPEN
 *     OPEN   -- OVERTAKEN, REFUSED, TIMEOUT, RESET --> REPAIR
 *     OPEN   -- ACKED_ALL, TRIES, RENEWED --> IDLE
 *     OPEN   -- UNREADABLE --> ENDING
 *     REPAIR -- ACKED_LOST, RESENT --> OPEN
 *     REPAIR -- ACKED_ALL, TRIES, RENEWED --> IDLE
 *     REPAIR -- UNREADABLE --> ENDING
 *     ENDING -- TICK, RENEWED --> IDLE
 *
 * This drawing leaves out the rows that keep the state. An event without a row keeps it, too.
 */
#ifndef NET_LINK_FLOW_STATE_H
#define NET_LINK_FLOW_STATE_H

/* X(state, when) */
#define FLOW_STATES(X) \
	X(IDLE,   "no message is queued or under way") \
	X(OPEN,   "frames are under way or wait for window or card; none is marked lost") \
	X(REPAIR, "frames are marked lost; they are retransmitted before any new one is sent") \
	X(ENDING, "the peer is given up at the next tick")

/* X(state, event, next state, what happens) */
#define FLOW_TRANSITIONS(X) \
	X(IDLE,   SEND,        OPEN,   "the message is queued; it leaves as window and card allow") \
	X(OPEN,   SEND,        OPEN,   "the message is queued behind the others") \
	X(OPEN,   ACKED_SOME,  OPEN,   "messages end; the timer restarts") \
	X(OPEN,   ACKED_ALL,   IDLE,   "messages end; the timer stops") \
	X(OPEN,   OVERTAKEN,   REPAIR, "frames that three later ones overtook are marked lost " \
	  "(one is enough if at most three are under way)") \
	X(OPEN,   REFUSED,     REPAIR, "frames that the peer refused are marked lost") \
	X(OPEN,   TIMEOUT,     REPAIR, "the first 64 under way are marked lost; congestion " \
	  "window 1, unless the oldest is an announcement that waits") \
	X(OPEN,   RESET,       REPAIR, "the first 64 did not name the peer's life: marked lost") \
	X(REPAIR, SEND,        REPAIR, "the message is queued; no new frame leaves") \
	X(REPAIR, ACKED_SOME,  REPAIR, "messages end; frames that had arrived are unmarked") \
	X(REPAIR, ACKED_LOST,  OPEN,   "the marked frames had arrived after all; others have not") \
	X(REPAIR, ACKED_ALL,   IDLE,   "all frames had arrived after all") \
	X(REPAIR, OVERTAKEN,   REPAIR, "more frames are marked lost") \
	X(REPAIR, REFUSED,     REPAIR, "more frames are marked lost") \
	X(REPAIR, TIMEOUT,     REPAIR, "as in OPEN") \
	X(REPAIR, RESET,       REPAIR, "as in OPEN") \
	X(REPAIR, RESENT,      OPEN,   "the last marked frame was retransmitted") \
	X(OPEN,   UNREADABLE,  ENDING, "the user cannot show the payload: no more frames leave") \
	X(REPAIR, UNREADABLE,  ENDING, "the same, of a frame to be retransmitted") \
	X(ENDING, SEND,        ENDING, "the message is queued, and fails with the others") \
	X(ENDING, TICK,        IDLE,   "the peer is lost: all queued messages fail") \
	X(OPEN,   TRIES,       IDLE,   "config.tries timeouts: the peer is lost") \
	X(REPAIR, TRIES,       IDLE,   "config.tries timeouts: the peer is lost") \
	X(OPEN,   RENEWED,     IDLE,   "a frame of a newer incarnation came: the peer is lost") \
	X(REPAIR, RENEWED,     IDLE,   "a frame of a newer incarnation came: the peer is lost") \
	X(ENDING, RENEWED,     IDLE,   "a frame of a newer incarnation came: the peer is lost")

enum flow_state {
#define X(state, when) FLOW_##state,
	FLOW_STATES(X)
#undef X
};

#endif
