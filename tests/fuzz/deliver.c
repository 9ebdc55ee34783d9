/*
 * Steps of delivery: messages arrive, in three phases or in one; operations end late or never. The
 * granted range must be memory of a descriptor that allows the operation.
 */
#include <string.h>
#include "fuzz.h"

#define WILD_BYTES  (2 * SEGMENT)

static const uint8_t wild[WILD_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static struct opened *free_opened(void)
{
	for (uint32_t i = 0; i < OPENED; i++)
		if (!fuzz.opened[i].used)
			return &fuzz.opened[i];
	return 0;
}

static int is_answer(const struct message *message)
{
	return message->operation == MESSAGE_ACK || message->operation == MESSAGE_REPLY;
}

static int is_request(const struct message *message)
{
	return message->operation != MESSAGE_BARRIER && message->operation != MESSAGE_NONE &&
	       message->operation < MESSAGE_OPERATIONS && !is_answer(message);
}

/* What may be granted, and at which process; *md is the descriptor. */
static void check_range(struct process *process, const struct message *message,
			const struct grant *grant, struct known *md)
{
	check_grant(process, grant, md);
	MUST(grant->bytes <= (message->operation == MESSAGE_REPLY ? message->mlength
								   : message->length));
	if (message->operation == MESSAGE_REPLY)
		MUST_IF_WHOLE(md->handle == message->md_handle);
	else
		MUST_IF_WHOLE(!(message_wants(message->operation) & ~md->options));
	if (!fuzz.damaging && md->options & MD_SPAN)
		MUST(view_may_use(&process->view, grant->offset, grant->bytes,
				  message->operation != MESSAGE_GET));
}

/* An answer to a message; its payload is the granted range. */
static void answered(const struct message *message, const struct message *answer, int from,
		     const struct grant *grant)
{
	MUST(is_answer(answer) && !is_answer(message));
	MUST(answer->mlength <= message->length);
	post(answer, from, grant);
}

/* An unexpected answer is discarded. */
static void check_belief(const struct message *message, int waits, int result)
{
	if (is_answer(message) && !waits)
		MUST_IF_WHOLE(result == DELIVER_DROPPED || result == DELIVER_CLOSED);
}

static void deliver(struct process *process, const struct step *step)
{
	struct opened *opened = free_opened();
	handle_t found;
	int begun, waits;

	if (!opened)
		return;
	process = letter_of(process, step, &opened->letter, &opened->wild);
	opened->p = (uint32_t)(process - fuzz.processes);
	found = fuzz.damaging ? HANDLE_NONE : oracle(process, &opened->letter.message);
	waits = !fuzz.damaging && oracle_waits(process, &opened->letter.message);
	begun = deliver_begin(fuzz_enter(process), &opened->letter.message,
			      step->f & 1, &opened->grant, &opened->answer);
	MUST(begun <= DELIVER_OK && begun >= DELIVER_DAMAGED);
	MUST_IF_WHOLE(begun != DELIVER_DAMAGED);
	check_belief(&opened->letter.message, waits, begun);
	MUST(begun == DELIVER_OK || opened->grant.op == HANDLE_NONE);
	if (opened->grant.op != HANDLE_NONE) {
		opened->used = 1;
		check_range(process, &opened->letter.message, &opened->grant, &opened->md);
	}
	if (begun != DELIVER_BUSY && (opened->letter.message.operation == MESSAGE_PUT ||
				      opened->letter.message.operation == MESSAGE_GET))
		MUST_IF_WHOLE(found == (begun ? HANDLE_NONE : opened->grant.md));
	if (opened->grant.answers)
		answered(&opened->letter.message, &opened->answer,
			 opened->used ? (int)opened->p : -1, &opened->grant);
}

/* A step of a long atomic operation, with made up operands. One that divides an element fails. */
static int apply(const struct opened *opened, const struct step *step, uint64_t at)
{
	const struct message *message = &opened->letter.message;
	uint64_t bytes = amount(step->y) % (DELIVER_STEP_BYTES + 1);
	uint64_t size = atomic_size(message->datatype);
	int result;

	if (step->b & 1) {
		at -= at % size;
		bytes -= bytes % size;
	}
	result = deliver_apply(fuzz_enter(&fuzz.processes[opened->p]), &opened->grant,
			       message->atomic_operation, message->datatype, at, wild, bytes);
	if (at % size == 0 && bytes % size == 0)
		return result;
	MUST(result == DELIVER_DAMAGED);
	return DELIVER_OK;
}

/* Move the payload: from the sender's memory, or made up, in parts; or read it. */
static void data(const struct step *step)
{
	static uint8_t read[SEGMENT];
	struct opened *opened = &fuzz.opened[step->a % OPENED];
	struct process *process = &fuzz.processes[opened->p];
	const struct letter *letter = &opened->letter;
	const struct process_view *view = &process->view;
	uint64_t at = amount(step->x) % WILD_BYTES;
	struct span span;
	int result;

	/* An operation that the owner has ended for its dead runner: nothing is copied. */
	if (!opened->used || (!fuzz.damaging && !op_lookup(view, opened->grant.op)))
		return;
	if (!deliver_span(fuzz_enter(process), &opened->grant, at, &span))
		MUST(span.offset <= SEGMENT && span.bytes <= SEGMENT - span.offset);
	if (letter->message.operation == MESSAGE_GET) {
		result = deliver_read(fuzz_enter(process), &opened->grant, at, read,
				      amount(step->y) % (sizeof(read) + 1));
	} else if (letter->message.operation == MESSAGE_ATOMIC) {
		memory_allow_grant(process, &opened->md, &opened->grant);
		result = apply(opened, step, at);
	} else if (opened->wild || letter->from < 0) {
		memory_allow_grant(process, &opened->md, &opened->grant);
		result = deliver_data(fuzz_enter(process), &opened->grant, at, wild,
				      amount(step->y) % (WILD_BYTES + 1));
	} else {
		memory_allow_grant(process, &opened->md, &opened->grant);
		MUST(opened->grant.bytes <= letter->source.bytes);
		fuzz_enter(process);
		if (letter->from == (int)opened->p && !letter->source.pieces && step->b & 1)
			result = deliver_data(view, &opened->grant, 0,
					      view->memory + letter->source.offset,
					      opened->grant.bytes);
		else
			result = deliver_copy(view, &opened->grant,
					      &fuzz.processes[letter->from].view,
					      &letter->source);
	}
	MUST(result == DELIVER_OK || (fuzz.damaging && result == DELIVER_DAMAGED));
}

static void end(const struct step *step)
{
	static const struct grant nowhere;
	struct opened *opened = &fuzz.opened[step->a % OPENED];
	int result;

	if (!opened->used)
		return;
	opened->used = 0;
	letters_forget(opened->p, opened->grant.md);
	result = deliver_end(fuzz_enter(&fuzz.processes[opened->p]), &opened->grant,
			     step->b % 3, &opened->answer);
	MUST_IF_WHOLE(result == DELIVER_OK || result == DELIVER_STALE);
	MUST(opened->grant.events <= 3);
	if (opened->grant.answers)
		post(&opened->answer, -1, &nowhere);
}

/* ---- in one step ---- */

/* The payload, placed so that one byte more would fault. Pieces at the sender are joined first,
 * as a link does. */
static const uint8_t *payload_for(const struct letter *letter, int is_wild)
{
	static uint8_t *end;
	uint64_t bytes = message_payload(&letter->message);

	if (!end)
		end = guarded(BLOCK_PAGE) + BLOCK_PAGE;
	if (bytes > DELIVER_OPERAND_BYTES)
		bytes = DELIVER_OPERAND_BYTES;
	if (is_wild || letter->from < 0 || bytes > letter->source.bytes)
		return end - bytes;
	if (!letter->source.pieces)
		return fuzz.processes[letter->from].segment + letter->source.offset;
	deliver_read(&fuzz.processes[letter->from].view, &letter->source, 0, end - bytes, bytes);
	return end - bytes;
}

/* All memory that a message may change; only the grant shows which part. */
static void allow_all(struct process *process, const struct message *message)
{
	struct grant all = { .pieces = 1, .bytes = ~0ULL };

	for (uint32_t i = 0; i < MDS; i++)
		if (md_lookup(&process->view, process->mds[i].handle) &&
		    (process->mds[i].options & MD_OP_PUT ||
		     process->mds[i].handle == message->md_handle))
			memory_allow_grant(process, &process->mds[i], &all);
}

static void deliver_at_once(struct process *process, const struct step *step)
{
	static uint8_t *result;
	const uint8_t *payload;
	struct letter letter;
	struct message answer;
	struct grant grant;
	struct known md;
	handle_t found;
	int is_wild, done, waits;

	if (!result)
		result = guarded(BLOCK_PAGE) + BLOCK_PAGE - DELIVER_INLINE_BYTES;
	process = letter_of(process, step, &letter, &is_wild);
	payload = payload_for(&letter, is_wild);
	found = fuzz.damaging ? HANDLE_NONE : oracle(process, &letter.message);
	waits = !fuzz.damaging && oracle_waits(process, &letter.message);
	allow_all(process, &letter.message);
	done = deliver_inline(fuzz_enter(process), &letter.message, payload, &grant, &answer,
			      message_fetches(letter.message.operation) ? result : 0);
	MUST(done == DELIVER_OK || done == DELIVER_DROPPED || done == DELIVER_CLOSED ||
	     done == DELIVER_DAMAGED);
	MUST_IF_WHOLE(done != DELIVER_DAMAGED);
	MUST(grant.op == HANDLE_NONE);
	check_belief(&letter.message, waits, done);
	memory_forbid();
	if (done == DELIVER_OK && (is_request(&letter.message) ||
				   letter.message.operation == MESSAGE_REPLY)) {
		MUST(grant.bytes <= DELIVER_INLINE_BYTES);
		check_range(process, &letter.message, &grant, &md);
		MUST_IF_WHOLE(found == grant.md || !is_request(&letter.message));
		if (letter.message.operation != MESSAGE_GET)
			memory_allow_grant(process, &md, &grant);
	} else {
		/* invalid atomic operations are discarded first */
		MUST_IF_WHOLE(found == HANDLE_NONE || !is_request(&letter.message) ||
			      letter.message.length > DELIVER_INLINE_BYTES ||
			      letter.message.operation >= MESSAGE_ATOMIC);
	}
	if (grant.answers)
		answered(&letter.message, &answer, -1, &grant);
}

void step_deliver(struct process *process, const struct step *step)
{
	switch (step->kind % STEP_KINDS) {
	case STEP_DELIVER:
		deliver(process, step);
		break;
	case STEP_DATA:
		data(step);
		break;
	case STEP_END:
		end(step);
		break;
	default:
		deliver_at_once(process, step);
		break;
	}
}
