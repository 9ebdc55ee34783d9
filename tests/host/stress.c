/*
 * The senders of the concurrent history: see stress.h. Each acts as a kernel that maps the owner's
 * block, and makes the calls that the link would make.
 */
#include "stress.h"
#include <sched.h>
#include <unistd.h>

/* Under the lock: the number of this step. */
uint64_t stress_enter(struct stress *stress, const struct shm_member *self)
{
	shared_lock(&stress->shared, self);
	return ++stress->turn;
}

void stress_leave(struct stress *stress, const struct shm_member *self)
{
	shared_unlock(&stress->shared, self);
}

/* ---- messages ---- */

/* How both sides of a step are written in the history. */
#define REQUEST(m)  (m)->operation, (m)->ack_request, (m)->fail, (m)->source_nid, \
		    (m)->source_pid, (m)->target_nid, (m)->target_pid, (m)->uid, (m)->jid, \
		    (m)->pt_index, (m)->cookie, (m)->match_bits, (m)->offset, (m)->length, \
		    (m)->mlength, (m)->md_handle, (m)->eq_handle, (m)->op_handle, \
		    (m)->hdr_data, (m)->sequence

/* begin: flight, the message's 20 values, result, bytes, offset, events, answers */
int stress_begin(struct stress *stress, const struct shm_member *self, struct history *history,
		 uint32_t flight, const struct message *message, struct grant *grant,
		 struct message *answer)
{
	for (;;) {
		uint64_t turn = stress_enter(stress, self);
		int result = deliver_begin(&stress->shared.view, message, self->node, grant, answer);

		HISTORY(history, turn, "begin", flight, REQUEST(message), result, grant->bytes,
			result == DELIVER_OK ? grant->offset : 0, grant->events, grant->answers);
		stress_leave(stress, self);
		stress->recorded += grant->events;
		if (grant->answers)
			HISTORY(history, turn, "answer", flight, REQUEST(answer));
		if (result != DELIVER_BUSY)
			return result;
		sched_yield();
	}
}

/* end: flight, fail, result, events, answers */
void stress_end(struct stress *stress, const struct shm_member *self, struct history *history,
		uint32_t flight, enum fail_type fail, struct grant *grant, struct message *answer)
{
	uint64_t turn = stress_enter(stress, self);
	int result = deliver_end(&stress->shared.view, grant, fail, answer);

	HISTORY(history, turn, "end", flight, fail, result, grant->events, grant->answers);
	stress_leave(stress, self);
	stress->recorded += grant->events;
	if (grant->answers)
		HISTORY(history, turn, "answer", flight, REQUEST(answer));
}

void stress_dawdle(uint64_t x)
{
	if ((x & 31) == 0)
		usleep(x >> 8 & 63);
	else if ((x & 31) < 12)
		sched_yield();
}

/*
 * An exchange or an atomic operation on the word that all senders share, or a short message of
 * another kind, in one step. inline: flight, the message's 20 values, atomic operation, datatype,
 * result, events, answers, hash of what the reply carries; hdr_data is the payload's key
 */
static void send_inline(struct sender *sender, struct message *message)
{
	struct stress *stress = sender->stress;
	uint64_t x = check_random(&sender->random), turn;
	uint8_t payload[DELIVER_OPERAND_BYTES], got[DELIVER_INLINE_BYTES];
	uint32_t flight = sender->self.node * 4, crc = 0;
	struct message answer;
	struct grant grant;
	int result;

	if (x & 3) {
		message->operation = MESSAGE_GETPUT + x % 3;
		message->ack_request &= message->operation == MESSAGE_ATOMIC;
		message->offset = THREADS * SLOT;
	}
	if (message->operation == MESSAGE_ATOMIC || message->operation == MESSAGE_FETCH_ATOMIC) {
		message->atomic_operation = (x >> 8) % ATOMIC_OPERATIONS;
		message->datatype = (x >> 16) % ATOMIC_TYPES;
		message->length &= ~7ULL;
		message->hdr_data |= COMPUTED;
	}
	payload_fill(payload, message->hdr_data, sizeof(payload));
	turn = stress_enter(stress, &sender->self);
	result = deliver_inline(&stress->shared.view, message, payload, &grant, &answer, got);
	for (uint64_t i = 0; grant.answers && answer.operation == MESSAGE_REPLY &&
	     i < answer.mlength; i++)
		crc = crc * 31 + got[i];
	HISTORY(sender->history, turn, "inline", flight, REQUEST(message),
		message->atomic_operation, message->datatype, result, grant.events, grant.answers,
		crc);
	stress_leave(stress, &sender->self);
	stress->recorded += grant.events;
	sender->accepted += result == DELIVER_OK;
	if (grant.answers)
		HISTORY(sender->history, turn, "answer", flight, REQUEST(&answer));
}

/* payload: flight, key, bytes; fetched: flight, bytes, and the first, a middle and the last byte */
static void send_one(struct sender *sender)
{
	struct stress *stress = sender->stress;
	struct process_view *view = &stress->shared.view;
	uint32_t node = sender->self.node, flight = node * 4;
	uint64_t x = check_random(&sender->random);
	struct message message = {
		.operation = x & 3 ? MESSAGE_PUT : MESSAGE_GET, .ack_request = x >> 2 & 1,
		.source_nid = node, .source_pid = 1 + (x >> 3 & 31) / 31, .target_pid = 1,
		.uid = 1000, .jid = SHARED_JOB, .pt_index = x >> 8 & 1,
		.cookie = (x >> 9 & 31) / 31, .match_bits = x >> 14 & 3,
		.offset = node * SLOT, .length = (x >> 20) % (SLOT + 1),
		.md_handle = 1, .eq_handle = 2, .op_handle = 3, .sequence = 4,
	}, answer;
	uint8_t payload[SLOT], got[SLOT];
	enum fail_type fail = (x >> 32 & 127) ? NI_OK : NI_FAIL;
	struct grant grant;

	if (message.operation == MESSAGE_GET)
		message.ack_request = 0;
	message.hdr_data = (uint64_t)node << 48 | sender->message++;
	payload_fill(payload, message.hdr_data, message.length);
	stress_dawdle(check_random(&sender->random));
	if ((x >> 40 & 3) == 0) {
		send_inline(sender, &message);
		return;
	}
	if (stress_begin(stress, &sender->self, sender->history, flight, &message, &grant, &answer))
		return;
	sender->accepted++;
	stress_dawdle(check_random(&sender->random));
	if (message.operation == MESSAGE_PUT) {
		deliver_data(view, &grant, 0, payload, message.length);
		HISTORY(sender->history, 0, "payload", flight, message.hdr_data, grant.bytes);
	} else if (grant.bytes) {
		__builtin_memcpy(got, view->memory + grant.offset, grant.bytes);
		HISTORY(sender->history, 0, "fetched", flight, grant.bytes, got[0],
			got[grant.bytes / 2], got[grant.bytes - 1]);
	}
	stress_dawdle(check_random(&sender->random));
	stress_end(stress, &sender->self, sender->history, flight, fail, &grant, &answer);
}

void *stress_send(void *arg)
{
	struct sender *sender = arg;
	struct stress *stress = sender->stress;

	while (!stress->over && sender->history->used + 64 < sender->history->room) {
		while (stress->recorded > stress->taken + AHEAD && !stress->over)
			sched_yield();
		send_one(sender);
	}
	return 0;
}
