/*
 * Between two ports: checks the sender, finds the receiver, and applies faults. Called by port.c
 * for each frame that has come in.
 */
#include "switch.h"

#include <string.h>

/* A frame that reaches the switch at time `at`, or has reached it (0). */
struct passing {
	struct frame frame;
	uint64_t at;           /* ns */
	bool stays;            /* the bytes remain where they are until port_flush_all */
};

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

/* The time at which a frame has passed its node's link; 0: it is full (counted). */
static uint64_t leave(struct port *from, uint32_t bytes)
{
	uint64_t when = from->leaving + bytes <= ON_THE_WAY
		? links_leave(from, bytes, now_ns()) : 0;

	if (!when)
		from->counters[PORT_overflow]++;
	return when;
}

/* Sends one copy to one port, `late` ns late. */
static void carry(struct network *net, struct port *from, struct port *to,
		  const struct passing *one, uint64_t late)
{
	if (one->at)
		delay_both(net, from, to, one->frame, one->at + late);
	else if (late || port_is_slow(to))
		delay_second(net, to, one->frame, late);
	else
		port_give(net, to, one->frame, one->stays);
}

static void send_over(struct network *net, struct port *from, struct port *to,
		      struct passing one)
{
	const struct faults *faults = &net->faults;
	uint8_t damaged[LENGTH_BYTES + FRAME_MOST];
	uint64_t late = 0;

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
		memcpy(damaged, one.frame.wire, LENGTH_BYTES + one.frame.bytes);
		one.frame.wire = damaged;
		faults_damage(&from->dice, damaged + LENGTH_BYTES, one.frame.bytes);
		one.stays = false;
	}
	if (dice_says(&from->dice, faults->delay)) {
		from->counters[PORT_delayed]++;
		late = dice_roll(&from->dice) % (faults->delay_ns + 1);
	}
	if (dice_says(&from->dice, faults->duplicate)) {
		from->counters[PORT_duplicated]++;
		carry(net, from, to, &one, late);
	}
	if (dice_says(&from->dice, faults->reorder)) {
		from->counters[PORT_reordered]++;
		if (!one.at && !port_is_slow(to)) {
			delay_hold(net, to, one.frame);
			return;
		}
		late += HOLD_NS;       /* the frames after it are delayed, too */
	}
	carry(net, from, to, &one, late);
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
	struct passing one = { .frame = frame, .stays = true };
	struct port *to;

	from->counters[PORT_frames_in]++;
	from->counters[PORT_bytes_in] += frame.bytes;
	if (net->capture)
		pcap_write(net, destination, frame.bytes);
	if (port_is_slow(from) && !(one.at = leave(from, frame.bytes)))
		return;
	if (memcmp(source, from->address, ADDRESS_BYTES) != 0) {
		from->counters[PORT_forged]++;
		if (!net->accept_forged)
			return;
	}
	if (memcmp(destination, everybody, ADDRESS_BYTES) == 0) {
		for (uint32_t i = 0; i < net->n; i++)
			if (&net->ports[i] != from)
				send_over(net, from, &net->ports[i], one);
		return;
	}
	to = find(net, destination);
	if (!to) {
		from->counters[PORT_unknown]++;
		return;
	}
	send_over(net, from, to, one);
}
