/*
 * Locks between nodes (net/shm/lock.c), with threads as nodes: a doorbell is a semaphore. A lost
 * wakeup ends in a timeout, which is a failure.
 */
#include "threads.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define NODES  8
#define PLACE  3                    /* the node whose block contains the lock */
#define ROUNDS 20000
#define ENDS   20                   /* rounds of concurrent_lock_owner_ends */

static struct shm_lock lock;

static const struct region *fresh_of(uint32_t nodes)
{
	memset(&lock, 0, sizeof(lock));
	return threads_region(nodes);
}

static const struct region *fresh(void)
{
	return fresh_of(NODES);
}

static uint64_t protected;         /* not atomic: protected only by the lock */

static void *increments(void *arg)
{
	struct shm_member *self = arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (shm_lock_acquire(&lock, PLACE, self) != SHM_LOCK_OK)
			return self;
		protected++;
		shm_lock_release(&lock, PLACE, self);
	}
	return 0;
}

/* No increment is lost, no node waits forever, no waiter remains. */
TEST(concurrent_lock_excludes)
{
	const struct region *region = fresh();
	struct shm_member members[NODES];
	pthread_t threads[NODES];

	protected = 0;
	for (uint32_t i = 0; i < NODES; i++) {
		members[i] = (struct shm_member){ region, i };
		pthread_create(&threads[i], 0, increments, &members[i]);
	}
	for (int i = 0; i < NODES; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		CHECK(!failed);
	}
	CHECK_IS(protected, NODES * ROUNDS);
	CHECK_IS(threads_lost, 0);
	CHECK_IS(lock.owner, 0);
	CHECK_IS(lock.waiters, 0);
}

static void *take_once(void *arg)
{
	struct shm_member *self = arg;
	int result = shm_lock_acquire(&lock, PLACE, self);

	if (result == SHM_LOCK_OK)
		shm_lock_release(&lock, PLACE, self);
	return (void *)(intptr_t)result;
}

/* The owner is descheduled for long: waiters halt, and all get the lock in the end. */
TEST(concurrent_lock_waiters_halt)
{
	const struct region *region = fresh();
	struct shm_member members[4];
	pthread_t threads[4];

	for (uint32_t i = 0; i < 4; i++)
		members[i] = (struct shm_member){ region, i };
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &members[0]), SHM_LOCK_OK);
	for (int i = 1; i < 4; i++)
		pthread_create(&threads[i], 0, take_once, &members[i]);
	while (!threads_halts[1] || !threads_halts[2] || !threads_halts[3])
		usleep(1000);
	shm_lock_release(&lock, PLACE, &members[0]);
	for (int i = 1; i < 4; i++) {
		void *result;

		pthread_join(threads[i], &result);
		CHECK_IS((intptr_t)result, SHM_LOCK_OK);
		CHECK(threads_rings[i] >= 1);
	}
	CHECK_IS(threads_lost, 0);
	CHECK_IS(lock.waiters, 0);
}

/* The owner dies; the launcher marks it dead and rings all nodes. */
TEST(concurrent_lock_owner_dies)
{
	const struct region *region = fresh();
	struct shm_member owner = { region, 0 }, waiter = { region, 1 };
	pthread_t thread;
	void *result;

	CHECK_IS(shm_lock_acquire(&lock, PLACE, &owner), SHM_LOCK_OK);
	pthread_create(&thread, 0, take_once, &waiter);
	while (!threads_halts[1])
		usleep(1000);
	atomic_store(&region_node(region, 0)->dead, 1);
	shm_port_ring(&owner, 1);
	pthread_join(thread, &result);
	CHECK_IS((intptr_t)result, SHM_LOCK_DEAD);
	CHECK_IS(threads_lost, 0);
	CHECK_IS(lock.waiters, 0);
	/* permanently: the lock is not stolen */
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &waiter), SHM_LOCK_DEAD);
	CHECK(shm_lock_is_dead(&lock, &waiter));
}

static void *take_and_end(void *arg)
{
	const struct region *region = arg;

	for (uint32_t node = 0; node < region->nodes - 1; node++) {
		struct shm_member self = { region, node };

		shm_lock_acquire(&lock, PLACE, &self);
		shm_lock_release(&lock, PLACE, &self);
		atomic_store(&region_node(region, node)->state, NODE_EXITED);
	}
	return 0;
}

/* An owner that releases the lock and then ends leaves it free, whenever others look. */
TEST(concurrent_lock_owner_ends)
{
	for (int round = 0; round < ENDS; round++) {
		const struct region *region = fresh_of(REGION_MAX_NODES);
		struct shm_member observer = { region, region->nodes - 1 };
		const struct region_node *last = region_node(region, region->nodes - 2);
		pthread_t thread;
		int dead = 0;

		pthread_create(&thread, 0, take_and_end, (void *)region);
		while (atomic_load(&last->state) != NODE_EXITED)
			dead |= shm_lock_is_dead(&lock, &observer);
		pthread_join(thread, 0);
		CHECK(!dead);
	}
}

/* Dead waiters, and nodes that wait for another lock, are skipped. */
TEST(lock_rings_the_living)
{
	const struct region *region = fresh();
	struct shm_member self = { region, 5 };

	CHECK_IS(shm_lock_acquire(&lock, PLACE, &self), SHM_LOCK_OK);
	atomic_store(&region_node(region, 6)->dead, 1);
	lock.waiters = 3;
	region_node(region, 6)->waits_for = region_node(region, 2)->waits_for = PLACE + 1;
	region_node(region, 3)->waits_for = PLACE + 1;
	region_node(region, 7)->waits_for = PLACE + 2;     /* for another lock */
	region_node(region, 0)->waits_for = ~0u;           /* damage */
	shm_lock_release(&lock, PLACE, &self);
	CHECK_IS(threads_rings[6], 0);
	CHECK_IS(threads_rings[2], 1);             /* the next one after node 5, wrapping around */
	CHECK_IS(threads_rings[3], 0);
	CHECK_IS(threads_rings[7], 0);
	CHECK_IS(lock.waiters, 1);
	CHECK_IS(region_node(region, 3)->waits_for, PLACE + 1);
	CHECK_IS(region_node(region, 2)->waits_for, 0);
	shm_lock_release(&lock, PLACE, &(struct shm_member){ region, 3 });   /* not itself */
	CHECK_IS(threads_rings[3], 0);
	shm_lock_release(&lock, PLACE, &(struct shm_member){ region, 4 });
	CHECK_IS(threads_rings[3], 1);
	CHECK_IS(lock.waiters, 0);
}

/* A word that names no node is damaged: there is no owner to wait for. */
TEST(lock_damaged_owner)
{
	const struct region *region = fresh();
	struct shm_member self = { region, 1 };

	CHECK(!shm_lock_is_dead(&lock, &self));    /* free */
	lock.owner = 1;
	CHECK(!shm_lock_is_dead(&lock, &self));    /* a living node's */
	lock.owner = NODES + 1;
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &self), SHM_LOCK_DEAD);
	lock.owner = ~0u;
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &self), SHM_LOCK_DEAD);
	lock.owner = 2;                            /* the node that asks for it */
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &self), SHM_LOCK_DEAD);
	lock.owner = 3;                            /* a node that has exited normally */
	atomic_store(&region_node(region, 2)->state, NODE_EXITED);
	CHECK_IS(shm_lock_acquire(&lock, PLACE, &self), SHM_LOCK_DEAD);
}

/* A damaged word names a living node that does not hold the lock: when asked, the node frees it. */
TEST(concurrent_lock_disowned)
{
	const struct region *region = fresh();
	struct shm_member waiter = { region, 1 }, named = { region, 4 }, other = { region, 5 };
	pthread_t thread;
	void *result;

	lock.owner = 5;
	pthread_create(&thread, 0, take_once, &waiter);
	while (!threads_halts[1])
		usleep(1000);
	shm_lock_disown(&lock, PLACE, &other);
	CHECK_IS(lock.owner, 5);
	CHECK_IS(threads_rings[1], 0);
	shm_lock_disown(&lock, PLACE, &named);
	pthread_join(thread, &result);
	CHECK_IS((intptr_t)result, SHM_LOCK_OK);
	CHECK_IS(threads_lost, 0);
	CHECK_IS(lock.owner, 0);
}
