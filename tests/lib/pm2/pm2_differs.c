/*
 * Errors that PM2 detects.
 *
 *   pm2_differs           the last node wants another area
 *   pm2_differs address   the last node has its memory at another address
 *   pm2_differs stack     a thread uses more than its stack
 *   pm2_differs skip      the same, and it does not write to the end of its stack
 *   pm2_differs mutex     a thread ends with a mutex locked
 *   pm2_differs quick     a quick service ends a thread
 *   pm2_differs deep      a quick service uses more than the scheduler's stack
 */
#include "check.h"
#include <pm2.h>
#include <stdlib.h>
#include <string.h>

static char *volatile place;

static void *uses_too_much(void *argument)
{
	char large[PM2_SLOT + 1000];

	memset(large, 0x55, sizeof large);
	place = large;
	pm2_yield();
	return argument;
}

static void *skips(void *argument)
{
	char large[PM2_SLOT + 1000];

	large[0] = 1;
	place = large;
	pm2_yield();
	return argument;
}

static void *keeps_mutex(void *mutex)
{
	EQUAL(pm2_mutex_lock(mutex), PM2_OK);
	return NULL;
}

static void ends_thread(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	pm2_thread_exit(NULL);
}

static void needs_much(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	volatile char large[PM2_QUICK_STACK + 1000];

	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	for (size_t i = 0; i < sizeof large; i++)
		large[i] = 0x55;
}

int main(int argc, char **argv)
{
	struct pm2_config config = { .iso_bytes = 8 << 20 };
	int last = margay_rank() == margay_size() - 1;

	if (argc == 1 && last)
		config.iso_bytes += 1 << 20;
	if (argc > 1 && !strcmp(argv[1], "address") && last)
		place = malloc(1 << 20);
	EQUAL(pm2_init(&config), PM2_OK);
	if (argc > 1 && !strcmp(argv[1], "stack")) {
		/* Below the last thread's stack is the stack of this thread, which has ended. */
		pm2_thread_t first, second;

		EQUAL(pm2_thread_create(&first, uses_too_much, NULL), PM2_OK);
		EQUAL(pm2_thread_create(&second, uses_too_much, NULL), PM2_OK);
		pm2_thread_join(second, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "skip")) {
		pm2_thread_t first, second;

		EQUAL(pm2_thread_create(&first, skips, NULL), PM2_OK);
		EQUAL(pm2_thread_create(&second, skips, NULL), PM2_OK);
		pm2_thread_join(first, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "mutex")) {
		static pm2_mutex_t mutex;
		pm2_thread_t name;

		EQUAL(pm2_thread_create(&name, keeps_mutex, &mutex), PM2_OK);
		pm2_thread_join(name, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "quick"))
		pm2_quick_lrpc(0, ends_thread, NULL, 0, NULL, 0);
	if (argc > 1 && !strcmp(argv[1], "deep"))
		pm2_quick_lrpc(0, needs_much, NULL, 0, NULL, 0);
	pm2_end();
	return 0;
}
