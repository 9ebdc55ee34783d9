/*
 * The near transport in the kernel (net/portals/near.h): the sending kernel carries a
 * message out on the target's block itself (docs/portals.md section 3; docs/machine.md,
 * The shared region). Messages of a process to itself go this way with or without a region.
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

/* Make this process's view and format its block. Once, while booting. `limits`, which stays, is
 * what the blocks of all nodes have. */
void link_shm_start(const struct block_limits *limits);

/* The process's segment is known: messages may touch it from now on. */
void link_shm_set_segment(void);

/* The own block's lock. False: its owner died while holding it, the block is
 * broken for ever; the call that wanted it fails with PTL_FAIL. */
bool link_shm_lock(void);
void link_shm_unlock(void);
bool link_shm_is_broken(void);

/* A lock is waited for further up the stack: none may be taken. */
bool link_shm_waits_for_lock(void);

/* No lock is held: free each one of the region whose word names this node all the same. */
void link_shm_disown_locks(void);

/* For the tests of death: take the lock of another node's block once that node
 * waits for a message, say so on the console, and keep it. */
_Noreturn void link_shm_hold(uint32_t nid);

/* Node `nid` is dead: its view is no longer used. */
void link_shm_lost(uint32_t nid);

#endif
