/*
 * The link's protocol as a model for spin (`make model`): one flow of a few one-frame messages from
 * A to B, over a network that loses, repeats and reorders. It follows net/link/: transmit.c and
 * ack.c (A), receive.c and reassemble.c (B), without timers: an action of a timer may happen at any
 * time here.
 *
 *   RESTART  B may be switched off once and come back with a newer incarnation
 *   GIVEUP   A may give up once, and start again with a newer incarnation
 *   LETGO    B may give A up once, for messages in the other direction: the next frame from A is
 *            answered by RESET with OVER
 *   WAITS    B accepts the second message as an announcement: it begins, and ends later
 *   LIVE     fair loss: an action that is repeated succeeds in the end, here after MOST_FAULTS
 *            failures in a row; only the oldest frame is sent again, as each becomes the
 *            oldest. Then every message arrives, and A learns of it, or fails because one of
 *            the two ended: no run is endless, and none ends before that
 *   DEAF     with LIVE: B does not acknowledge repeated messages: spin must find an error
 *   ANYONE   B, restarted, accepts an A that does not know its new life: spin must find an error
 *   SILENT   with LIVE and RESTART: B sends no RESET: spin must find an error
 *   PLAIN    with LETGO: A takes a RESET with OVER for one without: spin must find an error
 *   TWICE    with WAITS: an announcement that is sent again begins again: spin must find an error
 *
 * What must hold: B accepts the messages in order and each at most once in a life; no message that
 * A knows to have arrived is accepted again; A never learns of the arrival of one that was not
 * accepted; numbers stay within the window.
 */
#define MESSAGES  3
#define WINDOW    2

/* source's and destination's incarnation, sequence number, message */
chan to_b = [2] of { byte, byte, byte, byte };
/* RESET or not; incarnations; acknowledgement; whether the frame after it has arrived; OVER of a
 * RESET */
chan to_a = [2] of { bool, byte, byte, byte, bool, bool };

bool taken[MESSAGES];     /* by any life of B */
bool known[MESSAGES];     /* A knows that it has arrived */

#ifdef LIVE
#define MOST_FAULTS 1
#define MAY_FAIL(faults) (faults < MOST_FAULTS)
#define FAILS(faults) faults++
#define WELL(faults) faults = 0
byte faults_to_a, faults_to_b, busy;
#else
#define MAY_FAIL(faults) true
#define FAILS(faults) skip
#define WELL(faults) skip
#endif

#ifdef LIVE
/* only frames in flight are lost: B waits for space */
#define SEND_A(reset, source, dest, ack, behind, over) \
	to_a!reset, source, dest, ack, behind, over
#else
#define SEND_A(reset, source, dest, ack, behind, over) \
	if \
	:: nfull(to_a) -> to_a!reset, source, dest, ack, behind, over \
	:: skip  /* lost */ \
	fi
#endif

#ifdef PLAIN
#define IS_OVER false
#else
#define IS_OVER over
#endif

active proctype A()
{
	byte mine = 1, theirs = 0, una = 0, next = 0, base = 0;
	bool behind_arrived = false, gave_up = false;
	bool reset, behind, over;
	byte source, dest, ack;

#ifdef LIVE
	do
	:: una == next && base + next == MESSAGES -> break
#else
end:	do
#endif
	/* a frame for the first time, within the window */
	:: next - una < WINDOW && base + next < MESSAGES && nfull(to_b) ->
		atomic { to_b!mine, theirs, next, base + next; next++ }
	/* again: the oldest, or the one after it */
	:: una < next && nfull(to_b) -> to_b!mine, theirs, una, base + una
#ifndef LIVE
	:: una + 1 < next && !behind_arrived && nfull(to_b) ->
		to_b!mine, theirs, una + 1, base + una + 1
#endif

	:: atomic { nempty(to_a) ->
		if
		:: to_a?reset, source, dest, ack, behind, over; WELL(faults_to_a)
		:: MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?<reset, source, dest, ack, behind, over>           /* repeated */
		:: MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?reset, source, dest, ack, behind, over; goto over_a /* lost */
		:: len(to_a) > 1 && MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?reset, source, dest, ack, behind, over;
			to_a!reset, source, dest, ack, behind, over; goto over_a /* overtaken */
		fi;
		if
		:: theirs != 0 && source < theirs -> skip          /* a ghost */
		:: dest != mine -> skip                            /* for an earlier life */
		:: else ->
			if
			:: reset && theirs == source -> skip
			:: reset && theirs == 0 && !IS_OVER -> theirs = source
			:: (reset && theirs != source && (theirs != 0 || IS_OVER)) ||
			   (!reset && theirs != 0 && source > theirs) ->
				/* all pending messages fail */
				base = base + next;
				una = 0; next = 0; behind_arrived = false;
				theirs = source
			:: else ->
				if
				:: theirs == 0 -> theirs = source
				:: else -> skip
				fi;
				if
				:: ack >= una && ack <= next ->
					do
					:: una < ack ->
						assert(taken[base + una]);
						known[base + una] = true;
						una++;
						behind_arrived = false
					:: else -> break
					od;
					/* its report about the frame after `ack` */
					if
					:: behind && una + 1 < next -> behind_arrived = true
					:: else -> skip
					fi
				:: else -> assert(ack < una)               /* old */
				fi
			fi
		fi;
over_a:	reset = 0; source = 0; dest = 0; ack = 0; behind = 0; over = 0 }
#ifdef GIVEUP
	:: atomic { una < next && !gave_up ->
		gave_up = true;                                    /* pending messages fail */
		base = base + next;
		una = 0; next = 0; behind_arrived = false;
		mine++ }
#endif
	od
}

#ifdef WAITS
#define ANNOUNCED 1
#else
#define ANNOUNCED MESSAGES
#endif
#ifdef TWICE
#define BEGINS (sequence == expected)
#else
#define BEGINS (sequence == expected && !waits)
#endif

/* The expected message begins; unless it is announced it ends, too. */
inline accept(number)
{
	assert(number >= after);                           /* order, once */
	assert(!known[number]);
	taken[number] = true; after = number + 1;
	if
	:: number == ANNOUNCED -> waits = true
	:: else -> expected++
	fi
}

/* The same for the message after it, if that is kept. */
inline accept_early()
{
	if
	:: early ->
		early = false;
		if
		:: true -> accept(early_id)
		:: MAY_FAIL(busy) -> FAILS(busy)                   /* dropped */
		fi
	:: else -> skip
	fi
}

/* The payload of the announced message is there. */
inline complete()
{
	WELL(busy);
	waits = false; expected++;
	accept_early()
}

/* Everything from A is forgotten. */
inline reset_flow()
{
	expected = 0; early = false; waits = false
}

active proctype B()
{
	byte mine = 1, theirs = 0, expected = 0;
	bool early = false, waits = false;      /* early: the frame after the expected one is kept;
	                                           waits: the expected one waits for its payload */
	bool restarted = false, let_go = false, over_b = false; /* over_b: not its life's first number */
	byte early_id = 0, after = 0;           /* after: the last accepted message, plus 1 */
	byte source, dest, sequence, id;

end:	do
#ifdef LIVE
	:: atomic { nempty(to_b) && nfull(to_a) ->
#else
	:: atomic { nempty(to_b) ->
#endif
		if
		:: to_b?source, dest, sequence, id; WELL(faults_to_b)
		:: MAY_FAIL(faults_to_b) -> FAILS(faults_to_b);
			to_b?<source, dest, sequence, id>             /* repeated */
		:: MAY_FAIL(faults_to_b) -> FAILS(faults_to_b);
			to_b?source, dest, sequence, id; goto over    /* lost */
		:: len(to_b) > 1 && MAY_FAIL(faults_to_b) -> FAILS(faults_to_b);
			to_b?source, dest, sequence, id;
			to_b!source, dest, sequence, id; goto over    /* overtaken */
		fi;
		if
		:: theirs != 0 && source < theirs -> skip
#ifdef ANYONE
		:: !(theirs != 0 && source < theirs) && dest != mine && (dest != 0 || over_b) ->
#else
		:: !(theirs != 0 && source < theirs) && dest != mine &&
		   (dest != 0 || over_b || restarted) ->
#endif
#ifdef SILENT
			goto over
#else
			SEND_A(true, mine, source, 0, false, over_b)
#endif
		:: else ->
			/* a newer life of A: the old one's state ends */
			if
			:: theirs != 0 && source > theirs -> reset_flow()
			:: else -> skip
			fi;
			theirs = source;
			if
#ifdef DEAF
			:: sequence < expected -> goto over
#else
			:: sequence < expected -> skip
#endif
			:: sequence == expected + 1 && early -> skip
			:: sequence == expected && !BEGINS ->
				if
				:: MAY_FAIL(busy) -> FAILS(busy)
				:: true -> complete()
				fi
			:: BEGINS ->
				if
				:: true ->
					WELL(busy);
					accept(id);
					if
					:: !waits -> accept_early()
					:: else -> skip
					fi
				:: MAY_FAIL(busy) -> FAILS(busy)                   /* refused */
				fi
			:: sequence == expected + 1 && !early ->
				if
				:: true -> early = true; early_id = id
				:: true -> skip                            /* no record to keep it */
				fi
			:: else -> assert(sequence < expected + WINDOW)
			fi;
			SEND_A(false, mine, source, expected, early, false)
		fi;
over:	source = 0; dest = 0; sequence = 0; id = 0 }
#ifdef WAITS
	:: atomic { waits && nfull(to_a) ->
		complete();
		SEND_A(false, mine, theirs, expected, early, false) }
#endif
#ifdef RESTART
	:: atomic { !restarted ->
		restarted = true;
		reset_flow();
		mine = 3; theirs = 0; after = 0; over_b = false }  /* 2: LETGO before it */
#endif
#ifdef LETGO
	:: atomic { !let_go && theirs != 0 ->
		let_go = true;
		reset_flow();
		mine++; over_b = true }
#endif
	od
}
