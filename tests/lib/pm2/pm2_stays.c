/*
 * Node 1 is killed, and node 0 learns of it late.
 *
 *   pm2_stays WHAT
 *     threads   many threads migrate to node 1 before node 0 knows: each stays and goes on
 *     call      node 0 computes while an event says that node 1 is dead. Then its main calls node 1,
 *               which fails, and waits for a mutex, which another thread holds for a while
 *
 * Node 0 goes on when there is a file "go".
 */
#include "check.h"
#include <pm2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 20, HELD_US = 3000000 };

static pm2_mutex_t mutex;
static volatile int given;

static void running(void)
{
	printf("running\n");
	fflush(stdout);
}

static void *goes(void *argument)
{
	char *memory = pm2_isomalloc(100);

	CHECK(memory);
	strcpy(memory, "here");
	EQUAL(pm2_migrate_self(1), PM2_EDEAD);
	EQUAL(pm2_self(), 0);
	pm2_yield();
	CHECK(!strcmp(memory, "here"));
	return argument;
}

static void threads(void)
{
	pm2_thread_t names[THREADS];
	void *result;

	running();
	while (access("go", F_OK))
		pm2_sleep(10000);
	for (int i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_create(&names[i], goes, &names[i]), PM2_OK);
	for (int i = 0; i < THREADS; i++) {
		EQUAL(pm2_thread_join(names[i], &result), PM2_OK);
		CHECK(result == &names[i]);
	}
}

static void nothing(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
}

static void *holds(void *argument)
{
	EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
	pm2_sleep(HELD_US);
	given = 1;
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	return argument;
}

static void call(void)
{
	pm2_thread_t holder;
	pm2_call_t first;

	EQUAL(pm2_thread_create(&holder, holds, NULL), PM2_OK);
	pm2_yield();
	EQUAL(pm2_lrpc_begin(1, nothing, NULL, 0, NULL, 0, &first), PM2_OK);
	running();
	while (access("go", F_OK))
		usleep(10000);
	EQUAL(pm2_lrpc(1, nothing, NULL, 0, NULL, 0), PM2_EDEAD);
	EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
	CHECK(given);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	EQUAL(pm2_thread_join(holder, NULL), PM2_OK);
	EQUAL(pm2_lrpc_wait(&first), PM2_EDEAD);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	EQUAL(pm2_init(NULL), PM2_OK);
	if (pm2_self() == 0) {
		if (!strcmp(what, "threads"))
			threads();
		else
			call();
	}
	EQUAL(pm2_end(), PM2_EDEAD);
	printf("ended\n");
	return 0;
}
