/*
 * Between two ports: whose frame it is, where it goes, and what befalls it on
 * the way. Called by port.c for each frame that has come in.
 */
#include "switch.h"

#include <string.h>

/* Address of a node's card: 02:4d:47:CC:HH:LL (net/link/wire.h). */
void forward_address(uint8_t *address, uint32_t node, uint32_t card)
{
	const uint8_t made[ADDRESS_BYTES] = { 0x02, 0x4d, 0x47, (uint8_t)card,
					      (uint8_t)(node >> 8), (uint8_t)node };

	memcpy(address, made, sizeof(made));
}

static struct port *find(struct network *net, const uint8_t *address)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (memcmp(net->ports[i].address, address, ADDRESS_BYTES) == 0)
			return &net->ports[i];
	return NULL;
}

/* When a frame that enters a link now has left it: latency and bandwidth. */
static uint64_t arrival(struct network *net, struct port *to, uint32_t bytes)
{
	uint64_t now = now_ns(), starts = now;

	if (net->bytes_per_s) {
		if (to->busy_until > starts)
			starts = to->busy_until;
		to->busy_until = starts + bytes * 1000000000ull / net->bytes_per_s;
		starts = to->busy_until;
	}
	return starts + net->latency_ns;
}

/* One copy to one port, late by `late` ns. */
static void carry(struct network *net, struct port *to, struct frame frame, uint64_t late,
		  bool stays)
{
	if (late || net->latency_ns || net->bytes_per_s)
		delay_until(net, to, frame, arrival(net, to, frame.bytes) + late);
	else
		port_give(net, to, frame, stays);
}

static void send_over(struct network *net, struct port *from, struct port *to,
		      struct frame frame)
{
	const struct faults *faults = &net->faults;
	uint8_t damaged[LENGTH_BYTES + FRAME_MOST];
	uint64_t late = 0;
	bool stays = true;

	if (faults_cut(net, from, to)) {
		from->counters[PORT_cut]++;
		return;
	}
	if (dice_says(&from->dice, faults->loss)) {
		from->counters[PORT_lost]++;
		return;
	}
	if (dice_says(&from->dice, faults->damage)) {
		from->counters[PORT_damaged]++;
		memcpy(damaged, frame.wire, LENGTH_BYTES + frame.bytes);
		frame.wire = damaged;
		faults_damage(&from->dice, damaged + LENGTH_BYTES, frame.bytes);
		stays = false;
	}
	if (dice_says(&from->dice, faults->delay)) {
		from->counters[PORT_delayed]++;
		late = dice_roll(&from->dice) % (faults->delay_ns + 1);
	}
	if (dice_says(&from->dice, faults->duplicate)) {
		from->counters[PORT_duplicated]++;
		carry(net, to, frame, late, stays);
	}
	if (dice_says(&from->dice, faults->reorder)) {
		from->counters[PORT_reordered]++;
		delay_hold(net, to, frame);
		return;
	}
	carry(net, to, frame, late, stays);
	if (to->held) {
		port_flush_all(net);
		delay_release(net, to);
	}
}

void forward(struct network *net, struct port *from, struct frame frame)
{
	static const uint8_t everybody[ADDRESS_BYTES] = { 255, 255, 255, 255, 255, 255 };
	const uint8_t *destination = frame.wire + LENGTH_BYTES;
	const uint8_t *source = destination + ADDRESS_BYTES;
	struct port *to;

	from->counters[PORT_frames_in]++;
	from->counters[PORT_bytes_in] += frame.bytes;
	if (net->capture)
		pcap_write(net->capture, destination, frame.bytes);
	if (memcmp(source, from->address, ADDRESS_BYTES) != 0) {
		from->counters[PORT_forged]++;
		if (!net->accept_forged)
			return;
	}
	if (memcmp(destination, everybody, ADDRESS_BYTES) == 0) {
		for (uint32_t i = 0; i < net->n; i++)
			if (&net->ports[i] != from)
				send_over(net, from, &net->ports[i], frame);
		return;
	}
	to = find(net, destination);
	if (!to) {
		from->counters[PORT_unknown]++;
		return;
	}
	send_over(net, from, to, frame);
}
