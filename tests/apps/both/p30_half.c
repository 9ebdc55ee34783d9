/*
 * The half of the application in the style of Portals 3.0: see ptl33_half.c.
 */
#include <p30.h>

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static ptl_process_id_t self;
static ptl_id_t size;

#define OK(call) do { if ((call) != PTL_OK) return __LINE__; } while (0)

/* Inserts its own entry in front of the other half's, and removes it. */
int p30_half_open(uint64_t entry)
{
	ptl_process_id_t any_process = { .addr_kind = PTL_ADDR_GID, .gid = PTL_ID_ANY,
	                            .rid = PTL_ID_ANY };
	ptl_handle_ni_t same;
	ptl_handle_me_t me;

	OK(PtlInit());
	OK(PtlNIInit(PTL_IFACE_DEFAULT, 16, 4, &ni));
	OK(PtlNIHandle(entry, &same));
	if (same != ni)
		return __LINE__;
	OK(PtlGetId(ni, &self, &size));
	OK(PtlEQAlloc(ni, 4, &eq));
	OK(PtlMEInsert(entry, any_process, 0x33, 0, PTL_RETAIN, PTL_INS_BEFORE, &me));
	OK(PtlMEUnlink(me));
	return 0;
}

int p30_half_put(void)
{
	static char text[] = "hello";
	ptl_process_id_t to = { .addr_kind = PTL_ADDR_GID };
	ptl_event_t event;
	ptl_handle_md_t handle;
	ptl_md_t md = { .start = text, .length = sizeof text, .threshold = PTL_MD_THRESH_INF,
	                .eventq = eq };

	to.gid = self.gid;
	to.rid = (self.rid + 1) % size;
	OK(PtlMDBind(ni, md, &handle));
	OK(PtlPut(handle, PTL_ACK_REQ, to, 3, 0, 0x33, 0, 0));
	OK(PtlEQWait(eq, &event));
	if (event.type != PTL_EVENT_SENT)
		return __LINE__;
	OK(PtlEQWait(eq, &event));
	if (event.type != PTL_EVENT_ACK || event.mlength != sizeof text || event.initiator.rid != to.rid)
		return __LINE__;
	OK(PtlMDUnlink(handle));
	return 0;
}

int p30_half_close(void)
{
	OK(PtlEQFree(eq));
	OK(PtlNIFini(ni));
	return 0;
}
