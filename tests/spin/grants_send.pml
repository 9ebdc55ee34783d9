/*
 * A of grants.pml: it announces messages in the window, and sends parts as they are granted, to
 * the bulk card, or with AGAIN to the ordinary one.
 */

#define HAS_PARTS(m)  (a_pulled[m] -> wanted[m] != 0 : served[m] < allowed[m])
#define IS_OLD(m)     (turned[m] && my_turn[m] > w_turn)

/* Messages that have nothing to send any more leave the list. */
inline trim()
{
	do
	:: len(serving[me]) == 0 -> pulls[me] = false; break
	:: len(serving[me]) > 0 ->
		serving[me]?<m>;
		if
		:: m < base + una || !HAS_PARTS(m) -> serving[me]?m; listed[m] = false
		:: else -> pulls[me] = a_pulled[m]; break
		fi
	od;
	m = 0
}

/* What is under way has failed; messages behind it begin anew. */
inline a_lose()
{
	m = base;
	do
	:: m < base + next ->
		if
		:: m >= base + una -> failed[me * MESSAGES + m] = true
		:: else -> skip
		fi;
		m++
	:: else -> break
	od;
	base = base + next;
	una = 0; next = 0; arrived = 0;
	trim();
	done[me] = base == MESSAGES
}

/* grant(): message m may send the parts from `first` to before `last`. */
inline grant_message()
{
	if
	:: !IS_OLD(m) ->
		if
		:: !turned[m] || my_turn[m] != w_turn ->
			turned[m] = true; my_turn[m] = w_turn;
			a_pulled[m] = kind == AGAIN;
			served[m] = first; allowed[m] = first;
			wanted[m] = (kind == AGAIN -> w_until : 0)
		:: else -> skip
		fi;
		if
		:: !a_pulled[m] && last > allowed[m] -> allowed[m] = last
		:: else -> skip
		fi;
		if
		:: HAS_PARTS(m) && !listed[m] -> listed[m] = true; serving[me]!m
		:: else -> skip
		fi
	:: else -> skip
	fi
}

/* serve_grant() */
inline take_grant()
{
	m = base + una;
	do
	:: m < base + next ->
		sequence = m - base;
		if
		:: kind == OVER && !IS_OLD(m) ->
			turned[m] = true; my_turn[m] = w_turn;
			a_pulled[m] = false; allowed[m] = served[m]
		:: kind != OVER && sequence >= w_sequence && sequence <= w_sequence + w_reach &&
		   !IS_SHORT(m) ->
			first = (sequence == w_sequence -> w_part : 0);
			last = (sequence == w_sequence + w_reach && kind == GRANT -> w_until : PARTS);
			assert(first < last && last <= PARTS);
			grant_message();
			first = 0; last = 0
		:: else -> skip
		fi;
		m++
	:: else -> break
	od;
	if
	:: kind == OVER && len(to_rooms[me]) < QUEUE ->
		to_rooms[me]!MARK, my_life, its_life, w_turn, 0, 0, me
	:: else -> skip
	fi;
	sequence = 0
}

/* ack_take() */
inline take_ack()
{
	if
	:: w_ack >= una && w_ack <= next ->
		do
		:: una < w_ack ->
			assert(ended[me * MESSAGES + base + una]);
			known[me * MESSAGES + base + una] = true;
			una++
		:: else -> break
		od;
		if
		:: w_arrived > arrived -> arrived = w_arrived
		:: else -> skip
		fi;
		done[me] = una == next && base + next == MESSAGES
	:: else -> assert(w_ack < una)
	fi
}

inline announce(number)
{
	if
	:: len(to_b[me]) < QUEUE ->
		to_b[me]!ANNOUNCE, my_life, its_life, 0, number, 0, me * MESSAGES + base + number
	:: else -> skip
	fi
}

inline send_part()
{
	serving[me]?<m>;
	w_part = served[m];
	if
	:: a_pulled[m] ->
		do
		:: !(wanted[m] >> (w_part - served[m]) & 1) -> w_part++
		:: else -> break
		od;
		wanted[m] = wanted[m] & (wanted[m] - 1);
		to_b[me]!BULK, my_life, its_life, my_turn[m], m - base, w_part, me * MESSAGES + m
	:: else ->
		served[m]++;
		to_rooms[me]!BULK, my_life, its_life, my_turn[m], m - base, w_part,
			me * MESSAGES + m
	fi
}

proctype A(byte me)
{
	byte my_life = 1, its_life = 0;
	byte base = 0;         /* messages of earlier conversations */
	byte una = 0, next = 0, arrived = 0;
	bool turned[MESSAGES], a_pulled[MESSAGES], listed[MESSAGES];
	byte my_turn[MESSAGES], served[MESSAGES], allowed[MESSAGES], wanted[MESSAGES];
	bool changed = false;
	mtype kind;
	byte source, destination, w_ack, w_arrived, w_turn, w_sequence, w_part, w_reach, w_until;
	byte m, sequence, first, last;

	do
	:: atomic { next - una < WINDOW && base + next < MESSAGES && len(to_b[me]) < QUEUE ->
		announce(next);
		next++ }

	:: atomic { len(serving[me]) > 0 &&
		    (pulls[me] -> len(to_b[me]) < QUEUE : len(to_rooms[me]) < QUEUE) ->
		send_part();
		w_part = 0;
		trim() }

	/* The timer, which is the longer one: what has not arrived, and the oldest, so
	 * that it is not forgotten. */
	:: atomic { una < next && ((QUIET && state == IDLE) || faults > 0) ->
		spend_if_early(QUIET && state == IDLE);
		announce(una);
		if
		:: una + 1 < next && una + 1 >= arrived -> announce(una + 1)
		:: else -> skip
		fi }

	:: atomic { len(to_a[me]) > 0 ->
		TAKE(to_a[me], ANSWER);
		if
		:: kind == NOTHING || source < its_life -> skip
		:: kind == RESET && (destination != my_life || source == its_life) -> skip
		:: kind == RESET && destination == my_life && source > its_life ->
			if
			:: its_life != 0 || w_until -> a_lose()
			:: else -> skip
			fi;
			its_life = source
		:: kind != RESET && kind != NOTHING && source >= its_life ->
			if
			:: RULE(2, destination == my_life) ->
				if
				:: its_life != 0 && source > its_life -> a_lose()
				:: else -> skip
				fi;
				its_life = source;
				take_ack();
				if
				:: kind != ACK -> take_grant()
				:: else -> skip
				fi;
				trim()
			:: else ->
				/* meant for an earlier life */
				if
				:: len(to_b[me]) < QUEUE -> to_b[me]!RESET, my_life, source, 0, 0, 0, me
				:: else -> skip
				fi
			fi
		fi;
		kind = NOTHING; source = 0; destination = 0; w_ack = 0; w_arrived = 0; w_turn = 0;
		w_sequence = 0; w_part = 0; w_reach = 0; w_until = 0; m = 0 }
#ifdef GIVEUP_A
	:: atomic { una < next && !changed -> changed = true; a_lose(); my_life++ }
#endif
#ifdef RESTART_A
	:: atomic { !done[me] && !changed ->
		changed = true; a_lose(); its_life = 0; my_life = my_life + LIFE }
#endif
	:: DONE -> break
	od
}
