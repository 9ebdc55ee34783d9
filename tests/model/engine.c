/*
 * The engine as a program for tests: one command per line on standard input, one line of results
 * for each on standard output. The reference model in tests/model/ gets the same commands.
 *
 * A command is a word and numbers. Objects are named by the number of the step
 * that made them (text.h), so a sequence needs no handle in advance. Most
 * commands begin with the process that they are about; the result is
 *
 *   result and values ; events recorded ; PtlNIStatus ; pending, CRC of memory
 *
 * An event is given as QUEUE NUMBER and its fields; numbers count from the
 * queue's first event. "flush" ends a batch. Objects' commands are here, those
 * about messages in messages.c.
 */
#include "engine.h"
#include "../../lib/portals/eq_reader.h"
#include "../../net/portals/ac.h"
#include "../../net/portals/eq.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"
#include "../../net/portals/post.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE       0x40000000ULL
#define BYTES      2560u          /* of the segment. The application may not write */
#define DATA       600u           /* below this, and not access */
#define HOLE       2304u          /* these, where the readers' words are, which are */
#define STACK      2432u          /* not compared, up to here */
#define QUEUES     64u
#define NUMBERS    64u

/* A queue as seen by its reader. */
struct queue {
	int64_t name;             /* 0: not in use */
	handle_t handle;
	struct eq_reader reader;
	uint64_t first;           /* number of its first event */
	uint64_t seen;            /* events up to here have been printed */
	uint64_t *word;           /* in the segment */
};

struct process_view views[PROCESSES];
static struct queue queues[PROCESSES][QUEUES + 1];   /* ordered by name; 0 ends the list */
static uint64_t highest[PROCESSES];   /* event numbers of freed queues */

static const struct block_limits limits = {
	.portals = 8, .acs = 4, .mes = 20, .mds = 20, .eqs = 4, .ops = 6, .slots = 256, .pieces = 24
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
					       .nid = p, .pid = 1, .uid = 1000 + p, .jid = 7,
					       .inline_bytes = 99,
					       .usable = { DATA, HOLE, STACK } };
		for (uint32_t i = 0; i < BYTES; i++)
			view->memory[i] = (uint8_t)(i * 7 + i / 251 + p * 85 + 1);
		if (view_init(view, aligned_alloc(BLOCK_PAGE, bytes), bytes, &limits))
			abort();
		memset(view->block, 0, bytes);
		block_init(view);
		memset(queues[p], 0, sizeof(queues[p]));
		highest[p] = 0;
	}
	messages_reset();
}

/* ---- results -------------------------------------------------------------- */

static void say_slot(const struct event *event)
{
	say_event(&event->head, &event->md, event->hdr_data, event->link, event->fail);
}

/* Events recorded in a queue since the last line. */
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
	for (uint64_t i = 0; i < STAT_COUNT; i++) {
		uint64_t value = 0;

		block_status(view, i, &value);
		say_number(value);
	}
	say(";");
	say_number(block_pending(view));
	say_number(crc_of(crc_of(0, view->memory, HOLE), view->memory + STACK, BYTES - STACK));
	say_end();
}

void named(int64_t name, handle_t handle, enum handle_kind kind)
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

/* portals acs mes mds eqs me_list pieces, as PtlNIInit wants them */
static void do_open(struct process_view *view, const uint64_t *n)
{
	struct block_limits wanted = { .portals = (uint32_t)n[0], .acs = (uint32_t)n[1],
				       .mes = (uint32_t)n[2], .mds = (uint32_t)n[3],
				       .eqs = (uint32_t)n[4] };

	memset(queues[view->nid], 0, sizeof(queues[view->nid]));
	block_init(view);
	block_grant(view, &wanted, (uint32_t)n[5], (uint32_t)n[6]);
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

/* name nid pid bits ignore unlink */
static void do_me_attach_any(struct process_view *view, const uint64_t *n)
{
	struct me_args args = entry_from(n + 1);
	handle_t handle = HANDLE_NONE;
	uint32_t pt_index = ANY_ID;
	int result = me_attach_any(view, &pt_index, &args, &handle);

	say("%d", result);
	if (result)
		return;
	say_number(pt_index);
	named((int64_t)n[0], handle, KIND_ME);
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

/* name base start length threshold max_size options user_ptr eq unlink position */
static void do_md_insert(struct process_view *view, const uint64_t *n)
{
	struct md_args args = args_from(n + 2);
	handle_t handle = HANDLE_NONE;
	int result = md_insert(view, name_to_handle((int64_t)n[1]), &args, (enum unlink_op)n[9],
			       (enum insert_pos)n[10], &handle);

	made(result, (int64_t)n[0], handle, KIND_MD);
}

/* md want_old given start length threshold max_size options user_ptr eq test_eq */
static void do_md_update(struct process_view *view, const uint64_t *n)
{
	struct md_args old = { .options = ~0u }, args = args_from(n + 3);

	say("%d", md_update(view, name_to_handle((int64_t)n[0]), n[1] ? &old : 0,
			    n[2] ? &args : 0, name_to_handle((int64_t)n[10])));
	if (old.options != ~0u)
		say_args(&old);
}

/* me md base nid pid bits ignore unlink position start length threshold max_size options
 * user_ptr eq unlink test_eq */
static void do_post_entry(struct process_view *view, const uint64_t *n)
{
	struct post_args args = { .base = name_to_handle((int64_t)n[2]), .me = entry_from(n + 3),
				  .md = args_from(n + 9), .unlink = (uint32_t)n[16],
				  .test_eq = name_to_handle((int64_t)n[17]) };
	handle_t me = HANDLE_NONE, md = HANDLE_NONE;
	int result = post_entry(view, &args, &me, &md);

	made(result, (int64_t)n[0], me, KIND_ME);
	if (result == 0)
		named((int64_t)n[1], md, KIND_MD);
	else if (me != HANDLE_NONE || md != HANDLE_NONE)
		say(" handles are touched");
}

/* index nid pid uid jid pt */
static void do_ac_set(struct process_view *view, const uint64_t *n)
{
	struct ac_args args = { .nid = (uint32_t)n[1], .pid = (uint32_t)n[2],
				.uid = (uint32_t)n[3], .jid = (uint32_t)n[4],
				.pt_index = (uint32_t)n[5] };

	say("%d", ac_set(view, (uint32_t)n[0], &args));
}

static void do_alive(struct process_view *view, const uint64_t *n)
{
	say("%d", block_is_alive(view, name_to_handle((int64_t)n[0])));
}

static void do_register(struct process_view *view, const uint64_t *n)
{
	uint64_t value;
	int result = block_status(view, n[0], &value);

	say("%d", result);
	if (!result)
		say_number(value);
}

static void do_barrier(struct process_view *view, const uint64_t *n)
{
	(void)n;
	for (uint32_t i = 0; i < BLOCK_BARRIER_NEWS; i++)
		say(i ? " %llu" : "%llu", (unsigned long long)view->block->barrier[i]);
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
	int result = eq_alloc(view, n[1], n[2], (enum eq_handler)n[3], &info);

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
	for (; queue->name; queue++)     /* the list stays ordered by name */
		queue[0] = queue[1];
	if (next > highest[view->nid])
		highest[view->nid] = next;
}

/* The reader in user mode, and the kernel's view of what it would find. */
static void do_eq_get(struct process_view *view, const uint64_t *n)
{
	struct queue *queue = queue_of(view, (int64_t)n[0]);
	int64_t unread = eq_unread(view, name_to_handle((int64_t)n[0]));
	uint64_t unhandled = eq_unhandled(view, name_to_handle((int64_t)n[0]));
	ptl_event_t event;
	int result = queue ? eq_read(&queue->reader, &event) : PTL_EQ_INVALID;

	say("%d", -result);
	say_signed(unread);
	say_number(unhandled);
	if (!queue)
		return;
	*queue->word = queue->reader.next;
	if (result == PTL_EQ_EMPTY)
		return;
	say_number(event.sequence - queue->first);
	say_slot((const struct event *)&event);
}

/* The handler is called with one more event: the queue's second word counts. */
static void do_eq_handled(struct process_view *view, const uint64_t *n)
{
	struct queue *queue = queue_of(view, (int64_t)n[0]);
	const struct eq *eq = queue ? eq_lookup(view, queue->handle) : 0;

	if (eq && eq->handler == EQ_HANDLER_FILLING) {
		say("%d", queue->word[1] == queue->word[2] ? PORTALS_EQ_INVALID : 0);
		queue->word[2] = queue->word[1];
		return;
	}
	if (!eq || !eq->handler || queue->word[1] == eq->next) {
		say("%d", PORTALS_EQ_INVALID);
		return;
	}
	if (eq->next - queue->word[1] > eq->count)
		queue->word[1] = eq->next - eq->count;
	queue->word[1]++;
	say("0");
}

/* eq which value: the application writes into a word of its reader */
static void do_eq_scribble(struct process_view *view, const uint64_t *n)
{
	struct queue *queue = queue_of(view, (int64_t)n[0]);
	const struct eq *eq = queue ? eq_lookup(view, queue->handle) : 0;

	if (!eq || n[1] > eq->handler) {
		say("%d", PORTALS_EQ_INVALID);
		return;
	}
	queue->word[n[1]] = queue->first + n[2];
	say("0");
}

/* at count word word ... : the application writes its memory */
static void do_poke(struct process_view *view, const uint64_t *n)
{
	memcpy(view->memory + n[0], n + 2, n[1] * 8);
	say("0");
}

static const struct command commands[] = {
	{ "open", do_open }, { "close", do_close }, { "me_attach", do_me_attach },
	{ "me_attach_any", do_me_attach_any }, { "me_insert", do_me_insert },
	{ "me_unlink", do_me_unlink }, { "md_attach", do_md_attach }, { "md_insert", do_md_insert },
	{ "md_bind", do_md_bind }, { "md_unlink", do_md_unlink }, { "md_update", do_md_update },
	{ "post_entry", do_post_entry },
	{ "eq_alloc", do_eq_alloc }, { "eq_free", do_eq_free }, { "eq_get", do_eq_get },
	{ "eq_handled", do_eq_handled }, { "eq_scribble", do_eq_scribble },
	{ "ac_set", do_ac_set }, { "alive", do_alive },
	{ "register", do_register }, { "barrier", do_barrier }, { "poke", do_poke }, { 0 },
};

static const struct command *command_find(const struct command *list, const char *word)
{
	while (list->word && strcmp(list->word, word))
		list++;
	return list->word ? list : 0;
}

/* One line. */
static void command(char *line)
{
	uint64_t numbers[NUMBERS] = { 0 };
	char *at = strchr(line, ' ');
	const struct command *found;
	uint32_t count = 0;

	if (at)
		*at++ = 0;
	while (at && count < NUMBERS) {
		numbers[count++] = strtoull(at, &at, 10);
		at = *at == ' ' ? at + 1 : 0;
	}
	found = command_find(commands, line);
	if (!found)
		found = command_find(message_commands, line);
	if (!found || numbers[0] >= PROCESSES) {
		say("no command %s", line);
		say_end();
		return;
	}
	names_of((uint32_t)numbers[0]);
	found->run(&views[numbers[0]], numbers + 1);
	say_state((uint32_t)numbers[0]);
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
