/*
 * The model driver's commands about messages: see engine.c. Owns the grants of pending messages, by
 * the number of the step that began each.
 */
#include "engine.h"
#include "../../net/portals/initiator.h"
#include "../../net/portals/iovec.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

#define FLIGHTS    0x20000u

/* A pending message with its grant. */
struct flight {
	struct grant grant;
	struct message message, answer;
};

static struct flight *flights[FLIGHTS];

void messages_reset(void)
{
	for (uint32_t i = 0; i < FLIGHTS; i++) {
		free(flights[i]);
		flights[i] = 0;
	}
}

static struct flight *flight_of(uint64_t name)
{
	if (name >= FLIGHTS)
		abort();
	if (!flights[name])
		flights[name] = calloc(1, sizeof(*flights[name]));
	return flights[name];
}

static void started(int result, uint64_t name, const struct flight *flight, int sends)
{
	say("%d", result);
	if (result)
		return;
	if (flight->message.op_handle != HANDLE_NONE)
		named((int64_t)name, flight->message.op_handle, KIND_OP);
	say_message(&flight->message);
	if (!sends)
		return;
	say_number(flight->grant.bytes);
	say_number(flight->grant.events);
	say_number(flight->grant.upcall);
}

/* name operation md local length nid pid pt cookie ack bits offset hdr atomic datatype */
static void do_initiate(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);
	struct initiator_args args = {
		.md = name_to_handle((int64_t)n[2]), .local_offset = n[3], .length = n[4],
		.target_nid = (uint32_t)n[5], .target_pid = (uint32_t)n[6],
		.pt_index = (uint32_t)n[7], .cookie = (uint32_t)n[8], .ack = (uint32_t)n[9],
		.match_bits = n[10], .remote_offset = n[11], .hdr_data = n[12],
		.operation = (uint8_t)n[1], .atomic_operation = (uint8_t)n[13],
		.datatype = (uint8_t)n[14],
	};

	if (n[1] == MESSAGE_GET)
		started(initiator_get(view, &args, &flight->message), n[0], flight, 0);
	else
		started(initiator_put(view, &args, &flight->message, &flight->grant), n[0],
			flight, 1);
}

/* name operation md local length nid pid pt cookie bits offset hdr put_md put_local atomic
 * datatype most */
static void do_exchange(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);
	struct initiator_args args = {
		.md = name_to_handle((int64_t)n[2]), .local_offset = n[3], .length = n[4],
		.target_nid = (uint32_t)n[5], .target_pid = (uint32_t)n[6],
		.pt_index = (uint32_t)n[7], .cookie = (uint32_t)n[8],
		.match_bits = n[9], .remote_offset = n[10], .hdr_data = n[11],
		.put_md = name_to_handle((int64_t)n[12]), .put_offset = n[13],
		.operation = (uint8_t)n[1], .atomic_operation = (uint8_t)n[14],
		.datatype = (uint8_t)n[15], .most = n[16],
	};

	started(initiator_exchange(view, &args, &flight->message, &flight->grant), n[0], flight, 1);
}

/* name fail */
static void do_sent(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);

	say("%d", initiator_sent(view, &flight->message, &flight->grant, (enum fail_type)n[1]));
	say_number(flight->grant.events);
	say_number(flight->grant.upcall);
}

static void do_unanswered(struct process_view *view, const uint64_t *n)
{
	initiator_unanswered(view, &flight_of(n[0])->message);
	say("0");
}

static void say_grant(int result, const struct flight *flight)
{
	say("%d", result);
	say_number(result == DELIVER_BUSY ? 0 : flight->grant.bytes);
	say_number(flight->grant.events);
	say_number(flight->grant.upcall);
}

/* name runner message */
static void do_begin(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);
	int result;

	message_from(&flight->message, n + 2);
	result = deliver_begin(view, &flight->message, (uint32_t)n[1], &flight->grant,
			       &flight->answer);
	say_grant(result, flight);
	if (flight->grant.answers)
		say_message(&flight->answer);
	if (result == DELIVER_OK && flight->grant.op != HANDLE_NONE &&
	    flight->grant.op != flight->message.op_handle)
		named((int64_t)n[0], flight->grant.op, KIND_OP);
}

/* name at bytes seed */
static void do_data(struct process_view *view, const uint64_t *n)
{
	const struct flight *flight = flight_of(n[0]);
	const struct message *m = &flight->message;

	say("%d", m->operation == MESSAGE_ATOMIC ?
	    deliver_apply(view, &flight->grant, m->atomic_operation, m->datatype, n[1],
			  pattern + n[3], n[2]) :
	    deliver_data(view, &flight->grant, n[1], pattern + n[3], n[2]));
}

/* name at bytes: the bytes that a get or a send would read, by both ways to read */
static void do_read(struct process_view *view, const uint64_t *n)
{
	const struct grant *grant = &flight_of(n[0])->grant;
	uint64_t at = n[1] < grant->bytes ? n[1] : grant->bytes;
	uint64_t bytes = n[2] < grant->bytes - at ? n[2] : grant->bytes - at;
	uint8_t *copy = malloc(bytes);
	uint32_t crc = 0;

	say("%d", deliver_read(view, grant, n[1], copy, n[2]));
	say_number(crc_of(0, copy, bytes));
	for (uint64_t done = 0; done < bytes;) {
		struct span span;

		if (deliver_span(view, grant, at + done, &span) || span.bytes == 0) {
			say(" ends after %llu", (unsigned long long)done);
			break;
		}
		if (span.bytes > bytes - done)
			span.bytes = bytes - done;
		crc = crc_of(crc, view->memory + span.offset, span.bytes);
		done += span.bytes;
	}
	if (crc != crc_of(0, copy, bytes))
		say(" spans differ");
	free(copy);
}

/* name process name: from range to range */
static void do_copy(struct process_view *view, const uint64_t *n)
{
	say("%d", deliver_copy(view, &flight_of(n[0])->grant, &views[n[1]],
			       &flight_of(n[2])->grant));
}

/* name seed message; the payload lies in the segment if seed is 10000 or more */
static void do_inline(struct process_view *view, const uint64_t *n)
{
	const uint8_t *payload = n[1] < 10000 ? pattern + n[1] : view->memory + (n[1] - 10000);
	struct flight *flight = flight_of(n[0]);
	uint8_t result[DELIVER_INLINE_BYTES];
	int returned, fetches;

	memset(result, 0xee, sizeof(result));
	message_from(&flight->message, n + 2);
	if (flight->message.operation == MESSAGE_REPLY ? flight->message.mlength == 0 :
	    flight->message.length == 0)
		payload = 0;
	returned = deliver_inline(view, &flight->message, payload, &flight->grant,
				  &flight->answer, result);
	flight->grant.bytes = 0;
	say_grant(returned, flight);
	if (flight->grant.op != HANDLE_NONE)
		say(" a record");
	fetches = returned == DELIVER_OK && message_fetches(flight->message.operation);
	say_number(crc_of(0, result, fetches ? flight->answer.mlength : sizeof(result)));
	if (flight->grant.answers)
		say_message(&flight->answer);
}

/* name fail; the grant is kept, so that an operation can be ended twice */
static void do_end(struct process_view *view, const uint64_t *n)
{
	struct flight flight = *flight_of(n[0]);
	int result = deliver_end(view, &flight.grant, (enum fail_type)n[1], &flight.answer);

	flight.grant.bytes = 0;
	say_grant(result, &flight);
	if (flight.grant.answers)
		say_message(&flight.answer);
}

static void do_died(struct process_view *view, const uint64_t *n)
{
	uint32_t events = 0;

	say("%u", block_peer_died(view, (uint32_t)n[0], &events));
	say_number(events);
}

/* fail message; about no process */
static void do_refuse(struct process_view *view, const uint64_t *n)
{
	struct message message, answer;

	(void)view;
	message_from(&message, n + 1);
	say("%d", message_refuse(&message, (enum fail_type)n[0], &answer));
	if (message_refuse(&message, (enum fail_type)n[0], &answer))
		say_message(&answer);
}

const struct command message_commands[] = {
	{ "initiate", do_initiate }, { "exchange", do_exchange }, { "sent", do_sent },
	{ "unanswered", do_unanswered }, { "begin", do_begin }, { "data", do_data },
	{ "copy", do_copy }, { "read", do_read }, { "end", do_end }, { "inline", do_inline },
	{ "died", do_died }, { "refuse", do_refuse }, { 0 },
};
