/*
 * Madeleine's portability interface on MPI: a header is one message, with a short body in it. Each
 * vector of a longer body is another message. Messages to oneself are short and do not pass through
 * MPI: there such a send may end only with the receive. Owns the requests, the messages to
 * oneself and a duplicate of the world communicator. Called by one thread. Linked instead of
 * portals.c, and compiled by mpicc.
 */
#include <madeleine.h>
#include <madeleine_port.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BYTES  1024

enum { TAG_HEADER = 1, TAG_BODY = 2 };

/* A header's message: this, the header, a short body. */
struct start {
	uint32_t header, in_slot;       /* bytes of the header; of the body in this message */
	uint64_t body;                  /* bytes of the body */
};

_Static_assert(sizeof(struct start) + MAD_HEADER_MOST <= SLOT_BYTES, "a header fits");

struct node {
	_Alignas(8) char slot[SLOT_BYTES];              /* of the message being sent to it */
	MPI_Request requests[1 + MAD_PIECES];
	int count;                                      /* 0: none is sent */
};

/* A message to this node that was not received. */
struct own {
	struct own *next;
	_Alignas(8) char slot[SLOT_BYTES];
};

static MPI_Comm world;
static int self;
static struct own *first, **last = &first;
static struct node *nodes;
static int began;                       /* MPI_Init was called here */
static void (*function)(int from, const void *header, size_t bytes);
static _Alignas(8) char slot[SLOT_BYTES];               /* of the next header */
static MPI_Request header = MPI_REQUEST_NULL;
static int others_first;                /* which messages are looked for first */
/* the message that is being received */
static const char *message;             /* `slot`, or the one of a message to oneself */
static uint64_t at;                     /* bytes of its body for which a receive was posted */
static MPI_Request bodies[MAD_PIECES];
static int pending;

uint64_t mad_port_copied;

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory) {
		fprintf(stderr, "madeleine: rank %d: no memory\n", self);
		MPI_Abort(world, 1);
	}
	return memory;
}

static void remove_first(void)
{
	struct own *own = first;

	first = own->next;
	if (!first)
		last = &first;
	free(own);
}

void mad_port_init(int *argc, char ***argv, int *config_size, int *task)
{
	int initialized;

	MPI_Initialized(&initialized);
	began = !initialized;
	if (began)
		MPI_Init(argc, argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	MPI_Comm_size(world, config_size);
	MPI_Comm_rank(world, task);
	self = *task;
	nodes = allocate((size_t)*config_size * sizeof(*nodes));
	MPI_Barrier(world);
}

void mad_port_exit(void)
{
	MPI_Barrier(world);
	if (header != MPI_REQUEST_NULL) {
		MPI_Cancel(&header);
		MPI_Wait(&header, MPI_STATUS_IGNORE);
	}
	while (first)
		remove_first();
	MPI_Comm_free(&world);
	free(nodes);
	if (began)
		MPI_Finalize();
}

/* ---- sending ---- */

static uint64_t body_of(const struct iovec *vectors, int count)
{
	uint64_t bytes = 0;

	for (int i = 1; i < count; i++)
		bytes += vectors[i].iov_len;
	return bytes;
}

/* Returns the bytes of a header's message; *has_body: a body is in it. */
static size_t fill(char *to, const struct iovec *vectors, int count, int *has_body)
{
	struct start start = { (uint32_t)vectors[0].iov_len, 0, body_of(vectors, count) };
	size_t bytes = sizeof(start) + start.header;

	memcpy(to + sizeof(start), vectors[0].iov_base, start.header);
	if (start.body <= MAD_SHORT && start.header + start.body <= MAD_HEADER_MOST) {
		start.in_slot = (uint32_t)start.body;
		for (int i = 1; i < count; i++) {
			memcpy(to + bytes, vectors[i].iov_base, vectors[i].iov_len);
			bytes += vectors[i].iov_len;
		}
		mad_port_copied += start.body;
	}
	memcpy(to, &start, sizeof(start));
	*has_body = start.in_slot != 0;
	return bytes;
}

void mad_port_send_post(int dest, const struct iovec *vectors, int count)
{
	struct node *node = &nodes[dest];
	struct own *own;
	int has_body;
	size_t bytes;

	if (dest == self) {             /* node->count stays 0: it has been sent */
		own = allocate(sizeof(*own));
		fill(own->slot, vectors, count, &has_body);
		*last = own;
		last = &own->next;
		return;
	}
	bytes = fill(node->slot, vectors, count, &has_body);
	MPI_Isend(node->slot, (int)bytes, MPI_BYTE, dest, TAG_HEADER, world, &node->requests[0]);
	node->count = 1;
	for (int i = 1; i < count && !has_body; i++)
		if (vectors[i].iov_len)
			MPI_Isend_c(vectors[i].iov_base, (MPI_Count)vectors[i].iov_len, MPI_BYTE,
				    dest, TAG_BODY, world, &node->requests[node->count++]);
}

int mad_port_send_poll(int dest)
{
	struct node *node = &nodes[dest];
	int done;

	MPI_Testall(node->count, node->requests, &done, MPI_STATUSES_IGNORE);
	if (done)
		node->count = 0;
	return done;
}

/* ---- receiving ---- */

void mad_port_recv_header_post(void (*wanted)(int from, const void *header, size_t bytes))
{
	function = wanted;
	if (header == MPI_REQUEST_NULL)
		MPI_Irecv(slot, SLOT_BYTES, MPI_BYTE, MPI_ANY_SOURCE, TAG_HEADER, world, &header);
}

static void deliver(int from, const char *arrived)
{
	uint32_t bytes;

	message = arrived;
	at = 0;
	memcpy(&bytes, message, sizeof(bytes));
	function(from, message + sizeof(struct start), bytes);
}

static int from_self(void)
{
	if (!first)
		return 0;
	deliver(self, first->slot);
	remove_first();
	return 1;
}

static int from_others(void)
{
	MPI_Status status;
	int done = 0;

	if (header != MPI_REQUEST_NULL)
		MPI_Test(&header, &done, &status);
	if (!done)
		return 0;
	deliver(status.MPI_SOURCE, slot);
	return 1;
}

/* In turns, so that no node waits while another one sends without end. */
int mad_port_recv_header_poll(void)
{
	others_first = !others_first;
	if (others_first)
		return from_others() || from_self();
	return from_self() || from_others();
}

void mad_port_recv_body_post(int from, const struct iovec *vectors, int count)
{
	struct start start;

	memcpy(&start, message, sizeof(start));
	pending = 0;
	for (int i = 0; i < count; i++) {
		if (start.in_slot) {
			memcpy(vectors[i].iov_base, message + sizeof(start) + start.header + at,
			       vectors[i].iov_len);
			mad_port_copied += vectors[i].iov_len;
		} else if (vectors[i].iov_len) {
			MPI_Irecv_c(vectors[i].iov_base, (MPI_Count)vectors[i].iov_len, MPI_BYTE,
				    from, TAG_BODY, world, &bodies[pending++]);
		}
		at += vectors[i].iov_len;
	}
}

int mad_port_recv_body_poll(int from)
{
	int done;

	(void)from;
	MPI_Testall(pending, bodies, &done, MPI_STATUSES_IGNORE);
	if (done)
		pending = 0;
	return done;
}

/* MPI itself halts a process that only tests. */
void mad_port_wait(void)
{
}
