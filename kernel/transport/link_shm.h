/*
 * The near transport in the kernel (net/portals/near.h): the sending kernel executes a message
 * directly on the target's block (docs/portals.md section 3; docs/machine.md, The shared region).
 * Messages of a process to itself go this way with or without a region.
 *
 * Everything here runs with interrupts off and no lock held, in a system call
 * or while booting, unless it says otherwise.
 */
#ifndef KERNEL_LINK_SHM_H
#define KERNEL_LINK_SHM_H
#include <stdbool.h>
#include <stdint.h>

#include "net/portals/near.h"

/* The nodes that this transport reaches: all of the job, or with link=frames only this one. */
extern uint32_t link_shm_first, link_shm_nodes;

/* Makes this process's view and formats its block. Once, while booting. `limits` are those of the
 * blocks of all nodes; they must stay valid. */
void link_shm_start(const struct block_limits *limits);

/* The process's segment is known: messages may touch it from now on. */
void link_shm_set_segment(void);

/* The own block's lock. False: its owner died while holding it, the block is
 * broken for ever; the call that wanted it fails with PTL_FAIL. */
bool link_shm_lock(void);
void link_shm_unlock(void);
bool link_shm_is_broken(void);

/* A caller further up the stack waits for a lock: none may be taken. */
bool link_shm_waits_for_lock(void);

/* No lock is held: frees each lock of the region that still names this node. */
void link_shm_disown_locks(void);

/* For tests of deaths: takes the lock of another node's block once that node waits for a message,
 * says so on the console, and keeps it. */
_Noreturn void link_shm_hold(uint32_t nid);

/* Node `nid` is dead: its view is no longer used. */
void link_shm_lost(uint32_t nid);

#endif
