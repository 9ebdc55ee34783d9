/*
* Opening NX: the process's portals, its event queues and descriptors. Also names and clocks,
 * and how a call that fails ends the job.
 *
 *   PORTAL_MESSAGE   posted receives | headers of long messages | slots
 *   PORTAL_PULL      all of memory, from which receivers get long messages
 *   PORTAL_CREDIT    `given`: which of this rank's slots at others are free
 *
 * All of memory is one descriptor (PTL_MD_SPAN) for each event by which an operation ends:
 *   plain     none                       asked     ACK, also if the message was discarded
 *   reported  SEND_END                   fetched   REPLY_END
 * and the last three once more, with another queue, for operations with handlers.
 */
#include "core.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

MARGAY_EVENT_SLOTS(RX_SLOTS + EARLY_SLOTS + TX_SLOTS + HAND_SLOTS + CREDIT_SLOTS);

_Static_assert(REQUESTS + ACKS_MOST <= TX_SLOTS && REQUESTS <= RX_SLOTS && REQUESTS <= HAND_SLOTS &&
	       SLOTS <= EARLY_SLOTS, "no event is lost");

struct nx nx;

/* handler.c, in programs that call one of its functions. */
extern const struct hand nx_hand __attribute__((weak));

/* ---- errors ---- */

int nx_error(int portals)
{
	return portals == PTL_OK ? 0 : portals == PTL_SEGV ? EQPBUF : EQNOACT;
}

const char *nx_error_text(int error)
{
	static const char *const texts[] = {
		"no such node", "no such ptype: there is 0",
		"this type is not allowed: 0 to 999999999, a selector, force types (not in cprobe)",
		"a negative length", "memory that is not the program's, or that it may not write",
		"the message is longer than the buffer",
		"too many operations are under way: msgwait ends those with ids",
		"no such message id", "the other process has ended",
		"a handler may not wait: use isend, irecv, hsend or hrecv",
		"an argument is not allowed",
	};
	unsigned int index = (unsigned int)(error - EQNODE);

	return index < sizeof(texts) / sizeof(*texts) ? texts[index] : strerror(error);
}

void nx_perror(const char *text)
{
	fprintf(stderr, "(node %d) %s: %s\n", nx.rank, text, nx_error_text(errno));
}

_Noreturn void nx_fatal(const char *call, int error)
{
	if (!nx.in_upcall)
		fflush(stdout);
	errno = error;
	nx_perror(call);
	margay_end_job(1);
}

static void must(int rc, const char *what)
{
	if (rc == PTL_OK)
		return;
	fprintf(stderr, "margay: rank %d: NX cannot start: %s: %s\n", margay_rank(), what,
		PtlErrorStr(rc));
	margay_end_job(1);
}

static void *memory(size_t bytes)
{
	void *made = calloc(1, bytes);

	must(made ? PTL_OK : PTL_NO_SPACE, "memory for early messages (give nodes more: --mem)");
	return made;
}

/* ---- the process's portals ---- */

static void open_queues(void)
{
	static const unsigned int slots[QUEUES] = {
		[QUEUE_RX] = RX_SLOTS, [QUEUE_EARLY] = EARLY_SLOTS, [QUEUE_TX] = TX_SLOTS,
		[QUEUE_CREDIT] = CREDIT_SLOTS, [QUEUE_HAND] = HAND_SLOTS,
	};
	const ptl_eq_handler_t handlers[QUEUES] = {
		[QUEUE_EARLY] = nx.hand ? nx.hand->early : PTL_EQ_HANDLER_NONE,
		[QUEUE_HAND] = nx.hand ? nx.hand->ended : PTL_EQ_HANDLER_NONE,
	};

	nx.queue_count = nx.hand ? QUEUES : QUEUE_HAND;
	for (int i = 0; i < nx.queue_count; i++)
		must(PtlEQAlloc(nx.ni, slots[i], handlers[i], &nx.queues[i]), "event queues");
}

static ptl_handle_md_t bind(unsigned int options, ptl_handle_eq_t eq)
{
	const ptl_md_t md = {
		.length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_SPAN | PTL_MD_EVENT_START_DISABLE, .eq_handle = eq,
	};
	ptl_handle_md_t handle;

	must(PtlMDBind(nx.ni, md, PTL_RETAIN, &handle), "descriptors");
	return handle;
}

static void open_descriptors(void)
{
	const unsigned int ack = PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED;

	nx.plain = bind(PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE);
	nx.reported = nx.fetched = bind(0, nx.queues[QUEUE_TX]);
	nx.asked = bind(ack, nx.queues[QUEUE_TX]);
	if (!nx.hand)
		return;
	nx.reported_hand = nx.fetched_hand = bind(0, nx.queues[QUEUE_HAND]);
	nx.asked_hand = bind(ack, nx.queues[QUEUE_HAND]);
}

/* Attaches an entry for every process at the end of a portal's list. */
static ptl_handle_me_t attach(ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_match_bits_t ignore,
			      void *start, uint64_t length, unsigned int options,
			      ptl_handle_eq_t eq)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t md = {
		.start = start, .length = length, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
		.eq_handle = eq,
	};
	ptl_handle_md_t handle;
	ptl_handle_me_t entry;

	must(PtlMEAttach(nx.ni, portal, any_process, bits, ignore, PTL_UNLINK, PTL_INS_AFTER,
			 &entry), "match entries");
	must(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "descriptors");
	return entry;
}

static void open_entries(void)
{
	const ptl_match_bits_t kept = ~(BITS_LONG | BITS_FORCE);
	uint64_t counts = (uint64_t)nx.window * (uint64_t)nx.size;
	unsigned int pull = PTL_MD_OP_GET | PTL_MD_SPAN;

	nx.behind = attach(PORTAL_MESSAGE, BITS_LONG, kept, NULL, 0,
			   PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_ACK_DISABLE,
			   nx.queues[QUEUE_EARLY]);
	attach(PORTAL_MESSAGE, 0, kept, nx.slots,
	       counts * SLOT_BYTES + (uint64_t)nx.size * SYSTEM_BYTES,
	       PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE, nx.queues[QUEUE_EARLY]);
	attach(PORTAL_PULL, 0, ~PULL_HAND, NULL, UINT64_MAX, pull, nx.queues[QUEUE_TX]);
	if (nx.hand)
		attach(PORTAL_PULL, PULL_HAND, ~PULL_HAND, NULL, UINT64_MAX, pull,
		       nx.queues[QUEUE_HAND]);
	attach(PORTAL_CREDIT, 0, ~0ULL, nx.given, counts, PTL_MD_OP_PUT, nx.queues[QUEUE_CREDIT]);
}

static void open_memory(void)
{
	size_t ranks = (size_t)nx.size, counts, bytes;
	uint32_t window = SLOTS / (uint32_t)nx.size - 1;
	int is_card = nx.inline_bytes < SYSTEM_BYTES;

	nx.window = window < WINDOW_MOST ? window : WINDOW_MOST;
	nx.eager = (nx.window / 16 < 1 ? 1 : nx.window / 16) * SLOT_BYTES;
	if (nx.eager > EAGER_SLOTS * SLOT_BYTES)
		nx.eager = EAGER_SLOTS * SLOT_BYTES;
	nx.eager_csend = nx.eager;
	if (is_card && nx.window / 4 * SLOT_BYTES > nx.eager)
		nx.eager_csend = nx.window / 4 * SLOT_BYTES;
	counts = ranks * nx.window;
	bytes = counts * SLOT_BYTES + ranks * SYSTEM_BYTES;
	nx.slots = memory(bytes);
	if (is_card)
		nx.stage = memory(bytes);
	nx.sent = memory(counts);
	nx.given = memory(counts);
	nx.freed = memory(counts);
	nx.earlies = memory((counts + ranks) * sizeof(*nx.earlies));
	nx.early.newer = nx.early.older = &nx.early;
	nx.peers = memory(ranks * sizeof(*nx.peers));
	for (int rank = 0; rank < nx.size; rank++)
		nx.peers[rank].process = margay_process(rank);
	for (unsigned int i = REQUESTS; i-- > 0;) {
		nx.requests[i].counted = i < NX_IDS;
		nx_free(&nx.requests[i]);
	}
}

/* A message to a rank that is not ready would be discarded: so a barrier. */
__attribute__((constructor)) static void start(void)
{
	nx.rank = margay_rank();
	nx.size = margay_size();
	nx.hand = &nx_hand;             /* null if it is not linked */
	nx.awaited = -1;
	nx.info_length = (uint64_t)-1;
	nx.info_type = nx.info_node = nx.info_ptype = -1;
	if (nx.size > (int)SLOTS / 2) {
		fprintf(stderr, "margay: NX takes at most %u ranks\n", SLOTS / 2);
		margay_end_job(1);
	}
	must(PtlInit(NULL), "PtlInit");
	must(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &nx.ni), "PtlNIInit");
	must(PtlNIStatus(nx.ni, PTL_SR_INLINE, &nx.inline_bytes), "PtlNIStatus");
	open_memory();
	open_queues();
	open_descriptors();
	open_entries();
	must(PtlNIBarrier(nx.ni), "another rank has ended");
}

/* ---- names and clocks ---- */

long mynode(void)
{
	return nx.rank;
}

long numnodes(void)
{
	return nx.size;
}

long myptype(void)
{
	return 0;
}

double dclock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

unsigned long mclock(void)
{
	return (unsigned long)(dclock() * 1e3);
}

void led(long state)
{
	(void)state;
}

void flick(void)
{
	nx_enter();
	nx_progress();
	nx_leave();
}
