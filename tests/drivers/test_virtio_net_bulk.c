/*
 * The virtio driver of bulk cards: buffers are filled in order and withdrawn, and a faulty card
 * writes only to buffers that the driver's user has posted.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/host/check.h"
#include "card.h"
#include "fake_virtio.h"

enum { POSTED = 64, HEADER = NIC_BULK_HEADER };

static uint32_t landed, lost, last_bytes;

static void on_landed(void *context, const uint8_t *header, uint32_t bytes)
{
	(void)context;
	if (!header) {
		lost++;
		return;
	}
	CHECK_IS(memcmp(header, frame, bytes < HEADER ? bytes : HEADER), 0);
	last_bytes = bytes;
	landed++;
}

static void open_card(bool ring_reset)
{
	const char *why;
	struct nic *opened = fake_open_bulk(ring_reset, &why);

	CHECK(opened != 0 && why == 0);
	use_card(opened, sizeof(struct net_header));
	nic->landed = on_landed;
	landed = lost = 0;
}

/* Post a buffer of `n` pieces of these bytes each, filled with 0xa5. */
static int post(uint8_t *memory, uint32_t bytes, uint32_t n)
{
	struct nic_piece pieces[NIC_BULK_PIECES];

	memset(memory, 0xa5, (uint64_t)bytes * n);
	for (uint32_t i = 0; i < n; i++)
		pieces[i] = (struct nic_piece){ memory + i * bytes, bytes };
	return nic->ops->post(nic, pieces, n, 0);
}

static void send_one(void)
{
	CHECK_IS(send(0, 1), NIC_OK);
}

TEST(buffers_are_filled_in_their_order)
{
	uint8_t *memory = malloc(100 * 600), *last = malloc(65485);

	open_card(true);
	CHECK_IS(nic->ring, POSTED);
	/* First short buffers, limited only by their number; then the ring's 256 descriptors are
	 * the limit, of which a buffer takes two more than it has pieces. */
	for (uint32_t round = 0; round < 6; round++) {
		uint32_t most = round ? NIC_BULK_PIECES : 1, n = 0;

		landed = 0;
		while (n < 100 && post(memory + n * 600, 100, 1 + n % most) == NIC_OK)
			n++;
		CHECK_IS(n, round ? 47 : POSTED);
		CHECK_IS(post(last, 100, NIC_BULK_PIECES), NIC_FULL);
		for (uint32_t i = 0; i < n; i++)
			CHECK_IS(fake_land(frame, HEADER + 100 * (1 + i % most)), 1);
		CHECK_IS(fake_land(frame, 10), 0);
		CHECK_IS(poll(), n);
		CHECK_IS(landed, n);
		for (uint32_t i = 0; i < n; i++)
			CHECK_IS(memcmp(memory + i * 600, frame + HEADER, 100 * (1 + i % most)), 0);
	}
	CHECK_IS(post(last, 65485, 1), NIC_OK);
	CHECK_IS(fake_land(frame, FRAME), 1);
	CHECK_IS(poll(), 1);
	CHECK_IS(last_bytes, FRAME);
	CHECK_IS(memcmp(last, frame + HEADER, 65485), 0);
	/* Shorter frames, and excess. */
	CHECK_IS(post(last, 65485, 1), NIC_OK);
	CHECK_IS(nic->ops->post(nic, 0, 0, 1), NIC_OK);
	CHECK_IS(fake_land(frame, 20), 1);
	CHECK_IS(fake_land(frame, FRAME), 1);
	CHECK_IS(poll(), 2);
	/* A frame that does not fit spoils only its own buffer. */
	CHECK_IS(post(memory, 100, 1), NIC_OK);
	CHECK_IS(fake_land(frame, FRAME), 1);
	CHECK_IS(poll(), 1);
	CHECK_IS(last_bytes, FRAME);
	CHECK_IS(memcmp(memory, frame + HEADER, 100), 0);
	CHECK_IS(nic->counters[NIC_RESETS] + nic->counters[NIC_BAD_DESCRIPTORS], 0);
	close_card();
	free(memory);
	free(last);
}

/* The number of the used buffer at which the driver requests an interrupt. */
static uint16_t wanted(const struct fake_ring *ring)
{
	return ring->available->ring[FAKE_RING];
}

TEST(interrupts_come_at_buffers_that_tell_and_when_all_is_sent)
{
	uint8_t memory[100], sent[4096];
	uint32_t bytes;

	open_card(true);
	nic->ops->interrupts(nic, 1);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_IS(nic->ops->post(nic, &(struct nic_piece){ memory, 100 }, 1, i == 4),
			 NIC_OK);
	for (uint32_t i = 0; i < 5; i++)
		send_one();
	poll();
	CHECK_IS(wanted(&fake.receive), 4);
	CHECK_IS(wanted(&fake.transmit), 0x8000);        /* few sends cause no interrupt */
	for (uint32_t i = 5; i < 20; i++)
		send_one();
	for (uint32_t i = 0; i < 5; i++)
		CHECK_IS(fake_land(frame, HEADER + 100), 1);
	CHECK_IS(fake_send(2, sent, &bytes), 2);
	poll();
	CHECK_IS(wanted(&fake.receive), 9);
	CHECK_IS(wanted(&fake.transmit), 19);
	/* Of many, when half of them are sent. */
	for (uint32_t i = 0; i < 22; i++)
		send_one();
	poll();
	CHECK_IS(wanted(&fake.transmit), 2 + 20);
	nic->ops->interrupts(nic, 0);
	CHECK_IS(wanted(&fake.receive), 5 + 0x8000);
	CHECK_IS(wanted(&fake.transmit), 2 + 0x8000);
	close_card();
}

/* The driver is not polled before that. */
TEST(a_card_at_rest_interrupts_for_what_it_is_given)
{
	uint8_t memory[100], sent[4096];
	uint32_t bytes;

	open_card(true);
	nic->ops->interrupts(nic, 1);
	poll();
	for (uint32_t i = 0; i < 17; i++)
		send_one();
	CHECK_IS(wanted(&fake.transmit), 16);
	send_one();
	CHECK_IS(wanted(&fake.transmit), 17);
	CHECK_IS(fake_send(18, sent, &bytes), 18);
	poll();
	CHECK_IS(nic->ops->post(nic, &(struct nic_piece){ memory, 100 }, 1, 1), NIC_OK);
	CHECK_IS(wanted(&fake.receive), 0);
	close_card();
}

TEST(buffers_are_withdrawn)
{
	/* by a ring reset; there is no ring reset; sends are pending; the ring ignores the
	 * reset; by a ring reset, as the sends have completed */
	for (uint32_t how = 0; how < 5; how++) {
		uint8_t sent[4096];
		uint32_t sent_bytes;
		uint8_t *memory = malloc(100);

		open_card(how != 1);
		CHECK_IS(post(memory, 100, 1), NIC_OK);
		if (how == 2 || how == 4)
			send_one();
		if (how == 4)
			fake_send(1, sent, &sent_bytes);
		fake.deaf = how == 3;
		nic->ops->withdraw(nic);
		/* From now on ASan finds any write to it. */
		free(memory);
		CHECK_IS(fake_land(frame, HEADER + 100), 0);
		CHECK_IS(nic->counters[NIC_RESETS], how > 0 && how < 4);
		CHECK_IS(fake_kernel.reports, 0);
		CHECK_IS(n_ended, how == 2);
		CHECK_IS(poll(), 0);
		CHECK_IS(landed + lost, 0);
		memory = malloc(100);
		for (uint32_t i = 0; i < 2 * POSTED; i++) {
			CHECK_IS(post(memory, 100, 1), NIC_OK);
			CHECK_IS(fake_land(frame, HEADER + 100), 1);
			CHECK_IS(poll(), 1);
		}
		CHECK_IS(memcmp(memory, frame + HEADER, 100), 0);
		close_card();
		free(memory);
	}
}

static void wrong_buffer(void)  { fake_use(&fake.receive, 8, 90); }
static void no_buffer(void)     { fake_use(&fake.receive, 1, 90); }
static void huge_buffer(void)   { fake_use(&fake.receive, 0x10000, 90); }
static void too_long(void)    { fake_use(&fake.receive, 0, 12 + HEADER + 101 + FRAME); }
static void too_short(void)   { fake_use(&fake.receive, 0, 11); }
static void ahead(void)       { fake.receive.used->index += 2; }
static void far_ahead(void)   { fake.receive.used->index += 300; }

TEST(nonsense_of_a_bulk_card_loses_the_buffers_and_says_so)
{
	static void (*const wrongs[])(void) = {
		wrong_buffer, no_buffer, huge_buffer, too_long, too_short, ahead, far_ahead
	};

	for (uint32_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		uint8_t *memory = malloc(100);

		open_card(true);
		CHECK_IS(post(memory, 100, 1), NIC_OK);
		fake.receive.used->ring[0].bytes = 90;
		wrongs[i]();
		poll();
		CHECK_IS(nic->counters[NIC_BAD_DESCRIPTORS], 1);
		CHECK_IS(nic->counters[NIC_RESETS], 1);
		CHECK_IS(lost, 1);
		CHECK(landed <= 1);
		free(memory);
		memory = malloc(100);
		CHECK_IS(post(memory, 100, 1), NIC_OK);
		CHECK_IS(fake_land(frame, HEADER + 100), 1);
		CHECK_IS(poll(), 1);
		close_card();
		free(memory);
	}
}

TEST(buffers_of_a_card_that_does_not_reset_are_out_of_its_reach)
{
	uint8_t memory[100];

	for (uint32_t withdrawn = 0; withdrawn < 2; withdrawn++) {
		open_card(false);
		CHECK_IS(post(memory, 100, 1), NIC_OK);
		send_one();
		fake.stubborn = true;
		if (withdrawn) {
			nic->ops->withdraw(nic);
		} else {
			wrong_buffer();
			poll();
		}
		CHECK(fake_kernel.silenced);
		CHECK_IS(lost, !withdrawn);
		CHECK_IS(n_ended, 1);
		CHECK_IS(post(memory, 100, 1), NIC_DOWN);
		check_attempts(500000000);
		fake.stubborn = false;
		wait_ms(2000);
		CHECK(!fake_kernel.silenced);
		CHECK_IS(post(memory, 100, 1), NIC_OK);
		CHECK_IS(fake_land(frame, HEADER + 100), 1);
		CHECK_IS(poll(), 1);
		CHECK_IS(n_ended, 1);
		close_card();
	}
}
