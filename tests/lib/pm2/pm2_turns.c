/*
 * A thread that computes sees that others go on. It never calls PM2 while it waits for them. A
 * case that fails hangs. One line of rank 0 for each case.
 */
#include "check.h"
#include <pm2.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static void create(pm2_thread_t *name, void *(*function)(void *), intptr_t argument)
{
	EQUAL(pm2_thread_create(name, function, (void *)argument), PM2_OK);
}

static void join(pm2_thread_t name)
{
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

/* ---- threads that only use the C library, where preemption is put off again and again ---- */

static volatile int turns;
static volatile intptr_t last = -1;

static void *uses_library(void *argument)
{
	struct timespec now;
	char text[64];

	while (turns < 30) {
		if (last != (intptr_t)argument) {
			last = (intptr_t)argument;
			turns++;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);   /* signals are delivered at its end */
		free(malloc(100));
		snprintf(text, sizeof text, "%d %ld", turns, now.tv_nsec);
	}
	return NULL;
}

static void c_library(void)
{
	pm2_thread_t names[2];

	for (int i = 0; i < 2; i++)
		create(&names[i], uses_library, i);
	for (int i = 0; i < 2; i++)
		join(names[i]);
}

/* ---- quick calls: no thread becomes ready with them ---- */

static volatile int served;

static void serves(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	served = 1;
}

static void calls_back(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	EQUAL(pm2_quick_async_lrpc(0, serves, NULL, 0), PM2_OK);
}

static void quick(void)
{
	EQUAL(pm2_sleep(20000), PM2_OK);        /* now no timer is set */
	served = 0;
	EQUAL(pm2_quick_async_lrpc(0, serves, NULL, 0), PM2_OK);
	while (!served)
		;
}

/* One that arrives while the thread may not be preempted is served afterwards. */
static void quick_arrives(void)
{
	struct pm2_counters before, now;

	EQUAL(pm2_sleep(20000), PM2_OK);
	served = 0;
	pm2_preempt_off();
	pm2_get_counters(&before);
	EQUAL(pm2_async_lrpc(pm2_nodes() - 1, calls_back, NULL, 0), PM2_OK);
	do
		pm2_get_counters(&now);
	while (pm2_nodes() > 1 && now.served == before.served);
	EQUAL(served, 0);
	pm2_preempt_on();
	while (!served)
		;
}

/* ---- a thread beside one that sleeps long, for which the timer is set ---- */

static void *sleeps(void *argument)
{
	pm2_sleep(1000000000);
	return argument;
}

static void *sets(void *argument)
{
	*(volatile int *)argument = 1;
	return NULL;
}

static void beside_sleeper(void)
{
	static volatile int set;
	pm2_thread_t name;

	EQUAL(pm2_thread_create(NULL, sleeps, NULL), PM2_OK);
	EQUAL(pm2_sleep(20000), PM2_OK);        /* now the timer is set for the sleeper only */
	create(&name, sets, (intptr_t)&set);
	while (!set)
		;
	join(name);
}

/* ---- signals that come while PM2's handler runs inside the C library ---- */

static struct sigaction pm2_action;
static volatile int handling, second;

/* Runs PM2's handler. If it was called in the C library, stays there until another signal has come:
 * that must wait, as it would be taken as one outside of the library. */
static void tick(int number, siginfo_t *info, void *context)
{
	sigset_t pending;

	EQUAL(handling, 0);
	if (info->si_code == SI_KERNEL || second) {
		pm2_action.sa_sigaction(number, info, context);
		return;
	}
	handling = 1;
	pm2_action.sa_sigaction(number, info, context);
	do
		sigpending(&pending);
	while (!sigismember(&pending, SIGALRM));
	second = 1;
	handling = 0;
}

static void in_library(void)
{
	struct sigaction own;

	EQUAL(sigaction(SIGALRM, NULL, &pm2_action), 0);
	own = pm2_action;
	own.sa_sigaction = tick;
	EQUAL(sigaction(SIGALRM, &own, NULL), 0);
	second = 0;
	EQUAL(raise(SIGALRM), 0);
	EQUAL(second, 1);
	EQUAL(sigaction(SIGALRM, &pm2_action, NULL), 0);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "C library", c_library }, { "quick", quick }, { "quick arrives", quick_arrives },
		{ "beside a sleeper", beside_sleeper }, { "in the library", in_library },
	};
	struct pm2_config config = { .quantum_us = 1000 };

	EQUAL(pm2_init(&config), PM2_OK);
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (margay_rank() == 0) {
			cases[i].run();
			printf("ok %s\n", cases[i].name);
		}
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
