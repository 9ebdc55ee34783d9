/*
 * <margay.h>: rank and identity of this process. Called by applications.
 */
#include <margay.h>
#include "linux.h"
#include "syscall.h"

int margay_rank(void)
{
	return (int)glue_start.rank;
}

int margay_size(void)
{
	return (int)glue_start.size;
}

ptl_process_id_t margay_process(int rank)
{
	return (ptl_process_id_t){
		.nid = glue_start.nid - glue_start.rank + (uint32_t)rank,
		.pid = glue_start.pid,
	};
}

int margay_counters(uint64_t *values, int count)
{
	return (int)glue_result(glue_call3(SYS_COUNTERS, (long)values, count, 0));
}

void margay_end_job(int status)
{
	for (;;)
		glue_call1(SYS_END_JOB, status);
}

margay_end_handler_t margay_at_end(margay_end_handler_t handler)
{
	margay_end_handler_t before = process_end_handler;

	process_end_handler = handler;
	return before;
}

void margay_file_owner(const uint64_t *owner)
{
	file_owner = owner;
	file_disown_all();
}

int margay_files_of(uint64_t owner)
{
	return file_count(owner);
}

void margay_files_disown(uint64_t owner)
{
	file_disown(owner);
}

void margay_backtrace(void)
{
	glue_call1(SYS_BACKTRACE, 0);
}
