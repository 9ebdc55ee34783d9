/*
 * Steps of those who deliver: messages arrive, in three phases or in one;
 * operations end late or never. What is granted must be the memory of a
 * descriptor that admits it.
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

/* What begin may grant to whom. */
static void check_grant(struct process *process, struct opened *opened)
{
	const struct message *message = &opened->letter.message;
	const struct grant *grant = &opened->grant;
	const struct operation *op = op_lookup(&process->view, grant->op);
	const struct known *md;

	MUST(grant_in_segment(grant));
	MUST(grant->bytes <= (message->operation == MESSAGE_REPLY ? message->mlength
								   : message->length));
	MUST_IF_WHOLE(op);
	md = op ? known_md(process, op->head.md_handle) : 0;
	MUST_IF_WHOLE(md && grant_inside(md, grant));
	MUST_IF_WHOLE(message->operation != MESSAGE_PUT || md->options & MD_OP_PUT);
	MUST_IF_WHOLE(message->operation != MESSAGE_GET || md->options & MD_OP_GET);
	opened->md = md ? *md : (struct known){ .handle = HANDLE_NONE };
}

/* An answer that a message has led to; its payload is what was granted. */
static void answered(const struct message *message, const struct message *answer, int from,
		     const struct grant *grant)
{
	MUST(is_answer(answer) && !is_answer(message));
	MUST(answer->mlength <= message->length);
	post(answer, from, (struct range){ grant->offset, grant->bytes });
}

static void deliver(struct process *process, const struct step *step)
{
	struct opened *opened = free_opened();
	int begun;

	if (!opened)
		return;
	process = letter_of(process, step, &opened->letter, &opened->wild);
	opened->p = (uint32_t)(process - fuzz.processes);
	begun = deliver_begin(fuzz_enter(process), &opened->letter.message,
			      step->f & 1, &opened->grant, &opened->answer);
	MUST(begun <= DELIVER_OK && begun >= DELIVER_DAMAGED);
	MUST_IF_WHOLE(begun != DELIVER_DAMAGED);
	MUST(begun == DELIVER_OK || opened->grant.op == HANDLE_NONE);
	if (opened->grant.op != HANDLE_NONE) {
		opened->used = 1;
		check_grant(process, opened);
	}
	if (opened->grant.answers)
		answered(&opened->letter.message, &opened->answer,
			 opened->used ? (int)opened->p : -1, &opened->grant);
}

/* Bytes move: from the sender's memory, or from nowhere in pieces. */
static void data(const struct step *step)
{
	struct opened *opened = &fuzz.opened[step->a % OPENED];
	struct process *process = &fuzz.processes[opened->p];
	const struct letter *letter = &opened->letter;
	uint64_t at = amount(step->x) % WILD_BYTES;

	if (!opened->used || letter->message.operation == MESSAGE_GET)
		return;
	memory_allow(process, (struct range){ opened->grant.offset, opened->grant.bytes });
	if (opened->wild) {
		deliver_data(&process->view, &opened->grant, at, wild,
			     amount(step->y) % (WILD_BYTES + 1));
	} else if (letter->from == (int)opened->p) {
		MUST(opened->grant.bytes <= letter->source.bytes);
		deliver_move(&process->view, &opened->grant, letter->source.offset);
	} else {
		deliver_data(&process->view, &opened->grant, 0,
			     fuzz.processes[letter->from].segment + letter->source.offset,
			     letter->source.bytes);
	}
}

static void end(const struct step *step)
{
	struct opened *opened = &fuzz.opened[step->a % OPENED];
	int result;

	if (!opened->used)
		return;
	opened->used = 0;
	result = deliver_end(fuzz_enter(&fuzz.processes[opened->p]), &opened->grant,
			     step->b % 3, &opened->answer);
	MUST_IF_WHOLE(result == DELIVER_OK || result == DELIVER_STALE);
	MUST(opened->grant.events <= 3);
	if (opened->grant.answers)
		post(&opened->answer, -1, (struct range){ 0, 0 });
}

/* ---- in one step ---- */

/* Bytes of payload that deliver_inline may read. */
static uint64_t inline_payload(const struct message *message)
{
	switch (message->operation) {
	case MESSAGE_PUT:
	case MESSAGE_GETPUT:
		return message->length;
	case MESSAGE_ATOMIC:
	case MESSAGE_FETCH_ATOMIC:
		return message->length * (message->atomic_operation == ATOMIC_CSWAP ? 2 : 1);
	case MESSAGE_REPLY:
		return message->mlength;
	default:
		return 0;
	}
}

/* Whether deliver_inline may write into this descriptor for that message. */
static int may_write(const struct process *process, const struct known *md,
		     const struct message *message)
{
	if (!md_lookup(&process->view, md->handle))
		return 0;
	if (message->operation == MESSAGE_REPLY)
		return md->handle == message->md_handle;
	return message->operation != MESSAGE_GET && md->options & MD_OP_PUT;
}

/* 1 if the grant lies in a descriptor that the message may read or write. */
static int granted_well(const struct process *process, const int *writable,
			const struct message *message, const struct grant *grant)
{
	for (uint32_t i = 0; i < MDS; i++)
		if ((writable[i] || (message->operation == MESSAGE_GET &&
				     process->mds[i].options & MD_OP_GET)) &&
		    grant_inside(&process->mds[i], grant))
			return 1;
	return grant->bytes == 0;
}

/* The payload, of which one byte more would be a fault. */
static const uint8_t *payload_for(const struct letter *letter, int is_wild)
{
	static uint8_t *end;
	uint64_t bytes = inline_payload(&letter->message);

	if (!end)
		end = guarded(BLOCK_PAGE) + BLOCK_PAGE;
	if (!is_wild && bytes <= letter->source.bytes)
		return fuzz.processes[letter->from].segment + letter->source.offset;
	return end - (bytes < DELIVER_OPERAND_BYTES ? bytes : DELIVER_OPERAND_BYTES);
}

static void deliver_at_once(struct process *process, const struct step *step)
{
	static uint8_t *result;
	int is_wild, done, writable[MDS], fetches;
	struct letter letter;
	struct message answer;
	struct grant grant;

	if (!result)
		result = guarded(BLOCK_PAGE) + BLOCK_PAGE - DELIVER_INLINE_BYTES;
	process = letter_of(process, step, &letter, &is_wild);
	fetches = message_fetches(letter.message.operation);
	for (uint32_t i = 0; i < MDS; i++)
		writable[i] = may_write(process, &process->mds[i], &letter.message);
	done = deliver_inline(fuzz_enter(process), &letter.message, payload_for(&letter, is_wild),
			      &grant, &answer, fetches ? result : 0);
	MUST(done == DELIVER_OK || done == DELIVER_DROPPED || done == DELIVER_CLOSED ||
	     done == DELIVER_DAMAGED);
	MUST_IF_WHOLE(done != DELIVER_DAMAGED);
	MUST(grant.op == HANDLE_NONE && grant_in_segment(&grant));
	if (done == DELIVER_OK) {
		MUST(grant.bytes <= DELIVER_INLINE_BYTES);
		MUST_IF_WHOLE(granted_well(process, writable, &letter.message, &grant));
		memory_allow(process, (struct range){ grant.offset, grant.bytes });
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
