/*
 * ptl_pinned: rank 0 makes and removes descriptors, while the last node's kernel marks them as
 * having pending operations (--selftest pinned), until a call reports a descriptor in use. Then it
 * ends. ptl_pinned unsent: the same with nonexistent sends in its block (--selftest unsent), until
 * PtlNIFini fails. ptl_pinned unrung: rank 0 waits in a barrier, which fails, as the last node's
 * kernel says that it was restarted (--selftest unrung). ptl_pinned retracted: ranks 0 and 1 do so,
 * but only node 0 sees it (--selftest retracted). The other ranks do nothing.
 */
#include "check.h"
#include "job.h"
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 64, PAUSE_US = 1000 };

static struct job job;

static void close_interface(void)
{
	int result;

	while ((result = PtlNIFini(job.ni)) == PTL_OK) {
		usleep(PAUSE_US);
		job_start(&job);
	}
	EQUAL(result, PTL_FAIL);
	puts("fails");
}

static void remove_descriptors(void)
{
	static char memory[BYTES];
	ptl_md_t md;
	ptl_handle_md_t handle;
	int result;

	md = job_memory(memory, BYTES, 0, PTL_EQ_NONE);
	do {
		EQUAL(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), PTL_OK);
		usleep(PAUSE_US);
		result = PtlMDUnlink(handle);
	} while (result == PTL_OK);
	EQUAL(result, PTL_MD_IN_USE);
	puts("in use");
	EQUAL(PtlNIFini(job.ni), PTL_OK);
}

static void fail_to_meet(void)
{
	EQUAL(PtlNIBarrier(job.ni), PTL_FAIL);
	puts("fails");
}

int main(int argc, char **argv)
{
	bool retracted = argc > 1 && strcmp(argv[1], "retracted") == 0;

	if (margay_rank() > (retracted ? 1 : 0))
		return 0;
	job_start(&job);
	if (argc == 1)
		remove_descriptors();
	else if (retracted || strcmp(argv[1], "unrung") == 0)
		fail_to_meet();
	else
		close_interface();
	return 0;
}
