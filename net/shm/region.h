/*
 * The shared region of a machine whose nodes share memory: its layout.
 *
 * The region is a memfd. The launcher creates it zero-filled and passes it to every node's
 * ivshmem device (BAR 2). Before any node starts, the launcher writes the header, its own
 * fields of the node table, and the files. Everything is little-endian. Offsets count from
 * the start of the region unless stated otherwise.
 *
 * Every kernel can write anywhere in the region, so its contents may change at any time. A
 * node copies the header once, checks the copy (region_open) and uses only the copy. Every
 * other word is read once for each use, and that value is checked.
 *
 *   0                  struct region_header
 *   REGION_SCRATCH     256 bytes for the kernel's self-tests, otherwise zero
 *   REGION_NODES       struct region_node[nodes]
 *   file_table         struct region_file[files], contents page-aligned behind it
 *   stdin_ring         struct region_ring + bytes: launcher -> the nodes that read it
 *   slices             nodes x slice_bytes, 2 MiB aligned; each:
 *       block_offset     process block (net/portals/block.h)
 *       console_offset   struct region_ring + bytes: node -> launcher
 *       segment_offset   the application's segment, 2 MiB aligned
 *
 * The launcher learns this layout from build/region.json, which
 * tools/layout.c prints from this header; no offset is typed twice.
 */
#ifndef NET_SHM_REGION_H
#define NET_SHM_REGION_H
#include <stdatomic.h>
#include <stdint.h>

#define REGION_MAGIC      0x3159414752414dULL   /* "MARGAY1" */
#define REGION_VERSION    2u
#define REGION_MAX_NODES  1024u
#define REGION_NODES      4096u
#define REGION_SCRATCH    (REGION_NODES - 256u)
#define REGION_RING_LEAST 4096u                 /* data bytes of a ring */
#define REGION_ALIGN      0x200000u             /* slices and segments */
#define REGION_LIFE       65536u                /* added to a node's incarnation at a restart */

struct region_header {
	uint64_t magic;
	uint32_t version;
	uint32_t nodes;            /* 1 to REGION_MAX_NODES; also the launcher's doorbell id */
	uint64_t bytes;            /* size of the region; a power of two (it is a PCI BAR) */
	uint64_t slices;           /* offset of slice 0 */
	uint64_t slice_bytes;      /* size of a slice; slices are adjacent */
	uint64_t block_offset;     /* from the start of a slice, as the other two offsets */
	uint64_t block_bytes;
	uint64_t console_offset;
	uint64_t console_bytes;    /* with the ring's header */
	uint64_t segment_offset;
	uint64_t segment_bytes;
	uint64_t stdin_ring;       /* offset */
	uint64_t stdin_bytes;      /* with the ring's header */
	uint64_t file_table;       /* offset */
	uint32_t files;            /* entries in the table */
	uint32_t zero;
	_Atomic uint32_t exits;    /* nodes that have begun to end; gives region_node.exit_order */
	_Atomic uint32_t idle;     /* 1: the launcher is about to wait for output, so ring it; set
	                              by the launcher, cleared by the node that rings */
	_Atomic uint64_t barriers; /* how often nodes have entered PtlNIBarrier over shared memory:
	                              sum over all nodes and all barriers since the start */
};

/* One entry per node: four cache lines, one per kind of writer. */
struct region_node {
	/* written by the node */
	_Atomic uint32_t state;    /* enum node_state */
	uint32_t status;           /* EXITED: exit status 0 to 255 */
	uint32_t signal;           /* FAULTED: the signal that ended the application */
	uint32_t exit_order;       /* 1 for the first node that began to end */
	uint64_t main_ns;          /* ns from the node's first instruction to the start of main */
	_Atomic uint64_t stdin_taken; /* its read position in standard input's ring */
	uint8_t  pad0[32];
	/* set by the node, cleared by the node that rings it; `upcall` is the other way round */
	_Atomic uint32_t sleeping; /* 1: the node is about to halt or halted, so ring it */
	_Atomic uint32_t console_waits; /* 1: ring the node when the console ring has room */
	_Atomic uint32_t stdin_wanted;  /* 1: the node waits for standard input */
	_Atomic uint32_t upcall;   /* 1: there are events for handlers, and the node was rung;
	                              set by the node that recorded them, cleared by this one */
	uint8_t  pad1[48];
	/* written by the launcher */
	_Atomic uint32_t dead;     /* 1: this node's machine is gone for good; never cleared */
	_Atomic uint32_t requests; /* REGION_REQUEST_*; other nodes set them too, and this node
	                              clears them when done */
	uint64_t start_ns;         /* CLOCK_REALTIME, updated repeatedly until the node is BOOTED;
	                              the value that the node reads is about 1 ms + 0.1 ms per
	                              node old, more on a busy host */
	_Atomic uint32_t restarts; /* times that the launcher has restarted this node. It changes
	                              after the old machine is gone and before the new one starts;
	                              the launcher resets this entry and rings all nodes. The new
	                              incarnation is REGION_LIFE * (restarts + 1) */
	_Atomic uint32_t stdin_reads; /* 1: this node may read standard input; set before the node
	                              starts */
	_Atomic uint64_t lock_answer; /* answer to a region_lock: its number << 32 | errno */
	uint64_t lock_first, lock_last; /* answer to REGION_LOCK_GET: the conflicting lock, ... */
	uint32_t lock_pid;         /* ... unless lock_type is REGION_LOCK_NONE */
	uint32_t lock_type;
	/* written by the node */
	_Atomic uint32_t lost;     /* 1: it has learned of a death or restart, so its barriers fail */
	uint8_t  pad3[4];
	/* written by the node; waits_for is cleared by the node that rings */
	_Atomic uint32_t waits_for; /* node id + 1: this node halts until the lock of that node's
	                              block is free, so ring it (lock.c); or 0 */
	_Atomic uint32_t awaits;   /* node id + 1: ring this node when that one has booted; or 0 */
	uint8_t  pad4[56];
};

enum node_state {
	NODE_OFF,                  /* not started, or has not opened the region yet */
	NODE_BOOTED,               /* its kernel accepts messages */
	NODE_RUNNING,              /* its application has started */
	NODE_EXITED,               /* its application returned or called exit */
	NODE_ENDED_JOB,            /* its application ended the whole job: margay_end_job */
	NODE_FAULTED,              /* its application was ended by a signal */
	NODE_PANICKED              /* its kernel ended itself */
};

/* The launcher got SIGQUIT: print a backtrace and what the node waits for. */
#define REGION_REQUEST_BACKTRACE 1u

/* Another node has waited long for a lock whose owner field names this node: call
 * shm_lock_disown for every lock. */
#define REGION_REQUEST_LOCKS     2u

/*
 * A ring of bytes with one writer and one reader. Positions only grow. The byte at position p
 * is data[p % (ring bytes - sizeof(struct region_ring))]; that size is a power of two. Neither
 * side trusts the other's position. After each record the node rings the launcher's doorbell
 * (id = nodes) if header.idle is set. Standard input goes the other way: the launcher rings
 * the nodes that wait for input. Each node reads all of it, with its own read position
 * (stdin_taken).
 */
struct region_ring {
	_Atomic uint64_t written;  /* writer's position */
	uint8_t  pad0[56];
	_Atomic uint64_t taken;    /* reader's position; unused in standard input's ring */
	_Atomic uint32_t closed;   /* 1: the writer will write no more (end of file) */
	_Atomic uint32_t full;     /* standard input: 1: ring the launcher when half is free */
	uint8_t  pad1[48];
	uint8_t  data[];
};

/* A console ring carries records: this header, then `bytes` bytes, padded to 8 bytes. */
struct region_record {
	uint32_t bytes;            /* of contents, without padding */
	uint16_t stream;           /* STREAM_* */
	uint16_t zero;
};

/* STREAM_OUT_FILE + i belongs to the region_file with index i. */
enum { STREAM_STDOUT = 1, STREAM_STDERR = 2,
       STREAM_KERNEL = 3,      /* the kernel's reports; backtrace lines are "  #N 0x<address>" */
       STREAM_STATS = 4,       /* "name value" lines at the end, if requested */
       STREAM_LOCKS = 5,       /* struct region_lock: a request to the launcher */
       STREAM_OUT_FILE = 16 };

/*
 * A file lock request. The launcher keeps the locks of all files and answers in region_node. A
 * node has one request at a time, apart from REGION_LOCK_CANCEL. When a node ends, the launcher
 * releases its locks.
 */
struct region_lock {
	uint32_t number;           /* request number; a node's first is 1 */
	uint16_t call;             /* REGION_LOCK_GET ... */
	uint16_t type;             /* REGION_LOCK_SHARED ... */
	uint16_t whole;            /* 1: a lock of flock(), which conflicts only with its like */
	uint16_t folder;           /* which of the job's folders the file is in */
	uint32_t owner;            /* 0: the process; else one of its open files */
	uint32_t pid;
	uint32_t zero;
	uint64_t inode;            /* the file's inode number at the host's server */
	uint64_t first, last;      /* first and last byte of the locked range */
};

enum { REGION_LOCK_GET,        /* report the first conflicting lock */
       REGION_LOCK_SET,        /* lock or unlock; EAGAIN: another lock conflicts */
       REGION_LOCK_WAIT,       /* lock, answered when no lock conflicts; EDEADLK */
       REGION_LOCK_CANCEL };   /* cancel the wait: EINTR, or its result if it has ended */

/* F_RDLCK, F_WRLCK and F_UNLCK of Linux. */
enum { REGION_LOCK_SHARED, REGION_LOCK_EXCLUSIVE, REGION_LOCK_NONE };

/* A file that the launcher provides (--file) or collects (--out). */
struct region_file {
	char     name[232];        /* NUL-terminated; the application opens it by this name */
	uint32_t flags;            /* REGION_FILE_* */
	uint32_t zero;
	uint64_t offset;           /* of its contents */
	uint64_t bytes;            /* of its contents */
};
#define REGION_FILE_OUT 1u     /* only rank 0 may open it, for writing */

/*
 * One node's view of the region: where it is mapped, and a checked copy of its header. It is in
 * the node's own memory, where no other node can write.
 */
struct region {
	struct region_header *shared;  /* the mapping; after region_open only its _Atomic fields
	                                  are used */
	uint32_t nodes;            /* this and the next 13 are copies of the header's fields */
	uint32_t files;
	uint64_t bytes;
	uint64_t slices;
	uint64_t slice_bytes;
	uint64_t block_offset;
	uint64_t block_bytes;
	uint64_t console_offset;
	uint64_t console_bytes;
	uint64_t segment_offset;
	uint64_t segment_bytes;
	uint64_t stdin_ring;
	uint64_t stdin_bytes;
	uint64_t file_table;
};

/* Copies the header of `mapped` bytes at `shared` and checks the copy. Returns 0 and
 * fills *region, or a negative enum region_error. */
enum region_error { REGION_NO_MAGIC = -1, REGION_OTHER_VERSION = -2, REGION_BAD_NODES = -3,
                    REGION_BAD_SIZE = -4, REGION_BAD_LAYOUT = -5 };
int region_open(struct region *region, void *shared, uint64_t mapped);
const char *region_error_text(int error);

/* Copy `bytes` bytes (a multiple of 8) that other nodes may be writing; reads each word once. */
void region_copy(void *to, const void *shared, uint64_t bytes);

/* The address of an offset, which the caller has checked. */
static inline void *region_at(const struct region *region, uint64_t offset)
{
	return (uint8_t *)region->shared + offset;
}

/* In the next two, `node` is below region->nodes. */
static inline struct region_node *region_node(const struct region *region, uint32_t node)
{
	return (struct region_node *)region_at(region, REGION_NODES) + node;
}

static inline uint8_t *region_slice(const struct region *region, uint32_t node)
{
	return region_at(region, region->slices + node * region->slice_bytes);
}

_Static_assert(sizeof(struct region_node) == 256, "node entries are 256 bytes");
_Static_assert(sizeof(struct region_header) <= REGION_SCRATCH, "header fits before the scratch bytes");
_Static_assert(sizeof(struct region_ring) == 128, "ring data starts at 128");
_Static_assert(sizeof(struct region_lock) == 48, "lock requests are 48 bytes");
_Static_assert(sizeof(struct region_file) == 256, "file entries are 256 bytes");
#endif
