/*
 * Locks between nodes that share memory.
 *
 * A test-and-set lock that holds its owner's id. A waiter spins for about 50 us. Then it records
 * in the node table which lock it waits for, and halts. The node that unlocks rings one waiter.
 * Waiters do not spin longer because virtual CPUs share host cores: an owner can lose its core
 * for milliseconds, and a spinning waiter would take the time that the owner needs.
 *
 * Rules: interrupts are off while a lock is held; a node holds at most one lock, and none while
 * it copies payload. A lock whose owner died is not taken over, as the data that it protects may
 * be half changed: from then on shm_lock_acquire returns SHM_LOCK_DEAD.
 *
 * All state is in shared memory, in the lock and in the node table. `struct shm_member` names
 * the calling node.
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

/* A lock that is all zeros is free. */
struct shm_lock {
	_Atomic uint32_t owner;    /* 0: free, else node id + 1 */
	_Atomic uint32_t waiters;  /* nodes that wait for a ring; never less than the number of
	                              nodes whose waits_for names this lock */
};

enum { SHM_LOCK_OK = 0, SHM_LOCK_DEAD = -1 };

/* Port functions (kernel/transport/link_shm.c, host/): */
void shm_port_ring(const struct shm_member *self, uint32_t node);   /* wake that node */
/* Wait for a ring; may return earlier. A ring that came before the call is not lost. `owner` is
 * the lock's owner field, unchecked. If no ring comes for a long time, the port asks that node
 * to call shm_lock_disown for every lock of the region. */
void shm_port_halt(const struct shm_member *self, uint32_t owner);
uint64_t shm_port_spin_ns(const struct shm_member *self); /* a clock for spinning, ns */

/* 1 if the lock will never be free: its owner is dead, is not a node, or is this node, which
 * does not hold it. */
int shm_lock_is_dead(const struct shm_lock *lock, const struct shm_member *self);

/* Acquire the lock if it is free: 1, else 0. */
int shm_lock_try(struct shm_lock *lock, const struct shm_member *self);

/* Acquire waits. SHM_LOCK_OK or SHM_LOCK_DEAD. `place`: the node whose block has the lock. */
int shm_lock_acquire(struct shm_lock *lock, uint32_t place, const struct shm_member *self);
void shm_lock_release(struct shm_lock *lock, uint32_t place, const struct shm_member *self);

/* Called when this node holds no lock: free this one if it names this node as its owner. */
void shm_lock_disown(struct shm_lock *lock, uint32_t place, const struct shm_member *self);

#endif
