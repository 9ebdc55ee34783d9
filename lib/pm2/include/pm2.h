/*
 * PM2: threads in user space, remote procedure calls that are threads, and threads that move from
 * node to node (Bougé, Méhaut, Namyst: Madeleine, INRIA RR-3845, section 3.5, below [P]).
 *
 * A thread lies in slots of the iso-address area: its descriptor, its stack, and its memory of
 * pm2_isomalloc. The area has the same address on every node, and each node hands out slots of its
 * own share without asking others. So a thread that moves keeps its addresses, and no pointer
 * changes. (In the paper the stack is relocated.) Static memory and memory of malloc belong to the
 * node that the thread is on.
 *
 * Rules for all calls
 * - Context: after pm2_init, from any thread of PM2, main among them; not from handlers of signals
 *   and of event queues.
 * - Waiting: calls that say so let other threads run. If none is ready the node halts until a
 *   message comes or a timeout ends.
 * - A wait for another node ends with PM2_EDEAD when that has died or has left the job. Whenever
 *   this node has nothing to run, it probes the other if that was a second ago. So a thread that
 *   computes without end delays the end of the wait.
 * - Preemption: a thread that runs for a quantum while another is ready is preempted; so is a
 *   thread that runs when a call or a thread arrives. It may be interrupted between any two
 *   instructions except in PM2 and the C library (malloc, stdio and the like), which therefore need
 *   no locks. Data that threads of a node share need one: a mutex, pm2_preempt_off, or an atomic
 *   operation. With a plain `shared++` in two threads, updates get lost. The timer (setitimer,
 *   alarm, SIGALRM: all belong to PM2) is set only while more than one thread is ready, a quick
 *   call waits, or one sleeps while another runs.
 * - Calls of the C library that wait (sleep, read of a pipe, PtlEQWait) stop all threads of the
 *   node.
 * - C++: an exception must be caught before another thread runs (pm2_preempt_off around both).
 * - Thread-local variables (_Thread_local) belong to the node, except errno, which each thread has
 *   for itself.
 * - Results: PM2_OK, or one of the errors below. After an error nothing has changed. Each call that
 *   has a result may be PM2_ESTATE.
 * - Some mistakes end the job with status 1 and a line: a stack that is too small (noticed when the
 *   thread stops or the quick service returns), a thread that ends with a mutex locked,
 *   pm2_thread_exit in a quick service.
 */
#ifndef PM2_H
#define PM2_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	PM2_OK = 0,
	PM2_EINVAL = -1,        /* an argument: a null pointer, a bad node or size */
	PM2_ESTATE = -2,        /* not between pm2_init and pm2_end; or a second pm2_init */
	PM2_ENOMEM = -3,        /* this node's share of the iso-address area is used up */
	PM2_EDEAD = -4,         /* the node, or the thread's node, has died or left */
	PM2_EHELD = -5,         /* the thread holds a mutex, has a file open, or must not move */
	PM2_EBUSY = -6,         /* the thread waits; or the mutex is locked */
	PM2_ENOTHREAD = -7,     /* there is no such thread (any more), or it was detached */
	PM2_EDEADLOCK = -8,     /* a thread would wait for itself */
	PM2_ENOTOWNER = -9      /* the mutex or the memory is not this thread's */
};

/* A text for an error; never null. */
const char *pm2_error_text(int error);

/* ---- the node ---- */

struct pm2_config {
	size_t iso_bytes;       /* bytes of the iso-address area, all nodes' shares together; 0:
	                           half of the node's memory */
	size_t stack_bytes;     /* bytes of a thread, with its descriptor, 4 KB to 16 MB, in whole
	                           slots; 0: one slot, PM2_SLOT */
	unsigned quantum_us;    /* of preemption; 0: 10000; ~0u: none: a thread runs until it waits
	                           or yields, and what arrives waits as long */
};

#define PM2_SLOT  16384u        /* bytes of a slot: stacks and heaps are made of slots */

/*
 * Prepares this node; the caller becomes a thread, which cannot move. Collective: all ranks call it
 * with the same `config` (null: all defaults), best as the first thing in main, and may call it
 * again after pm2_end. Waits for all of them. It checks that the area has the same address, and the
 * program the same text, everywhere.
 * If not, the job ends, and a line on standard error says what differs. PM2_EINVAL: sizes, or more
 * than 256 nodes; PM2_ENOMEM: no memory for the area, use `--mem`; PM2_ESTATE; PM2_EDEAD.
 */
int pm2_init(const struct pm2_config *config);

/* Collective, from main only: serves calls and threads of other nodes until all ranks have called
 * it, then frees everything. Threads that still exist anywhere are lost. Waits. PM2_EDEAD: a node
 * has died; PM2_EINVAL: not from main. */
int pm2_end(void);

int pm2_self(void);             /* this node's rank; it changes when the thread moves */
int pm2_nodes(void);            /* number of nodes */

/* ---- threads ---- */

typedef uint64_t pm2_thread_t;  /* the name of a thread, the same on all nodes; never 0 */

/* A new thread of this node that runs function(argument). It is ready at once. `thread` may be
 * null: then the thread is detached. PM2_EINVAL, PM2_ENOMEM. */
int pm2_thread_create(pm2_thread_t *thread, void *(*function)(void *), void *argument);

/* Waits until the thread has ended, wherever it is, and frees its name. *result, if not null, is
 * what its function returned; a pointer to memory of another node, or to the thread's heap, is not
 * valid. Only one thread can wait for it. PM2_ENOTHREAD, PM2_EDEADLOCK, PM2_EBUSY: another one
 * waits already; PM2_EDEAD: it was on a node that has died, or that node was sending it to
 * another. */
int pm2_thread_join(pm2_thread_t thread, void **result);

/* No thread will wait for it. PM2_ENOTHREAD; PM2_EBUSY: one waits already; PM2_EINVAL: it was not
 * created on this node. */
int pm2_thread_detach(pm2_thread_t thread);

void pm2_thread_exit(void *result) __attribute__((noreturn)); /* main: ends the process */
pm2_thread_t pm2_thread_self(void); /* 0: main, which cannot be joined */
void pm2_yield(void);           /* lets the others that are ready run first */
int pm2_sleep(uint64_t us);     /* at least this long; waits. If nothing is ready, the time is
                                   rounded up to milliseconds */

/* Between the two calls the thread is not preempted; they nest. It may still wait. */
void pm2_preempt_off(void);
void pm2_preempt_on(void);

/* ---- mutexes and conditions: for the threads of one node; all zero is a new one ---- */

struct pm2_thread;
struct pm2_queue { struct pm2_thread *first, *last; };
typedef struct { struct pm2_thread *owner; struct pm2_queue waiting; } pm2_mutex_t;
typedef struct { struct pm2_queue waiting; } pm2_cond_t;

/* First come, first served. Not recursive: PM2_EDEADLOCK. They must be in static memory or memory
 * of malloc, not in a thread's own. A thread unlocks them before it ends. lock waits. PM2_EINVAL;
 * PM2_EBUSY: trylock; PM2_ENOTOWNER: unlock. */
int pm2_mutex_lock(pm2_mutex_t *mutex);
int pm2_mutex_trylock(pm2_mutex_t *mutex);
int pm2_mutex_unlock(pm2_mutex_t *mutex);

/* Unlocks the mutex, waits for a signal, locks it again. Between signal and lock other threads may
 * run, so the condition must be tested again. PM2_EINVAL, PM2_ENOTOWNER. */
int pm2_cond_wait(pm2_cond_t *cond, pm2_mutex_t *mutex);
int pm2_cond_signal(pm2_cond_t *cond);          /* wakes the thread that has waited longest */
int pm2_cond_broadcast(pm2_cond_t *cond);

/* ---- memory that moves with the thread ---- */

/* Like malloc, 16-byte aligned, for the calling thread (not main): the memory moves with the thread
 * and is freed with it. Null: this node's share is used up, `bytes` is 256 MB or more, or the
 * caller is main. */
void *pm2_isomalloc(size_t bytes);

/* Only by the thread that owns it; null does nothing. PM2_ENOTOWNER: not from this thread's
 * pm2_isomalloc, or freed already. */
int pm2_isofree(void *memory);

/* ---- migration [P] ---- */

/*
 * Moves the calling thread to a node; it returns there. PM2_EINVAL: node, or main; PM2_EHELD;
 * PM2_EDEAD: the node has died, and the thread has not moved.
 */
int pm2_migrate_self(int node);

/*
 * Moves another thread, wherever it is and while it computes: preemptive migration. It must be
 * ready. Waits for the node that it is on. PM2_EBUSY: it waits for something or sleeps, or has been
 * woken from a condition, a join or a call and has not run yet, or is being moved; PM2_EHELD,
 * PM2_EINVAL, PM2_ENOTHREAD, PM2_EDEAD.
 */
int pm2_migrate(pm2_thread_t thread, int node);

/* Between the two calls the calling thread is not moved (PM2_EHELD); they nest. */
void pm2_migration_off(void);
void pm2_migration_on(void);

/* ---- remote procedure calls [P]: a thread for each call ---- */

/*
 * A service: a function of the program. It gets a copy of the argument on its own stack and leaves
 * its result, of the size that the caller wants, in `result`; bytes that it does not write are not
 * defined. It is a thread like any other: it may wait, call other services, and move; what it has
 * written to `result` moves with it. The result goes to the caller from the node where it ends.
 */
typedef void (*pm2_service_t)(const void *argument, size_t bytes, void *result,
			      size_t result_bytes);

#define PM2_ARGUMENT_MOST (1u << 20)    /* bytes of an argument and of a result */

typedef struct { pm2_thread_t thread; } pm2_call_t;

/*
 * Synchronous: calls the service on a node and waits for its result. Its thread uses slots of this
 * node. `node` may be this one. PM2_EINVAL, PM2_ENOMEM, PM2_EDEAD.
 */
int pm2_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes, void *result,
	     size_t result_bytes);

/* Asynchronous: the caller goes on, and waits later, once. Until then `result` must stay valid and
 * the waiting thread on this node: so it must be main, or not move. begin: as pm2_lrpc; wait:
 * PM2_EINVAL, PM2_EDEAD, PM2_ENOTHREAD: it has been waited for, or was begun on another node. */
int pm2_lrpc_begin(int node, pm2_service_t service, const void *argument, size_t bytes,
		   void *result, size_t result_bytes, pm2_call_t *call);
int pm2_lrpc_wait(pm2_call_t *call);

/* Asynchronous, without a result and without a wait. */
int pm2_async_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes);

#define PM2_QUICK_STACK 65536u          /* bytes of the stack of quick services */

/* Quick: the service runs on the node's scheduler, without a thread, and on its stack. It must not
 * wait, create threads, or make calls: these return PM2_ESTATE there, and calls without a result do
 * nothing. */
int pm2_quick_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes,
		   void *result, size_t result_bytes);
int pm2_quick_async_lrpc(int node, pm2_service_t service, const void *argument, size_t bytes);

/* ---- counters of this node ---- */

struct pm2_counters {
	uint64_t switches;              /* from thread to thread */
	uint64_t preemptions;           /* of these, preemptions by the timer or a message */
	uint64_t timers;                /* times that the timer was set */
	uint64_t left, arrived;         /* threads that have moved away and here */
	uint64_t served;                /* calls served, of other nodes and this one */
	uint64_t image_bytes;           /* of the last thread that left: descriptor, stack in use */
};
void pm2_get_counters(struct pm2_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
