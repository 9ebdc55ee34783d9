/*
 * vmmc_flood WHAT COUNT: all ranks but 0 send COUNT messages to rank 0, which sleeps for a second
 * first. None may be lost.
 *
 *   plain    messages of different sizes, each with its number
 *   notify   the same with notifications, which rank 0 counts
 *   long     messages of 40,000 bytes, asynchronous
 */
#include "vmmc_test.h"

enum { WORDS = 16, LONG = 40000, RING = 8 };

static volatile uint32_t *slots;       /* at rank 0, one for each sender */
static size_t slot_words;
static volatile uint32_t handled[1024];

static void on_message(void *argument, int sender, size_t offset, size_t bytes)
{
	(void)argument;
	(void)offset;
	(void)bytes;
	handled[sender]++;
}

static void send_all(const char *what, uint32_t count, vmmc_proxy_t proxy)
{
	static uint32_t words[RING][LONG / 4];
	static volatile int32_t done[RING];
	int flags = !strcmp(what, "notify") ? VMMC_NOTIFY : 0;

	proxy += (uint64_t)margay_rank() * slot_words * 4;
	for (uint32_t n = 1; n <= count; n++) {
		uint32_t *from = words[n % RING];
		size_t bytes = 4 + n % WORDS * 4;

		OK(vmmc_wait_send(&done[n % RING]));
		for (size_t i = 0; i < slot_words; i++)
			from[i] = n;
		if (!strcmp(what, "long"))
			OK(vmmc_send(from, proxy, LONG, VMMC_ASYNC, &done[n % RING]));
		else
			OK(vmmc_send(from, proxy, bytes, flags, NULL));
	}
	for (int i = 0; i < RING; i++)
		OK(vmmc_wait_send(&done[i]));
}

/* The last number written to each word. */
static uint32_t last_of(uint32_t count, size_t word, int is_long)
{
	uint32_t n = count;

	while (!is_long && n > 0 && n % WORDS < word)
		n--;
	return n;
}

static int all_there(void *argument)
{
	uint32_t count = *(uint32_t *)argument;

	for (int from = 1; from < margay_size(); from++)
		if (slots[(size_t)from * slot_words] != count)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t count;
	const char *what;
	vmmc_export_t exported;
	vmmc_proxy_t proxy;
	int is_long;

	CHECK(argc == 3);
	what = argv[1];
	count = (uint32_t)atoi(argv[2]);
	is_long = !strcmp(what, "long");
	slot_words = is_long ? LONG / 4 : WORDS;
	OK(vmmc_init());
	if (margay_rank() == 0) {
		size_t bytes = (size_t)margay_size() * slot_words * 4;

		slots = calloc(1, bytes);
		CHECK(slots);
		OK(vmmc_export("slots", (void *)slots, bytes, NULL, 0, 0, on_message, NULL,
		               &exported));
		sleep_ms(1000);
		OK(vmmc_wait_until(all_there, &count, -1, FOR_EVER));
	} else {
		OK(vmmc_import(0, "slots", FOR_EVER, &proxy, NULL));
		send_all(what, count, proxy);
		OK(vmmc_fence(proxy));
	}
	OK(vmmc_barrier());
	for (int from = 1; margay_rank() == 0 && from < margay_size(); from++) {
		for (size_t word = 0; word < slot_words; word++)
			EQUAL(slots[(size_t)from * slot_words + word], last_of(count, word, is_long));
		EQUAL(handled[from], !strcmp(what, "notify") ? count : 0);
	}
	OK(vmmc_fini());
	if (margay_rank() == 0)
		puts("done");
	return 0;
}
