/*
 * The fuzzer of frames: the whole way of what arrives, from the card's bytes
 * through link and engine to the segment. An input is a list of steps of 32
 * bytes: a frame (right but for some field, damaged, or made of the input's own
 * bytes), a message in several of them, a while, the card's completions, an operation of
 * this node's own. The first step also says what kind of job it is (enum job).
 *
 * After every step the link must be consistent (consistent.c), and only the offered part of the
 * segment may have changed. A frame with a wrong length, checksum or tag has no effect. At the end
 * all peers are given up, and then no record may be in use. Link and block are between inaccessible
 * pages; the code counts its basic blocks, so an endless loop is found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fuzz_frames.h"
#include "../../../net/frames/state.h"
#include "../../../net/link/wire.h"
#include "../../../net/portals/eq.h"
#include "../../../net/portals/md.h"
#include "../../../net/portals/me.h"
#include "../../../net/portals/op.h"

#define GUARD       (1ULL << 20)
#define SEGMENT     32768u
#define OFFERED     4096u          /* the segment's first part, offered to peers */
#define BASE        0x40000000ULL
#define MTU         (WIRE_DATA + 256u)
#define MOST_EDGES  200000u
#define MOST_CARD   8u             /* frames that the card holds */
#define BULK_RING   4u             /* buffers that the bulk card holds */
#define ANNOUNCE    600u
#define BULK_MTU    (WIRE_HEADER + 4096u + 128u)
#define PIECES      20u            /* of a source in pieces */
#define READ_INDEX  OFFERED        /* the owner's words for the engine, after the offered part */
#define VECTOR      (OFFERED + 64)

struct process_view view;
static uint8_t *fresh_block, *memory, shadow[SEGMENT], pattern[SEGMENT];
static uint64_t memory_bytes, block_size, now;
static struct frames *frames;
struct link *link_;
struct nic nic;
uint32_t job;
handle_t source;
static struct nic bulk;
static struct receive_buffer {
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t n;
} buffers[BULK_RING];
static uint32_t posted;
static struct {
	struct nic *nic;
	uint64_t cookie;
} card[MOST_CARD];                     /* frames that the cards hold */
static uint32_t held, card_is_full;
static uint32_t broken, was_broken;    /* the block's lock cannot be taken */
static handle_t pieces, whole, few;    /* sources: in pieces, the whole segment, and a short one */
static uint32_t edges;

const struct block_limits limits = {
	.portals = 4, .acs = 4, .mes = 4, .mds = 5, .eqs = 2, .ops = 4, .slots = 64,
	.pieces = PIECES
};

void frames_fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

void fuzz_edge(void);
void fuzz_edge(void)
{
	if (++edges > MOST_EDGES)
		frames_fail("a call does not end");
}

/* ---- the port and the card ---- */

uint64_t frames_port_now(void *context)
{
	(void)context;
	return now;
}

int frames_port_lock(void *context)
{
	(void)context;
	return !broken;
}

void frames_port_unlock(void *context)
{
	(void)context;
}

void frames_port_upcall(void *context)
{
	(void)context;
}

void frames_port_lost(void *context, uint32_t node)
{
	(void)context, (void)node;
}

/* Frames sent must be correct. */
static void check_right(const uint8_t *frame, uint32_t bytes)
{
	uint32_t node = (uint32_t)frame[4] << 8 | frame[5];
	struct wire wire;

	for (uint32_t at = 0, each; at < bytes; at += each) {
		MUST(at == 0 || wire_follows(frame, frame + at, bytes - at));
		each = wire_first(frame + at, bytes - at);
		MUST(wire_read(frame + at, each, node, job_key(), &wire) == WIRE_OK);
		MUST(wire.node == 0);
	}
}

static int card_send(struct nic *self, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	static uint8_t frame[65536];
	uint32_t bytes = 0;

	if (card_is_full == 2)
		return NIC_DOWN;
	if (card_is_full || held == MOST_CARD)
		return NIC_FULL;
	MUST(n >= 1 && n <= NIC_PIECES);
	for (uint32_t i = 0; i < n; i++) {
		MUST(pieces[i].length > 0 && bytes + pieces[i].length <= self->mtu);
		memcpy(frame + bytes, pieces[i].bytes, pieces[i].length);
		bytes += pieces[i].length;
	}
	check_right(frame, bytes);
	card[held].nic = self;
	card[held++].cookie = cookie;
	return NIC_OK;
}

/* Arriving frames are delivered by the steps. */
static uint32_t card_poll(struct nic *self, uint32_t budget)
{
	(void)self, (void)budget;
	return 0;
}

static const struct nic_ops ops = { .name = "fuzzed", .send = card_send, .poll = card_poll };

static int bulk_post(struct nic *self, const struct nic_piece *pieces, uint32_t n,
		     int interrupt)
{
	(void)self, (void)interrupt;
	if (card_is_full)
		return card_is_full == 2 ? NIC_DOWN : NIC_FULL;
	if (posted == BULK_RING)
		return NIC_FULL;
	MUST(n <= NIC_BULK_PIECES);
	buffers[posted].n = n;
	for (uint32_t i = 0; i < n; i++)
		buffers[posted].pieces[i] = pieces[i];
	posted++;
	return NIC_OK;
}

static void bulk_withdraw(struct nic *self)
{
	(void)self;
	posted = 0;
}

static const struct nic_ops bulk_ops = { .name = "fuzzed", .send = card_send, .poll = card_poll,
					 .post = bulk_post, .withdraw = bulk_withdraw };

/* The bulk card writes a frame into its oldest buffer; bytes that do not fit are lost. */
void land(const uint8_t *frame, uint32_t bytes)
{
	uint8_t header[NIC_BULK_HEADER] = { 0 };
	uint32_t at = NIC_BULK_HEADER;

	if (!posted)
		return;
	memcpy(header, frame, bytes < sizeof(header) ? bytes : sizeof(header));
	for (uint32_t i = 0; i < buffers[0].n && at < bytes; i++) {
		uint32_t n = buffers[0].pieces[i].length;

		if (n > bytes - at)
			n = bytes - at;
		memcpy((void *)buffers[0].pieces[i].bytes, frame + at, n);
		at += n;
	}
	memmove(buffers, buffers + 1, --posted * sizeof(buffers[0]));
	bulk.landed(bulk.context, header, bytes);
}

/* The card has read its oldest frame. */
static void complete(void)
{
	struct nic *self = card[0].nic;
	uint64_t cookie = card[0].cookie;

	if (!held)
		return;
	memmove(card, card + 1, --held * sizeof(card[0]));
	self->sent(self->context, cookie);
}

/* ---- the world ---- */

static uint8_t *guarded(uint64_t bytes)
{
	uint64_t whole = (bytes + 4095) & ~4095ull;
	uint8_t *map = mmap(0, whole + 2 * GUARD, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED || mprotect(map + GUARD, whole, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(1);
	}
	return map + GUARD;
}

static struct link_config configuration(void)
{
	struct link_config config = link_defaults(0, NODES, 1000);

	config.sends = 6;
	config.answers = 3;
	config.assemblies = config.stashes = 3;
	config.transmits = 5;
	config.tries = 3;
	config.announce = ANNOUNCE;
	config.check_payload = !!(job & JOB_CHECKED);
	config.keyed = !!(job & JOB_KEYED);
	if (config.keyed)
		memcpy(config.key, job_key(), sizeof(config.key));
	return config;
}

static void make(void)
{
	struct link_config config = configuration();     /* of the job with the largest tables */

	block_size = block_bytes(&limits);
	view = (struct process_view){ .pid = 1, .uid = 1000, .jid = 7, .base = BASE,
				      .bytes = SEGMENT, .memory = guarded(SEGMENT) };
	view_init(&view, guarded(block_size), block_size, &limits);
	fresh_block = calloc(1, block_size);
	for (uint32_t i = 0; i < SEGMENT; i++)
		pattern[i] = (uint8_t)(i * 7);
	memory_bytes = frames_bytes(&config, &limits);
	memory = guarded(memory_bytes);
	nic.ops = &ops;
	wire_address(nic.address, 0, 0);
	bulk.ops = &bulk_ops;
	bulk.mtu = BULK_MTU;
	bulk.ring = BULK_RING;
	wire_address(bulk.address, 0, 1);
}

/* A source in pieces of odd lengths, more than a frame can have. */
static handle_t in_pieces(const struct md_args *like)
{
	struct md_args md = *like;
	struct iovec_args vector[PIECES];
	uint64_t at = 0;
	handle_t handle;

	for (uint32_t i = 0; i < PIECES; i++) {
		vector[i] = (struct iovec_args){ BASE + at, 7 + 13 * i };
		at += vector[i].bytes + i % 3;
	}
	memcpy(view.memory + VECTOR, vector, sizeof(vector));
	md.start = BASE + VECTOR;
	md.length = PIECES;
	md.options = MD_IOVEC;
	MUST(md_bind(&view, &md, UNLINK_NEVER, &handle) == 0);
	return handle;
}

static void begin_input(void)
{
	struct link_config config = configuration();
	struct me_args me = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
			      .position = INSERT_AFTER };
	struct md_args md = { .start = BASE, .length = OFFERED, .threshold = MD_THRESH_INF,
			      .options = MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE | MD_TRUNCATE,
			      .eq_handle = EQ_NONE };
	struct eq_info queue;
	handle_t handle, attached;

	memset(view.block, 0, block_size);
	block_init(&view);
	block_open(&view);
	memcpy(view.memory, pattern, SEGMENT);
	if (job & JOB_EVENTS) {
		MUST(eq_alloc(&view, 32, BASE + READ_INDEX, 1, &queue) == 0);
		md.eq_handle = queue.handle;
	}
	if (job & JOB_SILENT)
		md.options |= MD_ACK_DISABLE;
	MUST(me_attach(&view, 2, &me, &handle) == 0);
	MUST(md_attach(&view, handle, &md, UNLINK_NEVER, &attached) == 0);
	md.options = 0;
	MUST(md_bind(&view, &md, UNLINK_NEVER, &source) == 0);
	pieces = in_pieces(&md);
	md.length = SEGMENT;
	MUST(md_bind(&view, &md, UNLINK_NEVER, &whole) == 0);
	md.length = LINK_FAST_BYTES - 9;
	MUST(md_bind(&view, &md, UNLINK_NEVER, &few) == 0);
	memset(memory, 0xa5, memory_bytes);
	now = 1000000;
	nic.mtu = job & JOB_LONG ? BULK_MTU : MTU;
	nic.ring = job & JOB_CROWDED ? 4 : 64;
	held = card_is_full = broken = was_broken = 0;
	frames = frames_open(memory, &config, &nic, &bulk, &view, 0);
	link_ = frames->link;
	posted = 0;
	memcpy(shadow, view.memory, SEGMENT);
}

/* ---- steps ---- */

static void operate(const struct step *step)
{
	struct initiator_args args = {
		.md = step->flags & 8 ? pieces : source, .put_md = source,
		.target_nid = step->node % (NODES + 1), .target_pid = 1,
		.pt_index = 2, .match_bits = 5, .local_offset = step->offset % OFFERED,
		.length = step->length % 1500, .ack = step->flags & 1,
		.operation = step->how & 1 ? MESSAGE_ATOMIC : MESSAGE_PUT,
		.atomic_operation = step->more % (ATOMIC_OPERATIONS + 1), .datatype = step->more / 16
	};

	if ((step->flags & 8) && (step->flags >> 1 & 3) == 0 && (step->more & 0x80)) {
		args.md = whole;
		args.local_offset %= 1024;
		args.length = 600 + step->length % 20000;
	}
	switch (step->flags >> 1 & 3) {
	case 0:
		frames_start(frames, &args);
		break;
	case 1:
		args.operation = MESSAGE_GET;
		frames_start(frames, &args);
		break;
	case 2:
		args.operation = step->how & 1 ? MESSAGE_FETCH_ATOMIC : MESSAGE_GETPUT;
		frames_start(frames, &args);
		break;
	default:
		if (step->how & 1) {
			frames_signal(frames, step->node % (NODES + 1), step->more);
			break;
		}
		frames_ended(frames, step->node % NODES, 0);
	}
}

/* An announced message, if there is a record for it. */
static void send_long(const struct step *step)
{
	struct initiator_args args = {
		.md = whole, .target_nid = step->node % (NODES + 1), .target_pid = 1, .pt_index = 2,
		.match_bits = 5, .local_offset = step->offset % 1024,
		.length = ANNOUNCE + step->value % 20000, .ack = step->flags & 1,
		.operation = MESSAGE_PUT
	};

	frames_start(frames, &args);
}

/* A put on the fast path, if possible. */
static void send_fast(const struct step *step)
{
	struct initiator_args args = {
		.md = step->flags & 8 ? source : few, .target_nid = step->node % (NODES + 1),
		.target_pid = 1, .pt_index = 2, .match_bits = 5, .length = LENGTH_WHOLE,
		.operation = MESSAGE_PUT
	};
	uint64_t due;

	frames_fast_put(frames, &args, &due);
}

static uint32_t kind_of(const struct step *step)
{
	uint32_t last = step->kind >> 4;

	return last >= STEP_BULK && last <= STEP_FAST ? last : step->kind % STEP_KINDS;
}

static void do_step(const struct step *step)
{
	edges = 0;
	switch (kind_of(step)) {
	case STEP_RAW:
		if (step->how & 1) {
			hand_up((const uint8_t *)step, step->bit % 33);
			break;
		}
		/* fall through */
	case STEP_FRAME:
		arrive(step, 0);
		break;
	case STEP_BULK:
		if (step->how == 0xff) {
			posted = 0;
			bulk.landed(bulk.context, 0, 0);
			break;
		}
		arrive(step, 1);
		break;
	case STEP_TIME:
		now += step->how & 1 ? step->value : step->value & 0xfffff;
		if (step->how & 2)
			break;                 /* no node has noticed it yet */
		if (step->how & 4)
			frames_pause(frames, step->how >> 3 & 1);
		frames_poll(frames, 1);
		MUST(frames_next_poll(frames, 0).at >= now);
		/* Until all messages have ended there is a next time. */
		MUST(frames_next_poll(frames, 0).at != LINK_NEVER || !link_figures(link_).sends);
		break;
	case STEP_DONE:
		complete();
		break;
	case STEP_CARD:
		card_is_full = step->how % 3;
		broken = step->how >> 4 & 1;
		was_broken |= broken;
		break;
	case STEP_OWN:
		operate(step);
		break;
	case STEP_LONG:
		send_long(step);
		break;
	case STEP_FAST:
		send_fast(step);
		break;
	}
	link_check(link_);
	MUST(posted <= BULK_RING && (posted > 0) == link_look(link_, 1, 0).has_posted);
	/* Memory that was not offered must be unchanged. */
	MUST(!memcmp(view.memory + OFFERED, shadow + OFFERED, SEGMENT - OFFERED));
}

/* When every peer is given up and the card has read its frames, everything ends. */
static void end_input(void)
{
	card_is_full = 2;
	broken = 0;
	for (uint32_t node = 1; node < NODES; node++) {
		edges = 0;
		frames_ended(frames, node, 0);
	}
	while (held)
		complete();
	link_check(link_);
	MUST(link_figures(link_).records == 0);
	MUST(posted == 0);
	MUST(frames_pending(frames) == 0);
	/* Operations that ended while the lock could not be taken have not ended in the block. */
	if (!was_broken) {
		MUST(view.block->pools[POOL_OP].used == 0);
		MUST(block_pending(&view) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step step;

	if (!memory)
		make();
	if (getenv("FUZZ_FAIL"))
		frames_fail("asked to fail");
	job = size ? (data[0] % 0xb0) / STEP_KINDS | (data[0] < 0xb0 ? 0 : JOB_LONG) : 0;
	begin_input();
	for (size_t at = 0; at + sizeof(step) <= size && at < 64 * sizeof(step); at += sizeof(step)) {
		memcpy(&step, data + at, sizeof(step));
		if (getenv("FUZZ_TRACE"))
			fprintf(stderr, "kind %u node %u how %02x flags %02x\n",
				kind_of(&step), step.node, step.how, step.flags);
		do_step(&step);
	}
	end_input();
	return 0;
}
