/*
 * fault CASE [RANK]: rank RANK (default 0) does what CASE says and must be stopped for it; the
 * other ranks sleep until the job ends. "alive" is printed before; "survived", printed after, must
 * never appear.
 *
 * Each case is a separate function that is not inlined, so that the test finds its name and its
 * caller's in the backtrace. Most are leaf functions, to which the compiler gives no stack frame.
 */
#include <assert.h>
#include <margay.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE static __attribute__((noinline)) void

static volatile int zero;
static volatile char sink;
static const char constant[] = "read only";

static void jump(void *where)
{
	((void (*)(void))(uintptr_t)where)();
	sink = 3;              /* no tail call: the caller stays in the backtrace */
}

CASE fault_null(void)        { *(volatile int *)(uintptr_t)zero = 1; }
CASE fault_read_null(void)   { sink = *(volatile char *)(uintptr_t)(zero + 8); }
CASE fault_text(void)        { *(volatile char *)(uintptr_t)fault_null = 0; }
CASE fault_rodata(void)      { *(volatile char *)(uintptr_t)constant = 0; }
CASE fault_kernel_jump(void) { jump((void *)0x100000UL); }
CASE fault_kernel(void)      { sink = *(volatile char *)0x100000UL; }
CASE fault_kernel_write(void) { *(volatile char *)0x100000UL = 0; }
CASE fault_direct_map(void)  { sink = *(volatile char *)0xffff800000100000UL; }
CASE fault_peer_alias(void)  { sink = *(volatile char *)0xffffc00000080000UL; }
CASE fault_events(void)      { *(volatile char *)0x30000000UL = 0; }
CASE fault_noncanonical(void) { sink = *(volatile char *)0x8000000000000000UL; }
CASE fault_beyond(void)      { sink = *(volatile char *)(0x40000000UL + (1UL << 46)); }
CASE fault_divide(void)      { zero = 7 / zero; }
CASE fault_illegal(void)     { __asm__ volatile("ud2"); }
CASE fault_avx512(void)      { __asm__ volatile(".byte 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0"); }
CASE fault_privileged(void)  { __asm__ volatile("hlt"); }
CASE fault_port(void)        { __asm__ volatile("outb %%al, $0x80" : : "a"(0)); }
CASE fault_cli(void)         { __asm__ volatile("cli"); }
CASE fault_msr(void)         { __asm__ volatile("wrmsr" : : "a"(0), "c"(0xc0000080), "d"(0)); }
CASE fault_breakpoint(void)  { __asm__ volatile("int3"); }
CASE fault_interrupt(void)   { __asm__ volatile("int $0x20"); }
CASE fault_linux_call(void)  { __asm__ volatile("int $0x80" : : "a"(1)); }
CASE fault_selector(void)    { __asm__ volatile("mov %0, %%ds" : : "r"(8)); }
CASE fault_abort(void)       { abort(); }
CASE fault_raise(void)       { raise(SIGTERM); sink = 4; }
CASE fault_assert(void)      { assert(zero); }

/* A return instruction in memory that is not text. */
CASE fault_exec_stack(void)
{
	volatile char code[16] = { (char)0xc3 };

	jump((void *)code);
}

CASE fault_exec_heap(void)
{
	char *code = malloc(16);

	*code = (char)0xc3;
	jump(code);
}

/* Recursion that the compiler cannot turn into a loop. */
CASE fault_stack(void)
{
	volatile char block[4096];

	block[zero] = 1;
	if (!zero)
		fault_stack();
	sink = block[1];
}

/* One frame that is larger than the stack: it must not step over the guard page. */
CASE fault_frame(void)
{
	volatile char block[10 << 20];

	block[zero] = 1;
	sink = block[zero];
}

/* rbp and rsp are invalid: there must be a report nevertheless. */
CASE fault_bad_frame(void)
{
	__asm__ volatile("mov $0x1234567, %rbp\n\tmov $0x40, %rsp\n\tpush %rax");
}

CASE fault_smashed(void)
{
	char *volatile small = (char *)__builtin_frame_address(0);

	memset(small, 0x41, 64);        /* the saved rbp and the return address */
}

/* A pointer that the application may not use, in a system call. */
CASE fault_syscall(void)
{
	sink = write(1, (void *)0x100000UL, 16);
}

/* A fault two calls deep. */
CASE deep_two(volatile int *p) { *p = 5; }
CASE deep_one(volatile int *p) { deep_two(p); sink = 1; }
CASE fault_deep(void)          { deep_one((volatile int *)(uintptr_t)zero); sink = 2; }

static const struct { const char *name; void (*run)(void); } cases[] = {
#define C(name) { #name, fault_##name }
	C(null), C(read_null), C(text), C(rodata), C(exec_stack), C(exec_heap), C(kernel),
	C(kernel_write), C(kernel_jump), C(direct_map), C(peer_alias), C(events), C(noncanonical),
	C(beyond), C(divide), C(illegal), C(avx512), C(privileged), C(port), C(cli), C(msr), C(breakpoint),
	C(interrupt), C(linux_call), C(selector), C(abort), C(raise), C(assert), C(stack), C(frame),
	C(bad_frame), C(smashed),
	C(syscall), C(deep),
#undef C
};

int main(int argc, char **argv)
{
	if (margay_rank() != (argc > 2 ? atoi(argv[2]) : 0))
		for (;;)
			sleep(1);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			puts("alive");
			fflush(stdout);
			cases[i].run();
			puts("survived");
			return 0;
		}
	fprintf(stderr, "fault: no such case\n");
	return 2;
}
