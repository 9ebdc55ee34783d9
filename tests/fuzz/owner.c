/*
 * Steps of a block's owner that make and remove queues and entries, close and open the interface,
 * and read events. A call that returns an error must have changed nothing (rule 33).
 */
#include <string.h>
#include "fuzz.h"

void check_error(const struct process *process, int error)
{
	MUST_IF_WHOLE(error <= 0 && error >= PORTALS_ATOMIC_INVALID && error != PORTALS_FAIL);
	MUST_IF_WHOLE(error == 0 || block_unchanged(process));
}

/* ---- event queues ---- */

void store(struct process *process, uint64_t offset, const void *from, uint64_t bytes)
{
	memory_allow(process, (struct range){ offset, bytes });
	memcpy(process->segment + offset, from, bytes);
}

static void alloc(struct process *process, const struct step *step)
{
	uint64_t word = address(step->x), count = 1ULL << (step->b & 3);
	struct process_view *view = &process->view;
	enum eq_handler handler = (step->d & 3) % 3;
	int error;
	struct eq_info info;
	uint32_t i;

	for (i = 0; i < EQS && eq_lookup(view, process->eqs[i]); i++)
		continue;
	if (step->c & 0xf8)
		word &= ~7ULL;
	if (step->b & 0x80)
		count = amount(step->y);
	if (word - BASE < SEGMENT)
		memory_allow(process, (struct range){ word - BASE, 8 + 8 * handler });
	error = eq_alloc(fuzz_enter(process), count, word, handler, &info);
	check_error(process, error);
	if (error)
		return;
	MUST_IF_WHOLE(i < EQS);
	if (i == EQS)
		i = step->a % EQS;
	/* the address returned to the application must be in the event area, whatever the block
	 * contains */
	MUST(info.count > 0 && !(info.count & (info.count - 1)));
	MUST(info.first_slot < SLOTS && info.count <= SLOTS - info.first_slot);
	MUST_IF_WHOLE(info.count >= count);
	process->eqs[i] = info.handle;
	process->readers[i] = (struct eq_reader){
		.handle = info.handle, .mask = info.count - 1,
		.slots = (const event_word *)(view->slots + info.first_slot * EVENT_SLOT_BYTES) };
	memcpy(&process->readers[i].next, view->memory + (word - BASE), 8);
	eq_advance(&process->readers[i], process->readers[i].next);
}

/* Read events as the library does, or write an invalid value into the word. */
static void read_events(struct process *process, const struct step *step)
{
	uint32_t i = step->a % EQS;
	struct eq_reader *reader = &process->readers[i];
	const struct eq *eq = eq_lookup(&process->view, process->eqs[i]);
	ptl_event_t event;

	if (!eq)
		return;
	for (uint32_t n = 0; n < (step->b & 7u); n++) {
		uint64_t first = reader->next;
		int result = eq_read(reader, &event);

		if (result == PTL_EQ_EMPTY)
			break;
		MUST_IF_WHOLE(event.type <= PTL_EVENT_UNLINK);
		MUST_IF_WHOLE(event.sequence == first || result == PTL_EQ_DROPPED);
		MUST_IF_WHOLE(event.mlength <= SEGMENT || event.type == PTL_EVENT_ACK);
	}
	if (eq->read_index <= SEGMENT - 16) {
		uint64_t number = step->c == 0xff ? amount(step->x) : reader->next;

		store(process, eq->read_index, &number, 8);
		number += step->d & 1;
		if (eq->handler)
			store(process, eq->read_index + 8, &number, 8);
	}
}

static void free_eq(struct process *process, const struct step *step)
{
	handle_t eq = some_eq(process, step->a);

	check_error(process, eq_free(fuzz_enter(process), eq));
}

/* ---- match entries ---- */

int free_me(const struct process *process)
{
	for (int i = 0; i < (int)MES; i++)
		if (!me_lookup(&process->view, process->mes[i]))
			return i;
	return fuzz.damaging ? 0 : -1;
}

static void new_me(struct process *process, const struct step *step)
{
	static const uint64_t ignores[] = { 0, 0, 4, 1, 3, ~0ULL, 1ULL << 63, 2 };
	struct me_args args = {
		.match_bits = step->b & 3, .ignore_bits = ignores[step->b >> 2 & 7],
		.nid = identity(step->c, 0), .pid = identity(step->d, 1),
		.unlink = step->e & 1, .position = step->e >> 1 & 1
	};
	handle_t base = some_me(process, step->a), handle = HANDLE_NONE;
	struct process_view *view = fuzz_enter(process);
	uint32_t pt = step->f < 248 ? step->f % PORTALS : (uint32_t)amount(step->x);
	int at = free_me(process), error;

	switch (step->kind % STEP_KINDS) {
	case STEP_ME_INSERT:
		error = me_insert(view, base, &args, &handle);
		break;
	case STEP_ME_ATTACH:
		error = me_attach(view, pt, &args, &handle);
		break;
	default:
		error = me_attach_any(view, &pt, &args, &handle);
		break;
	}
	check_error(process, error);
	if (error)
		return;
	MUST(pt < PORTALS || step->kind % STEP_KINDS == STEP_ME_INSERT);
	MUST_IF_WHOLE(at >= 0 && me_lookup(view, handle));
	process->mes[at] = handle;
}

static void unlink_me(struct process *process, const struct step *step)
{
	handle_t me = some_me(process, step->a);

	check_error(process, me_unlink(fuzz_enter(process), me));
}

/* ---- the whole ---- */

static void set_ac(struct process *process, const struct step *step)
{
	struct ac_args args = {
		.nid = identity(step->b, step->b & 1), .pid = identity(step->c, 1),
		.uid = identity(step->d, 1000), .jid = identity(step->e, JOB),
		.pt_index = identity(step->f, step->f % PORTALS),
	};

	check_error(process, ac_set(fuzz_enter(process), step->a % 8, &args));
}

/* Less than the pools have, so that the grants are exhausted first. */
static void grant(struct process_view *view, const struct step *step)
{
	const struct block_limits wanted = {
		.portals = step->b & 7, .acs = step->c & 7, .mes = step->d & 15,
		.mds = step->e & 15, .eqs = step->f & 7,
	};

	block_grant(view, step->a & 0x80 ? 0 : &wanted, step->y & 7, step->z & 7);
}

static void life(struct process *process, const struct step *step)
{
	struct process_view *view = fuzz_enter(process);
	uint32_t events = 0, ended;

	letters_forget((uint32_t)(process - fuzz.processes), HANDLE_NONE);
	switch (step->a & 7) {
	case 0:
		block_close(view);
		process->open = 0;
		break;
	case 1:
		if (!fuzz.damaging && (process->open || block_pending(view)))
			break;
		block_init(view);
		process->open = 0;
		if (step->a & 8)
			grant(view, step);
		break;
	case 2: case 3:
		block_open(view);
		process->open = 1;
		break;
	default:
		ended = block_peer_died(view, identity(step->b, step->b & 1), &events);
		MUST(ended <= OPS);
		MUST_IF_WHOLE(events <= 4 * ended);
		break;
	}
}

/* The memory of a descriptor, by the calls that the engine's callers use. */
static void ask_span(const struct process *process, const struct step *step)
{
	const struct md *md = md_lookup(&process->view, some_md(process, step->e));
	struct span span;

	if (md && !md_span(&process->view, md, amount(step->x), amount(step->y), &span))
		MUST(span.bytes == 0 ||
		     (span.offset <= SEGMENT && span.bytes <= SEGMENT - span.offset));
}

/* Invalid limits, or limits that do not fit, are refused. */
static void ask_limits(const struct process *process, const struct step *step)
{
	struct block_limits limits = process->view.limits;
	struct process_view view = process->view;
	uint32_t *field = (uint32_t *)&limits + step->f % (sizeof(limits) / 4);

	*field = step->z & 1 ? (uint32_t)amount(step->z) : 0;
	MUST(view_init(&view, view.block, fuzz_block_bytes, &limits) ||
	     block_bytes(&limits) <= fuzz_block_bytes);
	MUST(*field || block_bytes(&limits) == 0);
}

static void ask(struct process *process, const struct step *step)
{
	struct process_view *view = fuzz_enter(process);
	uint64_t value = 0;
	int error;

	ask_span(process, step);
	ask_limits(process, step);
	block_pending(view);
	MUST_IF_WHOLE(view_check(view));
	error = block_status(view, step->a, &value);
	MUST(error == (step->a < STAT_COUNT ? 0 : PORTALS_SR_INDEX_INVALID));
	MUST_IF_WHOLE(eq_unread(view, some_eq(process, step->b)) <= (int64_t)SLOTS);
	MUST_IF_WHOLE(eq_unhandled(view, some_eq(process, step->b)) <= SLOTS);
	MUST_IF_WHOLE(!block_is_ni(view, some_me(process, step->c)));
	block_is_alive(view, step->d & 1 ? some_md(process, step->c) : some_eq(process, step->c));
	MUST_IF_WHOLE(!block_is_alive(view, HANDLE_NONE));
	MUST_IF_WHOLE(block_unchanged(process));
}

void step_owner(struct process *process, const struct step *step)
{
	switch (step->kind % STEP_KINDS) {
	case STEP_EQ_ALLOC:
		alloc(process, step);
		break;
	case STEP_EQ_FREE:
		free_eq(process, step);
		break;
	case STEP_READ:
		read_events(process, step);
		break;
	case STEP_ME_ATTACH:
	case STEP_ME_ATTACH_ANY:
	case STEP_ME_INSERT:
		new_me(process, step);
		break;
	case STEP_ME_UNLINK:
		unlink_me(process, step);
		break;
	case STEP_AC:
		set_ac(process, step);
		break;
	case STEP_LIFE:
		life(process, step);
		break;
	default:
		ask(process, step);
		break;
	}
}
