/*
 * Locks between nodes that share memory.
 *
 * Test-and-set with the owner's name. A waiter spins for about 2 us, then says in the node
 * table which lock it waits for, and halts; the node that unlocks rings one waiter. Virtual CPUs
 * share host cores, so an owner can lose its core for milliseconds, and a spinning waiter
 * would burn what the owner needs.
 *
 * Rules: interrupts are off while a lock is held; never two locks at once;
 * never across a copy of payload. A lock whose owner died is not stolen: what
 * it protects may be half changed, so it answers SHM_LOCK_DEAD for ever.
 *
 * All state is in the lock and in the node table, in shared memory; `struct shm_member`
 * names the node that asks.
 */
#ifndef NET_SHM_LOCK_H
#define NET_SHM_LOCK_H
#include <stdatomic.h>
#include <stdint.h>

struct region;

/* One node's (or one host thread's) membership of a region; never shared. */
struct shm_member {
	const struct region *region;
	uint32_t node;             /* own id, below region->nodes */
};

/* Zero-filled is an unlocked lock. */
struct shm_lock {
	_Atomic uint32_t owner;    /* 0: free, else node id + 1 */
	_Atomic uint32_t waiters;  /* nodes that halt until they are rung: at least as many as
	                              region_node.waits_for names this lock */
};

enum { SHM_LOCK_OK = 0, SHM_LOCK_DEAD = -1 };

/* The port's part (kernel/transport/link_shm.c, host/): */
void shm_port_ring(const struct shm_member *self, uint32_t node);   /* wake that node */
/* Returns after a ring, maybe earlier; a ring that came before is not lost. `owner` is
 * what the lock's word says, unchecked. If no ring has come for long, that node is asked
 * to call shm_lock_disown for every lock of the region. */
void shm_port_halt(const struct shm_member *self, uint32_t owner);
uint64_t shm_port_spin_ns(const struct shm_member *self); /* a clock for spinning, ns */

/* 1 if the lock's owner is dead, is no node at all, or is this node, which does not hold
 * it: it will never be free. */
int shm_lock_is_dead(const struct shm_lock *lock, const struct shm_member *self);

/* Take it if it is free: 1. Else 0. */
int shm_lock_try(struct shm_lock *lock, const struct shm_member *self);

/* `place`: the node whose block the lock lies in. */
int shm_lock_acquire(struct shm_lock *lock, uint32_t place, const struct shm_member *self);
void shm_lock_release(struct shm_lock *lock, uint32_t place, const struct shm_member *self);

/* This node holds no lock: if this one's word says that it does, free it. */
void shm_lock_disown(struct shm_lock *lock, uint32_t place, const struct shm_member *self);

#endif
