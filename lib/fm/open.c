/*
 * Opening and closing: memory, Portals objects, the peers; handlers by index; the barrier. Owns the
 * one instance. Called by the program.
 */
#include "inner.h"
#include <errno.h>
#include <stdlib.h>

struct fm fm;

static int fail(int error)
{
	errno = error;
	return -1;
}

/* The largest power of two that is at most n. */
static unsigned power_below(unsigned n)
{
	return 1u << (31 - __builtin_clz(n));
}

_Static_assert(RINGS_BYTES / FM_RANKS / PACKETS_OF_RING >= GATHER_PIECE,
	       "a piece that is gathered fits into a packet");

/* Counts of queues are rounded up to powers of two. */
MARGAY_EVENT_SLOTS(UNITS_OF_ALL + CONTROL_SLOTS_MANY + 1024 + SPARE_SLOTS);
_Static_assert(SEND_SLOTS + FM_RANKS <= 1024, "the queue of sends");

/* Chooses the sizes of ring, units and packets by the number of ranks. */
static void choose_sizes(void)
{
	unsigned share = RINGS_BYTES / power_below(2 * fm.ranks - 1);

	fm.ring_bytes = share < RING_MOST ? share : RING_MOST;
	fm.units = UNITS_OF_ALL / power_below(2 * fm.ranks - 1);
	/* Twice this is a ring and a packet of FM_INLINE bytes more than the longest, less a unit. */
	fm.kept = fm.units / 2 + (fm.units / PACKETS_OF_RING + 1) / 2;
	fm.unit_shift = (unsigned)__builtin_ctz((unsigned)fm.ring_bytes / fm.units);
	fm.packet_bytes = fm.ring_bytes / PACKETS_OF_RING;
	fm.gather_bytes = fm.packet_bytes < GATHER_BYTES ? fm.packet_bytes : GATHER_BYTES;
}

static int open_memory(void)
{
	unsigned streams = fm.ranks * FM_STREAMS;

	fm.out_count = streams < OUTGOING_MOST ? streams : OUTGOING_MOST;
	fm.rings = aligned_alloc(64, fm.ring_bytes * fm.ranks);
	fm.peers = calloc(fm.ranks, sizeof(*fm.peers));
	fm.out_pool = calloc(fm.out_count, sizeof(*fm.out_pool));
	if (!fm.rings || !fm.peers || !fm.out_pool || fm_threads_open())
		return -1;
	for (unsigned i = 0; i < fm.ranks; i++) {
		fm.peers[i].process = margay_process((int)i);
		fm.peers[i].limit = fm.peers[i].told = fm.units;
	}
	for (unsigned i = fm.out_count; i-- > 0; ) {
		fm.out_pool[i].next = fm.out_free;
		fm.out_free = &fm.out_pool[i];
	}
	fm.out_end = fm.out_pool + fm.out_count;
	fm.credit_end = &fm.credit_first;
	return 0;
}

static int expose(int index, unsigned portal, void *start, size_t bytes, unsigned options,
		  ptl_handle_eq_t eq)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t md = {
		.start = start, .length = bytes, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | options, .eq_handle = eq,
	};
	ptl_handle_md_t handle;
	int error = PtlMEAttach(fm.ni, portal, any_process, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER,
				&fm.entries[index]);

	return error == PTL_OK ? PtlMDAttach(fm.entries[index], md, PTL_RETAIN, &handle) : error;
}

static int bind(void *start, size_t bytes, unsigned options, ptl_handle_eq_t eq, void *user,
		ptl_handle_md_t *handle)
{
	const ptl_md_t md = {
		.start = start, .length = bytes, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_EVENT_START_DISABLE | options, .user_ptr = user, .eq_handle = eq,
	};

	return PtlMDBind(fm.ni, md, PTL_RETAIN, handle);
}

/* Adds stages of one length to a free list; their memory is contiguous. */
static int add_stages(struct stage *stages, int count, char *memory, size_t bytes,
		      struct stage **free)
{
	for (int i = 0; i < count; i++) {
		struct stage *stage = &stages[i];

		stage->bytes = memory + (size_t)i * bytes;
		if (bind(stage->bytes, bytes, 0, fm.queues[QUEUE_SENDS], stage, &stage->md) != PTL_OK)
			return PTL_NO_SPACE;
		stage->free = free;
		stage->next = *free;
		*free = stage;
	}
	return PTL_OK;
}

/* Allocates copies of packets, if the link reads them after the call that sends them. */
static int open_stages(void)
{
	const size_t short_bytes = (size_t)STAGES * GATHER_BYTES;
	ptl_sr_value_t value = 0;

	PtlNIStatus(fm.ni, PTL_SR_INLINE, &value);
	fm.inline_bytes = value;
	fm.one_packet = value < fm.packet_bytes ? value : fm.packet_bytes;
	if (value >= fm.packet_bytes)
		return PTL_OK;
	fm.stage_pool = calloc(STAGES + LONG_STAGES, sizeof(*fm.stage_pool));
	fm.stage_memory = malloc(short_bytes + LONG_STAGES * fm.packet_bytes);
	if (!fm.stage_pool || !fm.stage_memory ||
	    add_stages(fm.stage_pool, STAGES, fm.stage_memory, GATHER_BYTES, &fm.stages) != PTL_OK)
		return PTL_NO_SPACE;
	return add_stages(fm.stage_pool + STAGES, LONG_STAGES, fm.stage_memory + short_bytes,
			  fm.packet_bytes, &fm.long_stages);
}

static int open_portals(void)
{
	const ptl_size_t slots[QUEUES] = {
		UNITS_OF_ALL, fm.ranks > FEW_RANKS ? CONTROL_SLOTS_MANY : CONTROL_SLOTS,
		SEND_SLOTS + fm.ranks,
	};

	if (PtlInit(0) != PTL_OK ||
	    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &fm.ni) != PTL_OK)
		return -1;
	for (int i = 0; i < QUEUES; i++)
		if (PtlEQAlloc(fm.ni, slots[i], PTL_EQ_HANDLER_NONE, &fm.queues[i]) != PTL_OK)
			return -1;
	if (expose(0, PORTAL_PACKETS, fm.rings, fm.ring_bytes * fm.ranks, PTL_MD_MANAGE_REMOTE,
		   fm.queues[QUEUE_ARRIVALS]) != PTL_OK ||
	    expose(1, PORTAL_CONTROL, 0, 0, PTL_MD_ACK_DISABLE,
		   fm.queues[QUEUE_CONTROL]) != PTL_OK ||
	    expose(2, PORTAL_PROBE, 0, 0, PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE) != PTL_OK)
		return -1;
	if (bind(0, UINT64_MAX, PTL_MD_SPAN | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE, 0,
		 &fm.plain) != PTL_OK ||
	    bind(0, UINT64_MAX, PTL_MD_SPAN, fm.queues[QUEUE_SENDS], 0, &fm.reported) != PTL_OK ||
	    bind(0, 0, PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, fm.queues[QUEUE_SENDS], 0,
		 &fm.asked) != PTL_OK)
		return -1;
	return open_stages() == PTL_OK ? 0 : -1;
}

/* Frees everything that FM_initialize has made so far. */
static void release_all(void)
{
	for (unsigned i = 0; i < fm.thread_count; i++)
		if (fm.threads[i].direct)
			fm_ungrant(&fm.threads[i]);
	for (int i = 0; i < 3; i++)
		if (fm.entries[i])
			while (PtlMEUnlink(fm.entries[i]) == PTL_ME_IN_USE)
				fm_sleep(1);
	for (int i = 0; fm.stage_pool && i < STAGES + LONG_STAGES; i++)
		if (fm.stage_pool[i].md)
			PtlMDUnlink(fm.stage_pool[i].md);
	for (int i = 0; i < 3; i++) {
		const ptl_handle_md_t md[] = { fm.plain, fm.reported, fm.asked };

		if (md[i])
			PtlMDUnlink(md[i]);
	}
	for (int i = 0; i < QUEUES; i++)
		if (fm.queues[i])
			PtlEQFree(fm.queues[i]);
	if (fm.ni)
		PtlNIFini(fm.ni);
	for (unsigned i = 0; fm.peers && i < fm.ranks; i++)
		free(fm.peers[i].assembly);
	fm_threads_close();
	free(fm.rings);
	free(fm.peers);
	free(fm.out_pool);
	free(fm.stage_pool);
	free(fm.stage_memory);
	fm = (struct fm){ .opens = 0 };
}

int FM_initialize(void)
{
	int error;

	if (fm.opens) {
		fm.opens++;
		return 0;
	}
	if (margay_size() > FM_RANKS)
		return fail(EOPNOTSUPP);
	fm.rank = (unsigned)margay_rank();
	fm.ranks = (unsigned)margay_size();
	choose_sizes();
	if (open_memory() || open_portals()) {
		release_all();
		return fail(ENOMEM);
	}
	error = PtlNIBarrier(fm.ni);
	if (error != PTL_OK) {
		release_all();
		return fail(EHOSTDOWN);
	}
	fm.opens = 1;
	return 0;
}

/* Waits until all that this rank has sent has arrived: a rank answers a probe after that. */
static void await_arrivals(void)
{
	for (unsigned i = 0; i < fm.ranks; i++)
		fm_await_answer(&fm.peers[i]);  /* to a probe that may be older than the last put */
	for (unsigned i = 0; i < fm.ranks; i++)
		while (!fm_ask(&fm.peers[i]))
			fm_sleep(1);
	for (unsigned i = 0; i < fm.ranks; i++)
		fm_await_answer(&fm.peers[i]);
}

/* Over cards a lost packet may be retransmitted after FM_barrier. It must not arrive in the rings of
 * the next FM_initialize, so no rank closes before all packets have arrived. */
int FM_finalize(void)
{
	int error;

	if (!fm.opens)
		return fail(EINVAL);
	if (fm.current)
		return fail(EBUSY);
	if (fm.opens > 1) {
		fm.opens--;
		return 0;
	}
	error = FM_barrier();
	if (!error) {
		await_arrivals();
		error = PtlNIBarrier(fm.ni) != PTL_OK;
	}
	release_all();
	return error ? fail(EHOSTDOWN) : 0;
}

/* ---- barrier ---- */

/* Whether a rank is known to be gone: 1, or 2 if it has died rather than ended. Probes the others. */
static int any_gone(void)
{
	int gone = 0;

	for (unsigned i = 0; i < fm.ranks; i++) {
		fm_ask(&fm.peers[i]);
		if (fm.peers[i].dead)
			gone |= fm.peers[i].died ? 2 : 1;
	}
	return gone;
}

/* Dissemination: in round k each rank signals rank + 2^k and waits for the signal of rank - 2^k. A
 * rank that gives up does not signal, so each rank probes all others. A rank that has ended may
 * have passed the last barrier, with its signal still under way. */
int FM_barrier(void)
{
	int idle = 0;

	if (!fm.opens)
		return fail(EINVAL);
	if (fm.current)
		return fail(EBUSY);
	fm.barriers++;
	for (unsigned round = 0, step = 1; step < fm.ranks; round++, step *= 2) {
		fm_tell(&fm.peers[(fm.rank + step) % fm.ranks],
			CONTROL_BARRIER | (uint64_t)round << 8, 0);
		for (fm_look(); fm_ahead(fm.signals[round], fm.barriers) < 0; fm_look()) {
			int gone;

			if (!fm_serve() && !fm_take_packet())
				fm_sleep(PROBE_MS);
			if (!fm_is_due())
				continue;
			gone = any_gone();
			fm_look();              /* it may have come before the death */
			if (fm_ahead(fm.signals[round], fm.barriers) >= 0)
				break;
			if (gone > 1 || (gone && ++idle * PROBE_MS > ENDED_MS))
				return fail(EHOSTDOWN);
		}
	}
	return 0;
}

/* ---- handlers, limits, counters ---- */

int FM_register(unsigned index, FM_handler *handler)
{
	if (index >= FM_HANDLERS)
		return fail(EINVAL);
	fm.handlers[index] = (struct handler){ .two = handler };
	return 0;
}

int FM_register_1(unsigned index, FM_handler_1 *handler)
{
	if (index >= FM_HANDLERS)
		return fail(EINVAL);
	fm.handlers[index] = (struct handler){ .one = handler };
	return 0;
}

int FM_get_limits(struct FM_limits *limits)
{
	if (!limits || !fm.opens)
		return fail(EINVAL);
	*limits = (struct FM_limits){
		.packet_bytes = fm.packet_bytes, .ring_bytes = fm.ring_bytes,
		.credits = fm.units, .stacks = fm.thread_count,
	};
	return 0;
}

int FM_get_counters(struct FM_counters *counters)
{
	if (!counters || !fm.opens)
		return fail(EINVAL);
	*counters = fm.counters;
	return 0;
}
