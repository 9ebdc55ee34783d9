/*
 * One application in both styles: this file is written for Portals 3.3 and has main; p30_half.c is
 * written for 3.0 and sends the messages received here. The halves share the interface, match
 * entries and handles.
 */
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* p30_half.c: opens its half, puts "hello" to the process of the same rank + 1 at
 * portal 3, bits 0x33; ends its half. Results: 0, or the line that failed. */
int p30_half_open(uint64_t entry);
int p30_half_put(void);
int p30_half_close(void);

#define OK(call) do { \
	int rc_ = (call); \
	if (rc_ != 0) { \
		fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, rc_); \
		exit(1); \
	} \
} while (0)

int main(void)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	char in[16] = "";
	ptl_md_t md = { .start = in, .length = sizeof in, .threshold = 1,
	                .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE };
	ptl_handle_ni_t ni;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_event_t event;
	int interfaces;

	OK(PtlInit(&interfaces));
	OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle));
	OK(PtlMEAttach(ni, 3, any_process, 0x33, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
	OK(p30_half_open(me));
	OK(PtlNIBarrier(ni));
	OK(p30_half_put());
	OK(PtlEQWait(md.eq_handle, &event));
	if (event.type != PTL_EVENT_PUT_END || strcmp(in, "hello") != 0)
		return 1;
	OK(PtlEQWait(md.eq_handle, &event));
	if (event.type != PTL_EVENT_UNLINK)
		return 1;
	OK(PtlNIBarrier(ni));
	OK(p30_half_close());
	OK(PtlNIFini(ni));
	PtlFini();
	if (margay_rank() == 0)
		printf("ok both\n");
	return 0;
}
