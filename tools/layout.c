/*
 * Prints the layout of the shared region as JSON: constants, enumerators, and
 * the offset and size of every field that the launcher reads or writes. A host
 * program, run once per build; the launcher reads its output
 * (build/region.json), so that no offset is ever typed twice.
 */
#include <stddef.h>
#include <stdio.h>

#include "net/portals/block.h"
#include "net/shm/region.h"

static const char *separator = "";

static void open_object(const char *name)
{
	printf("%s\n\"%s\": {", separator, name);
	separator = "";
}

static void close_object(void)
{
	printf("\n}");
	separator = ",";
}

static void number(const char *name, unsigned long long value)
{
	printf("%s\n\t\"%s\": %llu", separator, name, value);
	separator = ",";
}

static void field(const char *name, size_t offset, size_t bytes)
{
	printf("%s\n\t\"%s\": [%zu, %zu]", separator, name, offset, bytes);
	separator = ",";
}

#define NUMBER(name)       number(#name, (unsigned long long)(name))
#define FIELD(type, name)  field(#name, offsetof(struct type, name), \
                                 sizeof(((struct type *)0)->name))

static void constants(void)
{
	const struct block_limits limits = BLOCK_DEFAULT_LIMITS;
	struct block_layout layout;

	open_object("constants");
	NUMBER(REGION_MAGIC);
	NUMBER(REGION_VERSION);
	NUMBER(REGION_MAX_NODES);
	NUMBER(REGION_NODES);
	NUMBER(REGION_ALIGN);
	NUMBER(REGION_LIFE);
	NUMBER(REGION_REQUEST_BACKTRACE);
	NUMBER(REGION_FILE_OUT);
	NUMBER(NODE_OFF);
	NUMBER(NODE_BOOTED);
	NUMBER(NODE_RUNNING);
	NUMBER(NODE_EXITED);
	NUMBER(NODE_ENDED_JOB);
	NUMBER(NODE_FAULTED);
	NUMBER(NODE_PANICKED);
	NUMBER(STREAM_STDOUT);
	NUMBER(STREAM_STDERR);
	NUMBER(STREAM_KERNEL);
	NUMBER(STREAM_STATS);
	NUMBER(STREAM_LOCKS);
	NUMBER(STREAM_OUT_FILE);
	block_layout(&limits, &layout);
	number("BLOCK_SLOTS", layout.slots); /* event slots, the last part of a block */
	number("EVENT_SLOTS", limits.slots);
	NUMBER(EVENT_SLOT_BYTES);
	close_object();
}

static void header(void)
{
	open_object("region_header");
	number("sizeof", sizeof(struct region_header));
	FIELD(region_header, magic);
	FIELD(region_header, version);
	FIELD(region_header, nodes);
	FIELD(region_header, bytes);
	FIELD(region_header, slices);
	FIELD(region_header, slice_bytes);
	FIELD(region_header, block_offset);
	FIELD(region_header, block_bytes);
	FIELD(region_header, console_offset);
	FIELD(region_header, console_bytes);
	FIELD(region_header, segment_offset);
	FIELD(region_header, segment_bytes);
	FIELD(region_header, stdin_ring);
	FIELD(region_header, stdin_bytes);
	FIELD(region_header, file_table);
	FIELD(region_header, files);
	FIELD(region_header, idle);
	close_object();
}

static void node(void)
{
	open_object("region_node");
	number("sizeof", sizeof(struct region_node));
	FIELD(region_node, state);
	FIELD(region_node, status);
	FIELD(region_node, signal);
	FIELD(region_node, exit_order);
	FIELD(region_node, main_ns);
	FIELD(region_node, sleeping);
	FIELD(region_node, console_waits);
	FIELD(region_node, stdin_wanted);
	FIELD(region_node, stdin_taken);
	FIELD(region_node, stdin_reads);
	FIELD(region_node, upcall);
	FIELD(region_node, dead);
	FIELD(region_node, requests);
	FIELD(region_node, start_ns);
	FIELD(region_node, restarts);
	FIELD(region_node, lock_answer);
	FIELD(region_node, lock_first);
	FIELD(region_node, lock_last);
	FIELD(region_node, lock_pid);
	FIELD(region_node, lock_type);
	FIELD(region_node, waits_for);
	FIELD(region_node, awaits);
	close_object();
}

static void rings_and_files(void)
{
	open_object("region_ring");
	number("sizeof", sizeof(struct region_ring));
	FIELD(region_ring, written);
	FIELD(region_ring, taken);
	FIELD(region_ring, closed);
	FIELD(region_ring, full);
	close_object();
	open_object("region_record");
	number("sizeof", sizeof(struct region_record));
	FIELD(region_record, bytes);
	FIELD(region_record, stream);
	close_object();
	open_object("region_file");
	number("sizeof", sizeof(struct region_file));
	FIELD(region_file, name);
	FIELD(region_file, flags);
	FIELD(region_file, offset);
	FIELD(region_file, bytes);
	close_object();
}

int main(void)
{
	printf("{");
	constants();
	header();
	node();
	rings_and_files();
	printf("\n}\n");
	return 0;
}
