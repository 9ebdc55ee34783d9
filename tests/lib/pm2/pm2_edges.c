/*
 * What other threads and nodes must not see: threads that have been woken and not run yet, services
 * that migrate with half of their result, quick services that use preemption's calls, and a node
 * without preemption. One line of rank 0 for each case.
 *
 *   pm2_edges         all but the last case
 *   pm2_edges alone   a node without preemption
 */
#include "check.h"
#include <pm2.h>
#include <string.h>
#include <time.h>

static volatile int waiting, go;

static void start(pm2_thread_t *name, void *(*function)(void *))
{
	waiting = 0;
	EQUAL(pm2_thread_create(name, function, NULL), PM2_OK);
	while (!waiting)
		pm2_yield();
	pm2_yield();                    /* now it waits */
}

/* ---- a thread that has been woken stays until it has run ---- */

static pm2_mutex_t mutex;
static pm2_cond_t changed;

static void *waits_for_change(void *argument)
{
	EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
	waiting = 1;
	EQUAL(pm2_cond_wait(&changed, &mutex), PM2_OK);
	EQUAL(pm2_self(), 0);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	return argument;
}

static pm2_thread_t joined;

static void *ends_later(void *argument)
{
	(void)argument;
	while (!go)
		pm2_yield();
	return (void *)105;
}

static void *joins(void *argument)
{
	void *result = NULL;

	(void)argument;
	waiting = 1;
	EQUAL(pm2_thread_join(joined, &result), PM2_OK);
	EQUAL(pm2_self(), 0);
	return result;
}

static void woken(void)
{
	pm2_thread_t name;
	void *result;

	pm2_preempt_off();
	start(&name, waits_for_change);
	EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
	EQUAL(pm2_cond_signal(&changed), PM2_OK);
	EQUAL(pm2_migrate(name, pm2_nodes() - 1), PM2_EBUSY);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	EQUAL(pm2_migrate(name, pm2_nodes() - 1), PM2_EBUSY);
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
	CHECK(!mutex.owner);

	EQUAL(pm2_thread_create(&joined, ends_later, NULL), PM2_OK);
	start(&name, joins);
	go = 1;
	pm2_yield();                    /* `joined` ends: the other is ready */
	EQUAL(pm2_migrate(name, pm2_nodes() - 1), PM2_EBUSY);
	EQUAL(pm2_thread_join(name, &result), PM2_OK);
	EQUAL(result, 105);
	pm2_preempt_on();
}

/* ---- a result that is written on several nodes ---- */

static void in_parts(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	int *numbers = result;

	(void)argument, (void)bytes;
	for (size_t i = 0; i < result_bytes / sizeof *numbers; i++) {
		numbers[i] = 1000 + (int)i;
		EQUAL(pm2_migrate_self((pm2_self() + 1) % pm2_nodes()), PM2_OK);
	}
}

static void results(void)
{
	static int numbers[12];

	for (int node = 0; node < pm2_nodes(); node++) {
		memset(numbers, 0, sizeof numbers);
		EQUAL(pm2_lrpc(node, in_parts, NULL, 0, numbers, sizeof numbers), PM2_OK);
		for (int i = 0; i < 12; i++)
			EQUAL(numbers[i], 1000 + i);
	}
}

/* ---- a quick service has no preemption to allow, and no thread to bind ---- */

static void allows(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	pm2_preempt_off();
	pm2_migration_off();
	pm2_preempt_off();
	pm2_preempt_on();
}

static void *moves(void *argument)
{
	EQUAL(pm2_quick_lrpc(pm2_self(), allows, NULL, 0, NULL, 0), PM2_OK);
	EQUAL(pm2_migrate_self(pm2_nodes() - 1), PM2_OK);
	return argument;
}

static void quick(void)
{
	pm2_thread_t name;

	EQUAL(pm2_thread_create(&name, moves, NULL), PM2_OK);
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

/* ---- without preemption ---- */

static volatile int ran;

static void *sleeps(void *argument)
{
	waiting = 1;
	EQUAL(pm2_sleep(1000), PM2_OK);
	ran++;
	return argument;
}

static void comes(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	ran++;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Neither a sleeper nor a call of another node interrupts a thread that computes. */
static void alone(void)
{
	int others = pm2_nodes() - 1, before;
	pm2_thread_t name;

	if (pm2_self() != 0) {
		EQUAL(pm2_async_lrpc(0, comes, NULL, 0), PM2_OK);
		return;
	}
	start(&name, sleeps);
	before = ran;
	for (double end = seconds() + 0.1; seconds() < end; )
		;
	EQUAL(ran, before);
	while (ran < 1 + others)
		pm2_yield();
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

int main(int argc, char **argv)
{
	int is_alone = argc > 1 && !strcmp(argv[1], "alone");
	struct pm2_config config = { .quantum_us = is_alone ? ~0u : 1000 };

	EQUAL(pm2_init(&config), PM2_OK);
	if (is_alone) {
		alone();
		if (margay_rank() == 0)
			printf("ok alone\n");
	} else if (margay_rank() == 0) {
		woken();
		printf("ok woken\n");
		results();
		printf("ok results\n");
		quick();
		printf("ok quick\n");
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
