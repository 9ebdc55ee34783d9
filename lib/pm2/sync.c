/*
 * Mutexes and conditions for the threads of one node. A mutex passes from its owner straight to the
 * thread that has waited longest.
 */
#include "inner.h"

static struct pm2_thread *take_first(struct pm2_queue *queue)
{
	struct pm2_thread *thread = queue->first;

	if (thread)
		pm2_remove(queue, thread);
	return thread;
}

static void own(pm2_mutex_t *mutex, struct pm2_thread *thread)
{
	mutex->owner = thread;
	thread->held++;
}

static void lock(pm2_mutex_t *mutex)
{
	if (!mutex->owner) {
		own(mutex, pm2.current);
		return;
	}
	pm2_append(&mutex->waiting, pm2.current);
	pm2_block(WAITS);
}

static void unlock(pm2_mutex_t *mutex)
{
	struct pm2_thread *next = take_first(&mutex->waiting);

	mutex->owner->held--;
	mutex->owner = 0;
	if (next) {
		own(mutex, next);
		pm2_ready(next);
	}
}

int pm2_mutex_lock(pm2_mutex_t *mutex)
{
	if (!pm2_may())
		return PM2_ESTATE;
	if (!mutex)
		return PM2_EINVAL;
	if (mutex->owner == pm2.current)
		return PM2_EDEADLOCK;
	pm2_enter();
	lock(mutex);
	pm2_leave();
	return PM2_OK;
}

int pm2_mutex_trylock(pm2_mutex_t *mutex)
{
	int result = PM2_EBUSY;

	if (!pm2_may())
		return PM2_ESTATE;
	if (!mutex)
		return PM2_EINVAL;
	pm2_enter();
	if (!mutex->owner) {
		own(mutex, pm2.current);
		result = PM2_OK;
	}
	pm2_leave();
	return result;
}

int pm2_mutex_unlock(pm2_mutex_t *mutex)
{
	if (!pm2_may())
		return PM2_ESTATE;
	if (!mutex)
		return PM2_EINVAL;
	if (mutex->owner != pm2.current)
		return PM2_ENOTOWNER;
	pm2_enter();
	unlock(mutex);
	pm2_leave();
	return PM2_OK;
}

int pm2_cond_wait(pm2_cond_t *cond, pm2_mutex_t *mutex)
{
	if (!pm2_may())
		return PM2_ESTATE;
	if (!cond || !mutex)
		return PM2_EINVAL;
	if (mutex->owner != pm2.current)
		return PM2_ENOTOWNER;
	pm2_enter();
	unlock(mutex);
	pm2_append(&cond->waiting, pm2.current);
	pm2.current->flags |= BOUND;
	pm2_block(WAITS);
	lock(mutex);
	pm2.current->flags &= (uint8_t)~BOUND;
	pm2_leave();
	return PM2_OK;
}

/* Makes threads ready that wait: the first one, or all. */
static int wake(pm2_cond_t *cond, int all)
{
	struct pm2_thread *thread;

	if (!pm2_may())
		return PM2_ESTATE;
	if (!cond)
		return PM2_EINVAL;
	pm2_enter();
	do {
		thread = take_first(&cond->waiting);
		if (thread)
			pm2_ready(thread);
	} while (thread && all);
	pm2_leave();
	return PM2_OK;
}

int pm2_cond_signal(pm2_cond_t *cond)
{
	return wake(cond, 0);
}

int pm2_cond_broadcast(pm2_cond_t *cond)
{
	return wake(cond, 1);
}
