/*
 * pm2_slow: while one long call arrives on a slow link, rank 0 goes on, and is interrupted by the
 * call when it has arrived. One line of rank 0 for each case.
 *
 *   sleeps    its thread sleeps and wakes many times meanwhile
 *   computes  its thread never calls PM2 meanwhile
 */
#include "check.h"
#include <pm2.h>

/* The call is sent GAP_US after rank 0 has begun to wait, and begins to arrive before BEGIN_US. */
enum { GAP_US = 20000, BEGIN_US = 60000, SLEEP_US = 1000, SLEEPS_LEAST = 10 };

static char argument[PM2_ARGUMENT_MOST];
static volatile int taken;

static void takes(const void *from, size_t bytes, void *result, size_t result_bytes)
{
	(void)from, (void)bytes, (void)result, (void)result_bytes;
	taken = 1;
}

static void sends(const void *from, size_t bytes, void *result, size_t result_bytes)
{
	(void)from, (void)bytes, (void)result, (void)result_bytes;
	EQUAL(pm2_sleep(GAP_US), PM2_OK);
	EQUAL(pm2_async_lrpc(0, takes, argument, sizeof argument), PM2_OK);
}

static void starts(const void *from, size_t bytes, void *result, size_t result_bytes)
{
	(void)from, (void)bytes, (void)result, (void)result_bytes;
	EQUAL(pm2_async_lrpc(pm2_self(), sends, NULL, 0), PM2_OK);
}

/* The node halts from before the call arrives until a part of it has arrived. So the thread goes on in
 * the mode in which arrivals do not interrupt, which cannot be changed before the end. */
static void begin(void)
{
	taken = 0;
	EQUAL(pm2_lrpc(1, starts, NULL, 0, NULL, 0), PM2_OK);
	EQUAL(pm2_sleep(BEGIN_US), PM2_OK);
}

static void sleeps(void)
{
	int count = 0;

	begin();
	for (; !taken; count++)
		EQUAL(pm2_sleep(SLEEP_US), PM2_OK);
	CHECK(count >= SLEEPS_LEAST);
	printf("ok sleeps\n");
}

static void computes(void)
{
	begin();
	while (!taken)
		;
	printf("ok computes\n");
}

int main(void)
{
	EQUAL(pm2_init(NULL), PM2_OK);
	EQUAL(pm2_nodes(), 2);
	if (pm2_self() == 0) {
		sleeps();
		computes();
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
