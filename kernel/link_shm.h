/*
 * The shared-memory link: the sending kernel carries a message out on the
 * target's block itself (docs/portals.md section 3; docs/machine.md, The shared
 * region). It also carries messages of a process to itself, with or without a region.
 *
 * Everything here runs with interrupts off and no lock held, in a system call
 * or while booting, unless it says otherwise.
 */
#ifndef KERNEL_LINK_SHM_H
#define KERNEL_LINK_SHM_H
#include <stdbool.h>
#include <stdint.h>

#include "../net/portals/deliver.h"

/* This process's own view; its memory is set by link_set_segment. */
extern struct process_view own_view;

/* The nodes that this link reaches: all of the job, or with link=frames only this one. */
extern uint32_t link_near_first, link_near_nodes;

static inline bool link_is_near(uint32_t nid)
{
	return nid - link_near_first < link_near_nodes;
}

/* Format the own block and announce it. Once, while booting. */
void link_start(void);

/* The segment is known: messages may touch it from now on. */
void link_set_segment(void);

/* The own block's lock. False: its owner died while holding it, the block is
 * broken for ever; the call that wanted it fails with PTL_FAIL. */
bool link_lock(void);
void link_unlock(void);
bool link_is_broken(void);

/* Whether a message may go either way, and is short enough for link_short. */
static inline bool link_is_short(const struct message *message)
{
	return message->length <= DELIVER_INLINE_BYTES;
}

/*
 * Carry a put to its target: begin, copy, end. `from` is the source range in the
 * own segment. On return: DELIVER_OK, DELIVER_DROPPED or DELIVER_CLOSED, and
 * to->answers tells whether *answer is an ack for the initiator; or
 * DELIVER_DAMAGED: the target is dead or broken, nothing is in *answer. Waits
 * while the target boots, or has no operation record free.
 */
int link_put(const struct message *message, const struct grant *from, struct grant *to,
             struct message *answer);

/* The same for a message that deliver_inline takes, but what fetches leaves a
 * reply in *answer and its payload, DELIVER_INLINE_BYTES at most, in `fetched`.
 * `from` is null if the message has no payload. */
int link_short(const struct message *message, const struct grant *from, struct grant *to,
               struct message *answer, uint8_t *fetched);

/* Carry a get to its target and its reply back into the own segment. 0 if the
 * get has ended at its initiator; else the caller ends it with message_refuse. */
int link_get(const struct message *message);

/* Deliver an answer without payload (ack, refused reply) to this process. */
void link_deliver_answer(const struct message *answer);

/* Carry a message that nobody answers (BARRIER) to another node, and wake it.
 * False: the node cannot be reached. Waits while it boots. */
bool link_signal(const struct message *message);

/* A node of the job has died or was started again, or all of them cannot be reached any
 * more; what that means here has been dealt with. */
bool link_has_lost_a_node(void);

/* Node `nid` is dead, and this node knows. */
bool link_is_dead(uint32_t nid);

/* A death or restart that could not be dealt with when it was told of can be now. */
void link_look_for_deaths(void);

/* For the tests of death: take the lock of another node's block once that node
 * waits for a message, say so on the console, and keep it. */
_Noreturn void link_hold(uint32_t nid);

#endif
