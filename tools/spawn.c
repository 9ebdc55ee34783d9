/*
 * Starts one program that must not outlive the launcher: asks the kernel for SIGKILL when the
 * parent goes away, checks that the parent still existed then, forbids core files, and becomes the
 * program. `spawn PARENT_PID PROGRAM [ARGS]`.
 *
 * The launcher starts every node's QEMU through this with posix_spawn: a C
 * program of a few pages costs half a millisecond, a forked copy of the
 * launcher several. It owns no data; all descriptors pass through it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define OWN_ERROR 125   /* exit status, as of all errors of margay itself */

int main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };

	if (argc < 3) {
		fprintf(stderr, "usage: spawn PARENT_PID PROGRAM [ARGS]\n");
		return OWN_ERROR;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
		fprintf(stderr, "spawn: PR_SET_PDEATHSIG: %s\n", strerror(errno));
		return OWN_ERROR;
	}
	setrlimit(RLIMIT_CORE, &no_core);
	if (getppid() != (pid_t)strtol(argv[1], NULL, 10))
		return OWN_ERROR;            /* the launcher went away before the prctl */
	execv(argv[2], argv + 2);
	fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
	return OWN_ERROR;
}
