/*
 * Calls that need a second process. A node has one, so they always fail, with ENOSYS, or ECHILD if they
 * wait for a child. A program that can do without them (a pipe to gnuplot, a compressed file) links and
 * runs. The linker warns of each.
 *
 * musl.sh defines __stub_NAME in <features.h> for each ALWAYS_FAILS below, as glibc's <gnu/stubs.h> does
 * for functions that always fail: a configure script that looks for one takes it for missing.
 */
#include "linux.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "syscall.h"

/* What the linker says where the function is used. Weak: a program may have one of this name. */
#define ALWAYS_FAILS(name) \
static const char warning_##name[] __attribute__((used, section(".gnu.warning." #name))) = \
	#name " always fails: a node runs one process"; \
__attribute__((weak))

static int missing(const char *name)
{
	return (int)glue_result(glue_missing(name));
}

static int no_child(void)
{
	return (int)glue_result(-ECHILD);
}

ALWAYS_FAILS(fork)
pid_t fork(void)
{
	return missing("fork");
}

ALWAYS_FAILS(_Fork)
pid_t _Fork(void)
{
	return missing("fork");
}

ALWAYS_FAILS(vfork)
pid_t vfork(void)
{
	return missing("vfork");
}

ALWAYS_FAILS(daemon)
int daemon(int stay, int keep)
{
	(void)stay, (void)keep;
	return missing("daemon");
}

ALWAYS_FAILS(popen)
FILE *popen(const char *command, const char *mode)
{
	(void)command, (void)mode;
	missing("popen");
	return NULL;
}

ALWAYS_FAILS(pclose)
int pclose(FILE *file)
{
	(void)file;
	return no_child();
}

/* ---- starting another program ---- */

ALWAYS_FAILS(execve)
int execve(const char *path, char *const arguments[], char *const environment[])
{
	(void)path, (void)arguments, (void)environment;
	return missing("execve");
}

ALWAYS_FAILS(fexecve)
int fexecve(int file, char *const arguments[], char *const environment[])
{
	(void)file, (void)arguments, (void)environment;
	return missing("fexecve");
}

ALWAYS_FAILS(execv)
int execv(const char *path, char *const arguments[])
{
	(void)path, (void)arguments;
	return missing("execv");
}

ALWAYS_FAILS(execvp)
int execvp(const char *name, char *const arguments[])
{
	(void)name, (void)arguments;
	return missing("execvp");
}

ALWAYS_FAILS(execvpe)
int execvpe(const char *name, char *const arguments[], char *const environment[])
{
	(void)name, (void)arguments, (void)environment;
	return missing("execvpe");
}

ALWAYS_FAILS(execl)
int execl(const char *path, const char *argument, ...)
{
	(void)path, (void)argument;
	return missing("execl");
}

ALWAYS_FAILS(execlp)
int execlp(const char *name, const char *argument, ...)
{
	(void)name, (void)argument;
	return missing("execlp");
}

ALWAYS_FAILS(execle)
int execle(const char *path, const char *argument, ...)
{
	(void)path, (void)argument;
	return missing("execle");
}

/* ---- waiting for a child ---- */

ALWAYS_FAILS(wait)
pid_t wait(int *status)
{
	(void)status;
	return no_child();
}

ALWAYS_FAILS(waitpid)
pid_t waitpid(pid_t child, int *status, int options)
{
	(void)child, (void)status, (void)options;
	return no_child();
}

ALWAYS_FAILS(waitid)
int waitid(idtype_t kind, id_t child, siginfo_t *info, int options)
{
	(void)kind, (void)child, (void)info, (void)options;
	return no_child();
}

ALWAYS_FAILS(wait3)
pid_t wait3(int *status, int options, struct rusage *usage)
{
	(void)status, (void)options, (void)usage;
	return no_child();
}

ALWAYS_FAILS(wait4)
pid_t wait4(pid_t child, int *status, int options, struct rusage *usage)
{
	(void)child, (void)status, (void)options, (void)usage;
	return no_child();
}
