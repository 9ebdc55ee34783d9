/*
 * vmmc_death WHAT: the test kills rank 1 while the others communicate with it. Each ends with
 * VMMC_EDEAD and prints "failed", or with VMMC_EFAIL and prints "damaged"; none waits forever.
 *
 *   sends     endless messages of 8 bytes to it
 *   long      endless messages of 50,000 bytes to it
 *   async     the same, asynchronous
 *   notify    notifications, which it blocks: the others wait for credit
 *   waits     a wait for data that it does not send
 *   speaks    the same, while it sends other data as fast as it can; the result may be VMMC_EFAIL,
 *             see imports
 *   imports   a wait for an area that it does not export. It answers each request: if it dies while
 *             it writes an answer over shared memory, this process's structures are damaged, and
 *             the result is VMMC_EFAIL. It writes to one process at a time
 *   fences    endless fences
 */
#include "vmmc_test.h"

enum { BYTES = 50000 };

static char area[BYTES];
static volatile uint32_t word;

static void nothing(void *argument, int sender, size_t offset, size_t bytes)
{
	(void)argument;
	(void)sender;
	(void)offset;
	(void)bytes;
}

static int once(const char *what, vmmc_proxy_t proxy)
{
	volatile int32_t done;
	vmmc_proxy_t other;
	int result;

	if (!strcmp(what, "sends"))
		return SendMsg(area, proxy, 8);
	if (!strcmp(what, "long"))
		return SendMsg(area, proxy, BYTES);
	if (!strcmp(what, "async")) {
		result = vmmc_send(area, proxy, BYTES, VMMC_ASYNC, &done);
		return result ? result : vmmc_wait_send(&done);
	}
	if (!strcmp(what, "notify"))
		return vmmc_send(area, proxy, 8, VMMC_NOTIFY, NULL);
	if (!strcmp(what, "waits") || !strcmp(what, "speaks"))
		return vmmc_wait(&word, 0, 1, FOR_EVER);
	if (!strcmp(what, "imports"))
		return vmmc_import(1, "nothing", FOR_EVER, &other, NULL);
	return vmmc_fence(proxy);
}

int main(int argc, char **argv)
{
	vmmc_export_t exported;
	vmmc_proxy_t proxy;
	int result;

	CHECK(argc == 2);
	OK(vmmc_init());
	OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, nothing, NULL, &exported));
	if (margay_rank() == 1) {
		vmmc_block();
		OK(vmmc_import(0, "area", FOR_EVER, &proxy, NULL));
		while (!strcmp(argv[1], "speaks"))
			OK(SendMsg(area, proxy, 8));
		for (;;)
			sleep_ms(1000);
	}
	OK(vmmc_import(1, "area", FOR_EVER, &proxy, NULL));
	printf("running\n");
	fflush(stdout);
	do
		result = once(argv[1], proxy);
	while (result == VMMC_OK);
	if (result != VMMC_EFAIL) {
		FAILS(VMMC_EDEAD, result);
		FAILS(VMMC_EDEAD, SendMsg(area, proxy, 8));
		FAILS(VMMC_EDEAD, vmmc_import(1, "other", FOR_EVER, &proxy, NULL));
	}
	printf(result == VMMC_EFAIL ? "damaged\n" : "failed\n");
	return 0;
}
