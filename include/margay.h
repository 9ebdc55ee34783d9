/*
 * Rank, size and identity of this process in its job, for applications.
 *
 * A job has N processes, its ranks 0 to N-1, one on each node. Each call may be made at any time
 * from main on and does not block. margay_rank, margay_size and margay_process make no system call.
 * The environment variables MARGAY_RANK and MARGAY_SIZE have the same numbers for programs without
 * this header.
 */
#ifndef MARGAY_H
#define MARGAY_H
#include <margay/notes.h>
#include <portals3.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This process's rank: 0 to margay_size() - 1. */
int margay_rank(void);

/* The number of processes of the job: 1 or more. */
int margay_size(void);

/*
 * The Portals name of a rank, valid as a target and as a source of match entries. Rank order is
 * node order. A rank that the job does not have gives a name that no process has.
 */
ptl_process_id_t margay_process(int rank);

/*
 * Stores the first `count` counters of this node's kernel into values, in the order of enum counter
 * in <margay/counters.h>. Returns the number of counters that the kernel has, or -1 with errno
 * EFAULT or EINVAL. One system call.
 */
int margay_counters(uint64_t *values, int count);

/*
 * At file level, once in a file: all event queues of this program together have `slots` slots, 64
 * to 32768, instead of 8192. If several files have it, the largest number counts. Each slot takes
 * 144 bytes of kernel memory on each node. `margay run --event-slots` overrides it. It is a note in
 * the image, which launcher and kernel read, and makes no code. PTL_SR_EVENT_SLOTS has the result.
 */
#define MARGAY_EVENT_SLOTS(slots) \
	MARGAY_STATIC_ASSERT((slots) >= MARGAY_EVENT_SLOTS_LEAST && \
	                     (slots) <= MARGAY_EVENT_SLOTS_MOST, "event slots: 64 to 32768"); \
	static const struct margay_note margay_event_slots \
		__attribute__((section(".note.margay.event_slots"), used, aligned(4))) = \
		{ sizeof MARGAY_NOTE_NAME, 4, MARGAY_NOTE_EVENT_SLOTS, MARGAY_NOTE_NAME, slots }

#ifdef __cplusplus
#define MARGAY_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define MARGAY_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/*
 * Prints where this process is, as in the report of a fault: one line for each function that has
 * not returned. margay run adds function, file and line.
 */
void margay_backtrace(void);

/*
 * Ends the whole job: this process as by _exit, and the others at once. margay run returns status &
 * 255, even if it is 0. If several processes call it the first one's status counts. Standard output
 * is not flushed. On boards without a launcher the other nodes go on.
 */
void margay_end_job(int status) __attribute__((noreturn));

/*
 * Sets the handler that is called when this process ends by exit, _exit or the return from main,
 * last of all: after the functions of atexit, when files have been flushed. Its argument is the
 * status so far, its result the final status. It runs once; it may end the process itself. There is
 * one handler; NULL removes it. It is not called after a signal, abort and margay_end_job. Returns
 * the handler before.
 */
typedef int (*margay_end_handler_t)(int status);
margay_end_handler_t margay_at_end(margay_end_handler_t handler);

/*
 * For thread libraries: counts the open files of each thread. From now on each descriptor that
 * open, creat, dup or fcntl makes is marked with the value of *owner at that time, until it is
 * closed. Null: no marks any more. margay_files_of counts the open descriptors with a mark;
 * margay_files_disown removes a mark from all of them, for a thread that ends. None of the three
 * makes a system call.
 */
void margay_file_owner(const uint64_t *owner);
int margay_files_of(uint64_t owner);
void margay_files_disown(uint64_t owner);

#ifdef __cplusplus
}
#endif
#endif
