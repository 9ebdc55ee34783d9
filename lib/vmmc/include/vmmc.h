/*
 * Virtual memory-mapped communication (VMMC): a process exports areas of its memory under a
 * name, others import them, and send straight into them. There is no receive operation.
 *
 * From C. Dubnicki, A. Bilas, K. Li, J. Philbin: Design and Implementation of Virtual
 * Memory-Mapped Communication on Myrinet (1997), below [V] with its section. [M] is a
 * choice of Margay. A program links with -lvmmc.
 *
 * General rules
 * - The kernel protects memory: each import has its own match entries at the exporter, which admit
 *   only that process to only that area. They exist from the import to the unimport or the
 *   unexport, whatever else a program may send. [V 2, M]
 * - Context: one thread, from vmmc_init on. A notification handler may call only vmmc_error and the
 *   functions that say so; the others return VMMC_ECONTEXT there.
 * - Blocking: calls that wait say so, and halt the node while they wait. Notification handlers run
 *   meanwhile. When the launcher has noticed that a process died, a wait for it ends with
 *   VMMC_EDEAD within about VMMC_PING_MS, or with VMMC_EFAIL (see there).
 * - Restarts (margay run --on-death restart): a process that was started again begins without
 *   exports and imports, and vmmc_barrier fails for ever in all processes. Imports from its earlier
 *   life do not reach its new areas: sends return VMMC_EDEAD or VMMC_EREVOKED. Unimport, then
 *   import again. An import that was under way at the death returns VMMC_EDEAD.
 * - Results: VMMC_OK (0) or a negative VMMC_E*. After an error nothing has changed.
 * - Portals: the library uses the portals 16 to 21 of the process, and seven event queues.
 *   It opens the interface itself, even if the program has also done so.
 * - Units: bytes, milliseconds, ranks of the job.
 */
#ifndef VMMC_H
#define VMMC_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	VMMC_NAME_BYTES = 64,      /* of a name, with its NUL */
	VMMC_EXPORTS = 1024,       /* of a process at a time */
	VMMC_IMPORTS = 2048,       /* of a process at a time */
	VMMC_SENDS = 128,          /* asynchronous sends under way that are not yet read */
	VMMC_ASK = 32,             /* one message in this many asks whether it was admitted */
	VMMC_CREDITS = 16,         /* most unhandled notifications of an import */
	VMMC_NOTIFICATIONS = 2048, /* the same for all imports of a process's exports */
	VMMC_PING_MS = 100         /* after this long in silence a peer is probed */
};

enum {
	VMMC_PENDING = 1,          /* a completion word: the send is not yet done */
	VMMC_OK = 0,
	VMMC_EINVAL = -1,          /* an invalid argument */
	VMMC_EFAULT = -2,          /* memory that is not the process's, or not writable to it */
	VMMC_EPROXY = -3,          /* no imported area has all of these proxy addresses */
	VMMC_EREVOKED = -4,        /* the area is not exported any more */
	VMMC_EDEAD = -5,           /* the other process has died or has left; it may come back */
	VMMC_EACCES = -6,          /* the exporter does not admit this process */
	VMMC_ENOENT = -7,          /* the exporter has no area of this name */
	VMMC_EEXIST = -8,          /* this process has exported an area of this name */
	VMMC_ENOSPACE = -9,        /* a table is full, here or at the exporter */
	VMMC_ETIMEDOUT = -10,      /* the time is over */
	VMMC_ECONTEXT = -11,       /* not before vmmc_init, not from a handler, or it would wait */
	VMMC_EFAIL = -12           /* the kernel refused for another reason: a node died over shared
	                              memory while it changed this process's structures; then
	                              nothing arrives any more, and all waits end so */
};

/* A text for each of them, never null. May be called at any time. */
const char *vmmc_error(int result);

/*
 * An address in the destination proxy space [V 2]: names a byte of an imported area, and
 * is not a memory address: no load or store works on it. Within one import
 * addresses can be added to and subtracted from; what leaves the area is refused.
 */
typedef uint64_t vmmc_proxy_t;

/* An exported area, 0: none. */
typedef uint64_t vmmc_export_t;

/*
 * Called in the receiving process when a message with a notification has been delivered
 * into its memory [V 2]: `bytes` bytes from rank `sender`, at `offset` in the area. It
 * interrupts the program anywhere, as a signal handler does, unless notifications are
 * blocked. Handlers do not nest. It may send (see there), and read and write what the
 * program expects; it must not use malloc and stdio.
 */
typedef void (*vmmc_handler_t)(void *argument, int sender, size_t offset, size_t bytes);

/* Opens the interface. A second call does nothing. VMMC_ENOSPACE, VMMC_EFAIL. */
int vmmc_init(void);

/* Unexports everything, ends all imports, and closes the interface. Waits for the exporters, and
 * until asynchronous sends have ended and their completion words are written. From then on messages
 * of other processes are discarded; call vmmc_barrier before it if some may be under way. */
int vmmc_fini(void);

/* A number that stays the same from vmmc_init to vmmc_fini. It is another one after the next vmmc_init,
 * and after a restart of the process. 0: VMMC is not open. May be called at any time. [M] */
uint32_t vmmc_session(void);

/* Waits until all ranks have called it. VMMC_EDEAD: one of them has died, even if it was started
 * again. [M] */
int vmmc_barrier(void);

/* ---- receive buffers [V 2, 4.4] ---- */

enum {
	VMMC_SPIN = 1              /* messages without notification record no events: the program
	                              polls its memory; vmmc_wait does not see them. A byte may
	                              be written more than once until its message is complete */
};

/*
 * Exports `bytes` bytes from `start` on as `name` (1 to 63 bytes). Any address and any length
 * above 0 is allowed, up to 64 GB [M: the paper exports whole pages].
 *   importers   `count` ranks that may import it; null: every rank, `count` is ignored
 *   flags       0 or VMMC_SPIN
 *   handler     of notifications, or null: then sends with a notification are refused
 * Does not wait. VMMC_EINVAL, VMMC_EFAULT: memory that the process may not write,
 * VMMC_EEXIST, VMMC_ENOSPACE.
 */
int vmmc_export(const char *name, void *start, size_t bytes, const int *importers, int count,
                int flags, vmmc_handler_t handler, void *argument, vmmc_export_t *exported);

/*
 * Ends an export and all imports of it. When it returns no message can change the area any
 * more, and its handler is not called again. Importers are told: their next sends return
 * VMMC_EREVOKED. Waits while a message is being delivered into the area. VMMC_EINVAL.
 */
int vmmc_unexport(vmmc_export_t exported);

/*
 * Imports what rank `rank` has exported as `name`. Waits for the exporter's answer, which its
 * library gives while the program there computes. While the exporter has not started or has
 * left, or exports no such area, asks again, for `timeout` ms (negative: no limit).
 *   proxy     gets the proxy address of the first byte
 *   bytes     null, or gets the length of the area
 * VMMC_EINVAL, VMMC_EACCES; VMMC_EEXIST: this process has imported it already; VMMC_ENOENT after
 * the timeout, or VMMC_ETIMEDOUT if the exporter is not there; VMMC_EDEAD: it has died. A node that
 * has not booted yet, or is booting again, does not answer: then the call waits longer;
 * VMMC_ENOSPACE: this process has VMMC_IMPORTS, or the exporter has no room.
 */
int vmmc_import(int rank, const char *name, int timeout, vmmc_proxy_t *proxy, size_t *bytes);

/* Ends an import, named by any of its proxy addresses. They are refused from now on, and the
 * exporter's kernel admits nothing through them any more. They may name another import again after
 * 32,767 further imports. Waits for the exporter. VMMC_EPROXY. */
int vmmc_unimport(vmmc_proxy_t proxy);

/* ---- sending [V 2, 4.5, 5.3] ---- */

enum {
	VMMC_NOTIFY = 1,           /* calls the receiver's handler when the data has arrived */
	VMMC_ASYNC = 2             /* returns at once; see vmmc_send */
};

/* SendMsg of the paper, synchronous: vmmc_send without flags. */
int SendMsg(const void *source, vmmc_proxy_t destination, size_t bytes);

/*
 * Sends `bytes` bytes (0 and more) from `source` to a proxy address. Messages to one process
 * are delivered in the order in which they were sent, and the bytes of each before its
 * notification. The bytes within one message appear in no given order: a flag that says that the
 * data has arrived must be a second message, of at most 128 bytes.
 *   synchronous   returns when the source may be reused; waits for that if necessary
 *   VMMC_ASYNC    *completion is VMMC_PENDING until then, VMMC_OK or an error afterwards: a
 *                 word to spin on, or for vmmc_wait_send. It is written while the program
 *                 computes. Waits only if VMMC_SENDS are under way
 *   VMMC_NOTIFY   waits while VMMC_CREDITS of this import's notifications have not been
 *                 handled
 * Without VMMC_ASYNC `completion` is null. A handler may call it, but where it would wait it
 * returns VMMC_ECONTEXT and sends nothing: for a notification without credit, and over cards for
 * all synchronous sends of more than 64 bytes.
 * Delivery itself is not reported. If an export has ended or the exporter has died, sends return
 * VMMC_EREVOKED or VMMC_EDEAD [M] as soon as that is known: when the exporter reports it, after at
 * most VMMC_ASK further messages, or by vmmc_fence.
 * VMMC_EPROXY: not all bytes lie in one imported area; VMMC_EFAULT: source; VMMC_EINVAL:
 * flags, a completion word that is missing, a notification without a handler there.
 */
int vmmc_send(const void *source, vmmc_proxy_t destination, size_t bytes, int flags,
              volatile int32_t *completion);

/* Waits until an asynchronous send is done; returns its completion word. A handler may call it;
 * where it would wait it returns VMMC_ECONTEXT. VMMC_EINVAL: a null pointer. */
int vmmc_wait_send(volatile int32_t *completion);

/* Waits until everything that was sent to this import is in place. VMMC_OK, VMMC_EREVOKED,
 * VMMC_EDEAD: some of it may be missing; VMMC_EPROXY. [M] */
int vmmc_fence(vmmc_proxy_t proxy);

/* Asks the exporter's kernel whether it still admits this import, and does not wait for the answer:
 * VMMC_EREVOKED or VMMC_EDEAD if that is known now, else VMMC_OK; VMMC_EPROXY. [M] */
int vmmc_probe(vmmc_proxy_t proxy);

/* ---- waiting for data [M] ---- */

/*
 * Waits until *word is not `old`: an idle program halts instead of
 * spinning. At most `timeout` ms (negative: no limit). The word is in an area that was exported
 * without VMMC_SPIN. `rank` is the process that the program waits for: if it dies or leaves the
 * wait ends with VMMC_EDEAD; negative: none. A process that left before this one had heard from it
 * cannot be told from one that has not started: the wait goes on. VMMC_OK, VMMC_ETIMEDOUT, VMMC_EFAIL.
 */
int vmmc_wait(const volatile uint32_t *word, uint32_t old, int rank, int timeout);

/* The same until ready(argument) is not 0; ready is called whenever a message has come. */
int vmmc_wait_until(int (*ready)(void *argument), void *argument, int rank, int timeout);

/* ---- notifications [V 2] ---- */

/* From now on notifications are queued, in order, instead of calling handlers. Returns 1 if they
 * were already blocked, else 0; VMMC_ECONTEXT before vmmc_init. Handlers may call it. */
int vmmc_block(void);

/* Calls the handlers of queued notifications, and of new ones as they come. Returns 1 if they were
 * blocked before, else 0; VMMC_ECONTEXT before vmmc_init. If a handler calls it, the queued ones are
 * called after that handler. */
int vmmc_unblock(void);

#ifdef __cplusplus
}
#endif
#endif
