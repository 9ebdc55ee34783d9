/*
 * `crash=HOW` on the kernel's command line: the kernel violates its own address space just
 * before the application starts, and must report it.
 */
#include "inject_fault.h"

#include <margay/abi.h>

#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/transport/link_shm.h"

static void read_null(void)
{
	__asm__ volatile("movq 8, %%rax" : : : "rax");
}

static void write_text(void)
{
	*(volatile uint8_t *)margay_kernel_start = 0;
}

static void execute_data(void)
{
	((void (*)(void))(uint64_t)kernel_stack)();
}

static void read_application(void)
{
	*(volatile uint8_t *)APP_BASE;
}

static void execute_application(void)
{
	((void (*)(void))APP_BASE)();
}

static void illegal_instruction(void)
{
	__asm__ volatile("ud2");
}

/* Past the end of the kernel's stack: a double fault. */
static void overflow_stack(void)
{
	__asm__ volatile("1: push $0\n\tjmp 1b");
}

/* The panic's report succeeds, but telling the launcher faults, and so does that panic. */
static void panic_twice(void)
{
	node.region = (const struct region *)8;
	read_null();
}

/* Not a fault: node 1 stops while it holds a lock that node 0 needs; the test then kills it. */
static void hold_lock(void)
{
	if (node.id == 1)
		link_shm_hold(0);
}

__attribute__((noinline)) /* its own frame, so that the report names kernel_main */
void inject_fault(const char *how)
{
	static const struct { const char *how; void (*run)(void); } ways[] = {
		{ "null", read_null }, { "text", write_text }, { "data", execute_data },
		{ "smap", read_application }, { "smep", execute_application },
		{ "illegal", illegal_instruction }, { "stack", overflow_stack },
		{ "twice", panic_twice }, { "hold", hold_lock },
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(how, ways[i].how)) {
			ways[i].run();
			return;
		}
	console_line("crash=%s is not known and ignored", how);
}
