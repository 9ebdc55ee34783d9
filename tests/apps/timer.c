/*
 * A timer's signal interrupts a program that computes, does not change its state, and does not
 * interrupt the C library. One line per case.
 *
 *   timer            all cases
 *   timer NAME       one case
 *   timer kills      a loop that the signal's default action ends
 *   timer replaced   timers that are replaced as they expire; with --icount, at each instruction
 */
#include "ptl.h"
#include "upcall_regs.h"
#include <cpuid.h>
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TIMES 200u

static volatile uint64_t caught;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spoil(int number)
{
	uint64_t flags, stack = (uint64_t)__builtin_frame_address(0);
	uint32_t mxcsr;
	uint16_t control;

	EQUAL(number, SIGALRM);
	__asm__ volatile("pushfq; popq %0" : "=r"(flags));
	__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr), "=m"(control));
	EQUAL(flags & 0x400, 0);
	EQUAL(mxcsr & ~0x3fu, 0x1f80);
	EQUAL(control, 0x37f);
	EQUAL(stack % 16, 0);
	errno = 99;
	__asm__ volatile("fldz; fstp %%st(0)\n\t" EACH("pcmpeqd %%xmm\\i, %%xmm\\i")
	                 : : : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
	                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	caught++;
}

static void every(long us)
{
	struct itimerval timer = { .it_interval = { 0, us }, .it_value = { 0, us } };

	caught = 0;
	EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void computing(void)
{
	every(300);
	while (caught < TIMES)
		;
	every(0);
}

static void once(void)
{
	struct itimerval timer = { .it_value = { 0, 500 } };

	caught = 0;
	EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
	while (!caught)
		;
	EQUAL(getitimer(ITIMER_REAL, &timer), 0);
	EQUAL(timer.it_value.tv_sec + timer.it_value.tv_usec, 0);
	EQUAL(caught, 1);
}

static void registers_kept(int avx)
{
	static struct registers in, out;

	fill_registers(&in);
	errno = 5;
	every(300);
	(avx ? registers_avx : registers_sse)(&caught, TIMES, &in, &out);
	every(0);
	EQUAL(errno, 5);
	for (int i = 0; i < 16; i++)
		if (i < 4 || i == 6 || i > 7) /* all but rsi, rdi, rsp */
			EQUAL(out.general[i], in.general[i]);
	EQUAL(out.flags & 0x400, 0x400);
	EQUAL(memcmp(out.x87, in.x87, sizeof in.x87), 0);
	EQUAL(out.mxcsr, in.mxcsr);
	EQUAL(out.control, in.control);
	for (int i = 0; i < 16; i++)
		EQUAL(memcmp(out.vectors[i], in.vectors[i], avx ? 32 : 16), 0);
}

static void registers(void)
{
	unsigned a, b, c = 0, d;

	registers_kept(0);
	__get_cpuid(1, &a, &b, &c, &d);
	if ((c & bit_OSXSAVE) && (c & bit_AVX))
		registers_kept(1);
}

static void red_zone(void)
{
	every(300);
	EQUAL(red_zone_holds(&caught, TIMES), 0);
	every(0);
}

/* Program and handler both use malloc and stdio. */
static void use_library(void)
{
	static char *blocks[64];
	static unsigned next;
	char text[64], wanted[64];
	unsigned i = next++ % 64;

	free(blocks[i]);
	blocks[i] = malloc(next * 37 % 3000 + 1);
	CHECK(blocks[i]);
	memset(blocks[i], (int)i, next * 37 % 3000 + 1);
	snprintf(text, sizeof text, "%u %.3f", i, i / 8.0);
	strcpy(wanted, text);
	CHECK(strtod(strchr(wanted, ' '), NULL) == (double)(long)(i * 125 + 0.5) / 1000 || i % 8);
}

static void in_handler(int number)
{
	(void)number;
	use_library();
	caught++;
}

static void library(void)
{
	signal(SIGALRM, in_handler);
	every(150);
	while (caught < TIMES)
		use_library();
	every(0);
	signal(SIGALRM, spoil);
}

/* The signal that waits is asked for: on a busy machine a tick can be later than any delay. */
static void masked(void)
{
	sigset_t set, waiting;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	every(200);
	do
		EQUAL(sigpending(&waiting), 0);
	while (!sigismember(&waiting, SIGALRM));
	EQUAL(caught, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(caught > 0);
	every(0);
}

static void waits(void)
{
	every(500);
	EQUAL(nanosleep(&(struct timespec){ 100, 0 }, NULL), -1);
	EQUAL(errno, EINTR);
	every(0);
}

/* The signal comes just before or just after sigtimedwait begins: it ends it at once. */
static void awaited(void)
{
	struct itimerval timer = { .it_value = { 0, 60 } };
	struct timespec most = { 2, 0 };
	long delay = 1000, early = 0;
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t before = now_ns();

		EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
		for (long left = delay + i * 37 % 200; left > 0; left--)
			__asm__ volatile("");
		EQUAL(sigpending(&now), 0);
		early += sigismember(&now, SIGALRM);
		delay += sigismember(&now, SIGALRM) ? -delay / 200 - 1 : delay / 200 + 1;
		EQUAL(sigtimedwait(&set, NULL, &most), SIGALRM);
		CHECK(now_ns() - before < 1900000000);
	}
	CHECK(early > 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static sem_t semaphore;
static sigjmp_buf place;

static void ignore(int number)
{
	(void)number;
	caught++;
}

static void post(int number)
{
	ignore(number);
	EQUAL(sem_post(&semaphore), 0);
}

static void jump(int number)
{
	siglongjmp(place, number);
}

static void handle(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	EQUAL(sigaction(SIGALRM, &action, NULL), 0);
}

static void take_semaphore(void)
{
	while (sem_wait(&semaphore))
		EQUAL(errno, EINTR);
}

/* A handler without SA_RESTART ends sem_wait, one with SA_RESTART does not. */
static void semaphores(void)
{
	EQUAL(sem_init(&semaphore, 0, 0), 0);
	handle(ignore, 0);
	every(2000);
	EQUAL(sem_wait(&semaphore), -1);
	EQUAL(errno, EINTR);
	EQUAL(sem_timedwait(&semaphore, &(struct timespec){ 1L << 33, 0 }), -1);
	EQUAL(errno, EINTR);
	handle(post, SA_RESTART);
	EQUAL(sem_wait(&semaphore), 0);
	every(0);
	signal(SIGALRM, spoil);
}

/* A timer that comes once expires just before or just after sem_wait begins. Its handler ends the
 * wait. */
static void posted(void)
{
	struct itimerval timer = { .it_value = { 0, 30 } };
	long delay = 1000, early = 0;

	EQUAL(sem_init(&semaphore, 0, 0), 0);
	handle(post, 0);
	for (unsigned i = 0; i < 6000; i++) {
		int value;

		EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
		for (long left = delay + i * 37 % 200; left > 0; left--)
			__asm__ volatile("");
		EQUAL(sem_getvalue(&semaphore, &value), 0);
		early += value;
		delay += value ? -delay / 200 - 1 : delay / 200 + 1;
		take_semaphore();
	}
	CHECK(early > 0);
	signal(SIGALRM, spoil);
}

/* Fills the stack below with bad pointers. */
static __attribute__((noinline)) void overwrite(void)
{
	volatile uint64_t frame[512];

	for (unsigned i = 0; i < sizeof frame / sizeof frame[0]; i++)
		frame[i] = 0x4d4d4d4d4d4d4d4d;
}

/* A handler leaves the wait that it interrupted. Signals that are blocked later do not look at the
 * wait's frame: other frames have its place now. */
static void jumped(void)
{
	uint64_t start;
	sigset_t set;

	EQUAL(sem_init(&semaphore, 0, 0), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	handle(jump, 0);
	if (!sigsetjmp(place, 1)) {
		every(2000);            /* not before there is a place to jump to */
		for (;;)
			take_semaphore();
	}
	every(0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	every(200);
	overwrite();
	for (start = now_ns(); now_ns() - start < 20000000;)
		;
	signal(SIGALRM, SIG_IGN);               /* discards the pending one */
	every(0);
	signal(SIGALRM, spoil);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The time of the next signal. */
static uint64_t next_at(void)
{
	struct itimerval timer;
	uint64_t before, after;

	do {
		before = now_ns();
		EQUAL(getitimer(ITIMER_REAL, &timer), 0);
		after = now_ns();
	} while (after - before > 100000 || timer.it_value.tv_usec < 100);
	return before + (uint64_t)timer.it_value.tv_usec * 1000;
}

/* Delays of the signals do not add up. */
static void periods(void)
{
	static const struct itimerval wrong[] = {
		{ { 0, 1000000 }, { 1, 0 } }, { { -1, 0 }, { 1, 0 } }, { { 0, -1 }, { 1, 0 } },
	};
	struct itimerval timer = { .it_value = { 1L << 40, 0 } };
	uint64_t first, off;

	every(5000);
	first = next_at();
	while (caught < TIMES / 4)
		;
	off = (next_at() - first) % 5000000;
	CHECK(off < 500000 || off > 4500000);
	every(0);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		EQUAL(setitimer(ITIMER_REAL, &wrong[i], NULL), -1);
		EQUAL(errno, EINVAL);
	}
	EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
	EQUAL(getitimer(ITIMER_REAL, &timer), 0);
	CHECK(timer.it_value.tv_sec > 1L << 33);
	every(0);
}

/* A pending signal that becomes ignored is discarded. */
static void discarded(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	caught = 0;
	raise(SIGALRM);
	signal(SIGALRM, SIG_IGN);
	signal(SIGALRM, spoil);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	EQUAL(caught, 0);
}

/* A handler of an event queue sends the signal: it is delivered when that handler has ended. */
static volatile int in_event;

static void send_signal(ptl_event_t *event)
{
	if (event->type != PTL_EVENT_PUT_END)
		return;
	in_event = 1;
	kill(getpid(), SIGUSR1);
	in_event = 0;
}

static void usr1(int number)
{
	EQUAL(number, SIGUSR1);
	EQUAL(in_event, 0);
	caught++;
}

static void of_events(struct roles *r)
{
	ptl_handle_eq_t eq, polled;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t event;
	int which;

	signal(SIGUSR1, usr1);
	EQUAL(PtlEQAlloc(r->job.ni, 64, send_signal, &eq), PTL_OK);
	EQUAL(PtlEQAlloc(r->job.ni, 64, PTL_EQ_HANDLER_NONE, &polled), PTL_OK);
	me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
	                            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_OK);
	caught = 0;
	sync_ranks(r);
	if (r->initiator)
		for (int i = 0; i < 20; i++)
			EQUAL(PtlPut(md, PTL_NOACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
	if (r->target)
		while (!caught)
			;
	sync_ranks(r);
	every(500);                    /* also during a wait for events */
	signal(SIGALRM, spoil);
	caught = 0;
	EQUAL(PtlEQPoll(&polled, 1, 50, &event, &which), PTL_EQ_EMPTY);
	CHECK(caught > 0);
	every(0);
	EQUAL(PtlMDUnlink(md), PTL_OK);
	EQUAL(PtlMEUnlink(me), PTL_OK);
	EQUAL(PtlEQFree(eq), PTL_OK);
	sync_ranks(r);
}

static void spin(long turns)
{
	__asm__ volatile("1: decq %0\n\tjnz 1b" : "+r"(turns));
}

/* The new timer comes neither early nor never. */
static void replaced(void)
{
	const struct itimerval soon = { .it_value = { 0, 20 } }, late = { .it_value = { 1000, 0 } };
	struct itimerval left;

	for (long turns = 9500; turns < 10100; turns++) {
		EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
		spin(turns);
		EQUAL(setitimer(ITIMER_REAL, &late, NULL), 0);
		EQUAL(getitimer(ITIMER_REAL, &left), 0);
		CHECK(left.it_value.tv_sec > 900);
	}
	CHECK(caught > 0);
	once();
}

int main(int argc, char **argv)
{
	static struct roles r;
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "computing", computing }, { "once", once }, { "registers", registers },
		{ "red zone", red_zone }, { "library", library }, { "masked", masked },
		{ "waits", waits }, { "awaited", awaited }, { "semaphores", semaphores },
		{ "posted", posted }, { "jumped", jumped }, { "periods", periods },
		{ "discarded", discarded },
	};

	open_roles(&r);
	if (argc > 1 && !strcmp(argv[1], "kills")) {
		alarm(1);
		for (;;)
			__asm__ volatile("");
	}
	signal(SIGALRM, spoil);
	if (argc > 1 && !strcmp(argv[1], "replaced")) {
		replaced();
		job_end(&r.job);
		return 0;
	}
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
			continue;
		cases[i].run();
		if (r.job.rank == 0)
			printf("ok %s\n", cases[i].name);
	}
	of_events(&r);
	if (r.job.rank == 0)
		printf("ok of events\n");
	job_end(&r.job);
	return 0;
}
