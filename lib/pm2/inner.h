/*
 * What the files of PM2 share. All of it is used with `pm2.busy` set: the timer's signal then puts
 * itself off until pm2_leave. Contexts that run:
 *
 *   threads          on stacks in slots; main on the program's own
 *   the scheduler    on a stack of its own: when no thread is ready, and for what cannot be done on
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
	RUNS,                           /* or is the one that has called the scheduler */
	READY,
	WAITS,                          /* in a queue, or for a message */
	SLEEPS,
	AWAY                            /* elsewhere, or on its way, or it has ended */
};

enum flags {
	MAIN = 1,
	CALL = 2,                       /* serves a remote procedure call */
	QUICK = 4,                      /* without a thread */
	SILENT = 8                      /* nobody waits for the end */
};

/* A message that waits for credit; lies in the thread or the memory that it is about. */
struct message {
	struct message *next;
	uint64_t bits, header;
	uint64_t at, bytes, to;         /* what is sent, to which address there */
	struct pm2_thread *thread;      /* that leaves with it, or null */
};

struct region;

/* Moves with the thread. Pointers in it lead to the thread's own slots or to the text; those that
 * lead elsewhere are valid while it stays. */
struct pm2_thread {
	void *sp;                       /* while it does not run; the first word (switch.c) */
	struct pm2_thread *next, *before; /* in the queue that it is in */
	uint64_t *canary;
	pm2_thread_t name;
	struct region *heap;
	union {
		void *(*function)(void *);
		pm2_service_t service;
	};
	void *argument;
	void *result;                   /* of the function; of a call: where its result is made */
	void *result_to;                /* of a call: the address at the caller's */
	uint32_t argument_bytes, result_bytes;
	uint64_t wake_at;               /* monotonic ns, while it sleeps */
	uint32_t hops;
	uint16_t slots, node;           /* how many; where it is going */
	uint8_t state, flags;
	uint16_t held;                  /* mutexes */
	uint16_t unmovable, unpreempted; /* pm2_migration_off, pm2_preempt_off */
	int error;                      /* of what it has waited for */
	int kept_errno;
	struct message message;
};

/* A slot of this node's share. */
enum slot_use { FREE, PART, LIVES, ENDED };

struct record {
	uint32_t serial;                /* of the thread whose first slot it is */
	uint8_t use;
	uint8_t detached;
	uint16_t slots;
	int error;
	void *result;
	struct pm2_thread *joiner;
};

struct peer {
	ptl_process_id_t process;
	uint32_t sent, returned;        /* messages: sent, and known to be taken */
	uint32_t owed;                  /* taken from it and not told */
	uint8_t dead, probed, wanted;   /* wanted: something is waited for from it */
	uint8_t ended;                  /* has called pm2_end; of rank 0: all have */
	struct message *first, **last;  /* that wait for credit */
};

enum mode { POLLS, INTERRUPTS };        /* which queue arrivals are told in */

struct pm2_state {
	volatile int busy;              /* in PM2: the timer's signal waits */
	volatile int late;              /* it did */
	struct pm2_thread *current;
	struct pm2_queue ready;
	struct pm2_queue sleeping;      /* by wake_at */
	struct pm2_queue quick;         /* calls for the scheduler */
	struct pm2_thread main, scheduler;
	struct pm2_thread *ends, *departs; /* for the scheduler, by the thread that has called it */
	int serving;                    /* a quick service runs */
	int *errno_at;
	unsigned yields;

	unsigned quantum_us;            /* 0: none */
	uint64_t timer_at;              /* what the timer is set for; NO_TIME: not set */

	int open;
	int self, nodes;
	unsigned window;                /* messages to one node that it has not taken */
	unsigned queued;                /* messages that wait to be sent */
	unsigned awaited;               /* threads that wait for the end of another */
	enum mode mode;
	struct peer *peers;

	char *area;                     /* the iso-address area */
	uint64_t area_slots, first, share; /* this node's slots: first ... first + share - 1 */
	uint64_t *places;               /* of all slots, as far as it is this node's: see slots.c */
	struct record *records;         /* of this node's slots */
	uint64_t *used;                 /* a bit for each of them */
	uint64_t hint;                  /* word of `used` below which all bits are set */
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

/* Back to the thread's own code: arrivals interrupt it, the timer is set if it is needed, and what
 * the timer's signal has put off is done. */
void pm2_arm(void);
void pm2_late(void);

static inline void pm2_leave(void)
{
	if (__builtin_expect((pm2.ready.first && pm2.timer_at == NO_TIME) ||
			     pm2.sleeping.first || pm2.mode == POLLS, 0))
		pm2_arm();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pm2.busy = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(pm2.late, 0))
		pm2_late();
}

/* A call that needs PM2, from a thread. */
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

void pm2_block(enum state state);       /* the current thread; returns when it was made ready */
void pm2_to_scheduler(void);            /* likewise, without any queue: see `ends` and `departs` */
uint64_t pm2_now(void);                 /* monotonic, ns */
void pm2_tick(int number, void *info, void *context);
int pm2_scheduler_open(void);
void pm2_scheduler_close(void);

/* ---- switch.c ---- */

void pm2_switch(struct pm2_thread *from, struct pm2_thread *to);
void pm2_prepare(struct pm2_thread *thread, void *top, void (*function)(void));
void pm2_check_stack(const struct pm2_thread *thread);

/* ---- slots.c ---- */

int pm2_slots_open(size_t bytes);
void pm2_slots_close(void);
void *pm2_slots_take(uint32_t count);   /* null: there are not so many in a row */
void pm2_slots_give(void *slots, uint32_t count); /* of this node's share */
int pm2_owner(const void *address);     /* the node that a slot belongs to; -1: not in the area */
struct record *pm2_record(pm2_thread_t name); /* of a thread created here, or null */
struct record *pm2_record_of(const struct pm2_thread *thread);
int pm2_home(pm2_thread_t name);        /* -1: not a name */
struct pm2_thread *pm2_thread_of(pm2_thread_t name); /* where its descriptor is, or would be */
void pm2_place(const struct pm2_thread *thread, int node); /* tells its home that it goes there */
int pm2_place_of(pm2_thread_t name);    /* at its home: the node that it is on */

/* A thread in so many slots with its name and record, on no stack yet. */
struct pm2_thread *pm2_thread_new(uint32_t slots);

/* ---- heap.c ---- */

void pm2_heap_free(struct pm2_thread *thread);
void pm2_heap_send(struct pm2_thread *thread, int node);

/* ---- message.c ---- */

enum { PM2_PORTAL = 40, PM2_ASK_PORTAL };
#define PM2_UNTOLD    256ULL            /* match bit: it is in place, and no event says so */
#define PM2_KIND      255ULL            /* match bits: enum kind */

/* THREAD: header is its descriptor's address. END: the name. FREE: the slots' address and, in the
 * lowest bits, how many. CREDIT: how many messages were taken. LEAVE: nothing. */
enum kind { KIND_THREAD, KIND_END, KIND_FREE, KIND_CREDIT, KIND_LEAVE };

int pm2_messages_open(void);
void pm2_messages_close(void);
void pm2_poll(void);
void pm2_wait(uint64_t until);          /* halts: until something comes, or that time */
void pm2_expect(void);                  /* before a message whose answer is waited for */
void pm2_set_mode(enum mode mode);
/* The thread's or the memory's `message`, filled but for `next`. */
void pm2_send(int node, struct message *message);
void pm2_tell(int node, enum kind kind, uint64_t header); /* nothing but this; needs no credit */
void pm2_copy(int node, const void *memory, uint64_t bytes); /* to the same address; not told */

/* ---- thread.c, rpc.c, migrate.c ---- */

void pm2_thread_begins(void);           /* where each thread begins */
void pm2_await(void);                   /* waits as the joiner of a record */
void pm2_ended(struct pm2_thread *thread); /* on the scheduler: it will not run again */
void pm2_serve_quick(struct pm2_thread *call);
void pm2_finish(pm2_thread_t name, void *result, int error); /* its end is known at its home */
void pm2_depart(struct pm2_thread *thread);
void pm2_arrived(struct pm2_thread *thread);
void pm2_stayed(struct pm2_thread *thread); /* its node has died before it came there */
void pm2_bury(int node);                /* threads and calls that were there */
#endif
