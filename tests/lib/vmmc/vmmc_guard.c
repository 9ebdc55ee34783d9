/*
 * Protection: memory that a process may not write stays unchanged, whatever it sends. Rank 0
 * exports to rank 1 only; rank 1 imports; then both rank 1 and rank 2 send by Portals itself what
 * the library would refuse. Rank 0 checks every byte of its area and around it.
 *
 * Each attack is correct but for one field: the portal, the match bits (which the attacker learns
 * from rank 1), the offset, the length, or the access control entry.
 */
#include "vmmc_test.h"

#include <portals3.h>

enum { PORTAL_DATA = 16, PORTAL_ANSWER = 19, BYTES = 2 * PAGE, ROUNDS = 20 };

static char memory[3 * BYTES];           /* at rank 0; the area is the middle third */
static char *const area = memory + BYTES;
static char poison[4 * BYTES];
static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;
static int rank;

static void put(uint64_t bits, unsigned portal, unsigned cookie, uint64_t offset, size_t bytes)
{
	ptl_md_t md = { .start = poison, .length = bytes, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_DROPPED,
	                .eq_handle = eq };
	ptl_handle_md_t handle;
	ptl_event_t event;

	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &handle), PTL_OK);
	EQUAL(PtlPut(handle, PTL_ACK_REQ, margay_process(0), portal, cookie, bits, offset, 0), PTL_OK);
	do
		CHECK(PtlEQWait(eq, &event) == PTL_OK);
	while (event.type != PTL_EVENT_ACK);
	EQUAL(event.ni_fail_type, PTL_NI_DROPPED);
	EQUAL(PtlMDUnlink(handle), PTL_OK);
}

/* No process may read. */
static void get(uint64_t bits)
{
	static char got[16];
	ptl_md_t md = { .start = got, .length = sizeof got, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = eq };
	ptl_handle_md_t handle;
	ptl_event_t event;

	EQUAL(PtlMDBind(ni, md, PTL_RETAIN, &handle), PTL_OK);
	EQUAL(PtlGet(handle, margay_process(0), PORTAL_DATA, 0, bits, 0), PTL_OK);
	CHECK(PtlEQWait(eq, &event) == PTL_OK);
	EQUAL(event.ni_fail_type, PTL_NI_DROPPED);
	EQUAL(PtlMDUnlink(handle), PTL_OK);
	EQUAL(got[0], 0);
}

/* Accesses forbidden to the importer and to others. */
static void reach_outside(uint64_t bits)
{
	put(bits, PORTAL_DATA, 0, BYTES, 1);
	put(bits, PORTAL_DATA, 0, BYTES - 1, 2);
	put(bits, PORTAL_DATA, 0, BYTES + PAGE, 8);         /* off by one page */
	put(bits, PORTAL_DATA, 0, PAGE, BYTES);
	put(bits, PORTAL_DATA, 0, (uint64_t)-PAGE, 8);
	put(bits, PORTAL_DATA, 0, (uint64_t)-8, 16);
	put(bits, PORTAL_DATA, 0, 0, BYTES + 1);
	put(bits, PORTAL_DATA, 0, 0, 4 * BYTES);
	put(bits, PORTAL_DATA, 0, (uint64_t)(uintptr_t)area, 8);
	put(bits, PORTAL_DATA, 2, 0, 8);
	put(bits, PORTAL_DATA, 63, 0, 8);
	put(bits, PORTAL_DATA, 64, 0, 8);
	put(bits, PORTAL_ANSWER, 0, 0, 8);
	put(bits ^ 1, PORTAL_DATA, 0, 0, 8);
	put(bits ^ 1ULL << 63, PORTAL_DATA, 0, 0, 8);       /* a notification, without a handler */
	for (int bit = 16; bit < 48; bit++)                 /* other generations */
		put(bits ^ 1ULL << bit, PORTAL_DATA, 0, 0, 8);
	get(bits);
}

/* Accesses allowed to the importer, but not to this process. */
static void reach_inside(uint64_t bits)
{
	put(bits, PORTAL_DATA, 0, 0, 0);
	put(bits, PORTAL_DATA, 0, 0, 1);
	put(bits, PORTAL_DATA, 0, 0, 64);
	put(bits, PORTAL_DATA, 0, 0, 65);
	put(bits, PORTAL_DATA, 0, PAGE, PAGE);
	put(bits, PORTAL_DATA, 0, 0, BYTES);
	put(bits, PORTAL_DATA, 1, 0, 8);
}

/* Only this process knows them: an area's match bits are its handle. */
static uint64_t bits_of(vmmc_export_t exported)
{
	return exported;
}

static void untouched(char in, const char *where)
{
	for (int i = 0; i < 3 * BYTES; i++) {
		char wanted = i >= BYTES && i < 2 * BYTES ? in : 0x11;

		if (memory[i] != wanted) {
			fprintf(stderr, "%s: byte %d is %d\n", where, i - BYTES, memory[i]);
			exit(1);
		}
	}
}

/* One life of an export: rank 0 owns it, rank 1 may use it, rank 2 may not. */
static void life(int round)
{
	static volatile uint64_t shared;
	const int admitted[] = { 1 };
	vmmc_export_t exported = 0, own;
	vmmc_proxy_t proxy = 0, told = 0;
	uint64_t bits;

	OK(vmmc_export("shared", (void *)&shared, sizeof shared, NULL, 0, 0, NULL, NULL, &own));
	OK(vmmc_barrier());
	if (rank == 0) {
		memset(memory, 0x11, sizeof memory);
		OK(vmmc_export("secret", area, BYTES, admitted, 1, round % 2 ? VMMC_SPIN : 0, NULL,
		               NULL, &exported));
		bits = bits_of(exported);
		for (int to = 1; to < 3; to++) {
			OK(vmmc_import(to, "shared", FOR_EVER, &told, NULL));
			OK(SendMsg(&bits, told, sizeof bits));
			OK(vmmc_fence(told));
			OK(vmmc_unimport(told));
		}
	}
	OK(vmmc_barrier());
	bits = shared;
	/* Before any import no process can access it. */
	if (rank != 0) {
		reach_outside(bits);
		reach_inside(bits);
	}
	if (rank == 2)
		FAILS(VMMC_EACCES, vmmc_import(0, "secret", FOR_EVER, &proxy, NULL));
	OK(vmmc_barrier());
	if (rank == 0)
		untouched(0x11, "before the import");
	OK(vmmc_barrier());
	if (rank == 1) {
		OK(vmmc_import(0, "secret", FOR_EVER, &proxy, NULL));
		memset(poison, 0x22, sizeof poison);
		OK(SendMsg(poison, proxy, BYTES));
		OK(vmmc_fence(proxy));
	}
	OK(vmmc_barrier());
	memset(poison, 0x33, sizeof poison);
	if (rank != 0)
		reach_outside(bits);
	if (rank == 2) {
		reach_inside(bits);
		/* A proxy address of another process is invalid here. */
		FAILS(VMMC_EPROXY, SendMsg(poison, (1ULL << 47) | (uint64_t)(round & 0x7fff) << 48, 8));
	}
	OK(vmmc_barrier());
	if (rank == 0)
		untouched(0x22, "while it is imported");
	OK(vmmc_barrier());
	if (rank == 1 && round % 4 < 2)
		OK(vmmc_unimport(proxy));
	OK(vmmc_barrier());
	if (rank == 0 && round % 4 >= 2) {
		OK(vmmc_unexport(exported));
		untouched(0x22, "at the end of the export");
	}
	OK(vmmc_barrier());
	if (rank != 0) {
		reach_outside(bits);
		reach_inside(bits);
	}
	OK(vmmc_barrier());
	if (rank == 0) {
		untouched(0x22, "afterwards");
		if (round % 4 < 2)
			OK(vmmc_unexport(exported));
	}
	if (rank == 1 && round % 4 >= 2)
		OK(vmmc_unimport(proxy));
	OK(vmmc_unexport(own));
	OK(vmmc_barrier());
}

int main(void)
{
	rank = margay_rank();
	EQUAL(margay_size(), 3);
	OK(vmmc_init());
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	EQUAL(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	for (int round = 0; round < ROUNDS; round++) {
		memset(poison, 0x33, sizeof poison);
		life(round);
	}
	EQUAL(PtlNIFini(ni), PTL_OK);
	OK(vmmc_fini());
	if (rank == 0)
		puts("ok");
	return 0;
}
