/*
 * A link with as many peers as there can be: each of them sends to it, and it sends to each.
 */
#include <stddef.h>
#include <string.h>
#include "link_probe.h"

#define NODES 65535u               /* the most of a job; the probe is node 0 */

static uint8_t acks[NODES], data[NODES]; /* frames sent to each node */
static int is_full;

static int count_frame(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct probe *p = (struct probe *)((char *)nic - offsetof(struct probe, nic));
	uint32_t bytes = 0, node;
	uint8_t frame[WIRE_DATA + 64];
	struct wire wire;

	if (is_full)
		return NIC_FULL;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(frame + bytes, pieces[i].bytes, pieces[i].length);
		bytes += pieces[i].length;
	}
	node = (uint32_t)frame[4] << 8 | frame[5];
	CHECK_IS(wire_read(frame, bytes, node, 0, &wire), WIRE_OK);
	if (wire.messages) {
		data[node]++;
	} else {
		CHECK(wire.ack == 1 && wire.other_ack == 1);
		acks[node]++;
	}
	link_transmitted(p->link, p->now, cookie);
	return NIC_OK;
}

/* Every peer sends one message in each lane. */
static void give_all(struct probe *p)
{
	struct wire wire = probe_data(0, 8, 0);

	for (uint32_t node = 1; node < NODES; node++)
		for (wire.lane = 0; wire.lane < LINK_LANES; wire.lane++) {
			probe_give(p, node, &wire, node);
			CHECK(p->n_notes == 1 && p->notes[0].kind == 'w' &&
			      p->notes[0].node == node && p->notes[0].id == node);
			p->n_notes = 0;
		}
}

/* The link sends a message to every peer, and each acknowledges it. */
static void send_all(struct probe *p)
{
	struct wire ack = probe_ack(1, 0, 8);

	for (uint32_t node = 1; node < NODES; node++) {
		CHECK_IS(probe_send(p, node, 8, node), LINK_OK);
		probe_give(p, node, &ack, 0);
		CHECK(p->n_notes == 1 && p->notes[0].kind == 's' && p->notes[0].id == node);
		p->n_notes = 0;
	}
}

TEST(link_has_65534_peers)
{
	static const struct nic_ops ops = { .name = "count", .send = count_frame };
	struct probe p;

	memset(acks, 0, sizeof(acks));
	memset(data, 0, sizeof(data));
	probe_open(&p);
	p.nic.ops = &ops;
	p.config = link_defaults(0, NODES, PROBE_LIFE);
	probe_start(&p);
	give_all(&p);                  /* now all flows have a timer */
	is_full = 1;
	probe_pass(&p, LINK_ACK_DELAY + 2048);
	is_full = 0;                   /* now all of them wait for room in the card */
	probe_pass(&p, 2 * MS);
	send_all(&p);
	probe_pass(&p, LINK_FIRST_TIMEOUT + 2048);
	for (uint32_t node = 1; node < NODES; node++)
		CHECK(acks[node] == 1 && data[node] == 1);
	CHECK(link_deadline(p.link) == LINK_NEVER);
	CHECK_IS(link_figures(p.link).peer_bytes, (NODES - 1) * 242);
	probe_close(&p, 1);
}

TEST(link_knows_no_node_beyond_the_job)
{
	static const uint32_t nodes[] = { 2, 255, 65535, 65536, ~0u };
	struct probe p;

	probe_open(&p);
	p.config.nodes = 2;
	probe_start(&p);
	CHECK_IS(probe_send(&p, 1, 8, 1), LINK_OK);
	CHECK_IS(link_sends_to(p.link, 1, LINK_REQUESTS), 1);
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_IS(probe_send(&p, nodes[i], 8, 2), LINK_WRONG);
		CHECK_IS(link_sends_to(p.link, nodes[i], LINK_REQUESTS), 0);
		CHECK_IS(link_figures(p.link).peer_bytes, 242);
		CHECK(!link_fast_room(p.link, nodes[i]).header);
		CHECK_IS(link_has_room(p.link, nodes[i], LINK_REQUESTS), 1);
		link_ended(p.link, p.now, nodes[i], 0);
		link_ended(p.link, p.now, nodes[i], PROBE_LIFE + 1);
	}
	probe_close(&p, 0);
}
