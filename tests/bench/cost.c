/*
 * Benchmark of single calls: on one node, to itself on the ordinary path; `put` on two nodes. Ticks
 * are those of rdtsc: guest instructions under icount, else cycles of the host's counter. One line
 * per figure on stdout: NAME VALUE.
 *
 *   cost instructions   insn_put_8B_self, insn_eqget_hit, insn_eqget_miss
 *   cost posted N       insn_put_8B_posted_N: with N exact entries on the portal
 *   cost posting N      insn_memdpost: PtlMEMDPost in front of the last of N + 1 entries, and
 *                       insn_post_three_calls: the same by PtlMEInsert, PtlMDAttach, PtlMDUpdate
 *   cost ignoring N     insn_put_8B_ignoring_N: with N entries that ignore 3 bits, as in MPI
 *                       libraries, which keep protocol bits there
 *   cost mpi N          insn_put_8B_mpi_N: the same, with one in four that names its source
 *                       and its tag, one with any tag, one with any source, one with both
 *   cost full           insn_put_8B_full: START and END on both sides, and an ack
 *   cost put            rank 0 puts to rank 1, as `instructions` does to itself, and rank 1
 *                       polls its queue: for steps.py, which counts insn_put_8B. (Not under
 *                       icount, where locks between two nodes do not work.)
 *   cost syscall        syscall_ns: the cheapest system call
 *   cost vector         sse_add_ns, avx_add_ns: one dependent addition of 2 and 4 doubles;
 *                       copy_int_ps, copy_sse_ps, copy_avx_ps: ps per byte for 64 KiB
 *                       in blocks of 64 bytes, each with all loads before all stores
 */
#include <margay/abi.h>
#include <string.h>

#include "../../apps/job.h"
#include "measure.h"

enum { PORTAL = 1, ROUNDS = 101 };

/* A measured put: its source and target, and the queues of both ends. */
struct measured_put {
	struct job job;
	ptl_process_id_t target;
	ptl_handle_eq_t target_eq, source_eq;
	ptl_handle_md_t md;
	ptl_ack_req_t ack;
};

static char from[8], to[8];

/* Instructions of PtlPut to the entry with these match bits, minus those of the clock. steps.py
 * searches for this function and for the three ticks in it. */
static __attribute__((noinline)) uint64_t one_put(const struct measured_put *put, uint64_t bits)
{
	ptl_process_id_t target = put->target;
	ptl_handle_md_t md = put->md;
	ptl_ack_req_t ack = put->ack;
	uint64_t t0 = ticks(), t1 = ticks(), t2;
	int result = PtlPut(md, ack, target, PORTAL, 0, bits, 0, 0);

	t2 = ticks();
	job_check(result, "PtlPut");
	return t2 - t1 - (t1 - t0);
}

/* Open the initiator's side; the caller makes the target's entries. */
static void open_sender(struct measured_put *put, unsigned int options, ptl_handle_eq_t eq)
{
	job_check(PtlMDBind(put->job.ni, job_memory(from, sizeof(from), options, eq), PTL_RETAIN,
	                    &put->md), "PtlMDBind");
}

/* A put with the fewest events: one END event at the target. */
static void open_plain(struct measured_put *put)
{
	*put = (struct measured_put){ .ack = PTL_NOACK_REQ };
	job_start(&put->job);
	put->target = margay_process(put->job.size - 1);
	job_check(PtlEQAlloc(put->job.ni, 2 * ROUNDS, PTL_EQ_HANDLER_NONE, &put->target_eq), "PtlEQAlloc");
	open_sender(put, 0, PTL_EQ_NONE);
}

static ptl_md_t target_memory(struct measured_put *put, unsigned int options)
{
	return job_memory(to, sizeof(to), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | options,
	                  put->target_eq);
}

static void expose(struct measured_put *put, uint64_t bits, unsigned int options)
{
	job_expose(&put->job, PORTAL, bits, target_memory(put, options), PTL_RETAIN);
}

static void instructions(void)
{
	static uint64_t puts[ROUNDS], hit[ROUNDS], miss[ROUNDS];
	struct measured_put put;
	ptl_event_t event;

	open_plain(&put);
	expose(&put, 1, PTL_MD_EVENT_START_DISABLE);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t0, t1, t2, t3;
		int found, none;

		puts[i] = one_put(&put, 1);
		t0 = ticks();
		t1 = ticks();
		found = PtlEQGet(put.target_eq, &event);
		t2 = ticks();
		none = PtlEQGet(put.target_eq, &event);
		t3 = ticks();
		if (found != PTL_OK || none != PTL_EQ_EMPTY) {
			fprintf(stderr, "cost: a put's event gave %d, the next %d\n", found, none);
			exit(1);
		}
		hit[i] = t2 - t1 - (t1 - t0), miss[i] = t3 - t2 - (t1 - t0);
	}
	printf("insn_put_8B_self %lu\n", (unsigned long)median(puts, ROUNDS));
	printf("insn_eqget_hit %lu\n", (unsigned long)median(hit, ROUNDS));
	printf("insn_eqget_miss %lu\n", (unsigned long)median(miss, ROUNDS));
}

static void put_to_another_node(void)
{
	struct measured_put put;
	ptl_event_t event;
	int taken = 0;

	open_plain(&put);
	if (put.job.size != 2) {
		fprintf(stderr, "cost: put needs 2 ranks\n");
		exit(2);
	}
	expose(&put, 1, PTL_MD_EVENT_START_DISABLE);
	job_barrier(&put.job);
	for (int i = 0; put.job.rank == 0 && i < ROUNDS; i++)
		one_put(&put, 1);
	while (put.job.rank == 1 && taken < ROUNDS)
		taken += PtlEQGet(put.target_eq, &event) == PTL_OK;
	job_end(&put.job);
}

/* Match bits of MPI: context, source, tag, protocol. */
#define ANY_PROTOCOL  0x7ULL
#define ANY_TAG       (0xffffffffULL << 3)
#define ANY_RANK      (0x1fffULL << 35)
#define MPI_BITS(context, rank, tag, protocol) \
	((uint64_t)(context) << 48 | (uint64_t)(rank) << 35 | (uint64_t)(tag) << 3 | (protocol))

/* Kinds of entries on the portal. */
enum posted { EXACT, IGNORING, MPI };

static const char *const posted_names[] = { "posted", "ignoring", "mpi" };

/* The match bits of entry i, and of a message that matches only it: for MPI each entry has its
 * own context. */
static uint64_t posted_bits(enum posted kind, uint64_t i)
{
	switch (kind) {
	case EXACT:
		return i;
	case IGNORING:
		return MPI_BITS(1, 0, i, i % 8);
	default:
		return MPI_BITS(i, 0, i % 100, i % 8);
	}
}

/* Attach entry i at the end of the list. */
static void post(struct measured_put *put, enum posted kind, uint64_t i)
{
	static const uint64_t ignored[] = { ANY_PROTOCOL, ANY_PROTOCOL | ANY_TAG,
	                                    ANY_PROTOCOL | ANY_RANK,
	                                    ANY_PROTOCOL | ANY_TAG | ANY_RANK };
	ptl_process_id_t source = margay_process(put->job.rank);
	uint64_t ignore = kind == EXACT ? 0 : ignored[kind == MPI ? i % 4 : 0];
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	if (kind == EXACT || ignore & ANY_RANK)
		source.nid = PTL_NID_ANY, source.pid = PTL_PID_ANY;
	job_check(PtlMEAttach(put->job.ni, PORTAL, source, posted_bits(kind, i) & ~ignore, ignore,
	                      PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	job_check(PtlMDAttach(me, target_memory(put, PTL_MD_EVENT_START_DISABLE), PTL_RETAIN, &md),
	          "PtlMDAttach");
}

/* Put to entries all over a list of n. Five in six puts cost no more than the figure, so a
 * search whose cost grows with the position would show. */
static void posted(enum posted kind, uint64_t n)
{
	static uint64_t puts[ROUNDS];
	struct measured_put put;
	ptl_event_t event;

	open_plain(&put);
	for (uint64_t i = 0; i < n; i++)
		post(&put, kind, i);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t at = n - 1 - (uint64_t)i * (n - 1) / (ROUNDS - 1);

		puts[i] = one_put(&put, posted_bits(kind, at));
		job_check(PtlEQGet(put.target_eq, &event), "PtlEQGet");
	}
	qsort(puts, ROUNDS, sizeof(*puts), by_value);
	printf("insn_put_8B_%s_%lu %lu\n", posted_names[kind], (unsigned long)n,
	       (unsigned long)puts[ROUNDS * 5 / 6]);
}

/* A receive that is posted as in an MPI library: in front of the overflow entry. */
struct receive {
	ptl_handle_ni_t ni;
	ptl_handle_me_t overflow;
	ptl_handle_eq_t early;               /* the overflow entry's queue */
	ptl_md_t md;
};

static const ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };

/* Both return the instructions of posting with these match bits, minus those of the clock. */
static uint64_t post_at_once(const struct receive *receive, uint64_t bits, ptl_handle_me_t *me)
{
	ptl_handle_md_t md;
	uint64_t t0 = ticks(), t1 = ticks(), t2;
	int result = PtlMEMDPost(receive->ni, receive->overflow, any_process, bits, 0, PTL_UNLINK,
	                         PTL_INS_BEFORE, receive->md, PTL_UNLINK, me, &md,
	                         receive->early);

	t2 = ticks();
	job_check(result, "PtlMEMDPost");
	return t2 - t1 - (t1 - t0);
}

static uint64_t post_step_by_step(const struct receive *receive, uint64_t bits,
                                  ptl_handle_me_t *me)
{
	ptl_md_t inactive = receive->md, active = receive->md;
	ptl_handle_md_t md = PTL_INVALID_HANDLE;
	uint64_t t0, t1, t2;
	int result;

	inactive.threshold = 0;
	t0 = ticks();
	t1 = ticks();
	result = PtlMEInsert(receive->overflow, any_process, bits, 0, PTL_UNLINK, PTL_INS_BEFORE,
	                     me);
	result |= PtlMDAttach(*me, inactive, PTL_UNLINK, &md);
	result |= PtlMDUpdate(md, NULL, &active, receive->early);
	t2 = ticks();
	job_check(result, "PtlMEInsert, PtlMDAttach or PtlMDUpdate");
	return t2 - t1 - (t1 - t0);
}

static void posting(uint64_t n)
{
	static uint64_t at_once[ROUNDS], steps[ROUNDS];
	struct receive receive;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	struct job job;

	job_start(&job);
	receive = (struct receive){ .ni = job.ni, .md = job_memory(to, sizeof(to), PTL_MD_OP_PUT |
	                            PTL_MD_EVENT_START_DISABLE, job.eq) };
	receive.md.threshold = 1;
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &receive.early), "PtlEQAlloc");
	job_check(PtlMEAttach(job.ni, PORTAL, any_process, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER,
	                      &receive.overflow), "PtlMEAttach");
	job_check(PtlMDAttach(receive.overflow, job_memory(from, sizeof(from), PTL_MD_OP_PUT,
	                      receive.early), PTL_RETAIN, &md), "PtlMDAttach");
	for (uint64_t bits = 0; bits < n; bits++)
		post_at_once(&receive, bits, &me);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		at_once[i] = post_at_once(&receive, n + i, &me);
		job_check(PtlMEUnlink(me), "PtlMEUnlink");
		steps[i] = post_step_by_step(&receive, n + i, &me);
		job_check(PtlMEUnlink(me), "PtlMEUnlink");
	}
	printf("insn_memdpost %lu\n", (unsigned long)median(at_once, ROUNDS));
	printf("insn_post_three_calls %lu\n", (unsigned long)median(steps, ROUNDS));
}

/* A put with all events: START and END on both sides, and an ack. */
static void full(void)
{
	enum { EVENTS_EACH = 2, WITH_ACK = 3 };
	static uint64_t puts[ROUNDS];
	struct measured_put put = { .ack = PTL_ACK_REQ };
	ptl_event_t event;

	job_start(&put.job);
	put.target = margay_process(put.job.rank);
	job_check(PtlEQAlloc(put.job.ni, 64, PTL_EQ_HANDLER_NONE, &put.target_eq), "PtlEQAlloc");
	job_check(PtlEQAlloc(put.job.ni, 64, PTL_EQ_HANDLER_NONE, &put.source_eq), "PtlEQAlloc");
	open_sender(&put, 0, put.source_eq);
	expose(&put, 1, 0);
	for (int i = 0; i < ROUNDS; i++) {
		puts[i] = one_put(&put, 1);
		for (int e = 0; e < EVENTS_EACH; e++)
			job_check(PtlEQGet(put.target_eq, &event), "PtlEQGet");
		for (int e = 0; e < WITH_ACK; e++)
			job_check(PtlEQGet(put.source_eq, &event), "PtlEQGet");
	}
	printf("insn_put_8B_full %lu\n", (unsigned long)median(puts, ROUNDS));
}

static void system_call(void)
{
	enum { CALLS = 1000000 };
	double start = seconds();

	for (int i = 0; i < CALLS; i++) {
		long pid;

		__asm__ volatile("syscall" : "=a"(pid) : "a"(SYS_GETPID) : "rcx", "r11", "memory");
	}
	printf("syscall_ns %.2f\n", (seconds() - start) * 1e9 / CALLS);
}

/* Runs an instruction a hundred times in sequence, repeatedly. */
#define ADD_NS(instruction) ({ \
	enum { ROWS = 2000 }; \
	double start_ = seconds() * 1e9; \
	for (int i = 0; i < ROWS; i++) \
		__asm__ volatile(".rept 100\n\t" instruction "\n\t.endr" : : : "xmm0", "xmm1"); \
	(seconds() * 1e9 - start_) / ROWS / 100; })

/* Copies the block at rsi to rdi repeatedly. */
#define COPY_PS(instructions) ({ \
	enum { BYTES = 65536, COPIES = 500 }; \
	static _Alignas(4096) char from_[BYTES], to_[BYTES]; \
	double start_; \
	memset(from_, 1, BYTES); \
	memset(to_, 1, BYTES); \
	start_ = seconds() * 1e9; \
	for (int i = 0; i < COPIES; i++) \
		for (int at = 0; at < BYTES; at += 64) \
			__asm__ volatile(instructions : : "S"(from_ + at), "D"(to_ + at) \
			                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", \
			                   "xmm0", "xmm1", "xmm2", "xmm3", "memory"); \
	(seconds() * 1e9 - start_) * 1e3 / COPIES / BYTES; })

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
	else if (argc > 1 && strcmp(argv[1], "put") == 0)
		put_to_another_node();
	else if (argc > 2 && strcmp(argv[1], "posted") == 0)
		posted(EXACT, strtoul(argv[2], 0, 10));
	else if (argc > 2 && strcmp(argv[1], "ignoring") == 0)
		posted(IGNORING, strtoul(argv[2], 0, 10));
	else if (argc > 2 && strcmp(argv[1], "mpi") == 0)
		posted(MPI, strtoul(argv[2], 0, 10));
	else if (argc > 2 && strcmp(argv[1], "posting") == 0)
		posting(strtoul(argv[2], 0, 10));
	else if (argc > 1 && strcmp(argv[1], "full") == 0)
		full();
	else if (argc > 1 && strcmp(argv[1], "syscall") == 0)
		system_call();
	else if (argc > 1 && strcmp(argv[1], "vector") == 0)
		vector();
	else
		return fprintf(stderr, "cost: instructions | put | posted N | ignoring N | mpi N | "
		               "posting N | full | syscall | vector\n"), 2;
	return 0;
}
