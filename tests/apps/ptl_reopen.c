/*
 * ptl_reopen: the interface is used twice. Its status registers start again at 0; the node's
 * counters (--stats) continue. Prints "ok".
 */
#include "check.h"
#include <margay.h>
#include <margay/counters.h>

static uint64_t counted(enum counter which)
{
	uint64_t counters[COUNTER_COUNT];

	CHECK(margay_counters(counters, COUNTER_COUNT) >= COUNTER_COUNT);
	return counters[which];
}

/* Attach `entries` match entries at once, and send so many puts that match none. */
static void use(unsigned puts, unsigned entries)
{
	static char bytes[8];
	ptl_md_t md = { .start = bytes, .length = sizeof(bytes), .threshold = PTL_MD_THRESH_INF,
			.eq_handle = PTL_EQ_NONE };
	ptl_process_id_t anybody = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_ni_t ni;
	ptl_handle_md_t handle;
	ptl_handle_me_t me;
	ptl_sr_value_t drops;

	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni), PTL_OK);
	EQUAL(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
	EQUAL(drops, 0);
	for (unsigned i = 0; i < entries; i++)
		EQUAL(PtlMEAttach(ni, 5, anybody, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &handle), PTL_OK);
	for (unsigned i = 0; i < puts; i++)
		EQUAL(PtlPut(handle, PTL_NO_ACK_REQ, margay_process(0), 6, 0, 0, 0, 0), PTL_OK);
	EQUAL(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
	EQUAL(drops, puts);
	EQUAL(PtlNIFini(ni), PTL_OK);
}

int main(void)
{
	EQUAL(PtlInit(0), PTL_OK);
	use(5, 7);
	EQUAL(counted(COUNTER_MESSAGES), 5);
	use(2, 3);
	EQUAL(counted(COUNTER_MESSAGES), 7);
	EQUAL(counted(COUNTER_BYTES_OUT), 7 * 8);
	EQUAL(counted(COUNTER_DROPS), 7);
	EQUAL(counted(COUNTER_POOL_ME_HIGH), 7);
	puts("ok");
	return 0;
}
