/*
 * Steps of the initiator, which start puts, gets, exchanges and atomic operations, and end their
 * sends.
 */
#include "fuzz.h"

static struct initiator_args arguments(const struct process *process, const struct step *step)
{
	return (struct initiator_args){
		.md = some_md(process, step->a),
		.local_offset = amount(step->x),
		.length = step->b & 1 ? LENGTH_WHOLE : amount(step->y),
		.target_nid = step->c < 250 ? step->c & 1 : identity(step->c & 1 ? 0 : 255, 0),
		.target_pid = step->d < 250 ? 1 : identity(step->d & 1 ? 0 : 255, 0),
		.pt_index = step->e % (PORTALS + (step->e > 250)),
		.cookie = step->e >> 4 & 1,
		.ack = step->b >> 1 & 1,
		.match_bits = step->f & 3,
		.remote_offset = amount(step->z),
		.hdr_data = step->w,
		.atomic_operation = step->w % (ATOMIC_OPERATIONS + (step->w >> 8 > 250)),
		.datatype = (step->w >> 4) % (ATOMIC_TYPES + (step->w >> 8 > 250)),
		.put_md = some_md(process, step->d),
		.put_offset = amount(step->x) & 63,
	};
}

/* 1 if a call of the initiator failed. Having found no record is counted. */
static int failed(const struct process *process, int error)
{
	MUST_IF_WHOLE(error <= 0 && error >= PORTALS_ATOMIC_INVALID && error != PORTALS_FAIL);
	MUST_IF_WHOLE(error == 0 || error == PORTALS_NO_SPACE || block_unchanged(process));
	return error != 0;
}

static struct send *free_send(void)
{
	for (uint32_t i = 0; i < SENDS; i++)
		if (!fuzz.sends[i].used)
			return &fuzz.sends[i];
	return 0;
}

/* A send that has begun: its payload must be in its descriptor. */
static void sending(struct process *process, struct send *send, handle_t handle)
{
	struct known md;

	send->used = 1;
	check_grant(process, &send->grant, &md);
	MUST_IF_WHOLE(md.handle == handle);
	post(&send->message, (int)send->p, &send->grant);
}

/* Length of a message's payload at its source. */
static uint64_t payload_of(const struct message *message)
{
	int is_atomic = message->operation == MESSAGE_ATOMIC ||
			message->operation == MESSAGE_FETCH_ATOMIC;

	MUST(!is_atomic || atomic_message_valid(message));
	return is_atomic && message->atomic_operation == ATOMIC_CSWAP ? 2 * message->length
								      : message->length;
}

/* Puts on the fast path, in one step; returns 1 if this is one. Its descriptor is not pinned. */
static int fast_put(struct process *process, const struct initiator_args *args,
		    struct send *send)
{
	struct known md;

	if (!initiator_fast_put(fuzz_enter(process), args, DELIVER_INLINE_BYTES, &send->message,
				&send->grant)) {
		MUST_IF_WHOLE(block_unchanged(process));
		return 0;
	}
	check_grant(process, &send->grant, &md);
	MUST_IF_WHOLE(md.handle == args->md);
	MUST(!send->grant.pieces && payload_of(&send->message) == send->grant.bytes);
	post(&send->message, (int)send->p, &send->grant);
	if (args->hdr_data & 1)
		initiator_lost(fuzz_enter(process), send->grant.bytes);
	return 1;
}

static void start_put(struct process *process, const struct step *step)
{
	struct initiator_args args = arguments(process, step);
	struct send *send = free_send();

	if (!send)
		return;
	if (step->b & 4)
		args.operation = MESSAGE_ATOMIC;
	send->p = (uint32_t)(process - fuzz.processes);
	if (step->b & 8 && fast_put(process, &args, send))
		return;
	if (failed(process, initiator_put(fuzz_enter(process), &args, &send->message,
					  &send->grant)))
		return;
	MUST(payload_of(&send->message) == send->grant.bytes);
	sending(process, send, args.md);
}

static void start_exchange(struct process *process, const struct step *step)
{
	struct initiator_args args = arguments(process, step);
	struct send *send = free_send();

	if (!send)
		return;
	args.operation = step->b & 4 ? MESSAGE_FETCH_ATOMIC : MESSAGE_GETPUT;
	if (args.operation == MESSAGE_GETPUT && step->b & 8)
		args.length = LENGTH_WHOLE;
	args.most = step->b >> 4;
	send->p = (uint32_t)(process - fuzz.processes);
	if (failed(process, initiator_exchange(fuzz_enter(process), &args, &send->message,
					       &send->grant)))
		return;
	MUST(payload_of(&send->message) == send->grant.bytes);
	MUST(send->message.length <= DELIVER_INLINE_BYTES);
	sending(process, send, args.put_md);
}

static void start_get(struct process *process, const struct step *step)
{
	static const struct grant nowhere;
	struct initiator_args args = arguments(process, step);
	struct message message;

	if (failed(process, initiator_get(fuzz_enter(process), &args, &message)))
		return;
	MUST_IF_WHOLE(message.length <= SEGMENT);
	post(&message, -1, &nowhere);
}

static void sent(const struct step *step)
{
	struct send *send = &fuzz.sends[step->a % SENDS];
	int result;

	if (!send->used)
		return;
	send->used = 0;
	letters_forget(send->p, send->grant.md);
	result = initiator_sent(fuzz_enter(&fuzz.processes[send->p]), &send->message,
				&send->grant, step->b % 3);
	MUST_IF_WHOLE(result == DELIVER_OK);
	MUST(send->grant.events <= 2);
}

static void unanswered(const struct step *step)
{
	struct letter *letter = &fuzz.post[step->a % POST];

	if (letter->used && letter->message.source_nid < PROCESSES)
		initiator_unanswered(fuzz_enter(&fuzz.processes[letter->message.source_nid]),
				     &letter->message);
}

void step_initiate(struct process *process, const struct step *step)
{
	switch (step->kind % STEP_KINDS) {
	case STEP_PUT:
		start_put(process, step);
		break;
	case STEP_GET:
		start_get(process, step);
		break;
	case STEP_EXCHANGE:
		start_exchange(process, step);
		break;
	case STEP_SENT:
		sent(step);
		break;
	default:
		unanswered(step);
		break;
	}
}
