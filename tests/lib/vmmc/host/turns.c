/*
 * Requests of a rank among its notifications, in orders that need unlucky times on real nodes. Runs
 * on the host, over a simulated Portals. lib/vmmc/export.c and notify.c are compiled here unchanged
 * and get the events of both queues one by one. This process is rank 0: it blocks notifications, so
 * none is handled. Rank 1 imports its area.
 */
#include "../../../../lib/vmmc/export.c"
#include "../../../../lib/vmmc/notify.c"

#include <stdio.h>

enum { RANKS = 2, OTHER = 1, MANY = 64 };

struct vmmc vmmc;
static char area_memory[64], slots[RANKS * VMMC_NAME_BYTES];
static uint8_t lives[RANKS];
static struct asked asked[RANKS];
static struct export exports[VMMC_EXPORTS];
static struct notice ring[VMMC_NOTIFICATIONS];

static int64_t now;
static int in_delivery;                 /* entries cannot be removed */
static int answers;
static ptl_event_t queue[MANY];         /* `notices` */
static unsigned first, end;
static int failed;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("turns.c:%d: %s\n", __LINE__, #condition); \
			failed = 1; \
		} \
	} while (0)

/* ---- the simulated Portals, and the rest of the library ---- */

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t bytes, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t portal, ptl_ac_index_t cookie,
                 ptl_match_bits_t bits, ptl_size_t remote, ptl_hdr_data_t header)
{
	(void)md, (void)offset, (void)bytes, (void)ack, (void)cookie, (void)remote;
	if (portal == PORTAL_TURN)
		queue[end++] = (ptl_event_t){
			.type = PTL_EVENT_PUT_END, .pt_index = PORTAL_TURN, .initiator = target,
			.match_bits = bits, .hdr_data = header,
		};
	else if (portal == PORTAL_ANSWER)
		answers++;
	return PTL_OK;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
	(void)ni, (void)md, (void)unlink;
	*handle = 1;
	return PTL_OK;
}

int PtlMDUnlink(ptl_handle_md_t md)
{
	(void)md;
	return PTL_OK;
}

ptl_process_id_t margay_process(int rank)
{
	return (ptl_process_id_t){ .nid = (ptl_nid_t)rank };
}

int vmmc_error_of(int result)
{
	return result == PTL_OK ? VMMC_OK : VMMC_EFAIL;
}

int vmmc_attach(unsigned portal, ptl_process_id_t source, uint64_t bits, ptl_md_t md,
                ptl_unlink_t unlink, ptl_handle_me_t *me)
{
	(void)portal, (void)source, (void)bits, (void)md, (void)unlink;
	*me = 1;
	return VMMC_OK;
}

int vmmc_try_detach(ptl_handle_me_t *me)
{
	if (*me != PTL_INVALID_HANDLE && in_delivery)
		return 0;
	*me = PTL_INVALID_HANDLE;
	return 1;
}

void vmmc_detach(ptl_handle_me_t *me)
{
	*me = PTL_INVALID_HANDLE;
}

uint64_t vmmc_name_hash(const char *name)
{
	return (uint64_t)name[0];
}

uint32_t vmmc_next_number(uint32_t *last)
{
	return ++*last;
}

int64_t vmmc_now(void)
{
	return now;
}

/* ---- what rank 1 sends ---- */

static void handler(void *argument, int sender, size_t offset, size_t bytes)
{
	(void)argument, (void)sender, (void)offset, (void)bytes;
	failed = 1;
}

static void request(uint64_t kind, uint32_t number)
{
	ptl_event_t event = {
		.type = PTL_EVENT_PUT_END, .pt_index = PORTAL_CONTROL,
		.initiator = margay_process(OTHER), .offset = OTHER * VMMC_NAME_BYTES,
		.match_bits = kind == KIND_UNIMPORT ? exports[0].bits : 0,
		.hdr_data = vmmc_header((enum kind)kind, number),
	};

	strcpy(&slots[OTHER * VMMC_NAME_BYTES], "area");
	vmmc_on_request(&event);
}

/* Notifications of import 1. */
static void notify(int count)
{
	while (count-- > 0) {
		ptl_event_t *event = &queue[end++];

		*event = (ptl_event_t){
			.type = PTL_EVENT_PUT_END, .pt_index = PORTAL_DATA,
			.initiator = margay_process(OTHER), .match_bits = exports[0].bits | BITS_NOTIFY,
		};
		event->md.user_ptr = (void *)((uintptr_t)1 << 32 | OTHER);
	}
}

/* Handles an event of `notices`. Those that are not counted still need their credits. */
static void next(void)
{
	int waiting = 0;

	CHECK(first < end);
	vmmc_on_notice(&queue[first++]);
	for (unsigned i = first; i < end; i++)
		waiting += queue[i].pt_index == PORTAL_DATA;
	CHECK(waiting + (int)vmmc.waiting_end + vmmc.credits_left <= VMMC_NOTIFICATIONS);
}

static void all(void)
{
	while (first < end)
		next();
}

static void open_area(void)
{
	vmmc_export_t exported;

	memset(exports, 0, sizeof(exports));
	memset(asked, 0, sizeof(asked));
	first = end = 0;
	answers = in_delivery = 0;
	vmmc = (struct vmmc){
		.open = 1, .size = RANKS, .exports = exports, .slots = slots, .asked = asked,
		.lives = lives, .waiting = ring, .blocked = 1, .credits_left = VMMC_NOTIFICATIONS,
	};
	CHECK(vmmc_export("area", area_memory, sizeof(area_memory), NULL, 0, 0, handler, NULL,
	                  &exported) == VMMC_OK);
}

static void import(void)
{
	request(KIND_IMPORT, 1);
	all();
	CHECK(answers == 1 && vmmc.credits_left == VMMC_NOTIFICATIONS - VMMC_CREDITS);
}

/* ---- the tests ---- */

/* The upcall looks at the requests before it has seen the notifications. */
static void an_unimport_behind_notifications(void)
{
	open_area();
	import();
	notify(VMMC_CREDITS);
	request(KIND_UNIMPORT, 2);
	CHECK(vmmc.credits_left == VMMC_NOTIFICATIONS - VMMC_CREDITS);
	all();
	CHECK(answers == 2 && vmmc.credits_left == VMMC_NOTIFICATIONS - VMMC_CREDITS);
}

/* A repeated import has a second turn, which is not the unimport's. */
static void a_turn_too_many(void)
{
	open_area();
	request(KIND_IMPORT, 1);
	now += VMMC_PING_MS;
	request(KIND_IMPORT, 1);
	CHECK(end == 2);
	next();
	CHECK(answers == 1);
	notify(VMMC_CREDITS);
	request(KIND_UNIMPORT, 2);
	next();
	CHECK(answers == 1);
	all();
	CHECK(answers == 2);
}

static void a_turn_that_is_lost(void)
{
	open_area();
	request(KIND_IMPORT, 1);
	first = end;
	now += 2 * VMMC_PING_MS;
	import();
}

static void a_flood(void)
{
	open_area();
	for (int i = 0; i < MANY; i++) {
		request(0, 0);
		request(KIND_PING, 1);
	}
	CHECK(end == 0);
	for (int i = 0; i < MANY; i++)
		request(KIND_IMPORT, 1);
	CHECK(end == 1);
}

/* Notifications beyond the credits leave those of others their room. */
static void a_flood_of_notifications(void)
{
	open_area();
	import();
	notify(2 * VMMC_CREDITS);
	while (first < end)
		vmmc_on_notice(&queue[first++]);
	CHECK(vmmc.waiting_end == VMMC_CREDITS);
	CHECK(exports[0].grants[OTHER].pending == VMMC_CREDITS);
}

/* A message is being delivered: the unimport is answered, and gives credits back, after it. */
static void an_unimport_during_a_delivery(void)
{
	open_area();
	import();
	in_delivery = 1;
	request(KIND_UNIMPORT, 2);
	all();
	CHECK(answers == 1 && vmmc.credits_left == VMMC_NOTIFICATIONS - VMMC_CREDITS);
	notify(1);
	all();
	in_delivery = 0;
	request(KIND_UNIMPORT, 2);
	all();
	CHECK(answers == 2 && vmmc.credits_left == VMMC_NOTIFICATIONS - 1);
}

/* The area is exported no more while a message is being delivered. */
static void an_unexport(void)
{
	open_area();
	import();
	notify(3);
	all();
	CHECK(vmmc_unexport(exports[0].bits) == VMMC_OK);
	CHECK(vmmc.credits_left == VMMC_NOTIFICATIONS - 3);
}

int main(void)
{
	an_unimport_behind_notifications();
	a_turn_too_many();
	a_turn_that_is_lost();
	a_flood();
	a_flood_of_notifications();
	an_unimport_during_a_delivery();
	an_unexport();
	if (!failed)
		printf("done\n");
	return failed;
}
