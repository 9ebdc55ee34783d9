/*
 * The engine's vocabulary: handles, errors, options, event kinds, and the two
 * structures that applications see as ptl_md_t and ptl_event_t. Values and
 * layouts equal those of include/portals3.h, which the engine may not include;
 * kernel/portals/portals_list.c, portals_eq.c and tests/host/test_abi.c assert that they do.
 *
 * Everything here lies in shared memory or crosses the system call boundary:
 * little-endian, fixed sizes, no pointers.
 */
#ifndef NET_PORTALS_TYPES_H
#define NET_PORTALS_TYPES_H
#include <stdint.h>

/*
 * A handle: generation in bits 20..63, kind in bits 16..19, index in bits
 * 0..15. An entry's generation starts at a secret number (pool.h) and grows by
 * one each time the entry is freed, also across block_init. So a handle names
 * only one object: 2^44 reuses of one entry would take 200 days at a million
 * per second. No handle is 0.
 */
typedef uint64_t handle_t;

#define HANDLE_NONE         0ULL            /* never the handle of an object */
#define HANDLE_INDEX_MASK   0xffffULL
#define HANDLE_KIND_SHIFT   16
#define HANDLE_KIND_MASK    0xf0000ULL
#define HANDLE_NEXT         (1ULL << 20)    /* one generation */
#define HANDLE_INDEX(h)     ((uint32_t)((h) & HANDLE_INDEX_MASK))
#define HANDLE_KIND(h)      ((uint32_t)(((h) & HANDLE_KIND_MASK) >> HANDLE_KIND_SHIFT))

/* The index if the handle is of this kind, else a number above any index, so that one comparison
 * with a pool's size checks both. */
#define HANDLE_INDEX_OF(kind, h) \
	((uint32_t)((h) & (HANDLE_KIND_MASK | HANDLE_INDEX_MASK)) - ((kind) << HANDLE_KIND_SHIFT))

enum handle_kind {
	KIND_FREE,              /* in a pool: a free entry, with its next generation */
	KIND_NI,
	KIND_ME,
	KIND_MD,
	KIND_EQ,
	KIND_OP,                /* operation record; never given to an application */
	KIND_CT                 /* counters, reserved */
};

/* In place of an event queue's handle: none (PTL_EQ_NONE). */
#define EQ_NONE             HANDLE_NONE

/* In place of an index: none. Pools have at most 65534 entries. */
#define NO_INDEX            0xffffu

/* Wildcards: PTL_NID_ANY, PTL_PID_ANY, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY. */
#define ANY_ID              0xffffffffu

/* Job id of system processes, which belong to no job (PTL_JID_NONE). */
#define JID_SYSTEM          0u

/* Results of the calls: 0 or one of these. The PTL_* error is the negative. */
enum portals_error {
	PORTALS_OK                 =   0,
	PORTALS_FAIL               =  -1,    /* the block is damaged */
	PORTALS_NO_INIT            =  -2,
	PORTALS_NO_SPACE           =  -3,
	PORTALS_SEGV               =  -4,
	PORTALS_AC_INDEX_INVALID   =  -5,
	PORTALS_EQ_INVALID         =  -6,
	PORTALS_HANDLE_INVALID     =  -7,
	PORTALS_IFACE_INVALID      =  -8,
	PORTALS_MD_INVALID         =  -9,
	PORTALS_ME_INVALID         = -10,
	PORTALS_NI_INVALID         = -11,
	PORTALS_PID_INVALID        = -12,
	PORTALS_PROCESS_INVALID    = -13,
	PORTALS_PT_INDEX_INVALID   = -14,
	PORTALS_SR_INDEX_INVALID   = -15,
	PORTALS_MD_ILLEGAL         = -16,
	PORTALS_MD_IN_USE          = -17,
	PORTALS_MD_NO_UPDATE       = -18,
	PORTALS_ME_IN_USE          = -19,
	PORTALS_ME_LIST_TOO_LONG   = -20,
	PORTALS_PT_FULL            = -21,
	PORTALS_EQ_EMPTY           = -22,
	PORTALS_EQ_DROPPED         = -23,
	PORTALS_ATOMIC_INVALID     = -24     /* invalid operation, type or length */
};

/* md_args.options */
enum md_option {
	MD_OP_PUT              = 0x001,      /* accepts puts */
	MD_OP_GET              = 0x002,      /* accepts gets */
	MD_MANAGE_REMOTE       = 0x004,      /* uses the request's offset, not the local one */
	MD_TRUNCATE            = 0x008,      /* truncates too long requests, else rejects them */
	MD_ACK_DISABLE         = 0x010,      /* never acknowledges */
	MD_IOVEC               = 0x020,      /* `start` is an array of `length` pieces */
	MD_MAX_SIZE            = 0x040,      /* max_size is valid */
	MD_EVENT_START_DISABLE = 0x080,      /* no START events */
	MD_EVENT_END_DISABLE   = 0x100,      /* no END events */
	MD_EVENT_DROPPED       = 0x200,      /* an ACK event also for a discarded put */
	MD_SPAN                = 0x400,      /* each operation checks its memory */
	MD_EVENT_UNLINK_DISABLE = 0x800,     /* no UNLINK event */
	MD_OPTIONS             = 0xfff       /* every option that exists */
};

#define MD_THRESH_INF       (-1)            /* a threshold that never decreases */

enum unlink_op  { UNLINK_NEVER, UNLINK_AUTO };    /* PTL_RETAIN, PTL_UNLINK */
enum insert_pos { INSERT_BEFORE, INSERT_AFTER };  /* PTL_INS_BEFORE, PTL_INS_AFTER */
enum ack_req    { ACK_NO, ACK_YES };              /* PTL_NOACK_REQ, PTL_ACK_REQ */

/* How an operation ended: ptl_event_t.ni_fail_type */
enum fail_type {
	NI_OK,                  /* it was carried out */
	NI_FAIL,                /* the peer died, or could not be reached */
	NI_DROPPED              /* the target discarded the request */
};

/* What an atomic operation does with each element of the target's memory (ptl_op_t). */
enum atomic_operation {
	ATOMIC_MIN, ATOMIC_MAX, ATOMIC_SUM,
	ATOMIC_BOR, ATOMIC_BAND, ATOMIC_BXOR,
	ATOMIC_SWAP,
	ATOMIC_CSWAP,           /* the new value if the old one equals the compared one */
	ATOMIC_PROD,
	ATOMIC_LOR, ATOMIC_LAND, ATOMIC_LXOR, /* the result is 1 or 0 */
	ATOMIC_NOOP,            /* no change; only for FETCH_ATOMIC */
	ATOMIC_OPERATIONS
};

/* Type of the elements (ptl_datatype_t). An integer has 1 << (type / 2) bytes; even numbers are
 * signed types. */
enum atomic_type {
	ATOMIC_INT8, ATOMIC_UINT8, ATOMIC_INT16, ATOMIC_UINT16,
	ATOMIC_INT32, ATOMIC_UINT32, ATOMIC_INT64, ATOMIC_UINT64,
	ATOMIC_FLOAT, ATOMIC_DOUBLE, /* IEEE 754, 4 and 8 bytes */
	ATOMIC_TYPES
};

/* START is followed by its END everywhere: END == START + 1. */
enum event_kind {
	EVENT_GET_START, EVENT_GET_END,
	EVENT_PUT_START, EVENT_PUT_END,
	EVENT_GETPUT_START, EVENT_GETPUT_END,
	EVENT_REPLY_START, EVENT_REPLY_END,
	EVENT_SEND_START, EVENT_SEND_END,
	EVENT_ACK,
	EVENT_UNLINK
};

/* ptl_md_t as the application hands it over, and as events show it. */
struct md_args {
	uint64_t start;         /* owner's virtual address; anything if length is 0 */
	uint64_t length;        /* bytes */
	int32_t  threshold;     /* operations left, or MD_THRESH_INF; 0: inactive */
	uint32_t pad0;
	uint64_t max_size;      /* bytes; used only with MD_MAX_SIZE */
	uint32_t options;       /* enum md_option */
	uint32_t pad1;
	uint64_t user_ptr;      /* the application's, not interpreted */
	uint64_t eq_handle;     /* EQ_NONE or an event queue */
};

/* ptl_md_iovec_t: one of the pieces that an iovec descriptor's start points to. */
struct iovec_args {
	uint64_t start;         /* owner's virtual address; anything if bytes is 0 */
	uint64_t bytes;
};

/* The first 64 bytes of ptl_event_t; operation records have them, too. */
struct event_head {
	uint32_t type;          /* enum event_kind */
	uint32_t pt_index;
	union {                 /* initiator: the sender (SEND: this process) */
		struct { uint32_t nid, pid; };
		uint64_t process;
	};
	union {                 /* the initiator's identity, from its kernel */
		struct { uint32_t uid, jid; };
		uint64_t user;
	};
	uint64_t match_bits;    /* of the request */
	uint64_t rlength;       /* bytes requested */
	uint64_t mlength;       /* bytes manipulated */
	uint64_t offset;        /* offset of the operation within the target's descriptor */
	uint64_t md_handle;     /* this process's descriptor */
};

/* ptl_event_t: the contents of a slot of an event queue. */
struct event {
	struct event_head head;
	struct md_args md;      /* the descriptor after the operation; zero if it is gone */
	uint64_t hdr_data;
	uint32_t link;          /* equal in all events of one operation of one process */
	uint32_t fail;          /* enum fail_type */
	uint64_t sequence;      /* the event's number; EVENT_WRITING is set while it is written */
};

#define EVENT_WRITING       (1ULL << 63)
#define EVENT_SLOT_BYTES    144u            /* size of a slot */

_Static_assert(sizeof(struct md_args) == 56, "ptl_md_t");
_Static_assert(sizeof(struct event_head) == 64, "first part of ptl_event_t");
_Static_assert(sizeof(struct event) == 144, "ptl_event_t");
_Static_assert(sizeof(struct event) <= EVENT_SLOT_BYTES, "an event fits its slot");
#endif
