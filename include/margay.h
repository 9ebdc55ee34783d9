/*
 * Rank, size and identity of this process in its job, for applications.
 *
 * A job has N processes, its ranks 0 to N-1, one on each node. Each call may be
 * made at any time from main on and blocks nowhere; margay_rank, margay_size and
 * margay_process enter no kernel. The environment variables MARGAY_RANK and MARGAY_SIZE say the same
 * to programs that do not know this header.
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

/* How many processes the job has: 1 or more. */
int margay_size(void);

/*
 * The Portals name of a rank, valid as a target and as a source of match
 * entries. Ranks lie on nodes in order. A rank that the job does not have gives
 * a name that no process has.
 */
ptl_process_id_t margay_process(int rank);

/*
 * Stores the first `count` counters of this node's kernel into values, in the
 * order of enum counter in <margay/counters.h>. Returns how many the kernel has,
 * or -1 with errno EFAULT or EINVAL. One system call.
 */
int margay_counters(uint64_t *values, int count);

/*
 * At file level, once in a file: this program's event queues have `slots` slots altogether,
 * 64 to 32768, instead of 8192; of several the largest counts. Each takes 144 bytes of kernel
 * memory on each node. `margay run --event-slots` overrides it. No code: a note in the
 * image, which the launcher and the kernel read. What there is, PTL_SR_EVENT_SLOTS says.
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
 * Prints where this process is, as the report of a fault does: one line for each
 * function that has not returned, to which margay run adds function, file and line.
 */
void margay_backtrace(void);

/*
 * Ends the whole job: this process as by _exit, and the others at once, wherever
 * they are. The status of margay run is status & 255, also if it is 0. If several
 * processes call it the first one's counts. Standard output is not flushed. On
 * boards without a launcher the other nodes go on.
 */
void margay_end_job(int status) __attribute__((noreturn));

/*
 * Sets the handler that is called when this process ends by exit, _exit or the
 * return from main: last of all, when the functions of atexit have run and files
 * are flushed. Its argument is the status that the process would end with, its
 * result is the one that it ends with. It runs once; it may end the process itself.
 * There is one handler; NULL removes it. Not called after a signal, abort and
 * margay_end_job. Returns the handler before.
 */
typedef int (*margay_end_handler_t)(int status);
margay_end_handler_t margay_at_end(margay_end_handler_t handler);

/*
 * For libraries of threads: which of them has files open. From now on each descriptor is marked,
 * when open, creat, dup or fcntl makes it, with what *owner is then, until it is closed. Null: no
 * marks any more. margay_files_of counts the open descriptors with a mark. Neither enters the
 * kernel.
 */
void margay_file_owner(const uint64_t *owner);
int margay_files_of(uint64_t owner);

#ifdef __cplusplus
}
#endif
#endif
