/*
 * Traffic and its checks: see traffic.h. Message i has the number i in its header; its payload is
 * the piece of the pattern that the number determines.
 */
#include "traffic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../net/link/wire.h"

enum message_state {
	SENT = 1, ARRIVED_OK = 2, FAILED = 4, RECEIVED = 8, BEFORE = 16,
	UNSIGNALLED = 32           /* its sender learns only of a failure */
};

struct header {
	uint32_t number, from, to, lane; /* these and the next line: also in a plain put */
	uint64_t length, place;
	uint8_t rest[LINK_HEADER_BYTES - LINK_PUT_BYTES];
};

static void wrong(struct traffic *t, const char *what, uint32_t number, uint32_t node)
{
	if (t->lenient)
		return;
	if (t->errors++ < 5)
		printf("message %u at node %u: %s (seed %llu)\n", number, node, what,
		       (unsigned long long)t->config.seed);
}

static uint64_t place_of(const struct traffic *t, uint32_t number)
{
	uint64_t state = t->config.seed + number;

	return netsim_random(&state) % (TRAFFIC_PATTERN - TRAFFIC_LONGEST);
}

static void fill_header(const struct traffic *t, struct header *header, uint32_t number,
			uint32_t from, uint32_t to, uint32_t lane, uint64_t length)
{
	header->number = number;
	header->from = from;
	header->to = to;
	header->lane = lane;
	header->length = length;
	header->place = place_of(t, number);
	memcpy(header->rest, t->pattern + header->place, sizeof(header->rest));
}

/* ---- receiving ---- */

#define STRANGER  (~0u)            /* a stranger's message has no number */

static int is_stranger(const struct traffic *t, uint32_t node)
{
	return node >= t->config.nodes - t->config.strangers;
}

/* 1 for so many of a million calls. */
static int happens(struct traffic *t, uint32_t rate)
{
	return rate && netsim_random(&t->dice) % 1000000 < rate;
}

/* A message begins here; returns its number. */
static uint32_t check_header(struct traffic_node *n, uint32_t node, uint32_t lane,
			     const void *bytes, uint32_t size, uint64_t length)
{
	struct traffic *t = n->traffic;
	struct header header, want;
	uint32_t *last;

	memcpy(&header, bytes, size);
	if (header.number >= t->sent) {
		wrong(t, "a header that nobody sent", header.number, n->node);
		return 0;
	}
	fill_header(t, &want, header.number, node, n->node, lane, t->lengths[header.number]);
	if (memcmp(&header, &want, size) || length != want.length)
		wrong(t, "a wrong header", header.number, n->node);
	last = &t->last[(n->node * t->config.nodes + node) * 2 + lane];
	if (header.number + 1 <= *last)
		wrong(t, "out of order or twice", header.number, n->node);
	*last = header.number + 1;
	return header.number;
}

/* Send on the fast path, if configured and if there is room. Returns 1 if it was sent. */
static int send_fast(struct traffic_node *n, uint32_t to, const struct header *header)
{
	struct traffic *t = n->traffic;
	struct link_room room = { 0, 0 };

	if (header->length <= LINK_FAST_BYTES && header->lane == LINK_REQUESTS &&
	    happens(t, t->config.fast))
		room = link_fast_room(n->link, to);
	if (!room.header)
		return 0;
	t->states[header->number] |= UNSIGNALLED;
	t->fast++;
	memcpy(room.header, header, LINK_PUT_BYTES);
	memcpy(room.header + LINK_PUT_BYTES, t->pattern + header->place, header->length);
	link_fast_send(n->link, room, netsim_now(t->sim), (uint32_t)header->length);
	return 1;
}

static void send_one(struct traffic_node *n, uint32_t to, uint32_t lane, uint64_t length)
{
	struct traffic *t = n->traffic;
	uint32_t number = t->sent++;
	struct header header;

	t->lengths[number] = length;
	t->states[number] = SENT;
	t->to[number] = (uint16_t)to;
	fill_header(t, &header, number, n->node, to, lane, length);
	if (send_fast(n, to, &header))
		return;
	n->under_way++;
	memcpy(link_message(n->link)->header, &header, sizeof(header));
	if (link_send(n->link, netsim_now(t->sim), to, lane, length, 0, 0))
		wrong(t, "could not be sent", number, n->node);
}

static void received(struct traffic_node *n, uint32_t number, uint32_t node, uint32_t lane)
{
	struct traffic *t = n->traffic;

	if (t->states[number] & RECEIVED)
		wrong(t, "twice", number, n->node);
	t->states[number] |= RECEIVED;
	t->nodes[node].bytes += t->lengths[number];
	if (!t->config.answered)
		return;
	if (lane == LINK_ANSWERS) {
		n->unanswered--;
		return;
	}
	link_unreserve(n->link);
	send_one(n, node, LINK_ANSWERS, 0);
}

/* A whole message with a header of `size` bytes. */
static void take(struct traffic_node *n, uint32_t node, uint32_t lane, const void *header,
		 uint32_t size, const void *payload, uint32_t bytes)
{
	uint32_t number;

	if (is_stranger(n->traffic, node))
		return;
	number = check_header(n, node, lane, header, size, bytes);
	if (memcmp(payload, n->traffic->pattern + place_of(n->traffic, number), bytes))
		wrong(n->traffic, "wrong bytes", number, n->node);
	received(n, number, node, lane);
}

static int on_whole(void *context, uint32_t node, uint32_t lane, const void *header,
		    const void *payload, uint32_t bytes)
{
	struct traffic_node *n = context;

	if (happens(n->traffic, n->traffic->config.busy))
		return LINK_BUSY;
	take(n, node, lane, header, LINK_HEADER_BYTES, payload, bytes);
	return LINK_TAKE;
}

static void on_put(void *context, uint32_t node, const void *header, const void *payload,
		   uint32_t bytes)
{
	take(context, node, LINK_REQUESTS, header, LINK_PUT_BYTES, payload, bytes);
}

static struct payload *new_payload(struct traffic_node *n, uint64_t length)
{
	struct payload *payload = malloc(sizeof(*payload) + length);

	*payload = (struct payload){ n->payloads, &n->payloads, length };
	memset(payload->bytes, 0xa5, length);
	if (n->payloads)
		n->payloads->at = &payload->next;
	n->payloads = payload;
	return payload;
}

static void free_payload(struct payload *payload)
{
	*payload->at = payload->next;
	if (payload->next)
		payload->next->at = payload->at;
	free(payload);
}

static int on_begin(void *context, uint32_t node, uint32_t lane, const void *header,
		    uint64_t length, struct link_target *target)
{
	struct traffic_node *n = context;

	if (happens(n->traffic, n->traffic->config.busy) ||
	    (n->traffic->config.answered && !link_reserve(n->link, node)))
		return LINK_BUSY;
	target->room[0] = is_stranger(n->traffic, node) ? STRANGER :
		check_header(n, node, lane, header, LINK_HEADER_BYTES, length);
	if (happens(n->traffic, n->traffic->config.dropped)) {
		received(n, (uint32_t)target->room[0], node, lane);
		return LINK_DROP;
	}
	target->room[1] = 0;
	target->room[2] = 0;
	target->room[3] = node;
	target->room[4] = 0;
	target->room[5] = happens(n->traffic, n->traffic->config.headers);
	if (target->room[5])
		return LINK_HEADER;
	if (length < TRAFFIC_PATTERN)
		target->room[4] = (uintptr_t)new_payload(n, length);
	return LINK_TAKE;
}

static uint32_t on_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			 struct nic_piece *pieces, uint32_t most)
{
	struct traffic_node *n = context;
	uint32_t number = (uint32_t)target->room[0], third = bytes / 3;
	struct payload *payload = (struct payload *)(uintptr_t)target->room[4];

	if (!payload || (n->traffic->config.unplaceable && number % 8 == 7) ||
	    at + bytes > payload->length)
		return 0;
	if (number % 2 || most < 2 || !third) {
		pieces[0] = (struct nic_piece){ payload->bytes + at, bytes };
		return 1;
	}
	pieces[0] = (struct nic_piece){ payload->bytes + at, third };
	pieces[1] = (struct nic_piece){ payload->bytes + at + third, bytes - third };
	return 2;
}

static void on_data(void *context, struct link_target *target, uint64_t at, const void *payload,
		    uint32_t bytes)
{
	struct traffic_node *n = context;
	struct traffic *t = n->traffic;
	uint32_t number = (uint32_t)target->room[0];
	struct payload *place = (struct payload *)(uintptr_t)target->room[4];

	if (target->room[5])
		wrong(t, "payload of a header", number, n->node);
	if (number == STRANGER)
		return;
	if (at + bytes > t->lengths[number] ||
	    memcmp(payload, t->pattern + place_of(t, number) + at, bytes))
		wrong(t, "wrong bytes", number, n->node);
	if (place)
		memcpy(place->bytes + at, payload, bytes);
	target->room[1] += bytes;
	target->room[2] += at * bytes + (uint64_t)bytes * (bytes - 1) / 2;
}

static void on_end(void *context, struct link_target *target, int fail)
{
	struct traffic_node *n = context;
	struct traffic *t = n->traffic;
	uint32_t number = (uint32_t)target->room[0];
	uint64_t length = number == STRANGER ? 0 : t->lengths[number];
	struct payload *place = (struct payload *)(uintptr_t)target->room[4];

	if (!fail && number != STRANGER && place &&
	    (place->length != length ||
	     memcmp(place->bytes, t->pattern + place_of(t, number), length)))
		wrong(t, "wrong bytes at its end", number, n->node);
	if (place)
		free_payload(place);
	if (fail || number == STRANGER)
		return;
	/* A card has written some bytes of an announced message. */
	if (!target->room[5] && !(t->config.announce && length >= t->config.announce) &&
	    (target->room[1] != length || target->room[2] != length * (length - 1) / 2))
		wrong(t, "ends without all of its bytes", number, n->node);
	received(n, number, (uint32_t)target->room[3], LINK_REQUESTS);
}

/* ---- sending ---- */

/* Its number. */
static uint32_t number_of(const struct link_message *message)
{
	return ((const struct header *)message->header)->number;
}

static uint32_t on_gather(void *context, const struct link_message *message, uint64_t at,
			  uint32_t bytes, struct nic_piece *pieces, uint32_t most)
{
	struct traffic_node *n = context;
	const uint8_t *from = n->traffic->pattern + place_of(n->traffic, number_of(message)) + at;
	uint32_t first = most > 1 && bytes > 1 ? bytes / 3 : 0;

	if (!first) {
		pieces[0] = (struct nic_piece){ from, bytes };
		return 1;
	}
	pieces[0] = (struct nic_piece){ from, first };
	pieces[1] = (struct nic_piece){ from + first, bytes - first };
	return 2;
}

static void on_failed(void *context, uint32_t bytes)
{
	struct traffic_node *n = context;

	if (bytes > LINK_FAST_BYTES)
		wrong(n->traffic, "a message of the fast path that is too long fails", 0, n->node);
	n->traffic->failed++;
	n->traffic->fast_failed++;
}

static void on_sent(void *context, struct link_message *message, int fail)
{
	struct traffic_node *n = context;
	struct traffic *t = n->traffic;
	uint32_t number = number_of(message);

	if (t->states[number] & (ARRIVED_OK | FAILED))
		wrong(t, "ends twice at its sender", number, n->node);
	t->states[number] |= fail ? FAILED : ARRIVED_OK;
	t->failed += !!fail;
	n->under_way--;
	if (!fail && !(t->states[number] & (RECEIVED | BEFORE)))
		wrong(t, "acknowledged but not received", number, n->node);
}

static void on_lost(void *context, uint32_t node)
{
	struct traffic_node *n = context;

	(void)node;
	n->lost++;
}

static const struct link_user user = {
	&user, on_whole, on_put, on_begin, on_data, on_end, on_place, on_gather, on_sent,
	on_failed, on_lost
};

static uint64_t choose_length(struct traffic *t)
{
	uint64_t dice = netsim_random(&t->dice);

	if (t->config.fixed)
		return t->config.fixed;
	if (dice % 1000000 >= t->config.longer || t->config.longest <= LINK_WHOLE_BYTES)
		return dice >> 32 & (LINK_WHOLE_BYTES - 1);
	/* equally many of each magnitude */
	return 1 + (dice >> 32) % (t->config.longest >> (dice >> 24) % 8);
}

static void feed(struct traffic *t, struct traffic_node *n)
{
	uint32_t nodes = t->config.nodes - t->config.strangers;
	uint32_t records = n->link ? link_figures(n->link).records : 0;

	n->most_records = records > n->most_records ? records : n->most_records;
	while (n->to_send && n->link) {
		uint64_t dice = netsim_random(&t->dice);
		uint32_t to = t->config.incast ? 0 : (n->node + 1 + dice % (nodes - 1)) % nodes;
		uint32_t lane = (dice >> 32) % 1000000 < t->config.answers;

		if (!link_has_room(n->link, to, lane) ||
		    (t->config.answered && n->unanswered == t->config.answered))
			return;
		n->to_send--;
		n->unanswered++;
		send_one(n, to, lane, choose_length(t));
	}
}

void traffic_send(struct traffic *t, uint32_t from, uint32_t to, uint64_t length)
{
	send_one(&t->nodes[from], to, LINK_REQUESTS, length);
	netsim_deadline_changed(t->sim, from);
}

/* ---- nodes ---- */

static void on_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
	struct traffic_node *n = context;

	link_receive(n->link, netsim_now(n->traffic->sim), frame, bytes);
}

static void on_landed(void *context, const uint8_t *header, uint32_t bytes)
{
	struct traffic_node *n = context;

	link_landed(n->link, netsim_now(n->traffic->sim), header, bytes);
}

static void on_transmitted(void *context, uint64_t cookie)
{
	struct traffic_node *n = context;

	link_transmitted(n->link, netsim_now(n->traffic->sim), cookie);
}

static uint64_t deadline(void *context)
{
	return link_deadline(((struct traffic_node *)context)->link);
}

static void tick(void *context, uint64_t now)
{
	link_tick(((struct traffic_node *)context)->link, now);
}

void traffic_revive(struct traffic *t, uint32_t node)
{
	struct traffic_node *n = &t->nodes[node];
	struct netsim_node who = { n, deadline, tick };
	struct link_config config = t->links;
	struct nic *bulk = 0;

	config.node = node;
	config.incarnation += 256 * n->lives;
	config.strict = n->lives > 0;
	n->lives++;
	n->nic = netsim_nic(t->sim, node);
	n->nic->context = n;
	n->nic->receive = on_frame;
	n->nic->sent = on_transmitted;
	n->user = (struct link_user_context){ &user };
	n->memory = aligned_alloc(64, (link_bytes(&config) + 63) & ~63ull);
	if (config.announce && !(t->config.cardless >> node % 32 & 1)) {
		bulk = netsim_bulk(t->sim, node);
		bulk->context = n;
		bulk->landed = on_landed;
		bulk->sent = on_transmitted;
	}
	n->link = link_open(n->memory, &config, n->nic, bulk, n);
	netsim_join(t->sim, node, &who);
}

void traffic_kill(struct traffic *t, uint32_t node)
{
	struct traffic_node *n = &t->nodes[node];

	netsim_leave(t->sim, node);
	free(n->memory);
	n->memory = 0;
	n->link = 0;
	n->under_way = 0;
	/* The next life starts with empty counts. Unacknowledged messages that this life received
	 * may arrive again: their sender does not know of this life and sends them to the next. */
	while (n->payloads)
		free_payload(n->payloads);
	for (uint32_t i = 0; i < t->sent; i++)
		if ((t->states[i] & ~UNSIGNALLED) == (SENT | RECEIVED) && t->to[i] == node)
			t->states[i] ^= RECEIVED | BEFORE;
	memset(&t->last[node * t->config.nodes * 2], 0, t->config.nodes * 2 * sizeof(*t->last));
}

void traffic_restart(struct traffic *t, uint32_t node)
{
	traffic_kill(t, node);
	traffic_revive(t, node);
}

void traffic_open(struct traffic *t, const struct traffic_config *config,
		  const struct netsim_config *network)
{
	uint64_t n = config->nodes, messages = config->messages * (config->answered ? 2ull : 1);

	*t = (struct traffic){ .config = *config, .dice = config->seed };
	t->sim = netsim_open(network);
	t->links = link_defaults(0, config->nodes, 1000);
	t->links.announce = config->announce;
	t->nodes = calloc(n, sizeof(*t->nodes));
	t->states = calloc(messages, 1);
	t->to = calloc(messages, sizeof(*t->to));
	t->lengths = calloc(messages, sizeof(*t->lengths));
	t->last = calloc(n * n * 2, sizeof(*t->last));
	t->pattern = malloc(TRAFFIC_PATTERN);
	for (uint32_t i = 0; i < TRAFFIC_PATTERN; i += 8) {
		uint64_t word = netsim_random(&t->dice);

		memcpy(t->pattern + i, &word, 8);
	}
}

void traffic_boot(struct traffic *t)
{
	uint32_t nodes = t->config.nodes - t->config.strangers;
	uint32_t senders = nodes - !!t->config.incast;

	for (uint32_t i = 0; i < nodes; i++) {
		t->nodes[i].traffic = t;
		t->nodes[i].node = i;
		if (i > 0 || !t->config.incast)
			t->nodes[i].to_send = t->config.messages / senders;
		traffic_revive(t, i);
	}
}

void traffic_go(struct traffic *t)
{
	for (uint32_t i = 0; i < t->config.nodes - t->config.strangers; i++) {
		feed(t, &t->nodes[i]);
		netsim_deadline_changed(t->sim, i);
	}
}

void traffic_start(struct traffic *t)
{
	traffic_boot(t);
	traffic_go(t);
}

static int is_settled(const struct traffic *t)
{
	for (uint32_t i = 0; i < t->config.nodes; i++)
		if (t->nodes[i].link && (t->nodes[i].to_send || t->nodes[i].under_way ||
					 (t->fast && link_figures(t->nodes[i].link).sends)))
			return 0;
	return 1;
}

int traffic_step(struct traffic *t)
{
	int node = netsim_step(t->sim);

	if (node < 0)
		return 0;
	feed(t, &t->nodes[node]);
	netsim_deadline_changed(t->sim, (uint32_t)node);
	return 1;
}

int traffic_run(struct traffic *t, uint32_t until)
{
	while (t->sent < until) {
		int node = netsim_step(t->sim);

		if (node < 0)
			return is_settled(t);
		if (netsim_now(t->sim) > t->config.most_time)
			return 0;
		if (t->nodes[node].link)
			feed(t, &t->nodes[node]);
		netsim_deadline_changed(t->sim, (uint32_t)node);
		if (!t->nodes[node].to_send && !t->nodes[node].under_way && is_settled(t))
			return 1;
	}
	return 1;
}

uint64_t traffic_count(const struct traffic *t, enum link_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->config.nodes; i++)
		sum += t->nodes[i].link ? link_counter(t->nodes[i].link, counter) : 0;
	return sum;
}

uint32_t traffic_close(struct traffic *t)
{
	uint32_t missing = 0, nodes = t->config.nodes - t->config.strangers, whole_lives = 0;

	for (uint32_t i = 0; i < t->sent; i++)
		missing += (t->states[i] & (UNSIGNALLED | RECEIVED)) == UNSIGNALLED;
	for (uint32_t i = 0; i < nodes; i++)
		whole_lives += t->nodes[i].lives == 1 && t->nodes[i].link;
	if (missing > t->fast_failed && whole_lives == nodes)
		wrong(t, "messages of the fast path are lost without an event", missing, 0);
	/* Wait for completions of the last frames, and for acknowledgements. */
	for (uint32_t i = 0; i < 1000000 && netsim_step(t->sim) >= 0; i++)
		continue;
	t->lenient = 0;
	for (uint32_t i = 0; i < t->config.nodes; i++)
		if (t->nodes[i].link && link_figures(t->nodes[i].link).records)
			wrong(t, "pools are not empty", 0, i);
	netsim_close(t->sim);
	for (uint32_t i = 0; i < t->config.nodes; i++) {
		while (t->nodes[i].payloads)
			free_payload(t->nodes[i].payloads);
		free(t->nodes[i].memory);
	}
	free(t->nodes);
	free(t->states);
	free(t->to);
	free(t->lengths);
	free(t->last);
	free(t->pattern);
	return t->errors;
}
