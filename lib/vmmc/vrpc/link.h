/*
 * Messages of vRPC between two ranks, on exported memory. Each process exports one area, "vrpc",
 * with a part for each rank, which only that rank writes:
 *
 *   part of rank r   calls[2]     calls from r to this process, in chunks: number n is in n % 2
 *                    replies[2]   replies from r to this process
 *                    taken[2]     number of the last of our chunks that r has taken: calls, replies
 *                    base         number before r's first chunks, of calls and of replies
 *
 * A rank that connects imports the area and writes its base. Bases differ from all numbers of
 * earlier connections: a new one says that r has opened vRPC again, or has found our earlier area
 * gone. Chunks and counts of before then have other numbers, and are ignored.
 *
 * A chunk is a head and up to CHUNK bytes. A short one is one VMMC message; its head has a checksum
 * over all of it, by which the receiver sees that all of it has arrived. A long one is two
 * messages: the bytes, then the head. A message that fits into a chunk is decoded where it lies;
 * the chunks of a longer one are gathered.
 *
 * Called by client.c and server.c, in one thread. A call that waits halts the node.
 */
#ifndef LIB_VMMC_VRPC_LINK_H
#define LIB_VMMC_VRPC_LINK_H
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
	LINK_MOST = 64 << 20,              /* bytes of a message */
	LINK_HEAD = 24,                    /* bytes before a message that is sent */
	LINK_FIRST = 4096                  /* bytes of a message that a new buffer has room for */
};
enum way { WAY_CALL, WAY_REPLY };

/* How long a message may take. */
struct limit {
	int part;                  /* ms to wait for each part of it; negative: no limit */
	int whole;                 /* ms for all of it, from the first wait on; 0: only `part` limits */
	int64_t end;               /* of the whole, by vrpc_now; 0 before the first wait */
};

/* Converts a word to XDR's byte order, or from it. */
static inline uint32_t vrpc_word(uint32_t value)
{
	return __builtin_bswap32(value);
}

/* Milliseconds of a clock that only moves forward. */
static inline int64_t vrpc_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Room for a message that is encoded: LINK_HEAD bytes, then `size` bytes. */
struct buffer {
	char *bytes;               /* null: not open */
	size_t size;
};

/* Allocates LINK_FIRST bytes, unless the buffer is open. 0: no memory. */
int vrpc_buffer_open(struct buffer *buffer);
void vrpc_buffer_close(struct buffer *buffer);

/* For a message that does not fit: makes the buffer four times as large. If no message may be that
 * long, or there is no memory, makes it as small as a new one. 1: it is larger. */
int vrpc_buffer_grow(struct buffer *buffer);

/* Exports the area. VMMC_OK or an error. A second call does nothing, but after vmmc_fini. */
int vrpc_link_open(void);

/* Prepares to send to a rank: imports its area, for at most `timeout` ms, unless the import that
 * there is still reaches it. */
int vrpc_link_connect(int rank, int timeout);

/* 0: vrpc_link_connect is needed before messages are sent to a rank. */
int vrpc_link_is_connected(int rank);

/* Sends a message, which begins at a multiple of 8; waits for room within the limit. Does not
 * preserve memory: overwrites the LINK_HEAD bytes before the message and before each further chunk
 * of it, and the bytes behind it up to the next multiple of 8. VMMC_*; after VMMC_ETIMEDOUT nothing
 * was sent, or the rest never will be, and the receiver skips it. */
int vrpc_link_send(int rank, enum way way, char *bytes, size_t count, struct limit *limit);

/* 1 if a chunk of a message from `rank` has arrived. */
int vrpc_link_has(int rank, enum way way);

/* Waits for a message; it lies at *bytes until vrpc_link_release. VMMC_OK, VMMC_ETIMEDOUT,
 * VMMC_EDEAD, VMMC_ENOSPACE: no memory for it. */
int vrpc_link_receive(int rank, enum way way, struct limit *limit, char **bytes, size_t *count);

/* Skips a chunk of a message that has arrived; its sender does not learn of it. */
void vrpc_link_skip(int rank, enum way way);

/* Frees the chunks of a message; the sender learns of it with the next message, or at once if
 * `tell` is set. */
void vrpc_link_release(int rank, enum way way, int tell);

#endif
