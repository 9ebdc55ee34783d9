/*
 * Notifications: order and arguments of handlers, blocking, credits, sends from handlers.
 */
#include "vmmc_test.h"

enum { SLOT = 64, MANY = 10 * VMMC_CREDITS, MOST_RANKS = 64 };

static int rank, size, next, before;
static uint32_t area[MOST_RANKS * SLOT / 4];
static volatile uint32_t handled, per_rank[MOST_RANKS];
static volatile int wrong;
static vmmc_proxy_t answers[MOST_RANKS];

/* Messages carry 1, 2, 3 ... in the sender's slot; the data arrives before the handler runs. */
static void count(void *argument, int sender, size_t offset, size_t bytes)
{
	if (argument != area || offset != (size_t)sender * SLOT || bytes != sizeof(uint32_t))
		wrong = 1;
	if (area[sender * SLOT / 4] < per_rank[sender] + 1)
		wrong = 2;
	if (vmmc_wait(area, 0, -1, 0) != VMMC_ECONTEXT || vmmc_fence(0) != VMMC_ECONTEXT ||
	    vmmc_unexport(0) != VMMC_ECONTEXT || vmmc_barrier() != VMMC_ECONTEXT)
		wrong = 3;
	per_rank[sender]++;
	handled++;
}

/* Answers each message with one without a notification. */
static void answer(void *argument, int sender, size_t offset, size_t bytes)
{
	uint32_t value = ((uint32_t *)argument)[offset / 4];

	if (bytes != sizeof value || SendMsg(&value, answers[sender], sizeof value) != VMMC_OK)
		wrong = 4;
	handled++;
}

static int all_handled(void *argument)
{
	return handled >= *(uint32_t *)argument;
}

static void await_handled(uint32_t count)
{
	OK(vmmc_wait_until(all_handled, &count, -1, FOR_EVER));
	EQUAL(wrong, 0);
}

static vmmc_export_t open_area(vmmc_handler_t handler)
{
	vmmc_export_t exported;

	handled = 0;
	memset((void *)per_rank, 0, sizeof per_rank);
	memset(area, 0, sizeof area);
	OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, handler, area, &exported));
	OK(vmmc_barrier());
	return exported;
}

static void close_area(vmmc_export_t exported, vmmc_proxy_t proxy)
{
	OK(vmmc_barrier());
	if (proxy)
		OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(exported));
	OK(vmmc_barrier());
}

static void notify(vmmc_proxy_t proxy, uint32_t value)
{
	OK(vmmc_send(&value, proxy + (uint64_t)rank * SLOT, sizeof value, VMMC_NOTIFY, NULL));
}

static vmmc_proxy_t import(int from)
{
	vmmc_proxy_t proxy;

	OK(vmmc_import(from, "area", FOR_EVER, &proxy, NULL));
	return proxy;
}

/* Many more notifications than credits, to a process that computes. */
static void computing(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = import(next);

	for (uint32_t n = 1; n <= MANY; n++)
		notify(proxy, n);
	while (handled < MANY)
		;
	EQUAL(wrong, 0);
	close_area(exported, proxy);
}

/* Plain messages between notifications call no handler. */
static void mixed(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = import(next);

	for (uint32_t n = 1; n <= 30; n++) {
		OK(SendMsg(&n, proxy + (uint64_t)rank * SLOT + 8, sizeof n));
		notify(proxy, n);
		OK(SendMsg(&n, proxy + (uint64_t)rank * SLOT + 4, sizeof n));
	}
	OK(vmmc_fence(proxy));
	await_handled(30);
	OK(vmmc_barrier());
	EQUAL(handled, 30);
	EQUAL(area[before * SLOT / 4 + 1], 30);
	close_area(exported, proxy);
}

/* While notifications are blocked no handler is called; then all are, in order. */
static void blocked(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = import(next);

	EQUAL(vmmc_block(), 0);
	EQUAL(vmmc_block(), 1);
	OK(vmmc_barrier());
	for (uint32_t n = 1; n <= VMMC_CREDITS; n++)
		notify(proxy, n);
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	sleep_ms(20);
	EQUAL(handled, 0);
	EQUAL(vmmc_unblock(), 1);
	EQUAL(vmmc_unblock(), 0);
	await_handled(VMMC_CREDITS);
	for (uint32_t n = VMMC_CREDITS + 1; n <= 3 * VMMC_CREDITS; n++)
		notify(proxy, n);
	await_handled(3 * VMMC_CREDITS);
	close_area(exported, proxy);
}

/* A sender without credit waits until the receiver unblocks; nothing is lost. */
static void credits(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = rank == 0 ? 0 : import(0);

	if (rank == 0) {
		vmmc_block();
		OK(vmmc_barrier());
		sleep_ms(200);
		EQUAL(handled, 0);
		vmmc_unblock();
		await_handled(MANY * (uint32_t)(size - 1));
		for (int from = 1; from < size; from++)
			EQUAL(per_rank[from], MANY);
	} else {
		OK(vmmc_barrier());
		for (uint32_t n = 1; n <= MANY; n++)
			notify(proxy, n);
	}
	close_area(exported, proxy);
}

/* Handlers that send: a ping-pong without the main program of rank `next`. */
static void answered(void)
{
	static uint32_t reply;
	vmmc_export_t replies, exported;
	vmmc_proxy_t proxy;

	reply = 0;
	OK(vmmc_export("reply", &reply, sizeof reply, NULL, 0, 0, NULL, NULL, &replies));
	OK(vmmc_barrier());
	OK(vmmc_import(before, "reply", FOR_EVER, &answers[before], NULL));
	exported = open_area(answer);
	proxy = import(next);
	for (uint32_t n = 1; n <= 50; n++) {
		notify(proxy, n);
		await(&reply, n, next);
	}
	EQUAL(wrong, 0);
	OK(vmmc_barrier());
	OK(vmmc_unimport(answers[before]));
	close_area(exported, proxy);
	OK(vmmc_unexport(replies));
	OK(vmmc_barrier());
}

/* Notifications pending when their export ends are not delivered, nor are later ones. */
static void ended(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = import(next);
	int result = VMMC_OK;

	vmmc_block();
	OK(vmmc_barrier());
	for (uint32_t n = 1; n <= VMMC_CREDITS; n++)
		notify(proxy, n);
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(exported));
	OK(vmmc_barrier());
	vmmc_unblock();
	/* No more credit will come: an error, not a wait. */
	for (int i = 0; i < 4 * VMMC_CREDITS && !result; i++)
		result = vmmc_send(&i, proxy, sizeof i, VMMC_NOTIFY, NULL);
	EQUAL(result, VMMC_EREVOKED);
	EQUAL(handled, 0);
	OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
}

/* Notifications of ended imports, which are not handled yet, hold back their credits: further imports
 * are refused before one gets lost. */
static void again(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy;
	uint32_t sent = 0;
	int result;

	vmmc_block();
	OK(vmmc_barrier());
	while ((result = vmmc_import(next, "area", FOR_EVER, &proxy, NULL)) == VMMC_OK) {
		for (int i = 0; i < VMMC_CREDITS; i++)
			notify(proxy, ++sent);
		OK(vmmc_unimport(proxy));
	}
	EQUAL(result, VMMC_ENOSPACE);
	EQUAL(sent, VMMC_NOTIFICATIONS);
	OK(vmmc_barrier());
	EQUAL(handled, 0);
	vmmc_unblock();
	await_handled(sent);
	OK(vmmc_barrier());
	proxy = import(next);
	for (int i = 0; i < 3 * VMMC_CREDITS; i++)
		notify(proxy, ++sent);
	await_handled(sent);
	close_area(exported, proxy);
}

/* Notifications that are handled when their area has been imported again give the new import no
 * credits. */
static void late(void)
{
	vmmc_export_t exported = open_area(count);
	vmmc_proxy_t proxy = import(next);
	uint32_t sent = 0;

	vmmc_block();
	OK(vmmc_barrier());
	for (int i = 0; i < VMMC_CREDITS; i++)
		notify(proxy, ++sent);
	OK(vmmc_unimport(proxy));
	proxy = import(next);
	OK(vmmc_barrier());
	vmmc_unblock();
	await_handled(sent);
	OK(vmmc_barrier());
	for (int i = 0; i < 3 * VMMC_CREDITS; i++)
		notify(proxy, ++sent);
	await_handled(sent);
	close_area(exported, proxy);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "computing", computing }, { "mixed", mixed }, { "blocked", blocked },
		{ "credits", credits }, { "answered", answered }, { "ended", ended },
		{ "late", late }, { "again", again },
	};

	OK(vmmc_init());
	rank = margay_rank();
	size = margay_size();
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	run_cases(cases, sizeof cases / sizeof cases[0]);
	OK(vmmc_fini());
	return 0;
}
