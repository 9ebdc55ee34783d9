/*
 * The simulated network: see netsim.h. Data: a heap of events in the order of
 * their time, the cards, and when each link is free again.
 */
#include "netsim.h"
#include <stdlib.h>
#include <string.h>
#include "../net/link/wire.h"

#define CARD_QUEUE  64u            /* sends that a card holds */
#define BULK_RING   64u            /* rooms that a bulk card holds */
#define BACKLOG     256u           /* frames that wait for one */
#define TOLD_LATE   2000u          /* ns from a frame's being written to its being told of */
#define OVERTAKEN   8u             /* times the latency: how late a reordered frame is at most */

enum event_kind { LEAVES, ARRIVES, TIMER, LANDS, TOLD };

struct event {
	uint64_t time, order;      /* the earlier, then the first made */
	enum event_kind kind;
	uint32_t node;
	uint32_t life;             /* LEAVES: of the node that sends; TOLD: of the rooms */
	uint32_t card;             /* LEAVES, ARRIVES: 1: the bulk card */
	uint64_t cookie;           /* LEAVES */
	uint32_t pieces;           /* LEAVES */
	uint32_t bytes;            /* of the frame */
	struct nic_piece piece[NIC_PIECES];
	uint8_t *frame;            /* ARRIVES */
};

struct card {
	struct nic nic;            /* first: a nic is its card */
	struct netsim *sim;
	struct netsim_node who;
	uint32_t node;
	uint32_t life;             /* counts netsim_leave */
	struct sending {
		uint32_t waiting;  /* sends not yet complete */
		uint64_t out_free; /* when the last bit of the last send leaves */
	} sending[2];              /* of the card and the bulk card */
	uint64_t in_free;          /* when the last bit to this node has arrived */
	uint64_t timer;            /* the earliest of its events, or NETSIM_NEVER */
	uint8_t *cut;              /* per destination: 1: frames are lost */
};

struct waiting_frame {
	uint8_t *bytes;
	uint32_t n;
};

struct bulk_card {
	struct nic nic;            /* first */
	struct netsim *sim;
	uint32_t node;
	uint32_t life;             /* counts take_back */
	struct room {
		struct nic_piece piece[NIC_BULK_PIECES];
		uint32_t pieces;   /* 0: junk */
		uint8_t header[NIC_BULK_HEADER];
		uint32_t bytes;    /* of the frame that is in it */
	} room[BULK_RING];
	uint32_t posted, written, told; /* rooms so far */
	struct waiting_frame backlog[BACKLOG];
	uint32_t waits;            /* frames in it */
	int woken;                 /* a LANDS event is under way */
};

struct netsim {
	struct netsim_config config;
	uint64_t now, order, dice;
	struct card *cards;
	struct bulk_card *bulk;
	struct event **heap;
	uint32_t n, room;
	netsim_watcher *watcher;   /* or null */
	void *watching;            /* its context */
	uint64_t counters[NETSIM_COUNTERS];
};

uint64_t netsim_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static int says(struct netsim *sim, uint32_t per_million)
{
	return per_million && netsim_random(&sim->dice) % 1000000 < per_million;
}

/* ---- events ---- */

static int is_earlier(const struct event *a, const struct event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void schedule(struct netsim *sim, const struct event *what)
{
	struct event *event = malloc(sizeof(*event));
	uint32_t at = sim->n++;

	*event = *what;
	event->order = sim->order++;
	if (sim->n > sim->room) {
		sim->room = sim->room ? 2 * sim->room : 1024;
		sim->heap = realloc(sim->heap, sim->room * sizeof(*sim->heap));
	}
	for (; at > 0 && is_earlier(event, sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
		sim->heap[at] = sim->heap[(at - 1) / 2];
	sim->heap[at] = event;
}

static struct event *pop(struct netsim *sim)
{
	struct event *first = sim->heap[0], *last = sim->heap[--sim->n];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= sim->n)
			break;
		if (child + 1 < sim->n && is_earlier(sim->heap[child + 1], sim->heap[child]))
			child++;
		if (!is_earlier(sim->heap[child], last))
			break;
		sim->heap[at] = sim->heap[child];
		at = child;
	}
	if (sim->n)
		sim->heap[at] = last;
	return first;
}

/* ---- cards ---- */

static uint64_t duration(const struct netsim *sim, uint32_t bytes)
{
	return (uint64_t)bytes * 1000000000u / sim->config.bytes_per_s;
}

static int send_from(struct card *card, uint32_t which, struct nic *nic,
		     const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct event event = { .kind = LEAVES, .node = card->node, .life = card->life,
			       .card = which, .cookie = cookie, .pieces = n };
	struct sending *sending = &card->sending[which];

	if (sending->waiting >= CARD_QUEUE)
		return NIC_FULL;
	for (uint32_t i = 0; i < n; i++) {
		event.piece[i] = pieces[i];
		event.bytes += pieces[i].length;
	}
	if (event.bytes > nic->mtu) {
		nic->counters[NIC_DROPS_OUT]++;
		return NIC_DOWN;
	}
	if (sending->out_free < card->sim->now)
		sending->out_free = card->sim->now;
	sending->out_free += duration(card->sim, event.bytes);
	event.time = sending->out_free;
	sending->waiting++;
	nic->counters[NIC_FRAMES_OUT]++;
	nic->counters[NIC_BYTES_OUT] += event.bytes;
	schedule(card->sim, &event);
	return NIC_OK;
}

static int card_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n,
		     uint64_t cookie)
{
	return send_from((struct card *)nic, 0, nic, pieces, n, cookie);
}

/* The simulation hands up frames by itself. */
static uint32_t card_poll(struct nic *nic, uint32_t budget)
{
	(void)nic, (void)budget;
	return 0;
}

static void card_interrupts(struct nic *nic, int on)
{
	(void)nic, (void)on;
}

static void card_close(struct nic *nic)
{
	(void)nic;
}

static const struct nic_ops card_ops = {
	.name = "simulated", .send = card_send, .poll = card_poll,
	.interrupts = card_interrupts, .close = card_close
};

/* ---- bulk cards ---- */

static void wake(struct bulk_card *card)
{
	struct event event = { .kind = LANDS, .node = card->node, .time = card->sim->now };

	if (card->woken || !card->waits || card->posted == card->written)
		return;
	card->woken = 1;
	schedule(card->sim, &event);
}

static int bulk_post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int tell)
{
	struct bulk_card *card = (struct bulk_card *)nic;
	struct room *room = &card->room[card->posted % BULK_RING];

	(void)tell;
	if (card->posted - card->told == BULK_RING || n > NIC_BULK_PIECES)
		return NIC_FULL;
	card->posted++;
	room->pieces = n;
	for (uint32_t i = 0; i < n; i++)
		room->piece[i] = pieces[i];
	wake(card);
	return NIC_OK;
}

static void bulk_take_back(struct nic *nic)
{
	struct bulk_card *card = (struct bulk_card *)nic;

	card->life++;
	card->posted = card->written = card->told = 0;
}

static int bulk_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct bulk_card *bulk = (struct bulk_card *)nic;

	return send_from(&bulk->sim->cards[bulk->node], 1, nic, pieces, n, cookie);
}

static const struct nic_ops bulk_ops = {
	.name = "simulated", .send = bulk_send, .poll = card_poll,
	.interrupts = card_interrupts, .close = card_close,
	.post = bulk_post, .take_back = bulk_take_back
};

/* Write a frame into a room, as far as there is place in it. */
static void write_room(struct room *room, const uint8_t *frame, uint32_t bytes)
{
	uint32_t head = bytes < NIC_BULK_HEADER ? bytes : NIC_BULK_HEADER, left = bytes - head;

	memset(room->header, 0xa5, sizeof(room->header));
	memcpy(room->header, frame, head);
	frame += head;
	room->bytes = bytes;
	for (uint32_t i = 0; i < room->pieces && left; i++) {
		uint32_t n = room->piece[i].length < left ? room->piece[i].length : left;

		memcpy((void *)room->piece[i].bytes, frame, n);
		frame += n;
		left -= n;
	}
}

/* What waits goes into the rooms that there are. */
static void land(struct bulk_card *card)
{
	struct netsim *sim = card->sim;
	uint32_t done = 0;

	card->woken = 0;
	while (done < card->waits && card->written != card->posted) {
		struct waiting_frame *frame = &card->backlog[done++];
		struct event event = { .kind = TOLD, .node = card->node, .life = card->life,
				       .time = sim->now + TOLD_LATE };

		write_room(&card->room[card->written % BULK_RING], frame->bytes, frame->n);
		card->written++;
		schedule(sim, &event);
		free(frame->bytes);
	}
	card->waits -= done;
	memmove(card->backlog, card->backlog + done, card->waits * sizeof(card->backlog[0]));
}

static void bulk_arrives(struct bulk_card *card, struct event *event)
{
	if (card->waits == BACKLOG) {
		card->sim->counters[NETSIM_OVERFLOW]++;
		return;
	}
	card->backlog[card->waits++] = (struct waiting_frame){ event->frame, event->bytes };
	event->frame = 0;
	wake(card);
}

static void tell(struct bulk_card *card)
{
	struct room *room = &card->room[card->told++ % BULK_RING];
	uint8_t header[NIC_BULK_HEADER];

	memcpy(header, room->header, sizeof(header));
	card->nic.landed(card->nic.context, header, room->bytes);
}

void netsim_bulk_reset(struct netsim *sim, uint32_t node)
{
	struct nic *nic = &sim->bulk[node].nic;

	bulk_take_back(nic);
	nic->landed(nic->context, 0, 0);
}

struct nic *netsim_bulk(struct netsim *sim, uint32_t node)
{
	return &sim->bulk[node].nic;
}

/* ---- the switch ---- */

static void arrive(struct netsim *sim, uint32_t node, const uint8_t *frame, uint32_t bytes,
		   uint64_t late)
{
	struct card *card = &sim->cards[node];
	uint64_t time = sim->now + sim->config.latency_ns;
	struct event event = { .kind = ARRIVES, .node = node, .bytes = bytes,
			       .card = bytes > 3 && frame[3] == 1 };

	if (card->in_free < time)
		card->in_free = time;
	if (card->in_free - time > duration(sim, sim->config.queue_bytes)) {
		sim->counters[NETSIM_OVERFLOW]++;
		return;
	}
	card->in_free += duration(sim, bytes);
	event.time = card->in_free + sim->config.latency_ns + late;
	event.frame = malloc(bytes ? bytes : 1);
	memcpy(event.frame, frame, bytes);
	schedule(sim, &event);
}

static void damage(struct netsim *sim, uint8_t *frame, uint32_t bytes)
{
	uint32_t flips = 1 + netsim_random(&sim->dice) % 3;

	sim->counters[NETSIM_DAMAGED]++;
	while (flips--) {
		uint64_t bit = netsim_random(&sim->dice) % (8ull * bytes);

		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* Whether the link between two nodes is in a stretch of time when it is cut. */
static int is_cut(const struct netsim *sim, uint32_t a, uint32_t b)
{
	uint64_t link = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	uint64_t state = sim->config.seed ^ link * 0x9e3779b97f4a7c15ULL;

	if (!sim->config.cut)
		return 0;
	state += sim->now / sim->config.cut_ns;
	return netsim_random(&state) % 1000000 < sim->config.cut;
}

/* A frame from card `from`: what happens to it on its way. */
static void forward(struct netsim *sim, const struct card *from, uint8_t *frame, uint32_t bytes)
{
	uint32_t node = (uint32_t)frame[4] << 8 | frame[5];
	uint64_t late = 0;

	sim->counters[NETSIM_SENT]++;
	if (sim->watcher)
		sim->watcher(sim->watching, sim->now, frame, bytes);
	if (node >= sim->config.nodes || from->cut[node] || is_cut(sim, from->node, node)) {
		sim->counters[NETSIM_CUT]++;
		return;
	}
	if (says(sim, sim->config.loss)) {
		sim->counters[NETSIM_LOST]++;
		return;
	}
	if (says(sim, sim->config.reorder)) {
		sim->counters[NETSIM_REORDERED]++;
		late = netsim_random(&sim->dice) % (OVERTAKEN * sim->config.latency_ns + 1);
	}
	if (says(sim, sim->config.delay)) {
		sim->counters[NETSIM_DELAYED]++;
		late += netsim_random(&sim->dice) % (sim->config.delay_ns + 1);
	}
	if (says(sim, sim->config.duplicate)) {
		sim->counters[NETSIM_DUPLICATED]++;
		arrive(sim, node, frame, bytes, late + netsim_random(&sim->dice) %
		       (OVERTAKEN * sim->config.latency_ns + 1));
	}
	if (says(sim, sim->config.damage))
		damage(sim, frame, bytes);
	arrive(sim, node, frame, bytes, late);
}

/* ---- what happens ---- */

static void leave(struct netsim *sim, const struct event *event)
{
	struct card *card = &sim->cards[event->node];
	struct nic *nic = event->card ? &sim->bulk[event->node].nic : &card->nic;
	uint8_t *frame = malloc(event->bytes), *at = frame;

	for (uint32_t i = 0; i < event->pieces; i++) {
		memcpy(at, event->piece[i].bytes, event->piece[i].length);
		at += event->piece[i].length;
	}
	forward(sim, card, frame, event->bytes);
	free(frame);
	card->sending[event->card].waiting--;
	nic->sent(nic->context, event->cookie);
}

int netsim_step(struct netsim *sim)
{
	struct event *event;
	struct card *card;
	int node;

	if (sim->n == 0)
		return -1;
	event = pop(sim);
	sim->now = event->time;
	node = (int)event->node;
	card = &sim->cards[node];
	if (event->kind == LEAVES && event->life == card->life) {
		leave(sim, event);
	} else if (event->kind == LANDS) {
		land(&sim->bulk[node]);
	} else if (event->kind == TOLD && card->who.tick) {
		if (event->life == sim->bulk[node].life)
			tell(&sim->bulk[node]);
	} else if (event->kind == ARRIVES && event->card) {
		bulk_arrives(&sim->bulk[node], event);
	} else if (event->kind == ARRIVES && card->who.tick) {
		sim->counters[NETSIM_DELIVERED]++;
		card->nic.counters[NIC_FRAMES_IN]++;
		card->nic.counters[NIC_BYTES_IN] += event->bytes;
		card->nic.receive(card->nic.context, event->frame, event->bytes);
	} else if (event->kind == TIMER) {
		if (card->timer == event->time)
			card->timer = NETSIM_NEVER;
		if (card->who.tick && card->who.deadline(card->who.context) <= sim->now)
			card->who.tick(card->who.context, sim->now);
	}
	free(event->frame);
	free(event);
	netsim_look(sim, (uint32_t)node);
	return node;
}

void netsim_look(struct netsim *sim, uint32_t node)
{
	struct card *card = &sim->cards[node];
	struct event event = { .kind = TIMER, .node = node };

	if (!card->who.tick)
		return;
	event.time = card->who.deadline(card->who.context);
	if (event.time < sim->now)
		event.time = sim->now;
	if (event.time == NETSIM_NEVER || event.time >= card->timer)
		return;
	card->timer = event.time;
	schedule(sim, &event);
}

/* ---- the rest ---- */

struct netsim_config netsim_defaults(uint32_t nodes, uint64_t seed)
{
	return (struct netsim_config){ .nodes = nodes, .seed = seed, .latency_ns = 5000,
				       .delay_ns = 5000000, .cut_ns = 1000000, .bytes_per_s = 1000000000,
				       .queue_bytes = 4u << 20, .mtu = 9014 };
}

struct netsim *netsim_open(const struct netsim_config *config)
{
	struct netsim *sim = calloc(1, sizeof(*sim));

	sim->config = *config;
	sim->dice = config->seed;
	sim->cards = calloc(config->nodes, sizeof(*sim->cards));
	sim->bulk = calloc(config->nodes, sizeof(*sim->bulk));
	for (uint32_t node = 0; node < config->nodes; node++) {
		struct card *card = &sim->cards[node];

		card->nic.ops = &card_ops;
		card->nic.mtu = config->mtu;
		card->nic.ring = 256;
		card->nic.slots = 1;
		wire_address(card->nic.address, node, 0);
		card->sim = sim;
		card->node = node;
		card->timer = NETSIM_NEVER;
		card->cut = calloc(config->nodes, 1);
		sim->bulk[node].nic.ops = &bulk_ops;
		sim->bulk[node].nic.mtu = config->mtu;
		sim->bulk[node].nic.ring = BULK_RING;
		sim->bulk[node].nic.slots = 1;
		wire_address(sim->bulk[node].nic.address, node, 1);
		sim->bulk[node].sim = sim;
		sim->bulk[node].node = node;
	}
	return sim;
}

void netsim_close(struct netsim *sim)
{
	for (uint32_t i = 0; i < sim->n; i++) {
		free(sim->heap[i]->frame);
		free(sim->heap[i]);
	}
	for (uint32_t node = 0; node < sim->config.nodes; node++) {
		free(sim->cards[node].cut);
		while (sim->bulk[node].waits)
			free(sim->bulk[node].backlog[--sim->bulk[node].waits].bytes);
	}
	free(sim->bulk);
	free(sim->heap);
	free(sim->cards);
	free(sim);
}

struct nic *netsim_nic(struct netsim *sim, uint32_t node)
{
	return &sim->cards[node].nic;
}

void netsim_join(struct netsim *sim, uint32_t node, const struct netsim_node *who)
{
	sim->cards[node].who = *who;
	netsim_look(sim, node);
}

void netsim_leave(struct netsim *sim, uint32_t node)
{
	struct card *card = &sim->cards[node];

	card->life++;
	card->sending[0].waiting = card->sending[1].waiting = 0;
	bulk_take_back(&sim->bulk[node].nic);
	card->who = (struct netsim_node){ 0 };
}

uint64_t netsim_now(const struct netsim *sim)
{
	return sim->now;
}

void netsim_cut(struct netsim *sim, uint32_t a, uint32_t b, int on)
{
	sim->cards[a].cut[b] = (uint8_t)!!on;
}

void netsim_faults(struct netsim *sim, const struct netsim_config *config)
{
	sim->config.loss = config->loss;
	sim->config.duplicate = config->duplicate;
	sim->config.reorder = config->reorder;
	sim->config.damage = config->damage;
	sim->config.delay = config->delay;
	sim->config.delay_ns = config->delay_ns;
	sim->config.cut = config->cut;
	sim->config.cut_ns = config->cut_ns;
}

void netsim_watch(struct netsim *sim, netsim_watcher *watcher, void *context)
{
	sim->watcher = watcher;
	sim->watching = context;
}

void netsim_inject(struct netsim *sim, uint32_t node, const void *frame, uint32_t bytes)
{
	arrive(sim, node, frame, bytes, 0);
}

uint64_t netsim_counter(const struct netsim *sim, enum netsim_counter counter)
{
	return sim->counters[counter];
}
