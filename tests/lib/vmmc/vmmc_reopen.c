/*
 * vmmc_reopen COUNT: the library is closed and opened again COUNT times.
 *
 * Each rank imports from the next one and closes while that one may still use its own imports.
 * With lost frames the answers and revocations of before come late: they say nothing about later
 * imports. Besides, each exporter sends a revocation of its importer's import of before, as if it had
 * been lost until then. No proxy address is used again.
 */
#include "../../../lib/vmmc/state.h"
#include "vmmc_test.h"

/* Sends a revocation to the rank before this one. Its request in the last turn had this number. */
static void revoke(uint32_t number)
{
	static const int32_t revoked = VMMC_EREVOKED;
	int before = (margay_rank() + margay_size() - 1) % margay_size();

	EQUAL(vmmc_put(vmmc.quiet, &revoked, sizeof revoked, PTL_NO_ACK_REQ, margay_process(before),
	               PORTAL_ANSWER, BITS_MAILBOX | number, offsetof(struct mailbox, state), 0),
	      PTL_OK);
}

int main(int argc, char **argv)
{
	static uint32_t area[PAGE / sizeof(uint32_t)];
	int next = (margay_rank() + 1) % margay_size();
	uint32_t number, other = 0;     /* of this rank's request, and of the rank's before it */
	vmmc_proxy_t proxy, old = 0;
	vmmc_export_t exported;

	CHECK(argc == 2);
	OK(vmmc_init());
	for (int count = atoi(argv[1]); count > 0; count--, old = proxy) {
		OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
		OK(vmmc_import(next, "area", FOR_EVER, &proxy, NULL));
		number = vmmc.call.number;
		FAILS(VMMC_EPROXY, SendMsg(area, old, 8));
		OK(vmmc_barrier());
		if (old)
			revoke(other);
		OK(vmmc_barrier());
		OK(vmmc_fence(proxy));  /* its ack comes after the revocation */
		for (int i = 0; i < 2 * VMMC_ASK; i++)
			OK(SendMsg(&number, proxy, sizeof number));
		OK(vmmc_fence(proxy));
		OK(vmmc_barrier());
		other = area[0];
		OK(vmmc_fini());
		OK(vmmc_init());
		OK(vmmc_barrier());     /* otherwise the next import may find the old export */
	}
	OK(vmmc_fini());
	if (margay_rank() == 0)
		puts("done");
	return 0;
}
