/*
 * The virtio driver against a correct card, and against one that writes nonsense, hangs, or loses
 * its link: counted, reported once, recovered from.
 */
#include <string.h>

#include "tests/host/check.h"
#include "card.h"
#include "fake_virtio.h"

static void open_card(void)
{
	const char *why;
	struct nic *opened = fake_open(&why);

	CHECK(opened != 0);
	CHECK(why == 0);
	use_card(opened, sizeof(struct net_header));
}

/* Sends until the card is full, from within the first callback of a completed send. */
static void sent_and_send(void *context, uint64_t cookie)
{
	card_sent(context, cookie);
	if (n_ended == 1)
		for (uint64_t next = 1000; send(next, 1) == NIC_OK; next++)
			continue;
}

TEST(a_sent_callback_may_send)
{
	uint32_t bytes, n = 0;

	open_card();
	nic->sent = sent_and_send;
	while (send(n, 1) == NIC_OK)
		n++;
	CHECK_IS(fake_send(SENDS, wire, &bytes), n);
	poll();
	CHECK_IS(n_ended, n);
	for (uint32_t cookie = 0; cookie < SENDS; cookie++)
		CHECK_IS(ended[cookie], cookie < n);
	n = fake_send(SENDS, wire, &bytes);
	CHECK(n > 0);
	poll();
	for (uint32_t i = 0; i < n; i++)
		CHECK_IS(ended[1000 + i], 1);
	CHECK_IS(nic->counters[NIC_BAD_DESCRIPTORS], 0);
	nic->sent = card_sent;
	works();
	close_card();
}

TEST(card_starts_with_its_filter)
{
	const uint8_t address[8] = { NET_CLASS_MAC, NET_MAC_ADDRESS, 2, 0x4d, 0x47, 0, 0, 5 };
	const uint8_t not_promiscuous[3] = { NET_CLASS_RX, NET_RX_PROMISCUOUS, 0 };

	open_card();
	CHECK_IS(nic->mtu, FRAME);
	CHECK_IS(fake.n_commands, 3);
	CHECK(!memcmp(fake.commands[0], address, sizeof(address)));
	CHECK(!memcmp(fake.commands[1], not_promiscuous, sizeof(not_promiscuous)));
	CHECK_IS(fake.common[COMMON_STATUS], STATUS_ACKNOWLEDGE | STATUS_DRIVER |
	         STATUS_FEATURES_OK | STATUS_DRIVER_OK);
	works();
	CHECK_IS(fake_kernel.reports, 0);
	close_card();
	CHECK_IS(fake.common[COMMON_STATUS], 0);
}

TEST(frames_of_all_sizes_come_whole_wherever_the_ring_ends)
{
	open_card();
	for (uint32_t bytes = 14; bytes <= FRAME; bytes += 1 + bytes / 16) {
		CHECK(fake_receive(frame, bytes));
		CHECK_IS(poll(), 1);
		CHECK_IS(got_bytes, bytes);
		CHECK(!memcmp(got, frame, bytes));
	}
	for (uint32_t i = 0; i < 200; i++) {
		CHECK(fake_receive(frame, FRAME));
		CHECK_IS(poll(), 1);
		CHECK(got_bytes == FRAME && !memcmp(got, frame, FRAME));
	}
	CHECK_IS(nic->counters[NIC_RESETS] + nic->counters[NIC_DROPS_IN], 0);
	close_card();
}

/* The rest of the slots' memory has no buffers: a frame that goes on at the ring's first slot is not
 * contiguous. */
TEST(frames_come_whole_where_a_small_ring_ends)
{
	uint32_t longest;

	fake.small = true;
	open_card();
	longest = nic->mtu;
	CHECK_IS(nic->ring, FAKE_SMALL);
	for (uint32_t i = 0; i < 3 * FAKE_SMALL; i++) {
		CHECK(fake_receive(frame, longest));
		CHECK_IS(poll(), 1);
		CHECK_IS(got_bytes, longest);
		CHECK(!memcmp(got, frame, longest));
	}
	works();
	close_card();
}

TEST(frames_for_others_and_short_ones_are_dropped)
{
	open_card();
	frame[5] ^= 1;
	CHECK(fake_receive(frame, 100));
	frame[5] ^= 1;
	CHECK(fake_receive(frame, 13));
	CHECK(fake_receive(frame, 0));
	poll();
	CHECK_IS(got_frames, 0);
	CHECK_IS(nic->counters[NIC_DROPS_IN], 3);
	CHECK_IS(nic->counters[NIC_RESETS], 0);
	works();
	close_card();
}

TEST(full_ring_says_so_and_goes_on)
{
	uint32_t given = 0, bytes;

	open_card();
	while (send(given, 3) == NIC_OK)
		given++;
	CHECK_IS(given, FAKE_RING / 4);
	CHECK_IS(send(given, 3), NIC_FULL);
	nic->ops->interrupts(nic, 1);   /* now the end of a send interrupts */
	CHECK_IS(fake.transmit.available->ring[FAKE_RING], fake.transmit.used->index);
	CHECK_IS(fake_send(1000, wire, &bytes), given);
	CHECK_IS(send(given, 3), NIC_OK);
	CHECK_IS(n_ended, given);
	CHECK_IS(send(given + 1, 17), NIC_DOWN);
	CHECK_IS(fake_send(1000, wire, &bytes), 1);
	poll();
	for (uint32_t i = 0; i <= given; i++)
		CHECK_IS(ended[i], 1);
	close_card();
}

static void one_more(void *context, const uint8_t *bytes, uint32_t n)
{
	if (!got_frames)
		CHECK(fake_receive(frame, 100));
	card_received(context, bytes, n);
}

/* It would not interrupt, as the device was told to do so for the first one. */
TEST(what_arrives_during_a_poll_is_not_left)
{
	open_card();
	nic->receive = one_more;
	nic->ops->interrupts(nic, 1);
	CHECK(fake_receive(frame, 100));
	CHECK_IS(poll(), 2);
	CHECK_IS(fake.receive.available->ring[FAKE_RING], 2);
	nic->receive = card_received;
	close_card();
}

/* ---- nonsense ---- */

static void header_buffers(uint16_t buffers)
{
	uint16_t head = fake.receive.available->ring[fake.receive.used->index % FAKE_RING];
	struct net_header *header = (void *)fake.receive.table[head].address;

	*header = (struct net_header){ .buffers = buffers };
}

static uint16_t next_slot(void)
{
	return fake.receive.available->ring[fake.receive.used->index % FAKE_RING];
}

static void receive_ahead(void)    { fake.receive.used->index += 300; }
static void receive_no_buffer(void) { header_buffers(0); fake_use(&fake.receive, next_slot(), 99); }
static void receive_many(void)     { header_buffers(6); fake_use(&fake.receive, next_slot(), 99); }
static void receive_absent(void)   { header_buffers(2); fake_use(&fake.receive, next_slot(), 99); }
static void receive_wrong_id(void) { header_buffers(1); fake_use(&fake.receive, 77, 99); }
static void receive_huge_id(void)  { header_buffers(1); fake_use(&fake.receive, 0x10000u, 99); }
static void receive_long(void)     { header_buffers(1); fake_use(&fake.receive, next_slot(), 16385); }
static void receive_short(void)    { header_buffers(1); fake_use(&fake.receive, next_slot(), 11); }
static void transmit_ahead(void)   { fake.transmit.used->index += 257; }
static void transmit_huge_id(void) { fake_use(&fake.transmit, 256, 0); }
static void transmit_stranger(void) { fake_use(&fake.transmit, 200, 0); }
static void transmit_inner(void)   { fake_use(&fake.transmit, fake.transmit.table[0].next, 0); }

static void receive_gap(void)      /* a frame's first buffer is not full */
{
	uint16_t slot = next_slot();

	header_buffers(2);
	fake_use(&fake.receive, slot, 100);
	fake_use(&fake.receive, slot + 1u, 100);
}

static void transmit_twice(void)
{
	fake_use(&fake.transmit, 0, 0);
	fake_use(&fake.transmit, 0, 0);
}

TEST(nonsense_in_a_ring_is_counted_said_once_and_recovered_from)
{
	static void (*const kinds[])(void) = {
		receive_ahead, receive_no_buffer, receive_many, receive_absent, receive_wrong_id,
		receive_huge_id, receive_long, receive_short, receive_gap, transmit_ahead,
		transmit_huge_id, transmit_stranger, transmit_inner, transmit_twice,
	};

	open_card();
	check_nonsense(kinds, sizeof(kinds) / sizeof(kinds[0]));
	close_card();
}

TEST(card_that_hangs_is_reset)
{
	open_card();
	check_hang();
	close_card();
}

TEST(card_that_asks_for_a_reset_or_was_reset_gets_one)
{
	open_card();
	nic->mtu = 1514;               /* its user limits the length */
	fake.common[COMMON_STATUS] |= STATUS_NEEDS_RESET;
	wait_ms(300);
	CHECK_IS(nic->counters[NIC_RESETS], 1);
	CHECK_IS(nic->mtu, 1514);
	works();
	fake.common[COMMON_STATUS] = 0;
	wait_ms(300);
	CHECK_IS(nic->counters[NIC_RESETS], 2);
	works();
	close_card();
}

TEST(card_that_does_not_come_back_is_tried_again)
{
	open_card();
	CHECK_IS(send(1, 2), NIC_OK);
	fake.obeys = false;            /* setting its filter fails */
	receive_ahead();
	poll();
	CHECK_IS(ended[1], 1);
	CHECK_IS(send(2, 2), NIC_DOWN);
	check_attempts(500000000);
	CHECK_IS(send(2, 2), NIC_DOWN);
	CHECK_IS(fake_kernel.reports, 2);
	fake.obeys = true;
	wait_ms(5000);
	works();
	close_card();
}

static void set_gone(bool gone)
{
	fake.stubborn = gone;
	if (gone)
		fake.common[COMMON_STATUS] = 0xff;
}

TEST(card_that_is_gone_holds_no_sends_and_is_tried_again)
{
	open_card();
	check_gone(set_gone, 500000000);
	close_card();
}

static void set_link(bool up)
{
	*(uint16_t *)(fake.config + NET_CONFIG_STATUS) = up ? NET_STATUS_LINK_UP : 0;
}

TEST(lost_link_is_said_once)
{
	open_card();
	check_lost_link(set_link);
	close_card();
}

/* The next poll may be long after. */
TEST(change_of_state_is_looked_into_at_once)
{
	open_card();
	poll();
	set_link(false);
	nic->ops->changed(nic);
	CHECK(fake_receive(frame, 100));
	CHECK_IS(poll(), 1);
	CHECK_IS(nic->counters[NIC_LINK_LOSSES], 1);
	close_card();
}

TEST(card_that_cannot_be_used_says_why)
{
	const char *why;

	fake.poor = true;
	CHECK(fake_open(&why) == 0);
	CHECK(strstr(why, "lacks or refuses a feature") && strstr(why, "merged buffers"));
	fake_free();
	fake.poor = true;
	CHECK(fake_open_bulk(true, &why) == 0);
	CHECK(strstr(why, "lacks or refuses a feature") && !strstr(why, "merged buffers"));
	fake_free();
	fake.stubborn = true;
	CHECK(fake_open(&why) == 0);
	CHECK_IS(strcmp(why, "does not answer to a reset"), 0);
	fake_free();
	fake.stubborn = false;
}

TEST(card_whose_queues_have_shrunk_is_given_up)
{
	open_card();
	*(uint16_t *)(fake.common + COMMON_QUEUE_SIZE) = 4;
	receive_ahead();
	poll();
	CHECK_IS(send(0, 1), NIC_DOWN);
	CHECK(fake.common[COMMON_STATUS] & STATUS_FAILED);
	close_card();
}

/* With random writes into its rings every send still ends once, and the card works when it is
 * correct again. */
TEST(random_card)
{
	uint64_t state = 20261121;
	uint32_t cookie = 0, bytes;

	open_card();
	for (uint32_t i = 0; i < 60000; i++) {
		uint64_t dice = check_random(&state);
		struct fake_ring *ring = dice & 8 ? &fake.receive : &fake.transmit;

		switch (dice % 8) {
		case 0:
			ring->used->ring[(dice >> 8) % FAKE_RING].id = (uint32_t)(dice >> 20) % 300;
			break;
		case 1:
			ring->used->ring[(dice >> 8) % FAKE_RING].bytes = (uint32_t)(dice >> 20) % 20000;
			break;
		case 2:
			if (dice >> 8 & 1)
				ring->used->index = (uint16_t)(ring->used->index + (dice >> 20) % 3);
			break;
		case 3:
			header_buffers((uint16_t)((dice >> 8) % 7));
			break;
		case 4:
			if (cookie < SENDS - 2)
				cookie += send(cookie, 1 + (dice >> 8) % NIC_PIECES) == NIC_OK;
			break;
		case 5:
			fake_send((dice >> 8) % 4, wire, &bytes);
			break;
		default:
			fake_receive(frame, (uint32_t)(dice >> 8) % 40000);
		}
		if (dice >> 60 < 4)
			poll();
	}
	receive_ahead();
	poll();
	fake_kernel.ns += 2000000000;
	poll();
	works();
	check_ends(cookie);
	close_card();
}
