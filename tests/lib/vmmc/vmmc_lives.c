/*
 * vmmc_lives WHAT: when both ranks are "running" the test kills rank 1, and it is started again
 * (--on-death restart). Rank 0 prints "ok" when what it has to do with the second life works.
 *
 *   importer  rank 1 imports an area and sends notifications. Its second life imports the area as
 *             well, and gets all of its credits
 *   waiter    rank 1 is stopped before it is killed, so that rank 0, which waits for it, learns
 *             that it has died. Rank 0 then imports from the second life
 *   exporter  rank 0 has imported an area of rank 1 and does not learn that it died. The second
 *             life exports another area, which the old proxy address does not reach: sends to it
 *             end with an error, even if they need credits
 */
#include "vmmc_test.h"

#include <unistd.h>

enum { EARLY = 5, SENT = 3 * VMMC_CREDITS, OLD = 0x1111, NEW = 0x2222 };

static uint32_t area;
static volatile uint32_t word, handled, wrong;

static int is_first_life(void)
{
	const char *life = getenv("MARGAY_LIFE");

	return !life || atoi(life) == 1;
}

static void count(void *argument, int sender, size_t offset, size_t bytes)
{
	(void)argument;
	(void)sender;
	(void)offset;
	(void)bytes;
	if (area == OLD)
		wrong = 1;
	handled++;
}

static void export(const char *name, void *start)
{
	vmmc_export_t exported;

	OK(vmmc_export(name, start, sizeof(uint32_t), NULL, 0, 0, count, NULL, &exported));
}

static vmmc_proxy_t import(int from, const char *name)
{
	vmmc_proxy_t proxy;

	OK(vmmc_import(from, name, FOR_EVER, &proxy, NULL));
	return proxy;
}

static int notify(vmmc_proxy_t proxy, uint32_t value)
{
	return vmmc_send(&value, proxy, sizeof value, VMMC_NOTIFY, NULL);
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void be_killed(void)
{
	say("running");
	for (;;)
		sleep_ms(1000);
}

static int are_handled(void *argument)
{
	return handled >= *(uint32_t *)argument;
}

static void await_handled(uint32_t count)
{
	OK(vmmc_wait_until(are_handled, &count, -1, FOR_EVER));
}

static void importer(void)
{
	if (margay_rank() == 1) {
		vmmc_proxy_t proxy = import(0, "area");

		for (int i = 0; is_first_life() && i < EARLY; i++)
			OK(notify(proxy, NEW));
		OK(vmmc_fence(proxy));
		if (is_first_life())
			be_killed();
		for (int i = 0; i < SENT; i++)
			OK(notify(proxy, NEW));
		await(&word, 1, 0);
		return;
	}
	export("area", &area);
	say("running");
	await_handled(EARLY + SENT);
	OK(SendMsg(&(uint32_t){ 1 }, import(1, "word"), sizeof(uint32_t)));
}

static void waiter(void)
{
	if (margay_rank() == 1) {
		if (is_first_life()) {
			import(0, "word");
			be_killed();
		}
		await(&word, 1, 0);
		return;
	}
	import(1, "word");
	say("running");
	while (access("stopped", F_OK) != 0)
		sleep_ms(1);
	FAILS(VMMC_ETIMEDOUT, vmmc_wait(&word, 0, 1, 3 * VMMC_PING_MS));
	say("pings");
	FAILS(VMMC_EDEAD, vmmc_wait(&word, 0, 1, FOR_EVER));
	OK(SendMsg(&(uint32_t){ 1 }, import(1, "word"), sizeof(uint32_t)));
}

static void exporter(void)
{
	vmmc_proxy_t old, new, told;
	int result = VMMC_OK;

	if (margay_rank() == 1) {
		export(is_first_life() ? "old" : "new", &area);
		if (is_first_life()) {
			import(0, "word");
			be_killed();
		}
		told = import(0, "word");
		OK(SendMsg(&(uint32_t){ 2 }, told, sizeof(uint32_t)));
		await_handled(SENT);
		EQUAL(wrong, 0);
		EQUAL(handled, SENT);
		OK(SendMsg(&(uint32_t){ 3 }, told, sizeof(uint32_t)));
		return;
	}
	old = import(1, "old");
	say("running");
	await(&word, 2, -1);
	new = import(1, "new");
	for (int i = 0; i < 2 * VMMC_CREDITS && !result; i++)
		result = notify(old, OLD);
	FAILS(VMMC_EREVOKED, result);
	OK(vmmc_unimport(old));
	for (int i = 0; i < SENT; i++)
		OK(notify(new, NEW));
	await(&word, 3, 1);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	OK(vmmc_init());
	export("word", (void *)&word);
	if (!strcmp(argv[1], "importer"))
		importer();
	else if (!strcmp(argv[1], "waiter"))
		waiter();
	else
		exporter();
	if (margay_rank() == 0)
		say("ok");
	return 0;
}
