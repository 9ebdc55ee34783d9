/*
 * What the files of the library share. One process has one struct vmmc; all of it belongs to
 * the application's thread, and to handlers of event queues, which interrupt that thread and
 * do not nest.
 *
 *   exporter                                        importer
 *   PORTAL_DATA     an entry for each grant         <-- vmmc_send
 *                   (a second one: with a notice)
 *   PORTAL_CONTROL  requests, a slot for each rank  <-- vmmc_import, vmmc_unimport
 *   PORTAL_PING     no memory; acknowledges         <-- vmmc_fence, waits
 *   PORTAL_COPY     copies, of this process only    <-- itself
 *   PORTAL_TURN     turns of requests (export.c)    <-- itself
 *   answer                                          --> PORTAL_ANSWER, an entry for each request
 *   revocation, credit                              --> PORTAL_ANSWER, an entry for each import
 *
 * A grant is an importer's right to send to an export. Its match bits are the export's: other
 * processes do not match, because the entry names the importer.
 */
#ifndef LIB_VMMC_STATE_H
#define LIB_VMMC_STATE_H
#include <margay.h>
#include <portals3.h>
#include <vmmc.h>

enum { PORTAL_DATA = 16, PORTAL_CONTROL, PORTAL_PING, PORTAL_ANSWER, PORTAL_COPY,
       PORTAL_TURN };

/* Copies for synchronous sends over a card, and the longest such send. */
enum { VMMC_COPIES = 64, VMMC_COPY_BYTES = 16384, VMMC_MOST_COPIED = 256 << 10 };

/* The upper half of hdr_data in PORTAL_CONTROL and PORTAL_PING; the lower half is a number. */
enum kind { KIND_IMPORT = 1, KIND_UNIMPORT, KIND_PING, KIND_FENCE };

#define BITS_NOTIFY   (1ULL << 63)  /* of an export's match bits: the entry with events */
#define BITS_MAILBOX  (1ULL << 63)  /* of a request's number: the import's mailbox */

/* Proxy addresses: 0 | generation (15 bits) | 1 | import (11 bits) | offset (36 bits).
 * Bit 47 is set and those above it are not: no valid pointer is like that. */
enum { PROXY_OFFSET_BITS = 36, PROXY_IMPORT_BITS = 11, PROXY_GENERATION_BITS = 15 };
#define PROXY_OFFSETS     (1ULL << PROXY_OFFSET_BITS)
#define PROXY_SPACE       (1ULL << PROXY_IMPORT_BITS)      /* in a tag */

struct answer {
	int32_t result;            /* VMMC_* */
	uint32_t credits;          /* notifications that may be under way; 0: no handler */
	uint64_t bits;             /* of the export */
	uint64_t bytes;
	uint64_t name;             /* hash of the name that was looked up */
};

/* Written by the exporter into an importer's memory. */
struct mailbox {
	int32_t state;             /* VMMC_OK, VMMC_EREVOKED; VMMC_EDEAD by this process itself */
	uint32_t handled;          /* notifications, since the import */
};

struct import {
	uint64_t tag;              /* upper bits of its proxy addresses; 0: free */
	uint64_t bytes;
	uint64_t bits;             /* of the export */
	ptl_process_id_t target;
	struct mailbox mailbox;
	uint32_t sent;             /* messages since the last that asked for an ack */
	uint32_t notified;         /* messages with a notification */
	uint32_t credits;
	int rank;
	ptl_handle_me_t mailbox_me;
	char name[VMMC_NAME_BYTES];
};

/* A rank's right to send to an export. */
struct grant {
	ptl_handle_me_t data, notify;   /* entries; PTL_INVALID_HANDLE: none */
	uint32_t imported;         /* 0: the rank may not send */
	uint32_t mailbox;          /* number of the import */
	uint32_t answers, refused; /* to that request, which may come twice; not accepted */
	uint32_t handled, told;    /* notifications handled; last count sent to the importer */
	uint32_t credits;
	uint32_t pending;          /* notifications that have come and were not handled */
};

struct export {
	uint64_t bits;             /* 0: free; generation << 16 | slot */
	char name[VMMC_NAME_BYTES];
	void *start;
	size_t bytes;
	int flags;
	vmmc_handler_t handler;
	void *argument;
	uint8_t *admitted;         /* by rank; null: every rank */
	struct grant *grants;      /* by rank */
};

/* A queued notification. */
struct notice {
	uint64_t bits, offset, bytes;
	uint32_t mailbox;          /* number of the import that it came through */
	int rank;
};

/* A request that waits for its turn. */
struct asked {
	uint64_t header;           /* its hdr_data; 0: there is none */
	uint64_t bits;             /* its match bits */
	int64_t at;                /* when it came, by vmmc_now */
};

struct send {
	volatile int32_t *completion;
	uint32_t taken;
};

/* The request of this process that is under way. */
struct call {
	uint32_t number;
	int acked;                 /* it has ended with `fail` */
	ptl_ni_fail_t fail;
	int answered;              /* by PORTAL_ANSWER */
	ptl_ni_fail_t refused;     /* of a fence: result of the message before it */
	struct answer answer;
	char name[VMMC_NAME_BYTES];
};

/* Whether a rank lives. */
enum life { LIFE_UNKNOWN, LIFE_SEEN, LIFE_LEFT, LIFE_DEAD };

struct vmmc {
	int open;
	int in_handler;
	ptl_handle_ni_t ni;
	int rank, size;
	uint32_t session;          /* see vmmc_session */
	uint64_t inline_bytes;     /* PTL_SR_INLINE */
	uint8_t *lives;            /* enum life, by rank */

	/* arrivals: messages without notice, answers, credits; calls: acks of requests and pings.
	 * With handlers: requests, notices (also turns of requests), sent (ends of long sends),
	 * refused (messages that asked for an ack and were discarded). copied: ends of sends from
	 * copies, none over shared memory */
	ptl_handle_eq_t arrivals, calls, requests, notices, sent, refused, copied;

	/* All of memory: sources of messages, of those that ask, of those that are long, of
	 * copies, of requests, of answers */
	ptl_handle_md_t quiet, asking, told, from_copy, requesting, answering;
	ptl_handle_me_t control, ping, copy, turn;

	struct export *exports;
	struct import *imports;
	char *slots;               /* of requests: VMMC_NAME_BYTES for each rank */
	struct asked *asked;       /* by rank */
	struct call call;
	int pinging;               /* the rank that is being pinged; -1: none */

	struct send sends[VMMC_SENDS];
	uint32_t next_send;

	char *copies;              /* VMMC_COPIES of them; null: a put reads its source at once */
	uint32_t free_copies[VMMC_COPIES], copies_left; /* the application's thread only */

	struct notice *waiting;    /* a ring of VMMC_NOTIFICATIONS */
	volatile uint32_t waiting_first, waiting_end;
	volatile int blocked, draining;
	volatile int counting;     /* a grant is being changed outside of handlers */
	int32_t credits_left;      /* less those of pending notifications of ended imports */
};

extern struct vmmc vmmc;

static inline ptl_md_t memory(void *start, size_t bytes, unsigned options, ptl_handle_eq_t eq)
{
	return (ptl_md_t){ .start = start, .length = bytes, .threshold = PTL_MD_THRESH_INF,
	                   .options = options | PTL_MD_EVENT_START_DISABLE, .eq_handle = eq };
}

/* VMMC_* of a PTL_*. */
int vmmc_error_of(int result);

/* An entry with its descriptor. VMMC_OK or an error. */
int vmmc_attach(unsigned portal, ptl_process_id_t source, uint64_t bits, ptl_md_t md,
                ptl_unlink_t unlink, ptl_handle_me_t *me);

/* Removes an entry, if there is one. 0: a message is being delivered through it. */
int vmmc_try_detach(ptl_handle_me_t *me);

/* The same; waits for that message. */
void vmmc_detach(ptl_handle_me_t *me);

/* A put of `bytes` bytes of memory by `md`. PTL_*. */
static inline int vmmc_put(ptl_handle_md_t md, const void *source, size_t bytes,
                           ptl_ack_req_t ack, ptl_process_id_t target, unsigned portal,
                           uint64_t bits, uint64_t offset, uint64_t hdr_data)
{
	return PtlPutRegion(md, (ptl_size_t)(uintptr_t)source, bytes, ack, target, portal, 0, bits,
	                    offset, hdr_data);
}

static inline uint64_t vmmc_header(enum kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

uint64_t vmmc_name_hash(const char *name);

/* The number after *last; 0: the first one. Never 0. Numbers are not used again after vmmc_fini,
 * nor in the next life of a process that is restarted: late messages of before match nothing. */
uint32_t vmmc_next_number(uint32_t *last);

/* 1 if the call may be made here: after vmmc_init, and not in a handler. */
static inline int vmmc_may_wait(void)
{
	return vmmc.open && !vmmc.in_handler;
}

/* Milliseconds of the clock that waits are measured by. */
int64_t vmmc_now(void);

/* wait.c: vmmc_wait_until without its checks; a message with an ack to PORTAL_PING */
int vmmc_wait_for(int (*ready)(void *argument), void *argument, int rank, int timeout);
int vmmc_ping(int rank, uint64_t header);

/* Records what an ack says about a rank. If the interface is closed but the rank had been `seen`
 * before the message was sent, the rank has left, and may come back. */
void vmmc_learn(int rank, ptl_ni_fail_t fail, int seen);

/* export.c: the handler of `requests`; the turn of a request; the end of all exports */
void vmmc_on_request(ptl_event_t *event);
void vmmc_on_turn(uint64_t hdr_data);
void vmmc_unexport_all(void);
struct export *vmmc_find_export(uint64_t bits);

/* import.c: the import that a proxy address names, or null; the end of all imports */
void vmmc_unimport_all(void);

/* A rank has died, or left for now: ends its imports. */
void vmmc_bury(int rank, enum life life);
static inline struct import *vmmc_find_import(vmmc_proxy_t proxy)
{
	uint64_t tag = proxy >> PROXY_OFFSET_BITS;
	struct import *import = &vmmc.imports[tag & (VMMC_IMPORTS - 1)];

	return import->tag == tag && tag ? import : NULL;
}

/* The same, if the address is one of the area's bytes. */
static inline struct import *vmmc_find_byte(vmmc_proxy_t proxy)
{
	struct import *import = vmmc_find_import(proxy);

	return import && (proxy & (PROXY_OFFSETS - 1)) < import->bytes ? import : NULL;
}

/* send.c: waits until all copies are sent; the handlers of `sent` and `refused` */
void vmmc_end_copies(void);
void vmmc_on_sent(ptl_event_t *event);
void vmmc_on_refused(ptl_event_t *event);

/* notify.c: the handler of `notices` */
void vmmc_on_notice(ptl_event_t *event);

#endif
