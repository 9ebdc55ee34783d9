/*
 * Steps of a block's owner that make, update and remove descriptors. An iovec descriptor's array is
 * mostly written into the segment first.
 */
#include <string.h>
#include "fuzz.h"

/* A place for a new descriptor: a removed one's, or null if all are in use. */
static struct known *free_md(struct process *process)
{
	for (uint32_t i = 0; i < MDS; i++)
		if (!md_lookup(&process->view, process->mds[i].handle))
			return &process->mds[i];
	return fuzz.damaging ? process->mds : 0;
}

/* Pieces that follow each other with gaps, or overlap. */
static void write_array(struct process *process, const struct step *step, uint64_t at)
{
	struct iovec_args array[MOST_PIECES];
	uint64_t start = address(step->z);
	uint32_t count = step->y % MOST_PIECES;

	for (uint32_t i = 0; i < count; i++) {
		array[i] = (struct iovec_args){ start, (step->w >> i) * 7 % 64 };
		start += array[i].bytes + (step->e & 31) - 8;
	}
	if (step->f > 250)
		array[step->f % MOST_PIECES].bytes = amount(step->z);
	if (at <= SEGMENT - sizeof(array))
		store(process, at, array, count * sizeof(array[0]));
}

static struct md_args arguments(struct process *process, const struct step *step)
{
	static const int thresholds[] = { MD_THRESH_INF, MD_THRESH_INF, 1, 1, 2, 3, 0, -2 };
	struct md_args args = {
		.start = address(step->x), .length = amount(step->y),
		.threshold = thresholds[step->b & 7], .max_size = amount(step->z),
		.options = step->w & MD_OPTIONS, .user_ptr = step->w,
		.eq_handle = some_eq(process, step->c)
	};

	if ((step->b & 0xf8) == 0xf8)
		args.options |= 0x8000;
	if (args.options & MD_IOVEC) {
		if (step->e & 0xe0) {
			args.start &= ~7ULL;
			args.length = step->y % MOST_PIECES;
		}
		write_array(process, step, args.start - BASE);
	}
	return args;
}

/* The part of the segment between these addresses. */
static struct range within(uint64_t start, uint64_t bytes)
{
	uint64_t last = start + bytes - 1; /* no overflow: such ranges were refused */

	if (start < BASE)
		start = BASE;
	if (last >= BASE + SEGMENT)
		last = BASE + SEGMENT - 1;
	return (struct range){ start - BASE, bytes && last >= start ? last - start + 1 : 0 };
}

/* The memory of a new descriptor was checked, or each operation will check it. */
static int checked(const struct process_view *view, const struct md_args *args)
{
	MUST(!(args->options & MD_SPAN) || !(args->options & MD_IOVEC));
	return args->options & (MD_IOVEC | MD_SPAN) ||
	       view_may_use(view, args->start - BASE, args->length, args->options & MD_OP_PUT);
}

/* The memory that the descriptor may access from now on, by the current segment. */
static void learn(const struct process *process, struct known *known, handle_t handle,
		  const struct md_args *args)
{
	struct iovec_args piece;

	*known = (struct known){ .handle = handle, .options = args->options };
	if (!(args->options & MD_IOVEC)) {
		known->pieces = 1;
		known->memory[0] = (struct range){ args->start - BASE, args->length };
		/* the part of the segment that operations may access */
		if (args->options & MD_SPAN)
			known->memory[0] = within(args->start, args->length);
		return;
	}
	MUST(args->length <= PIECES);
	known->pieces = (uint32_t)args->length;
	for (uint32_t i = 0; i < known->pieces; i++) {
		memcpy(&piece, process->segment + (args->start - BASE) + i * sizeof(piece),
		       sizeof(piece));
		MUST(view_may_use(&process->view, piece.start - BASE, piece.bytes,
				  args->options & MD_OP_PUT));
		known->memory[i] = (struct range){ piece.start - BASE, piece.bytes };
	}
}

static void create(struct process *process, const struct step *step)
{
	struct md_args args = arguments(process, step);
	handle_t handle = HANDLE_NONE;
	struct known *known = free_md(process);
	struct process_view *view = fuzz_enter(process);
	int error;

	switch (step->kind % STEP_KINDS) {
	case STEP_MD_ATTACH:
		error = md_attach(view, some_me(process, step->a), &args, step->d & 1, &handle);
		break;
	case STEP_MD_INSERT:
		error = md_insert(view, some_md(process, step->a), &args, step->d & 1,
				  step->d >> 1 & 1, &handle);
		break;
	default:
		error = md_bind(view, &args, step->d & 1, &handle);
		break;
	}
	check_error(process, error);
	if (error)
		return;
	MUST(checked(view, &args));
	MUST_IF_WHOLE(known && md_lookup(view, handle));
	learn(process, known, handle, &args);
}

/* Entry and descriptor at once, with rule 24's test or without. */
static void create_both(struct process *process, const struct step *step)
{
	struct post_args args = {
		.base = some_me(process, step->a), .md = arguments(process, step),
		.me = { .match_bits = step->f & 3, .ignore_bits = step->f >> 2 & 1,
			.nid = ANY_ID, .pid = ANY_ID, .unlink = step->f >> 3 & 1,
			.position = step->d >> 1 & 1 },
		.unlink = step->d & 1, .test_eq = step->d & 4 ? some_eq(process, step->f) : EQ_NONE
	};
	handle_t me = HANDLE_NONE, md = HANDLE_NONE;
	struct known *known = free_md(process);
	struct process_view *view = fuzz_enter(process);
	int at = free_me(process), error = post_entry(view, &args, &me, &md);

	check_error(process, error);
	MUST(!error || (me == HANDLE_NONE && md == HANDLE_NONE));
	if (error)
		return;
	MUST(checked(view, &args.md));
	MUST_IF_WHOLE(at >= 0 && me_lookup(view, me) && known && md_lookup(view, md));
	process->mes[at] = me;
	learn(process, known, md, &args.md);
}

static void update(struct process *process, const struct step *step)
{
	handle_t handle = some_md(process, step->a);
	struct known *known = known_md(process, handle);
	struct md_args args = arguments(process, step), old;
	int test = step->d & 2, error;

	error = md_update(fuzz_enter(process), handle, step->d & 4 ? &old : 0,
			  step->d & 24 ? &args : 0, test ? some_eq(process, step->d) : EQ_NONE);
	check_error(process, error);
	if (error || !(step->d & 24))
		return;
	MUST(checked(&process->view, &args));
	MUST_IF_WHOLE(known);
	if (known)
		learn(process, known, handle, &args);
}

void step_descriptor(struct process *process, const struct step *step)
{
	handle_t md = some_md(process, step->a);

	switch (step->kind % STEP_KINDS) {
	case STEP_MD_UPDATE:
		update(process, step);
		break;
	case STEP_MD_ATTACH:
		if ((step->d & 0xe0) == 0xe0)
			create_both(process, step);
		else
			create(process, step);
		break;
	case STEP_MD_UNLINK:
		check_error(process, md_unlink(fuzz_enter(process), md));
		break;
	default:
		create(process, step);
		break;
	}
}
