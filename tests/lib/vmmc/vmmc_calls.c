/*
 * The calls of lib/vmmc around a ring of ranks: each exports to all, and sends to the next one.
 */
#include "pattern.h"
#include "vmmc_test.h"

enum { LARGE = 1 << 20 };

static int rank, size, next, before;
static char area[3 * PAGE], source[LARGE], large[LARGE + 64];
static volatile uint32_t words[64];

/* Exports, imports the next rank's, runs `use`, and undoes both. */
static void with(void *start, size_t bytes, int flags, void (*use)(vmmc_proxy_t proxy))
{
	vmmc_export_t exported;
	vmmc_proxy_t proxy;
	size_t length = 0;

	OK(vmmc_export("area", start, bytes, NULL, 0, flags, NULL, NULL, &exported));
	OK(vmmc_import(next, "area", FOR_EVER, &proxy, &length));
	EQUAL(length, bytes);
	use(proxy);
	OK(vmmc_barrier());
	OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(exported));
	OK(vmmc_barrier());             /* otherwise the next import may find this export */
}

static void names(void)
{
	vmmc_export_t a, b, c;
	vmmc_proxy_t proxy;
	char longest[VMMC_NAME_BYTES + 1];

	memset(longest, 'x', sizeof longest);
	longest[VMMC_NAME_BYTES] = 0;
	FAILS(VMMC_EINVAL, vmmc_export(longest, area, 1, NULL, 0, 0, NULL, NULL, &a));
	FAILS(VMMC_EINVAL, vmmc_import(rank, longest, 0, &proxy, NULL));
	longest[VMMC_NAME_BYTES - 1] = 0;
	OK(vmmc_export(longest, area, sizeof area, NULL, 0, 0, NULL, NULL, &a));
	OK(vmmc_export("one", area, sizeof area, NULL, 0, 0, NULL, NULL, &b));
	FAILS(VMMC_EEXIST, vmmc_export("one", area, sizeof area, NULL, 0, 0, NULL, NULL, &c));
	OK(vmmc_barrier());
	FAILS(VMMC_ENOENT, vmmc_import(next, "other", 0, &proxy, NULL));
	FAILS(VMMC_ENOENT, vmmc_import(next, "other", 20, &proxy, NULL));
	OK(vmmc_import(next, longest, 0, &proxy, NULL));
	FAILS(VMMC_EEXIST, vmmc_import(next, longest, 0, &proxy, NULL));
	OK(vmmc_unimport(proxy));
	OK(vmmc_import(next, longest, 0, &proxy, NULL));
	OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(a));
	OK(vmmc_unexport(b));
	FAILS(VMMC_EINVAL, vmmc_unexport(b));
}

static void arguments(void)
{
	static const char constant[8] = "text";
	int wrong[] = { size }, negative[] = { -1 };
	volatile int32_t word = 7;
	vmmc_export_t e;
	vmmc_proxy_t p;

	FAILS(VMMC_EINVAL, vmmc_export(NULL, area, 1, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("", area, 1, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 0, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 1, NULL, 0, 2, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 1, NULL, 0, 0, NULL, NULL, NULL));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 1, wrong, 1, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 1, negative, 1, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, 1, wrong, -1, 0, NULL, NULL, &e));
	FAILS(VMMC_EFAULT, vmmc_export("a", NULL, 1, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EFAULT, vmmc_export("a", (void *)constant, 1, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EFAULT, vmmc_export("a", (void *)arguments, 1, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EFAULT, vmmc_export("a", area, 1ULL << 36, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_export("a", area, SIZE_MAX, NULL, 0, 0, NULL, NULL, &e));
	FAILS(VMMC_EINVAL, vmmc_unexport(0));
	FAILS(VMMC_EINVAL, vmmc_unexport(~0ULL));
	FAILS(VMMC_EINVAL, vmmc_import(-1, "a", 0, &p, NULL));
	FAILS(VMMC_EINVAL, vmmc_import(size, "a", 0, &p, NULL));
	FAILS(VMMC_EINVAL, vmmc_import(0, NULL, 0, &p, NULL));
	FAILS(VMMC_EINVAL, vmmc_import(0, "", 0, &p, NULL));
	FAILS(VMMC_EINVAL, vmmc_import(0, "a", 0, NULL, NULL));
	FAILS(VMMC_EPROXY, vmmc_unimport(0));
	FAILS(VMMC_EPROXY, vmmc_fence(~0ULL));
	FAILS(VMMC_EPROXY, SendMsg(area, 0, 0));
	FAILS(VMMC_EPROXY, SendMsg(area, (uintptr_t)area, 8));
	FAILS(VMMC_EINVAL, vmmc_wait(NULL, 0, 0, 0));
	FAILS(VMMC_EINVAL, vmmc_wait(words, 0, size, 0));
	FAILS(VMMC_EINVAL, vmmc_wait_until(NULL, NULL, 0, 0));
	FAILS(VMMC_ETIMEDOUT, vmmc_wait(words, words[0], rank, 0));
	FAILS(VMMC_ETIMEDOUT, vmmc_wait(words, words[0], -1, 5));
	FAILS(VMMC_ETIMEDOUT, vmmc_wait(words, words[0], next, 250));
	FAILS(VMMC_EINVAL, vmmc_wait_send(NULL));
	EQUAL(vmmc_wait_send(&word), 7);
	CHECK(!strcmp(vmmc_error(VMMC_OK), "success"));
	for (int error = -100; error < 100; error++)
		CHECK(vmmc_error(error) && *vmmc_error(error));
}

static void bad_sends(vmmc_proxy_t proxy)
{
	volatile int32_t word = 5;

	FAILS(VMMC_EFAULT, SendMsg(NULL, proxy, 1));
	FAILS(VMMC_EFAULT, SendMsg(NULL, proxy, 256));
	FAILS(VMMC_EFAULT, SendMsg((void *)(1ULL << 40), proxy, 256));
	FAILS(VMMC_EFAULT, SendMsg(NULL, proxy, sizeof area));
	FAILS(VMMC_EFAULT, SendMsg((void *)(UINTPTR_MAX - 3), proxy, 8));
	FAILS(VMMC_EFAULT, SendMsg((void *)(1ULL << 40), proxy, 8));
	FAILS(VMMC_EINVAL, vmmc_send(area, proxy, 8, 4, NULL));
	FAILS(VMMC_EINVAL, vmmc_send(area, proxy, 8, VMMC_ASYNC, NULL));
	FAILS(VMMC_EINVAL, vmmc_send(area, proxy, 8, 0, &word));
	/* no handler at the receiver */
	FAILS(VMMC_EINVAL, vmmc_send(area, proxy, 8, VMMC_NOTIFY, NULL));
	EQUAL(word, 5);
	FAILS(VMMC_EFAULT, vmmc_send(NULL, proxy, 8, VMMC_ASYNC, &word));
	FAILS(VMMC_EFAULT, vmmc_send(NULL, proxy, sizeof area, VMMC_ASYNC, &word));
	EQUAL(word, 5);
	FAILS(VMMC_EPROXY, SendMsg(area, proxy + PAGE, sizeof area));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy + 1, sizeof area));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy - PAGE, 8));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy - 1, 1));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy + sizeof area, 1));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy + sizeof area + PAGE, 0));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy, SIZE_MAX));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy + (1ULL << 36), 1));
	OK(SendMsg(NULL, proxy, 0));
	OK(SendMsg(NULL, proxy + sizeof area, 0));
	OK(vmmc_fence(proxy));
	FAILS(VMMC_EPROXY, vmmc_fence(proxy + (1ULL << 36)));
	FAILS(VMMC_EPROXY, vmmc_fence(proxy + sizeof area));
	FAILS(VMMC_EPROXY, vmmc_unimport(proxy + sizeof area));
}

/* Sources that begin in the process's memory and end outside: nothing of them is sent. */
static void no_part(vmmc_proxy_t proxy)
{
	static const size_t sizes[] = { 65, 4096, 40000, 262144, LARGE };
	char *end = source;

	while (SendMsg(end, proxy, 1) == VMMC_OK)
		end += PAGE;
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	memset(large, 0x77, sizeof large);
	OK(vmmc_barrier());
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		FAILS(VMMC_EFAULT, SendMsg(end - sizes[i] + 1, proxy, sizes[i]));
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	for (size_t byte = 0; byte < sizeof large; byte++)
		EQUAL(large[byte], 0x77);
}

static void refused(void)
{
	with(area, sizeof area, 0, bad_sends);
	with(large, sizeof large, 0, no_part);
}

/* A message of each size at an odd offset, and a number after all of them. */
static void all_sizes(vmmc_proxy_t proxy)
{
	static const size_t sizes[] = { 1, 2, 4, 63, 64, 65, 128, 512, 4097, 16383, 16384, 16385,
	                                65536, 262144, 262145, LARGE };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		char stamp = (char)(rank + i + 1), wanted = (char)(before + i + 1);
		size_t at = 7 + i;

		memset(source, stamp, sizes[i]);
		OK(SendMsg(source, proxy + at, sizes[i]));
		memset(source, 0x55, sizes[i]);         /* it may be reused */
		OK(vmmc_fence(proxy));
		OK(vmmc_barrier());
		for (size_t byte = 0; byte < sizes[i]; byte++)
			CHECK(large[at + byte] == wanted);
		CHECK(large[at - 1] != wanted && large[at + sizes[i]] != wanted);
		OK(vmmc_barrier());
		memset(large, 0, sizeof large);
		OK(vmmc_barrier());
	}
}

static void sizes(void)
{
	with(large, sizeof large, 0, all_sizes);
}

/* Of message i: mostly more than a put reads at once over a card, and some of several copies. */
static size_t reused_bytes(int i)
{
	return i % 60 == 59 ? 40000 : 65 + (size_t)i * 37 % 400;
}

/* Messages from one source, which changes as soon as each call has returned: too long for a put
 * over a card to read at once, and more than the library has copies for. */
static void from_one_source(vmmc_proxy_t proxy)
{
	enum { MESSAGES = 300 };
	size_t at = 0;

	for (int i = 0; i < MESSAGES; i++) {
		size_t bytes = reused_bytes(i);

		memset(source, rank + i, bytes);
		OK(SendMsg(source, proxy + at, bytes));
		at += bytes;
	}
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	at = 0;
	for (int i = 0; i < MESSAGES; i++)
		for (size_t end = at + reused_bytes(i); at < end; at++)
			EQUAL(large[at], (char)(before + i));
	CHECK(at <= sizeof large);
}

static void reused(void)
{
	with(large, sizeof large, 0, from_one_source);
}

static void tokens(vmmc_proxy_t proxy)
{
	for (uint32_t round = 1; round <= 100; round++) {
		if (rank == 0)
			OK(SendMsg(&round, proxy, sizeof round));
		await(&words[0], round, before);
		if (rank != 0)
			OK(SendMsg((void *)&words[0], proxy, sizeof round));
	}
}

static void waits(void)
{
	words[0] = 0;
	with((void *)words, sizeof words, 0, tokens);
}

/* The same, but receivers only poll the memory. */
static void spun(vmmc_proxy_t proxy)
{
	for (uint32_t round = 1; round <= 5; round++) {
		if (rank == 0)
			OK(SendMsg(&round, proxy, sizeof round));
		while (words[0] != round)
			;
		if (rank != 0)
			OK(SendMsg((void *)&words[0], proxy, sizeof round));
	}
}

static void spins(void)
{
	words[0] = 0;
	with((void *)words, sizeof words, VMMC_SPIN, spun);
}

/* Words are written in order: the last one arrives after all others. */
static void in_order(vmmc_proxy_t proxy)
{
	for (uint32_t n = 1; n <= 3000; n++)
		OK(SendMsg(&n, proxy + n % 64 * 4, sizeof n));
	await(&words[3000 % 64], 3000, before);
	for (uint32_t n = 3000; n > 3000 - 64; n--)
		EQUAL(words[n % 64], n);
}

static void order(void)
{
	with((void *)words, sizeof words, 0, in_order);
}

/* Of asynchronous send i: some of several copies. All fit into LARGE. */
static size_t async_bytes(int i)
{
	return i % 3 == 0 ? 8 : i % 48 == 1 ? 40000 : 2600;
}

/* More sends than may be pending, from neighbouring sources to slots of their own. */
static void many_async(vmmc_proxy_t proxy)
{
	enum { SENDS = 3 * VMMC_SENDS };
	static volatile int32_t done[SENDS];
	size_t at = 0;

	memset(large, 0x77, sizeof large);
	OK(vmmc_barrier());
	for (int i = 0; i < SENDS; at += async_bytes(i), i++) {
		CHECK(at + async_bytes(i) <= LARGE);
		fill(source + at, async_bytes(i), (uint32_t)(rank + i));
		OK(vmmc_send(source + at, proxy + at, async_bytes(i), VMMC_ASYNC, &done[i]));
	}
	for (int i = 0; i < SENDS; i++)
		OK(vmmc_wait_send(&done[i]));
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	at = 0;
	for (int i = 0; i < SENDS; at += async_bytes(i), i++)
		CHECK(is_filled(large + at, async_bytes(i), (uint32_t)(before + i)));
	for (; at < sizeof large; at++)
		EQUAL(large[at], 0x77);
}

/* A completion word that only the kernel changes. */
static void spinning(vmmc_proxy_t proxy)
{
	volatile int32_t done;

	memset(large, 0, sizeof large);
	fill(source, LARGE, (uint32_t)rank + 50);
	OK(vmmc_barrier());
	OK(vmmc_send(source, proxy, LARGE, VMMC_ASYNC, &done));
	while (done == VMMC_PENDING)
		;
	EQUAL(done, VMMC_OK);
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	CHECK(is_filled(large, LARGE, (uint32_t)before + 50));
}

static void async(void)
{
	with(large, sizeof large, 0, many_async);
	with(large, sizeof large, VMMC_SPIN, spinning);
}

/* An export that ends while it is imported; the importers get an error. */
static void revoked(void)
{
	vmmc_export_t exported;
	vmmc_proxy_t proxy;
	int result = VMMC_OK;

	OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
	OK(vmmc_import(next, "area", FOR_EVER, &proxy, NULL));
	OK(vmmc_probe(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(exported));
	OK(vmmc_barrier());
	FAILS(VMMC_EREVOKED, vmmc_fence(proxy));
	FAILS(VMMC_EREVOKED, vmmc_probe(proxy));
	FAILS(VMMC_EREVOKED, SendMsg(area, proxy, 8));
	OK(vmmc_unimport(proxy));
	FAILS(VMMC_EPROXY, SendMsg(area, proxy, 8));
	FAILS(VMMC_EPROXY, vmmc_probe(proxy));
	OK(vmmc_barrier());

	/* A new export of the same name is another area, which the old proxy address does not
	 * reach. */
	OK(vmmc_export("area", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
	vmmc_proxy_t old = proxy;
	OK(vmmc_import(next, "area", FOR_EVER, &proxy, NULL));
	CHECK(old != proxy);
	FAILS(VMMC_EPROXY, SendMsg(area, old, 8));
	for (int i = 0; i < 2 * VMMC_ASK && !result; i++)
		result = SendMsg(area, proxy, 8);
	OK(result);
	OK(vmmc_fence(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
	OK(vmmc_unexport(exported));
}

/* The greatest number of exports and imports. */
static void tables(void)
{
	static vmmc_export_t exported[VMMC_EXPORTS + 1];
	static vmmc_proxy_t proxies[VMMC_EXPORTS];
	char name[16];

	for (int i = 0; i < VMMC_EXPORTS; i++) {
		snprintf(name, sizeof name, "area %d", i);
		OK(vmmc_export(name, area + i, 1, NULL, 0, 0, NULL, NULL, &exported[i]));
	}
	FAILS(VMMC_ENOSPACE, vmmc_export("more", area, 1, NULL, 0, 0, NULL, NULL,
	                                 &exported[VMMC_EXPORTS]));
	for (int i = 0; i < VMMC_EXPORTS; i += 8) {
		snprintf(name, sizeof name, "area %d", i);
		OK(vmmc_import(next, name, FOR_EVER, &proxies[i], NULL));
	}
	for (int i = 0; i < VMMC_EXPORTS; i += 8)
		OK(SendMsg(&(char){ (char)(i / 8) }, proxies[i], 1));
	OK(vmmc_fence(proxies[0]));
	OK(vmmc_barrier());
	for (int i = 0; i < VMMC_EXPORTS; i += 8)
		EQUAL(area[i], (char)(i / 8));
	for (int i = 0; i < VMMC_EXPORTS; i += 8)
		OK(vmmc_unimport(proxies[i]));
	OK(vmmc_barrier());
	for (int i = 0; i < VMMC_EXPORTS; i++)
		OK(vmmc_unexport(exported[i]));
}

/* The library is closed and opened again; before and after, calls are refused. */
static void reopened(void)
{
	vmmc_export_t exported;
	vmmc_proxy_t proxy, again;
	uint32_t session = vmmc_session();

	OK(vmmc_export("left", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
	OK(vmmc_import(next, "left", FOR_EVER, &proxy, NULL));
	OK(vmmc_barrier());
	OK(vmmc_fini());
	FAILS(VMMC_ECONTEXT, vmmc_fini());
	FAILS(VMMC_ECONTEXT, vmmc_export("a", area, 1, NULL, 0, 0, NULL, NULL, &exported));
	FAILS(VMMC_ECONTEXT, vmmc_unexport(exported));
	FAILS(VMMC_ECONTEXT, vmmc_import(0, "a", 0, &proxy, NULL));
	FAILS(VMMC_ECONTEXT, vmmc_unimport(proxy));
	FAILS(VMMC_ECONTEXT, SendMsg(area, proxy, 8));
	FAILS(VMMC_ECONTEXT, vmmc_fence(proxy));
	FAILS(VMMC_ECONTEXT, vmmc_probe(proxy));
	EQUAL(vmmc_session(), 0);
	FAILS(VMMC_ECONTEXT, vmmc_barrier());
	FAILS(VMMC_ECONTEXT, vmmc_wait(words, 0, 0, 0));
	FAILS(VMMC_ECONTEXT, vmmc_block());
	FAILS(VMMC_ECONTEXT, vmmc_unblock());
	OK(vmmc_init());
	OK(vmmc_init());
	CHECK(session && vmmc_session() && vmmc_session() != session);
	FAILS(VMMC_EPROXY, SendMsg(area, proxy, 8));
	for (int life = 0; life < 3; life++, proxy = again) {   /* no address is valid again */
		OK(vmmc_export("again", area, sizeof area, NULL, 0, 0, NULL, NULL, &exported));
		OK(vmmc_import(next, "again", FOR_EVER, &again, NULL));
		FAILS(VMMC_EPROXY, SendMsg(area, proxy, 8));
		OK(vmmc_barrier());
		OK(vmmc_fini());
		OK(vmmc_init());
	}
	with(area, sizeof area, 0, bad_sends);
}

/* The areas go while sends to them are under way, and vmmc_fini follows: these sends have ended when
 * it returns. With lost frames some are under way until then. */
static void closed(void)
{
	enum { SENDS = 100, BYTES = 1000 };
	static volatile int32_t done[SENDS];
	vmmc_export_t exported;
	vmmc_proxy_t proxy;

	for (int round = 0; round < 6; round++) {
		memset(source, 1, BYTES);
		memset(area, 0, BYTES);
		OK(vmmc_export("area", area, BYTES, NULL, 0, VMMC_SPIN, NULL, NULL, &exported));
		OK(vmmc_import(next, "area", FOR_EVER, &proxy, NULL));
		OK(vmmc_barrier());
		for (int i = 0; i < SENDS; i++) {
			int result = vmmc_send(source, proxy, BYTES, VMMC_ASYNC, &done[i]);

			CHECK(result == VMMC_OK || result == VMMC_EREVOKED);
			if (result)
				done[i] = VMMC_OK;
		}
		while (!*(volatile char *)area)
			;
		OK(vmmc_unexport(exported));
		while (vmmc_probe(proxy) == VMMC_OK)
			;
		OK(vmmc_fini());
		for (int i = 0; i < SENDS; i++)
			CHECK(done[i] != VMMC_PENDING);
		OK(vmmc_init());
		OK(vmmc_barrier());
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "names", names }, { "arguments", arguments }, { "refused", refused },
		{ "sizes", sizes }, { "reused", reused }, { "waits", waits }, { "spins", spins },
		{ "order", order },
		{ "async", async }, { "revoked", revoked }, { "tables", tables },
		{ "reopened", reopened }, { "closed", closed },
	};
	vmmc_export_t exported;

	FAILS(VMMC_ECONTEXT, vmmc_export("a", area, 1, NULL, 0, 0, NULL, NULL, &exported));
	OK(vmmc_init());
	rank = margay_rank();
	size = margay_size();
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	run_cases(cases, sizeof cases / sizeof cases[0]);
	OK(vmmc_fini());
	return 0;
}
