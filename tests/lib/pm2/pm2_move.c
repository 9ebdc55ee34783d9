/*
 * Threads that migrate: by their own call and while they compute, with their stacks and heaps. One
 * line of rank 0 for each case.
 *
 *   pm2_move [HOPS]       HOPS of the thread around the nodes, 500 by default
 *   pm2_move around HOPS  only that
 *   pm2_move flood        all migrate threads to node 0, which sleeps
 */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pm2.h>
#include <string.h>
#include <unistd.h>

static int hops = 500;
static int visits;                      /* of this node; atomic, as threads are preempted */

/* ---- around ---- */

struct cell { struct cell *next; int value; };

struct traveller {
	int hops;
	uint64_t sum;
};

static uint64_t step(uint64_t value)
{
	return value * 6364136223846793005ULL + 1442695040888963407ULL;
}

/* Its stack, heap and floating-point state stay intact on each node. */
static void *travels(void *argument)
{
	int wanted = (int)(intptr_t)argument;
	struct cell *list = NULL, first = { NULL, -1 }, *const here = &first;
	uint64_t value = 1, check = 1;
	double real = 1;

	for (int i = 0; i < wanted; i++) {
		struct cell *cell = pm2_isomalloc(sizeof *cell);
		int to = (pm2_self() + 1) % pm2_nodes();

		CHECK(cell);
		*cell = (struct cell){ list, i };
		list = cell;
		EQUAL(pm2_migrate_self(to), PM2_OK);
		EQUAL(pm2_self(), to);
		EQUAL(&first, here);
		EQUAL(first.value, -1);
		errno = i;
		for (int j = 0; j < 50; j++)
			value = step(value);
		real = real * 1.5 + 1;
		if (real > 1e100)
			real = 1;
		EQUAL(errno, i);
		if (i % 8 == 7)         /* keep two of each eight */
			for (int j = 0; j < 6; j++) {
				struct cell *gone = list->next;

				EQUAL(gone->value, i - 1 - j);
				list->next = gone->next;
				EQUAL(pm2_isofree(gone), PM2_OK);
			}
		if (i % 256 == 255)
			while (list) {
				struct cell *gone = list;

				list = list->next;
				EQUAL(pm2_isofree(gone), PM2_OK);
			}
	}
	for (long j = 0; j < 50L * wanted; j++)
		check = step(check);
	EQUAL(value, check);
	return (void *)(intptr_t)pm2_self();
}

static void around(void)
{
	pm2_thread_t name;
	void *result;

	if (margay_rank() == 0) {
		EQUAL(pm2_thread_create(&name, travels, (void *)(intptr_t)hops), PM2_OK);
		EQUAL(pm2_thread_join(name, &result), PM2_OK);
		EQUAL(result, hops % pm2_nodes());
	}
}

/* ---- preemptive ---- */

static volatile int moved_enough;       /* of this node */

static void enough(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
	moved_enough = 1;
}

/* Is migrated without its own doing. Returns the node where it ends. */
static void *computes(void *argument)
{
	uint64_t value = (uint64_t)(intptr_t)argument, steps = 0;
	double real = 1;

	while (!moved_enough || steps < 1000) {
		value = step(value);
		real = real * 0.5 + (double)(value >> 40);
		steps++;
	}
	for (uint64_t check = (uint64_t)(intptr_t)argument, i = 0; ; i++) {
		if (i == steps) {
			EQUAL(check, value);
			break;
		}
		check = step(check);
	}
	CHECK(real > 0);
	return (void *)(intptr_t)pm2_self();
}

/* Each accepted move takes a thread to the next node, so the thread ends as many nodes further on. */
static void preemptive(void)
{
	enum { THREADS = 4, MOVES = 61 };       /* the sum is odd: one ends elsewhere on two nodes */
	pm2_thread_t names[THREADS];
	int moves[THREADS] = { 0 };
	void *result;

	if (margay_rank() != 0)
		return;
	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_create(&names[i], computes, (void *)(i + 5)), PM2_OK);
	for (int i = 0, all = 0; all < MOVES; i++) {
		int *mine = &moves[i % THREADS];
		int error = pm2_migrate(names[i % THREADS], (*mine + 1) % pm2_nodes());

		CHECK(error == PM2_OK || error == PM2_EBUSY);
		*mine += error == PM2_OK;
		all += error == PM2_OK;
		if (i % 8 == 0)
			pm2_sleep(2000);
	}
	for (int node = pm2_nodes() - 1; node >= 0; node--)
		EQUAL(pm2_lrpc(node, enough, NULL, 0, NULL, 0), PM2_OK);
	for (int i = 0; i < THREADS; i++) {
		EQUAL(pm2_thread_join(names[i], &result), PM2_OK);
		EQUAL(result, moves[i] % pm2_nodes());
	}
}

/* ---- threads that may not migrate ---- */

static pm2_mutex_t mutex;

static void *stays(void *argument)
{
	int to = (pm2_self() + 1) % pm2_nodes(), here = pm2_self(), fd, other;
	FILE *file;

	EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	EQUAL(pm2_self(), here);
	EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
	fd = open("/tmp/pm2_move", O_CREAT | O_RDWR, 0600);
	CHECK(fd >= 0);
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	other = dup(fd);
	EQUAL(close(fd), 0);
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	EQUAL(close(other), 0);
	file = fopen("/tmp/pm2_move", "r");
	CHECK(file);
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	EQUAL(fclose(file), 0);
	EQUAL(unlink("/tmp/pm2_move"), 0);
	pm2_migration_off();
	pm2_migration_off();
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	pm2_migration_on();
	EQUAL(pm2_migrate_self(to), PM2_EHELD);
	pm2_migration_on();
	EQUAL(pm2_migrate_self(to), PM2_OK);
	EQUAL(pm2_self(), to);
	EQUAL(pm2_migrate_self(here), PM2_OK);
	return argument;
}

static void *leaves_file(void *argument)
{
	*(int *)argument = open("/tmp/pm2_move", O_CREAT | O_RDWR, 0600);
	return NULL;
}

static void *moves_away(void *argument)
{
	EQUAL(pm2_migrate_self(pm2_nodes() - 1), PM2_OK);
	return argument;
}

/* A thread that has ended has no files. The next thread gets its slots, and so its address. */
static void file_of_ended(void)
{
	static int fd;
	pm2_thread_t first, next;

	EQUAL(pm2_thread_create(&first, leaves_file, &fd), PM2_OK);
	EQUAL(pm2_thread_join(first, NULL), PM2_OK);
	CHECK(fd >= 0);
	EQUAL(pm2_thread_create(&next, moves_away, NULL), PM2_OK);
	EQUAL((uint32_t)next, (uint32_t)first);
	EQUAL(pm2_thread_join(next, NULL), PM2_OK);
	EQUAL(close(fd), 0);
	EQUAL(unlink("/tmp/pm2_move"), 0);
}

static void *waits(void *argument)
{
	pm2_mutex_lock(&mutex);
	pm2_mutex_unlock(&mutex);
	return argument;
}

static void refused(void)
{
	pm2_thread_t name;
	int error;

	if (margay_rank() != 0)
		return;
	EQUAL(pm2_thread_create(&name, stays, NULL), PM2_OK);
	EQUAL(pm2_thread_join(name, NULL), PM2_OK);
	file_of_ended();
	/* On a busy host it may be moved before it waits. */
	do {
		EQUAL(pm2_mutex_lock(&mutex), PM2_OK);
		EQUAL(pm2_thread_create(&name, waits, NULL), PM2_OK);
		pm2_sleep(1000);
		error = pm2_migrate(name, pm2_nodes() - 1);
		EQUAL(pm2_mutex_unlock(&mutex), PM2_OK);
		EQUAL(pm2_thread_join(name, NULL), PM2_OK);
	} while (error == PM2_OK);
	EQUAL(error, PM2_EBUSY);
	EQUAL(pm2_migrate(name, pm2_nodes() - 1), PM2_ENOTHREAD);
}

/* ---- many, anywhere ---- */

static void *wanders(void *argument)
{
	uint64_t state = (uint64_t)(intptr_t)argument * 77777 + 5;
	char *kept = pm2_isomalloc(700);

	CHECK(kept);
	memset(kept, (int)(intptr_t)argument, 700);
	for (int i = 0; i < 30; i++) {
		state = step(state);
		switch (state >> 60 & 3) {
		case 0:
			pm2_yield();
			break;
		case 1:
			EQUAL(pm2_sleep(state >> 50 & 63), PM2_OK);
			break;
		default:
			EQUAL(pm2_migrate_self((int)(state >> 33) % pm2_nodes()), PM2_OK);
		}
		for (int j = 0; j < 700; j++)
			EQUAL(kept[j], (char)(intptr_t)argument);
	}
	return argument;
}

/* Joins it on another node than its creator's. */
static void *joins_elsewhere(void *argument)
{
	pm2_thread_t name;
	void *result;

	EQUAL(pm2_thread_create(&name, wanders, argument), PM2_OK);
	EQUAL(pm2_migrate_self((pm2_self() + 1) % pm2_nodes()), PM2_OK);
	EQUAL(pm2_thread_join(name, &result), PM2_OK);
	EQUAL(result, (intptr_t)argument);
	return argument;
}

static void many(void)
{
	enum { THREADS = 40 };
	pm2_thread_t names[THREADS];
	void *result;

	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_create(&names[i], i % 4 ? wanders : joins_elsewhere, (void *)i),
		      PM2_OK);
	for (intptr_t i = 0; i < THREADS; i++) {
		EQUAL(pm2_thread_join(names[i], &result), PM2_OK);
		EQUAL(result, i);
	}
}

/* ---- a receiver that sleeps ---- */

static void *comes(void *argument)
{
	EQUAL(pm2_migrate_self(0), PM2_OK);
	__atomic_fetch_add(&visits, 1, __ATOMIC_RELAXED);
	return argument;
}

static void flood(void)
{
	enum { THREADS = 100 };
	pm2_thread_t names[THREADS];

	if (margay_rank() == 0) {
		sleep(1);
		while (__atomic_load_n(&visits, __ATOMIC_RELAXED) < THREADS * (pm2_nodes() - 1))
			pm2_yield();
		printf("ok flood\n");
		return;
	}
	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_create(&names[i], comes, (void *)i), PM2_OK);
	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pm2_thread_join(names[i], NULL), PM2_OK);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "around", around }, { "preemptive", preemptive }, { "refused", refused },
		{ "many", many },
	};
	struct pm2_config config = { .quantum_us = 1000 };
	int all = 1;

	EQUAL(pm2_init(&config), PM2_OK);
	if (argc > 1 && !strcmp(argv[1], "flood")) {
		flood();
		all = 0;
	} else if (argc > 1) {
		hops = atoi(argv[argc - 1]);
		all = strcmp(argv[1], "around");
	}
	for (unsigned i = 0; i < (all ? 4 : argc > 2); i++) {
		cases[i].run();
		if (margay_rank() == 0)
			printf("ok %s\n", cases[i].name);
	}
	EQUAL(pm2_end(), PM2_OK);
	return 0;
}
