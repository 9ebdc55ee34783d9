/*
 * ptl_ahead: rank 1 puts numbers into rank 0's memory. Rank 0 gives its reader's word a number that is
 * ahead of the events counted so far, as a reader has for a moment that takes an event before its
 * writer has counted it. SYS_EQ_WAIT says that there may be an event, or that its time is over; it
 * never fails.
 */
#include <margay.h>
#include <margay/abi.h>
#include "check.h"

enum { PUTS = 20000 };

static volatile uint64_t number, word;

static long wait(uint64_t *handle)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_EQ_WAIT), "D"(handle), "S"(1L),
	                 "d"(1000L) : "rcx", "r11", "memory");
	return result;
}

static long alloc(ptl_handle_ni_t ni, struct margay_eq *eq)
{
	register struct margay_eq *r10 __asm__("r10") = eq;
	register long r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_EQ_ALLOC), "D"(ni), "S"(64L),
	                 "d"(&word), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}

int main(void)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = (void *)&number, .length = sizeof(number),
	                .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE };
	ptl_handle_ni_t ni;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	struct margay_eq eq;

	PtlInit(&(int){ 0 });
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	if (margay_rank() == 0) {
		EQUAL(alloc(ni, &eq), PTL_OK);
		md.eq_handle = eq.handle;
		EQUAL(PtlMEAttach(ni, 1, any_process, 7, 0, PTL_RETAIN, PTL_INS_BEFORE, &me), PTL_OK);
		EQUAL(PtlMDAttach(me, md, PTL_RETAIN, &handle), PTL_OK);
	} else {
		EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &handle), PTL_OK);
	}
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	if (margay_rank() == 0) {
		uint64_t first = word;

		while (number < PUTS) {
			long result;

			word = first + number + 1;
			result = wait(&eq.handle);
			CHECK(result == PTL_OK || result == PTL_EQ_EMPTY);
		}
		puts("done");
	} else {
		for (number = 1; number <= PUTS; number++)
			EQUAL(PtlPut(handle, PTL_NOACK_REQ, margay_process(0), 1, 0, 7, 0, 0), PTL_OK);
	}
	EQUAL(PtlNIBarrier(ni), PTL_OK);
	PtlFini();
	return 0;
}
