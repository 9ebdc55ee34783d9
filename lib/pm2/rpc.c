/*
 * Remote procedure calls. A call is a thread that is made here, in slots of this node, with a copy
 * of the argument on its stack, and moved before it has run. When it ends, the result comes back.
 */
#include "inner.h"
#include <string.h>

#define LITTLE 1024u                    /* bytes of argument and result on an ordinary stack */

static uint32_t slots_for(size_t bytes)
{
	size_t more = bytes <= LITTLE ? 0 : (bytes + PM2_SLOT - 1) / PM2_SLOT;

	return pm2.stack_slots + (uint32_t)more;
}

/* The thread of a call, ready to run. */
static struct pm2_thread *new_call(pm2_service_t service, const void *argument, size_t bytes,
				   void *result, size_t result_bytes, int flags)
{
	struct pm2_thread *thread = pm2_thread_new(slots_for(bytes + result_bytes));

	if (!thread)
		return 0;
	thread->flags = (uint8_t)(CALL | flags);
	thread->service = service;
	thread->result = thread->canary;
	thread->result_to = result;
	thread->argument_bytes = (uint32_t)bytes;
	thread->result_bytes = (uint32_t)result_bytes;
	thread->canary += (result_bytes + 15) / 16 * 2;
	*thread->canary = CANARY;
	thread->argument = (char *)thread - (bytes + 15) / 16 * 16;
	memcpy(thread->argument, argument, bytes);
	if (flags & QUICK)
		thread->sp = thread->argument;
	else
		pm2_prepare(thread, thread->argument, pm2_thread_begins);
	return thread;
}

/* Sends a call's thread to its node, or makes it ready here. */
static void start(struct pm2_thread *thread, int node)
{
	if (node == pm2.self) {
		pm2.counters.served++;
		if (thread->flags & QUICK)
			pm2_append(&pm2.quick, thread);
		else
			pm2_ready(thread);
		return;
	}
	thread->node = (uint16_t)node;
	pm2_depart(thread);
}

static int begin(int node, pm2_service_t service, const void *argument, size_t bytes, void *result,
		 size_t result_bytes, int flags, struct pm2_thread **thread)
{
	if (node < 0 || node >= pm2.nodes || !service || (bytes && !argument) ||
	    (result_bytes && !result) || bytes > PM2_ARGUMENT_MOST ||
	    result_bytes > PM2_ARGUMENT_MOST)
		return PM2_EINVAL;
	if (pm2.peers[node].dead)
		return PM2_EDEAD;
	*thread = new_call(service, argument, bytes, result, result_bytes, flags);
	return *thread ? PM2_OK : PM2_ENOMEM;
}

static int call(int node, pm2_service_t service, const void *argument, size_t bytes, void *result,
		size_t result_bytes, int flags)
{
	struct pm2_thread *thread;
	struct record *record;
	int error;

	if (!pm2_may())
		return PM2_ESTATE;
	pm2_enter();
	error = begin(node, service, argument, bytes, result, result_bytes, flags, &thread);
	if (error == PM2_OK) {
		record = pm2_record_of(thread);
		record->joiner = pm2.current;
		if (node != pm2.self)
			pm2_expect();
		start(thread, node);
		if (record->use == LIVES)
			pm2_await();
		error = record->error;
		pm2_slots_give(pm2.area + (pm2.first + (uint64_t)(record - pm2.records)) * PM2_SLOT,
			       record->slots);
	}
	pm2_leave();
	return error;
}

int pm2_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes, void *result,
	     size_t result_bytes)
{
	return call(node, service, argument, bytes, result, result_bytes, 0);
}

int pm2_quick_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes,
		   void *result, size_t result_bytes)
{
	return call(node, service, argument, bytes, result, result_bytes, QUICK);
}

int pm2_lrpc_begin(int node, pm2_service_t service, const void *argument, size_t bytes,
		   void *result, size_t result_bytes, pm2_call_t *call)
{
	struct pm2_thread *thread;
	int error;

	if (!pm2_may())
		return PM2_ESTATE;
	if (!call)
		return PM2_EINVAL;
	pm2_enter();
	error = begin(node, service, argument, bytes, result, result_bytes, 0, &thread);
	if (error == PM2_OK) {
		call->thread = thread->name;
		start(thread, node);
	}
	pm2_leave();
	return error;
}

int pm2_lrpc_wait(pm2_call_t *call)
{
	if (!call)
		return PM2_EINVAL;
	if (pm2_may() && pm2_home(call->thread) != pm2.self)
		return PM2_ENOTHREAD;
	return pm2_thread_join(call->thread, 0);
}

static int silent(int node, pm2_service_t service, const void *argument, size_t bytes, int flags)
{
	struct pm2_thread *thread;
	int error;

	if (!pm2_may())
		return PM2_ESTATE;
	pm2_enter();
	error = begin(node, service, argument, bytes, 0, 0, flags, &thread);
	if (error == PM2_OK) {
		pm2_record_of(thread)->detached = 1;
		start(thread, node);
	}
	pm2_leave();
	return error;
}

int pm2_async_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes)
{
	return silent(node, service, argument, bytes, 0);
}

int pm2_quick_async_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes)
{
	return silent(node, service, argument, bytes, QUICK);
}

void pm2_serve_quick(struct pm2_thread *call)
{
	pm2.serving = 1;
	call->service(call->argument, call->argument_bytes, call->result, call->result_bytes);
	pm2.serving = 0;
	if (*pm2.scheduler.canary != CANARY)
		pm2_wrong("a quick service needs more than its stack (PM2_QUICK_STACK bytes)");
	pm2_ended(call);
}
