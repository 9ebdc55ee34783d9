/*
 * Remote procedure calls: synchronous, asynchronous, quick, nested, to the same node, with threads
 * that migrate, of all sizes. One line of rank 0 for each case that all ranks have passed.
 *
 *   pm2_calls          all cases
 *   pm2_calls flood    all call node 0, which sleeps
 */
#include "check.h"
#include <pm2.h>
#include <string.h>
#include <unistd.h>

static int served;                      /* on this node; atomic, as threads are preempted */

static int served_here(void)
{
	return __atomic_load_n(&served, __ATOMIC_RELAXED);
}

static int other(int distance)
{
	return (pm2_self() + distance) % pm2_nodes();
}

/* ---- services ---- */

static void add(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	const int *numbers = argument;
	int sum = 0;

	for (size_t i = 0; i < bytes / sizeof *numbers; i++)
		sum += numbers[i];
	if (result_bytes)
		*(int *)result = sum;
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

static void turn_over(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	EQUAL(result_bytes, bytes);
	EQUAL((uintptr_t)argument % 16, 0);
	for (size_t i = 0; i < bytes; i++)
		((char *)result)[i] = ((const char *)argument)[bytes - 1 - i];
}

static void fibonacci(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	int n = *(const int *)argument, less[2] = { n - 1, n - 2 }, parts[2] = { 0, 0 };
	pm2_call_t calls[2];

	EQUAL(bytes, sizeof n);
	EQUAL(result_bytes, sizeof n);
	if (n < 2) {
		*(int *)result = n;
		return;
	}
	for (int i = 0; i < 2; i++)
		EQUAL(pm2_lrpc_begin(other(i + 1), fibonacci, &less[i], sizeof n, &parts[i],
				     sizeof n, &calls[i]), PM2_OK);
	for (int i = 0; i < 2; i++)
		EQUAL(pm2_lrpc_wait(&calls[i]), PM2_OK);
	*(int *)result = parts[0] + parts[1];
}

/* The result is sent to the caller from the node where the service ends. */
static void goes_away(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)bytes, (void)result_bytes;
	for (int i = 0; i < 5; i++)
		EQUAL(pm2_migrate_self(other(1)), PM2_OK);
	*(int *)result = *(const int *)argument + pm2_self();
}

static void sleeps(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)bytes, (void)result_bytes;
	EQUAL(pm2_sleep(2000), PM2_OK);
	*(int *)result = -*(const int *)argument;
}

static void tries_to_wait(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result_bytes;
	*(int *)result = pm2_sleep(1) == PM2_ESTATE && !pm2_isomalloc(1) &&
			 pm2_thread_create(NULL, NULL, NULL) == PM2_ESTATE &&
			 pm2_lrpc(0, sleeps, NULL, 0, NULL, 0) == PM2_ESTATE &&
			 pm2_migrate_self(0) == PM2_ESTATE;
	pm2_yield();
}

static void look(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result_bytes;
	*(int *)result = served_here();
}

static int served_of(int node)
{
	int count = -1, result;

	while ((result = pm2_quick_lrpc(node, look, NULL, 0, &count, sizeof count)) == PM2_ENOMEM)
		pm2_sleep(100);
	EQUAL(result, PM2_OK);
	return count;
}

/* ---- cases ---- */

static void synchronous(void)
{
	int numbers[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, sum = 0;

	for (int node = 0; node < pm2_nodes(); node++)
		for (int i = 0; i < 50; i++) {
			EQUAL(pm2_lrpc(node, add, numbers, (size_t)(i % 11) * sizeof(int), &sum,
				       sizeof sum), PM2_OK);
			EQUAL(sum, (i % 11) * (i % 11 + 1) / 2);
		}
	EQUAL(pm2_lrpc(other(1), add, NULL, 0, NULL, 0), PM2_OK);
}

static void sizes(void)
{
	static const size_t bytes[] = { 1, 15, 64, 65, 1000, 1025, 16384, 40000, 300000, 1 << 20 };
	static char from[1 << 20], to[1 << 20];
	int result;

	for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		for (size_t j = 0; j < bytes[i]; j++)
			from[j] = (char)(j * 7 + i);
		memset(to, 0, bytes[i]);
		result = (i & 1 ? pm2_lrpc : pm2_quick_lrpc)(other(1), turn_over, from, bytes[i],
							     to, bytes[i]);
		if (result == PM2_ENOMEM && pm2_nodes() > 8)
			return;         /* a node's share among many is smaller */
		EQUAL(result, PM2_OK);
		for (size_t j = 0; j < bytes[i]; j++)
			EQUAL(to[j], from[bytes[i] - 1 - j]);
	}
}

static void asynchronous(void)
{
	pm2_call_t calls[20];
	int results[20];

	for (int i = 0; i < 20; i++)
		EQUAL(pm2_lrpc_begin(other(i), sleeps, &i, sizeof i, &results[i], sizeof i,
				     &calls[i]), PM2_OK);
	for (int i = 19; i >= 0; i--) {
		EQUAL(pm2_lrpc_wait(&calls[i]), PM2_OK);
		EQUAL(results[i], -i);
		EQUAL(pm2_lrpc_wait(&calls[i]), PM2_ENOTHREAD);
	}
}

static void silent(void)
{
	int node = other(1), before, one = 1, result;

	pm2_sleep(200000);              /* until the others' calls have ended */
	before = served_of(node);
	for (int i = 0; i < 300; i++)   /* more than the slots, on many nodes */
		while ((result = (i & 1 ? pm2_async_lrpc : pm2_quick_async_lrpc)
				(node, add, &one, sizeof one)) != PM2_OK) {
			EQUAL(result, PM2_ENOMEM);
			pm2_sleep(100);
		}
	while (served_of(node) < before + 300)
		pm2_sleep(100);
}

static void quick(void)
{
	int sum = 0, numbers[2] = { 20, 22 };

	for (int i = 0; i < 200; i++) {
		EQUAL(pm2_quick_lrpc(other(i), add, numbers, sizeof numbers, &sum, sizeof sum),
		      PM2_OK);
		EQUAL(sum, 42);
	}
	EQUAL(pm2_quick_lrpc(other(1), tries_to_wait, NULL, 0, &sum, sizeof sum), PM2_OK);
	EQUAL(sum, 1);
	EQUAL(pm2_quick_lrpc(pm2_self(), tries_to_wait, NULL, 0, &sum, sizeof sum), PM2_OK);
	EQUAL(sum, 1);
}

static void nested(void)
{
	int many = pm2_nodes() > 8;     /* then each node has few slots */
	int n = many ? 3 : 9, result = 0;

	EQUAL(pm2_lrpc(other(1), fibonacci, &n, sizeof n, &result, sizeof result), PM2_OK);
	EQUAL(result, many ? 2 : 34);
}

static void moving(void)
{
	int base = 1000, result = 0;

	EQUAL(pm2_lrpc(other(1), goes_away, &base, sizeof base, &result, sizeof result), PM2_OK);
	EQUAL(result, 1000 + other(6));
}

/* A node that computes still serves calls. */
static volatile int done;

static void set_done(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	done = 1;
}

static void computing(void)
{
	EQUAL(pm2_async_lrpc(other(1), set_done, NULL, 0), PM2_OK);
	while (!done)
		;
}

static void wrong(void)
{
	int one = 1;
	pm2_call_t call;

	EQUAL(pm2_lrpc(-1, add, &one, 4, &one, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(pm2_nodes(), add, &one, 4, &one, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(0, NULL, &one, 4, &one, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(0, add, NULL, 4, &one, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(0, add, &one, 4, NULL, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(0, add, &one, PM2_ARGUMENT_MOST + 1, &one, 4), PM2_EINVAL);
	EQUAL(pm2_lrpc(0, add, &one, 4, &one, PM2_ARGUMENT_MOST + 1), PM2_EINVAL);
	EQUAL(pm2_lrpc_begin(0, add, &one, 4, &one, 4, NULL), PM2_EINVAL);
	EQUAL(pm2_lrpc_begin(-1, add, &one, 4, &one, 4, &call), PM2_EINVAL);
	EQUAL(pm2_async_lrpc(pm2_nodes(), add, &one, 4), PM2_EINVAL);
	EQUAL(pm2_quick_async_lrpc(0, NULL, &one, 4), PM2_EINVAL);
}

/* ---- flood ---- */

static int right;                       /* calls with the right contents; atomic */

/* The argument: node, number, and words that follow from both. */
static void checked(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	const int *numbers = argument;
	int good = 1;

	(void)result, (void)result_bytes;
	for (int i = 2; i < (int)(bytes / sizeof *numbers); i++)
		good &= numbers[i] == numbers[0] * 1000 + numbers[1] + i;
	__atomic_fetch_add(&right, good, __ATOMIC_RELAXED);
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

static void flood(void)
{
	int numbers[50] = { margay_rank() }, wanted = 200 * (pm2_nodes() - 1);

	if (margay_rank() == 0) {
		sleep(1);
		while (served_here() < wanted)
			pm2_yield();
		pm2_sleep(10000);
		EQUAL(served_here(), wanted);
		EQUAL(right, wanted);
		printf("ok flood\n");
		return;
	}
	for (int i = 0; i < 200; i++) {
		numbers[1] = i;
		for (int n = 2; n < 50; n++)
			numbers[n] = numbers[0] * 1000 + i + n;
		while (pm2_async_lrpc(0, checked, numbers, sizeof numbers) == PM2_ENOMEM)
			pm2_sleep(1000);
	}
}

/* ---- all ranks ---- */

static int arrived;                         /* counted by quick services, which are not preempted */

static void sync_service(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	arrived++;
}

/* Waits until all ranks have come here equally often. */
static void sync_ranks(void)
{
	static int rounds;

	rounds++;
	for (int node = 0; node < pm2_nodes(); node++)
		EQUAL(pm2_quick_lrpc(node, sync_service, NULL, 0, NULL, 0), PM2_OK);
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < rounds * pm2_nodes())
		pm2_sleep(100);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "synchronous", synchronous }, { "sizes", sizes },
		{ "asynchronous", asynchronous }, { "silent", silent },
		{ "quick", quick }, { "nested", nested },
		{ "moving", moving }, { "computing", computing }, { "wrong", wrong },
	};

	EQUAL(pm2_init(NULL), PM2_OK);
	if (argc > 1 && !strcmp(argv[1], "flood"))
		flood();
	for (unsigned i = 0; argc == 1 && i < sizeof cases / sizeof cases[0]; i++) {
		sync_ranks();
		cases[i].run();
		sync_ranks();
		if (margay_rank() == 0)
			printf("ok %s\n", cases[i].name);
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
