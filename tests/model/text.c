/*
 * The model driver's text: see text.h. Owns the names and the output buffer.
 */
#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES      0x20000u     /* steps of one world */
#define BUCKETS    0x40000u
#define LINE_ROOM  65536u

struct known {
	handle_t handle;        /* HANDLE_NONE: this bucket is free */
	int64_t name;
};

/* One per process, as handles of two processes may be equal; the last is for initiators without
 * a block here. */
static struct names {
	handle_t handles[NAMES];
	struct known known[BUCKETS];
} spaces[NAME_SPACES], *names = spaces;
static char *out;
static size_t out_used, out_room;
uint8_t pattern[PATTERN_BYTES];

void names_reset(void)
{
	memset(spaces, 0, sizeof(spaces));
	names = spaces;
}

void names_of(uint32_t nid)
{
	names = &spaces[nid < NAME_SPACES ? nid : NAME_SPACES - 1];
}

/* Handles in a message are the initiator's. */
static void names_of_message(const struct message *m)
{
	int answer = m->operation == MESSAGE_ACK || m->operation == MESSAGE_REPLY;

	names_of(answer ? m->target_nid : m->source_nid);
}

/* The bucket of a handle, or a free one. */
static struct known *bucket(handle_t handle)
{
	uint64_t at = handle * 0x9e3779b97f4a7c15ULL >> 46;

	while (names->known[at % BUCKETS].handle != HANDLE_NONE && names->known[at % BUCKETS].handle != handle)
		at++;
	return &names->known[at % BUCKETS];
}

static handle_t remember(int64_t name, handle_t handle)
{
	struct known *entry = bucket(handle);

	if (entry->handle == HANDLE_NONE)
		*entry = (struct known){ handle, name };
	return handle;
}

/* A handle that no object ever has. */
static handle_t forged(enum handle_kind kind, uint64_t number)
{
	return (uint64_t)kind << HANDLE_KIND_SHIFT | 1ULL << 58 | number * HANDLE_NEXT | 1;
}

handle_t name_to_handle(int64_t name)
{
	uint64_t code = (uint64_t)(-10 - name);
	handle_t base;

	if (name == 0)
		return HANDLE_NONE;
	if (name == -1)
		return remember(name, ~0ULL);
	if (name > 0) {
		if (name < NAMES && names->handles[name])
			return names->handles[name];
		return remember(name, forged(KIND_MD, (uint64_t)name));
	}
	base = code / 4 < NAMES ? names->handles[code / 4] : 0;
	if (!base)
		return remember(name, forged(KIND_ME, code));
	switch (code % 4) {
	case 0: return remember(name, base ^ 1ULL << 57);                 /* generation */
	case 1: return remember(name, base | 0xffff);   /* index outside the pool */
	case 2: return remember(name, (base & ~HANDLE_KIND_MASK) |
					       (uint64_t)KIND_CT << HANDLE_KIND_SHIFT);
	default: return remember(name, base | HANDLE_KIND_MASK);          /* invalid kind */
	}
}

int name_set(int64_t name, handle_t handle, enum handle_kind kind)
{
	if (bucket(handle)->handle != HANDLE_NONE || HANDLE_KIND(handle) != kind || name <= 0 ||
	    name >= NAMES)
		return 0;
	names->handles[name] = remember(name, handle);
	return 1;
}

void say(const char *format, ...)
{
	va_list list;

	if (out_room - out_used < LINE_ROOM) {
		out_room = out_room * 2 + 4 * LINE_ROOM;
		out = realloc(out, out_room);
	}
	va_start(list, format);
	out_used += (size_t)vsnprintf(out + out_used, LINE_ROOM, format, list);
	va_end(list);
}

void say_number(uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);
	size_t count;

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	*--at = ' ';
	count = (size_t)(digits + sizeof(digits) - at);
	if (out_room - out_used < LINE_ROOM)
		say("%s", "");
	memcpy(out + out_used, at, count);
	out_used += count;
}

void say_signed(int64_t value)
{
	if (value < 0)
		say(" %lld", (long long)value);
	else
		say_number((uint64_t)value);
}

void say_handle(handle_t handle)
{
	struct known *entry = bucket(handle);

	if (handle == HANDLE_NONE)
		say_number(0);
	else if (entry->handle == HANDLE_NONE)
		say(" ?%llx", (unsigned long long)handle);
	else
		say_signed(entry->name);
}

void say_args(const struct md_args *args)
{
	say_number(args->start);
	say_number(args->length);
	say_signed(args->threshold);
	say_number(args->max_size);
	say_number(args->options);
	say_number(args->user_ptr);
	say_handle(args->eq_handle);
}

void say_event(const struct event_head *head, const struct md_args *md, uint64_t hdr_data,
	       uint32_t link, uint32_t fail)
{
	const uint64_t fields[] = { head->type, head->nid, head->pid, head->uid, head->jid,
				    head->pt_index, head->match_bits, head->rlength, head->mlength,
				    head->offset };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		say_number(fields[i]);
	say_handle(head->md_handle);
	say_args(md);
	say_number(hdr_data);
	say_number(link);
	say_number(fail);
}

void say_message(const struct message *m)
{
	const uint64_t fields[] = { m->operation, m->ack_request, m->fail, m->atomic_operation,
				    m->datatype, m->source_nid, m->source_pid, m->target_nid,
				    m->target_pid, m->uid, m->jid, m->pt_index, m->cookie,
				    m->match_bits, m->offset, m->length, m->mlength };

	struct names *before = names;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		say_number(fields[i]);
	names_of_message(m);
	say_handle(m->md_handle);
	say_handle(m->eq_handle);
	say_handle(m->op_handle);
	names = before;
	say_number(m->hdr_data);
	say_number(m->sequence);
}

void message_from(struct message *message, const uint64_t *n)
{
	struct names *before = names;

	*message = (struct message){
		.operation = (uint8_t)n[0], .ack_request = (uint8_t)n[1], .fail = (uint8_t)n[2],
		.atomic_operation = (uint8_t)n[3], .datatype = (uint8_t)n[4],
		.source_nid = (uint32_t)n[5], .source_pid = (uint32_t)n[6],
		.target_nid = (uint32_t)n[7], .target_pid = (uint32_t)n[8], .uid = (uint32_t)n[9],
		.jid = (uint32_t)n[10], .pt_index = (uint32_t)n[11], .cookie = (uint32_t)n[12],
		.match_bits = n[13], .offset = n[14], .length = n[15], .mlength = n[16],
		.hdr_data = n[20], .sequence = n[21],
	};
	names_of_message(message);
	message->md_handle = name_to_handle((int64_t)n[17]);
	message->eq_handle = name_to_handle((int64_t)n[18]);
	message->op_handle = name_to_handle((int64_t)n[19]);
	names = before;
}

void say_end(void)
{
	say("\n");
}

void say_flush(void)
{
	if (out_used)
		fwrite(out, 1, out_used, stdout);
	fflush(stdout);
	out_used = 0;
}

uint32_t crc_of(uint32_t crc, const void *bytes, uint64_t count)
{
	static uint32_t table[256];
	const uint8_t *at = bytes;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
		}
	crc = ~crc;
	while (count--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 255];
	return ~crc;
}

void pattern_fill(void)
{
	for (uint32_t i = 0; i < PATTERN_BYTES; i++)
		pattern[i] = (uint8_t)((i * i * 7 + i * 13 + i / 256 * 101) >> 2);
}
