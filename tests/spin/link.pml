/*
 * The link's protocol as a model for spin (`make model`): one flow of a few one-frame messages from
 * A to B, over a network that loses, repeats and reorders. It follows net/link/: transmit.c and
 * ack.c (A), receive.c and reassemble.c (B), without timers: an action of a timer may happen at any
 * time here.
 *
 *   RESTART  B may be switched off once and come back with a newer incarnation
 *   GIVEUP   A may give up once, and start again with a newer incarnation
 *   LIVE     fair loss: an action that is repeated succeeds in the end, here after MOST_FAULTS
 *            failures in a row; only the oldest frame is sent again, as each becomes the
 *            oldest. Then every message arrives, and A learns of it: no run is endless, and
 *            none ends before that
 *   DEAF     with LIVE: B does not acknowledge repeated messages: spin must find an error
 *   ANYONE   B, restarted, accepts an A that does not know its new life: spin must find an error
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
 * RESET, AGAIN of an acknowledgement */
chan to_a = [2] of { bool, byte, byte, byte, bool, bool };

byte first_life_a = 1;
bool taken[MESSAGES];     /* by any life of B */
bool known[MESSAGES];     /* A knows that it has arrived */
bool failed[MESSAGES];    /* A gave it up */

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
/* only frames in flight are lost: B waits for room */
#define SEND_A(reset, source, dest, ack, behind, flag) \
	to_a!reset, source, dest, ack, behind, flag
#else
#define SEND_A(reset, source, dest, ack, behind, flag) \
	if \
	:: nfull(to_a) -> to_a!reset, source, dest, ack, behind, flag \
	:: skip  /* lost */ \
	fi
#endif

active proctype A()
{
	byte mine = 1, theirs = 0, una = 0, next = 0, base = 0;
	bool marked = false, behind_arrived = false, gave_up = false;
	bool reset, behind, flag;
	byte source, dest, ack, at;

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
		:: to_a?reset, source, dest, ack, behind, flag; WELL(faults_to_a)
		:: MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?<reset, source, dest, ack, behind, flag>           /* repeated */
		:: MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?reset, source, dest, ack, behind, flag; goto over_a /* lost */
		:: len(to_a) > 1 && MAY_FAIL(faults_to_a) -> FAILS(faults_to_a);
			to_a?reset, source, dest, ack, behind, flag;
			to_a!reset, source, dest, ack, behind, flag; goto over_a /* overtaken */
		fi;
		if
		:: theirs != 0 && source < theirs -> skip          /* a ghost */
		:: dest != mine -> skip                            /* for an earlier life */
		:: else ->
			if
			:: reset && theirs == source -> skip
			:: reset && theirs == 0 && !flag -> theirs = source
			:: (reset && theirs != source && (theirs != 0 || flag)) ||
			   (!reset && theirs != 0 && source > theirs) ->
				/* all pending messages end */
				at = una;
				do
				:: at < next -> failed[base + at] = true; at++
				:: else -> break
				od;
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
over_a:	reset = 0; source = 0; dest = 0; ack = 0; behind = 0; flag = 0; at = 0 }
#ifdef GIVEUP
	:: atomic { una < next && !gave_up ->
		gave_up = true;
		at = una;
		do
		:: at < next -> failed[base + at] = true; at++
		:: else -> break
		od;
		at = 0;
		base = base + next;
		una = 0; next = 0; behind_arrived = false;
		mine++ }
#endif
	od
}

active proctype B()
{
	byte mine = 1, theirs = 0, expected = 0;
	bool early = false, restarted = false; /* early: the frame after the expected one is kept */
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
			to_b?source, dest, sequence, id; goto over_b  /* lost */
		:: len(to_b) > 1 && MAY_FAIL(faults_to_b) -> FAILS(faults_to_b);
			to_b?source, dest, sequence, id;
			to_b!source, dest, sequence, id; goto over_b  /* overtaken */
		fi;
		if
		:: theirs != 0 && source < theirs -> skip
#ifdef ANYONE
		:: !(theirs != 0 && source < theirs) && dest != mine && dest != 0 ->
#else
		:: !(theirs != 0 && source < theirs) && dest != mine && (dest != 0 || restarted) ->
#endif
			SEND_A(true, mine, source, 0, false, false)
		:: else ->
			/* a newer life of A: the old one's state ends */
			if
			:: theirs != 0 && source > theirs -> expected = 0; early = false
			:: else -> skip
			fi;
			theirs = source;
			if
#ifdef DEAF
			:: sequence < expected -> goto over_b
#else
			:: sequence < expected -> skip
#endif
			:: sequence == expected + 1 && early -> skip
			:: sequence == expected ->
				if
				:: true ->
					assert(id >= after);               /* order, once */
					assert(!known[id]);
					WELL(busy);
					taken[id] = true; after = id + 1; expected++;
					if
					:: early ->
						early = false;
						if
						:: true ->
							assert(early_id >= after);
							assert(!known[early_id]);
							taken[early_id] = true;
							after = early_id + 1; expected++
						:: MAY_FAIL(busy) -> FAILS(busy)       /* dropped */
						fi
					:: else -> skip
					fi
				:: MAY_FAIL(busy) -> FAILS(busy)                          /* refused */
				fi
			:: sequence == expected + 1 && !early ->
				if
				:: true -> early = true; early_id = id
				:: true -> skip                            /* no room to keep it */
				fi
			:: else -> assert(sequence < expected + WINDOW)
			fi;
			SEND_A(false, mine, source, expected, early, false)
		fi;
over_b:	source = 0; dest = 0; sequence = 0; id = 0 }
#ifdef RESTART
	:: atomic { !restarted ->
		restarted = true;
		mine = 2; theirs = 0; expected = 0; early = false; after = 0 }
#endif
	od
}
