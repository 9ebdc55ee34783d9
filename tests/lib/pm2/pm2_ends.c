/*
 * A node dies: calls that wait for it end with an error, and threads that were to migrate there
 * stay.
 *
 *   pm2_ends WHAT     WHAT: what the others do with node 1, which is killed
 *     call            a long call
 *     join            wait for a thread that has moved there
 *     move            migrate threads there repeatedly
 *     busy            a long call, while another thread sleeps and wakes all the time
 *     answers         short calls, which node 1 answers and makes as fast as it can
 *     between         threads of nodes 0 and 2 migrate between the other two nodes
 *     queued          send it threads that go on to node 2, which takes none until there is a
 *                     file "on": most of them wait on node 1 for credit. Node 0 begins when there
 *                     is a file "go"
 *     end             wait in pm2_end
 *     exits           node 1 ends by itself, without pm2_end
 */
#include "check.h"
#include <pm2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void running(void)
{
	printf("running\n");
	fflush(stdout);
}

static void never_returns(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	for (;;)
		pm2_sleep(1000000);
}

static void *goes(void *argument)
{
	int result = pm2_migrate_self(1);

	if (result == PM2_EDEAD)        /* node 1 was killed before the thread arrived */
		return argument;
	EQUAL(result, PM2_OK);
	never_returns(NULL, 0, NULL, 0);
	return argument;
}

/* Until node 1 is dead: then the thread is where it was, or lost with that node. */
static void *goes_to_and_fro(void *argument)
{
	int home = pm2_self();

	for (;;) {
		int result = pm2_migrate_self(1);

		if (result == PM2_EDEAD)
			return argument;
		EQUAL(result, PM2_OK);
		EQUAL(pm2_migrate_self(home), PM2_OK);
	}
}

static void *wakes(void *argument)
{
	for (;;)
		pm2_sleep(50000);
	return argument;
}

static void nothing(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
}

/* Between node 1 and another one that is not its home, until node 1 is dead. */
static void *goes_between(void *argument)
{
	int other = 2 - pm2_self(), result = pm2_migrate_self(1);

	while (result == PM2_OK)
		result = pm2_migrate_self(pm2_self() == 1 ? other : 1);
	EQUAL(result, PM2_EDEAD);
	return argument;
}

static int between(void)
{
	enum { THREADS = 8 };
	pm2_thread_t names[THREADS];

	for (int i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_create(&names[i], goes_between, NULL), PM2_OK);
	running();
	for (int i = 0; i < THREADS; i++) {
		int result = pm2_thread_join(names[i], NULL);

		CHECK(result == PM2_OK || result == PM2_EDEAD);
	}
	return PM2_EDEAD;
}

enum { QUEUED = 150 };          /* more than a node's credit */

static void *goes_through(void *argument)
{
	EQUAL(pm2_migrate_self(1), PM2_OK);
	pm2_migrate_self(2);
	return argument;
}

static volatile int released;

static void release(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	released = 1;
}

static int queued(void)
{
	pm2_thread_t names[QUEUED];

	while (access("go", F_OK))
		pm2_sleep(10000);
	for (int i = 0; i < QUEUED; i++)
		EQUAL(pm2_thread_create(&names[i], goes_through, NULL), PM2_OK);
	for (int i = 0; i < QUEUED; i++) {
		int result = pm2_thread_join(names[i], NULL);

		CHECK(result == PM2_OK || result == PM2_EDEAD);
	}
	EQUAL(pm2_lrpc(2, release, NULL, 0, NULL, 0), PM2_OK);
	return PM2_EDEAD;
}

/* Until all threads have come and have tried to go on. */
static void let_through(void)
{
	struct pm2_counters counters;

	printf("ready\n");
	fflush(stdout);
	do {
		pm2_sleep(100000);
		pm2_get_counters(&counters);
	} while (counters.arrived < QUEUED);
	pm2_sleep(100000);
	running();
	never_returns(NULL, 0, NULL, 0);
}

/* PM2 takes what comes when the program calls it, or by SIGALRM. Then it lives until node 0 has
 * joined its threads. */
static void take_late(void)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	printf("ready\n");
	fflush(stdout);
	while (access("on", F_OK))
		usleep(10000);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	while (!released)
		pm2_sleep(10000);
}

/* Joins a thread that was to move to node 1. It ends at home, with its argument, if node 1 was dead
 * before it had moved: then a call to node 1 fails. */
static int join(pm2_thread_t name, void *argument)
{
	void *returned = NULL;
	int result = pm2_thread_join(name, &returned);

	if (result != PM2_OK)
		return result;
	CHECK(returned == argument);
	return pm2_lrpc(1, nothing, NULL, 0, NULL, 0);
}

static int play(const char *what)
{
	pm2_thread_t name;
	int result;

	if (!strcmp(what, "call")) {
		running();
		return pm2_lrpc(1, never_returns, NULL, 0, NULL, 0);
	}
	if (!strcmp(what, "busy")) {
		EQUAL(pm2_thread_create(NULL, wakes, NULL), PM2_OK);
		running();
		return pm2_lrpc(1, never_returns, NULL, 0, NULL, 0);
	}
	if (!strcmp(what, "answers")) {
		running();
		while ((result = pm2_lrpc(1, nothing, NULL, 0, NULL, 0)) == PM2_OK)
			;
		return result;
	}
	if (!strcmp(what, "queued") && pm2_self() == 0)
		return queued();
	if (!strcmp(what, "queued"))
		take_late();
	if (!strcmp(what, "between"))
		return between();
	if (!strcmp(what, "join")) {
		EQUAL(pm2_thread_create(&name, goes, &name), PM2_OK);
		running();
		return join(name, &name);
	}
	if (!strcmp(what, "move")) {
		running();
		do {
			EQUAL(pm2_thread_create(&name, goes_to_and_fro, &name), PM2_OK);
			result = join(name, &name);
		} while (result == PM2_OK);
		return result;
	}
	running();
	return PM2_EDEAD;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	EQUAL(pm2_init(NULL), PM2_OK);
	if (pm2_self() == 1 && !strcmp(what, "exits")) {
		pm2_sleep(300000);
		exit(0);
	}
	if (pm2_self() == 1 && !strcmp(what, "end")) {
		running();
		never_returns(NULL, 0, NULL, 0);
	}
	if (pm2_self() == 1 && !strcmp(what, "queued"))
		let_through();
	if (pm2_self() == 1 && !strcmp(what, "answers")) {
		running();
		while (pm2_lrpc(0, nothing, NULL, 0, NULL, 0) == PM2_OK)
			;
	}
	if (pm2_self() != 1)
		EQUAL(play(strcmp(what, "exits") ? what : "call"), PM2_EDEAD);
	else
		running();
	EQUAL(pm2_end(), PM2_EDEAD);
	EQUAL(pm2_thread_create(NULL, goes, NULL), PM2_ESTATE);
	printf("ended\n");
	return 0;
}
