/*
 * Benchmark of lib/vmmc: figures 2 to 4 of its paper between ranks 0 and 1, and instructions of
 * single calls. One line per figure on stdout: NAME VALUE. Receivers poll their memory, or with
 * `halt` as the last word wait by vmmc_wait_until.
 *
 *   vmmc_bench latency ROUNDS     latency_us_S: half of a round trip of S bytes, and
 *                                 put_us_S: the same by Portals itself, in turns
 *   vmmc_bench bandwidth BYTES    MBps_S: a stream of SendMsg of S bytes one way, so many bytes;
 *                                 both_MBps_S: both ways at once, each side waits for the other's
 *                                 message before its next one; the sum
 *   vmmc_bench overhead ROUNDS    sync_us_S, async_us_S: time in the call
 *   vmmc_bench instructions       (one node, --icount, to itself) insn_send_8B, insn_put_8B;
 *                                 insn_send_8B_wakes: into an area that wakes vmmc_wait;
 *                                 insn_notify_8B_to, insn_notify_8B: to the handler, in all
 */
#include <string.h>
#include <vmmc.h>

#include "../../../apps/job.h"

enum { PORTAL = 1, MOST = 1 << 20, SAMPLES = 101 };

static _Alignas(4096) volatile char area[MOST + 4096];
static _Alignas(4096) char source[MOST + 4096];
static struct job job;
static int peer, halts;
static vmmc_proxy_t proxy;
static ptl_handle_md_t all;                /* of memory: for Portals itself */
static ptl_handle_eq_t arrivals;           /* the same */

static void ok(int result, const char *what)
{
	if (result == VMMC_OK)
		return;
	fprintf(stderr, "vmmc_bench: %s: %s\n", what, vmmc_error(result));
	exit(1);
}

static void send(const char *from, size_t bytes)
{
	ok(SendMsg(from, proxy, bytes), "SendMsg");
}

static void put(const char *from, size_t bytes)
{
	job_check(PtlPutRegion(all, (uintptr_t)from, bytes, PTL_NO_ACK_REQ, margay_process(peer),
	                       PORTAL, 0, 0, 0, 0), "PtlPutRegion");
}

struct awaited {
	volatile char *byte;
	char a, b;
};

static int there(void *argument)
{
	struct awaited *awaited = argument;

	return *awaited->byte == awaited->a || *awaited->byte == awaited->b;
}

/* Wait until the last byte of a message has one of these values. */
static void await(size_t bytes, unsigned char a, unsigned char b)
{
	struct awaited awaited = { &area[bytes - 1], (char)a, (char)b };

	if (halts)
		ok(vmmc_wait_until(there, &awaited, peer, -1), "vmmc_wait_until");
	while (!there(&awaited))
		;
}

/* Seconds for `rounds` round trips; the last byte of a message is its number. */
static double trips(void (*one)(const char *from, size_t bytes), size_t bytes, int rounds)
{
	ptl_event_t event;
	static unsigned char number;
	double start = job_seconds();
	char *from;

	for (int i = 0; i < rounds; i++) {
		number = number == 255 ? 1 : number + 1;
		/* Portals may read a message's memory later, so only the previous message may
		 * still be pending. */
		from = source + (i & 1) * 1024;
		from[bytes - 1] = (char)number;
		if (job.rank == 0)
			one(from, bytes);
		if (halts && one == put)
			PtlEQWait(arrivals, &event);
		await(bytes, number, number);
		if (job.rank == 1)
			one(from, bytes);
	}
	return job_seconds() - start;
}

static void latency(int rounds)
{
	for (size_t bytes = 4; bytes <= 512; bytes *= 2) {
		double own = 0, below = 0;

		for (int turn = 0; turn < 10; turn++) {
			own += trips(send, bytes, rounds / 10);
			below += trips(put, bytes, rounds / 10);
		}
		if (job.rank == 0)
			printf("latency_us_%zu %.4f\nput_us_%zu %.4f\n", bytes, own / rounds / 2 * 1e6,
			       bytes, below / rounds / 2 * 1e6);
	}
}

static void one_way(size_t bytes, int count)
{
	double start = job_seconds();

	if (job.rank == 1)
		return;
	for (int i = 0; i < count; i++)
		send(source, bytes);
	ok(vmmc_fence(proxy), "vmmc_fence");
	printf("MBps_%zu %.1f\n", bytes, (double)bytes * count / (job_seconds() - start) / 1e6);
}

static void both_ways(size_t bytes, int count)
{
	static unsigned char number;
	double start = job_seconds();

	for (int i = 0; i < count; i++) {
		number = number == 255 ? 1 : number + 1;
		source[bytes - 1] = (char)number;
		send(source, bytes);
		/* The other side may be one message ahead. */
		await(bytes, number, number == 255 ? 1 : number + 1);
	}
	ok(vmmc_fence(proxy), "vmmc_fence");
	if (job.rank == 0)
		printf("both_MBps_%zu %.1f\n", bytes,
		       2.0 * (double)bytes * count / (job_seconds() - start) / 1e6);
}

static void bandwidth(long bytes)
{
	for (size_t size = 16; size <= MOST; size *= 4) {
		int count = (int)(bytes / (long)size);

		count = count > 100000 ? 100000 : count < 20 ? 20 : count;
		job_barrier(&job);
		one_way(size, count);
		job_barrier(&job);
		both_ways(size, count > 2000 ? 2000 : count);
	}
}

static void overhead(int rounds)
{
	static volatile int32_t done[8];
	double start, sync, async;

	for (size_t bytes = 4; bytes <= 65536 && job.rank == 0; bytes *= 4) {
		sync = async = 0;
		for (int i = 0; i < rounds; i++) {
			start = job_seconds();
			send(source, bytes);
			sync += job_seconds() - start;
			start = job_seconds();
			ok(vmmc_send(source, proxy, bytes, VMMC_ASYNC, &done[i % 8]), "vmmc_send");
			async += job_seconds() - start;
			ok(vmmc_wait_send(&done[i % 8]), "vmmc_wait_send");
		}
		printf("sync_us_%zu %.4f\nasync_us_%zu %.4f\n", bytes, sync / rounds * 1e6, bytes,
		       async / rounds * 1e6);
	}
}

/* ---- instructions ---- */

static volatile uint64_t handled_at;

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static void on_message(void *argument, int sender, size_t offset, size_t bytes)
{
	(void)argument;
	(void)sender;
	(void)offset;
	(void)bytes;
	handled_at = ticks();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static unsigned long median(uint64_t *samples)
{
	qsort(samples, SAMPLES, sizeof *samples, by_value);
	return samples[SAMPLES / 2];
}

static void count_calls(const char *name, void (*one)(const char *from, size_t bytes))
{
	uint64_t samples[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t t0 = ticks(), t1 = ticks(), t2;

		one(source, 8);
		t2 = ticks();
		samples[i] = t2 - t1 - (t1 - t0);
	}
	printf("%s %lu\n", name, median(samples));
}

static void notify(const char *from, size_t bytes)
{
	ok(vmmc_send(from, proxy, bytes, VMMC_NOTIFY, NULL), "vmmc_send");
}

static void instructions(void)
{
	uint64_t samples[SAMPLES];
	vmmc_export_t exported;

	count_calls("insn_send_8B", send);
	count_calls("insn_put_8B", put);
	ok(vmmc_export("wakes", (void *)area, MOST, NULL, 0, 0, on_message, NULL, &exported),
	   "vmmc_export");
	ok(vmmc_import(peer, "wakes", -1, &proxy, NULL), "vmmc_import");
	count_calls("insn_send_8B_wakes", send);
	count_calls("insn_notify_8B", notify);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t t0 = ticks(), t1 = ticks();

		notify(source, 8);
		samples[i] = handled_at - t1 - (t1 - t0);
	}
	printf("insn_notify_8B_to %lu\n", median(samples));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	vmmc_export_t exported;
	ptl_md_t md = { .length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_SPAN, .eq_handle = PTL_EQ_NONE };

	halts = argc > 3 && !strcmp(argv[3], "halt");
	job_start(&job);
	peer = job.size > 1 ? 1 - job.rank : 0;
	ok(vmmc_init(), "vmmc_init");
	ok(vmmc_export("area", (void *)area, MOST, NULL, 0, halts ? 0 : VMMC_SPIN, NULL, NULL,
	               &exported),
	   "vmmc_export");
	ok(vmmc_import(peer, "area", -1, &proxy, NULL), "vmmc_import");
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &all), "PtlMDBind");
	job_check(PtlEQAlloc(job.ni, 16, PTL_EQ_HANDLER_NONE, &arrivals), "PtlEQAlloc");
	job_expose(&job, PORTAL, 0, job_memory((void *)area, MOST, PTL_MD_OP_PUT |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
	           (halts ? 0 : PTL_MD_EVENT_END_DISABLE), halts ? arrivals : PTL_EQ_NONE), PTL_RETAIN);
	job_barrier(&job);
	if (!strcmp(what, "latency") && count >= 10)
		latency((int)count);
	else if (!strcmp(what, "bandwidth") && count > 0)
		bandwidth(count);
	else if (!strcmp(what, "overhead") && count > 0)
		overhead((int)count);
	else if (!strcmp(what, "instructions"))
		instructions();
	else
		return fprintf(stderr, "usage: vmmc_bench latency ROUNDS | bandwidth BYTES | overhead "
		               "ROUNDS | instructions\n"), 2;
	job_barrier(&job);
	ok(vmmc_fini(), "vmmc_fini");
	job_end(&job);
	return 0;
}
