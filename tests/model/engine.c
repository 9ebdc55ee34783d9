/*
 * The engine as a program that tests can ask: commands on standard input, one
 * per line, a line of result for each on standard output. tests/model/ holds
 * the reference model that gets the same commands.
 *
 * A command is a word and numbers. Objects are named by the number of the step
 * that made them (text.h), so a sequence needs no handle in advance. Most
 * commands begin with the process that they are about; the result is
 *
 *   result and values ; events recorded ; PtlNIStatus ; pending, CRC of memory
 *
 * An event is given as QUEUE NUMBER and its fields; numbers count from the
 * queue's first event. "flush" ends a batch.
 */
#include "../../libc-glue/eq_reader.h"
#include "../../net/portals/ac.h"
#include "../../net/portals/eq.h"
#include "../../net/portals/initiator.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"
#include "../../net/portals/op.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE       0x40000000ULL
#define WORDS      512u           /* readers' words, from the segment's start on */
#define BYTES      2560u          /* of the segment; what follows the words is compared */
#define PROCESSES  2u
#define QUEUES     64u
#define FLIGHTS    0x20000u
#define NUMBERS    64u

/* A queue as its reader sees it. */
struct queue {
	int64_t name;             /* 0: not in use */
	handle_t handle;
	struct eq_reader reader;
	uint64_t first;           /* number of its first event */
	uint64_t seen;            /* events up to here have been printed */
	uint64_t *word;           /* in the segment */
};

/* A message that is under way: what its runner holds. */
struct flight {
	struct grant grant;
	struct message message, answer;
};

static struct process_view views[PROCESSES];
static struct queue queues[PROCESSES][QUEUES + 1];   /* in the order of names; 0 ends it */
static struct flight *flights[FLIGHTS];
static uint64_t highest[PROCESSES];   /* event numbers of queues that are gone */

static const struct block_limits limits = {
	.portals = 8, .acs = 4, .mes = 12, .mds = 16, .eqs = 4, .ops = 6, .outbox = 1, .slots = 256, .pieces = 24
};

static void world_reset(void)
{
	names_reset();
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct process_view *view = &views[p];
		uint64_t bytes = block_bytes(&limits);

		free(view->memory);
		free(view->block);
		*view = (struct process_view){ .memory = malloc(BYTES), .bytes = BYTES, .base = BASE,
					       .nid = p, .pid = 1, .uid = 1000 + p, .jid = 7 };
		for (uint32_t i = 0; i < BYTES; i++)
			view->memory[i] = i < WORDS ? 0 : (uint8_t)(i * 7 + i / 251 + p * 85 + 1);
		if (view_init(view, aligned_alloc(BLOCK_PAGE, bytes), bytes, &limits))
			abort();
		memset(view->block, 0, bytes);
		block_init(view);
		memset(queues[p], 0, sizeof(queues[p]));
		highest[p] = 0;
	}
	for (uint32_t i = 0; i < FLIGHTS; i++) {
		free(flights[i]);
		flights[i] = 0;
	}
}

/* ---- results -------------------------------------------------------------- */

static void say_slot(const struct event *event)
{
	say_event(&event->head, &event->md, event->hdr_data, event->link, event->fail);
}

/* Events that a queue has got since the last line. */
static void say_news(const struct process_view *view, struct queue *queue)
{
	const struct eq *eq = eq_lookup(view, queue->handle);
	uint64_t count = queue->reader.mask + 1;

	if (!eq || eq->next == queue->seen)
		return;
	if (eq->next - queue->seen > count)
		queue->seen = eq->next - count;
	for (; queue->seen < eq->next; queue->seen++) {
		const struct event *event = (const struct event *)
			(queue->reader.slots + (queue->seen & queue->reader.mask) * EVENT_SLOT_WORDS);

		say_signed(queue->name);
		say_number(queue->seen - queue->first);
		say_slot(event);
		say("%s", event->sequence == queue->seen ? "," : " torn,");
	}
}

/* The rest of a line about process p. */
static void say_state(uint32_t p)
{
	struct process_view *view = &views[p];

	say(";");
	for (struct queue *queue = queues[p]; queue < queues[p] + QUEUES; queue++)
		if (queue->name)
			say_news(view, queue);
	say(";");
	for (uint64_t i = 0; i < STAT_NID; i++) {
		uint64_t value = 0;

		block_status(view, i, &value);
		say_number(value);
	}
	say(";");
	say_number(block_pending(view));
	say_number(crc_of(0, view->memory + WORDS, BYTES - WORDS));
	say_end();
}

/* A new object's name; complains about a handle that is not new. */
static void named(int64_t name, handle_t handle, enum handle_kind kind)
{
	if (!name_set(name, handle, kind))
		say(" handle %llx is not new", (unsigned long long)handle);
}

/* ---- objects -------------------------------------------------------------- */

static struct me_args entry_from(const uint64_t *n)
{
	return (struct me_args){ .nid = (uint32_t)n[0], .pid = (uint32_t)n[1], .match_bits = n[2],
				 .ignore_bits = n[3], .unlink = (uint32_t)n[4],
				 .position = (uint32_t)n[5] };
}

static struct md_args args_from(const uint64_t *n)
{
	return (struct md_args){ .start = n[0], .length = n[1], .threshold = (int32_t)n[2],
				 .max_size = n[3], .options = (uint32_t)n[4], .user_ptr = n[5],
				 .eq_handle = name_to_handle((int64_t)n[6]) };
}

static void do_open(struct process_view *view, const uint64_t *n)
{
	uint32_t p = view->nid;

	(void)n;
	for (struct queue *queue = queues[p]; queue < queues[p] + QUEUES; queue++)
		queue->name = 0;
	block_init(view);
	block_open(view);
	say("0");
}

static void do_close(struct process_view *view, const uint64_t *n)
{
	(void)n;
	block_close(view);
	say("0");
}

static void made(int result, int64_t name, handle_t handle, enum handle_kind kind)
{
	say("%d", result);
	if (result == 0)
		named(name, handle, kind);
}

/* name pt nid pid bits ignore unlink position */
static void do_me_attach(struct process_view *view, const uint64_t *n)
{
	struct me_args args = entry_from(n + 2);
	handle_t handle = HANDLE_NONE;
	int result = me_attach(view, (uint32_t)n[1], &args, &handle);

	made(result, (int64_t)n[0], handle, KIND_ME);
}

/* name base nid pid bits ignore unlink position */
static void do_me_insert(struct process_view *view, const uint64_t *n)
{
	struct me_args args = entry_from(n + 2);
	handle_t handle = HANDLE_NONE;
	int result = me_insert(view, name_to_handle((int64_t)n[1]), &args, &handle);

	made(result, (int64_t)n[0], handle, KIND_ME);
}

static void do_me_unlink(struct process_view *view, const uint64_t *n)
{
	say("%d", me_unlink(view, name_to_handle((int64_t)n[0])));
}

/* name me start length threshold max_size options user_ptr eq unlink */
static void do_md_attach(struct process_view *view, const uint64_t *n)
{
	struct md_args args = args_from(n + 2);
	handle_t handle = HANDLE_NONE;
	int result = md_attach(view, name_to_handle((int64_t)n[1]), &args, (enum unlink_op)n[9],
			       &handle);

	made(result, (int64_t)n[0], handle, KIND_MD);
}

/* name start length threshold max_size options user_ptr eq unlink */
static void do_md_bind(struct process_view *view, const uint64_t *n)
{
	struct md_args args = args_from(n + 1);
	handle_t handle = HANDLE_NONE;
	int result = md_bind(view, &args, (enum unlink_op)n[8], &handle);

	made(result, (int64_t)n[0], handle, KIND_MD);
}

static void do_md_unlink(struct process_view *view, const uint64_t *n)
{
	say("%d", md_unlink(view, name_to_handle((int64_t)n[0])));
}

/* ---- event queues --------------------------------------------------------- */

static struct queue *queue_of(struct process_view *view, int64_t name)
{
	handle_t handle = name_to_handle(name);

	for (struct queue *queue = queues[view->nid]; queue < queues[view->nid] + QUEUES; queue++)
		if (queue->name && queue->handle == handle)
			return queue;
	return 0;
}

/* name count word handler */
static void do_eq_alloc(struct process_view *view, const uint64_t *n)
{
	struct eq_info info = { 0 };
	struct queue *queue = queues[view->nid];
	int result = eq_alloc(view, n[1], n[2], (int)n[3], &info);

	say("%d", result);
	if (result)
		return;
	while (queue->name)
		queue++;
	*queue = (struct queue){ .name = (int64_t)n[0], .handle = info.handle };
	queue->word = (uint64_t *)(view->memory + (n[2] - BASE));
	queue->first = queue->seen = *queue->word;
	queue->reader.handle = info.handle;
	queue->reader.mask = info.count - 1;
	queue->reader.slots = (const event_word *)(view->slots +
						   info.first_slot * EVENT_SLOT_BYTES);
	eq_advance(&queue->reader, queue->first);
	say_number(info.count);
	if (queue->first < highest[view->nid])
		say(" numbers are used again");
	named((int64_t)n[0], info.handle, KIND_EQ);
}

static void do_eq_free(struct process_view *view, const uint64_t *n)
{
	struct queue *queue = queue_of(view, (int64_t)n[0]);
	const struct eq *eq = queue ? eq_lookup(view, queue->handle) : 0;
	uint64_t next = eq ? eq->next : 0;
	int result = eq_free(view, name_to_handle((int64_t)n[0]));

	say("%d", result);
	if (result || !queue)
		return;
	for (; queue->name; queue++)     /* the list stays in the order of the names */
		queue[0] = queue[1];
	if (next > highest[view->nid])
		highest[view->nid] = next;
}

/* The reader in user mode, and what the kernel thinks that it would find. */
static void do_eq_get(struct process_view *view, const uint64_t *n)
{
	struct queue *queue = queue_of(view, (int64_t)n[0]);
	int64_t unread = eq_unread(view, name_to_handle((int64_t)n[0]));
	ptl_event_t event;
	int result = queue ? eq_read(&queue->reader, &event) : PTL_EQ_INVALID;

	say("%d", -result);
	say_signed(unread);
	if (!queue)
		return;
	*queue->word = queue->reader.next;
	if (result == PTL_EQ_EMPTY)
		return;
	say_number(event.sequence - queue->first);
	say_slot((const struct event *)&event);
}

/* at word word ... : the application writes its memory */
static void do_poke(struct process_view *view, const uint64_t *n)
{
	memcpy(view->memory + n[0], n + 2, n[1] * 8);
	say("0");
}

/* ---- operations ----------------------------------------------------------- */

static struct flight *flight_of(uint64_t name)
{
	if (name >= FLIGHTS)
		abort();
	if (!flights[name])
		flights[name] = calloc(1, sizeof(*flights[name]));
	return flights[name];
}

/* name operation md local length nid pid pt cookie ack bits offset hdr */
static void do_initiate(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);
	struct initiator_args args = {
		.md = name_to_handle((int64_t)n[2]), .local_offset = n[3], .length = n[4],
		.target_nid = (uint32_t)n[5], .target_pid = (uint32_t)n[6],
		.pt_index = (uint32_t)n[7], .cookie = (uint32_t)n[8], .ack = (uint32_t)n[9],
		.match_bits = n[10], .remote_offset = n[11], .hdr_data = n[12],
	};
	int result = n[1] == MESSAGE_PUT ?
		     initiator_put(view, &args, &flight->message, &flight->grant) :
		     initiator_get(view, &args, &flight->message);

	say("%d", result);
	if (result)
		return;
	if (flight->message.op_handle != HANDLE_NONE)
		named((int64_t)n[0], flight->message.op_handle, KIND_OP);
	say_message(&flight->message);
	if (n[1] == MESSAGE_PUT)
		say_number(flight->grant.bytes);
}

/* name fail */
static void do_sent(struct process_view *view, const uint64_t *n)
{
	struct flight *flight = flight_of(n[0]);

	say("%d", initiator_sent(view, &flight->message, &flight->grant, (enum fail_type)n[1]));
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
	if (flight->grant.answers)
		say_message(&flight->answer);
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
	if (result == DELIVER_OK && flight->grant.op != HANDLE_NONE &&
	    flight->grant.op != flight->message.op_handle)
		named((int64_t)n[0], flight->grant.op, KIND_OP);
}

/* name at bytes seed */
static void do_data(struct process_view *view, const uint64_t *n)
{
	deliver_data(view, &flight_of(n[0])->grant, n[1], pattern + n[3], n[2]);
	say("0");
}

/* name at bytes: what a get or a send would read */
static void do_read(struct process_view *view, const uint64_t *n)
{
	const struct grant *grant = &flight_of(n[0])->grant;
	uint64_t at = n[1] < grant->bytes ? n[1] : grant->bytes;
	uint64_t bytes = n[2] < grant->bytes - at ? n[2] : grant->bytes - at;

	say("0");
	say_number(crc_of(0, view->memory + grant->offset + at, bytes));
}

/* name fail; the grant is kept, so that an operation can be ended twice */
static void do_end(struct process_view *view, const uint64_t *n)
{
	struct flight flight = *flight_of(n[0]);
	int result = deliver_end(view, &flight.grant, (enum fail_type)n[1], &flight.answer);

	flight.grant.bytes = 0;
	say_grant(result, &flight);
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

static const struct command {
	const char *word;
	void (*run)(struct process_view *view, const uint64_t *n);
} commands[] = {
	{ "open", do_open }, { "close", do_close }, { "me_attach", do_me_attach },
	{ "me_insert", do_me_insert }, { "me_unlink", do_me_unlink },
	{ "md_attach", do_md_attach }, { "md_bind", do_md_bind }, { "md_unlink", do_md_unlink },
	{ "eq_alloc", do_eq_alloc }, { "eq_free", do_eq_free }, { "eq_get", do_eq_get },
	{ "poke", do_poke }, { "initiate", do_initiate }, { "sent", do_sent },
	{ "unanswered", do_unanswered }, { "begin", do_begin }, { "data", do_data },
	{ "read", do_read }, { "end", do_end }, { "died", do_died }, { "refuse", do_refuse },
};

/* One line. */
static void command(char *line)
{
	uint64_t numbers[NUMBERS] = { 0 };
	char *at = strchr(line, ' ');
	uint32_t count = 0;

	if (at)
		*at++ = 0;
	while (at && count < NUMBERS) {
		numbers[count++] = strtoull(at, &at, 10);
		at = *at == ' ' ? at + 1 : 0;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].word, line))
			continue;
		if (numbers[0] >= PROCESSES)
			abort();
		names_of((uint32_t)numbers[0]);
		commands[i].run(&views[numbers[0]], numbers + 1);
		say_state((uint32_t)numbers[0]);
		return;
	}
	say("no command %s", line);
	say_end();
}

int main(void)
{
	static char line[16384];

	pattern_fill();
	world_reset();
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "flush"))
			say_flush();
		else if (!strcmp(line, "reset"))
			world_reset();
		else
			command(line);
	}
	return 0;
}
