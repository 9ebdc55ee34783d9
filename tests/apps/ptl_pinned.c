/*
 * ptl_pinned: rank 0 makes descriptors and removes them again, while the last node's kernel
 * writes into them that operations are pending (--selftest pinned), until a descriptor is
 * said to be in use. Then it ends. The other ranks do nothing.
 */
#include "check.h"
#include "job.h"
#include <unistd.h>

enum { BYTES = 64, PAUSE_US = 1000 };

int main(void)
{
	static char memory[BYTES];
	ptl_md_t md;
	ptl_handle_md_t handle;
	struct job job;
	int result;

	if (margay_rank())
		return 0;
	job_start(&job);
	md = job_memory(memory, BYTES, 0, PTL_EQ_NONE);
	do {
		EQUAL(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), PTL_OK);
		usleep(PAUSE_US);
		result = PtlMDUnlink(handle);
	} while (result == PTL_OK);
	EQUAL(result, PTL_MD_IN_USE);
	puts("in use");
	EQUAL(PtlNIFini(job.ni), PTL_OK);
	return 0;
}
