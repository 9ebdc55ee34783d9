/*
 * A probe with a bulk card: see bulk_probe.h.
 */
#include "bulk_probe.h"
#include <string.h>

static int post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int interrupt)
{
	struct bulk_card *card = (struct bulk_card *)nic;

	CHECK_IS(n, 1);
	if (card->fails) {
		card->fails--;
		return NIC_FULL;
	}
	card->ring[card->posted++ % (PLACE / PART)] = pieces[0];
	card->told += !!interrupt;
	return NIC_OK;
}

static void withdraw(struct nic *nic)
{
	struct bulk_card *card = (struct bulk_card *)nic;

	card->filled = card->posted;
}

static const struct nic_ops ops = { .name = "bulk", .post = post, .withdraw = withdraw };

void bulk_start(struct probe *p, struct bulk_card *card)
{
	bulk_start_with(p, card, 4096);
}

void bulk_start_with(struct probe *p, struct bulk_card *card, uint32_t announce)
{
	*card = (struct bulk_card){ .nic = { .ops = &ops, .mtu = 8192, .ring = 16 } };
	wire_address(card->nic.address, 0, 1);
	probe_open(p);
	p->config.announce = announce;
	p->place = card->memory;
	p->bulk = &card->nic;
	probe_start(p);
}

uint32_t bulk_buffers(const struct bulk_card *card)
{
	return card->posted - card->filled;
}

struct wire bulk_announcement(uint32_t sequence, uint64_t length)
{
	struct wire wire = probe_data(sequence, length, 0);

	wire.announce = 1;
	wire.offset = length < PART ? length : PART;
	wire.bytes = 0;
	return wire;
}

struct wire bulk_part(uint32_t sequence, uint32_t part, uint32_t bytes)
{
	return (struct wire){ .kind = WIRE_KIND_BULK, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .sequence = sequence, .part = part,
			      .bytes = bytes };
}

void bulk_fill(struct bulk_card *card, uint32_t value, uint32_t bytes)
{
	const struct nic_piece *piece = &card->ring[card->filled % (PLACE / PART)];

	CHECK(bulk_buffers(card) > 0);
	card->filled++;
	memset((void *)piece->bytes, (int)value, bytes < piece->length ? bytes : piece->length);
}

void bulk_tell(struct probe *p, uint32_t node, const struct wire *wire)
{
	static uint8_t frame[WIRE_HEADER + PLACE];

	link_landed(p->link, p->now, frame, probe_frame(p, node, 1, wire, 0, frame));
}
