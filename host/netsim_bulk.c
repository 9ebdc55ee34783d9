/*
 * The bulk cards of the simulated network: see netsim.h. Data: buffers (rooms), and the frames
 * that wait for one.
 */
#include "netsim_state.h"
#include <stdlib.h>
#include <string.h>

#define TOLD_LATE  2000u           /* ns between the write of a frame and its report */

static void wake(struct bulk_card *card)
{
	struct event event = { .kind = LANDS, .node = card->node, .time = card->sim->now };

	if (card->woken || !card->waits || card->posted == card->written)
		return;
	card->woken = 1;
	netsim_schedule(card->sim, &event);
}

static int bulk_post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int interrupt)
{
	struct bulk_card *card = (struct bulk_card *)nic;
	struct room *room = &card->room[card->posted % BULK_RING];

	(void)interrupt;
	if (card->posted - card->told == BULK_RING || n > NIC_BULK_PIECES)
		return NIC_FULL;
	card->posted++;
	room->pieces = n;
	for (uint32_t i = 0; i < n; i++)
		room->piece[i] = pieces[i];
	wake(card);
	return NIC_OK;
}

static void bulk_withdraw(struct nic *nic)
{
	struct bulk_card *card = (struct bulk_card *)nic;

	card->life++;
	card->posted = card->written = card->told = 0;
}

static int bulk_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct bulk_card *bulk = (struct bulk_card *)nic;

	return netsim_send(&bulk->sim->cards[bulk->node], 1, nic, pieces, n, cookie);
}

const struct nic_ops netsim_bulk_ops = {
	.name = "simulated", .send = bulk_send, .poll = netsim_poll,
	.interrupts = netsim_interrupts, .close = netsim_close_card,
	.post = bulk_post, .withdraw = bulk_withdraw
};

/* Writes a frame into a room, as far as it fits. */
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

void netsim_bulk_land(struct bulk_card *card)
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
		netsim_schedule(sim, &event);
		free(frame->bytes);
	}
	card->waits -= done;
	memmove(card->backlog, card->backlog + done, card->waits * sizeof(card->backlog[0]));
}

void netsim_bulk_arrives(struct bulk_card *card, struct event *event)
{
	if (card->waits == BACKLOG) {
		card->sim->counters[NETSIM_OVERFLOW]++;
		return;
	}
	card->backlog[card->waits++] = (struct waiting_frame){ event->frame, event->bytes };
	event->frame = 0;
	wake(card);
}

void netsim_bulk_tell(struct bulk_card *card)
{
	struct room *room = &card->room[card->told++ % BULK_RING];
	uint8_t header[NIC_BULK_HEADER];

	memcpy(header, room->header, sizeof(header));
	card->nic.landed(card->nic.context, header, room->bytes);
}

void netsim_bulk_reset(struct netsim *sim, uint32_t node)
{
	struct nic *nic = &sim->bulk[node].nic;

	bulk_withdraw(nic);
	nic->landed(nic->context, 0, 0);
}

struct nic *netsim_bulk(struct netsim *sim, uint32_t node)
{
	return &sim->bulk[node].nic;
}
