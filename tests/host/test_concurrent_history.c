/*
 * Several kernels deliver into one block while its owner attaches, inserts,
 * unlinks, updates, polls and sends to itself. Senders are threads that run the
 * link's call sequence; the owner's queues are read without the lock. All steps
 * go into a history (history.h), which tests/test_race.py replays in the
 * reference model: every result, grant, answer and event, and the memory at the
 * end, must be those of the same calls made one after the other.
 *
 * The results depend only on the order of the steps, as no two threads write to
 * the same place: a sender's remote offset is its own slot, and each descriptor
 * slot has its own memory. TSan finds wrong grants of the engine.
 *
 * HISTORY_FILE, HISTORY_STEPS and HISTORY_SEED in the environment set the file,
 * the length and the seed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "stress.h"
#include "../../net/portals/initiator.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"

#define ENTRIES   12u                   /* of the owner, at once */
#define MEMORIES  24u                   /* descriptors at entries */
#define AREA      512u                  /* bytes of each */
#define PORTALS   2u
#define QUEUES    3u                    /* the last one is allocated and freed repeatedly */
#define SEGMENT   (1u << 16)

struct memory {
	handle_t md;
	uint64_t area;                  /* offset in the segment */
	int plain;                      /* never updated, local offset: bytes stay as they came */
};

struct owner {
	struct stress *stress;
	struct shm_member self;
	struct history *history;
	uint64_t random;
	handle_t entries[ENTRIES];
	struct memory memories[MEMORIES];
	struct eq_reader *queues[QUEUES];
	uint64_t first[QUEUES];         /* number of a queue's first event */
	uint64_t word;                  /* offset of the last queue's reader */
	uint64_t source, reply;         /* areas for the owner's messages to itself */
	uint32_t damaged, lost, odd;
	uint32_t events, updates, refused;
};

/* ---- the owner: entries and descriptors ---- */

static uint64_t any(struct owner *owner)
{
	return check_random(&owner->random);
}

/* me_attach: handle, pt, nid, pid, bits, ignore, unlink, after, result
 * me_insert: handle, base, ... the same */
static void new_entry(struct owner *owner, handle_t *entry)
{
	struct stress *stress = owner->stress;
	struct process_view *view = &stress->shared.view;
	uint64_t x = any(owner), turn;
	static const uint64_t ignore[] = { 0, 1, 2, ~0ULL };
	struct me_args args = {
		.match_bits = x & 3, .ignore_bits = ignore[x >> 2 & 3],
		.nid = (x >> 4 & 3) ? ANY_ID : 1 + (x >> 6) % SENDERS, .pid = ANY_ID,
		.unlink = x >> 8 & 1, .position = x >> 9 & 1,
	};
	handle_t base = owner->entries[(x >> 10) % ENTRIES], made = HANDLE_NONE;
	uint32_t pt = (x >> 20) % PORTALS;
	int result;

	turn = stress_enter(stress, &owner->self);
	result = base ? me_insert(view, base, &args, &made) : me_attach(view, pt, &args, &made);
	HISTORY(owner->history, turn, base ? "me_insert" : "me_attach", made, base ? base : pt,
		args.nid, args.pid, args.match_bits, args.ignore_bits, args.unlink, args.position,
		result);
	stress_leave(stress, &owner->self);
	if (result == PORTALS_OK)
		*entry = made;
}

static struct md_args descriptor(struct owner *owner, const struct memory *memory)
{
	static const int32_t thresholds[] = { MD_THRESH_INF, 0, 1, 2, 4, 8, 20, 60 };
	uint64_t x = any(owner);
	struct eq_reader *queue = owner->queues[(x >> 4) % QUEUES];

	return (struct md_args){
		.start = SHARED_BASE + memory->area, .length = AREA - (x >> 8 & 63),
		.threshold = thresholds[x & 7], .max_size = x >> 16 & 127,
		.options = ((MD_OPTIONS & ~MD_IOVEC & ~MD_EVENT_END_DISABLE) &
			    (uint32_t)(x >> 24)) | ((x >> 50 & 3) ? MD_OP_PUT | MD_OP_GET : 0) |
			   ((x >> 40 & 15) ? 0 : MD_EVENT_END_DISABLE),
		.user_ptr = (uint64_t)(memory - owner->memories),
		.eq_handle = x >> 60 && queue ? queue->handle : EQ_NONE,
	};
}

/* The descriptor's values as the history has them, one for each field. */
#define ARGS(a)  (a).start, (a).length, (a).threshold, (a).max_size, (a).options, (a).user_ptr, \
		 (a).eq_handle

/* md_attach: handle, entry, the descriptor's 7 values, unlink, result
 * md_insert: handle, base, 7 values, unlink, after, result */
static void new_memory(struct owner *owner, struct memory *memory)
{
	struct stress *stress = owner->stress;
	struct process_view *view = &stress->shared.view;
	struct md_args args = descriptor(owner, memory);
	uint64_t x = any(owner), turn;
	handle_t entry = owner->entries[x % ENTRIES], made = HANDLE_NONE;
	handle_t base = owner->memories[(x >> 8) % MEMORIES].md;
	enum insert_pos position = x >> 16 & 1;
	enum unlink_op unlink = x >> 17 & 1;
	int result;

	turn = stress_enter(stress, &owner->self);
	if (base && (x >> 18 & 1)) {
		result = md_insert(view, base, &args, unlink, position, &made);
		HISTORY(owner->history, turn, "md_insert", made, base, ARGS(args), unlink,
			position, result);
	} else {
		result = md_attach(view, entry, &args, unlink, &made);
		HISTORY(owner->history, turn, "md_attach", made, entry, ARGS(args), unlink,
			result);
	}
	stress_leave(stress, &owner->self);
	if (result == PORTALS_OK)
		*memory = (struct memory){ made, memory->area,
					   !(args.options & MD_MANAGE_REMOTE) };
}

/* me_unlink: handle, result */
static void drop_entry(struct owner *owner, handle_t *entry)
{
	struct stress *stress = owner->stress;
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = me_unlink(&stress->shared.view, *entry);

	HISTORY(owner->history, turn, "me_unlink", *entry, result);
	stress_leave(stress, &owner->self);
	owner->odd += result && result != PORTALS_ME_INVALID && result != PORTALS_ME_IN_USE;
	if (result != PORTALS_ME_IN_USE)
		*entry = HANDLE_NONE;
}

/* md_unlink: handle, result */
static void drop_memory(struct owner *owner, struct memory *memory)
{
	struct stress *stress = owner->stress;
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = md_unlink(&stress->shared.view, memory->md);

	HISTORY(owner->history, turn, "md_unlink", memory->md, result);
	stress_leave(stress, &owner->self);
	owner->odd += result && result != PORTALS_MD_INVALID && result != PORTALS_MD_IN_USE;
	if (result != PORTALS_MD_IN_USE)
		memory->md = HANDLE_NONE;
}

/* md_update: handle, 7 values, test queue, result, the old one's threshold */
static void update(struct owner *owner, struct memory *memory)
{
	struct stress *stress = owner->stress;
	struct md_args args = descriptor(owner, memory), old = { 0 };
	struct eq_reader *queue = owner->queues[any(owner) % QUEUES];
	handle_t test = queue && any(owner) % 4 ? queue->handle : EQ_NONE;
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = md_update(&stress->shared.view, memory->md, &old, &args, test);

	HISTORY(owner->history, turn, "md_update", memory->md, ARGS(args), test, result,
		old.threshold);
	stress_leave(stress, &owner->self);
	owner->updates += result == PORTALS_OK;
	owner->refused += result == PORTALS_MD_NO_UPDATE;
	if (result == PORTALS_OK)
		memory->plain = 0;
}

/* ---- the owner: events ---- */

/* read: queue, number, the event's 20 values as the model has them */
static void read_queue(struct owner *owner, uint32_t q, uint32_t most)
{
	struct eq_reader *queue = owner->queues[q];
	ptl_event_t e;
	int result;

	while (most-- && (result = eq_read(queue, &e)) != PTL_EQ_EMPTY) {
		struct memory *memory = &owner->memories[(uintptr_t)e.md.user_ptr % MEMORIES];

		HISTORY(owner->history, 0, "read", queue->handle, e.sequence - owner->first[q],
			e.type, e.initiator.nid, e.initiator.pid, e.uid, e.jid, e.pt_index,
			e.match_bits, e.rlength, e.mlength, e.offset, e.md_handle,
			(intptr_t)e.md.start, e.md.length, e.md.threshold, e.md.max_size,
			e.md.options, (intptr_t)e.md.user_ptr, e.md.eq_handle, e.hdr_data, e.link,
			e.ni_fail_type);
		owner->lost += result == PTL_EQ_DROPPED;
		owner->events++;
		owner->stress->taken++;
		if (e.type == PTL_EVENT_PUT_END && e.initiator.nid && memory->plain &&
		    memory->md == e.md_handle && !(e.hdr_data & COMPUTED))
			owner->damaged += !payload_is(owner->stress->shared.view.memory +
						      memory->area + e.offset, e.hdr_data,
						      e.mlength);
	}
}

/* eq_alloc: handle, count, result */
static void open_queue(struct owner *owner, uint32_t q, uint64_t offset)
{
	struct stress *stress = owner->stress;
	struct process_view *view = &stress->shared.view;
	struct eq_reader *reader = (struct eq_reader *)(view->memory + offset);
	struct eq_info info = { 0 };
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = eq_alloc(view, COUNT, SHARED_BASE + offset + offsetof(struct eq_reader, next),
			      0, &info);

	HISTORY(owner->history, turn, "eq_alloc", info.handle, COUNT, result);
	stress_leave(stress, &owner->self);
	CHECK_IS(result, 0);
	reader->handle = info.handle;
	reader->slots = (const event_word *)(view->slots + info.first_slot * EVENT_SLOT_BYTES);
	reader->mask = info.count - 1;
	owner->first[q] = reader->next;
	eq_advance(reader, reader->next);
	owner->queues[q] = reader;
}

/* eq_free: handle, result. Its descriptors remain and record nothing. */
static void close_queue(struct owner *owner, uint32_t q)
{
	struct stress *stress = owner->stress;
	struct eq *eq;
	uint64_t turn;
	int result;

	read_queue(owner, q, ~0u);
	turn = stress_enter(stress, &owner->self);
	eq = eq_lookup(&stress->shared.view, owner->queues[q]->handle);
	stress->taken += eq->next - owner->queues[q]->next;
	result = eq_free(&stress->shared.view, owner->queues[q]->handle);
	HISTORY(owner->history, turn, "eq_free", owner->queues[q]->handle, result);
	stress_leave(stress, &owner->self);
	CHECK_IS(result, 0);
	owner->queues[q] = 0;
}

/* ---- the owner: messages to itself ---- */

/* initiate: flight, operation, md, pt, ack, bits, offset, hdr, result, op handle
 * sent, unanswered: flight */
static void put_to_self(struct owner *owner, handle_t md, uint64_t x)
{
	struct stress *stress = owner->stress;
	struct process_view *view = &stress->shared.view;
	struct initiator_args args = {
		.md = md, .length = LENGTH_WHOLE, .target_pid = 1, .pt_index = x & 1,
		.ack = x >> 1 & 1, .match_bits = x >> 2 & 3, .hdr_data = x >> 40,
	};
	struct message message, answer, none;
	struct grant from, to = { 0 };
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = initiator_put(view, &args, &message, &from);

	HISTORY(owner->history, turn, "initiate", 0, MESSAGE_PUT, md, args.pt_index, args.ack,
		args.match_bits, 0, args.hdr_data, result, result ? 0 : message.op_handle);
	stress_leave(stress, &owner->self);
	owner->odd += result != PORTALS_OK;
	if (result)
		return;
	stress->recorded += from.events;
	if (stress_begin(stress, &owner->self, owner->history, 1, &message, &to, &answer) == 0) {
		deliver_data(view, &to, 0, view->memory + from.offset, to.bytes);
		HISTORY(owner->history, 0, "moved", 1, from.offset, to.bytes);
		stress_end(stress, &owner->self, owner->history, 1, NI_OK, &to, &answer);
	}
	turn = stress_enter(stress, &owner->self);
	initiator_sent(view, &message, &from, NI_OK);
	if (!to.answers)
		initiator_unanswered(view, &message);
	HISTORY(owner->history, turn, to.answers ? "sent" : "sent_unanswered", 0);
	stress_leave(stress, &owner->self);
	stress->recorded += from.events;
	if (to.answers)
		stress_begin(stress, &owner->self, owner->history, 2, &answer, &from, &none);
}

static void get_from_self(struct owner *owner, handle_t md, uint64_t x)
{
	struct stress *stress = owner->stress;
	struct process_view *view = &stress->shared.view;
	struct initiator_args args = {
		.md = md, .length = LENGTH_WHOLE, .target_pid = 1, .pt_index = x & 1,
		.match_bits = x >> 2 & 3,
	};
	struct message message, reply, none;
	struct grant from, to;
	uint64_t turn = stress_enter(stress, &owner->self);
	int result = initiator_get(view, &args, &message), begun;

	HISTORY(owner->history, turn, "initiate", 0, MESSAGE_GET, md, args.pt_index, 0,
		args.match_bits, 0, 0, result, result ? 0 : message.op_handle);
	stress_leave(stress, &owner->self);
	owner->odd += result != PORTALS_OK;
	if (result)
		return;
	begun = stress_begin(stress, &owner->self, owner->history, 1, &message, &from, &reply);
	if (stress_begin(stress, &owner->self, owner->history, 2, &reply, &to, &none) == 0) {
		deliver_data(view, &to, 0, view->memory + from.offset, to.bytes);
		HISTORY(owner->history, 0, "moved", 2, from.offset, to.bytes);
		stress_end(stress, &owner->self, owner->history, 2, NI_OK, &to, &none);
	}
	if (begun == 0)
		stress_end(stress, &owner->self, owner->history, 1, NI_OK, &from, &none);
}

/* md_bind: handle, 7 values, unlink, result */
static void to_self(struct owner *owner)
{
	struct stress *stress = owner->stress;
	uint64_t x = any(owner), turn;
	int get = x >> 8 & 1;
	struct md_args args = {
		.start = SHARED_BASE + (get ? owner->reply : owner->source),
		.length = (x >> 10) % (SLOT + 1), .threshold = MD_THRESH_INF,
		.options = (uint32_t)(x >> 20) & MD_EVENT_START_DISABLE, .user_ptr = ~0ULL,
		.eq_handle = owner->queues[0]->handle,
	};
	handle_t md = HANDLE_NONE;
	int result;

	turn = stress_enter(stress, &owner->self);
	result = md_bind(&stress->shared.view, &args, UNLINK_NEVER, &md);
	HISTORY(owner->history, turn, "md_bind", md, ARGS(args), UNLINK_NEVER, result);
	stress_leave(stress, &owner->self);
	if (result == PORTALS_OK) {
		struct memory bound = { .md = md };

		(get ? get_from_self : put_to_self)(owner, md, x);
		drop_memory(owner, &bound);
		owner->odd += bound.md != HANDLE_NONE;
	}
}

/* ---- the run ---- */

static void act(struct owner *owner)
{
	uint64_t x = any(owner);
	handle_t *entry = &owner->entries[(x >> 8) % ENTRIES];
	struct memory *memory = &owner->memories[(x >> 16) % MEMORIES];

	switch (x & 15) {
	case 0: case 1: case 2:
		if (!*entry)
			new_entry(owner, entry);
		else if ((x >> 32 & 7) == 0)
			drop_entry(owner, entry);
		break;
	case 3: case 4: case 5: case 6:
		if (!memory->md)
			new_memory(owner, memory);
		else if ((x >> 32 & 7) == 0)
			drop_memory(owner, memory);
		break;
	case 7: case 8: case 9:
		for (uint32_t i = 0; i < MEMORIES && !memory->md; i++)
			memory = &owner->memories[((x >> 16) + i) % MEMORIES];
		if (memory->md)
			update(owner, memory);
		break;
	case 10:
		to_self(owner);
		break;
	case 11:
		if (x >> 32 & 15)
			break;
		if (owner->queues[QUEUES - 1])
			close_queue(owner, QUEUES - 1);
		else
			open_queue(owner, QUEUES - 1, owner->word);
		break;
	default:
		for (uint32_t q = 0; q < QUEUES; q++)
			if (owner->queues[q] && (x >> (32 + q) & 1))
				read_queue(owner, q, 1 + (x >> 40 & 31));
	}
}

static void open_owner(struct owner *owner)
{
	struct stress *stress = owner->stress;

	for (uint32_t i = 0; i < MEMORIES; i++)
		owner->memories[i].area = shared_memory(&stress->shared, AREA);
	owner->source = shared_memory(&stress->shared, SLOT);
	owner->reply = shared_memory(&stress->shared, SLOT);
	for (uint32_t q = 0; q < QUEUES; q++) {
		owner->word = shared_memory(&stress->shared, sizeof(struct eq_reader));
		open_queue(owner, q, owner->word);
	}
}

/* All senders have ended, so every operation has ended too: remove everything. */
static void close_owner(struct owner *owner)
{
	for (uint32_t q = 0; q < QUEUES; q++)
		if (owner->queues[q])
			read_queue(owner, q, ~0u);
	for (uint32_t i = 0; i < MEMORIES; i++)
		if (owner->memories[i].md)
			drop_memory(owner, &owner->memories[i]);
	for (uint32_t i = 0; i < ENTRIES; i++)
		if (owner->entries[i])
			drop_entry(owner, &owner->entries[i]);
	for (uint32_t q = 0; q < QUEUES; q++)
		if (owner->queues[q])
			close_queue(owner, q);
}

/* memory: lines of 8 values, from offset 0 on */
static void write_history(struct stress *stress)
{
	const char *path = getenv("HISTORY_FILE");
	struct shared *shared = &stress->shared;

	if (!path)
		return;
	for (uint64_t at = 0; at < MEMORIES * AREA + 2 * SLOT; at += 64) {
		const int64_t *w = (const int64_t *)(shared->view.memory + at);

		HISTORY(&stress->histories[0], stress->turn + 1, "memory", w[0], w[1], w[2], w[3],
			w[4], w[5], w[6], w[7]);
	}
	history_write(stress->histories, THREADS, path);
}

TEST(concurrent_history)
{
	/* The same as in tests/histories.py. */
	static const struct block_limits limits = {
		.portals = PORTALS, .acs = 4, .mes = 64, .mds = 64, .eqs = QUEUES, .ops = 16,
		.slots = QUEUES * COUNT, .pieces = 1
	};
	static struct stress stress;
	uint32_t steps = (uint32_t)setting("HISTORY_STEPS", 3000);
	struct owner owner = { .stress = &stress };
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];

	stress = (struct stress){ .steps = steps, .seed = setting("HISTORY_SEED", 1) };
	stress.region = threads_region(THREADS);
	shared_open(&stress.shared, &limits, SEGMENT);
	for (uint32_t i = 0; i < THREADS; i++)
		history_open(&stress.histories[i], i, (i ? 8 : 40) * steps + 1000);
	owner.self = (struct shm_member){ stress.region, 0 };
	owner.history = &stress.histories[0];
	owner.random = stress.seed;
	open_owner(&owner);
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .stress = &stress, .self = { stress.region, 1 + i },
					      .history = &stress.histories[1 + i],
					      .random = stress.seed * 100 + i };
		CHECK_IS(pthread_create(&threads[i], 0, stress_send, &senders[i]), 0);
	}
	for (uint32_t i = 0; i < steps; i++) {
		stress_dawdle(any(&owner));
		act(&owner);
	}
	stress.over = 1;
	for (uint32_t i = 0; i < SENDERS; i++)
		pthread_join(threads[i], 0);
	close_owner(&owner);
	CHECK_IS(owner.damaged, 0);
	CHECK_IS(owner.odd, 0);
	CHECK_IS(owner.lost, 0);
	CHECK_IS(threads_lost, 0);
	CHECK(owner.refused > 0 && owner.updates > 0);
	printf("history: seed %llu, %llu steps under the lock, %u events, %u of %llu messages "
	       "accepted, %u updates, %u refused\n", (unsigned long long)stress.seed,
	       (unsigned long long)stress.turn, owner.events,
	       senders[0].accepted + senders[1].accepted + senders[2].accepted,
	       (unsigned long long)(senders[0].message + senders[1].message + senders[2].message),
	       owner.updates, owner.refused);
	write_history(&stress);
	for (uint32_t i = 0; i < THREADS; i++)
		history_close(&stress.histories[i]);
	shared_close(&stress.shared);
}
