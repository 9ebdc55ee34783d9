/*
 * Locks between nodes that share memory: taking, waiting, giving back.
 * Called by kernels with interrupts off, and by host threads in tests.
 *
 * Why no wakeup is lost: a waiter publishes its bit before it tries the lock
 * for the last time; an owner frees the lock before it looks at the bits. Both
 * are locked instructions, so at least one of them sees the other. A node that
 * is rung either takes the lock, and rings the next one when it gives it back,
 * or finds it taken, and its owner will look at the bits again. A node that
 * was rung and is dead cannot: the launcher rings everybody when a node dies.
 *
 * A damaged word may name a node that holds nothing. A node that has waited for long
 * asks the one that is named, which gives back what it does not hold (shm_lock_disown).
 */
#include "lock.h"

#include <stdbool.h>

#include "region.h"

#define SPIN_NS 2000u

static bool try_take(struct shm_lock *lock, uint32_t name)
{
	uint32_t free = 0;

	return atomic_load_explicit(&lock->owner, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong_explicit(&lock->owner, &free, name,
	                                               memory_order_acquire,
	                                               memory_order_relaxed);
}

/* It will give nothing back. A node that has ended in order holds no lock. */
static bool has_ended(const struct region_node *node)
{
	return atomic_load_explicit(&node->dead, memory_order_relaxed) ||
	       atomic_load_explicit(&node->state, memory_order_relaxed) >= NODE_EXITED;
}

int shm_lock_is_dead(const struct shm_lock *lock, const struct shm_member *self)
{
	uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);

	/* The word lies in shared memory: a name that no node has is damage, and so is the
	 * own name, since no node asks for a lock that it holds. */
	return owner && (owner > self->region->nodes || owner == self->node + 1 ||
	                 has_ended(region_node(self->region, owner - 1)));
}

/* The slow path of shm_lock_take: spin a little, then halt until rung. */
__attribute__((noinline, cold))
static int wait_and_take(struct shm_lock *lock, const struct shm_member *self)
{
	uint64_t bit = 1ULL << self->node;
	uint64_t until = shm_port_spin_ns(self) + SPIN_NS;

	do {
		if (try_take(lock, self->node + 1))
			return SHM_LOCK_OK;
		__builtin_ia32_pause();
	} while (shm_port_spin_ns(self) < until);

	for (;;) {
		atomic_fetch_or(&lock->waiters, bit);
		if (try_take(lock, self->node + 1)) {
			atomic_fetch_and(&lock->waiters, ~bit);
			return SHM_LOCK_OK;
		}
		if (shm_lock_is_dead(lock, self)) {
			atomic_fetch_and(&lock->waiters, ~bit);
			return SHM_LOCK_DEAD;
		}
		shm_port_halt(self, atomic_load_explicit(&lock->owner, memory_order_relaxed));
	}
}

int shm_lock_take(struct shm_lock *lock, const struct shm_member *self)
{
	if (__builtin_expect(try_take(lock, self->node + 1), 1))
		return SHM_LOCK_OK;
	return wait_and_take(lock, self);
}

/* Ring the next living waiter after oneself, so that all get their turn. */
__attribute__((noinline, cold))
static void ring_one(struct shm_lock *lock, const struct shm_member *self, uint64_t waiters)
{
	uint32_t turn = (self->node + 1) & 63;

	while (waiters) {
		uint64_t rotated = waiters >> turn | (turn ? waiters << (64 - turn) : 0);
		uint32_t node = (turn + (uint32_t)__builtin_ctzll(rotated)) & 63;
		uint64_t bit = 1ULL << node;
		bool mine = atomic_fetch_and(&lock->waiters, ~bit) & bit;

		waiters &= ~bit;
		if (mine && node < self->region->nodes &&
		    !atomic_load(&region_node(self->region, node)->dead)) {
			shm_port_ring(self, node);
			return;
		}
	}
}

void shm_lock_give(struct shm_lock *lock, const struct shm_member *self)
{
	uint64_t waiters;

	atomic_exchange(&lock->owner, 0);
	waiters = atomic_load(&lock->waiters);
	if (__builtin_expect(waiters != 0, 0))
		ring_one(lock, self, waiters);
}

void shm_lock_disown(struct shm_lock *lock, const struct shm_member *self)
{
	if (atomic_load_explicit(&lock->owner, memory_order_relaxed) == self->node + 1)
		shm_lock_give(lock, self);
}
