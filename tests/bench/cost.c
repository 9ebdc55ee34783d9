/*
 * Benchmark of single calls on one node, to oneself by the ordinary path.
 * Ticks are those of rdtsc: guest instructions under icount, else cycles of
 * the host's counter. One line per figure on stdout: NAME VALUE.
 *
 *   cost instructions   insn_put_8B, insn_eqget_hit, insn_eqget_miss
 *   cost syscall        syscall_ns: the cheapest system call
 *   cost vector         sse_add_ns, avx_add_ns: one dependent addition of 2 and 4 doubles;
 *                       copy_int_ps, copy_sse_ps, copy_avx_ps: for a byte of 64 KiB in
 *                       blocks of 64, all loads before all stores
 */
#include <margay/abi.h>
#include <string.h>

#include "../../apps/job.h"

enum { PORTAL = 1, ROUNDS = 101 };

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *samples)
{
	qsort(samples, ROUNDS, sizeof(*samples), by_value);
	return samples[ROUNDS / 2];
}

static void instructions(void)
{
	static uint64_t empty[ROUNDS], puts[ROUNDS], hit[ROUNDS], miss[ROUNDS];
	static char from[8], to[8];
	struct job job;
	ptl_process_id_t self;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	ptl_event_t event;
	uint64_t own;

	job_start(&job);
	self = margay_process(job.rank);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PORTAL, 1, job_memory(to, sizeof(to), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
	                                       PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(from, sizeof(from), 0, PTL_EQ_NONE), PTL_RETAIN, &md),
	          "PtlMDBind");
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t0 = ticks(), t1 = ticks(), t2, t3, t4;
		int put, found, none;

		put = PtlPut(md, PTL_NOACK_REQ, self, PORTAL, 0, 1, 0, 0);
		t2 = ticks();
		found = PtlEQGet(eq, &event);
		t3 = ticks();
		none = PtlEQGet(eq, &event);
		t4 = ticks();
		if (put != PTL_OK || found != PTL_OK || none != PTL_EQ_EMPTY) {
			fprintf(stderr, "cost: a put to oneself gave %d, its event %d, the next %d\n",
			        put, found, none);
			exit(1);
		}
		empty[i] = t1 - t0, puts[i] = t2 - t1, hit[i] = t3 - t2, miss[i] = t4 - t3;
	}
	own = median(empty);
	printf("insn_put_8B %lu\n", (unsigned long)(median(puts) - own));
	printf("insn_eqget_hit %lu\n", (unsigned long)(median(hit) - own));
	printf("insn_eqget_miss %lu\n", (unsigned long)(median(miss) - own));
}

static void system_call(void)
{
	enum { CALLS = 1000000 };
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < CALLS; i++) {
		long pid;

		__asm__ volatile("syscall" : "=a"(pid) : "a"(SYS_GETPID) : "rcx", "r11", "memory");
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("syscall_ns %.2f\n", ((end.tv_sec - start.tv_sec) * 1e9 +
	                             (end.tv_nsec - start.tv_nsec)) / CALLS);
}

static double nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* A hundred of an instruction in a row, many times. */
#define ADD_NS(instruction) ({ \
	enum { ROWS = 2000 }; \
	double start_ = nanoseconds(); \
	for (int i = 0; i < ROWS; i++) \
		__asm__ volatile(".rept 100\n\t" instruction "\n\t.endr" : : : "xmm0", "xmm1"); \
	(nanoseconds() - start_) / ROWS / 100; })

/* Copies the block at rsi to rdi, over and over. */
#define COPY_PS(instructions) ({ \
	enum { BYTES = 65536, COPIES = 500 }; \
	static _Alignas(4096) char from_[BYTES], to_[BYTES]; \
	double start_; \
	memset(from_, 1, BYTES); \
	memset(to_, 1, BYTES); \
	start_ = nanoseconds(); \
	for (int i = 0; i < COPIES; i++) \
		for (int at = 0; at < BYTES; at += 64) \
			__asm__ volatile(instructions : : "S"(from_ + at), "D"(to_ + at) \
			                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", \
			                   "xmm0", "xmm1", "xmm2", "xmm3", "memory"); \
	(nanoseconds() - start_) * 1e3 / COPIES / BYTES; })

static void vector(void)
{
	__asm__ volatile("vxorpd %%ymm0, %%ymm0, %%ymm0\n\tvxorpd %%ymm1, %%ymm1, %%ymm1"
	                 : : : "xmm0", "xmm1");
	printf("sse_add_ns %.2f\n", ADD_NS("addpd %%xmm1, %%xmm0"));
	printf("avx_add_ns %.2f\n", ADD_NS("vaddpd %%ymm1, %%ymm0, %%ymm0"));
	printf("copy_int_ps %.1f\n", COPY_PS(
		"mov (%%rsi), %%rax\n\tmov 8(%%rsi), %%rbx\n\tmov 16(%%rsi), %%rcx\n\t"
		"mov 24(%%rsi), %%rdx\n\tmov 32(%%rsi), %%r8\n\tmov 40(%%rsi), %%r9\n\t"
		"mov 48(%%rsi), %%r10\n\tmov 56(%%rsi), %%r11\n\t"
		"mov %%rax, (%%rdi)\n\tmov %%rbx, 8(%%rdi)\n\tmov %%rcx, 16(%%rdi)\n\t"
		"mov %%rdx, 24(%%rdi)\n\tmov %%r8, 32(%%rdi)\n\tmov %%r9, 40(%%rdi)\n\t"
		"mov %%r10, 48(%%rdi)\n\tmov %%r11, 56(%%rdi)"));
	printf("copy_sse_ps %.1f\n", COPY_PS(
		"movups (%%rsi), %%xmm0\n\tmovups 16(%%rsi), %%xmm1\n\t"
		"movups 32(%%rsi), %%xmm2\n\tmovups 48(%%rsi), %%xmm3\n\t"
		"movups %%xmm0, (%%rdi)\n\tmovups %%xmm1, 16(%%rdi)\n\t"
		"movups %%xmm2, 32(%%rdi)\n\tmovups %%xmm3, 48(%%rdi)"));
	printf("copy_avx_ps %.1f\n", COPY_PS(
		"vmovups (%%rsi), %%ymm0\n\tvmovups 32(%%rsi), %%ymm1\n\t"
		"vmovups %%ymm0, (%%rdi)\n\tvmovups %%ymm1, 32(%%rdi)"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "instructions") == 0)
		instructions();
	else if (argc > 1 && strcmp(argv[1], "syscall") == 0)
		system_call();
	else if (argc > 1 && strcmp(argv[1], "vector") == 0)
		vector();
	else
		return fprintf(stderr, "cost: instructions | syscall | vector\n"), 2;
	return 0;
}
