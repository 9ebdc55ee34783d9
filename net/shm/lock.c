/*
 * Locks between nodes that share memory: taking, waiting, giving back.
 * Called by kernels with interrupts off, and by host threads in tests.
 *
 * The lock counts its waiters; which nodes they are stands in the node table, and is
 * looked for only if the count is not 0. A waiter is counted first, and then says in its
 * entry (waits_for) which lock it waits for. The node that clears that, the waiter or the
 * owner that rings it, by one compare and exchange, takes one off the count. So the count
 * is never less than the entries that name the lock. A waiter that dies between its two
 * steps leaves it one too high for ever: then each give looks for none, which costs time
 * only.
 *
 * Why no wakeup is lost: a waiter is counted and in the table before it tries the lock for
 * the last time; an owner frees the lock before it looks at the count, and at the count
 * before the table. All of these are locked instructions, or loads behind one or behind a
 * fence, so at least one of the two sees the other. A node that is rung either takes the lock, and rings the
 * next one when it gives it back, or finds it taken; but before that try it was counted
 * and in the table again, and the lock's owner will look there. A node that was rung and
 * is dead cannot: the launcher rings all nodes when one dies. tests/spin/lock.pml is
 * this as a model.
 *
 * A damaged word may name a node that holds nothing. A node that has waited for long
 * asks the one that is named, which gives back what it does not hold (shm_lock_disown).
 */
#include "lock.h"

#include <stdbool.h>

#include "region.h"

#define SPIN_NS 2000u

/* Without a look before: mostly the lock is free. */
static inline int try_acquire(struct shm_lock *lock, const struct shm_member *self)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong_explicit(&lock->owner, &free, self->node + 1,
	                                               memory_order_acquire, memory_order_relaxed);
}

int shm_lock_try(struct shm_lock *lock, const struct shm_member *self)
{
	return atomic_load_explicit(&lock->owner, memory_order_relaxed) == 0 &&
	       try_acquire(lock, self);
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

/* This node halts for the lock in `place`'s block from now on. Only it sets the entry. */
static void publish(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	struct region_node *own = region_node(self->region, self->node);

	if (atomic_load_explicit(&own->waits_for, memory_order_relaxed) == place + 1)
		return;
	atomic_fetch_add(&lock->waiters, 1);
	atomic_exchange(&own->waits_for, place + 1);
}

/* A node waits no more, or is to be rung. False: it did not wait for this lock. */
static bool withdraw(struct shm_lock *lock, uint32_t place, struct region_node *waiter)
{
	uint32_t name = place + 1;

	if (!atomic_compare_exchange_strong(&waiter->waits_for, &name, 0))
		return false;
	atomic_fetch_sub(&lock->waiters, 1);
	return true;
}

/* The slow path of shm_lock_acquire: spin a little, then halt until rung. */
__attribute__((noinline, cold))
static int wait_and_take(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	uint64_t until = shm_port_spin_ns(self) + SPIN_NS;
	int result = SHM_LOCK_OK;

	do {
		if (shm_lock_try(lock, self))
			return SHM_LOCK_OK;
		__builtin_ia32_pause();
	} while (shm_port_spin_ns(self) < until);

	for (;;) {
		publish(lock, place, self);
		if (shm_lock_try(lock, self))
			break;
		if (shm_lock_is_dead(lock, self)) {
			result = SHM_LOCK_DEAD;
			break;
		}
		shm_port_halt(self, atomic_load_explicit(&lock->owner, memory_order_relaxed));
	}
	withdraw(lock, place, region_node(self->region, self->node));
	return result;
}

int shm_lock_acquire(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	if (__builtin_expect(try_acquire(lock, self), 1))
		return SHM_LOCK_OK;
	return wait_and_take(lock, place, self);
}

/* Ring the next living waiter after oneself, so that all get their turn. */
__attribute__((noinline, cold))
static void ring_one(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	uint32_t nodes = self->region ? self->region->nodes : 0;
	uint32_t node = self->node;

	for (uint32_t i = 1; i < nodes; i++) {
		struct region_node *waiter;

		node = node + 1 < nodes ? node + 1 : 0;
		waiter = region_node(self->region, node);
		if (atomic_load(&waiter->waits_for) == place + 1 && withdraw(lock, place, waiter) &&
		    !atomic_load(&waiter->dead)) {
			shm_port_ring(self, node);
			return;
		}
	}
}

void shm_lock_release(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	atomic_store_explicit(&lock->owner, 0, memory_order_release);
	/* By name: the compiler would take a locked instruction, which costs more. */
	__asm__ volatile("mfence" : : : "memory");
	if (__builtin_expect(atomic_load(&lock->waiters) != 0, 0))
		ring_one(lock, place, self);
}

void shm_lock_disown(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	if (atomic_load_explicit(&lock->owner, memory_order_relaxed) == self->node + 1)
		shm_lock_release(lock, place, self);
}
