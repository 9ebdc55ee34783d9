/*
 * Where an application starts: _start, entered by the kernel in user mode with its struct
 * margay_start in rdi and rsp at the top of the stack. Sets up the floating point units, and lays
 * out arguments, environment and auxiliary vector for musl's __libc_start_main. That sets up the
 * thread, calls the constructors and main, and exits. Owns nothing once main runs.
 */
#include <elf.h>
#include <string.h>
#include "linux.h"
#include "syscall.h"

/* From linker.ld; all but the first are numbers: their addresses are the values. */
extern const char margay_tls_start[];       /* the initial image of thread-local data: .tdata, */
extern const char margay_tls_data_bytes[];  /* its bytes, */
extern const char margay_tls_bytes[];       /* its bytes with .tbss, */
extern const char margay_tls_align[];       /* its alignment */

int main(int argc, char **argv, char **envp);
int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void),
		      void (*)(void), void (*)(void));

/* C++ registers the destructors of the image's objects under this handle. */
__attribute__((visibility("hidden"))) void *__dso_handle;

/* The only program header that musl looks for. */
static Elf64_Phdr headers[1];

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

static size_t count_of(char **list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* The value of a variable, or null. */
static char *variable(char **list, const char *name)
{
	size_t length = strlen(name);

	for (; list && *list; list++)
		if (!strncmp(*list, name, length) && (*list)[length] == '=')
			return *list + length + 1;
	return NULL;
}

/* "NAME=value" for a number, in memory that is never freed. */
static char *number_variable(const char *name, uint32_t value)
{
	char digits[12], *digit = digits + sizeof digits;
	char *text = memory_take(strlen(name) + 1 + sizeof digits, 1);

	*--digit = '\0';
	do
		*--digit = (char)('0' + value % 10);
	while (value /= 10);
	return strcat(strcat(strcpy(text, name), "="), digit);
}

/* Copies the environment of --env, and adds rank and size if missing. Returns its end. */
static char **put_environment(char **to)
{
	static const char *const names[] = { "MARGAY_RANK", "MARGAY_SIZE" };
	const uint32_t values[] = { glue_start.rank, glue_start.size };
	char **given = (char **)glue_start.envp;

	for (size_t i = 0; given && given[i]; i++)
		*to++ = given[i];
	for (size_t i = 0; i < 2; i++)
		if (!variable(given, names[i]))
			*to++ = number_variable(names[i], values[i]);
	*to++ = NULL;
	return to;
}

static void put_auxiliary(size_t *to, const char *program)
{
	uint64_t *random = memory_take(2 * sizeof *random, 16);
	const size_t entries[] = {
		AT_PHDR, (size_t)headers, AT_PHNUM, (size_t)margay_tls_bytes != 0,
		AT_PHENT, sizeof headers[0], AT_PAGESZ, 4096, AT_CLKTCK, 100,
		AT_RANDOM, (size_t)random, AT_EXECFN, (size_t)program, AT_NULL, 0,
	};

	if (linux_getrandom(random, 2 * sizeof *random) < 0)
		random[0] = __builtin_ia32_rdtsc();
	headers[0] = (Elf64_Phdr){
		.p_type = PT_TLS,
		.p_vaddr = (size_t)margay_tls_start,
		.p_filesz = (size_t)margay_tls_data_bytes,
		.p_memsz = (size_t)margay_tls_bytes,
		.p_align = (size_t)margay_tls_align > 1 ? (size_t)margay_tls_align : 1,
	};
	memcpy(to, entries, sizeof entries);
}

#define AUXILIARY_WORDS 16
#define CACHE_FIRST     256u     /* entries that the emulator starts with */

/*
 * The launcher tries an accelerator with a node of this image. Reaching user mode is not enough: a
 * system call, a halt and a timer must work too.
 */
static void end_of_probe(void)
{
	if (variable((char **)glue_start.envp, "MARGAY_PROBE")) {
		glue_call1(SYS_NANOSLEEP, 1000);
		linux_exit(0);
	}
}

/*
 * The emulator's translation cache for user mode doubles when a flush finds it full of pages
 * (kernel/boot/tcg_tlb.c). With a small one, buffers that are equal modulo 1 MiB would evict each
 * other's pages.
 */
static void grow_cache(void)
{
	const volatile char *pages = (const volatile char *)APP_PAGES;

	for (uint64_t count = CACHE_FIRST; count <= glue_start.pages; count *= 2) {
		for (uint64_t i = 0; i < count; i++)
			(void)pages[i * 4096];
		glue_call3(SYS_FLUSH, 0, 0, 0);
	}
}

__attribute__((used, noreturn)) void glue_begin(const struct margay_start *start)
{
	char **arguments, **next;
	size_t count;

	glue_start = *start;
	memory_begin();
	end_of_probe();
	grow_cache();
	count = (size_t)glue_start.argc;
	arguments = memory_take((count + 1 + count_of((char **)glue_start.envp) + 3 +
				 AUXILIARY_WORDS) * sizeof *arguments, 16);
	memcpy(arguments, (char **)glue_start.argv, count * sizeof *arguments);
	arguments[count] = NULL;
	next = put_environment(arguments + count + 1);
	put_auxiliary((size_t *)next, arguments[0]);
	__libc_start_main(main, (int)count, arguments, NULL, NULL, NULL);
	__builtin_unreachable();
}
