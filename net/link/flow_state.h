/*
 * The states of a flow's sending half, as one table. The enum and its names come from it. A test
 * compares it with the tables of docs/wire.md (tests/test_wire.py), and another one walks through
 * its rows (tests/host/test_link_flow_state.c). The state is not stored: it follows from the
 * flow's fields (flow_state).
 *
 *            SEND              OVERTAKEN, REFUSED, TIMEOUT
 *     IDLE --------> OPEN --------------------------------> REPAIR
 *      ^ ^            | | <--------------------------------- | |
 *      | | ACKED_ALL  | |              RESENT                | |
 *      | +------------+ | UNREADABLE                         | |
 *      |                v                                    | |
 *      +------------- ENDING <-------------------------------+ |
 *      | TICK                     UNREADABLE                   |
 *      +-------------------------------------------------------+
 *                                 ACKED_ALL
 *
 * TRIES and RENEWED lead from OPEN and REPAIR to IDLE, as ENDING does: the peer is lost.
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
	X(OPEN,   OVERTAKEN,   REPAIR, "frames that three later ones overtook are marked lost") \
	X(OPEN,   REFUSED,     REPAIR, "frames that the peer refused are marked lost") \
	X(OPEN,   TIMEOUT,     REPAIR, "all under way are marked lost; congestion window 1") \
	X(REPAIR, SEND,        REPAIR, "the message is queued; no new frame leaves") \
	X(REPAIR, TIMEOUT,     REPAIR, "all under way are marked lost again") \
	X(REPAIR, RESENT,      OPEN,   "the last marked frame was retransmitted") \
	X(REPAIR, ACKED_ALL,   IDLE,   "the marked frames had arrived after all") \
	X(OPEN,   UNREADABLE,  ENDING, "the user cannot show the payload: no more frames leave") \
	X(REPAIR, UNREADABLE,  ENDING, "the same, of a frame to be retransmitted") \
	X(ENDING, TICK,        IDLE,   "the peer is lost: all queued messages fail") \
	X(OPEN,   TRIES,       IDLE,   "config.tries timeouts: the peer is lost") \
	X(REPAIR, TRIES,       IDLE,   "config.tries timeouts: the peer is lost") \
	X(OPEN,   RENEWED,     IDLE,   "a frame of a newer incarnation came: the peer is lost") \
	X(REPAIR, RENEWED,     IDLE,   "a frame of a newer incarnation came: the peer is lost")

enum flow_state {
#define X(state, when) FLOW_##state,
	FLOW_STATES(X)
#undef X
};

#endif
