/*
 * Threads of one node: order, joins, mutexes, conditions, sleep, preemption, the C library under
 * preemption, each thread's floating point and errno, wrong arguments. One line per case.
 *
 *   pm2_threads [THREADS]   THREADS threads at once, instead of the cases
 */
#include "check.h"
#include <errno.h>
#include <fenv.h>
#include <pm2.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static int order[64], orders, began;

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

/* ---- creation, yields, joins ---- */

static void *turns(void *argument)
{
	pm2_preempt_off();
	began++;
	while (began < 3)
		pm2_yield();
	for (int i = 0; i < 4; i++) {
		order[orders++] = (int)(intptr_t)argument;
		pm2_yield();
	}
	return argument;
}

static void yields(void)
{
	pm2_thread_t names[3];
	void *result;

	orders = began = 0;
	pm2_preempt_off();
	for (intptr_t i = 0; i < 3; i++)
		EQUAL(pm2_thread_create(&names[i], turns, (void *)i), PM2_OK);
	for (intptr_t i = 0; i < 3; i++) {
		EQUAL(pm2_thread_join(names[i], &result), PM2_OK);
		EQUAL(result, i);
	}
	pm2_preempt_on();
	EQUAL(orders, 12);
	EQUAL(order[0] + order[1] + order[2], 3);
	EQUAL(order[0] * order[1] * order[2], 0);
	for (int i = 3; i < 12; i++)
		EQUAL(order[i], order[i - 3]);
	EQUAL(pm2_thread_join(names[0], NULL), PM2_ENOTHREAD);
}

static void *deep(void *argument)
{
	pm2_thread_t name;
	void *result = NULL;
	intptr_t depth = (intptr_t)argument;

	if (!depth)
		pm2_thread_exit((void *)1000);
	EQUAL(pm2_thread_create(&name, deep, (void *)(depth - 1)), PM2_OK);
	EQUAL(pm2_thread_join(name, &result), PM2_OK);
	return (char *)result + 1;
}

static void joins(void)
{
	pm2_thread_t name;
	void *result;

	EQUAL(pm2_thread_create(&name, deep, (void *)20), PM2_OK);
	EQUAL(pm2_thread_join(name, &result), PM2_OK);
	EQUAL(result, 1020);
	for (int i = 0; i < 5000; i++) {
		EQUAL(pm2_thread_create(&name, deep, NULL), PM2_OK);
		EQUAL(pm2_thread_join(name, &result), PM2_OK);
		EQUAL(result, 1000);
	}
}

static int detached_ran;

static void *silent(void *argument)
{
	(void)argument;
	__atomic_fetch_add(&detached_ran, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *itself(void *argument)
{
	EQUAL(pm2_thread_join(pm2_thread_self(), NULL), PM2_EDEADLOCK);
	return argument;
}

static void detached(void)
{
	pm2_thread_t name;

	detached_ran = 0;
	EQUAL(pm2_thread_create(NULL, silent, NULL), PM2_OK);
	EQUAL(pm2_thread_create(NULL, itself, NULL), PM2_OK);
	EQUAL(pm2_thread_create(&name, silent, NULL), PM2_OK);
	EQUAL(pm2_thread_detach(name), PM2_OK);
	EQUAL(pm2_thread_join(name, NULL), PM2_ENOTHREAD);
	while (__atomic_load_n(&detached_ran, __ATOMIC_RELAXED) < 2)
		pm2_yield();
	EQUAL(pm2_thread_create(&name, silent, NULL), PM2_OK);
	pm2_yield();
	EQUAL(pm2_thread_detach(name), PM2_OK);
	EQUAL(pm2_thread_detach(name), PM2_ENOTHREAD);
}

/* ---- mutexes and conditions ---- */

static pm2_mutex_t mutex;
static pm2_cond_t changed;
static int inside, entries, box, full;

static void *enters(void *argument)
{
	(void)argument;
	for (int i = 0; i < 100; i++) {
		EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
		EQUAL(inside++, 0);
		pm2_yield();
		entries++;
		EQUAL(--inside, 0);
		EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	}
	return NULL;
}

static void mutexes(void)
{
	pm2_thread_t names[8];

	for (int i = 0; i < 8; i++)
		EQUAL(pm2_thread_create(&names[i], enters, NULL), PM2_OK);
	for (int i = 0; i < 8; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
	EQUAL(entries, 800);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_ENOTOWNER);
	EQUAL(pm2_mutex_trylock(&mutex), PM2_OK);
	EQUAL(pm2_mutex_trylock(&mutex), PM2_EBUSY);
	EQUAL(pm2_mutex_lock(&mutex), PM2_EDEADLOCK);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	EQUAL(pm2_cond_wait(&changed, &mutex), PM2_ENOTOWNER);
}

static void *produces(void *argument)
{
	for (int i = 1; i <= 200; i++) {
		pm2_mutex_lock(&mutex);
		while (full)
			EQUAL(pm2_cond_wait(&changed, &mutex), PM2_OK);
		box = i;
		full = 1;
		EQUAL(pm2_cond_broadcast(&changed), PM2_OK);
		pm2_mutex_unlock(&mutex);
	}
	return argument;
}

static void conditions(void)
{
	pm2_thread_t name;
	int sum = 0;

	EQUAL(pm2_thread_create(&name, produces, NULL), PM2_OK);
	for (int i = 1; i <= 200; i++) {
		pm2_mutex_lock(&mutex);
		while (!full)
			EQUAL(pm2_cond_wait(&changed, &mutex), PM2_OK);
		sum += box;
		full = 0;
		EQUAL(pm2_cond_signal(&changed), PM2_OK);
		pm2_mutex_unlock(&mutex);
	}
	EQUAL(sum, 20100);
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

/* ---- sleep ---- */

static uint64_t last_began;

static void *sleeps(void *argument)
{
	uint64_t us = (uint64_t)(intptr_t)argument, start = now_us();

	pm2_preempt_off();
	last_began = start;
	EQUAL(pm2_sleep(us), PM2_OK);
	CHECK(now_us() - start >= us);
	order[orders++] = (int)us;
	return NULL;
}

static void sleeping(void)
{
	static const intptr_t us[] = { 60000, 20000, 40000, 0 };
	pm2_thread_t names[4];
	uint64_t start = now_us();

	orders = 0;
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_create(&names[i], sleeps, (void *)us[i]), PM2_OK);
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
	EQUAL(orders, 4);
	if (last_began - start < 20000) /* otherwise they may wake in another order */
		CHECK(order[0] == 0 && order[1] == 20000 && order[2] == 40000 && order[3] == 60000);
}

static volatile int awake;

static void *sets(void *argument)
{
	(void)argument;
	pm2_sleep(3000);
	awake = 1;
	return NULL;
}

/* A sleeper wakes up while another thread computes. */
static void sleeper_beside_work(void)
{
	pm2_thread_t name;

	awake = 0;
	EQUAL(pm2_thread_create(&name, sets, NULL), PM2_OK);
	while (!awake)
		;
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

/* ---- preemption ---- */

static volatile uint64_t counts[4];
static volatile int stop;

static void *computes(void *argument)
{
	while (!stop)
		counts[(intptr_t)argument]++;
	return NULL;
}

static void preempted(void)
{
	pm2_thread_t names[4];
	struct pm2_counters before, after;

	stop = 0;
	pm2_get_counters(&before);
	memset((void *)counts, 0, sizeof counts);
	for (intptr_t i = 0; i < 4; i++)
		EQUAL(pm2_thread_create(&names[i], computes, (void *)i), PM2_OK);
	while (!counts[0] || !counts[1] || !counts[2] || !counts[3])
		;
	pm2_get_counters(&after);
	CHECK(after.preemptions - before.preemptions >= 4);
	stop = 1;
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
}

/* Shared data, protected in the three ways that pm2.h names. Each load and store is separate,
 * with time between them for preemption. */
static volatile int by_mutex, unpreempted;
static int atomic;

static void add_slowly(volatile int *shared)
{
	int value = *shared;

	for (volatile int i = 0; i < 20; i++)
		;
	*shared = value + 1;
}

static void *counts_up(void *argument)
{
	for (int i = 0; i < 20000; i++) {
		EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
		add_slowly(&by_mutex);
		EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
		pm2_preempt_off();
		add_slowly(&unpreempted);
		pm2_preempt_on();
		__atomic_fetch_add(&atomic, 1, __ATOMIC_RELAXED);
	}
	return argument;
}

static void shared(void)
{
	pm2_thread_t names[4];
	struct pm2_counters before, after;

	pm2_get_counters(&before);
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_create(&names[i], counts_up, NULL), PM2_OK);
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
	pm2_get_counters(&after);
	CHECK(after.preemptions > before.preemptions);
	EQUAL(by_mutex, 80000);
	EQUAL(unpreempted, 80000);
	EQUAL(atomic, 80000);
}

/* One thread alone: no timer is set. */
static void alone(void)
{
	struct pm2_counters before, after;
	uint64_t start;

	pm2_sleep(30000);              /* the earlier timer has expired */
	pm2_get_counters(&before);
	start = now_us();
	while (now_us() - start < 30000)
		pm2_yield();
	pm2_get_counters(&after);
	EQUAL(after.timers, before.timers);
}

static void not_preempted(void)
{
	pm2_thread_t name;
	uint64_t start = now_us();

	stop = 0;
	counts[0] = 0;
	pm2_preempt_off();
	EQUAL(pm2_thread_create(&name, computes, NULL), PM2_OK);
	while (now_us() - start < 30000)
		;
	EQUAL(counts[0], 0);
	pm2_preempt_on();
	while (!counts[0])
		;
	stop = 1;
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
}

/* Threads use malloc and stdio while they are constantly preempted. */
static void *library(void *argument)
{
	unsigned self = (unsigned)(intptr_t)argument, seed = self;
	char *blocks[16] = { 0 }, text[40];
	double sum = 0;

	for (int i = 0; i < 1500; i++) {
		unsigned at = (seed = seed * 1103515245 + 12345) >> 16 & 15;
		size_t bytes = (seed >> 8 & 1023) + 1;

		if (blocks[at])
			for (int j = 0; j < 16; j++)
				EQUAL(blocks[at][j], (char)(self + at));
		free(blocks[at]);
		blocks[at] = malloc(bytes + 16);
		CHECK(blocks[at]);
		memset(blocks[at], (int)(self + at), bytes + 16);
		snprintf(text, sizeof text, "%u:%.2f", self, i / 4.0);
		CHECK(strtoul(text, NULL, 10) == self);
		sum += strtod(strchr(text, ':') + 1, NULL);
		errno = (int)self + 1;
		for (volatile int j = 0; j < 300; j++)
			;
		EQUAL(errno, (int)self + 1);
	}
	CHECK(sum == 1499 * 1500 / 8.0);
	for (int i = 0; i < 16; i++)
		free(blocks[i]);
	return NULL;
}

static void c_library(void)
{
	pm2_thread_t names[6];

	for (intptr_t i = 0; i < 6; i++)
		EQUAL(pm2_thread_create(&names[i], library, (void *)i), PM2_OK);
	for (int i = 0; i < 6; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
}

/* A rounding mode, and quotients in it: of SSE registers, and of the x87's. No two modes agree in
 * all three of a kind. */
struct rounding {
	int mode;
	double third, tenth, minus_third;
	long double long_third, long_seventh, long_minus_third;
};

#define THIRD         0x1.5555555555555p-2
#define THIRD_UP      0x1.5555555555556p-2
#define TENTH         0x1.9999999999999p-4
#define TENTH_UP      0x1.999999999999ap-4
#define LONG_THIRD    0xa.aaaaaaaaaaaaaaap-5L
#define LONG_THIRD_UP 0xa.aaaaaaaaaaaaaabp-5L
#define SEVENTH       0x9.249249249249249p-6L
#define SEVENTH_UP    0x9.24924924924924ap-6L

static void *rounds(void *argument)
{
	static const struct rounding modes[] = {
		{ FE_TONEAREST, THIRD, TENTH_UP, -THIRD, LONG_THIRD_UP, SEVENTH, -LONG_THIRD_UP },
		{ FE_UPWARD, THIRD_UP, TENTH_UP, -THIRD, LONG_THIRD_UP, SEVENTH_UP, -LONG_THIRD },
		{ FE_DOWNWARD, THIRD, TENTH, -THIRD_UP, LONG_THIRD, SEVENTH, -LONG_THIRD_UP },
		{ FE_TOWARDZERO, THIRD, TENTH, -THIRD, LONG_THIRD, SEVENTH, -LONG_THIRD },
	};
	const struct rounding *wanted = &modes[(intptr_t)argument];
	volatile double one = 1, three = 3, ten = 10;
	volatile long double long_one = 1, long_three = 3, seven = 7;

	EQUAL(fegetround(), FE_TONEAREST);
	fesetround(wanted->mode);
	for (int i = 0; i < 100000; i++) {
		if (i % 1000 == 0)
			pm2_yield();
		CHECK(one / three == wanted->third);
		CHECK(one / ten == wanted->tenth);
		CHECK(-one / three == wanted->minus_third);
		CHECK(long_one / long_three == wanted->long_third);
		CHECK(long_one / seven == wanted->long_seventh);
		CHECK(-long_one / long_three == wanted->long_minus_third);
	}
	EQUAL(fegetround(), wanted->mode);
	return NULL;
}

static void floating_point(void)
{
	pm2_thread_t names[4];

	for (intptr_t i = 0; i < 4; i++)
		EQUAL(pm2_thread_create(&names[i], rounds, (void *)i), PM2_OK);
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
	EQUAL(fegetround(), FE_TONEAREST);
}

/* ---- memory of threads ---- */

static void *heaps(void *argument)
{
	unsigned seed = (unsigned)(intptr_t)argument;
	struct { unsigned char *at; size_t bytes; } blocks[24] = { { 0 } };

	for (int i = 0; i < 4000; i++) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16 & 31;
		size_t bytes = (seed >> 4) % (i % 50 ? 300 : 30000);

		if (n >= 24)
			n -= 8;
		for (size_t j = 0; j < blocks[n].bytes; j += 97)
			EQUAL(blocks[n].at[j], n + 1);
		if (blocks[n].at) {
			EQUAL(pm2_isofree(blocks[n].at), PM2_OK);
			EQUAL(pm2_isofree(blocks[n].at), PM2_ENOTOWNER);
		}
		blocks[n].at = pm2_isomalloc(bytes);
		CHECK(blocks[n].at);
		EQUAL((uintptr_t)blocks[n].at % 16, 0);
		blocks[n].bytes = bytes;
		memset(blocks[n].at, (int)n + 1, bytes);
		if (i % 100 == 0)
			pm2_yield();
	}
	EQUAL(pm2_isofree(NULL), PM2_OK);
	EQUAL(pm2_isofree(&seed), PM2_ENOTOWNER);
	return NULL;
}

static void memory(void)
{
	pm2_thread_t names[4];

	CHECK(!pm2_isomalloc(1));       /* main has none */
	for (intptr_t i = 0; i < 4; i++)
		EQUAL(pm2_thread_create(&names[i], heaps, (void *)(i + 1)), PM2_OK);
	for (int i = 0; i < 4; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
}

static void arguments(void)
{
	struct pm2_config wrong = { .stack_bytes = 1 };
	pm2_call_t call = { 0 };

	EQUAL(pm2_init(&wrong), PM2_ESTATE);
	EQUAL(pm2_thread_create(NULL, NULL, NULL), PM2_EINVAL);
	EQUAL(pm2_thread_join(0, NULL), PM2_ENOTHREAD);
	EQUAL(pm2_thread_join(~0ULL, NULL), PM2_ENOTHREAD);
	EQUAL(pm2_thread_join(1ULL << 32 | 1 << 20, NULL), PM2_ENOTHREAD);
	EQUAL(pm2_thread_join(pm2_thread_self(), NULL), PM2_ENOTHREAD); /* main has no name */
	EQUAL(pm2_mutex_lock(NULL), PM2_EINVAL);
	EQUAL(pm2_mutex_trylock(NULL), PM2_EINVAL);
	EQUAL(pm2_mutex_unlock(NULL), PM2_EINVAL);
	EQUAL(pm2_cond_wait(NULL, NULL), PM2_EINVAL);
	EQUAL(pm2_cond_signal(NULL), PM2_EINVAL);
	EQUAL(pm2_cond_broadcast(NULL), PM2_EINVAL);
	EQUAL(pm2_migrate_self(-1), PM2_EINVAL);
	EQUAL(pm2_migrate_self(pm2_nodes()), PM2_EINVAL);
	EQUAL(pm2_migrate_self(0), PM2_EINVAL);          /* main */
	EQUAL(pm2_migrate(0, 0), PM2_ENOTHREAD);
	EQUAL(pm2_lrpc(0, NULL, NULL, 0, NULL, 0), PM2_EINVAL);
	EQUAL(pm2_lrpc_wait(&call), PM2_ENOTHREAD);
	EQUAL(pm2_lrpc_wait(NULL), PM2_EINVAL);
	pm2_preempt_on();               /* without preempt_off: no effect */
	pm2_migration_on();
	CHECK(strcmp(pm2_error_text(PM2_EDEAD), pm2_error_text(PM2_OK)));
	CHECK(pm2_error_text(-1000) && pm2_error_text(7));
}

/* ---- many threads at once ---- */

static uint64_t sum;

static void *adds(void *argument)
{
	pm2_yield();
	__atomic_fetch_add(&sum, (uintptr_t)argument, __ATOMIC_RELAXED);
	pm2_yield();
	return argument;
}

static void many(unsigned long count)
{
	pm2_thread_t *names = calloc(count, sizeof *names);
	void *result;

	CHECK(names);
	for (int round = 0; round < 2; round++) {
		sum = 0;
		for (unsigned long i = 0; i < count; i++)
			EQUAL(pm2_thread_create(&names[i], adds, (void *)i), PM2_OK);
		for (unsigned long i = 0; i < count; i++) {
			EQUAL(pm2_thread_join(names[i], &result), PM2_OK);
			EQUAL(result, i);
		}
		EQUAL(sum, count * (count - 1) / 2);
	}
	free(names);
	printf("ok %lu threads\n", count);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "yields", yields }, { "joins", joins }, { "detached", detached },
		{ "mutexes", mutexes }, { "conditions", conditions }, { "sleeping", sleeping },
		{ "sleeper beside work", sleeper_beside_work }, { "preempted", preempted },
		{ "shared", shared },
		{ "alone", alone }, { "not preempted", not_preempted }, { "C library", c_library },
		{ "floating point", floating_point }, { "memory", memory },
		{ "arguments", arguments },
	};
	struct pm2_config config = { .quantum_us = 1000 };

	EQUAL(pm2_thread_create(NULL, adds, NULL), PM2_ESTATE);
	EQUAL(pm2_end(), PM2_ESTATE);
	EQUAL(pm2_init(&config), PM2_OK);
	if (argc > 1)
		many(strtoul(argv[1], NULL, 10));
	for (unsigned i = 0; argc == 1 && i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		if (margay_rank() == 0)
			printf("ok %s\n", cases[i].name);
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
