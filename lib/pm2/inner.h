/*
 * What the files of PM2 share. All of it runs with `pm2.busy` set: the timer's signal is then
 * deferred until pm2_leave. Contexts that run:
 *
 *   threads          on stacks in slots; main on the program's own
 *   the scheduler    on its own stack: when no thread is ready, and for work that cannot be done on
 *                    the stack of the thread concerned (it moves, it ends, it is a quick call)
 *
 *   slots of a thread:
 *   limit                                        sp             descriptor
 *   | result of a call | canary | ... free ... | stack in use | struct pm2_thread |
 *                                              '--- what moves -----------------'
 */
#ifndef PM2_INNER_H
#define PM2_INNER_H
#include <margay.h>
#include <pm2.h>
#include <portals3.h>

#define CANARY        0x9a2b7de14c5f8036ULL
#define NODES_MOST    256
#define NO_TIME       (~0ULL)
#define PROBE_MS      1000u
#define POLL_EVERY    8u                /* pm2_yields */

enum state {
	RUNS,                           /* runs, or has called the scheduler */
	READY,
	WAITS,                          /* in a queue, or for a message */
	SLEEPS,
	AWAY                            /* on another node, being moved, or ended */
};

enum flags {
	MAIN = 1,
	CALL = 2,                       /* serves a remote procedure call */
	QUICK = 4,                      /* a quick call, without a thread */
	BEGUN = 8,                      /* of a call: its service runs */
	BOUND = 16                      /* waits for an object of this node, or has yet to look at it */
};

/* A message that waits for credit; it lies in the thread or the memory that it concerns. */
struct message {
	struct message *next;
	uint64_t bits, header;
	uint64_t at, bytes, to;         /* what is sent, and to which address there */
	struct pm2_thread *thread;      /* the thread that leaves with it, or null */
};

struct region;

/* Moves with the thread. Pointers in it point to the thread's own slots or to the text; others are
 * valid only while it stays. */
struct pm2_thread {
	void *sp;                       /* while it does not run; the first word (switch.c) */
	struct pm2_thread *next, *before; /* neighbours in its queue */
	uint64_t *canary;
	pm2_thread_t name;
	struct region *heap;
	union {
		void *(*function)(void *);
		pm2_service_t service;
	};
	void *argument;
	void *result;                   /* of the function; of a call: its result buffer */
	void *result_to;                /* of a call: the caller's address for the result */
	uint32_t argument_bytes, result_bytes;
	uint64_t wake_at;               /* monotonic ns, while it sleeps */
	uint32_t hops;
	uint16_t slots, node;           /* number of slots; destination */
	uint8_t state, flags;
	uint16_t held;                  /* mutexes */
	uint16_t unmovable, unpreempted; /* pm2_migration_off, pm2_preempt_off */
	int error;                      /* result of its last wait */
	int kept_errno;
	struct message message;
};

/* A slot of this node's share. */
enum slot_use { FREE, PART, LIVES, ENDED };

struct record {
	uint32_t serial;                /* of the thread that begins in this slot */
	uint8_t use;
	uint8_t detached;
	uint16_t slots;
	int error;
	void *result;
	struct pm2_thread *joiner;
};

struct peer {
	ptl_process_id_t process;
	uint32_t sent, returned;        /* messages sent to it; messages known to be taken */
	uint32_t unacked;                  /* messages taken from it and not yet acknowledged */
	uint32_t leaving;               /* threads sent to it that may not have arrived yet */
	uint8_t dead, probed, wanted;   /* wanted: something waits for it */
	uint8_t asked;                  /* for a thread that a dead node was sending it */
	uint8_t ended;                  /* has called pm2_end; of rank 0: all have */
	struct message *first, **last;  /* messages that wait for credit */
};

enum mode { POLLS, INTERRUPTS };        /* which queue arrivals go into */

struct pm2_state {
	volatile int busy;              /* in PM2: the timer's signal is deferred */
	volatile int late;              /* a signal was deferred */
	struct pm2_thread *current;
	struct pm2_queue ready;
	struct pm2_queue sleeping;      /* by wake_at */
	struct pm2_queue quick;         /* calls for the scheduler */
	struct pm2_thread main, scheduler;
	struct pm2_thread *ends, *departs; /* work for the scheduler */
	int serving;                    /* a quick service runs */
	int *errno_at;
	unsigned yields;

	unsigned quantum_us;            /* 0: none */
	uint64_t timer_at;              /* expiry of the timer, ns; NO_TIME: not set */

	int open;
	int self, nodes;
	unsigned window;                /* most messages to one node that it has not taken */
	unsigned queued;                /* messages that wait to be sent */
	unsigned awaited;               /* threads that wait for the end of another */
	uint64_t ask_at;                /* when nodes that something waits for are probed next, ns */
	enum mode mode;
	struct peer *peers;

	char *area;                     /* the iso-address area */
	uint64_t area_slots, first, share; /* this node's slots: first ... first + share - 1 */
	uint64_t *places;               /* this node's part of all slots' places: slots.c */
	struct record *records;         /* of this node's slots */
	uint64_t *used;                 /* a bit for each of these slots */
	uint64_t hint;                  /* index in `used` below which all bits are set */
	uint32_t stack_slots;

	ptl_handle_ni_t ni;
	ptl_handle_eq_t queues[2];      /* of the two modes */
	ptl_handle_me_t entries[3];
	ptl_handle_md_t incoming, noted, plain, asked;
	unsigned ended;                 /* rank 0: how many have called pm2_end */
	int ending;
	struct pm2_counters counters;
};

extern struct pm2_state pm2;

/* ---- sched.c ---- */

static inline void pm2_enter(void)
{
	pm2.busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Returns to the thread's own code: enables interrupts by arrivals, sets the timer if needed, and
 * handles a deferred signal of the timer. */
void pm2_arm(void);
void pm2_late(void);

static inline void pm2_leave(void)
{
	if (__builtin_expect(((pm2.ready.first || pm2.quick.first) && pm2.timer_at == NO_TIME) ||
			     pm2.sleeping.first || pm2.mode == POLLS, 0))
		pm2_arm();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pm2.busy = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(pm2.late, 0))
		pm2_late();
}

/* Whether a thread may call PM2 now. */
static inline int pm2_may(void)
{
	return pm2.open && !pm2.serving;
}

void pm2_append(struct pm2_queue *queue, struct pm2_thread *thread);
void pm2_remove(struct pm2_queue *queue, struct pm2_thread *thread);

static inline void pm2_ready(struct pm2_thread *thread)
{
	thread->state = READY;
	pm2_append(&pm2.ready, thread);
}

void pm2_block(enum state state);       /* blocks the current thread until it is made ready */
void pm2_to_scheduler(void);            /* likewise, in no queue: see `ends` and `departs` */
uint64_t pm2_now(void);                 /* monotonic, ns */
void pm2_tick(int number, void *info, void *context);
int pm2_scheduler_open(void);
void pm2_scheduler_close(void);

/* ---- switch.c ---- */

void pm2_switch(struct pm2_thread *from, struct pm2_thread *to);
void pm2_prepare(struct pm2_thread *thread, void *top, void (*function)(void));
void pm2_check_stack(const struct pm2_thread *current);
_Noreturn void pm2_wrong(const char *what);     /* ends the job with a line */

/* ---- slots.c ---- */

int pm2_slots_open(size_t bytes);
void pm2_slots_close(void);
void *pm2_slots_take(uint32_t count);   /* null: no such run is free */
void pm2_slots_give(void *slots, uint32_t count); /* of this node's share */
int pm2_owner(const void *address);     /* the node that owns a slot; -1: not in the area */
struct record *pm2_record(pm2_thread_t name); /* of a thread created here, or null */
struct record *pm2_record_of(const struct pm2_thread *thread);
int pm2_home(pm2_thread_t name);        /* -1: not a name */
struct pm2_thread *pm2_thread_of(pm2_thread_t name); /* the address of its descriptor on any node */
void pm2_place(const struct pm2_thread *thread, int node); /* tells its home where it goes */
int pm2_place_of(pm2_thread_t name);    /* at its home: the node that it is on */
int pm2_sender_of(pm2_thread_t name);   /* at its home: the node that has sent it there */

/* A thread with a number of slots, a name and a record, but no stack contents. */
struct pm2_thread *pm2_thread_new(uint32_t slots);

/* ---- heap.c ---- */

void pm2_heap_free(struct pm2_thread *thread);
void pm2_heap_send(struct pm2_thread *thread, int node);

/* ---- message.c ---- */

enum { PM2_PORTAL = 40, PM2_ASK_PORTAL };
#define PM2_SILENT    256ULL            /* match bit: delivered without an event */
#define PM2_KIND      255ULL            /* match bits: enum kind */
#define PM2_NODE_SHIFT 48               /* header of THREAD: the node that it is sent to */

/* Headers. THREAD: its descriptor's address, and the node. END: the name. FREE: the address of the
 * slots, with their number in the lowest bits. CREDIT: how many messages were taken. LEAVE: nothing.
 * ASK: the name of a thread; the address is the number of the dead node that was sending it. ANSWER,
 * LOST: the name: it has come, or moved on, or the death is not known yet; it will not come. */
enum kind { KIND_THREAD, KIND_END, KIND_FREE, KIND_CREDIT, KIND_LEAVE, KIND_ASK, KIND_ANSWER,
	    KIND_LOST };

int pm2_messages_open(void);
void pm2_messages_close(void);
void pm2_poll(void);
void pm2_wait(uint64_t until);          /* halts until something comes, or that time */
void pm2_expect(void);                  /* to be called before a message that has an answer */
void pm2_set_mode(enum mode mode);      /* or not, while messages are arriving */
/* Sends the `message` of a thread or of memory; all its fields but `next` are filled in. */
void pm2_send(int node, struct message *message);
void pm2_tell(int node, enum kind kind, uint64_t header); /* no data; needs no credit */
void pm2_copy(int node, const void *memory, uint64_t bytes); /* to the same address; no event */

/* ---- thread.c, rpc.c, migrate.c ---- */

void pm2_thread_begins(void);           /* where each thread begins */
void pm2_await(void);                   /* waits as the joiner of a record */
void pm2_ended(struct pm2_thread *thread); /* on the scheduler: frees a thread that has ended */
void pm2_serve_quick(struct pm2_thread *call);
void pm2_finish(pm2_thread_t name, void *result, int error); /* its home knows that it has ended */
void pm2_depart(struct pm2_thread *thread);
void pm2_arrived(struct pm2_thread *thread);
void pm2_stayed(struct pm2_thread *thread); /* its destination died before it arrived */
pm2_thread_t pm2_name_in(uint64_t slot); /* of the thread that begins in a slot of this share */
void pm2_bury(int node);                /* declares threads and calls on a dead node lost */
pm2_thread_t pm2_suspect(int node, pm2_thread_t after); /* the next thread that is waited for, and
                                           that a dead node was sending to this one; or 0 */
#endif
