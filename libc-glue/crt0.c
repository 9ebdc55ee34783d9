/*
 * Where an application starts: _start, entered by the kernel in user mode with
 * its struct margay_start in rdi and rsp at the top of the stack. Sets up the
 * floating point units, thread-local data, the environment and constructors,
 * then calls main. Owns nothing once main runs.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "heap.h"
#include "syscall.h"

/* From linker.ld; all but the starts and ends are numbers: only their address counts. */
extern const char margay_tls_start[];       /* the image of thread-local data: .tdata, */
extern const char margay_tls_data_bytes[];  /* so many bytes of it, */
extern const char margay_tls_bytes[];       /* so many with .tbss, */
extern const char margay_tls_align[];       /* with this alignment */

typedef void function(int, char **, char **);
extern function *margay_preinit_array_start[], *margay_preinit_array_end[];
extern function *margay_init_array_start[], *margay_init_array_end[];
extern void (*margay_fini_array_start[])(void), (*margay_fini_array_end[])(void);

extern char **environ;
int main(int argc, char **argv, char **envp);

/* Bytes behind the thread pointer: its own address, and what gcc may want. */
#define THREAD_BYTES 64u

__asm__(".section .text._start,\"ax\"\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xorl %ebp, %ebp\n"             /* the end of every backtrace */
	"	fninit\n"
	"	pushq $0x1f80\n"               /* no exception traps, round to nearest */
	"	ldmxcsr (%rsp)\n"
	"	popq %rax\n"
	"	call glue_begin\n"
	"	ud2\n"
	".size _start, . - _start\n"
	".previous\n");

/*
 * Thread-local data ends at the thread pointer, which points to itself. The
 * linker reckons from there with the size rounded up to the alignment.
 */
static void start_thread_data(void)
{
	size_t align = (size_t)margay_tls_align, bytes = (size_t)margay_tls_bytes;
	size_t filled = (size_t)margay_tls_data_bytes;
	char *block, *pointer;

	if (align > 1)
		bytes = (bytes + align - 1) & ~(align - 1);
	block = heap_take(bytes + THREAD_BYTES, align > 16 ? align : 16);
	pointer = block + bytes;
	memcpy(block, margay_tls_start, filled);
	memset(block + filled, 0, bytes + THREAD_BYTES - filled);
	memcpy(pointer, &pointer, sizeof pointer);
	__asm__ volatile("wrfsbase %0" : : "r"(pointer));
}

/* "NAME=value" for a number, in memory that stays. */
static char *number_variable(const char *name, uint32_t value)
{
	char digits[12], *digit = digits + sizeof digits;
	char *text = heap_take(strlen(name) + sizeof digits, 1);

	*--digit = '\0';
	do
		*--digit = (char)('0' + value % 10);
	while (value /= 10);
	return strcat(strcpy(text, name), digit);
}

/* The environment of --env, and rank and size unless it has them. */
static void start_environment(void)
{
	static const char *const names[] = { "MARGAY_RANK=", "MARGAY_SIZE=" };
	const uint32_t values[] = { glue_start.rank, glue_start.size };
	char **given = (char **)glue_start.envp;
	size_t count = 0;

	while (given && given[count])
		count++;
	environ = heap_take((count + 3) * sizeof *environ, 16);
	for (size_t i = 0; i < count; i++)
		environ[i] = given[i];
	for (size_t i = 0; i < 2; i++) {
		size_t there = 0;

		while (there < count && strncmp(environ[there], names[i], strlen(names[i])))
			there++;
		if (there == count)
			environ[count++] = number_variable(names[i], values[i]);
	}
	environ[count] = NULL;
}

static void run_destructors(void)
{
	for (size_t i = (size_t)(margay_fini_array_end - margay_fini_array_start); i-- > 0; )
		margay_fini_array_start[i]();
}

/*
 * The launcher tries an accelerator with a node of this image. Reaching user mode
 * is not enough: the way into the kernel and back, a halt and a timer must work.
 */
static void end_of_probe(void)
{
	if (getenv("MARGAY_PROBE")) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		_exit(0);
	}
}

__attribute__((used, noreturn)) void glue_begin(const struct margay_start *start)
{
	int argc;
	char **argv;

	glue_start = *start;
	argc = (int)glue_start.argc;
	argv = (char **)glue_start.argv;
	heap_begin();
	start_thread_data();
	start_environment();
	end_of_probe();
	atexit(run_destructors);
	for (function **f = margay_preinit_array_start; f < margay_preinit_array_end; f++)
		(*f)(argc, argv, environ);
	for (function **f = margay_init_array_start; f < margay_init_array_end; f++)
		(*f)(argc, argv, environ);
	exit(main(argc, argv, environ));
}
