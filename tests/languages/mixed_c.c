/* The part in C: called by Fortran, sends messages between the ranks. */
#include <ISO_Fortran_binding.h>
#include <margay.h>
#include <portals3.h>

enum { PORTAL = 5, BITS = 3 };

int c_sum(int n, const int *values);
void c_each(void (*function)(int), int n);
void c_doubled(CFI_cdesc_t *array);
int c_ring(long mine, long *theirs);

int c_sum(int n, const int *values)
{
	int sum = 0;

	while (n-- > 0)
		sum += *values++;
	return sum;
}

void c_each(void (*function)(int), int n)
{
	while (n > 0)
		function(n--);
}

/* A section of a Fortran array, with its strides. */
void c_doubled(CFI_cdesc_t *array)
{
	for (CFI_index_t column = 0; column < array->dim[1].extent; column++)
		for (CFI_index_t row = 0; row < array->dim[0].extent; row++) {
			CFI_index_t at[] = { row, column };

			*(double *)CFI_address(array, at) *= 2;
		}
}

/* Each rank puts its number to the next one. */
int c_ring(long mine, long *theirs)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_md_t md = { .start = theirs, .length = sizeof(*theirs), .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
				   PTL_MD_EVENT_START_DISABLE };
	ptl_handle_ni_t ni;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_handle_eq_t queue;
	ptl_event_t event;
	int interfaces, status = PtlInit(&interfaces);

	status += PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni);
	status += PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &queue);
	status += PtlMEAttach(ni, PORTAL, any_process, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	md.eq_handle = queue;
	status += PtlMDAttach(me, md, PTL_RETAIN, &handle);
	status += PtlNIBarrier(ni);
	md = (ptl_md_t){ .start = &mine, .length = sizeof(mine), .threshold = PTL_MD_THRESH_INF,
			 .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = PTL_EQ_NONE };
	status += PtlMDBind(ni, md, PTL_RETAIN, &handle);
	status += PtlPut(handle, PTL_NOACK_REQ, margay_process((margay_rank() + 1) % margay_size()),
			 PORTAL, 0, BITS, 0, 0);
	do
		status += PtlEQWait(queue, &event);
	while (event.type != PTL_EVENT_PUT_END);
	status += PtlNIBarrier(ni);
	return status + PtlNIFini(ni);
}
