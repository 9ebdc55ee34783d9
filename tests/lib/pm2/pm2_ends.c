/*
 * A node dies: calls that wait for it end with an error, and threads that were to migrate there
 * stay.
 *
 *   pm2_ends WHAT     WHAT: what the others do with node 1, which is killed
 *     call            a long call
 *     join            wait for a thread that has moved there
 *     move            migrate threads there repeatedly
 *     end             wait in pm2_end
 *     exits           node 1 ends by itself, without pm2_end
 */
#include "check.h"
#include <pm2.h>
#include <stdlib.h>
#include <string.h>

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

static void running(void)
{
	printf("running\n");
	fflush(stdout);
}

static int play(const char *what)
{
	pm2_thread_t name;
	int result;

	if (!strcmp(what, "call")) {
		running();
		return pm2_lrpc(1, never_returns, NULL, 0, NULL, 0);
	}
	if (!strcmp(what, "join")) {
		EQUAL(pm2_thread_create(&name, goes, NULL), PM2_OK);
		running();
		result = pm2_thread_join(name, NULL);
		return result == PM2_OK ? PM2_EDEAD : result;
	}
	if (!strcmp(what, "move")) {
		running();
		do {
			EQUAL(pm2_thread_create(&name, goes_to_and_fro, NULL), PM2_OK);
			result = pm2_thread_join(name, NULL);
		} while (result == PM2_OK && pm2_lrpc(1, NULL, NULL, 0, NULL, 0) == PM2_OK);
		return PM2_EDEAD;
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
	if (pm2_self() != 1)
		EQUAL(play(strcmp(what, "exits") ? what : "call"), PM2_EDEAD);
	else
		running();
	EQUAL(pm2_end(), PM2_EDEAD);
	EQUAL(pm2_thread_create(NULL, goes, NULL), PM2_ESTATE);
	printf("ended\n");
	return 0;
}
