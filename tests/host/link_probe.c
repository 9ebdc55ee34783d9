/*
 * A link under observation: see link_probe.h.
 */
#include "link_probe.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static uint8_t payload[1 << 16];

static void note(struct probe *p, struct note note)
{
	if (p->n_notes < PROBE_NOTES)
		p->notes[p->n_notes++] = note;
}

static int is_busy(struct probe *p)
{
	return p->busy && --p->busy == 0;
}

static uint64_t id_of(const void *header)
{
	uint64_t id;

	memcpy(&id, header, sizeof(id));
	return id;
}

/* As net/frames does: answer a message while the link delivers it. */
static void answer(struct probe *p)
{
	if (p->answers)
		CHECK_IS(probe_send_by(p, 1, LINK_ANSWERS, 0, 0), LINK_OK);
}

static void on_put(void *context, uint32_t node, const void *header, const void *bytes, uint32_t n)
{
	(void)bytes;
	note(context, (struct note){ 'p', node, LINK_REQUESTS, id_of(header), 0, n });
	answer(context);
}

static int on_whole(void *context, uint32_t node, uint32_t lane, const void *header,
		    const void *bytes, uint32_t n)
{
	(void)bytes;
	if (is_busy(context))
		return LINK_BUSY;
	note(context, (struct note){ 'w', node, lane, id_of(header), 0, n });
	answer(context);
	return LINK_TAKE;
}

static int on_begin(void *context, uint32_t node, uint32_t lane, const void *header,
		    uint64_t length, struct link_target *target)
{
	if (is_busy(context))
		return LINK_BUSY;
	target->room[0] = id_of(header);
	note(context, (struct note){ 'b', node, lane, id_of(header), 0, length });
	return LINK_TAKE;
}

static void on_data(void *context, struct link_target *target, uint64_t at, const void *bytes,
		    uint32_t n)
{
	struct probe *p = context;

	if (p->place)
		memcpy(p->place + p->apart * target->room[0] + at, bytes, n);
	note(context, (struct note){ 'd', 0, 0, target->room[0], at, n });
}

static void on_end(void *context, struct link_target *target, int fail)
{
	note(context, (struct note){ fail ? 'E' : 'e', 0, 0, target->room[0], 0, 0 });
	answer(context);
}

static uint32_t on_gather(void *context, const struct link_message *message, uint64_t at,
			  uint32_t bytes, struct nic_piece *pieces, uint32_t most)
{
	const struct probe *p = context;

	(void)message, (void)most;
	if (p->cannot)
		return 0;
	pieces[0] = (struct nic_piece){ payload + at % 1024, bytes };
	return 1;
}

static void on_sent(void *context, struct link_message *message, int fail)
{
	uint64_t id = id_of(message->header);
	struct probe *p = context;

	note(p, (struct note){ fail ? 'F' : 's', 0, 0, id, 0, 0 });
	if (p->again) {
		p->again--;
		CHECK_IS(probe_send(p, 1, 8, id), LINK_OK);
	}
}

static void on_failed(void *context, uint32_t bytes)
{
	note(context, (struct note){ 'B', 0, 0, 0, 0, bytes });
}

static void on_lost(void *context, uint32_t node)
{
	note(context, (struct note){ 'l', node, 0, 0, 0, 0 });
}

static uint32_t on_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			 struct nic_piece *pieces, uint32_t most)
{
	struct probe *p = context;

	(void)most;
	if (!p->place)
		return 0;
	pieces[0] = (struct nic_piece){ p->place + p->apart * target->room[0] + at, bytes };
	return 1;
}

static void note_one(struct probe *p, const uint8_t *frame, uint32_t bytes, const uint8_t *key)
{
	if (p->n_sent == PROBE_NOTES)
		return;
	memcpy(p->frames[p->n_sent], frame, bytes < PROBE_LONGEST ? bytes : PROBE_LONGEST);
	p->to[p->n_sent] = frame[5];
	CHECK_IS(wire_read(frame, bytes, frame[5], key, &p->sent[p->n_sent]), WIRE_OK);
	p->n_sent++;
}

void probe_note_frame(struct probe *p, const struct nic_piece *pieces, uint32_t n)
{
	const uint8_t *key = p->config.keyed ? p->config.key : 0;
	static uint8_t frame[1 << 16];
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		CHECK(pieces[i].length > 0);
		memcpy(frame + bytes, pieces[i].bytes, pieces[i].length);
		bytes += pieces[i].length;
	}
	for (uint32_t at = 0, each; at < bytes; at += each) {
		CHECK(at == 0 || wire_follows(frame, frame + at, bytes - at));
		each = wire_first(frame + at, bytes - at);
		note_one(p, frame + at, each, key);
	}
}

static int card_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct probe *p = (struct probe *)((char *)nic - offsetof(struct probe, nic));

	if (p->card != NIC_OK)
		return p->card;
	probe_note_frame(p, pieces, n);
	if (p->keeps)
		p->cookies[p->kept++ % PROBE_NOTES] = cookie;
	else
		link_transmitted(p->link, p->now, cookie);
	return NIC_OK;
}

static const struct nic_ops ops = { .name = "probe", .send = card_send };

void probe_open(struct probe *p)
{
	*p = (struct probe){ .now = 1000000000, .life = PROBE_LIFE,
			     .config = link_defaults(0, 8, PROBE_LIFE) };
	p->nic.ops = &ops;
	p->nic.mtu = PROBE_MTU;
	p->nic.ring = 256;
	wire_address(p->nic.address, 0, 0);
}

void probe_start(struct probe *p)
{
	static const struct link_user user = {
		&user, on_whole, on_put, on_begin, on_data, on_end, on_place, on_gather, on_sent,
		on_failed, on_lost
	};

	p->user = (struct link_user_context){ &user };
	p->key = p->config.keyed ? p->config.key : 0;
	p->memory = aligned_alloc(64, link_bytes(&p->config));
	memset(p->memory, 0xa5, link_bytes(&p->config));
	p->link = link_open(p->memory, &p->config, &p->nic, p->bulk, p);
	CHECK(p->link != 0);
}

void probe_open_default(struct probe *p)
{
	probe_open(p);
	probe_start(p);
}

void probe_close(struct probe *p, int empty)
{
	if (empty)
		CHECK_IS(link_figures(p->link).records, 0);
	free(p->memory);
}

const struct wire *probe_next(struct probe *p)
{
	return p->seen < p->n_sent ? &p->sent[p->seen++] : 0;
}

const char *probe_story(struct probe *p)
{
	static char story[PROBE_NOTES + 1];
	uint32_t n = 0;

	while (p->noted < p->n_notes)
		story[n++] = p->notes[p->noted++].kind;
	story[n] = 0;
	return story;
}

struct wire probe_data(uint32_t sequence, uint64_t length, uint64_t at)
{
	return (struct wire){ .kind = WIRE_KIND_MSG, .messages = 1, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .sequence = sequence, .length = length,
			      .offset = at, .window = 8,
			      .bytes = length - at < PROBE_FRAGMENT ? (uint32_t)(length - at) :
				       PROBE_FRAGMENT };
}

struct wire probe_ack(uint32_t ack, uint64_t selective, uint32_t window)
{
	return (struct wire){ .kind = WIRE_KIND_MSG, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .ack = ack, .selective = selective,
			      .window = window };
}

uint32_t probe_frame(struct probe *p, uint32_t node, uint32_t card, const struct wire *given,
		     uint64_t id, uint8_t *frame)
{
	struct wire changed = *given, *wire = &changed;
	uint32_t header = probe_header(wire);
	struct nic_piece whole = { frame, header + wire->bytes };
	uint8_t here[6], there[6];

	wire_address(here, node, card);
	wire_address(there, 0, card);
	memset(frame + LINK_FRAME_BYTES, 0, WIRE_MESSAGE);
	memcpy(frame + LINK_FRAME_BYTES, &id, sizeof(id));
	if (wire->messages > 1)
		memcpy(frame + header, wire->payload, wire->bytes);
	if (wire->destination == PROBE_LIFE)
		wire->destination = p->life;
	wire_write(frame, wire_get(there, 6), wire_get(here, 6), wire);
	wire_seal(p->key, 0, &whole, 1);
	return whole.length;
}

void probe_give(struct probe *p, uint32_t node, const struct wire *wire, uint64_t id)
{
	static uint8_t frame[WIRE_DATA + WIRE_MOST_PAYLOAD];

	link_receive(p->link, p->now, frame, probe_frame(p, node, 0, wire, id, frame));
}

void probe_give_ack(struct probe *p, uint32_t ack, uint64_t selective, uint32_t window)
{
	struct wire wire = probe_ack(ack, selective, window);

	probe_give(p, 1, &wire, 0);
}

int probe_send_by(struct probe *p, uint32_t node, enum link_lane lane, uint64_t length,
		  uint64_t id)
{
	struct link_message *message = link_message(p->link);

	if (link_has_room(p->link, node, lane)) {
		memset(message->header, 0, LINK_HEADER_BYTES);
		memcpy(message->header, &id, sizeof(id));
	}
	return link_send(p->link, p->now, node, lane, length, 0, 0);
}

int probe_send(struct probe *p, uint32_t node, uint64_t length, uint64_t id)
{
	return probe_send_by(p, node, LINK_REQUESTS, length, id);
}

void probe_pass(struct probe *p, uint64_t ns)
{
	uint64_t until = p->now + ns;
	uint32_t turns = 0;

	while (link_deadline(p->link) <= until && turns++ < 10000) {
		if (link_deadline(p->link) > p->now)
			p->now = link_deadline(p->link);
		link_tick(p->link, p->now);
	}
	CHECK(turns < 10000);
	p->now = until;
}

void probe_complete(struct probe *p)
{
	for (uint32_t i = 0; i < p->kept; i++)
		link_transmitted(p->link, p->now, p->cookies[i]);
	p->kept = 0;
}
