/*
 * The payload of long messages as a model for spin (`make model`): parts by grants from A
 * (net/link/bulk_send.c) to B (net/link/bulk.c, bulk_land.c) and its bulk card, over a network that
 * loses, repeats and reorders. Names are those of the code. A timer is either late, when no frame
 * is in flight any more, or too early, which counts as a fault.
 *
 *   PARTS      how many A sends; each is a separate message, ending after all before it
 *   PLACES     so many consecutive parts share no memory
 *   FAULTS     total number of lost, repeated or overtaken frames and early timers
 *   GIVEUP     B may give A up, at any time
 *   WITHOUT    the number of a rule to leave out: spin must find an error
 *
 * What must hold: when a part counts as received, its place contains it, unless a later one with
 * the same place already has a buffer. In the end each place contains the last of its parts. When A
 * is given up no buffer is posted. Faults are limited, so every run ends (no cycle), with all parts
 * received or A given up (no other end): a part that is lost any finite number of times arrives.
 */
#ifndef PARTS
#define PARTS     4
#endif
#ifndef PLACES
#define PLACES    PARTS
#endif
#ifndef FAULTS
#define FAULTS    2
#endif
#ifndef WITHOUT
#define WITHOUT   0
#endif
#define QUEUE     3            /* frames in flight on each wire */
#define MOST      3            /* buffers that may be posted */
#define RESEND_TRIES 2
#define MOST_TRIES  3
#define POSTED    255          /* a buffer that the card has */
#define FREE      254          /* an empty buffer */
#define MISSING   255          /* a part that has not arrived */
#define ASIDE     254
#define NOTHING   255

/*
 * The rules that WITHOUT leaves out: 1 after a loss no two buffers share memory; 2 the first
 * misplaced frame takes all buffers back if two share memory; 3 the number of a part is checked;
 * 4 a sent part is sent again if the grant requests it; 5 the buffers of a peer that is given up
 * are taken back.
 */
#define RULE(number)  (WITHOUT != number)
#define PLACE(part)   ((part) % PLACES)

chan to_rooms = [QUEUE] of { byte, bool };      /* part, whether it is a retransmission */
chan to_a = [QUEUE] of { byte, byte, bool };    /* GRANT: first part, one past the last, again */
byte faults = FAULTS;

/* A */
byte parts_sent, granted, again, again_until;

/* B: struct bulk. `landed` has the contents of the oldest posted buffers, not yet handled. */
byte oldest, next, tries, lossy;
byte at[PARTS], holds[PARTS], after[PARTS];
chan ring = [MOST] of { byte };                 /* posted, not yet written */
chan landed = [MOST] of { byte, byte, bool };   /* buffer, part, whether it was a retransmission */
bool idle, given_up;

/* Known only to the model: which part, counted from 1, is at each place. */
byte memory[PLACES], aside;

#define A_HAS     (again < again_until || parts_sent < granted)
#define QUIET     ((!A_HAS || len(to_rooms) == QUEUE) && len(to_a) == 0 && len(landed) == 0 && \
		   (len(to_rooms) == 0 || len(ring) == 0))
#define DONE      (given_up || (oldest == PARTS && QUIET))

inline spend_if_early()
{
	if
	:: QUIET -> skip
	:: else -> faults--
	fi
}

/* The network: this frame arrives, or arrives and is repeated, or is lost, or is overtaken.
 * NOTHING: it has not arrived. */
#define TAKE(network, first, ...) \
	if \
	:: network?first, __VA_ARGS__ \
	:: faults > 0 -> network?<first, __VA_ARGS__>; faults-- \
	:: faults > 0 -> network?first, __VA_ARGS__; first = NOTHING; faults-- \
	:: faults > 0 && len(network) > 1 -> \
		network?first, __VA_ARGS__; network!first, __VA_ARGS__; first = NOTHING; faults-- \
	fi

active proctype A()
{
	byte first, until, sent;
	bool w_again;

	do
	:: atomic { len(to_a) > 0 ->
		TAKE(to_a, first, until, w_again);
		if
		:: first != NOTHING ->
			sent = (until < parts_sent -> until : parts_sent);
			if
			:: w_again && first < sent && RULE(4) ->
				if
				:: again == again_until -> again = first; again_until = first
				:: else -> skip
				fi;
				again = (first < again -> first : again);
				again_until = (sent > again_until -> sent : again_until)
			:: else -> skip
			fi;
			granted = (until > granted -> until : granted)
		:: else -> skip
		fi;
		first = 0; until = 0; sent = 0; w_again = false }
	:: atomic { len(to_rooms) < QUEUE && again < again_until ->
		to_rooms!again, true; again++;
		if
		:: again == again_until -> again = 0; again_until = 0
		:: else -> skip
		fi }
	:: atomic { len(to_rooms) < QUEUE && again == again_until && parts_sent < granted ->
		to_rooms!parts_sent, false; parts_sent++ }
	:: DONE -> break
	od
}

/* The bulk card: a frame is written into the oldest buffer; without one it waits. */
active proctype Card()
{
	byte part, index;
	bool w_again;

	do
	:: atomic { len(ring) > 0 && len(to_rooms) > 0 ->
		TAKE(to_rooms, part, w_again);
		if
		:: part != NOTHING ->
			ring?index;
			memory[PLACE(index)] = part + 1;
			landed!index, part, w_again
		:: else -> skip
		fi;
		part = 0; index = 0; w_again = false }
	:: DONE -> break
	od
}

inline tell(w_first, w_until, w_again)
{
	if
	:: len(to_a) < QUEUE -> to_a!w_first, w_until, w_again
	:: else -> skip
	fi
}

/* grant_again(): asks for missing parts that were sent before part `than`; MISSING: all. */
inline grant_again(than, w_again)
{
	from = oldest; i = oldest;
	do
	:: i < next && at[i] == MISSING && (than == MISSING || after[i] <= than) ->
		if
		:: w_again -> after[i] = next
		:: else -> skip
		fi;
		i++
	:: else ->
		if
		:: from < i -> tell(from, i, w_again)
		:: else -> skip
		fi;
		if
		:: i >= next -> break
		:: else -> i++; from = i
		fi
	od;
	from = 0; i = 0
}

inline withdraw()
{
	do
	:: len(ring) > 0 -> ring?_
	:: len(landed) > 0 -> landed?_, _, _
	:: else -> break
	od;
	do
	:: next > oldest -> next--; at[next] = 0; holds[next] = 0; after[next] = 0
	:: else -> break
	od
}

/* fill(): this buffer is empty. */
inline fill(index)
{
	to = index;
	do
	:: at[to] == MISSING -> holds[to] = POSTED; ring!to; break
	:: at[to] == ASIDE -> memory[PLACE(to)] = aside; at[to] = to; holds[to] = to; aside = 0; break
	:: else ->
		from = at[to];
		memory[PLACE(to)] = memory[PLACE(from)];
		at[to] = to; holds[to] = to;
		holds[from] = FREE;
		to = from
	od;
	to = 0; from = 0
}

inline advance()
{
	do
	:: oldest < next && at[oldest] == oldest ->
		assert(memory[PLACE(oldest)] == oldest + 1 || oldest + PLACES < next);
		oldest++
	:: else -> break
	od
}

inline land()
{
	landed?index, part, w_again;
	part = (RULE(3) -> part : index);
	if
	:: part < oldest || part >= next -> part = NOTHING
	:: part >= oldest && part < next && at[part] != MISSING -> part = NOTHING
	:: else -> skip
	fi;
	if
	:: part != index && !lossy ->
		lossy = true;
		if
		:: RULE(2) && next - oldest > PLACES ->
			withdraw(); part = NOTHING; index = NOTHING
		:: else -> skip
		fi
	:: else -> skip
	fi;
	if
	:: index == NOTHING -> skip
	:: index != NOTHING && part == NOTHING -> holds[index] = FREE; fill(index)
	:: else ->
		holds[index] = part; at[part] = index;
		if
		:: part != index ->
			to = part;
			do
			:: to != index && holds[to] < FREE -> to = holds[to]
			:: else -> break
			od;
			if
			:: to == index ->
				aside = memory[PLACE(index)];
				at[part] = ASIDE; holds[index] = FREE;
				fill(index)
			:: else -> skip
			fi;
			to = 0
		:: else -> skip
		fi;
		if
		:: !w_again -> grant_again(part, true)
		:: else -> skip
		fi;
		tries = 0
	fi;
	advance();
	index = 0; part = 0; w_again = false
}

/* extend(): buffers for the next parts. After a loss they share no memory with a buffer in use. */
inline extend()
{
	sent = false;
	do
	:: next < PARTS && len(ring) + len(landed) < MOST &&
	   !(lossy && RULE(1) && next - oldest >= PLACES) ->
		at[next] = MISSING; holds[next] = POSTED; after[next] = next + 1;
		ring!next;
		next++; sent = true
	:: else -> break
	od;
	if
	:: sent ->
		from = oldest;
		do
		:: from < next && at[from] != MISSING -> from++
		:: else -> break
		od;
		tell(from, next, false);
		from = 0
	:: else -> skip
	fi;
	sent = false
}

inline tick()
{
	tries++;
	if
	:: tries == MOST_TRIES -> withdraw(); tries = 0; idle = true
	:: else -> grant_again(MISSING, tries >= RESEND_TRIES)
	fi
}

active proctype B()
{
	byte part, index, from, to, i;
	bool w_again, sent;

	atomic { extend() }
	do
	:: atomic { !idle && len(landed) > 0 -> land(); extend() }
	/* A may be slow and so lose its turn; its announcement gets another one. */
	:: atomic { !idle && oldest < PARTS && (QUIET || faults > 0) ->
		spend_if_early(); tick();
		if
		:: !idle -> extend()
		:: else -> skip
		fi }
	:: atomic { idle && (QUIET || faults > 0) -> spend_if_early(); idle = false; extend() }
#ifdef GIVEUP
	:: atomic { oldest < PARTS ->
		given_up = true;
		if
		:: RULE(5) -> withdraw()
		:: else -> skip
		fi;
		assert(len(ring) == 0);
		break }
#endif
	:: atomic { oldest == PARTS && QUIET ->
		i = 0;
		do
		:: i < PLACES -> assert(memory[i] + PLACES > PARTS); i++
		:: else -> break
		od;
		break }
	od
}
