/*
 * Locks between nodes that share memory: acquire, wait, release.
 * Called by kernels with interrupts off, and by host threads in tests.
 *
 * The lock counts its waiters. The node table says which nodes they are; it is searched only
 * if the count is not 0. A waiter first increments the count, then stores the lock in its own
 * entry (waits_for). Either the waiter or the owner that rings it clears the entry, by one
 * compare-and-exchange, and that node decrements the count. So the count is never less than
 * the number of entries that name the lock. A waiter that dies between its two steps leaves
 * the count one too high. Then each release searches the table and finds no waiter, which only
 * costs time.
 *
 * No wakeup is lost. A waiter is in the count and in the table before it tries the lock for
 * the last time. An owner frees the lock before it reads the count, and reads the count before
 * the table. All of these are locked instructions, or loads after one or after a fence. So
 * either the waiter sees a free lock or the owner sees the waiter. A node that was rung may
 * acquire the lock; then it rings the next waiter at its release. Or it finds the lock taken;
 * then it entered count and table again before that try, and the new owner will see it there.
 * A node may also die after it was rung: the launcher rings all nodes when one dies.
 * tests/spin/lock.pml is a model of this.
 *
 * A damaged owner field may name a node that does not hold the lock. A node that has waited
 * for a long time asks the named node, which then frees the lock (shm_lock_disown).
 */
#include "lock.h"

#include <stdbool.h>

#include "region.h"

/* Time to spin. A halt lasts about 100 us if the host's processors are busy (docs/measurements.md,
 * "Waiting for a lock"). */
#define SPIN_NS 50000u

/* Does not read the lock first: it is usually free. */
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

/* Whether a lock that names this node as its owner will never be released. A node that ended
 * normally holds no lock. */
static bool has_ended(const struct region_node *node)
{
	return atomic_load_explicit(&node->dead, memory_order_acquire) ||
	       atomic_load_explicit(&node->state, memory_order_acquire) >= NODE_EXITED;
}

int shm_lock_is_dead(const struct shm_lock *lock, const struct shm_member *self)
{
	uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_acquire);

	/* The field is in shared memory. An id that no node has means damage. So does this
	 * node's own id, as no node tries to acquire a lock that it holds. */
	if (!owner || owner > self->region->nodes || owner == self->node + 1)
		return owner != 0;
	/* The owner may have released the lock before it ended, so read the field again. */
	return has_ended(region_node(self->region, owner - 1)) &&
	       atomic_load_explicit(&lock->owner, memory_order_relaxed) == owner;
}

/* Announce that this node waits for the lock in the block of node `place`. Only this node sets
 * its entry. */
static void publish(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	struct region_node *own = region_node(self->region, self->node);

	if (atomic_load_explicit(&own->waits_for, memory_order_relaxed) == place + 1)
		return;
	atomic_fetch_add(&lock->waiters, 1);
	atomic_exchange(&own->waits_for, place + 1);
}

/* Clear a node's entry, as it has stopped waiting or will be rung. False: it did not wait for
 * this lock. */
static bool withdraw(struct shm_lock *lock, uint32_t place, struct region_node *waiter)
{
	uint32_t name = place + 1;

	if (!atomic_compare_exchange_strong(&waiter->waits_for, &name, 0))
		return false;
	atomic_fetch_sub(&lock->waiters, 1);
	return true;
}

/* The slow path of shm_lock_acquire: spin briefly, then halt until rung. */
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

/* Ring the next living waiter, in node order after this node, so that all get their turn. */
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
	/* Inline assembly: the compiler would use a locked instruction, which costs more. */
	__asm__ volatile("mfence" : : : "memory");
	if (__builtin_expect(atomic_load(&lock->waiters) != 0, 0))
		ring_one(lock, place, self);
}

void shm_lock_disown(struct shm_lock *lock, uint32_t place, const struct shm_member *self)
{
	if (atomic_load_explicit(&lock->owner, memory_order_relaxed) == self->node + 1)
		shm_lock_release(lock, place, self);
}
