/*
 * The parts of the fuzzer of frames: steps and world (fuzz_frames.c), arriving frames (arrive.c),
 * invariants of the link (consistent.c).
 */
#ifndef TESTS_FUZZ_FRAMES_H
#define TESTS_FUZZ_FRAMES_H
#include "../../../net/frames/frames.h"

/* Print and abort: libFuzzer keeps the input. */
_Noreturn void frames_fail(const char *what);
#define MUST(condition) \
	do { \
		if (!(condition)) \
			frames_fail(__FILE__ ": not so: " #condition); \
	} while (0)

#define NODES       4u

/* Kinds are taken modulo their number, except the last ones, which have 0xb0 to 0xbf and so on. */
enum step_kind { STEP_FRAME, STEP_RAW, STEP_TIME, STEP_DONE, STEP_CARD, STEP_OWN, STEP_KINDS,
		 STEP_BULK = 0xb, STEP_LONG = 0xc, STEP_FAST = 0xd };

/* Flags in the first step's kind, above the kind itself. */
enum job {
	JOB_KEYED = 1, JOB_CHECKED = 2,        /* tags, or checksums of payload */
	JOB_CROWDED = 4,                       /* a short receive ring */
	JOB_EVENTS = 8,                        /* descriptors have a queue with a handler */
	JOB_SILENT = 16,                       /* the target acknowledges nothing */
	JOB_LONG = 32                          /* frames are long, so long messages are announced */
};

struct step {
	uint8_t kind, node, how, flags;
	int8_t  sequence, ack;         /* differences from the correct numbers */
	uint8_t incarnation, window;
	uint16_t bytes, length, offset, bit;
	uint64_t selective;
	uint8_t operation, header_at, header_value, more;
	uint32_t value;
};

_Static_assert(sizeof(struct step) == 32, "records of an input");

extern struct process_view view;
extern struct link *link_;
extern struct nic nic;                 /* the ordinary card */
extern handle_t source;
extern uint32_t job;                   /* enum job */
extern const struct block_limits limits;

/* Of this job, or null. */
const uint8_t *job_key(void);
/* The header of a message of that node, mostly an acceptable one. */
struct message header_of(const struct step *step, uint32_t node, uint64_t length);
void hand_up(const uint8_t *frame, uint32_t bytes);
/* Make the arrivals of this step; on_bulk: including the kinds of granted messages. */
void arrive(const struct step *step, int on_bulk);
/* The bulk card has received this. */
void land(const uint8_t *frame, uint32_t bytes);

/* The state of a flow at a correct peer. */
struct link_view {
	uint32_t mine, expected, begun, una, next;
	uint32_t bulk, part, part_bytes; /* what the first announced message lacks */
	uint32_t sent, sent_parts; /* of the first announced message that it sends */
	int has_posted;            /* the bulk card has buffers, as far as the link knows */
};

struct link_view link_look(const struct link *link, uint32_t node, enum link_lane lane);

/* The link's knowledge of peers and of their frames, as a number. */
uint64_t link_digest(const struct link *link);

/* Check all invariants. */
void link_check(const struct link *link);

#endif
