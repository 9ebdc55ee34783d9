/*
 * The shared region of a machine whose nodes share memory: its layout.
 *
 * One region, a memfd that the launcher makes, zero-filled, and hands to every
 * node's ivshmem device (BAR 2). The launcher writes the header, the node
 * table's launcher fields and the files before any node starts. Everything is
 * little-endian; offsets count from the start of the region unless said
 * otherwise.
 *
 * Every kernel can write everywhere in the region, so what lies there may change at
 * any moment. A node copies the header once, checks the copy (region_open) and uses
 * only the copy. Every other word is read once, and checked each time it is used.
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
#define REGION_LIFE       65536u                /* from a node's incarnation to its next */

struct region_header {
	uint64_t magic;
	uint32_t version;
	uint32_t nodes;            /* 1 to REGION_MAX_NODES; also the launcher's doorbell id */
	uint64_t bytes;            /* of the region; a power of two (it is a PCI BAR) */
	uint64_t slices;           /* offset of slice 0 */
	uint64_t slice_bytes;      /* from one slice to the next */
	uint64_t block_offset;     /* the next six count from the start of a slice */
	uint64_t block_bytes;
	uint64_t console_offset;
	uint64_t console_bytes;    /* ring header included */
	uint64_t segment_offset;
	uint64_t segment_bytes;
	uint64_t stdin_ring;
	uint64_t stdin_bytes;      /* ring header included */
	uint64_t file_table;
	uint32_t files;            /* entries in the table */
	uint32_t zero;
	_Atomic uint32_t exits;    /* counts up as nodes end: gives region_node.exit_order */
	_Atomic uint32_t idle;     /* 1: the launcher is about to wait for output: ring it; written
	                              by the launcher, cleared by the node that rings */
	_Atomic uint64_t barriers; /* nodes that have entered PtlNIBarrier over shared memory, all
	                              barriers since the start together */
};

/* One per node: four cache lines, divided by their writers. */
struct region_node {
	/* written by the node */
	_Atomic uint32_t state;    /* enum node_state */
	uint32_t status;           /* EXITED: exit status 0 to 255 */
	uint32_t signal;           /* FAULTED: the signal that ended the application */
	uint32_t exit_order;       /* 1 for the first node that ended */
	uint64_t main_ns;          /* node's time since its first instruction when main was entered */
	_Atomic uint64_t stdin_taken; /* how far it has read standard input */
	uint8_t  pad0[32];
	/* written by the node, read and cleared by the node that rings */
	_Atomic uint32_t sleeping; /* 1: ring me, I am about to halt or halted */
	_Atomic uint32_t console_waits; /* 1: ring me when the console ring has room */
	_Atomic uint32_t stdin_wanted;  /* 1 when it waits for standard input */
	_Atomic uint32_t upcall;   /* 1: there are events for handlers, and the node was rung;
	                              set by the node that left them, cleared by this one */
	uint8_t  pad1[48];
	/* written by the launcher */
	_Atomic uint32_t dead;     /* 1: this node's machine is gone for good; never cleared */
	_Atomic uint32_t requests; /* REGION_REQUEST_*, cleared by the node when done; of another
	                              node's too */
	uint64_t start_ns;         /* CLOCK_REALTIME, written again and again until the node
	                              is BOOTED: what the node reads is as old as the time
	                              since the launcher looked last, about 1 ms + 0.1 ms per
	                              node, more on a busy host */
	_Atomic uint32_t restarts; /* how often the launcher has started this node again; it
	                              grows when the old machine is gone, before the new one
	                              starts, with this entry as at first and all nodes rung;
	                              its incarnation is then REGION_LIFE * (restarts + 1) */
	_Atomic uint32_t stdin_reads; /* 1: standard input is for this node, too; written before
	                              the node starts */
	_Atomic uint64_t lock_answer; /* the launcher's to a region_lock: its number << 32 | errno */
	uint64_t lock_first, lock_last; /* REGION_LOCK_GET: the lock that is in the way, if */
	uint32_t lock_pid;         /* lock_type is not REGION_LOCK_NONE */
	uint32_t lock_type;
	uint8_t  pad3[8];
	/* written by the node; waits_for is cleared by the node that rings */
	_Atomic uint32_t waits_for; /* node id + 1: ring me when the lock of that node's block is
	                              free, as I halt for it (lock.c); or 0 */
	_Atomic uint32_t awaits;   /* node id + 1: ring me when that node has booted; or 0 */
	uint8_t  pad4[56];
};

enum node_state {
	NODE_OFF,                  /* not started, or has not found the region yet */
	NODE_BOOTED,               /* its kernel takes messages */
	NODE_RUNNING,              /* its application has been entered */
	NODE_EXITED,               /* its application returned or called exit */
	NODE_ENDED_JOB,            /* its application ended the whole job: margay_end_job */
	NODE_FAULTED,              /* its application was ended by a signal */
	NODE_PANICKED              /* its kernel ended itself */
};

/* SIGQUIT at the launcher: print a backtrace and what the node waits for. */
#define REGION_REQUEST_BACKTRACE 1u

/* Another node waits for long for a lock that names this one: give back what it does not hold. */
#define REGION_REQUEST_LOCKS     2u

/*
 * A ring of bytes with one writer and one reader. Positions only grow; the
 * byte at position p lies at data[p % (ring bytes - sizeof(struct region_ring))],
 * and that size is a power of two. Neither side trusts the other's position.
 * After a record the node rings the launcher's doorbell (id = nodes), if the header says
 * that it is idle. With standard input it is the other way round: the launcher rings the
 * nodes that want some. Each of them reads all of it, and has its position in its own entry.
 */
struct region_ring {
	_Atomic uint64_t written;  /* writer's position */
	uint8_t  pad0[56];
	_Atomic uint64_t taken;    /* reader's position; not stdin's */
	_Atomic uint32_t closed;   /* writer will write no more (end of file) */
	_Atomic uint32_t full;     /* stdin's: 1: ring the launcher when half of it is free */
	uint8_t  pad1[48];
	uint8_t  data[];
};

/* A console ring carries records: this, `bytes` bytes, padding to 8. */
struct region_record {
	uint32_t bytes;
	uint16_t stream;           /* STREAM_* */
	uint16_t zero;
};

/* STREAM_OUT_FILE + i belongs to the region_file with index i. */
enum { STREAM_STDOUT = 1, STREAM_STDERR = 2,
       STREAM_KERNEL = 3,      /* reports; backtrace lines read "  #N 0x<address>" */
       STREAM_STATS = 4,       /* "name value" lines at the end, if asked for */
       STREAM_LOCKS = 5,       /* struct region_lock: the launcher holds the locks of files */
       STREAM_OUT_FILE = 16 };

/*
 * What a node asks of the locks of files; one at a time, but for REGION_LOCK_CANCEL. The
 * launcher answers in region_node. A node's locks end with it.
 */
struct region_lock {
	uint32_t number;           /* of the request: 1 for a node's first */
	uint16_t call;             /* REGION_LOCK_GET ... */
	uint16_t type;             /* REGION_LOCK_SHARED ... */
	uint16_t whole;            /* 1: locks of flock(), which no others conflict with */
	uint16_t folder;           /* which of the job's folders the file is in */
	uint32_t owner;            /* 0: the process; else one of its open files */
	uint32_t pid;
	uint32_t zero;
	uint64_t inode;            /* of the file, as the host's server numbers it */
	uint64_t first, last;      /* bytes, both included */
};

enum { REGION_LOCK_GET,        /* which lock is in the way? */
       REGION_LOCK_SET,        /* EAGAIN: one is in the way */
       REGION_LOCK_WAIT,       /* the same, and answered when none is; EDEADLK: never would be */
       REGION_LOCK_CANCEL };   /* do not wait any longer: EINTR, or what had come of it */

enum { REGION_LOCK_SHARED, REGION_LOCK_EXCLUSIVE, REGION_LOCK_NONE }; /* Linux's F_RDLCK ... */

/* A file that the launcher hands over (--file), or takes back (--out). */
struct region_file {
	char     name[232];        /* NUL-terminated; as the application opens it */
	uint32_t flags;            /* REGION_FILE_* */
	uint32_t zero;
	uint64_t offset;           /* of its contents */
	uint64_t bytes;
};
#define REGION_FILE_OUT 1u     /* only rank 0 may open it, for writing */

/*
 * A region as one node knows it: where it is mapped, and the numbers of its header,
 * copied and checked. It lies in the node's own memory, where no other node writes.
 */
struct region {
	struct region_header *shared;  /* mapped; only what is _Atomic is used behind region_open */
	uint32_t nodes;            /* the next 14 are the header's */
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

/* Copies what other nodes can write: `bytes`, a multiple of 8, each word read once. */
void region_copy(void *to, const void *shared, uint64_t bytes);

/* `offset` is from the region's start; the caller knows that it lies inside. */
static inline void *region_at(const struct region *region, uint64_t offset)
{
	return (uint8_t *)region->shared + offset;
}

/* `node` is below region->nodes in both. */
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
