/*
 * The self-tests `frames` (all parts), `framesizes` (the first two), `framehalves` and
 * `framestreams`: raw frames from node 0 to node 1, with nothing above the driver. Their figures
 * are the limit for messages (tests/bench/cards.py), and tests/test_nic.py checks them. Called by
 * selftest.c before the application starts. Data: the part that is running.
 *
 *   sizes    frames of many sizes from 60 bytes to the largest, over every card,
 *            each byte checked: frames_CARD_sent, _good, _bad
 *   others   frames for another address: frames_strangers that got through
 *   halves   a frame of 64 bytes back and forth, polled, and halted until an
 *            interrupt: NAME_raw_half_rtt_polled_us, _halted_us, the smaller one as
 *            NAME_raw_half_rtt_us
 *   streams  one way at full speed, from 1 MiB of memory: NAME_raw_MBps_SIZE, of 64
 *            bytes NAME_raw_rate_per_s; NAME_raw_lost_SIZE of them did not arrive. The
 *            largest also to 1 MiB of memory: node 1 copies them, _raw_copied_MBps_SIZE, or
 *            a bulk card puts them there, _raw_bulk_MBps_SIZE; and all from and to 64 KiB
 *
 * Nothing here waits for a frame for ever. A frame that does not come within LOST_NS (or LATE_NS;
 * PART_NS for the last of a part) is lost, and a part that loses PATIENCE of them in a row ends.
 * Shared memory only tells node 0 how far node 1 has come, so that it does not lose frames because
 * node 1 is slower, and tells node 1 that a part is over.
 *
 * Frames are made in the middle of the segment, which is zeroed afterwards.
 */
#include "selftest_frames.h"

#include <margay/abi.h>

#include "drivers/ivshmem.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/cards.h"
#include "net/nic.h"
#include "net/port.h"
#include "net/shm/region.h"
#include "selftest_late.h"
#include "selftest_places.h"

#define ETHERTYPE    0xb588u       /* 0x88b5, big-endian */
#define LOST_NS      20000000UL
#define LATE_NS      400000000UL   /* where late frames are not lost */
#define PATIENCE     25u           /* lost frames in a row */
#define PART_NS      2000000000UL  /* no part takes longer */
#define NAP_NS       5000000UL     /* longest halt before shared memory is read again */
#define TRIPS_POLLED 10000u
#define TRIPS_HALTED 5000u
#define SMALL        64u
#define WINDOW_BYTES (2u << 20)    /* sent and not yet seen by node 1 */
#define WINDOW_MOST  512u          /* frames; node 1 rings for a quarter of it */
#define STREAM_BYTES (256u << 20)
#define RATE_FRAMES  100000u
#define BUDGET       64u
#define BUFFERS      1024u
#define STRANGERS    10u
#define HELLOS       100u
#define LEAST_MEMORY 65536u        /* least memory that a stream comes from */

/* A frame's first bytes. */
struct head {
	uint8_t to[6], from[6];
	uint16_t type;
	uint16_t zero;
	uint32_t part;             /* frames of other parts are late */
	uint32_t bytes;
	uint64_t sequence;         /* from 1 */
};
_Static_assert(sizeof(struct head) == 32, "no holes");

static struct {
	struct frames_shared *shared;
	void (*node_barrier)(void);
	struct nic *nic;
	uint32_t part;
	bool alarm;                /* the timer runs */
	bool halted;               /* an idle node halts */
	bool check;                /* node 1 checks every byte */
	bool copy;                 /* node 1 copies each frame */
	bool echo;                 /* node 1 sends each frame back */
	uint64_t window;           /* in a stream: how many frames node 0 may be ahead; else 0 */
	struct head *heads;        /* BUFFERS of them */
	uint8_t *places;           /* PLACES_BYTES: selftest_places.c */
	uint32_t busy;             /* heads that the card may still read */
	uint32_t next;             /* next head */
	uint64_t rung;             /* node 1: the last frame when it last rang node 0 */
	uint64_t answer;           /* node 1: sequence number of a frame to send back, or 0 */
	uint64_t answered;         /* sequence number of the last frame that came back */
	uint64_t first_ns, first_bytes; /* node 1: of this part */
} t;

/* ---- figures ---- */

static void say(const char *name, uint64_t value)
{
	char line[96];

	if (node.id == 0)
		console_write(STREAM_STDOUT, line,
		              format_text(line, sizeof(line), "%s %lu\n", name, value));
}

/* A figure of a stream, from and to `memory` bytes. */
static void say_of(uint32_t memory, const char *way, const char *figure, uint64_t size,
                   uint64_t value)
{
	char name[64];

	format_text(name, sizeof(name), "%s_raw_%s%s%s_%lu", t.nic->ops->name,
	            memory == LEAST_MEMORY ? "64K_" : "", way, figure, size);
	say(name, value);
}

static void say_us(const char *figure, uint64_t ps)
{
	char line[96];

	if (node.id == 0)
		console_write(STREAM_STDOUT, line,
		              format_text(line, sizeof(line), "%s_raw_%s %lu.%03lu\n",
		                          t.nic->ops->name, figure, ps / 1000000,
		                          ps / 1000 % 1000));
}

/* ---- frames ---- */

static void address(uint8_t *to, uint32_t nid)
{
	memcpy(to, t.nic->address, NIC_ADDRESS_BYTES);
	to[4] = (uint8_t)(nid >> 8);
	to[5] = (uint8_t)nid;
}

/* Halts, for NAP_NS at most. The timer keeps running while frames come: setting it wakes a thread
 * of the emulator, which costs more than the frame. */
static void nap(void)
{
	uint64_t before = node.counters[COUNTER_TIMER];

	if (!t.alarm) {
		t.alarm = true;
		ktimer_arm(deadline_in(NAP_NS));
	}
	cpu_halt();
	count(COUNTER_HALTS, 1);
	if (node.counters[COUNTER_TIMER] != before)
		t.alarm = false;
}

/* Halts until an interrupt, unless something came meanwhile. */
static void rest(void)
{
	if (!t.halted)
		return;
	t.nic->ops->interrupts(t.nic, 1);
	if (!t.nic->ops->poll(t.nic, BUDGET))
		nap();
	t.nic->ops->interrupts(t.nic, 0);
}

/* False: the card is down, or has no room for a long time. */
static bool send_to(uint32_t nid, uint64_t sequence, uint32_t bytes)
{
	struct head *head = &t.heads[t.next % BUFFERS];
	uint64_t deadline = deadline_in(LOST_NS);
	const struct nic_piece pieces[2] = {
		{ head, sizeof(*head) },
		{ places_source(bytes - (uint32_t)sizeof(*head)), bytes - (uint32_t)sizeof(*head) } };

	while (t.busy == BUFFERS) {
		if (now_ns() > deadline)
			return false;
		if (!t.nic->ops->poll(t.nic, BUDGET) && t.busy == BUFFERS)
			rest();
	}
	*head = (struct head){ .type = ETHERTYPE, .part = t.part, .bytes = bytes,
	                       .sequence = sequence };
	address(head->to, nid);
	memcpy(head->from, t.nic->address, NIC_ADDRESS_BYTES);
	for (;;) {
		int result;

		t.busy++;          /* sent() may be called before send() returns */
		result = t.nic->ops->send(t.nic, pieces, 2, 0);
		if (result == NIC_OK) {
			t.next++;
			return true;
		}
		t.busy--;
		if (now_ns() > deadline)
			return false;
		if (!t.nic->ops->poll(t.nic, BUDGET))
			rest();
	}
}

static void was_sent(void *context, uint64_t cookie)
{
	(void)context, (void)cookie;
	t.busy--;
}

/* Only node 1 writes these, and node 0 between two parts. */
static void add(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value,
	                      memory_order_relaxed);
}

static void got_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
	struct frames_shared *shared = t.shared;
	struct head head;

	(void)context;
	if (bytes < sizeof(head))
		return;
	memcpy(&head, frame, sizeof(head));
	if (head.type != ETHERTYPE || head.part != t.part)
		return;
	if (node.id == 0) {
		t.answered = head.sequence;
		return;
	}
	if (t.echo) {
		t.answer = head.sequence;
		return;
	}
	if (!t.first_ns) {
		t.first_ns = now_ns();
		t.first_bytes = bytes;
	}
	if (t.check && (head.bytes != bytes || !places_check(head.sequence, frame + sizeof(head),
	                                                     bytes - (uint32_t)sizeof(head))))
		add(&shared->bad, 1);
	if (t.copy)
		places_copy(frame + sizeof(head), bytes - (uint32_t)sizeof(head));
	add(&shared->bytes, bytes);
	add(&shared->frames, 1);
	if (head.sequence > atomic_load_explicit(&shared->last, memory_order_relaxed))
		atomic_store_explicit(&shared->last, head.sequence, memory_order_release);
}

/* ---- a part ---- */

static void clear_shared(void)
{
	atomic_store(&t.shared->last, 0);
	atomic_store(&t.shared->frames, 0);
	atomic_store(&t.shared->bad, 0);
	atomic_store(&t.shared->bytes, 0);
	atomic_store(&t.shared->ns, 0);
}

/* Node 0 may be halted because it is too far ahead. */
static void ring_for_progress(void)
{
	uint64_t last = atomic_load_explicit(&t.shared->last, memory_order_relaxed);

	if (t.window && last >= t.rung + t.window / 4) {
		t.rung = last;
		ivshmem_ring(0);
	}
}

/* Node 1's work: takes frames until node 0 says that the part is over. */
static void take_frames(void)
{
	uint64_t last = 0;

	while (atomic_load_explicit(&t.shared->over, memory_order_acquire) < t.part) {
		if (t.nic->ops->poll(t.nic, BUDGET)) {
			last = now_ns();
			ring_for_progress();
		} else if (!t.answer) {
			rest();
		}
		if (t.answer)
			send_to(0, t.answer, SMALL);
		t.answer = 0;
	}
	while (t.nic->ops->poll(t.nic, BUDGET))
		last = now_ns();
	if (t.first_ns && last > t.first_ns)
		atomic_store(&t.shared->ns, last - t.first_ns);
	add(&t.shared->bytes, -t.first_bytes);
}

/* Runs `work` on node 0 while node 1 takes frames. */
static void part(void (*work)(uint32_t), uint32_t argument, bool halted)
{
	t.part++;
	t.halted = halted;
	t.first_ns = t.first_bytes = t.answer = t.answered = t.rung = 0;
	if (node.id == 0)
		clear_shared();
	t.node_barrier();
	if (node.id == 0) {
		work(argument);
		atomic_store(&t.shared->over, t.part);
		ivshmem_ring(1);
	} else {
		take_frames();
	}
	t.node_barrier();
	t.echo = t.check = t.copy = false;
	t.window = 0;
}

/* Node 0: waits until node 1 has seen this frame; false: node 1 has seen no frame for `ns`. */
static bool await_last(uint64_t sequence, uint64_t ns)
{
	uint64_t deadline = deadline_in(ns), last, before = 0;

	while ((last = atomic_load_explicit(&t.shared->last, memory_order_acquire)) < sequence) {
		if (last != before)
			deadline = deadline_in(ns);
		else if (now_ns() > deadline)
			return false;
		before = last;
		if (!t.nic->ops->poll(t.nic, BUDGET))
			rest();
	}
	return true;
}

/* ---- sizes, others ---- */

static uint64_t sent_sizes;

static bool send_size(uint32_t bytes)
{
	uint64_t sequence = ++sent_sizes;

	places_fill(sequence, bytes - (uint32_t)sizeof(struct head));
	return send_to(1, sequence, bytes) && await_last(sequence, LATE_NS);
}

/* Steps of an eighth, and around multiples of 16 KiB, the size of a buffer. */
static void send_sizes(uint32_t unused)
{
	uint32_t lost = 0;

	(void)unused;
	sent_sizes = 0;
	for (uint32_t bytes = 60; bytes < t.nic->mtu && lost < PATIENCE / 5; bytes += bytes / 8)
		lost = send_size(bytes) ? 0 : lost + 1;
	for (uint32_t full = 16384; full <= t.nic->mtu; full += 16384)
		for (uint32_t less = 14; less >= 10 && lost < PATIENCE / 5; less--)
			lost = send_size(full - less) ? 0 : lost + 1;
	if (!send_size(t.nic->mtu))
		await_last(sent_sizes, PART_NS);
}

/* The emulator connects its end of the wire while the node boots, and drops frames that were sent
 * before. */
static void say_hello(uint32_t most)
{
	for (uint32_t i = 1; i <= most; i++)
		if (send_to(1, i, SMALL) && await_last(i, LOST_NS))
			return;
}

static void sizes(uint32_t number)
{
	char name[32];

	part(say_hello, HELLOS, false);
	t.check = true;
	part(send_sizes, 0, false);
	format_text(name, sizeof(name), "frames_%u_sent", number);
	say(name, sent_sizes);
	format_text(name, sizeof(name), "frames_%u_good", number);
	say(name, atomic_load(&t.shared->frames) - atomic_load(&t.shared->bad));
	format_text(name, sizeof(name), "frames_%u_bad", number);
	say(name, atomic_load(&t.shared->bad));
	t.node_barrier();
}

static void send_to_others(uint32_t unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= STRANGERS; i++)
		send_to(0xfffe, i, SMALL);
	send_to(1, STRANGERS + 1, SMALL);
	await_last(STRANGERS + 1, LATE_NS);
}

/* Node 1's card must filter out frames for others; the driver would count them. */
static void others(void)
{
	uint64_t before = t.nic->counters[NIC_DROPS_IN];

	part(send_to_others, 0, false);
	if (node.id == 1)
		atomic_store(&t.shared->strangers, t.nic->counters[NIC_DROPS_IN] - before);
	t.node_barrier();
	say("frames_strangers", atomic_load(&t.shared->strangers));
	t.node_barrier();
}

/* ---- halves ---- */

static uint64_t half_ps;           /* of the last round trips; 0: none came back */

static void round_trips(uint32_t trips)
{
	uint64_t ns = 0, returned = 0, end = deadline_in(PART_NS);
	uint32_t lost = 0;

	for (uint64_t i = 1; i <= trips && lost < PATIENCE && now_ns() < end; i++) {
		uint64_t start = now_ns();

		if (!send_to(1, i, SMALL)) {
			lost++;
			continue;
		}
		while (t.answered != i && now_ns() - start < LOST_NS)
			if (!t.nic->ops->poll(t.nic, BUDGET))
				rest();
		lost = t.answered == i ? 0 : lost + 1;
		if (!lost) {
			ns += now_ns() - start;
			returned++;
		}
	}
	half_ps = returned ? ns * 1000 / returned / 2 : 0;
	say("frames_trips", returned);
}

static void halves(void)
{
	uint64_t polled;

	t.echo = true;
	part(round_trips, TRIPS_POLLED, false);
	polled = half_ps;
	say_us("half_rtt_polled_us", polled);
	t.echo = true;
	part(round_trips, TRIPS_HALTED, true);
	say_us("half_rtt_halted_us", half_ps);
	say_us("half_rtt_us", half_ps && (half_ps < polled || !polled) ? half_ps : polled);
}

/* ---- streams ---- */

static uint64_t sent_stream;

static void stream_of(uint32_t bytes)
{
	uint64_t count = bytes == SMALL ? RATE_FRAMES :
	                 STREAM_BYTES / bytes & ~(PLACES_TELL - 1UL);
	uint64_t window = t.window, end = deadline_in(late_ns(PART_NS));
	uint64_t forgiven = 0;     /* frames that are not waited for any more */
	uint32_t lost = 0;

	sent_stream = 0;
	while (sent_stream < count && lost < PATIENCE && now_ns() < end) {
		if (sent_stream >= forgiven + window &&
		    sent_stream >= atomic_load_explicit(&t.shared->last, memory_order_acquire) +
		                   window) {
			/* late, not lost: more frames would not fit */
			bool come = await_last(sent_stream - window + 1, late_ns(LATE_NS));

			lost = come ? 0 : lost + 1;
			if (!come)
				forgiven = sent_stream;
		}
		if (send_to(1, sent_stream + 1, bytes))
			sent_stream++;
		else
			lost++;
	}
	await_last(sent_stream, late_ns(PART_NS));
}

static void stream(uint32_t bytes, uint32_t memory, const char *way)
{
	uint64_t ns, frames, arrived, most = t.nic->ring;

	if (bytes > t.nic->mtu)
		return;
	/* Frames that do not fit into virtio's ring wait in the wire; other cards drop them. */
	if (!strcmp(t.nic->ops->name, "virtio") || most > WINDOW_MOST)
		most = WINDOW_MOST;
	t.window = WINDOW_BYTES / bytes < most ? WINDOW_BYTES / bytes : most;
	t.copy = !strcmp(way, "copied_");
	places_start(t.places, memory);
	if (t.nic->ops->post && node.id == 1)
		places_open_rooms(t.nic, bytes, got_frame);
	part(stream_of, bytes, true);
	ns = atomic_load(&t.shared->ns);
	frames = atomic_load(&t.shared->frames);
	arrived = atomic_load(&t.shared->bytes);
	if (bytes == SMALL) {
		char name[32];

		format_text(name, sizeof(name), "%s_raw_rate_per_s", t.nic->ops->name);
		say(name, ns ? (frames - 1) * 1000000000UL / ns : 0);
	} else {
		say_of(memory, way, "MBps", bytes, ns ? arrived * 1000 / ns : 0);
	}
	/* a wire may duplicate frames */
	say_of(memory, way, "lost", bytes, frames < sent_stream ? sent_stream - frames : 0);
	if (t.nic->ops->post && node.id == 1)
		places_close_rooms(t.nic);
	t.node_barrier();
}

static void streams(uint32_t largest)
{
	stream(SMALL, PLACES_MOST, "");
	stream(1514, PLACES_MOST, "");
	stream(9014, PLACES_MOST, "");
	for (uint32_t memory = PLACES_MOST; memory >= LEAST_MEMORY; memory /= 16) {
		stream(largest, memory, "");
		stream(largest, memory, "copied_");
	}
}

/* Buffers end with a cache line, as those of messages do. */
static void bulk_streams(uint32_t largest)
{
	largest = NIC_BULK_HEADER + ((largest - NIC_BULK_HEADER) & ~63u);
	stream(largest, PLACES_MOST, "bulk_");
	stream(largest, LEAST_MEMORY, "bulk_");
}

/* ---- */

static struct nic before;          /* the card's user before */

static void use(struct nic *nic)
{
	t.nic = nic;
	before = *nic;
	nic->context = 0;
	nic->receive = got_frame;
	nic->sent = was_sent;
}

/* Late frames belong to the part, not to the card's next user. */
static void give_back(void)
{
	uint64_t deadline = deadline_in(LOST_NS);

	while ((t.nic->ops->poll(t.nic, BUDGET) || t.busy) && now_ns() < deadline)
		;
	t.node_barrier();
	cards_give_back(t.nic, &before);
}

bool selftest_frames(struct frames_shared *shared, void (*node_barrier)(void), unsigned parts)
{
	uint64_t middle = places_middle(BUFFERS * sizeof(*t.heads) + PLACES_BYTES);
	uint32_t largest;

	t.shared = shared;
	t.node_barrier = node_barrier;
	if (!cards_number()) {
		console_line("selftest: the nodes have no network cards (margay run --link virtio)");
		return false;
	}
	if (!middle) {
		console_line("selftest: the segment is too small (margay run --mem)");
		return false;
	}
	t.heads = (struct head *)(this_process()->segment.alias + middle);
	t.places = (uint8_t *)(t.heads + BUFFERS);
	places_start(t.places, 0);
	for (uint32_t i = 0; parts & FRAMES_SIZES && i < cards_number(); i++) {
		use(card(i));
		sizes(i);
		give_back();
	}
	use(card(0));
	if (parts & FRAMES_SIZES)
		others();
	else
		part(say_hello, HELLOS, false);
	if (parts & FRAMES_HALVES)
		halves();
	largest = t.nic->mtu < 60014 ? t.nic->mtu : 60014;
	if (parts & FRAMES_STREAMS)
		streams(largest);
	give_back();
	if (parts & FRAMES_STREAMS && cards_number() > 1 && card(1)->ops->post) {
		use(card(1));
		bulk_streams(largest);
		give_back();
	}
	ktimer_arm(NEVER);
	memset(t.heads, 0, BUFFERS * sizeof(*t.heads) + PLACES_BYTES);
	memset(shared, 0, sizeof(*shared));
	return true;
}
