/*
 * Membership: which nodes of the job are up, which have died, and which were started
 * again. The launcher writes that into the region and rings all nodes; boards have
 * no launcher, there the link finds out (link_frames.h).
 *
 * A bell says only that there may be news: the region says which. News are dealt with
 * ("settled") once: both transports and this process's block learn of a death or a
 * restart, so that what was under way with that node ends with a failure. No news is
 * lost, whatever the moment: a bell that comes before the node can take it, or before
 * the transports exist, is made good by membership_start, which looks at all nodes when
 * bells are taken; one that comes while a lock is waited for, or while the link is at
 * work, leaves membership_news, and the end of either looks again.
 *
 * Interrupts are off in all of these.
 */
#ifndef KERNEL_MEMBERSHIP_H
#define KERNEL_MEMBERSHIP_H
#include <stdbool.h>
#include <stdint.h>

/* Once, while booting, when both transports are ready and doorbells arrive: settles
 * what happened before, and announces that this node is up. */
void membership_start(void);

/* Bit per node: it was seen to be up, and neither death nor restart was settled since. */
extern uint64_t *membership_up;

static inline bool membership_is_up(uint32_t nid)
{
	return membership_up[nid / 64] >> nid % 64 & 1;
}

/* Waits until a node has booted, in this life of it. False: it is dead. Without a region
 * every node is taken to be up. `nid` is below node.size. */
bool membership_await(uint32_t nid);

/* The launcher has told that node `nid` is dead; maybe that is not settled yet. */
bool membership_is_dead(uint32_t nid);

/* A death or restart in the job was settled, or the link has given up a node. */
bool membership_has_lost(void);

/* The far transport has found that everything with a node is over. */
void membership_given_up(void);

/* After a doorbell interrupt, before returning to what it interrupted: the application, or
 * wait_until's halt. */
void membership_bell(void);

/* There may be news that could not be settled when they came. */
extern bool membership_news;

/* Settle them, if that is possible now. */
void membership_settle(void);

static inline void membership_look(void)
{
	if (__builtin_expect(membership_news, 0))
		membership_settle();
}

/* This node has ended and said so: wait until all others have ended or died. */
void membership_await_end(void);

#endif
