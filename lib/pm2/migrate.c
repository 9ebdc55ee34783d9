/*
 * Migration. A thread that does not run is its descriptor, its stack from sp on, and its heap. They
 * are put to the same addresses on the other node, stack and descriptor last; then the thread is
 * ready there.
 */
#include "inner.h"

#define ATTEMPTS 8                      /* to find a thread that moves during the search */

static int may_move(const struct pm2_thread *thread)
{
	if (thread->flags & MAIN)
		return PM2_EINVAL;
	if (thread->held || thread->unmovable || margay_files_of((uintptr_t)thread))
		return PM2_EHELD;
	return PM2_OK;
}

/* The thread runs on no stack, and is in no queue. */
void pm2_depart(struct pm2_thread *thread)
{
	int node = thread->node;
	char *end = (char *)(thread + 1);

	thread->hops++;
	thread->state = AWAY;
	thread->error = PM2_OK;
	thread->message = (struct message){
		.bits = KIND_THREAD, .thread = thread,
		.header = (uintptr_t)thread | (uint64_t)node << PM2_NODE_SHIFT,
		.at = (uintptr_t)thread->sp, .to = (uintptr_t)thread->sp,
		.bytes = (uint64_t)(end - (char *)thread->sp),
	};
	pm2.counters.left++;
	pm2.counters.image_bytes = thread->message.bytes;
	if (thread->heap)
		pm2_heap_send(thread, node);
	if (thread->flags & BEGUN && thread->flags & CALL && thread->result_bytes)
		pm2_copy(node, thread->result, thread->result_bytes);
	pm2_send(node, &thread->message);
}

static void begin(struct pm2_thread *thread)
{
	if (thread->flags & QUICK)
		pm2_append(&pm2.quick, thread);
	else
		pm2_ready(thread);
}

void pm2_arrived(struct pm2_thread *thread)
{
	if (pm2_owner(thread) < 0 || pm2_thread_of(thread->name) != thread)
		return;
	if (thread->flags & CALL && !(thread->flags & BEGUN) && thread->hops == 1)
		pm2.counters.served++;
	else
		pm2.counters.arrived++;
	*thread->canary = CANARY;
	if (pm2_home(thread->name) == pm2.self)
		pm2_place(thread, pm2.self);
	begin(thread);
}

/* A call that has not begun is not started here: its caller gets an error. */
void pm2_stayed(struct pm2_thread *thread)
{
	thread->hops++;
	pm2_place(thread, pm2.self);
	if (thread->flags & CALL && !(thread->flags & BEGUN) &&
	    pm2_home(thread->name) == pm2.self) {
		pm2_finish(thread->name, 0, PM2_EDEAD);
		return;
	}
	thread->error = PM2_EDEAD;
	begin(thread);
}

int pm2_migrate_self(int node)
{
	int error;

	if (!pm2_may())
		return PM2_ESTATE;
	if (node < 0 || node >= pm2.nodes)
		return PM2_EINVAL;
	pm2_enter();
	error = may_move(pm2.current);
	if (error == PM2_OK && pm2.peers[node].dead)
		error = PM2_EDEAD;
	if (error == PM2_OK && node != pm2.self) {
		pm2.current->node = (uint16_t)node;
		pm2.departs = pm2.current;
		pm2_to_scheduler();
		error = pm2.current->error;
	}
	pm2_leave();
	return error;
}

/* ---- of another thread ---- */

/* Moves a thread if it is here and ready. PM2_ENOTHREAD: it is not here. */
static int move(pm2_thread_t name, int node)
{
	struct pm2_thread *thread = pm2_thread_of(name);
	int error;

	if (thread->name != name || thread->state == AWAY)
		return PM2_ENOTHREAD;
	error = may_move(thread);
	if (error == PM2_OK && (thread->state != READY || thread->flags & BOUND))
		error = PM2_EBUSY;
	if (error == PM2_OK && pm2.peers[node].dead)
		error = PM2_EDEAD;
	if (error != PM2_OK || node == pm2.self)
		return error;
	pm2_remove(&pm2.ready, thread);
	thread->node = (uint16_t)node;
	pm2_depart(thread);
	return PM2_OK;
}

struct order {
	pm2_thread_t name;
	int node;
	int here;                       /* only if it is here */
};

static void service(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	const struct order *order = argument;
	int error;

	(void)bytes, (void)result_bytes;
	if (order->here) {
		pm2_enter();
		error = move(order->name, order->node);
		pm2_leave();
	} else {
		error = pm2_migrate(order->name, order->node);
	}
	*(int *)result = error;
}

static int ask(int where, pm2_thread_t name, int node, int here)
{
	struct order order = { name, node, here };
	int answer;
	int error = pm2_lrpc(where, service, &order, sizeof(order), &answer, sizeof(answer));

	return error == PM2_OK ? answer : error;
}

/* Asks a thread's home where it is. */
static int find(pm2_thread_t name, int node)
{
	int error = PM2_ENOTHREAD;

	for (int attempt = 0; attempt < ATTEMPTS && error == PM2_ENOTHREAD; attempt++) {
		struct record *record = pm2_record(name);
		int place = pm2_place_of(name);

		if (!record || record->use != LIVES)
			return PM2_ENOTHREAD;
		if (place == pm2.self) {
			pm2_enter();
			error = move(name, node);
			pm2_leave();
		} else {
			error = ask(place, name, node, 1);
		}
	}
	return error == PM2_ENOTHREAD ? PM2_EBUSY : error;
}

int pm2_migrate(pm2_thread_t name, int node)
{
	int home, error;

	if (!pm2_may())
		return PM2_ESTATE;
	if (node < 0 || node >= pm2.nodes)
		return PM2_EINVAL;
	home = pm2_home(name);
	if (home < 0)
		return PM2_ENOTHREAD;
	if (name == pm2.current->name)
		return pm2_migrate_self(node);
	pm2_migration_off();            /* find() reads this node's records */
	error = home == pm2.self ? find(name, node) : ask(home, name, node, 0);
	pm2_migration_on();
	return error;
}

void pm2_migration_off(void)
{
	if (pm2_may())
		pm2.current->unmovable++;
}

void pm2_migration_on(void)
{
	if (pm2_may() && pm2.current->unmovable)
		pm2.current->unmovable--;
}
