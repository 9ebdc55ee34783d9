/*
 * vmmc_random SEED ROUNDS: random calls against a model.
 *
 * Each rank owns areas that it exports and unexports at random; all may import them. Every rank has
 * its own part of each area, and a model of what it has written there. In a round it imports,
 * unimports and sends at random offsets and sizes, by all calls. At the end of a round each writer
 * sends the checksums of its models to the owner, which compares them with its areas, and how many
 * sends of it have had a notification in all: so many times the owner's handler must have run.
 */
#include "vmmc_test.h"

enum { AREAS = 3, PART = 6000, MOST_RANKS = 8, STEPS = 60, BUFFER = PART,
       HANG_MS = 60000 };

struct mine {
	vmmc_export_t exported;
	char *bytes;
};

struct theirs {
	vmmc_proxy_t proxy;
	char model[PART];
};

struct report {
	uint64_t sums[AREAS];            /* of the writer's models of the owner's areas */
	uint64_t notifications;          /* sent by the writer to the owner since the start */
};

static int rank, size;
static struct mine mine[AREAS];
static struct theirs theirs[MOST_RANKS][AREAS];
static struct report reports[MOST_RANKS];        /* exported: one of each writer */
static uint64_t notifies[MOST_RANKS];            /* notifications sent, by owner */
static volatile uint64_t notified[MOST_RANKS];   /* notifications handled, by sender */
static uint64_t seed;

static uint64_t sum_of(const char *bytes)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < PART; i++)
		sum = sum * 31 + (unsigned char)bytes[i];
	return sum;
}

static void on_message(void *argument, int sender, size_t offset, size_t bytes)
{
	if (argument != notified || offset / PART != (size_t)sender || bytes > PART)
		margay_end_job(3);
	notified[sender]++;
}

static const char *name_of(int area)
{
	static char name[16];

	snprintf(name, sizeof name, "area %d", area);
	return name;
}

static void open_areas(void)
{
	for (int a = 0; a < AREAS; a++) {
		if (mine[a].exported && next_random(&seed) % 4)
			continue;
		if (mine[a].exported)
			OK(vmmc_unexport(mine[a].exported));
		mine[a].exported = 0;
		if (next_random(&seed) % 8)
			OK(vmmc_export(name_of(a), mine[a].bytes, (size_t)size * PART, NULL, 0,
			               next_random(&seed) % 2 ? VMMC_SPIN : 0, on_message,
			               (void *)notified, &mine[a].exported));
	}
}

/* Undo imports that have lost their export, and make or undo others at random. */
static void change_imports(void)
{
	for (int r = 0; r < size; r++)
		for (int a = 0; a < AREAS; a++) {
			struct theirs *t = &theirs[r][a];
			int result;

			if (t->proxy && (vmmc_fence(t->proxy) == VMMC_EREVOKED ||
			                 next_random(&seed) % 8 == 0)) {
				OK(vmmc_unimport(t->proxy));
				FAILS(VMMC_EPROXY, SendMsg(t->model, t->proxy, 1));
				t->proxy = 0;
			}
			if (t->proxy || next_random(&seed) % 4 == 0)
				continue;
			result = vmmc_import(r, name_of(a), 0, &t->proxy, NULL);
			if (result)
				FAILS(VMMC_ENOENT, result);
		}
}

static void send_some(void)
{
	static char buffer[BUFFER];
	static const size_t most[] = { 4, 64, 200, PART };

	for (int step = 0; step < STEPS; step++) {
		int r = (int)(next_random(&seed) % (unsigned)size), a = (int)(next_random(&seed) % AREAS);
		size_t bytes = next_random(&seed) % (most[next_random(&seed) % 4] + 1);
		size_t at = next_random(&seed) % (PART - bytes + 1);
		int flags = (int)(next_random(&seed) % 4);
		volatile int32_t done = VMMC_OK;
		struct theirs *t = &theirs[r][a];

		if (!t->proxy)
			continue;
		for (size_t i = 0; i < bytes; i++)
			buffer[i] = (char)next_random(&seed);
		OK(vmmc_send(buffer, t->proxy + (size_t)rank * PART + at, bytes, flags,
		             flags & VMMC_ASYNC ? &done : NULL));
		OK(vmmc_wait_send(&done));
		notifies[r] += (flags & VMMC_NOTIFY) != 0;
		memcpy(t->model + at, buffer, bytes);
	}
}

static int all_handled(void *argument)
{
	int writer = *(int *)argument;

	return notified[writer] >= reports[writer].notifications;
}

static void compare(vmmc_proxy_t *reports_of)
{
	for (int r = 0; r < size; r++) {
		struct report report = { .notifications = notifies[r] };

		for (int a = 0; a < AREAS; a++) {
			report.sums[a] = sum_of(theirs[r][a].model);
			if (theirs[r][a].proxy)
				OK(vmmc_fence(theirs[r][a].proxy));
		}
		OK(SendMsg(&report, reports_of[r] + (size_t)rank * sizeof report, sizeof report));
	}
	for (int r = 0; r < size; r++)
		OK(vmmc_fence(reports_of[r]));
	OK(vmmc_barrier());
	for (int w = 0; w < size; w++) {
		for (int a = 0; a < AREAS; a++)
			CHECK(reports[w].sums[a] == sum_of(mine[a].bytes + (size_t)w * PART));
		OK(vmmc_wait_until(all_handled, &w, -1, HANG_MS));
		EQUAL(notified[w], reports[w].notifications);
	}
	OK(vmmc_barrier());
}

int main(int argc, char **argv)
{
	vmmc_proxy_t reports_of[MOST_RANKS];
	vmmc_export_t exported;
	int rounds;

	CHECK(argc == 3);
	rank = margay_rank();
	size = margay_size();
	CHECK(size <= MOST_RANKS);
	seed = (uint64_t)atoi(argv[1]) * 1000 + (uint64_t)rank;
	rounds = atoi(argv[2]);
	OK(vmmc_init());
	for (int a = 0; a < AREAS; a++)
		CHECK((mine[a].bytes = calloc((size_t)size, PART)));
	OK(vmmc_export("reports", reports, sizeof reports, NULL, 0, 0, NULL, NULL, &exported));
	for (int r = 0; r < size; r++)
		OK(vmmc_import(r, "reports", FOR_EVER, &reports_of[r], NULL));
	for (int round = 0; round < rounds; round++) {
		open_areas();
		OK(vmmc_barrier());
		change_imports();
		send_some();
		compare(reports_of);
	}
	OK(vmmc_fini());
	if (rank == 0)
		puts("done");
	return 0;
}
