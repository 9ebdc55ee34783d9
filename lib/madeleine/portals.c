/*
 * Madeleine's portability interface on Portals. A header is one put into slots that its sender
 * owns at the receiver; a short body is in the same put. A longer body stays where it is, and the
 * receiver gets it (PtlGet) to its final address: only the header is copied. Over cards a get wakes
 * halted nodes twice more, so there bodies of up to a quarter of a sender's slots are short.
 *
 *   PORTAL_HEADER   slots: `window` for each sender, which takes them in turn, and for a message
 *                   of several slots so many in a row
 *   PORTAL_BODY     one entry for each message under way whose body has several vectors | all
 *                   of memory, for bodies of one
 *   PORTAL_CREDIT   how many slots each receiver has taken, written by it
 *
 * Owns all of this. Called by one thread.
 */
#include <madeleine.h>
#include <madeleine_port.h>
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS           1024u           /* of all senders together */
#define WINDOW_MOST     64u
#define CARD_SLOTS      2048u           /* the same over cards */
#define CARD_WINDOW     256u
#define SLOT_BYTES      1024u
#define BODY_EVENTS     4096u           /* gets of both sides, probes */
#define FETCHED_MOST    3072u           /* vectors of bodies that are to be fetched */
#define CREDIT_EVENTS   64u
#define PROBE_MS        1000u           /* after such a wait the peer is probed, */
#define PROBE_EVENTS    64u             /* and after so many that ended earlier */

enum { PORTAL_HEADER, PORTAL_BODY, PORTAL_CREDIT };
enum { QUEUE_HEADER, QUEUE_BODY, QUEUE_CREDIT, QUEUES };

/* Match bits of PORTAL_BODY: the entry of this target's message, or all of memory. */
#define BITS_PIECES     (1ULL << 32)

/* The slots of a message: this, the header, a short body. */
struct start {
	uint32_t header, in_slot;       /* bytes of the header; of the body in the slots */
	uint64_t body;                  /* bytes of the body */
	uint64_t address;               /* of a body of one vector; 0: it has an entry */
};

_Static_assert(sizeof(struct start) + MAD_HEADER_MOST <= SLOT_BYTES, "a header fits");

/* A message to a node, from send_post until send_poll says 1. */
struct sending {
	const struct iovec *vectors;    /* null: none is under way */
	int count;
	int begun;                      /* its header has been put */
	uint64_t body, fetched;         /* bytes; of these, fetched by the receiver */
	ptl_handle_me_t entry;          /* of a body of several vectors, or PTL_INVALID_HANDLE */
};

struct node {
	ptl_process_id_t process;
	uint64_t sent;                  /* slots used for messages to it */
	uint64_t told;                  /* its slots that it knows to be taken */
	int probed;                     /* a probe is under way */
	struct sending sending;
};

static struct {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queues[QUEUES];
	ptl_handle_md_t plain, asked, fetching;     /* all of memory: no events, ACK, REPLY_END */
	ptl_handle_me_t all;            /* the last entry of PORTAL_BODY: all of memory */
	uint64_t inline_bytes;
	uint32_t window;                /* slots of each sender */
	uint64_t most_body, most;       /* bytes of a short body; of it and its header */
	int rank, size;
	struct node *nodes;
	char *slots;                    /* this rank's, by sender */
	char *stage;                    /* copies of what was put into others' */
	uint64_t *given;                /* by receiver: slots that it has taken; written by it */
	uint64_t *taken;                /* by sender: slots that this rank has taken */
	int short_of_room;              /* Portals had no room for an operation */
	uint32_t events;                /* that ended waits of senders */
	uint32_t fetched;               /* vectors of bodies that were sent and not all fetched */
	void (*function)(int from, const void *header, size_t bytes);
	ptl_event_t header;             /* of a header that ended a wait, */
	int has_header;                 /* if there is one */
	/* the message that is being received */
	const char *slot;               /* its slot, or null */
	int from;
	uint64_t at;                    /* bytes of its body for which a place was given */
	uint32_t gets;                  /* gets that have not ended */
} port;

uint64_t mad_port_copied;

static _Noreturn void fail(const char *what, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "madeleine: rank %d: %s: %s\n", port.rank, what, why);
	margay_end_job(1);
}

static void must(int rc, const char *what)
{
	if (rc != PTL_OK)
		fail(what, PtlErrorStr(rc));
}

static _Noreturn void gone(int node)
{
	char text[48];

	snprintf(text, sizeof(text), "node %d has ended", node);
	fail("a message", text);
}

/* ---- beginning and end ---- */

static void *memory(size_t bytes)
{
	void *made = calloc(1, bytes);

	must(made ? PTL_OK : PTL_NO_SPACE, "memory for headers (give nodes more: --mem)");
	return made;
}

static ptl_handle_md_t bind(unsigned int options, ptl_handle_eq_t eq)
{
	const ptl_md_t md = {
		.length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_SPAN | PTL_MD_EVENT_START_DISABLE, .eq_handle = eq,
	};
	ptl_handle_md_t handle;

	must(PtlMDBind(port.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	return handle;
}

static ptl_handle_me_t attach(ptl_pt_index_t portal, void *start, uint64_t length,
			      unsigned int options, ptl_handle_eq_t eq)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t md = {
		.start = start, .length = length, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
		.eq_handle = eq,
	};
	ptl_handle_md_t handle;
	ptl_handle_me_t entry;

	must(PtlMEAttach(port.ni, portal, any_process, 0, ~BITS_PIECES, PTL_UNLINK, PTL_INS_AFTER,
			 &entry), "PtlMEAttach");
	must(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
	return entry;
}

static void open_memory(void)
{
	size_t ranks = (size_t)port.size;
	int is_card = port.inline_bytes < SLOT_BYTES;
	uint32_t most_window = is_card ? CARD_WINDOW : WINDOW_MOST;

	port.window = (is_card ? CARD_SLOTS : SLOTS) / (uint32_t)port.size;
	if (port.window > most_window)
		port.window = most_window;
	port.most_body = MAD_SHORT;
	port.most = MAD_HEADER_MOST;
	/* With its header it takes a quarter of the window and a slot. Slots at the window's end
	 * may stay empty, and the receiver may keep nearly a quarter: the rest is enough. */
	if (is_card && port.window >= 4) {
		port.most_body = port.window / 4 * SLOT_BYTES;
		port.most = port.most_body + MAD_HEADER_MOST;
	}
	port.slots = memory(ranks * port.window * SLOT_BYTES);
	port.stage = memory(is_card ? ranks * port.window * SLOT_BYTES : SLOT_BYTES);
	port.given = memory(ranks * sizeof(*port.given));
	port.taken = memory(ranks * sizeof(*port.taken));
	port.nodes = memory(ranks * sizeof(*port.nodes));
	for (int i = 0; i < port.size; i++)
		port.nodes[i].process = margay_process(i);
}

void mad_port_init(int *argc, char ***argv, int *config_size, int *task)
{
	unsigned int slots[QUEUES] = { 0, BODY_EVENTS, CREDIT_EVENTS };
	size_t ranks;

	(void)argc, (void)argv;
	port.rank = margay_rank();
	port.size = margay_size();
	ranks = (size_t)port.size;
	if (ranks > SLOTS)
		fail("mad_init", "at most 1024 ranks");
	must(PtlInit(NULL), "PtlInit");
	must(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &port.ni), "PtlNIInit");
	must(PtlNIStatus(port.ni, PTL_SR_INLINE, &port.inline_bytes), "PtlNIStatus");
	open_memory();
	slots[QUEUE_HEADER] = (unsigned int)port.size * port.window;
	for (int i = 0; i < QUEUES; i++)
		must(PtlEQAlloc(port.ni, slots[i], PTL_EQ_HANDLER_NONE, &port.queues[i]),
		     "PtlEQAlloc");
	port.plain = bind(PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE);
	port.asked = bind(PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, port.queues[QUEUE_BODY]);
	port.fetching = bind(0, port.queues[QUEUE_BODY]);
	attach(PORTAL_HEADER, port.slots, ranks * port.window * SLOT_BYTES, PTL_MD_OP_PUT,
	       port.queues[QUEUE_HEADER]);
	port.all = attach(PORTAL_BODY, NULL, UINT64_MAX, PTL_MD_OP_GET | PTL_MD_SPAN,
			  port.queues[QUEUE_BODY]);
	attach(PORTAL_CREDIT, port.given, ranks * sizeof(*port.given), PTL_MD_OP_PUT,
	       port.queues[QUEUE_CREDIT]);
	must(PtlNIBarrier(port.ni), "mad_init: another rank has ended");
	*config_size = port.size;
	*task = port.rank;
}

void mad_port_exit(void)
{
	must(PtlNIBarrier(port.ni), "mad_exit: another rank has ended");
	must(PtlNIFini(port.ni), "PtlNIFini");
	PtlFini();
	free(port.slots);
	free(port.stage);
	free(port.given);
	free(port.taken);
	free(port.nodes);
	memset(&port, 0, sizeof(port));
}

/* ---- events of bodies ---- */

static void body_event(const ptl_event_t *event)
{
	struct node *node = &port.nodes[event->initiator.nid];

	if (event->ni_fail_type != PTL_NI_OK)
		gone((int)event->initiator.nid);
	if (event->type == PTL_EVENT_GET_END)
		node->sending.fetched += event->mlength;
	else if (event->type == PTL_EVENT_REPLY_END)
		port.gets--;
	else
		node->probed = 0;
}

static void take_events(void)
{
	ptl_event_t event;

	while (PtlEQGet(port.queues[QUEUE_BODY], &event) == PTL_OK)
		body_event(&event);
}

/* Probes the nodes to which a message is under way. */
static void probe(void)
{
	for (int i = 0; i < port.size; i++) {
		struct node *node = &port.nodes[i];

		if (node->sending.vectors && !node->probed)
			node->probed = PtlPutRegion(port.asked, 0, 0, PTL_ACK_REQ, node->process,
						    PORTAL_CREDIT, 0, 0, 0, 0) == PTL_OK;
	}
}

static int is_sending(void)
{
	for (int i = 0; i < port.size; i++)
		if (port.nodes[i].sending.vectors)
			return 1;
	return 0;
}

/* Waits for headers only if there is a function for them. */
void mad_port_wait(void)
{
	int sends = is_sending(), first = port.function ? QUEUE_HEADER : QUEUE_BODY, which, rc;
	ptl_time_t most = port.short_of_room ? 1 : sends ? PROBE_MS : PTL_TIME_FOREVER;
	ptl_event_t event;

	if (port.function && port.has_header)
		return;
	rc = PtlEQPoll(&port.queues[first], QUEUES - first, most, &event, &which);
	if (rc == PTL_FAIL)             /* it wrote into this node's structures over shared memory */
		fail("a message", "a node has died");
	if (sends && (rc == PTL_EQ_EMPTY || ++port.events % PROBE_EVENTS == 0) &&
	    !port.short_of_room)
		probe();
	port.short_of_room = 0;
	if (rc == PTL_OK && which + first == QUEUE_HEADER) {
		port.header = event;
		port.has_header = 1;
	} else if (rc == PTL_OK && which + first == QUEUE_BODY) {
		body_event(&event);
	}
}

/* ---- sending ---- */

static uint64_t body_of(const struct iovec *vectors, int count)
{
	uint64_t bytes = 0;

	for (int i = 1; i < count; i++)
		bytes += vectors[i].iov_len;
	return bytes;
}

/* Attaches an entry for a body of several vectors: 0, or there is no room. */
static int expose(struct sending *sending, struct node *node)
{
	const ptl_md_t md = {
		.start = (void *)(sending->vectors + 1), .length = (ptl_size_t)sending->count - 1,
		.threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC |
			   PTL_MD_EVENT_START_DISABLE,
		.eq_handle = port.queues[QUEUE_BODY],
	};
	ptl_handle_md_t handle;
	int rc = PtlMEMDPost(port.ni, port.all, node->process, BITS_PIECES, 0, PTL_UNLINK,
			     PTL_INS_BEFORE, md, PTL_RETAIN, &sending->entry, &handle, PTL_EQ_NONE);

	if (rc == PTL_NO_SPACE)
		return 1;
	must(rc, "a piece of a message");
	return 0;
}

/* Whether the body stays in the sender's memory until it is fetched. */
static int is_fetched(const struct sending *sending)
{
	return sending->body > port.most_body ||
	       sending->vectors[0].iov_len + sending->body > port.most;
}

/* Fills in the bytes of a message's slots, and returns their number. */
static size_t compose(char *slot, const struct sending *sending)
{
	const struct iovec *vectors = sending->vectors;
	struct start start = { .header = (uint32_t)vectors[0].iov_len, .body = sending->body };
	size_t bytes = sizeof(start) + start.header;

	memcpy(slot + sizeof(start), vectors[0].iov_base, start.header);
	if (!is_fetched(sending)) {
		start.in_slot = (uint32_t)start.body;
		for (int i = 1; i < sending->count; i++) {
			memcpy(slot + bytes, vectors[i].iov_base, vectors[i].iov_len);
			bytes += vectors[i].iov_len;
		}
		mad_port_copied += start.body;
	} else if (sending->count == 2) {
		start.address = (uint64_t)(uintptr_t)vectors[1].iov_base;
	}
	memcpy(slot, &start, sizeof(start));
	return bytes;
}

/* How many slots in a row the message takes. */
static uint32_t slots_of(const struct sending *sending)
{
	uint64_t bytes = sizeof(struct start) + sending->vectors[0].iov_len;

	if (!is_fetched(sending))
		bytes += sending->body;
	return (uint32_t)((bytes + SLOT_BYTES - 1) / SLOT_BYTES);
}

/* Puts the header when there are slots for it, and room in Portals. */
static void begin(int dest)
{
	struct node *node = &port.nodes[dest];
	struct sending *sending = &node->sending;
	uint64_t given = __atomic_load_n(&port.given[dest], __ATOMIC_ACQUIRE);
	uint32_t first = (uint32_t)(node->sent % port.window), slots = slots_of(sending);
	/* Slots at the window's end that are too few stay empty. */
	uint32_t empty = first + slots > port.window ? port.window - first : 0;
	uint64_t after = node->sent + empty + slots, at = empty ? 0 : (uint64_t)first * SLOT_BYTES;
	uint32_t vectors = is_fetched(sending) ? (uint32_t)sending->count - 1 : 0;
	char *stage = port.stage;
	int rc;

	if (after - given > port.window)
		return;
	if (vectors && (port.fetched + vectors > FETCHED_MOST ||
			(vectors > 1 && sending->entry == PTL_INVALID_HANDLE &&
			 expose(sending, node)))) {
		port.short_of_room = 1;
		return;
	}
	if (port.inline_bytes < SLOT_BYTES)     /* read until it has arrived, like the slots */
		stage += (uint64_t)dest * port.window * SLOT_BYTES + at;
	at += (uint64_t)port.rank * port.window * SLOT_BYTES;
	rc = PtlPutRegion(port.plain, (uintptr_t)stage, compose(stage, sending), PTL_NO_ACK_REQ,
			  node->process, PORTAL_HEADER, 0, 0, at, after);
	if (rc == PTL_NO_SPACE) {
		port.short_of_room = 1;
		return;
	}
	must(rc, "sendbuf_send");
	node->sent = after;
	sending->begun = 1;
	port.fetched += vectors;
}

void mad_port_send_post(int dest, const struct iovec *vectors, int count)
{
	struct sending *sending = &port.nodes[dest].sending;

	if (sending->vectors)
		fail("send_post", "a message to this node is under way");
	*sending = (struct sending){
		.vectors = vectors, .count = count, .body = body_of(vectors, count),
		.entry = PTL_INVALID_HANDLE,
	};
	begin(dest);
}

int mad_port_send_poll(int dest)
{
	struct sending *sending = &port.nodes[dest].sending;

	if (!sending->vectors)
		return 1;
	if (!sending->begun)
		begin(dest);
	if (!sending->begun)
		return 0;
	if (is_fetched(sending)) {
		take_events();
		if (sending->fetched < sending->body)
			return 0;
		port.fetched -= (uint32_t)sending->count - 1;
	}
	if (sending->entry != PTL_INVALID_HANDLE)
		must(PtlMEUnlink(sending->entry), "PtlMEUnlink");
	sending->vectors = NULL;
	return 1;
}

/* ---- receiving ---- */

void mad_port_recv_header_post(void (*function)(int from, const void *header, size_t bytes))
{
	port.function = function;
}

/* Returns a message's slots to its sender; `taken` includes them. */
static void give_back(int from, uint64_t taken)
{
	struct node *node = &port.nodes[from];

	port.taken[from] = taken;
	if (taken - node->told < (port.window + 3) / 4)
		return;
	if (PtlPutRegion(port.plain, (uintptr_t)&port.taken[from], sizeof(taken), PTL_NO_ACK_REQ,
			 node->process, PORTAL_CREDIT, 0, 0,
			 (uint64_t)port.rank * sizeof(taken), 0) != PTL_NO_SPACE)
		node->told = taken;
}

int mad_port_recv_header_poll(void)
{
	void (*function)(int from, const void *header, size_t bytes) = port.function;
	struct start start;

	if (!function)
		return 0;
	if (!port.has_header &&
	    PtlEQGet(port.queues[QUEUE_HEADER], &port.header) != PTL_OK)
		return 0;
	port.has_header = 0;
	port.from = (int)port.header.initiator.nid;
	if (port.header.ni_fail_type != PTL_NI_OK)
		return 0;               /* its sender died while it arrived */
	port.function = NULL;
	port.slot = port.slots + port.header.offset;
	port.at = 0;
	memcpy(&start, port.slot, sizeof(start));
	function(port.from, port.slot + sizeof(start), start.header);
	port.slot = NULL;
	give_back(port.from, port.header.hdr_data);
	return 1;
}

/* Gets one vector; waits while Portals has no room for another operation. */
static void get(const struct start *start, const struct iovec *vector)
{
	uint64_t bits = start->address ? 0 : BITS_PIECES;
	int rc;

	while ((rc = PtlGetRegion(port.fetching, (uintptr_t)vector->iov_base, vector->iov_len,
				  port.nodes[port.from].process, PORTAL_BODY, 0, bits,
				  start->address + port.at)) == PTL_NO_SPACE) {
		port.short_of_room = 1;
		mad_port_wait();
	}
	must(rc, "recvbuf_receive_data");
	port.gets++;
}

void mad_port_recv_body_post(int from, const struct iovec *vectors, int count)
{
	struct start start;

	if (!port.slot || from != port.from)
		fail("recv_body_post", "no message of this node is being received");
	memcpy(&start, port.slot, sizeof(start));
	for (int i = 0; i < count; i++) {
		if (vectors[i].iov_len > start.body - port.at)
			fail("recv_body_post", "the body has fewer bytes");
		if (start.in_slot) {
			memcpy(vectors[i].iov_base,
			       port.slot + sizeof(start) + start.header + port.at,
			       vectors[i].iov_len);
			mad_port_copied += vectors[i].iov_len;
		} else if (vectors[i].iov_len) {
			get(&start, &vectors[i]);
		}
		port.at += vectors[i].iov_len;
	}
}

int mad_port_recv_body_poll(int from)
{
	(void)from;
	if (port.gets)
		take_events();
	return port.gets == 0;
}
