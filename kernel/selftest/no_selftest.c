/*
 * In the place of the self-tests, in the kernel that applications are linked with: it
 * says where they are. kernel/build.mk chooses.
 */
#include "selftest.h"

#include "kernel/console/console.h"

bool selftest(const char *name)
{
	kernel_line("selftest=%s: this image holds no self-tests; margay cc --selftests links "
	            "one that does", name);
	return false;
}
