/*
 * The fuzzers' messages: those sent and not yet received, delivered in any order, twice, or
 * changed, and invented ones. Owns the posted messages.
 */
#include "fuzz.h"

void post(const struct message *message, int from, const struct grant *source)
{
	fuzz.post[fuzz.posted++ % POST] = (struct letter){ 1, *message, from, *source };
}

static void forget(struct letter *letter, uint32_t p, handle_t md)
{
	if (letter->from == (int)p && letter->source.pieces &&
	    (md == HANDLE_NONE || letter->source.md == md)) {
		letter->from = -1;
		letter->source = (struct grant){ .op = HANDLE_NONE };
	}
}

void letters_forget(uint32_t p, handle_t md)
{
	for (uint32_t i = 0; i < POST; i++)
		forget(&fuzz.post[i], p, md);
	for (uint32_t i = 0; i < OPENED; i++)
		forget(&fuzz.opened[i].letter, p, md);
}

/* A message that no kernel sent. */
static struct message invented(struct process *process, const struct step *step)
{
	const struct operation *op = &process->view.ops[step->w % OPS];
	int aimed = step->f & 64;     /* at this operation, for an answer */
	uint8_t operation = step->b % (MESSAGE_OPERATIONS + 1);

	return (struct message){
		.operation = operation, .ack_request = step->b >> 6 & 1,
		.fail = step->c & 3,
		.source_nid = aimed ? op->head.nid : step->c >> 2 & 1, .source_pid = 1,
		.target_nid = step->p & 1,
		.target_pid = step->c < 250 ? 1 : 2, .uid = 1000, .jid = step->c < 240 ? JOB : 0,
		.pt_index = step->d >= 250 ? (uint32_t)amount(step->w) :
			operation == MESSAGE_BARRIER ? step->w & 7 : step->d % PORTALS,
		.cookie = step->d < 250 ? 0 : step->d & 7u,
		.match_bits = step->e & 3, .offset = amount(step->x), .length = amount(step->y),
		.mlength = amount(step->z), .md_handle = aimed ? op->head.md_handle : some_md(process, step->f),
		.eq_handle = aimed ? op->eq_handle : some_eq(process, step->e),
		.op_handle = aimed ? op->handle : 0,
		.hdr_data = step->w, .sequence = step->w
	};
}

/* A letter's message with one field changed. */
static void change(struct message *message, const struct step *step)
{
	uint64_t value = amount(step->y);

	switch (step->c & 15) {
	case 0:
		message->operation = (uint8_t)(step->d % MESSAGE_OPERATIONS);
		break;
	case 1:
		message->length = value;
		break;
	case 2:
		message->mlength = value;
		break;
	case 3:
		message->offset = value;
		break;
	case 4:
		message->md_handle = damaged_handle(message->md_handle, step->d);
		break;
	case 5:
		message->op_handle = damaged_handle(message->op_handle, step->d);
		break;
	case 6:
		message->eq_handle = damaged_handle(message->eq_handle, step->d);
		break;
	case 7:
		message->pt_index = (uint32_t)value;
		break;
	case 8:
		message->fail = step->d;
		break;
	case 9:
		message->ack_request = step->d;
		break;
	case 10:
		message->cookie = step->d;
		break;
	default:
		((uint8_t *)message)[step->d % sizeof(*message)] = (uint8_t)step->y;
		message->target_nid &= 1;
		break;
	}
}

struct process *letter_of(struct process *process, const struct step *step,
			  struct letter *letter, int *wild)
{
	struct letter *posted = &fuzz.post[step->a % POST];

	*wild = 1;
	if (step->a & 0x80 || !posted->used) {
		*letter = (struct letter){ 1, invented(process, step), -1, { .op = HANDLE_NONE } };
		return process;
	}
	*letter = *posted;
	if (step->b >= 240) {
		change(&letter->message, step);
	} else {
		*wild = letter->from < 0;
		if (step->b < 192)
			posted->used = 0;
	}
	return &fuzz.processes[letter->message.target_nid & 1];
}
