/*
 * Locks between nodes as a model for spin: net/shm/lock.c, one lock and NODES nodes that take it
 * ROUNDS times each. Names are those of the code; a doorbell stays rung until its node halts.
 * Spinning is left out, as it only delays.
 *
 *   DEATH    one node may die at any step, even while it holds the lock: then the launcher
 *            marks it and rings all, and no living node may wait forever
 *   WITHOUT  a rule to leave out, so that spin must find an error:
 *            1  a waiter does not try again once it is in the table
 *            2  it does not enter the table again after a bell
 *            3  an owner looks at the count before it frees the lock
 *            4  a waiter whose owner has died does not read the owner again
 *
 * What must hold: one owner at a time; no run ends with a node that halts; a lock is given up only
 * if its owner has died with it; without a death the count is 0 at the end.
 */
#ifndef NODES
#define NODES  3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef WITHOUT
#define WITHOUT 0
#endif

byte owner, waiters, inside;      /* owner: node + 1 */
bool waits_for[NODES], bell[NODES], dead[NODES];
byte finished;

inline try_take() { atomic { if :: owner == 0 -> owner = _pid + 1; took = true :: else -> took = false fi } }

inline publish() {
	if
	:: !waits_for[_pid] -> waiters++; waits_for[_pid] = true
	:: else
	fi }

/* First by a compare and exchange, and only then the count. */
inline withdraw(node) {
	atomic { mine = waits_for[node]; waits_for[node] = false };
	if
	:: mine -> waiters--
	:: else
	fi }

inline give() {
	if
	:: WITHOUT == 3 -> seen = waiters; owner = 0
	:: else -> owner = 0; seen = waiters
	fi;
	i = 1;
	do
	:: seen != 0 && i < NODES ->
		next = (_pid + i) % NODES;
		i++;
		if
		:: waits_for[next] ->
			withdraw(next);
			if
			:: mine && !dead[next] -> bell[next] = true; break
			:: else
			fi
		:: else
		fi
	:: else -> break
	od;
	i = 0; seen = 0; next = 0; mine = false }

inline take() {
	broken = false;
	entered = false;
	try_take();
	do
	:: took -> break
	:: !took ->
		if
		:: WITHOUT == 2 && entered
		:: else -> publish(); entered = true
		fi;
		if
		:: WITHOUT == 1
		:: else -> try_take()
		fi;
		if
		:: took -> break
		:: else
		fi;
		looked = owner;
		if
		:: looked != 0 && dead[looked - 1] ->
			if
			:: WITHOUT == 4 || owner == looked ->
				assert(owner == looked);
				broken = true;
				break
			:: else
			fi
		:: else
		fi;
		atomic { bell[_pid] -> bell[_pid] = false }          /* halt */
		if
		:: WITHOUT == 1 -> try_take()
		:: else
		fi
	od;
	withdraw(_pid);
	mine = false }

active [NODES] proctype node()
{
	byte i, next, seen, round, looked;
	bool took, mine, broken, entered;

	{
		do
		:: round < ROUNDS ->
			took = false;
			take();
			if
			:: broken -> break
			:: else
			fi;
#ifdef DEATH
			assert(owner == _pid + 1);
#else
			inside++;
			assert(inside == 1);
			inside--;
#endif
			give();
			round++
		:: else -> break
		od
	} unless { dead[_pid] };
	finished++
}

#ifdef DEATH
active proctype launcher()
{
	byte i;

	dead[0] = true;
	do
	:: i < NODES -> bell[i] = true; i++
	:: else -> break
	od
}
#else
active proctype over()
{
	finished == NODES;
	assert(waiters == 0 && owner == 0)
}
#endif
