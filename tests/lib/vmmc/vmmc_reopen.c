/*
 * vmmc_reopen COUNT: the library is closed and opened again COUNT times.
 *
 * Each rank imports from the next one and closes while that one may still use its own imports.
 * With lost frames the answers and revocations of before come late: they say nothing about later
 * imports. No proxy address is used again.
 */
#include "vmmc_test.h"

int main(int argc, char **argv)
{
	static char area[PAGE];
	int next = (margay_rank() + 1) % margay_size();
	vmmc_proxy_t proxy, old = 0;
	vmmc_export_t exported;

	CHECK(argc == 2);
	OK(vmmc_init());
	for (int count = atoi(argv[1]); count > 0; count--, old = proxy) {
		OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
		OK(vmmc_import(next, "area", FOR_EVER, &proxy, NULL));
		FAILS(VMMC_EPROXY, SendMsg(area, old, 8));
		for (int i = 0; i < 2 * VMMC_ASK; i++)
			OK(SendMsg(area, proxy, 8));
		OK(vmmc_fence(proxy));
		OK(vmmc_barrier());
		OK(vmmc_fini());
		OK(vmmc_init());
		OK(vmmc_barrier());     /* otherwise the next import may find the old export */
	}
	OK(vmmc_fini());
	if (margay_rank() == 0)
		puts("done");
	return 0;
}
