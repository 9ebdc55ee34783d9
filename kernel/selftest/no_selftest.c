/*
 * Replaces the self-tests in the kernel that applications are linked with: it says which image has
 * them. kernel/build.mk chooses.
 */
#include "selftest.h"

#include "kernel/console/console.h"

bool selftest(const char *name)
{
	console_line("selftest=%s: this image has no self-tests; margay cc --selftests links "
	             "one that has", name);
	return false;
}
