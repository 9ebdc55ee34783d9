/*
 * The simulated network: see netsim.h. Data: a heap of events ordered by time, the cards, and when
 * each link is free again.
 */
#include "netsim_state.h"
#include <stdlib.h>
#include <string.h>
#include "../net/link/wire.h"

#define CARD_QUEUE  64u            /* sends that a card holds */
#define OVERTAKEN   8u             /* multiple of the latency: longest delay of a reordered frame */

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

void netsim_schedule(struct netsim *sim, const struct event *what)
{
	struct event *event = malloc(sizeof(*event));
	uint32_t at = sim->n++;

	*event = *what;
	event->order = sim->order++;
	if (sim->most < sim->n)
		sim->most = sim->n;
	if (sim->n > sim->capacity) {
		sim->capacity = sim->capacity ? 2 * sim->capacity : 1024;
		sim->heap = realloc(sim->heap, sim->capacity * sizeof(*sim->heap));
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

int netsim_send(struct card *card, uint32_t which, struct nic *nic,
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
	netsim_schedule(card->sim, &event);
	return NIC_OK;
}

static int card_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n,
		     uint64_t cookie)
{
	return netsim_send((struct card *)nic, 0, nic, pieces, n, cookie);
}

/* The simulation hands up frames by itself. */
uint32_t netsim_poll(struct nic *nic, uint32_t budget)
{
	(void)nic, (void)budget;
	return 0;
}

void netsim_interrupts(struct nic *nic, int on)
{
	(void)nic, (void)on;
}

void netsim_close_card(struct nic *nic)
{
	(void)nic;
}

static const struct nic_ops card_ops = {
	.name = "simulated", .send = card_send, .poll = netsim_poll,
	.interrupts = netsim_interrupts, .close = netsim_close_card
};

/* ---- the switch ---- */

/* Whether `which` is in a bad stretch of `ns` at that time: per_million of them are bad. */
static int is_bad(const struct netsim *sim, uint64_t which, uint32_t per_million, uint64_t ns,
		  uint64_t time)
{
	uint64_t state = sim->config.seed ^ which * 0x9e3779b97f4a7c15ULL;

	if (!per_million)
		return 0;
	state += time / ns;
	return netsim_random(&state) % 1000000 < per_million;
}

static int is_cut(const struct netsim *sim, uint32_t a, uint32_t b)
{
	uint64_t link = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;

	return is_bad(sim, link, sim->config.cut, sim->config.cut_ns, sim->now);
}

/* When a node's port reads next: at `time`, or at the end of its stop. */
static uint64_t reads_from(struct netsim *sim, uint32_t node, uint64_t time)
{
	uint64_t port = 1ULL << 63 | node, from = time;

	while (is_bad(sim, port, sim->config.stop, sim->config.stop_ns, from))
		from += sim->config.stop_ns - from % sim->config.stop_ns;
	sim->counters[NETSIM_STOPPED] += from != time;
	return from;
}

static void arrive(struct netsim *sim, uint32_t node, const uint8_t *frame, uint32_t bytes,
		   uint64_t late)
{
	struct card *card = &sim->cards[node];
	uint64_t time = reads_from(sim, node, sim->now + sim->config.latency_ns);
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
	netsim_schedule(sim, &event);
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

/* A frame from card `from`: applies the faults of its way. */
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

/* ---- the events ---- */

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
		netsim_bulk_land(&sim->bulk[node]);
	} else if (event->kind == REPORTS && card->user.tick) {
		if (event->life == sim->bulk[node].life)
			netsim_bulk_report(&sim->bulk[node]);
	} else if (event->kind == ARRIVES && event->card) {
		netsim_bulk_arrives(&sim->bulk[node], event);
	} else if (event->kind == ARRIVES && card->user.tick) {
		sim->counters[NETSIM_DELIVERED]++;
		card->nic.counters[NIC_FRAMES_IN]++;
		card->nic.counters[NIC_BYTES_IN] += event->bytes;
		card->nic.receive(card->nic.context, event->frame, event->bytes);
	} else if (event->kind == TIMER) {
		if (card->timer == event->time)
			card->timer = NETSIM_NEVER;
		if (card->user.tick && card->user.deadline(card->user.context) <= sim->now)
			card->user.tick(card->user.context, sim->now);
	}
	free(event->frame);
	free(event);
	netsim_deadline_changed(sim, (uint32_t)node);
	return node;
}

void netsim_deadline_changed(struct netsim *sim, uint32_t node)
{
	struct card *card = &sim->cards[node];
	struct event event = { .kind = TIMER, .node = node };

	if (!card->user.tick)
		return;
	event.time = card->user.deadline(card->user.context);
	if (event.time < sim->now)
		event.time = sim->now;
	if (event.time == NETSIM_NEVER || event.time >= card->timer)
		return;
	card->timer = event.time;
	netsim_schedule(sim, &event);
}

/* ---- the rest ---- */

struct netsim_config netsim_defaults(uint32_t nodes, uint64_t seed)
{
	return (struct netsim_config){ .nodes = nodes, .seed = seed, .latency_ns = 5000,
				       .delay_ns = 5000000, .cut_ns = 1000000, .stop_ns = 1000000,
				       .bytes_per_s = 1000000000,
				       .queue_bytes = 4u << 20, .mtu = 9014, .ring = 256 };
}

struct netsim *netsim_open(const struct netsim_config *config)
{
	struct netsim *sim = calloc(1, sizeof(*sim));

	sim->config = *config;
	sim->dice = config->seed;
	sim->now = config->start;
	sim->cards = calloc(config->nodes, sizeof(*sim->cards));
	sim->bulk = calloc(config->nodes, sizeof(*sim->bulk));
	for (uint32_t node = 0; node < config->nodes; node++) {
		struct card *card = &sim->cards[node];

		card->nic.ops = &card_ops;
		card->nic.mtu = config->mtu;
		card->nic.ring = config->ring;
		wire_address(card->nic.address, node, 0);
		card->sim = sim;
		card->node = node;
		card->timer = NETSIM_NEVER;
		card->cut = calloc(config->nodes, 1);
		sim->bulk[node].nic.ops = &netsim_bulk_ops;
		sim->bulk[node].nic.mtu = config->mtu;
		sim->bulk[node].nic.ring = BULK_RING;
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

void netsim_join(struct netsim *sim, uint32_t node, const struct netsim_node *user)
{
	sim->cards[node].user = *user;
	netsim_deadline_changed(sim, node);
}

void netsim_leave(struct netsim *sim, uint32_t node)
{
	struct card *card = &sim->cards[node];

	card->life++;
	card->sending[0].waiting = card->sending[1].waiting = 0;
	netsim_bulk_ops.withdraw(&sim->bulk[node].nic);
	card->user = (struct netsim_node){ 0 };
}

uint64_t netsim_now(const struct netsim *sim)
{
	return sim->now;
}

void netsim_cut(struct netsim *sim, uint32_t a, uint32_t b, int on)
{
	sim->cards[a].cut[b] = (uint8_t)!!on;
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

uint32_t netsim_most_events(const struct netsim *sim)
{
	return sim->most;
}
