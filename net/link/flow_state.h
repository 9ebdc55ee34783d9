/*
 * The states of a flow's sending half, as one table: it gives the enum and the names, the
 * page (docs/wire.md, compared by tests/test_wire.py), and the rows that a test walks through
 * (tests/host/test_link_flow_state.c). A state follows from the flow's fields (flow_state), so
 * none is kept.
 *
 *            SEND              OVERTAKEN, REFUSED, TIMEOUT
 *     IDLE --------> OPEN --------------------------------> REPAIR
 *      ^ ^            | | <--------------------------------- | |
 *      | | ACKED_ALL  | |              RESENT                | |
 *      | +------------+ | UNREADABLE                         | |
 *      |                v                                    | |
 *      +------------- ENDING <-------------------------------+ |
 *      | at once                  UNREADABLE                   |
 *      +-------------------------------------------------------+
 *                                 ACKED_ALL
 */
#ifndef NET_LINK_FLOW_STATE_H
#define NET_LINK_FLOW_STATE_H

/* X(state, when) */
#define FLOW_STATES(X) \
	X(IDLE,   "no message is queued or under way") \
	X(OPEN,   "frames are under way, or wait for window or card; none is to be sent again") \
	X(REPAIR, "frames are to be sent again, before anything new") \
	X(ENDING, "the peer is given up as soon as the caller has returned")

/* X(state, event, next state, what happens) */
#define FLOW_TRANSITIONS(X) \
	X(IDLE,   SEND,        OPEN,   "the message is queued; frames leave as windows and card allow") \
	X(OPEN,   SEND,        OPEN,   "likewise, behind those before") \
	X(OPEN,   ACKED_SOME,  OPEN,   "messages end; the timer begins anew") \
	X(OPEN,   ACKED_ALL,   IDLE,   "messages end; no timer") \
	X(OPEN,   OVERTAKEN,   REPAIR, "frames that three later ones have overtaken are marked") \
	X(OPEN,   REFUSED,     REPAIR, "frames that the peer refused are marked") \
	X(OPEN,   TIMEOUT,     REPAIR, "all under way are marked; the congestion window is 1") \
	X(REPAIR, SEND,        REPAIR, "the message is queued, and nothing new leaves") \
	X(REPAIR, RESENT,      OPEN,   "the last marked frame has left") \
	X(REPAIR, ACKED_ALL,   IDLE,   "what was marked has arrived after all") \
	X(OPEN,   UNREADABLE,  ENDING, "the user cannot show payload: nothing more leaves") \
	X(ENDING, TICK,        IDLE,   "the peer is lost: all that was queued has failed") \
	X(OPEN,   TRIES,       IDLE,   "as many timeouts as the link tries: likewise") \
	X(OPEN,   RENEWED,     IDLE,   "a newer incarnation of the peer is heard of: likewise") \
	X(REPAIR, RENEWED,     IDLE,   "likewise")

enum flow_state {
#define X(state, when) FLOW_##state,
	FLOW_STATES(X)
#undef X
};

#endif
