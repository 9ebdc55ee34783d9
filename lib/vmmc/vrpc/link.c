/*
 * Buffers and chunks of vRPC's messages: see link.h. Owns the exported area and the imports of
 * others'.
 */
#include "link.h"

#include <margay.h>
#include <stdlib.h>
#include <string.h>
#include <vmmc.h>

enum { CHUNK = 16384, SHORT = 40, BUFFERS = 2, WAYS = 2 };

enum { PROBE_MS = 100 };           /* a wait for a peer probes its area after each so many */

#define FIRST 0x80000000u

struct head {
	uint32_t number;           /* of the chunk in this direction, from base + 1 on */
	uint32_t bytes;            /* in this chunk, or'ed with FIRST if it begins a message */
	uint32_t left;             /* bytes left of the message, including this chunk */
	uint32_t taken;            /* number of the last chunk of the other direction that the
	                              sender has taken */
	uint64_t sum;
};
_Static_assert(sizeof(struct head) == LINK_HEAD, "");

struct chunk {
	struct head head;
	char data[CHUNK];
};

struct part {
	struct chunk chunks[WAYS][BUFFERS];
	uint32_t taken[WAYS], base;
};

struct peer {
	vmmc_proxy_t proxy;        /* proxy address of this process's part; 0: not connected */
	int suspect;               /* the peer has a new base: its area may be a new one */
	uint32_t base;             /* the peer's; 0: it has not connected */
	uint32_t sent[WAYS];       /* number of the last chunk */
	uint32_t taken[WAYS];      /* of the last that the peer has taken according to its heads */
	uint32_t received[WAYS];   /* of the last that this process has taken */
	uint32_t complete[WAYS];   /* number of the last chunk whose checksum was right */
	uint32_t open[WAYS];       /* a message is being read from its chunk */
	char *gathered[WAYS];      /* a message of several chunks, or null */
};

static uint32_t session;           /* of VMMC, in which the area is exported; 0: in none */
static struct part *parts;         /* by rank */
static struct peer *peers;

/* The checksum of a chunk's head, and of its data if it is short: a polynomial of their words.
 * Short data is padded with zeros to a whole word. */
static uint64_t sum_of(const struct head *head, const char *data)
{
	const uint64_t factor = 0x9fb21c651e98df25ULL;
	uint64_t sum = ((uint64_t)head->number << 32 | head->bytes) * factor, word;
	uint32_t bytes = head->bytes & ~FIRST;

	sum = (sum + ((uint64_t)head->left << 32 | head->taken)) * factor;
	for (uint32_t at = 0; bytes <= SHORT && at < bytes; at += sizeof(word)) {
		memcpy(&word, data + at, sizeof(word));
		sum = (sum + word) * factor;
	}
	return sum;
}

/* ---- buffers ---- */

static int resize(struct buffer *buffer, size_t size)
{
	char *bytes = realloc(buffer->bytes, LINK_HEAD + size);

	if (bytes)
		*buffer = (struct buffer){ bytes, size };
	return bytes != NULL;
}

int vrpc_buffer_open(struct buffer *buffer)
{
	return buffer->bytes || resize(buffer, LINK_FIRST);
}

void vrpc_buffer_close(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){ 0 };
}

int vrpc_buffer_grow(struct buffer *buffer)
{
	if (buffer->size < LINK_MOST && resize(buffer, buffer->size * 4))
		return 1;
	resize(buffer, LINK_FIRST);
	return 0;
}

/* ---- connections ---- */

int vrpc_link_open(void)
{
	size_t ranks = (size_t)margay_size();
	int result = vmmc_init();
	vmmc_export_t exported;

	if (result || session == vmmc_session())
		return result;
	free(parts);                    /* of before vmmc_fini */
	free(peers);
	parts = calloc(ranks, sizeof(*parts));
	peers = calloc(ranks, sizeof(*peers));
	if (!parts || !peers)
		return VMMC_ENOSPACE;
	result = vmmc_export("vrpc", parts, ranks * sizeof(*parts), NULL, 0, 0, NULL, NULL,
	                     &exported);
	if (!result)
		session = vmmc_session();
	return result;
}

int vrpc_link_is_connected(int rank)
{
	return peers[rank].proxy && !peers[rank].suspect;
}

/* The base of a new connection: the wall clock's time in units of 256 ns, which no connection's
 * numbers catch up with, in this life or an earlier one. Not 0. */
static uint32_t next_base(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)((now.tv_sec * 1000000000LL + now.tv_nsec) >> 8) | 1;
}

int vrpc_link_connect(int rank, int timeout)
{
	struct peer *peer;
	vmmc_proxy_t proxy;
	uint32_t base;
	int result = vrpc_link_open();

	if (result)
		return result;
	peer = &peers[rank];
	if (peer->proxy) {
		if (vmmc_fence(peer->proxy) == VMMC_OK) {
			peer->suspect = 0;
			return VMMC_OK;
		}
		vmmc_unimport(peer->proxy);
		peer->proxy = 0;
	}
	result = vmmc_import(rank, "vrpc", timeout, &proxy, NULL);
	if (result)
		return result;
	base = next_base();
	peer->proxy = proxy + (uint64_t)margay_rank() * sizeof(struct part);
	peer->suspect = 0;
	for (int way = 0; way < WAYS; way++)
		peer->sent[way] = peer->taken[way] = base;
	return SendMsg(&base, peer->proxy + offsetof(struct part, base), sizeof(base));
}

/* Milliseconds that a wait may take now; negative: no limit. */
static int timeout_of(struct limit *limit)
{
	int64_t now;

	if (!limit->whole)
		return limit->part;
	now = vrpc_now();
	if (!limit->end)
		limit->end = now + limit->whole;
	return limit->end > now ? (int)(limit->end - now) : 0;
}

/* ---- arrivals ---- */

struct room {
	int rank;
	enum way way;
};

/* A peer has connected anew: its chunks begin with other numbers. A message that is still being
 * read remains until vrpc_link_release. */
static void begin_anew(struct peer *peer, uint32_t base)
{
	peer->base = base;
	peer->suspect = 1;
	for (int way = 0; way < WAYS; way++) {
		peer->received[way] = peer->complete[way] = base;
		peer->open[way] = 0;
	}
}

/* The next chunk, if all of it has arrived, or null. */
static struct chunk *next_chunk(int rank, enum way way)
{
	struct peer *peer = &peers[rank];
	uint32_t base = *(volatile uint32_t *)&parts[rank].base, number;
	volatile struct head *head;
	struct chunk *chunk;
	struct head copy;

	if (base != peer->base)
		begin_anew(peer, base);
	number = peer->received[way] + 1;
	chunk = &parts[rank].chunks[way][number % BUFFERS];
	head = &chunk->head;
	if (head->number != number)
		return NULL;
	if (peer->complete[way] == number)
		return chunk;
	copy = (struct head){ head->number, head->bytes, head->left, head->taken, head->sum };
	if ((copy.bytes & ~FIRST) > CHUNK || (copy.bytes & ~FIRST) > copy.left)
		return NULL;
	__asm__ volatile("" : : : "memory");
	if (copy.sum != sum_of(&copy, chunk->data))
		return NULL;
	peer->complete[way] = number;
	return chunk;
}

/* Records how many chunks of the other direction a chunk of `way` acknowledges. Other numbers than
 * those of chunks under way are of an earlier connection. */
static void note_taken(int rank, enum way way, uint32_t taken)
{
	struct peer *peer = &peers[rank];

	if (taken - peer->taken[!way] <= peer->sent[!way] - peer->taken[!way])
		peer->taken[!way] = taken;
}

/* Tells the sender how many chunks are taken. */
static void tell_taken(int rank, enum way way)
{
	struct peer *peer = &peers[rank];

	if (peer->proxy)
		SendMsg(&peer->received[way], peer->proxy + offsetof(struct part, taken) +
		        way * sizeof(uint32_t), sizeof(uint32_t));
}

static void take(int rank, enum way way)
{
	peers[rank].received[way]++;
	tell_taken(rank, way);
}

/* ---- sending ---- */

/* The peer acknowledges in a word, or in the head of a chunk, even of one that has not been
 * read. */
static int has_room(void *argument)
{
	struct room *room = argument;
	struct peer *peer = &peers[room->rank];
	struct chunk *unread;

	if (peer->sent[room->way] - peer->taken[room->way] < BUFFERS)
		return 1;
	note_taken(room->rank, !room->way,
	           *(volatile uint32_t *)&parts[room->rank].taken[room->way]);
	unread = next_chunk(room->rank, !room->way);
	if (unread)
		note_taken(room->rank, !room->way, unread->head.taken);
	return peer->sent[room->way] - peer->taken[room->way] < BUFFERS;
}

/* Sends a chunk: writes its head into the LINK_HEAD bytes before it; pads short data with zeros. */
static int send_chunk(int rank, enum way way, char *bytes, uint32_t count, uint32_t left,
                      uint32_t first)
{
	struct peer *peer = &peers[rank];
	uint32_t number = peer->sent[way] + 1;
	vmmc_proxy_t to = peer->proxy + offsetof(struct part, chunks) +
		((uint64_t)way * BUFFERS + number % BUFFERS) * sizeof(struct chunk);
	struct head *head = (struct head *)(bytes - sizeof(*head));
	size_t size = sizeof(*head);
	int result = VMMC_OK;

	if (count > SHORT)
		result = SendMsg(bytes, to + sizeof(*head), count);
	else
		for (size += count; size % 8; size++)
			((char *)head)[size] = 0;
	*head = (struct head){ .number = number, .bytes = count | first, .left = left,
	                       .taken = peer->received[!way] + peer->open[!way] };
	head->sum = sum_of(head, bytes);
	if (!result)
		result = SendMsg(head, to, size);
	if (!result)
		peer->sent[way] = number;
	return result;
}

/* Whether there is room, or, for a call, a reply blocks it: nothing waits for a reply while a call
 * is sent, and the server may wait for room. */
static int may_go_on(void *argument)
{
	struct room *room = argument;

	return has_room(room) || (room->way == WAY_CALL && next_chunk(room->rank, WAY_REPLY));
}

/* Waits until ready(room) for the limit. The peer may have begun anew, so that what is waited for
 * never comes: then the import from it ends. */
static int await(int (*ready)(void *room), struct room *room, struct limit *limit)
{
	vmmc_proxy_t proxy = peers[room->rank].proxy;
	int64_t left = timeout_of(limit), end = vrpc_now() + left;
	int result, ms, last;

	do {
		last = left >= 0 && left <= PROBE_MS;
		ms = last ? (int)left : PROBE_MS;
		result = vmmc_wait_until(ready, room, room->rank, ms);
		if (result != VMMC_ETIMEDOUT || last)
			return result;
		result = vmmc_probe(proxy);
		if (left >= 0)
			left = end > vrpc_now() ? end - vrpc_now() : 0;
	} while (result == VMMC_OK);
	return result;
}

static int await_room(struct room *room, struct limit *limit)
{
	struct chunk *unread;
	int result = VMMC_OK;

	while (!result && !has_room(room)) {
		result = await(may_go_on, room, limit);
		unread = result || room->way == WAY_REPLY ? NULL : next_chunk(room->rank, WAY_REPLY);
		if (unread) {
			note_taken(room->rank, WAY_REPLY, unread->head.taken);
			take(room->rank, WAY_REPLY);
		}
	}
	return result;
}

int vrpc_link_send(int rank, enum way way, char *bytes, size_t count, struct limit *limit)
{
	struct room room = { .rank = rank, .way = way };
	uint32_t first = FIRST;
	int result;

	do {
		uint32_t now = count < CHUNK ? (uint32_t)count : CHUNK;

		result = await_room(&room, limit);
		if (result)
			return result;
		result = send_chunk(rank, way, bytes, now, (uint32_t)count, first);
		if (result)
			return result;
		first = 0;
		bytes += now;
		count -= now;
	} while (count);
	return VMMC_OK;
}

/* ---- receiving ---- */

int vrpc_link_has(int rank, enum way way)
{
	return !peers[rank].open[way] && next_chunk(rank, way);
}

static int is_there(void *argument)
{
	struct room *room = argument;

	return next_chunk(room->rank, room->way) != NULL;
}

/* Waits for the next chunk. */
static int await_chunk(int rank, enum way way, struct limit *limit, struct chunk **chunk)
{
	struct room room = { .rank = rank, .way = way };
	int result = VMMC_OK;

	*chunk = next_chunk(rank, way);
	if (!*chunk)
		result = await(is_there, &room, limit);
	if (!result && !*chunk)
		*chunk = next_chunk(rank, way);
	if (!result && !*chunk)
		result = VMMC_EFAIL;            /* the sender has changed the chunk */
	if (!result)
		note_taken(rank, way, (*chunk)->head.taken);
	return result;
}

/* Gathers a message of several chunks, of which the first has arrived. */
static int gather(int rank, enum way way, struct limit *limit, size_t total)
{
	char *all = total > LINK_MOST ? NULL : malloc(total);
	struct chunk *chunk;
	uint32_t bytes;
	int result;

	for (size_t at = 0; at < total; at += bytes) {
		result = await_chunk(rank, way, limit, &chunk);
		if (!result && at && (chunk->head.bytes & FIRST))
			result = VMMC_EFAIL;    /* the sender has given up the rest */
		if (result) {
			free(all);
			return result;
		}
		bytes = chunk->head.bytes & ~FIRST;
		if (bytes > total - at || bytes > CHUNK || !bytes)
			bytes = (uint32_t)(total - at);     /* not a correct sender */
		else if (all)
			memcpy(all + at, chunk->data, bytes);
		take(rank, way);
	}
	peers[rank].gathered[way] = all;
	return all ? VMMC_OK : VMMC_ENOSPACE;
}

int vrpc_link_receive(int rank, enum way way, struct limit *limit, char **bytes, size_t *count)
{
	struct chunk *chunk;
	int result;

	/* Skips the rest of a message that the sender gave up. */
	for (;;) {
		result = await_chunk(rank, way, limit, &chunk);
		if (result)
			return result;
		if (chunk->head.bytes & FIRST)
			break;
		take(rank, way);
	}
	*count = chunk->head.left;
	if (*count == (chunk->head.bytes & ~FIRST) && *count <= CHUNK) {
		peers[rank].open[way] = 1;
		*bytes = chunk->data;
		return VMMC_OK;
	}
	result = gather(rank, way, limit, *count);
	*bytes = peers[rank].gathered[way];
	return result;
}

void vrpc_link_skip(int rank, enum way way)
{
	peers[rank].received[way]++;
}

void vrpc_link_release(int rank, enum way way, int tell)
{
	struct peer *peer = &peers[rank];

	free(peer->gathered[way]);
	peer->gathered[way] = NULL;
	peer->received[way] += peer->open[way];
	peer->open[way] = 0;
	if (tell)
		tell_taken(rank, way);
}
