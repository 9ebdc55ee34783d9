/*
 * Finding the network cards, and handling their interrupts and counters. Data: the cards, their
 * counters when last read, and how often a line has interrupted without news.
 */
#include "cards.h"

#include "drivers/nic_table.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "kernel/cpu/vectors.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/pic.h"
#include "kernel/loader/parameters.h"
#include "net/link/wire.h"

_Static_assert(VECTOR_CARD + CARDS_MOST == VECTOR_CARD_STATE, "a vector per card");
_Static_assert(VECTOR_CARD_STATE + CARDS_MOST == VECTOR_CARD_END, "a vector per card");

static struct nic *cards[CARDS_MOST];
static uint32_t number;
static uint64_t counted[CARDS_MOST][NIC_COUNTERS];

/* A line that interrupts this often while no frame comes or goes is held by a device that no driver
 * here can silence. */
#define MOST_IDLE_INTERRUPTS 10000u
static uint32_t idle_interrupts;
static uint64_t frames_before;

static struct nic *open(uint32_t index)
{
	struct nic_setup setup = {
		.card = index,
		.vector = (uint8_t)(VECTOR_CARD + index),
		.state_vector = (uint8_t)(VECTOR_CARD_STATE + index),
		.bulk = parameters.bulk && index == 1,
		.longest = parameters.longest,
	};
	const char *why;
	struct nic *nic;

	wire_address(setup.address, node.id, index);
	nic = nic_open(&setup, &why);
	if (!nic)
		panic("network card %u cannot be used: %s", index, why ? why : "it is missing");
	if (parameters.mtu && parameters.mtu < nic->mtu)
		nic->mtu = parameters.mtu;
	return nic;
}

void cards_start(uint32_t wanted)
{
	if (wanted > CARDS_MOST)
		panic("command line: cards=%u, but a node has at most %u", wanted, CARDS_MOST);
	for (number = 0; number < wanted; number++)
		cards[number] = open(number);
}

uint32_t cards_number(void)
{
	return number;
}

struct nic *card(uint32_t index)
{
	return cards[index];
}

/* Keeps a card from interrupting again until it is polled. */
static void quiet(struct nic *nic)
{
	if (nic->ops->interrupted)
		nic->ops->interrupted(nic);
}

/* Closes a line that never becomes quiet; from then on a timer polls the cards. */
static void close_noisy_line(uint32_t vector)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < number; i++)
		frames += cards[i]->counters[NIC_FRAMES_IN] + cards[i]->counters[NIC_FRAMES_OUT];
	if (frames != frames_before) {
		frames_before = frames;
		idle_interrupts = 0;
	}
	if (++idle_interrupts < MOST_IDLE_INTERRUPTS)
		return;
	pic_close(vector);
	for (uint32_t i = 0; i < number; i++)
		cards[i]->silent |= NIC_UNHEARD;
	console_line("cards: their interrupt line is held by another device; a timer polls them");
}

/* A line may be shared: silences all cards. */
static void line_interrupt(uint32_t vector)
{
	if (!pic_begin(vector)) {
		count(COUNTER_SPURIOUS, 1);
		return;
	}
	for (uint32_t i = 0; i < number; i++)
		quiet(cards[i]);
	count(COUNTER_CARD_INTERRUPTS, 1);
	close_noisy_line(vector);
	pic_end(vector);
}

void cards_give_back(struct nic *nic, const struct nic *before)
{
	nic->context = before->context;
	nic->receive = before->receive;
	nic->sent = before->sent;
	nic->landed = before->landed;
	if (before->receive)
		nic->ops->interrupts(nic, parameters.control != CONTROL_POLL);
}

void cards_interrupt(uint32_t vector)
{
	uint32_t index = (vector - VECTOR_CARD) % CARDS_MOST;

	if (vector < VECTOR_PIC_END) {
		line_interrupt(vector);
		return;
	}
	if (index < number)
		quiet(cards[index]);
	if (index < number && vector >= VECTOR_CARD_STATE && cards[index]->ops->changed)
		cards[index]->ops->changed(cards[index]);
	count(index < number ? COUNTER_CARD_INTERRUPTS : COUNTER_SPURIOUS, 1);
	apic_end();
}

void cards_count(void)
{
	static const enum counter shown[NIC_COUNTERS] = {
		[NIC_FRAMES_OUT] = COUNTER_FRAMES_OUT, [NIC_BYTES_OUT] = COUNTER_FRAME_BYTES_OUT,
		[NIC_FRAMES_IN] = COUNTER_FRAMES_IN, [NIC_BYTES_IN] = COUNTER_FRAME_BYTES_IN,
		[NIC_DROPS_OUT] = COUNTER_FRAME_DROPS, [NIC_DROPS_IN] = COUNTER_FRAME_DROPS,
		[NIC_BAD_DESCRIPTORS] = COUNTER_CARD_NONSENSE, [NIC_RESETS] = COUNTER_CARD_RESETS,
		[NIC_LINK_LOSSES] = COUNTER_CARD_LINK_LOSSES,
	};

	for (uint32_t i = 0; i < number; i++)
		for (uint32_t c = 0; c < NIC_COUNTERS; c++) {
			count(shown[c], cards[i]->counters[c] - counted[i][c]);
			counted[i][c] = cards[i]->counters[c];
		}
}

void cards_stop(void)
{
	for (uint32_t i = 0; i < number; i++)
		cards[i]->ops->close(cards[i]);
	cards_count();
}
