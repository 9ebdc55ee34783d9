/*
 * pm2_balance [THREADS]: balancing threads, which know nothing of it, between nodes with PM2. All
 * threads begin on node 0 and compute. Node 0 checks them from time to time and moves them to the
 * other nodes while they run. Each keeps a list in memory that moves with it.
 *
 *     tools/margay run -n 4 build/apps/pm2_balance.elf 12
 */
#include <pm2.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MOST 1000
#define STEPS        200
#define WORK         20000

struct found {
	struct found *before;
	unsigned prime;
};

static int is_prime(unsigned number)
{
	for (unsigned i = 2; i * i <= number; i++)
		if (number % i == 0)
			return 0;
	return number > 1;
}

/* Lists the first STEPS primes from a number on. The pointers of the list survive migration. */
static void *searches(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument * WORK, steps = 0;
	struct found *list = NULL;
	uint64_t sum = 0;

	while (steps < STEPS) {
		if (is_prime(++number)) {
			struct found *found = pm2_isomalloc(sizeof(*found));

			if (!found)
				return NULL;
			*found = (struct found){ list, number };
			list = found;
			steps++;
		}
	}
	for (; list; list = list->before)
		sum += list->prime;
	return (void *)(uintptr_t)sum;
}

static void check(int result, const char *what)
{
	if (result == PM2_OK)
		return;
	fprintf(stderr, "pm2_balance: %s: %s\n", what, pm2_error_text(result));
	exit(1);
}

/* Moves each thread to the next node round robin; those that have ended or are being moved stay. */
static int spread(const pm2_thread_t *threads, int count)
{
	int moved = 0;

	for (int i = 0; i < count; i++)
		moved += pm2_migrate(threads[i], i % pm2_nodes()) == PM2_OK && i % pm2_nodes();
	return moved;
}

int main(int argc, char **argv)
{
	static pm2_thread_t threads[THREADS_MOST];
	int count = argc > 1 ? atoi(argv[1]) : 8, moved = 0;
	uint64_t sum = 0;
	void *result;

	check(pm2_init(NULL), "pm2_init");
	if (count < 1 || count > THREADS_MOST) {
		if (pm2_self() == 0)
			fprintf(stderr, "usage: pm2_balance [THREADS]    (1 to %d)\n",
				THREADS_MOST);
		pm2_end();
		return 2;
	}
	if (pm2_self() == 0) {
		for (int i = 0; i < count; i++)
			check(pm2_thread_create(&threads[i], searches, (void *)(uintptr_t)i),
			      "pm2_thread_create");
		moved = spread(threads, count);
		for (int i = 0; i < count; i++) {
			check(pm2_thread_join(threads[i], &result), "pm2_thread_join");
			sum += (uintptr_t)result;
		}
		printf("%d threads, %d moved: the sum is %llu\n", count, moved,
		       (unsigned long long)sum);
	}
	check(pm2_end(), "pm2_end");
	return 0;
}
