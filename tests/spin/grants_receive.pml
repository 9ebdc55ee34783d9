/*
 * B of grants.pml: it begins and ends messages in order, gives turns, posts rooms, and asks for
 * what went astray.
 */

#define AT(s, number)   ((s) * MESSAGES + (number))
#define WAITS(s)        (begun[s] > expected[s] && !whole[AT(s, expected[s])])

/* The first message of this sender, from `number` on, that lacks parts, or NONE. */
inline find_lacking(s, number)
{
	lacking = number;
	do
	:: lacking == begun[s] -> lacking = NONE; break
	:: lacking < begun[s] && whole[AT(s, lacking)] -> lacking++
	:: else -> break
	od
}

inline want(s)
{
	if
	:: (state == IDLE || flow != s) && !queued[s] -> queued[s] = true; waiting!s
	:: else -> skip
	fi
}

inline tell(s, w_kind, w_sequence, w_part, w_reach, w_until)
{
	if
	:: len(to_a[s]) < QUEUE ->
		to_a[s]!w_kind, mine[s], theirs[s], expected[s], begun[s], turn, w_sequence, w_part,
			w_reach, w_until
	:: else -> skip
	fi
}

inline tell_rooms()
{
	tell(flow, GRANT, room_sequence[0], room_part[0],
	     room_sequence[posted - 1] - room_sequence[0], room_part[posted - 1] + 1)
}

inline clear_rooms()
{
	do
	:: posted > 0 ->
		posted--;
		room_sequence[posted] = 0; room_part[posted] = 0; room_message[posted] = 0
	:: else -> break
	od;
	do
	:: len(landed) > 0 -> landed?_, _, _, _, _, _, _
	:: else -> break
	od;
	written = 0
}

/* forget_rooms(): parts whose rooms are gone are missing. */
inline forget_rooms()
{
	if
	:: state == GRANTED && posted > 0 ->
		m = room_sequence[0];
		do
		:: m < begun[flow] && !whole[AT(flow, m)] ->
			granted[AT(flow, m)] = received[AT(flow, m)]; m++
		:: m < begun[flow] && whole[AT(flow, m)] -> m++
		:: else -> break
		od;
		m = 0
	:: else -> skip
	fi;
	clear_rooms()
}

inline drain()
{
	state = DRAIN;
	turn++;
	do
	:: posted < ROOMS -> room_sequence[posted] = NONE; room_message[posted] = NONE; posted++
	:: else -> break
	od;
	tell(flow, OVER, 0, 0, 0, 0)
}

inline astray()
{
	forget_rooms();
	tries = 0;
	drain()
}

inline begin_rooms()
{
	state = GRANTED; turn++; tries = 0
}

/* What follows the first message ends with it, as far as it is whole. */
inline end_whole(s)
{
	do
	:: begun[s] > expected[s] && whole[AT(s, expected[s])] ->
		m = message[AT(s, expected[s])];
		assert(m >= after[s] && m / MESSAGES == s && !known[m]);
		part = 0;
		do
		:: part < PARTS && !IS_SHORT(m) -> assert(right[m * PARTS + part]); part++
		:: else -> break
		od;
		part = 0;
		do
		:: part < posted -> assert(room_message[part] != m); part++
		:: else -> break
		od;
		ended[m] = true; after[s] = m + 1; expected[s]++;
		m = 0; part = 0
	:: else -> break
	od
}

/* flow_lose() with bulk_lose() */
inline lose(s)
{
	if
	:: state != IDLE && flow == s ->
		if
		:: RULE(3, state == PULLED) -> skip
		:: else -> clear_rooms()
		fi;
		state = IDLE; tries = 0; spent = 0
	:: else -> skip
	fi;
	part = 0;
	do
	:: part < posted ->
		assert(room_message[part] == NONE || room_message[part] / MESSAGES != s);
		part++
	:: else -> break
	od;
	part = 0;
	if
	:: queued[s] -> queued[s] = false; waiting??eval(s)
	:: else -> skip
	fi;
	m = 0;
	do
	:: m < MESSAGES ->
		message[AT(s, m)] = 0; received[AT(s, m)] = 0; granted[AT(s, m)] = 0;
		pulled[AT(s, m)] = 0; whole[AT(s, m)] = false; m++
	:: else -> break
	od;
	expected[s] = 0; begun[s] = 0; m = 0
}

inline take_announce(s)
{
	if
	:: w_sequence < begun[s] ->
		if
		:: WAITS(s) && WITHOUT != 1 -> want(s)
		:: else -> skip
		fi;
		tell(s, ACK, 0, 0, 0, 0)
	:: w_sequence > begun[s] -> skip               /* too early */
	:: else ->
		message[AT(s, w_sequence)] = content;
		whole[AT(s, w_sequence)] = IS_SHORT(content);
		part = 0;
		do
		:: part < PARTS -> right[content * PARTS + part] = false; part++
		:: else -> break
		od;
		part = 0;
		begun[s]++;
		if
		:: !IS_SHORT(content) -> want(s)
		:: else -> skip
		fi;
		end_whole(s);
		tell(s, ACK, 0, 0, 0, 0)
	fi
}

inline finish(s, number)
{
	whole[AT(s, number)] = true;
	end_whole(s);
	tell(s, ACK, 0, 0, 0, 0)
}

/* pull(): parts of message `number` to the ordinary card. */
inline pull(number)
{
	at = AT(flow, number);
	if
	:: state != PULLED ->
		granted[at] = PARTS;
		spent = spent + granted[at] - received[at];
		pulled[at] = 0;
		state = PULLED
	:: else -> skip
	fi;
	turn++;
	tell(flow, AGAIN, number, received[at], 0,
	     ((1 << (granted[at] - received[at])) - 1) & (255 - pulled[at]));
	at = 0
}

/* bulk_pulled() */
inline take_pulled(s)
{
	lacking = NONE;
	if
	:: state == PULLED && flow == s ->
		find_lacking(s, expected[s])
	:: else -> skip
	fi;
	if
	:: lacking != NONE && RULE(4, w_sequence == lacking) &&
	   w_part >= received[AT(s, lacking)] && w_part < granted[AT(s, lacking)] &&
	   !(pulled[AT(s, lacking)] >> (w_part - received[AT(s, lacking)]) & 1) ->
		at = AT(s, lacking);
		right[message[at] * PARTS + w_part] = content == message[at];
		tries = 0;
		pulled[at] = pulled[at] | (1 << (w_part - received[at]));
		do
		:: pulled[at] & 1 -> received[at]++; pulled[at] = pulled[at] >> 1
		:: else -> break
		od;
		if
		:: received[at] < granted[at] ->
			if
			:: w_part + 1 == granted[at] -> pull(lacking)
			:: else -> skip
			fi
		:: else ->
			begin_rooms();
			if
			:: received[at] == PARTS -> finish(s, lacking)
			:: else -> skip
			fi
		fi
	:: else -> skip
	fi;
	at = 0; lacking = 0
}

#define OF_TURN  (w_turn == turn && content_flow == flow && source == theirs[flow] && \
		  RULE(5, destination == mine[flow]))

/* link_landed(): B sees what lies in the oldest room. */
inline see_landed()
{
	landed?FRAME;
	written--;
	content_flow = (kind == MARK -> content : content / MESSAGES);
	if
	:: state == DRAIN && kind == MARK && OF_TURN ->
		clear_rooms();
		begin_rooms()
	:: state == DRAIN && !(kind == MARK && OF_TURN) -> skip    /* another room for junk */
	:: state == GRANTED && kind == BULK && OF_TURN && RULE(6, w_sequence == room_sequence[0]) &&
	   RULE(7, w_part == room_part[0]) ->
		at = room_sequence[0];
		posted--;
		m = 0;
		do
		:: m < posted ->
			room_sequence[m] = room_sequence[m + 1];
			room_part[m] = room_part[m + 1];
			room_message[m] = room_message[m + 1]; m++
		:: else -> break
		od;
		room_sequence[posted] = 0; room_part[posted] = 0; room_message[posted] = 0;
		m = 0;
		received[AT(flow, at)]++;
		tries = 0;
		if
		:: received[AT(flow, at)] == PARTS -> finish(flow, at)
		:: else -> skip
		fi;
		at = 0
	:: else -> astray()
	fi;
	content_flow = 0
}

/* bulk_tick() */
inline tick()
{
	tries++;
	if
	:: state == GRANTED && tries < GRANT_TRIES && posted > 0 -> tell_rooms()
	:: state == GRANTED && !(tries < GRANT_TRIES && posted > 0) -> astray()
	:: state == DRAIN && tries < DRAIN_TRIES -> drain()
	:: state == DRAIN && tries >= DRAIN_TRIES -> clear_rooms(); state = IDLE; tries = 0
	:: state == PULLED && tries < PULL_TRIES ->
		find_lacking(flow, expected[flow]);
		pull(lacking)
	:: state == PULLED && tries >= PULL_TRIES ->
		find_lacking(flow, expected[flow]);
		granted[AT(flow, lacking)] = received[AT(flow, lacking)];
		state = IDLE; tries = 0
	fi
}

/* Whether the card can place a part. */
#ifdef UNPLACED
#define PLACED  placed
#else
#define PLACED  true
#endif

/* extend(): rooms for the flow's next parts. `more`: its turn goes on. */
inline extend()
{
	more = true;
	find_lacking(flow, expected[flow]);
	if
	:: posted > LOW -> skip
	:: else ->
		sent = 0;
#ifdef UNPLACED
		if
		:: placed = true
		:: placed = false
		fi;
#endif
		do
		:: lacking == NONE || posted == ROOMS -> break
		:: lacking != NONE && posted < ROOMS && granted[AT(flow, lacking)] == PARTS ->
			find_lacking(flow, lacking + 1)
		:: lacking != NONE && posted < ROOMS && granted[AT(flow, lacking)] < PARTS &&
		   len(waiting) > 0 && spent >= SHARE -> break
		:: lacking != NONE && posted < ROOMS && granted[AT(flow, lacking)] < PARTS &&
		   !(len(waiting) > 0 && spent >= SHARE) && PLACED ->
			room_sequence[posted] = lacking;
			room_part[posted] = granted[AT(flow, lacking)];
			room_message[posted] = message[AT(flow, lacking)];
			posted++;
			granted[AT(flow, lacking)]++;
			spent++; sent++
#ifdef UNPLACED
		:: else ->
			if
			:: posted == 0 -> pull(lacking)
			:: else -> skip
			fi;
			break
#endif
		od;
		if
		:: sent > 0 -> tell_rooms()
		:: else -> skip
		fi;
		more = posted > 0 || state == PULLED;
		sent = 0
	fi
}

/* bulk_run() */
inline go_on()
{
	do
	:: state == IDLE && len(waiting) > 0 ->
		waiting?flow;
		queued[flow] = false;
		spent = 0;
		begin_rooms()
	:: state == GRANTED ->
		extend();
		if
		:: more -> break
		:: else ->
			state = IDLE;
			tries = 0;
			find_lacking(flow, expected[flow]);
			if
			:: lacking != NONE -> want(flow)
			:: else -> skip
			fi
		fi
	:: else -> break
	od;
	lacking = 0; more = false
}

/* accept.c */
inline take_frame(s)
{
	if
	:: kind == NOTHING || source < theirs[s] -> skip
	:: kind == RESET && source >= theirs[s] ->
		if
		:: theirs[s] != 0 && destination == mine[s] && source > theirs[s] ->
			lose(s);
			theirs[s] = source
		:: else -> skip
		fi
	:: kind != RESET && kind != NOTHING && source >= theirs[s] &&
	   destination != mine[s] && (destination != 0 || mine[s] != 1) ->
		if
		:: len(to_a[s]) < QUEUE ->
			to_a[s]!RESET, mine[s], source, 0, 0, 0, 0, 0, 0, (mine[s] % LIFE != 1)
		:: else -> skip
		fi
	:: else ->
		if
		:: theirs[s] != 0 && source > theirs[s] -> lose(s)
		:: else -> skip
		fi;
		theirs[s] = source;
		if
		:: kind == ANNOUNCE -> take_announce(s)
		:: kind == BULK -> take_pulled(s)
		fi
	fi
}

active proctype B()
{
	mtype kind;
	byte source, destination, w_turn, w_sequence, w_part, content, content_flow;
	byte m, at, part, lacking, sent, s = 0;
	bool more = false, placed = false, changed = false;

	atomic {
		do
		:: s < SENDERS -> mine[s] = 1; run A(s); s++
		:: else -> break
		od;
		s = 0
	}
	do
	:: atomic {
		if
		:: len(to_b[0]) > 0 ->
			TAKE(to_b[0], FRAME);
			take_frame(0)
#if SENDERS == 2
		:: len(to_b[1]) > 0 ->
			TAKE(to_b[1], FRAME);
			take_frame(1)
#endif
		:: written > 0 -> see_landed()
		:: state != IDLE && (QUIET || faults > 0) -> spend_if_early(QUIET); tick()
#ifdef RESTART_B
		:: !changed && !done[0] ->
			changed = true;
			clear_rooms();
			do
			:: s < SENDERS ->
				lose(s);
				mine[s] = mine[s] + LIFE; theirs[s] = 0; after[s] = 0; s++
			:: else -> break
			od;
			s = 0;
			state = IDLE; turn = 0; flow = 0; tries = 0; spent = 0
#endif
#ifdef GIVEUP_B
		:: !changed && begun[0] > 0 -> changed = true; lose(0); mine[0]++
#endif
		fi;
		kind = NOTHING; source = 0; destination = 0; w_turn = 0; w_sequence = 0; w_part = 0;
		content = 0;
		go_on() }
	:: DONE -> break
	od
}
