/*
 * Fuzzing the engine: shared by both targets.
 *
 * An input is a list of steps of 16 bytes. Each step is one call that a kernel
 * may make on a block: of its owner, or of a kernel that delivers a message to it. So
 * an input is a history of two processes, in any interleaving of begin, data
 * and end, with any message in between.
 *
 *   fuzz_messages  the blocks are the engine's own work. After every step each
 *                  block must be consistent (consistency.c), and only permitted
 *                  bytes of a segment may have changed (memory.c).
 *   fuzz_blocks    steps may also damage a block. Then every call must only
 *                  end, and stay within block and segment.
 *
 * Blocks and segments are between inaccessible pages, so an access outside them
 * faults, even a read. The engine's code counts its basic blocks (fuzz_edge), so
 * an endless loop is found by counting, not by time.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
#include <stddef.h>
#include "../../lib/portals/eq_reader.h"
#include "../../net/portals/ac.h"
#include "../../net/portals/atomic.h"
#include "../../net/portals/eq.h"
#include "../../net/portals/initiator.h"
#include "../../net/portals/iovec.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"
#include "../../net/portals/op.h"
#include "../../net/portals/post.h"

#define PROCESSES      2u
#define SEGMENT        4096u      /* bytes */
#define BASE           0x40000000ULL
#define DATA           256u       /* the application may not write below this, */
#define GUARD_PAGE     3584u      /* and may not access memory between these */
#define STACK          3648u
#define JOB            7u
#define PORTALS        4u
#define MES            12u
#define MDS            12u
#define EQS            4u
#define OPS            8u
#define SLOTS          40u        /* event slots: not a power of two */
#define PIECES         24u        /* of iovec descriptors */
#define MOST_PIECES    8u         /* of one descriptor, in inputs */
#define POST           16u        /* messages that exist */
#define SENDS          8u         /* puts started and not yet sent */
#define OPENED         12u        /* operations begun and not yet ended */
#define MOST_STEPS     64u        /* of an input */
#define MOST_EDGES     20000u     /* basic blocks that one call may execute */

/* One step: what to do, to which process, and with what. */
struct step {
	uint8_t  kind;                /* modulo STEP_KINDS: enum step_kind */
	uint8_t  p;                   /* process, lowest bit */
	uint8_t  a, b, c, d, e, f;    /* choices */
	uint16_t x, y, z, w;          /* amounts */
};

_Static_assert(sizeof(struct step) == 16, "records of an input");

/* The kinds, in the order of the files that implement them. */
#define FUZZ_STEPS(ONE) \
	ONE(EQ_ALLOC) ONE(EQ_FREE) ONE(READ) ONE(AC) \
	ONE(ME_ATTACH) ONE(ME_ATTACH_ANY) ONE(ME_INSERT) ONE(ME_UNLINK) \
	ONE(LIFE)            /* close, open, format; a peer's death */ \
	ONE(ASK)             /* status, pending, lookups */ \
	ONE(MD_ATTACH) ONE(MD_INSERT) ONE(MD_BIND) ONE(MD_UPDATE) ONE(MD_UNLINK) \
	ONE(PUT) ONE(GET) ONE(EXCHANGE) ONE(SENT) ONE(UNANSWERED) \
	ONE(DELIVER) ONE(DATA) ONE(END) ONE(INLINE) \
	ONE(DAMAGE)          /* this and the following: fuzz_blocks only */ \
	ONE(DAMAGE_WITHIN)   /* during the next call */

#define STEP_NAME(name)  #name,
#define STEP_ENUM(name)  STEP_##name,
enum step_kind { FUZZ_STEPS(STEP_ENUM) STEP_KINDS };

/* A range of a segment. */
struct range {
	uint64_t offset, bytes;
};

/* The memory that a descriptor may access. */
struct known {
	handle_t handle;
	uint32_t options;
	uint32_t pieces;
	struct range memory[PIECES];
};

struct process {
	struct process_view view;     /* passed to the engine */
	struct process_view before;   /* its expected contents */
	uint8_t *segment;             /* the view's memory */
	uint8_t *fresh;               /* a new block, copied at the start of every input */
	uint8_t *shadow_block;        /* copies of both after the last step */
	uint8_t *shadow_segment;
	handle_t mes[MES];            /* handles of all live objects */
	struct known mds[MDS];
	handle_t eqs[EQS];
	struct eq_reader readers[EQS];
	int open;                     /* the interface is */
};

/* A message that may be delivered, and the source of its payload. */
struct letter {
	int used;
	struct message message;
	int from;                     /* process whose memory holds the payload, or -1 */
	struct grant source;          /* its range there */
};

struct send {
	int used;
	uint32_t p;
	struct message message;
	struct grant grant;
};

struct opened {
	int used;
	uint32_t p;
	struct grant grant;
	struct message answer;
	struct known md;              /* whose memory was granted */
	struct letter letter;         /* what was begun */
	int wild;                     /* its payload is not the sender's memory */
};

/* The state of one input; initially zero, except for the processes' maps. */
struct fuzz {
	struct process processes[PROCESSES];
	struct letter post[POST];
	struct send sends[SENDS];
	struct opened opened[OPENED];
	uint32_t posted;              /* letters so far; the next one is stored at posted % POST */
	uint32_t touched;             /* bit per process whose block the step may change */
	int damaging;                 /* fuzz_blocks */
};

extern struct fuzz fuzz;
extern uint64_t fuzz_block_bytes;

/* Print and abort: libFuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *what);
#define MUST(condition) \
	do { \
		if (!(condition)) \
			fuzz_fail(__FILE__ ": not so: " #condition); \
	} while (0)
/* Checks that hold only for an undamaged block. */
#define MUST_IF_WHOLE(condition) MUST(fuzz.damaging || (condition))

/* Zeroed memory with an inaccessible range before and after it. */
uint8_t *guarded(uint64_t bytes);

/* world.c: maps memory at the first input, then resets everything. */
void fuzz_reset(int damaging);
/* A call on this process's block follows: it may execute MOST_EDGES, and change this block. */
struct process_view *fuzz_enter(struct process *process);
/* Change `bytes` bytes of a block before the next call's edge `edge`. */
void fuzz_damage_at(uint32_t edge, void *at, uint64_t value, uint32_t bytes);

/* input.c: turning a step's numbers into arguments. */
uint64_t amount(uint16_t x);      /* a length or an offset: small, or a border case */
uint64_t address(uint16_t x);     /* mostly in the segment */
uint32_t identity(uint8_t x, uint32_t own);
handle_t some_me(const struct process *process, uint8_t choice);
handle_t some_md(const struct process *process, uint8_t choice);
handle_t some_eq(const struct process *process, uint8_t choice);
handle_t damaged_handle(handle_t handle, uint8_t how);
struct known *known_md(struct process *process, handle_t handle);

/* Carry out a step: owner.c, descriptors.c, initiate.c, deliver.c, damage.c. */
void step_owner(struct process *process, const struct step *step);
void step_descriptor(struct process *process, const struct step *step);
void step_initiate(struct process *process, const struct step *step);
void step_deliver(struct process *process, const struct step *step);
void step_damage(struct process *process, const struct step *step);

/* A place for a new entry's handle: a removed object's, or -1 if all are in use. */
int free_me(const struct process *process);

/* Check the result of an owner's call: after an error nothing may have changed. */
void check_error(const struct process *process, int error);
/* Write into a segment as the application does. */
void store(struct process *process, uint64_t offset, const void *from, uint64_t bytes);

/* letters.c: the messages kept for delivery. Post one; its payload is in process `from`, or made
 * up (-1). */
void post(const struct message *message, int from, const struct grant *source);
/* No operation pins this descriptor of process p any more, or any of them (HANDLE_NONE): from
 * now on its pieces are no message's payload. */
void letters_forget(uint32_t p, handle_t md);
/* The message of a step: a posted one, perhaps changed, or an invented one. Returns its target
 * process. *wild is 1 if its payload is not the sender's memory. */
struct process *letter_of(struct process *process, const struct step *step,
			  struct letter *letter, int *wild);

/* grants.c: a grant's range must lie in the segment, and in the memory that the
 * descriptor had when it was made. *md is that descriptor, if it is known. */
void check_grant(struct process *process, const struct grant *grant, struct known *md);
void memory_allow_grant(struct process *process, const struct known *md,
			const struct grant *grant);

/* oracle.c: the descriptor that an arriving request must find, by the plain search of rules 1 to
 * 5 in the lists; HANDLE_NONE if it must be discarded. */
handle_t oracle(const struct process *process, const struct message *message);
int oracle_waits(const struct process *process, const struct message *answer);

/* consistency.c: a check of a whole block that is independent of the engine. */
void check_consistency(const struct process *process);

/* memory.c: permissions to write for the current step. */
void memory_allow(struct process *process, struct range range);
void memory_check(void);          /* also makes the current contents the expected ones */
void memory_forbid(void);         /* withdraws all permissions */
int block_unchanged(const struct process *process); /* since the last step */

/* Run all steps of an input. */
void fuzz_run(const uint8_t *data, size_t size, int damaging);

#endif
