/*
 * The fuzzer of frames: the whole way of what arrives, from the card's bytes
 * through link and engine to the segment. An input is a list of steps of 32
 * bytes: a frame (right but for some field, damaged, or made of the input's own
 * bytes), a while, the card's completions, an operation of this node's own.
 *
 * After every step the link must be consistent (consistent.c), and of the segment
 * only the part that was offered may have changed. At the end all peers are given up,
 * and then no record may be in use. Link and block lie between forbidden pages;
 * the code counts its basic blocks, so a loop without end is found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fuzz_frames.h"
#include "../../../net/link/wire.h"
#include "../../../net/portals/md.h"
#include "../../../net/portals/me.h"
#include "../../../net/portals/op.h"

#define GUARD       (1ULL << 20)
#define SEGMENT     8192u
#define OFFERED     4096u          /* the segment's first part */
#define BASE        0x40000000ULL
#define NODES       4u
#define MTU         (WIRE_DATA + 256u)
#define MOST_EDGES  200000u
#define MOST_CARD   8u             /* frames that the card holds */
#define MOST_ROOMS  4u             /* of the bulk card */
#define ANNOUNCE    600u

/* Kinds are modulo their number, but for STEP_BULK, which has 0xb0 to 0xbf. */
enum step_kind { STEP_FRAME, STEP_RAW, STEP_TIME, STEP_DONE, STEP_CARD, STEP_OWN, STEP_KINDS,
		 STEP_BULK };

struct step {
	uint8_t kind, node, how, flags;
	int8_t  sequence, ack;         /* off the ones that would be right */
	uint8_t incarnation, window;
	uint16_t bytes, length, offset, bit;
	uint64_t selective;
	uint8_t operation, header_at, header_value, more;
	uint32_t value;
};

_Static_assert(sizeof(struct step) == 32, "records of an input");

static struct process_view view;
static uint8_t *fresh_block, *memory, shadow[SEGMENT];
static uint64_t memory_bytes, block_size, now;
static struct frames *frames;
static struct link *link_;
static struct nic nic;
static struct nic bulk;
static struct room {
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t n;
} rooms[MOST_ROOMS];
static uint32_t posted;
static uint64_t card[MOST_CARD];       /* cookies of frames that it holds */
static uint32_t held, card_is_full;
static handle_t source;
static uint32_t edges;

static const struct block_limits limits = {
	.portals = 4, .acs = 4, .mes = 4, .mds = 4, .eqs = 2, .ops = 4, .outbox = 1, .slots = 64,
	.pieces = 8
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
	return 1;
}

void frames_port_unlock(void *context)
{
	(void)context;
}

void frames_port_wake(void *context, uint32_t events, int upcall)
{
	(void)context, (void)events, (void)upcall;
}

static int card_send(struct nic *self, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	static uint8_t frame[65536];
	uint32_t bytes = 0;
	struct wire wire;

	(void)self;
	if (card_is_full == 2)
		return NIC_DOWN;
	if (card_is_full || held == MOST_CARD)
		return NIC_FULL;
	MUST(n >= 1 && n <= NIC_PIECES);
	for (uint32_t i = 0; i < n; i++) {
		MUST(bytes + pieces[i].length <= MTU);
		memcpy(frame + bytes, pieces[i].bytes, pieces[i].length);
		bytes += pieces[i].length;
	}
	/* What leaves must be right. */
	MUST(wire_read(frame, bytes, (uint32_t)frame[4] << 8 | frame[5], 0, &wire) == WIRE_OK);
	MUST(wire.node == 0);
	card[held++] = cookie;
	return NIC_OK;
}

static const struct nic_ops ops = { .name = "fuzzed", .send = card_send };

static int bulk_post(struct nic *self, const struct nic_piece *pieces, uint32_t n)
{
	(void)self;
	if (card_is_full)
		return card_is_full == 2 ? NIC_DOWN : NIC_FULL;
	if (posted == MOST_ROOMS)
		return NIC_FULL;
	MUST(n <= NIC_BULK_PIECES);
	rooms[posted].n = n;
	memcpy(rooms[posted++].pieces, pieces, n * sizeof(*pieces));
	return NIC_OK;
}

static void bulk_take_back(struct nic *self)
{
	(void)self;
	posted = 0;
}

static const struct nic_ops bulk_ops = { .name = "fuzzed", .send = card_send, .post = bulk_post,
					 .take_back = bulk_take_back };

/* The bulk card writes a frame into its oldest room; one that is too long spoils it. */
static void land(const uint8_t *frame, uint32_t bytes)
{
	uint8_t header[NIC_BULK_HEADER] = { 0 };
	uint32_t at = NIC_BULK_HEADER;

	if (!posted)
		return;
	memcpy(header, frame, bytes < sizeof(header) ? bytes : sizeof(header));
	for (uint32_t i = 0; i < rooms[0].n && at < bytes; i++) {
		uint32_t n = rooms[0].pieces[i].length;

		if (n > bytes - at)
			n = bytes - at;
		memcpy((void *)rooms[0].pieces[i].bytes, frame + at, n);
		at += n;
	}
	if (rooms[0].n && at < bytes)
		return;
	memmove(rooms, rooms + 1, --posted * sizeof(rooms[0]));
	bulk.landed(bulk.context, header, bytes);
}

/* The card has read its oldest frame. */
static void complete(void)
{
	uint64_t cookie = card[0];

	if (!held)
		return;
	memmove(card, card + 1, --held * sizeof(card[0]));
	nic.sent(nic.context, cookie);
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

	config.peers = NODES - 1;
	config.sends = 6;
	config.answers = 3;
	config.assemblies = config.stashes = 3;
	config.transmits = 5;
	config.tries = 3;
	config.ring = 64;
	config.announce = ANNOUNCE;
	return config;
}

static void make(void)
{
	struct link_config config = configuration();

	block_size = block_bytes(&limits);
	view = (struct process_view){ .pid = 1, .uid = 1000, .jid = 7, .base = BASE,
				      .bytes = SEGMENT, .memory = guarded(SEGMENT) };
	view_init(&view, guarded(block_size), block_size, &limits);
	fresh_block = calloc(1, block_size);
	memory_bytes = frames_bytes(&config, &limits);
	memory = guarded(memory_bytes);
	nic.ops = &ops;
	nic.mtu = MTU;
	wire_address(nic.address, 0, 0);
	bulk.ops = &bulk_ops;
	bulk.mtu = MTU;
	bulk.ring = MOST_ROOMS;
	wire_address(bulk.address, 0, 1);
}

static void begin_input(void)
{
	struct link_config config = configuration();
	struct me_args me = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
			      .position = INSERT_AFTER };
	struct md_args md = { .start = BASE, .length = OFFERED, .threshold = MD_THRESH_INF,
			      .options = MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE | MD_TRUNCATE };
	handle_t handle, attached;

	memset(view.block, 0, block_size);
	block_init(&view);
	block_open(&view);
	for (uint32_t i = 0; i < SEGMENT; i++)
		view.memory[i] = (uint8_t)(i * 7);
	MUST(me_attach(&view, 2, &me, &handle) == 0);
	MUST(md_attach(&view, handle, &md, UNLINK_NEVER, &attached) == 0);
	md.options = 0;
	MUST(md_bind(&view, &md, UNLINK_NEVER, &source) == 0);
	memset(memory, 0xa5, memory_bytes);
	now = 1000000;
	held = card_is_full = 0;
	frames = frames_open(memory, &config, &nic, &view, 0);
	link_ = frames_link(frames);
	posted = 0;
	frames_bulk(frames, &bulk);
	memcpy(shadow, view.memory, SEGMENT);
}

/* ---- steps ---- */

/* The header of a message of that node: mostly one that the engine takes. */
static struct message header_of(const struct step *step, uint32_t node, uint64_t length)
{
	struct message m = { .operation = step->operation % (MESSAGE_OPERATIONS + 1),
			     .source_nid = node, .source_pid = 1, .target_pid = 1, .uid = 1000,
			     .jid = 7, .pt_index = 2, .match_bits = 5, .offset = step->value & 0xfff,
			     .length = length, .mlength = length };

	if (m.operation == MESSAGE_GET || m.operation == MESSAGE_ACK)
		m.length = step->value >> 12 & 0x3ff;
	if (m.operation == MESSAGE_ATOMIC || m.operation == MESSAGE_FETCH_ATOMIC) {
		m.atomic_operation = step->more % ATOMIC_OPERATIONS;
		m.datatype = step->more / 16 % ATOMIC_TYPES;
		if (m.atomic_operation == ATOMIC_CSWAP)
			m.length /= 2;
	}
	if (step->flags & 0x40) {
		m.ack_request = ACK_YES;
		m.op_handle = view.ops[step->more % limits.ops].handle;
		m.md_handle = source;
	}
	if (step->flags & 0x80)
		((uint8_t *)&m)[step->header_at % sizeof(m)] = step->header_value;
	return m;
}

static const uint8_t kinds[] = { WIRE_KIND_DATA, WIRE_KIND_ACK, WIRE_KIND_RESET,
				  WIRE_KIND_ANNOUNCE, WIRE_KIND_GRANT, WIRE_KIND_BULK,
				  WIRE_KIND_MARK, WIRE_KIND_BULK };

static void arrive(const struct step *step, int on_bulk)
{
	static uint8_t frame[WIRE_DATA + 65536];
	uint32_t node = 1 + step->node % (NODES - 1), lane = step->flags & 1;
	struct link_view at = link_look(link_, node, lane);
	struct wire wire = {
		.kind = step->how % 8 < 6 ? WIRE_KIND_DATA : step->how % 8 < 7 ? WIRE_KIND_ACK :
			WIRE_KIND_RESET,
		.lane = (uint8_t)lane, .again = step->flags >> 1 & 1, .over = step->flags >> 2 & 1,
		.source = 500u + (step->incarnation & 3), .destination = at.mine,
		.sequence = at.expected + (uint32_t)step->sequence, .ack = at.una + (uint32_t)step->ack,
		.selective = step->selective, .window = step->window,
		.refused = step->selective >> 7
	};
	uint8_t to[6], from[6];
	struct message message;
	uint32_t bytes, header;

	if (on_bulk)
		wire.kind = kinds[step->how % 8];
	wire.waits = step->flags >> 5 & 1 && wire.kind != WIRE_KIND_RESET &&
		wire.kind != WIRE_KIND_BULK && wire.kind != WIRE_KIND_MARK;
	wire.turn = at.turn + (uint32_t)(int8_t)step->header_at % 4;
	wire.part = wire.kind == WIRE_KIND_BULK && step->offset < 0x8000 ? at.part : step->offset % 8;
	wire.until = step->flags & 8 ? step->value : step->length % 8;
	wire.reach = step->bytes % 4;
	if (wire.kind == WIRE_KIND_GRANT)
		wire.sequence = at.una + (uint32_t)step->sequence;
	if (wire.kind == WIRE_KIND_BULK) {
		wire.sequence = at.bulk + (uint32_t)(step->sequence / 16);
		wire.bytes = step->flags & 16 ? 1 + step->bytes % 256 : at.part_bytes;
	}
	if (wire.kind == WIRE_KIND_ANNOUNCE) {
		wire.offset = step->flags & 16 ? 1 + step->bytes % 2048 : 256;
		wire.length = wire.offset + step->length % 2048;
	}
	if (step->incarnation & 0x10)
		wire.destination = step->incarnation & 0x20 ? 0 : step->value;
	if (wire.kind == WIRE_KIND_DATA) {
		wire.length = step->flags & 8 ? step->length % 2048 : step->length % 256;
		wire.bytes = step->flags & 16 ? step->bytes % 257 : 0;
		wire.offset = step->flags & 16 ? (uint64_t)(step->offset % 16) * wire.bytes :
			step->offset;
		if (!(step->flags & 16)) {
			/* a fragment as a sender of ours cuts it */
			uint32_t cut = step->bytes & 1 ? 256 : 64, n = wire.length ?
				((uint32_t)wire.length - 1) / cut + 1 : 1;

			wire.offset = (uint64_t)(step->offset % n) * cut;
			wire.bytes = wire.length - wire.offset < cut ?
				(uint32_t)(wire.length - wire.offset) : cut;
		}
		if (step->how & 0x10)
			wire.length = ((uint64_t)step->value << 16 | step->length) & WIRE_MOST_LENGTH;
	}
	message = header_of(step, node, wire.length);
	memcpy(frame + WIRE_HEADER, &message, sizeof(message));
	for (uint32_t i = 0; i < wire.bytes; i++)
		frame[WIRE_DATA + i] = (uint8_t)(step->value + i);
	wire_address(to, 0, 0);
	wire_address(from, step->how & 0x20 ? step->value & 0xffff : node, 0);
	wire_write(frame, to, from, &wire);
	header = wire.kind == WIRE_KIND_DATA || wire.kind == WIRE_KIND_ANNOUNCE ?
		WIRE_DATA : WIRE_HEADER;
	bytes = header + wire.bytes;
	if (step->how & 0x40)
		frame[step->bit / 8 % bytes] ^= (uint8_t)(1 << step->bit % 8);
	if (step->how & 0x80)
		bytes = step->bit % (bytes + 2);
	if (on_bulk && (wire.kind == WIRE_KIND_MARK || step->how & 8))
		land(frame, bytes);
	else
		nic.receive(nic.context, frame, bytes);
}

static void operate(const struct step *step)
{
	struct initiator_args args = {
		.md = source, .put_md = source, .target_nid = step->node % (NODES + 1), .target_pid = 1,
		.pt_index = 2, .match_bits = 5, .local_offset = step->offset % OFFERED,
		.length = step->length % 1500, .ack = step->flags & 1,
		.operation = step->how & 1 ? MESSAGE_ATOMIC : MESSAGE_PUT,
		.atomic_operation = step->more % 9, .datatype = step->more / 16
	};

	switch (step->flags >> 1 & 3) {
	case 0:
		frames_put(frames, &args);
		break;
	case 1:
		frames_get(frames, &args);
		break;
	case 2:
		args.operation = step->how & 1 ? MESSAGE_FETCH_ATOMIC : MESSAGE_GETPUT;
		frames_exchange(frames, &args);
		break;
	default:
		link_give_up(link_, now, step->node % NODES);
	}
}

static uint32_t kind_of(const struct step *step)
{
	return step->kind >> 4 == 0xb ? (uint32_t)STEP_BULK : step->kind % STEP_KINDS;
}

static void do_step(const struct step *step)
{
	edges = 0;
	switch (kind_of(step)) {
	case STEP_RAW:
		if (step->how & 1) {
			nic.receive(nic.context, (const uint8_t *)step, step->bit % 33);
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
		frames_tick(frames);
		MUST(frames_deadline(frames) >= now || link_look(link_, 1, 0).ready);
		break;
	case STEP_DONE:
		complete();
		break;
	case STEP_CARD:
		card_is_full = step->how % 3;
		break;
	case STEP_OWN:
		operate(step);
		break;
	}
	link_check(link_);
	MUST(posted <= MOST_ROOMS && (posted > 0) == link_look(link_, 1, 0).has_rooms);
	/* What was not offered must be as it was. */
	MUST(!memcmp(view.memory + OFFERED, shadow + OFFERED, SEGMENT - OFFERED));
}

/* Everything ends when every peer is given up and the card has read its frames. */
static void end_input(void)
{
	card_is_full = 2;
	for (uint32_t node = 1; node < NODES; node++) {
		edges = 0;
		link_give_up(link_, now, node);
	}
	while (held)
		complete();
	link_check(link_);
	MUST(link_records_used(link_) == 0);
	MUST(posted == 0);
	MUST(frames_pending(frames) == 0);
	MUST(view.block->pools[POOL_OP].used == 0);
	MUST(block_pending(&view) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step step;

	if (!memory)
		make();
	if (getenv("FUZZ_FAIL"))
		frames_fail("asked to fail");
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
