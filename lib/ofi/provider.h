/*
 * Internals of the libfabric provider over Portals, shared by its files. README.md maps each idea
 * of libfabric to Portals; libfabric's own headers are the public side. One thread calls all of it
 * (FI_THREAD_DOMAIN).
 *
 *   loader.c     fi_getinfo and the like, in place of libfabric's core
 *   info.c       what the provider offers; the fabric object
 *   domain.c     domain, address vector, memory regions
 *   endpoint.c   the endpoint: queues, descriptors, entries of its portals
 *   queue.c      completion queues;  counter.c  counters;  event.c  event queues
 *   progress.c   events of Portals become completions
 *   credit.c     flow control: how much each peer may send
 *   probe.c      peers that have died or closed their endpoint, and what fails because of it
 *   send.c       messages out;  parked.c  long ones beyond the slots
 *   post.c       receives, until they are posted;  receive.c  what comes into them;
 *                many.c  buffers of many messages;  early.c  messages that came before their receive
 *   rma.c        reads and writes;  atomic.c  atomic operations
 *   absent.c     calls that are not offered
 */
#ifndef OFI_PROVIDER_H
#define OFI_PROVIDER_H
#include <margay.h>
#include <portals3.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits ---- */

#define EAGER_BYTES     4096u       /* longest short message; see send.c */
#define IOV_PIECES      32u         /* pieces of one side of an operation */
#define TX_SLOTS        512u        /* operations under way that wait for events */
#define FETCH_BYTES     64u         /* changed and fetched by one Portals operation */
#define ATOMIC_MOST     4096u       /* changed by one call */

/* Slots of the event queues. No more receives than RX_SLOTS are posted, whatever entries the kernel
 * has: see share_entries. */
#define EARLY_SLOTS     8192u
#define RX_SLOTS        16384u
#define TX_RESERVE      128u        /* slots that long sends must leave free */
#define TX_EVENTS       4096u       /* three for each long send's slot, one for other slots and for
                                       each part; acks of credit; of parked sends */
#define ACKS_ASKED      512u        /* most acks of credit that are asked for before TX is read */
#define ACKS_STARTED    1024u       /* most that are under way then: the kernel's operations */
#define PARKED_MOST     32768u      /* long sends that wait for a receive without a slot */
#define PARKED_UNACKED  256u        /* those whose header may not have arrived */
#define TX_PARTS        1024u       /* of all reads and writes under way */
#define CREDIT_SLOTS    64u
#define PROBE_MS        100         /* between two probes, while nothing comes */
#define UNITS           (EARLY_SLOTS * 3 / 4)   /* of all windows; other slots: UNLINK */
#define MANY_MOST       1024u       /* FI_MULTI_RECV buffers that are posted: one UNLINK each */
#define UNIT_BYTES      1024u       /* of overflow memory that a credit unit stands for. With 256 a
                                       stream of 4 KB messages was always short of credit */
#define OVERFLOW_BYTES  (64u << 10) /* of a buffer for short early messages */
#define OVERFLOW_MOST   (UNITS * UNIT_BYTES / (OVERFLOW_BYTES - EAGER_BYTES) + 2)   /* buffers */
#define OWN_ENTRIES     (OVERFLOW_MOST + 16)    /* match entries and descriptors that receives must
                                                   leave free: the endpoint's own */

/* ---- what a message says ---- */

/* Portals of the interface. */
enum { PORTAL_MESSAGE, PORTAL_PULL, PORTAL_REGION, PORTAL_CREDIT };

/* Match bits of PORTAL_MESSAGE. The low 56 bits are the user's tag. */
#define BITS_TAG        ((1ULL << 56) - 1)
#define BITS_LONG       (1ULL << 63)    /* the receiver fetches it if it was unexpected */
#define BITS_UNTAGGED   (1ULL << 62)    /* of fi_send: no tag */

/* hdr_data of PORTAL_MESSAGE: remote CQ data (32 bits) | an ack returns the credit (1) | credit
 * limit (31) */
#define HEADER_DATA(header)    ((header) >> 32)
#define HEADER_ACKED           (1ULL << 31)
#define HEADER_LIMIT(header)   ((uint32_t)(header) & 0x7fffffffu)

/* Remote offset of a long message: its address at the sender, and the slot that waits for it. A
 * fetch from PORTAL_PULL uses that address as its offset and has the slot in the lower half of the
 * match bits, with the fetching side's own slot in the upper half. A parked send has TX_SLOTS + its
 * number in place of a slot; it is fetched with PULL_PARKED, and then its byte of `drained` is set.
 * Match bits of PORTAL_REGION: slot | key. */
#define ORIGIN_SLOT_SHIFT  48
#define ORIGIN_ADDRESS     ((1ULL << ORIGIN_SLOT_SHIFT) - 1)
#define PULL_SLOT_SHIFT    32
#define PULL_PARKED        0xfffffffeu
#define PULL_DRAINED       0xffffffffu
#define KEY_SLOT_SHIFT     54
#define KEY_MASK           ((1ULL << KEY_SLOT_SHIFT) - 1)

/* Flags of calls that are given flags. Others are refused, as they would have no effect. */
#define ACCESS_FLAGS    (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_MORE)
#define SEND_FLAGS      (ACCESS_FLAGS | FI_REMOTE_CQ_DATA)
#define RECV_FLAGS      (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)
#define PEEK_FLAGS      (FI_PEEK | FI_CLAIM)    /* of tagged receives */

/* ---- objects ---- */

struct fabric {
	struct fid_fabric fid;
	unsigned int users;             /* open objects that refer to it */
};

struct domain {
	struct fid_domain fid;
	struct fabric *fabric;
	ptl_handle_ni_t ni;
	struct endpoint *endpoint;      /* the one that is open, or null */
	unsigned int users;             /* open objects that refer to it */
	struct region *regions;         /* open ones */
	uint32_t ranks;
	uint32_t entries;               /* match entries or descriptors of the interface */
};

struct av {
	struct fid_av fid;
	struct domain *domain;
	uint32_t *ranks;                /* rank of each fi_addr_t, if there is no `map` */
	size_t count, room;
	fi_addr_t *map;                 /* a named vector's table, which the caller sees: its addresses
	                                   are ranks; or null */
};

struct region {
	struct fid_mr fid;
	struct domain *domain;
	struct region *next;            /* in the list of the domain */
	ptl_md_t md;
	ptl_handle_me_t entry;          /* match entry of the region */
};

struct counter {
	struct fid_cntr fid;
	struct domain *domain;
	uint64_t value, errors;
	unsigned int users;
};

/* Completions that have not been read, in their order: successful ones in `ring`, failures in a
 * list. A failure is read after the completions before it, and before those after it. */
struct failure {
	struct fi_cq_err_entry entry;
	size_t place;                   /* ring_tail when it was added: it is read before that slot */
	struct failure *next;
};

struct cq {
	struct fid_cq fid;
	struct domain *domain;
	enum fi_cq_format format;
	struct fi_cq_tagged_entry *out; /* next entry for the caller, during fi_cq_read; else null */
	size_t out_left;
	struct fi_cq_tagged_entry *ring;
	size_t ring_head, ring_tail;    /* entries that were read and added so far */
	size_t ring_size;               /* a power of two */
	struct failure *failures, **failures_end;
	uint64_t idle_since;            /* rdtsc of the last poll that found nothing */
	unsigned int idle;              /* such polls in quick succession */
	unsigned int waits;             /* waits in a row that ended with an event, up to a limit */
	unsigned int users;
};

/* A buffer of the application. */
struct buffer {
	char *base;
	size_t bytes;                   /* total bytes */
	struct iovec *pieces;           /* the pieces, if there are several */
	size_t count;
};

/* What a message lands in. user_ptr of the descriptor points to a struct that begins with this. */
enum landing { LANDS_POSTED, LANDS_MANY, LANDS_OVERFLOW, LANDS_NOWHERE };

/* A receive from its call to its completion. */
struct rx {
	enum landing landing;           /* LANDS_POSTED; LANDS_MANY with FI_MULTI_RECV;
	                                   LANDS_NOWHERE: it is free */
	unsigned int children;          /* LANDS_MANY: messages still being fetched into it */
	int released;                   /* the kernel delivers no more into it */
	int failure;                    /* FI_* with which it ends when it is released; or 0 */
	struct rx *parent;              /* the LANDS_MANY buffer that contains this one, or null */
	struct rx *next;                /* free, or waiting for a match entry */
	void *context;
	struct buffer buffer;
	size_t filled;                  /* LANDS_MANY: bytes in it before it was posted */
	uint64_t bits, ignore;          /* which messages it matches */
	ptl_process_id_t source;
	uint64_t flags;
	ptl_handle_me_t entry;          /* PTL_INVALID_HANDLE: not posted */
	uint64_t header;                /* of the message that has come */
	size_t arrived;                 /* its length */
	uint64_t arrived_bits;
};

/* Why a slot waits. */
enum tx_kind { TX_FREE, TX_SEND, TX_LONG, TX_PULL, TX_RMA };

/* An operation under way that ends with events. */
struct tx {
	uint8_t kind;
	uint8_t acked, fetched;         /* TX_LONG: what has come */
	uint16_t next;                  /* next slot in its list: of free ones, or `telling` */
	uint32_t parts;                 /* outstanding events */
	uint64_t flags;                 /* flags of its completion; 0: no completion */
	void *context;
	struct counter *counter;        /* incremented at the end; or null */
	struct cq *cq;
	struct rx *rx;                  /* TX_PULL */
	uint32_t rank;                  /* TX_LONG: the receiver; TX_PULL: the sender */
	uint32_t origin;                /* TX_PULL: the sender's slot */
	void *copy;                     /* to free at its end, or null */
	ptl_handle_md_t md;             /* to unlink then, or PTL_INVALID_HANDLE */
	size_t length;
	int error;
};

/* A send that waits for credit; the bytes of an injected one follow. */
struct deferred {
	struct deferred *next;
	struct buffer buffer;
	uint64_t bits, data, flags;
	void *context;
};

/* A message that came before its receive. */
struct early {
	struct early *newer, *older;           /* in the list of all, in order of arrival */
	struct early *peer_newer, *peer_older; /* in its source's list */
	uint32_t source;
	int claimed;                           /* by FI_CLAIM, with the context `claimer` */
	void *claimer;
	uint64_t bits, header;
	size_t length;
	uint64_t origin;                       /* of a long message: sender's address and slot */
	const char *bytes;                     /* of a short message */
	struct overflow *overflow;             /* the buffer that they lie in */
};

/* A buffer for short early messages. */
struct overflow {
	enum landing landing;           /* LANDS_OVERFLOW */
	unsigned int used;              /* messages in it that have not been received */
	int full;                       /* the kernel delivers no more into it */
	struct overflow *next, *prev;
	char bytes[];
};

/* The state of a peer. Counts are credit units, and wrap. */
struct peer {
	ptl_process_id_t process;
	/* this rank sends to it */
	uint32_t sent;                  /* units used by messages to it */
	uint32_t limit;                 /* `sent` may not pass this */
	struct deferred *deferred, **deferred_end;
	struct peer *next_deferred;     /* next peer with deferred sends */
	int gone;                       /* FI_* of a probe: it has no endpoint any more; or 0 */
	/* it sends to this rank */
	uint32_t taken;                 /* units of its messages that this library has read */
	uint32_t granted;               /* its credit limit */
	uint32_t told;                  /* the limit that it was last told */
	uint32_t window;                /* most units under way */
	int awaited;                    /* during mfi_probe: this rank waits for it */
	struct early *first, *last;     /* its early messages */
};

struct endpoint {
	struct fid_ep fid;
	struct domain *domain;
	struct av *av;
	uint32_t ranks;                 /* addresses below this are ranks; 0: look up in `av` */
	struct cq *tx_cq, *rx_cq;
	struct counter *send_counter, *recv_counter, *read_counter, *write_counter;
	int tx_selective, rx_selective; /* a completion only if FI_COMPLETION asks for it */
	uint64_t tx_flags;              /* default flags of sends */
	uint64_t rx_flags;              /* default flags of receives */
	int directed;                   /* receives name their source */
	size_t multi_recv;              /* bytes below which a FI_MULTI_RECV buffer is done */
	int enabled;

	ptl_handle_eq_t queues[4];      /* by QUEUE_* */
	ptl_handle_md_t plain, reported, asked, fetched;    /* see endpoint.c */
	ptl_handle_me_t behind;         /* takes long messages' headers: posted receives lie before it */
	ptl_handle_me_t pull;
	size_t inline_bytes;            /* a put of at most this reads its bytes at once */
	size_t at_once;                 /* an injected message of fewer bytes is sent at once */

	struct tx *tx;
	uint16_t tx_free;
	unsigned int tx_used;
	unsigned int tx_long;           /* slots of long sends, which wait for a peer's receive */
	unsigned int tx_parts;          /* outstanding events of reads and writes */
	unsigned int acks_asked;        /* acks of credit asked for since TX was read */
	struct tx *parked;              /* long sends without a slot */
	unsigned int parked_room, parked_free;  /* entries; the first free one, or parked_room */
	unsigned int parked_unacked;    /* those whose ack has not been read */
	unsigned int parked_work;       /* parked sends, and receivers' bytes to set */
	uint8_t *drained;               /* a byte for each, which its receiver sets; or null */
	int parked_refused;             /* the kernel had no entries left for `drained` */
	uint16_t telling;               /* list of fetches that have ended, and whose senders'
	                                   bytes are not set yet: first slot, or TX_SLOTS */
	int active;                     /* an operation has begun or an event has come since
	                                 * fi_cq_read last found nothing */

	struct rx *rx_free, *rx_batches;
	struct rx *waiting, **waiting_end;
	unsigned int posted;            /* receives in the kernel that have not completed */
	unsigned int posted_many;       /* FI_MULTI_RECV buffers in the kernel */
	unsigned int posted_most;       /* `posted` may not pass this. Less by one for each other
	                                   entry or descriptor: posted_many, regions, pieces */

	struct early early;             /* list head: its `newer` is the oldest message */
	struct early *early_free, *early_batches;
	size_t early_count;
	struct overflow *overflows;     /* list of all buffers */
	unsigned int overflow_posted;   /* buffers that the kernel can fill */

	struct peer *peers;
	uint32_t *limits;               /* credit limits, one word for each peer, which writes it */
	struct peer *deferred;          /* peers for which sends wait */
	int64_t probed_ms;              /* time of the last probes */
	uint32_t probed;                /* the last awaited peer that was probed */
	size_t injected_bytes;          /* of those sends, the injected ones' */
	uint32_t units_free;            /* units in no window */
	uint32_t window_least;
};

/* Queues of an endpoint, in the order in which they are looked at. */
enum { QUEUE_RX, QUEUE_EARLY, QUEUE_TX, QUEUE_CREDIT, QUEUES };

_Static_assert(TX_SLOTS <= 1u << (64 - KEY_SLOT_SHIFT), "a slot fits beside a key");

/* A region's key in match bits: the lowest 53 bits and the highest one, by which libraries tell two
 * kinds of keys apart. Keys with other bits set are refused. */
static inline uint64_t mfi_key_bits(uint64_t key)
{
	return (key & (KEY_MASK >> 1)) | key >> 63 << (KEY_SLOT_SHIFT - 1);
}

static inline int mfi_key_fits(uint64_t key)
{
	return (key & ~(1ULL << 63)) <= KEY_MASK >> 1;
}

/* The rank of a process: rank order is node order. */
static inline uint32_t rank_of(ptl_process_id_t process)
{
	return process.nid;
}

static inline struct endpoint *endpoint_of(struct fid_ep *fid)
{
	return (struct endpoint *)fid;
}

/* Takes a match entry or descriptor for something other than a receive of one message: 0, or 1:
 * there are only those that the endpoint itself needs. */
static inline int mfi_entry_take(struct endpoint *ep)
{
	if (ep->posted >= ep->posted_most)
		return 1;
	ep->posted_most--;
	return 0;
}

static inline void mfi_entry_give(struct endpoint *ep)
{
	ep->posted_most++;
}

/* ---- between the files ---- */

/* info.c */
int mfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

/* domain.c */
int mfi_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
	       void *context);
/* Attaches the domain's regions to an interface that was initialised again: PTL_OK, or the first
 * error, after which it goes on. */
int mfi_regions_attach(struct domain *domain);
uint32_t mfi_look_up(const struct av *av, fi_addr_t address);
/* The rank of an address, or UINT32_MAX. */
static inline uint32_t mfi_rank(const struct endpoint *ep, fi_addr_t address)
{
	return address < ep->ranks ? (uint32_t)address : mfi_look_up(ep->av, address);
}
/* The text "margay://RANK"; returns its length with the terminating 0. */
size_t mfi_address_text(uint32_t rank, char *text, size_t room);
/* The rank that such a text names, or UINT32_MAX. */
uint32_t mfi_address_rank(const char *text);
int mfi_no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int mfi_no_control(struct fid *fid, int command, void *arg);
int mfi_no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* endpoint.c */
int mfi_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
int mfi_getname(fid_t fid, void *addr, size_t *addrlen);

/* absent.c */
extern struct fi_ops_cm mfi_ops_cm;
extern struct fi_ops_collective mfi_ops_collective;

/* event.c */
int mfi_event_queue_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
			 void *context);

/* queue.c, counter.c */
int mfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
/* The slot of the next completion: in the ring, or in the caller's array. */
struct fi_cq_tagged_entry *mfi_cq_ring_slot(struct cq *cq);
static inline struct fi_cq_tagged_entry *mfi_cq_slot(struct cq *cq)
{
	if (!cq->out_left)
		return mfi_cq_ring_slot(cq);
	cq->out_left--;
	return cq->out++;
}
void mfi_cq_fail(struct cq *cq, const struct fi_cq_err_entry *entry);
int mfi_counter_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		     struct fid_cntr **counter, void *context);

/* progress.c */
/* Takes events until there is none, or the queue that fi_cq_read fills is full. */
void mfi_progress(struct endpoint *ep);
/* Halts until there is an event, `ms` at most (-1: for ever), and takes it. It may return earlier
 * without one. */
void mfi_wait(struct endpoint *ep, int ms);
/* Takes the events of operations that this rank has started only; that starts no other. */
void mfi_take_sent(struct endpoint *ep);
/* Takes the events of early messages only. */
void mfi_take_early(struct endpoint *ep);
/* A free slot. It may wait for operations that kernels execute. A TX_LONG slot waits for a peer's
 * receive: do not ask for one if mfi_tx_is_full. */
uint16_t mfi_tx_take(struct endpoint *ep, enum tx_kind kind);
int mfi_tx_is_full(const struct endpoint *ep);
void mfi_tx_end(struct endpoint *ep, uint16_t slot);
void mfi_tx_give(struct endpoint *ep, uint16_t slot);
/* Tells the caller of an operation that it has ended. */
void mfi_complete(const struct tx *tx);
/* One of a slot's events has come, or will not come. */
void mfi_tx_part(struct endpoint *ep, uint16_t slot, size_t bytes, int error);
/* After PTL_NO_SPACE: lets operations end. It starts none. */
void mfi_make_room(struct endpoint *ep);
int mfi_error(int portals);
/* Notes that a process has died: FI_EIO. fi_strerror names the last one's rank (-1: there is none). */
int mfi_death(ptl_process_id_t process);
int mfi_last_death(void);
/* The text of a Portals error for fi_*_strerror, in `buf` if there is one. */
const char *mfi_error_text(int portals, char *buf, size_t len);
/* Milliseconds of a monotonic clock. */
int64_t mfi_now_ms(void);
/* Ends the program with a line: no memory for one more than `count` of these. */
_Noreturn void mfi_no_memory(const char *what, size_t count);

/* credit.c */
int mfi_credit_open(struct endpoint *ep);
void mfi_credit_close(struct endpoint *ep);
/* Units of a message: one, and one for each UNIT_BYTES that may land in overflow memory. */
static inline uint32_t mfi_units(size_t bytes, uint64_t bits)
{
	return bits & BITS_LONG ? 1 : 1 + (uint32_t)(bytes / UNIT_BYTES);
}
/* Uses up units for a message to the peer: 0, or 1 if there are too few. */
int mfi_credit_use(struct endpoint *ep, uint32_t rank, uint32_t units);
/* hdr_data of a message: the data, whether an ack returns its credit, and the peer's new limit. */
uint64_t mfi_credit_header(struct endpoint *ep, uint32_t rank, uint64_t data, uint64_t bits);
/* A message of this peer was taken; `returned`: an ack has given its units back. */
void mfi_credit_taken(struct endpoint *ep, uint32_t rank, uint32_t units, uint64_t header,
		      int returned);
void mfi_credit_acked(struct endpoint *ep, uint32_t rank, uint32_t units);
/* Starts deferred sends for which credit has come. */
void mfi_credit_look(struct endpoint *ep);

/* probe.c */
/* While nothing comes: finds peers that have ended, and fails what waits for those that have died.
 * Nothing, if the last probe was less than PROBE_MS ago. */
void mfi_probe(struct endpoint *ep);
/* The peer is awaited. 0, or the FI_* with which operations that wait for it end. */
static inline int mfi_await(struct endpoint *ep, uint32_t rank)
{
	ep->peers[rank].awaited = 1;
	return ep->peers[rank].gone == FI_EIO ? FI_EIO : 0;
}

/* The same for a send that its receiver must fetch. A peer without an endpoint never will. */
static inline int mfi_await_fetch(struct endpoint *ep, uint32_t rank)
{
	ep->peers[rank].awaited = 1;
	return ep->peers[rank].gone;
}

/* send.c */
extern struct fi_ops_msg mfi_ops_msg;
extern struct fi_ops_tagged mfi_ops_tagged;
/* Starts the deferred sends to this peer, as far as there is credit. */
void mfi_send_deferred(struct endpoint *ep, struct peer *peer);

/* parked.c */
/* Whether another long send must wait. */
int mfi_parked_is_full(struct endpoint *ep);
/* An entry and its number, if it is not full; to free it if the put fails. */
struct tx *mfi_parked_take(struct endpoint *ep, unsigned int *number);
void mfi_parked_forget(struct endpoint *ep, unsigned int number);
/* The ack of a parked send: so many bytes have landed in a posted receive. */
void mfi_parked_acked(struct endpoint *ep, uint64_t number, size_t landed, int error);
/* Sets bytes at senders, and completes parked sends; or only the former. */
void mfi_parked_look(struct endpoint *ep);
void mfi_parked_tell(struct endpoint *ep);
/* Awaits the receivers of parked sends; fails those to receivers that are gone. */
void mfi_parked_await(struct endpoint *ep);
void mfi_parked_close(struct endpoint *ep);

/* post.c: fi_recv and the like, fi_cancel */
ssize_t mfi_msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
		     void *context);
ssize_t mfi_msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t src, void *context);
ssize_t mfi_msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags);
ssize_t mfi_tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t tag, uint64_t ignore, void *context);
ssize_t mfi_tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t tag, uint64_t ignore, void *context);
ssize_t mfi_tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags);
ssize_t mfi_cancel(struct fid *fid, void *context);
/* Awaits the sources that open receives name; fails the receives from dead ones. */
void mfi_rx_await(struct endpoint *ep);
void mfi_rx_close(struct endpoint *ep);
/* A new receive, or null. */
struct rx *mfi_rx_take(struct endpoint *ep);
void mfi_rx_give(struct endpoint *ep, struct rx *rx);
/* Posts receives that wait for a match entry. */
void mfi_post_waiting(struct endpoint *ep);
/* Gives a new early message to the first receive that waits and matches it, if there is one. */
void mfi_serve_waiting(struct endpoint *ep, struct early *early);

/* receive.c */
/* A message has arrived in a posted receive. */
void mfi_arrived(struct endpoint *ep, struct rx *rx, const ptl_event_t *event);
/* All bytes of a receive have arrived. */
void mfi_received(struct endpoint *ep, struct rx *rx, size_t length, int error);
/* The receive ends without a message. */
void mfi_rx_fail(struct endpoint *ep, struct rx *rx, int error);
/* Fetches a long message, whose header is in `rx`, from its sender. */
void mfi_fetch(struct endpoint *ep, struct rx *rx, uint32_t rank, uint64_t origin);
int mfi_matches(const struct rx *rx, const struct early *early);
/* Copies into the buffer's pieces. Returns how many bytes fitted. */
size_t mfi_scatter(const struct buffer *to, const char *from, size_t bytes);

/* many.c: FI_MULTI_RECV buffers */
/* A message has come into the buffer, or the buffer is full. */
void mfi_many_arrived(struct endpoint *ep, struct rx *rx, const ptl_event_t *event);
/* Copies an early message into a buffer that is not posted yet. */
void mfi_many_deliver(struct endpoint *ep, struct early *early, struct rx *rx);
/* Whether the buffer takes no more messages. The next message, if one is named, must not be overtaken,
 * so a buffer that is too small for it is used up too; an empty buffer takes its beginning. */
int mfi_many_is_used_up(const struct endpoint *ep, const struct rx *rx, const struct early *early);
/* The kernel no longer has the buffer. */
static inline void mfi_many_unlinked(struct endpoint *ep)
{
	ep->posted_many--;
	mfi_entry_give(ep);
}
/* The receive of a message in the buffer is complete. */
void mfi_many_part_ended(struct endpoint *ep, struct rx *rx);
/* A receive, of any kind, gets no more messages. It ends once those that it has are complete, with this
 * failure if it is not 0. */
void mfi_rx_release(struct endpoint *ep, struct rx *rx, int failure);

/* early.c */
int mfi_early_open(struct endpoint *ep);
void mfi_early_close(struct endpoint *ep);
/* Provides overflow memory for this many units of credit: 0 or -FI_ENOMEM. */
int mfi_early_provide(struct endpoint *ep, uint32_t units);
void mfi_early_event(struct endpoint *ep, const ptl_event_t *event);
/* The oldest early message that the receive matches, or null. */
struct early *mfi_early_find(struct endpoint *ep, const struct rx *rx);
/* Gives it to a receive that it matches. */
void mfi_early_deliver(struct endpoint *ep, struct early *early, struct rx *rx);
void mfi_early_forget(struct endpoint *ep, struct early *early);

/* Effective flags of a send call that has a flags argument. */
static inline uint64_t mfi_flags(const struct endpoint *ep, uint64_t flags)
{
	return ep->tx_selective ? flags : flags | FI_COMPLETION;
}

/* rma.c, atomic.c */
extern struct fi_ops_rma mfi_ops_rma;
extern struct fi_ops_atomic mfi_ops_atomic;

#endif
