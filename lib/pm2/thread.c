/*
 * Threads from creation to end, and waiting for their end. What must be known of a thread wherever
 * it is stands in the record of its first slot, at its home.
 */
#include "inner.h"
#include <stdlib.h>
#include <string.h>

void pm2_thread_begins(void)
{
	struct pm2_thread *self = pm2.current;

	*pm2.errno_at = 0;
	self->flags |= BEGUN;
	pm2_leave();
	if (self->flags & CALL)
		self->service(self->argument, self->argument_bytes, self->result,
			      self->result_bytes);
	else
		self->result = self->function(self->argument);
	pm2_thread_exit(self->result);
}

int pm2_thread_create(pm2_thread_t *name, void *(*function)(void *), void *argument)
{
	struct pm2_thread *thread;

	if (!pm2_may())
		return PM2_ESTATE;
	if (!function)
		return PM2_EINVAL;
	pm2_enter();
	thread = pm2_thread_new(pm2.stack_slots);
	if (thread) {
		thread->function = function;
		thread->argument = argument;
		pm2_record_of(thread)->detached = !name;
		if (name)
			*name = thread->name;
		pm2_prepare(thread, thread, pm2_thread_begins);
		pm2_ready(thread);
	}
	pm2_leave();
	return thread ? PM2_OK : PM2_ENOMEM;
}

void pm2_thread_exit(void *result)
{
	struct pm2_thread *self = pm2.current;

	if (pm2.serving)
		pm2_wrong("pm2_thread_exit in a quick service");
	if (self->flags & MAIN)
		exit(0);
	if (self->held)
		pm2_wrong("a thread ends with a mutex locked");
	pm2_enter();
	if (!(self->flags & CALL))
		self->result = result;
	pm2_heap_free(self);
	margay_files_disown((uintptr_t)self);   /* a later thread may get this address */
	pm2.ends = self;
	pm2_to_scheduler();
	__builtin_unreachable();
}

pm2_thread_t pm2_thread_self(void)
{
	return pm2.open ? pm2.current->name : 0;
}

/* ---- the end ---- */

static void forget(struct record *record)
{
	pm2_slots_give(pm2.area + (pm2.first + (uint64_t)(record - pm2.records)) * PM2_SLOT,
		       record->slots);
}

void pm2_finish(pm2_thread_t name, void *result, int error)
{
	struct record *record = pm2_record(name);

	if (!record || record->use != LIVES)
		return;
	if (record->detached) {
		forget(record);
		return;
	}
	record->use = ENDED;
	record->result = result;
	record->error = error;
	/* A call that fails while it is sent ends before its caller waits for it. */
	if (record->joiner && record->joiner->state == WAITS)
		pm2_ready(record->joiner);
}

/* Sends the result to the descriptor at the thread's home, or to the caller. */
void pm2_ended(struct pm2_thread *thread)
{
	int home = pm2_home(thread->name), call = thread->flags & CALL;

	thread->state = AWAY;
	if (home == pm2.self) {
		if (call && thread->result_bytes)
			memcpy(thread->result_to, thread->result, thread->result_bytes);
		pm2_finish(thread->name, thread->result, PM2_OK);
		return;
	}
	thread->message = (struct message){
		.bits = KIND_END, .header = thread->name,
		.at = call ? (uintptr_t)thread->result : (uintptr_t)&thread->result,
		.bytes = call ? thread->result_bytes : sizeof(thread->result),
		.to = call ? (uintptr_t)thread->result_to : (uintptr_t)&thread->result,
	};
	pm2_send(home, &thread->message);
}

pm2_thread_t pm2_name_in(uint64_t slot)
{
	const char *end = pm2.area + (pm2.first + slot + pm2.records[slot].slots) * PM2_SLOT;

	return ((const struct pm2_thread *)end - 1)->name;
}

void pm2_bury(int node)
{
	for (uint64_t slot = 0; slot < pm2.share; slot++)
		if (pm2.records[slot].use == LIVES && pm2_place_of(pm2_name_in(slot)) == node)
			pm2_finish(pm2_name_in(slot), 0, PM2_EDEAD);
}

pm2_thread_t pm2_suspect(int node, pm2_thread_t after)
{
	uint64_t slot = after ? (uint64_t)(pm2_record(after) - pm2.records) + 1 : 0;

	for (; slot < pm2.share; slot++) {
		const struct record *record = &pm2.records[slot];

		if (record->use == LIVES && record->joiner &&
		    pm2_place_of(pm2_name_in(slot)) == node &&
		    pm2.peers[pm2_sender_of(pm2_name_in(slot))].dead)
			return pm2_name_in(slot);
	}
	return 0;
}

/* ---- joining ---- */

/* What it waits for is in a record of this node. So it may not move before it has run again. */
void pm2_await(void)
{
	pm2.awaited++;
	pm2.current->flags |= BOUND;
	pm2_block(WAITS);
	pm2.current->flags &= (uint8_t)~BOUND;
	pm2.awaited--;
}

struct joined {
	void *result;
	int error;
};

static int join_here(pm2_thread_t name, void **result)
{
	struct record *record;
	int error;

	record = pm2_record(name);
	if (!record || record->detached)
		return PM2_ENOTHREAD;
	if (record->joiner)
		return PM2_EBUSY;
	record->joiner = pm2.current;
	if (record->use == LIVES)
		pm2_await();
	error = record->error;
	if (result)
		*result = record->result;
	forget(record);
	return error;
}

static void join_service(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	struct joined *joined = result;

	(void)bytes, (void)result_bytes;
	joined->result = 0;
	joined->error = pm2_thread_join(*(const pm2_thread_t *)argument, &joined->result);
}

int pm2_thread_join(pm2_thread_t name, void **result)
{
	struct joined joined;
	int home, error;

	if (!pm2_may())
		return PM2_ESTATE;
	home = pm2_home(name);
	if (home < 0)
		return PM2_ENOTHREAD;
	if (name == pm2.current->name)
		return PM2_EDEADLOCK;
	pm2_enter();                    /* it stays on this node */
	if (home == pm2.self) {
		error = join_here(name, result);
		pm2_leave();
		return error;
	}
	pm2_leave();
	error = pm2_lrpc(home, join_service, &name, sizeof(name), &joined, sizeof(joined));
	if (error == PM2_OK && joined.error == PM2_OK && result)
		*result = joined.result;
	return error == PM2_OK ? joined.error : error;
}

int pm2_thread_detach(pm2_thread_t name)
{
	struct record *record;
	int error = PM2_OK;

	if (!pm2_may())
		return PM2_ESTATE;
	if (pm2_home(name) != pm2.self)
		return pm2_home(name) < 0 ? PM2_ENOTHREAD : PM2_EINVAL;
	pm2_enter();
	record = pm2_record(name);
	if (!record || record->detached)
		error = PM2_ENOTHREAD;
	else if (record->joiner)
		error = PM2_EBUSY;
	else if (record->use == ENDED)
		forget(record);
	else
		record->detached = 1;
	pm2_leave();
	return error;
}
