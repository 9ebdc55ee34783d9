/*
 * The payload of long messages as a model for spin (`make model`): parts by grants from A
 * (net/link/bulk_send.c) to B (net/link/bulk.c, bulk_land.c) and its bulk card, over a network that
 * loses, repeats and reorders. Names are those of the code; `holds` is the inverse of `at`. A timer
 * is either late, when no frame is in flight any more, or too early, which counts as a fault.
 *
 *   PARTS      how many A sends
 *   MESSAGE    parts of each message; a message ends after all before it
 *   PLACES     so many consecutive parts share no memory
 *   FAULTS     total number of lost, repeated or overtaken frames, early timers, and the faults
 *              of RESETS, OTHERS and BURSTS
 *   GIVEUP     B may give A up, at any time
 *   COPIED     B has no bulk card: parts come by the ordinary card (ORDINARY) and are copied
 *   RESETS     the bulk card may reset itself and drop its buffers
 *   OTHERS     other flows wait, so a timeout may end the turn; and other nodes write to the memory
 *              of these messages, where a misplaced part may be
 *   BURSTS     a fault may lose all frames in flight to B; timeouts are counted
 *   WITHOUT    the number of a rule to leave out: spin must find an error
 *
 * What must hold: when a part counts as received, its place contains it, unless a later one with
 * the same place already has a buffer. In the end each place contains the last of its parts. When A
 * is given up no buffer is posted. Faults are limited, so every run ends (no cycle), with all parts
 * received or A given up (no other end): a part that is lost any finite number of times arrives.
 * With BURSTS there are at most RESEND_TRIES late timeouts for each fault.
 *
 * Not modelled: the announcement and its acknowledgement (they are frames of the flow, see
 * link.pml; here all messages are announced, and the announcement that is sent again and gives a
 * passed flow another turn is a timer); turns that end after SHARE_PARTS; a change between bulk
 * card and ordinary card within a turn; buffers that the card refuses to take; parts of different
 * lengths; the end of `lossy`, which takes more parts than a model can have; times.
 */
#ifndef PARTS
#define PARTS     4
#endif
#ifndef MESSAGE
#define MESSAGE   1
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
#define MOST_TRIES  3          /* 5 in the code: more of the same */
#define POSTED    255          /* a buffer that the card has */
#define FREE      254          /* an empty buffer */
#define MISSING   255          /* a part that has not arrived */
#define ASIDE     254
#define FOREIGN   253          /* what another node has written */
#define NOTHING   255

/*
 * The rules that WITHOUT leaves out: 1 after a loss no two buffers share memory; 2 the first
 * misplaced frame withdraws all buffers if two share memory; 3 the number of a part is checked;
 * 4 a sent part is sent again if the grant requests it; 5 the buffers of a peer that is given up
 * are withdrawn; 6 when a part arrives that a timeout has requested, the other missing parts are
 * granted with AGAIN; 7 (OTHERS) no part is moved from a buffer that was posted before another
 * node's write; 8 what was sent for withdrawn buffers is granted with AGAIN. Without 6 or 8 all
 * still arrives, but by more timeouts: only BURSTS shows it.
 */
#define RULE(number)  (WITHOUT != number)
#define PLACE(part)   ((part) % PLACES)
#define MESSAGE_END(part) ((part) / MESSAGE * MESSAGE + MESSAGE)

chan to_b = [QUEUE] of { byte, bool };          /* part, whether it is a retransmission */
chan to_a = [QUEUE] of { byte, byte, bool };    /* GRANT: first part, one past the last, again */
byte faults = FAULTS;

/* A */
byte parts_sent, granted, again, again_until;

/* B: struct bulk. `landed` has the contents of the oldest posted buffers, not yet handled. Parts
 * before `sent` may have been sent before their buffers were withdrawn. */
byte oldest, next, tries, lossy, sent;
byte at[PARTS], holds[PARTS], after[PARTS];
#ifdef OTHERS
bool stale[PARTS];                              /* posted before the last write of another node */
#define STALE(index) (stale[index] && RULE(7))
#else
#define STALE(index) false
#endif
chan ring = [MOST] of { byte };                 /* posted, not yet written */
chan landed = [MOST] of { byte, byte, bool };   /* buffer, part, whether it was a retransmission */
bool idle, given_up;
bool begun;                                     /* a part has come since the first grant (granted_at) */

/* Known only to the model: which part, counted from 1, is at each place. */
byte memory[PLACES], aside;
#ifdef BURSTS
byte timeouts;                                  /* late ones */
#endif

#define POSTED_NOW (len(ring) + len(landed))
#define A_HAS     (again < again_until || parts_sent < granted)
#ifdef COPIED
#define QUIET     (!A_HAS && len(to_a) == 0 && len(to_b) == 0)
#else
#define QUIET     ((!A_HAS || len(to_b) == QUEUE) && len(to_a) == 0 && len(landed) == 0 && \
		   (len(to_b) == 0 || len(ring) == 0))
#endif
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
	byte first, until, was_sent;
	bool w_again;

	do
	:: atomic { len(to_a) > 0 ->
		TAKE(to_a, first, until, w_again);
		if
		:: first != NOTHING ->
			was_sent = (until < parts_sent -> until : parts_sent);
			if
			:: w_again && first < was_sent && RULE(4) ->
				if
				:: again == again_until -> again = first; again_until = first
				:: else -> skip
				fi;
				again = (first < again -> first : again);
				again_until = (was_sent > again_until -> was_sent : again_until)
			:: else -> skip
			fi;
			granted = (until > granted -> until : granted)
		:: else -> skip
		fi;
		first = 0; until = 0; was_sent = 0; w_again = false }
	:: atomic { len(to_b) < QUEUE && again < again_until ->
		to_b!again, true; again++;
		if
		:: again == again_until -> again = 0; again_until = 0
		:: else -> skip
		fi }
	:: atomic { len(to_b) < QUEUE && again == again_until && parts_sent < granted ->
		to_b!parts_sent, false; parts_sent++ }
	:: DONE -> break
	od
}

/* The bulk card: a frame is written into the oldest buffer; without one it waits. */
#ifndef COPIED
active proctype Card()
{
	byte part, index;
	bool w_again;

	do
	:: atomic { len(ring) > 0 && len(to_b) > 0 ->
		TAKE(to_b, part, w_again);
		if
		:: part != NOTHING ->
			ring?index;
			memory[PLACE(index)] = part + 1;
			landed!index, part, w_again
		:: else -> skip
		fi;
		part = 0; index = 0; w_again = false }
#ifdef BURSTS
	:: atomic { faults > 0 && oldest < PARTS && len(to_b) > 1 ->
		faults--;
		do
		:: len(to_b) > 0 -> to_b?_, _
		:: else -> break
		od }
#endif
	:: DONE -> break
	od
}
#endif

inline bulk_send_grant(w_first, w_until, w_again)
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
		:: from < i -> bulk_send_grant(from, i, w_again)
		:: else -> skip
		fi;
		if
		:: i >= next -> break
		:: else -> i++; from = i
		fi
	od;
	from = 0; i = 0
}

/* resend_first(): asks for the first missing part. */
inline resend_first()
{
	from = oldest;
	do
	:: from < next && at[from] != MISSING -> from++
	:: else -> break
	od;
	if
	:: from < next -> bulk_send_grant(from, from + 1, true)
	:: else -> skip
	fi;
	from = 0
}

/* withdraw(): A may have sent some of the parts if `may_be_sent`. */
inline withdraw(may_be_sent)
{
	do
	:: len(ring) > 0 -> ring?_
	:: len(landed) > 0 -> landed?_, _, _
	:: else -> break
	od;
	if
	:: may_be_sent && sent < next -> sent = next
	:: else -> skip
	fi;
	do
	:: next > oldest ->
		next--; at[next] = 0; holds[next] = 0; after[next] = 0;
#ifdef OTHERS
		stale[next] = false
#endif
	:: else -> break
	od
}

inline post(index)
{
	holds[index] = POSTED;
#ifdef OTHERS
	stale[index] = false;
#endif
	ring!index
}

/* fill(): this buffer is empty. */
inline fill(index)
{
	to = index;
	do
	:: at[to] == MISSING -> post(to); break
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

/* is_spoilt(): a buffer that holds the part of another one is stale. */
inline find_spoilt()
{
	i = oldest;
	do
	:: i < next ->
		if
		:: at[i] != i && at[i] < PARTS -> spoilt = (spoilt || STALE(at[i]))
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

inline give_back()
{
	withdraw(true); lossy = true
}

/* arrive(): this part has arrived. */
inline arrive(number)
{
	if
	:: !w_again -> grant_again(number, true)
	:: w_again && tries >= RESEND_TRIES && RULE(6) -> grant_again(MISSING, true)
	:: else -> skip
	fi;
	tries = 0; begun = true
}

/* find(): `part` becomes NOTHING if it is not expected. */
inline find()
{
	if
	:: part < oldest || part >= next -> part = NOTHING
	:: part >= oldest && part < next && at[part] != MISSING -> part = NOTHING
	:: else -> skip
	fi
}

inline place()
{
	if
	:: part != index -> lossy = true
	:: else -> skip
	fi;
	if
	:: part == NOTHING -> holds[index] = FREE; fill(index)
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
		arrive(part)
	fi;
	advance()
}

inline land()
{
	landed?index, part, w_again;
	part = (RULE(3) -> part : index);
	find();
	find_spoilt();
	if
	:: part != index && !lossy && next - oldest > PLACES && RULE(2) ->
		withdraw(part != NOTHING || begun); lossy = true
	:: else ->
		if
		:: spoilt || (part != index && part != NOTHING && STALE(index)) -> give_back()
		:: else -> place()
		fi
	fi;
	index = 0; part = 0; w_again = false; spoilt = false
}

/* bulk_accept_part(): a part has come by the ordinary card. */
inline pulled()
{
	find();
	if
	:: part != NOTHING ->
		memory[PLACE(part)] = part + 1;
		at[part] = part;
		arrive(part);
		advance()
	:: else -> skip
	fi;
	part = 0; w_again = false
}

/* add(): after a loss no buffer shares memory with another one in use. Without a bulk card parts
 * of one message are granted at once. */
inline add()
{
	at[next] = MISSING;
	after[next] = next + 1;
	if
	:: next < sent && RULE(8) ->
		w_again = true;
		after[next] = (sent < MESSAGE_END(next) -> sent : MESSAGE_END(next))
	:: else -> skip
	fi;
#ifdef COPIED
	holds[next] = FREE;
#else
	post(next);
#endif
	next++
}

#ifdef COPIED
#define MAY_WAIT  (next > oldest)
#define MUST_WAIT (next > oldest)
#define CAN_ADD   (next - oldest < MOST && (next == oldest || next % MESSAGE != 0))
#else
#define MAY_WAIT  (POSTED_NOW > MOST / 2)
#define MUST_WAIT false
#define CAN_ADD   (POSTED_NOW < MOST && !(lossy && RULE(1) && next - oldest >= PLACES))
#endif

/* extend(): if few buffers are left, post some for the next parts and grant these. */
inline extend()
{
	i = next;
	if
	:: MAY_WAIT -> skip
	:: !MUST_WAIT ->
		do
		:: next < PARTS && CAN_ADD -> add()
		:: else -> break
		od
	fi;
	if
	:: i < next ->
		begun = (begun && i > oldest);
		from = (w_again -> i : oldest);
		do
		:: !w_again && from < next && at[from] != MISSING -> from++
		:: else -> break
		od;
		bulk_send_grant(from, next, w_again);
		from = 0
	:: else -> skip
	fi;
	w_again = false; i = 0
}

inline pass()
{
	withdraw(true); tries = 0; idle = true
}

inline tick()
{
	tries++;
	find_spoilt();
	if
	:: tries == MOST_TRIES -> pass()
#ifdef OTHERS
	:: tries < MOST_TRIES -> pass()                 /* is_slow() */
#endif
	:: tries < MOST_TRIES && spoilt -> give_back()
	:: tries < MOST_TRIES && !spoilt && (tries >= RESEND_TRIES || POSTED_NOW == 1) ->
		resend_first()
	:: tries < MOST_TRIES && !spoilt && tries < RESEND_TRIES && POSTED_NOW != 1 ->
		grant_again(MISSING, false)
	fi;
	spoilt = false
}

inline count_if_late()
{
#ifdef BURSTS
	if
	:: QUIET ->
		timeouts++;
		assert(timeouts <= RESEND_TRIES * (FAULTS - faults))
	:: else -> skip
	fi
#else
	skip
#endif
}

active proctype B()
{
	byte part, index, from, to, i;
	bool w_again, spoilt;

	atomic { extend() }
	do
	:: atomic { !idle && len(landed) > 0 -> land(); extend() }
#ifdef COPIED
	:: atomic { len(to_b) > 0 ->
		TAKE(to_b, part, w_again);
		if
		:: part != NOTHING && !idle -> pulled(); extend()
		:: else -> part = 0; w_again = false
		fi }
#endif
#ifdef RESETS
	/* The card resets itself. */
	:: atomic { !idle && faults > 0 && oldest < PARTS -> faults--; withdraw(true); extend() }
#endif
#ifdef OTHERS
	/* Another node writes elsewhere, or where no part is that has arrived in its place. */
	:: atomic { faults > 0 && oldest < next ->
		faults--;
		i = oldest;
		do
		:: i < next -> stale[i] = true; i++
		:: else -> break
		od;
		i = oldest;
		do
		:: i < next && memory[PLACE(i)] != i + 1 -> memory[PLACE(i)] = FOREIGN; break
		:: i < next -> i++
		:: else -> break
		od;
		i = 0 }
#endif
	/* A may be slow and so lose its turn; its announcement gets another one. */
	:: atomic { !idle && oldest < PARTS && (QUIET || faults > 0) ->
		count_if_late(); spend_if_early(); tick();
		if
		:: !idle -> extend()
		:: else -> skip
		fi }
	:: atomic { idle && (QUIET || faults > 0) -> spend_if_early(); idle = false; extend() }
#ifdef GIVEUP
	:: atomic { oldest < PARTS ->
		given_up = true;
		if
		:: RULE(5) -> withdraw(false)
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
