/*
 * Benchmark of PM2, and of the puts below it; run by tests/bench/pm2.py, which explains the
 * figures. One line per figure on stdout: NAME VALUE.
 *
 *   pm2 switch TIMES         a yield of two threads to each other, in ns
 *   pm2 migrate TIMES        a thread with a minimal stack to node 1 and back, as in section 3.5
 *                            of the paper: one way, in us; and the bytes sent
 *   pm2 calls TIMES          an empty call: synchronous, quick; with its answer, in us
 *   pm2 put SIZE TIMES       a put of as many bytes there and back, at minimal cost: half, in us
 *   pm2 instructions         of all of these except the put, under --icount
 *   pm2 leave                the same for sending a thread to node 1, and for a put of as many bytes
 */
#include <pm2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "../../../apps/job.h"

enum { PORTAL = 1, MOST = 1 << 16, TRIES = 64 };

static _Alignas(64) char in[MOST], out[MOST];
static long times;

static void say(const char *name, double value)
{
	if (margay_rank() == 0)
		printf("%s %.6g\n", name, value);
}

/* ---- switches ---- */

static void *yields(void *argument)
{
	for (long i = 0; i < times; i++)
		pm2_yield();
	return argument;
}

/* Both threads yield equally often, and each yield is one switch. */
static double switches(void)
{
	pm2_thread_t names[2];
	double start;

	for (int i = 0; i < 2; i++)
		pm2_thread_create(&names[i], yields, NULL);
	start = job_seconds();
	for (int i = 0; i < 2; i++)
		pm2_thread_join(names[i], NULL);
	return (job_seconds() - start) / (double)times / 2;
}

/* ---- migration ---- */

static double seconds;

static void *commutes(void *argument)
{
	double start = 0;

	for (long i = -times / 10; i < times; i++) {
		if (i == 0)
			start = job_seconds();
		pm2_migrate_self(1);
		pm2_migrate_self(0);
	}
	seconds = job_seconds() - start;
	return argument;
}

static void migrations(void)
{
	struct pm2_counters counters;
	pm2_thread_t name;

	if (margay_rank() != 0)
		return;
	pm2_thread_create(&name, commutes, NULL);
	pm2_thread_join(name, NULL);
	pm2_get_counters(&counters);
	say("migrate_us", seconds / (double)times / 2 * 1e6);
	say("image_bytes", (double)counters.image_bytes);
}

/* ---- calls ---- */

static void empty(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)argument, (void)bytes, (void)result, (void)result_bytes;
}

typedef int call_t(int, pm2_service_t, const void *, size_t, void *, size_t);

static double calls(call_t *call, int node)
{
	double start = 0;

	for (long i = -times / 10; i < times; i++) {
		if (i == 0)
			start = job_seconds();
		call(node, empty, NULL, 0, NULL, 0);
	}
	return (job_seconds() - start) / (double)times;
}

static void all_calls(void)
{
	if (margay_rank() != 0)
		return;
	say("lrpc_us", calls(pm2_lrpc, 1) * 1e6);
	say("quick_lrpc_us", calls(pm2_quick_lrpc, 1) * 1e6);
}

/* ---- instructions ---- */

static uint64_t least;

static void *pairs(void *argument)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = __rdtsc(), count;

		pm2_yield();            /* to the other and back */
		count = (__rdtsc() - start) / 2;
		if (count < least)
			least = count;
	}
	return argument;
}

static void *nothing(void *argument)
{
	return argument;
}

/* The minimum of several tries, which contains no poll for messages. */
static void instructions(void)
{
	pm2_thread_t names[2];
	uint64_t create = ~0ULL, call = ~0ULL, quick = ~0ULL;

	least = ~0ULL;
	for (int i = 0; i < 2; i++)
		pm2_thread_create(&names[i], pairs, NULL);
	for (int i = 0; i < 2; i++)
		pm2_thread_join(names[i], NULL);
	say("switch", (double)least);
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = __rdtsc(), now;

		pm2_thread_create(&names[0], nothing, NULL);
		pm2_thread_join(names[0], NULL);
		now = __rdtsc();
		create = now - start < create ? now - start : create;
		start = now;
		pm2_lrpc(0, empty, NULL, 0, NULL, 0);
		now = __rdtsc();
		call = now - start < call ? now - start : call;
		start = now;
		pm2_quick_lrpc(0, empty, NULL, 0, NULL, 0);
		now = __rdtsc();
		quick = now - start < quick ? now - start : quick;
	}
	say("create_join", (double)create);
	say("local_lrpc", (double)call);
	say("local_quick_lrpc", (double)quick);
}

/* Instructions of a put of so many bytes that its target discards. */
static uint64_t put_instructions(uint64_t bytes)
{
	ptl_handle_ni_t ni;
	ptl_handle_md_t md;
	uint64_t count = ~0ULL;

	job_check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit");
	job_check(PtlMDBind(ni, job_memory(out, sizeof(out), PTL_MD_EVENT_START_DISABLE |
					   PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), PTL_RETAIN, &md),
		  "PtlMDBind");
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = __rdtsc();

		PtlPutRegion(md, 0, bytes, PTL_NO_ACK_REQ, margay_process(1), PORTAL, 0, 0, 0, 0);
		start = __rdtsc() - start;
		if (start < count)
			count = start;
		pm2_sleep(1000);
	}
	return count;
}

/* Each time another runnable thread is migrated. */
static void leave(void)
{
	struct pm2_counters counters;
	uint64_t count = ~0ULL;
	pm2_thread_t name;

	if (margay_rank() != 0)
		return;
	for (int i = 0; i < TRIES; i++) {
		uint64_t start;
		int result;

		pm2_thread_create(&name, nothing, NULL);
		start = __rdtsc();
		result = pm2_migrate(name, 1);
		start = __rdtsc() - start;
		if (result == PM2_OK && start < count)
			count = start;
		pm2_thread_join(name, NULL);
	}
	pm2_get_counters(&counters);
	say("leave", (double)count);
	say("put", (double)put_instructions(counters.image_bytes));
}

/* ---- puts ---- */

static void puts_there_and_back(int size)
{
	struct job job;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	double start = 0;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PORTAL, 0, job_memory(in, sizeof(in), PTL_MD_OP_PUT |
					       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
					       eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(out, (size_t)size, PTL_MD_EVENT_START_DISABLE |
					       PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), PTL_RETAIN,
			    &md), "PtlMDBind");
	job_barrier(&job);
	for (long i = -times / 10; i < times; i++) {
		if (i == 0)
			start = job_seconds();
		if (job.rank == 0)
			job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(1), PORTAL, 0, 0, 0, 0),
				  "PtlPut");
		job_good_event(eq);
		if (job.rank == 1)
			job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(0), PORTAL, 0, 0, 0, 0),
				  "PtlPut");
	}
	say("half_rtt_us", (job_seconds() - start) / (double)times / 2 * 1e6);
	job_end(&job);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int size = argc > 3 ? atoi(argv[2]) : 0;

	times = argc > 2 ? atol(argv[argc - 1]) : 1;
	if (times < 1 || size < 0 || size > MOST)
		return 2;
	if (!strcmp(what, "put")) {
		puts_there_and_back(size);
		return 0;
	}
	if (pm2_init(NULL) != PM2_OK)
		return 1;
	if (!strcmp(what, "switch"))
		say("switch_ns", switches() * 1e9);
	else if (!strcmp(what, "migrate"))
		migrations();
	else if (!strcmp(what, "calls"))
		all_calls();
	else if (!strcmp(what, "instructions"))
		instructions();
	else if (!strcmp(what, "leave"))
		leave();
	return pm2_end() != PM2_OK;
}
