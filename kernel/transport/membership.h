/*
 * Membership: which nodes of the job are up, which have died, and which were restarted. The
 * launcher writes that into the region and rings all nodes. Boards have no launcher; there the link
 * finds out (link_frames.h).
 *
 * A doorbell says only that there may be news; the region has them. News are handled ("settled")
 * once: both transports and this process's block learn of a death or a restart, so that operations
 * under way with that node end with a failure. No news is lost. If a doorbell comes before the node
 * can take it, or before the transports exist, membership_start finds the news: it looks at all
 * nodes once doorbells are taken. If it comes during a wait for a lock, or in the link's own work,
 * it sets membership_news, and the end of either looks again.
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

/* Bit per node: it was seen up, and no death or restart of it has been settled since. */
extern uint64_t *membership_up;

static inline bool membership_is_up(uint32_t nid)
{
	return membership_up[nid / 64] >> nid % 64 & 1;
}

/* Waits until a node has booted in its current life. False: it is dead. Without a region every node
 * counts as up. `nid` is below node.size. */
bool membership_await(uint32_t nid);

/* The launcher has reported node `nid` dead; this may not be settled yet. */
bool membership_is_dead(uint32_t nid);

/* A death or restart in the job was settled, or the link has given up a node, here or by another
 * node of the region. */
bool membership_has_lost(void);

/* The far transport has given up a node. */
void membership_given_up(void);

/* After a doorbell interrupt, before returning to what it interrupted: the application, or
 * wait_until's halt. */
void membership_bell(void);

/* There may be news that could not be settled at once. */
extern bool membership_news;

/* Settles them, if that is possible now. */
void membership_settle(void);

static inline void membership_check(void)
{
	if (__builtin_expect(membership_news, 0))
		membership_settle();
}

/* This node has ended and announced it: waits until all others have ended or died. */
void membership_await_end(void);

#endif
