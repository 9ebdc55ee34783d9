/*
 * The bulk cards of the simulated network: see netsim.h. Data: posted buffers, and the
 * frames that wait for one.
 */
#include "netsim_state.h"
#include <stdlib.h>
#include <string.h>

#define REPORT_DELAY 2000u         /* ns between the write of a frame and its report */

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
	struct receive_buffer *buffer = &card->buffers[card->posted % BULK_RING];

	(void)interrupt;
	if (card->posted - card->reported == BULK_RING || n > NIC_BULK_PIECES)
		return NIC_FULL;
	card->posted++;
	buffer->pieces = n;
	for (uint32_t i = 0; i < n; i++)
		buffer->piece[i] = pieces[i];
	wake(card);
	return NIC_OK;
}

static void bulk_withdraw(struct nic *nic)
{
	struct bulk_card *card = (struct bulk_card *)nic;

	card->life++;
	card->posted = card->written = card->reported = 0;
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

/* Writes a frame into a buffer, as far as it fits. */
static void write_buffer(struct receive_buffer *buffer, const uint8_t *frame, uint32_t bytes)
{
	uint32_t head = bytes < NIC_BULK_HEADER ? bytes : NIC_BULK_HEADER, left = bytes - head;

	memset(buffer->header, 0xa5, sizeof(buffer->header));
	memcpy(buffer->header, frame, head);
	frame += head;
	buffer->bytes = bytes;
	for (uint32_t i = 0; i < buffer->pieces && left; i++) {
		uint32_t n = buffer->piece[i].length < left ? buffer->piece[i].length : left;

		memcpy((void *)buffer->piece[i].bytes, frame, n);
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
		struct event event = { .kind = REPORTS, .node = card->node, .life = card->life,
				       .time = sim->now + REPORT_DELAY };

		write_buffer(&card->buffers[card->written % BULK_RING], frame->bytes, frame->n);
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

void netsim_bulk_report(struct bulk_card *card)
{
	struct receive_buffer *buffer = &card->buffers[card->reported++ % BULK_RING];
	uint8_t header[NIC_BULK_HEADER];

	memcpy(header, buffer->header, sizeof(header));
	card->nic.landed(card->nic.context, header, buffer->bytes);
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
