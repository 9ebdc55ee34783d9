/*
 * The drivers of Intel's cards against a correct card, and against one that writes nonsense, hangs,
 * forgets, or loses its link: counted, reported once, recovered from. Each test runs with both
 * cards.
 */
#include <string.h>

#include "tests/host/check.h"
#include "card.h"
#include "fake_e1000.h"

#define TEST_CARDS(name) \
	static void name(void); \
	TEST(name##_82540em) { kind = FAKE_82540EM; name(); } \
	TEST(name##_82574l) { kind = FAKE_82574L; name(); } \
	static void name(void)

enum { LONGEST = 65532 };          /* of any command line: four buffers, less the CRC */

static enum fake_kind kind;
static uint32_t longest;           /* longest frame of the command line; 0: the data sheet's */
static uint32_t echoes;            /* frames to send for each one received */
static uint32_t tail_before;       /* REG_TDT when the last of them was sent */

static void open_card(void)
{
	const char *why;
	struct nic *opened;

	fake.routed = true;
	fake.stuck = false;
	fake.longest = longest;
	opened = fake_open(kind, &why);
	CHECK(opened != 0);
	CHECK(why == 0);
	use_card(opened, 0);
}

static void receive_and_echo(void *context, const uint8_t *bytes, uint32_t n)
{
	card_received(context, bytes, n);
	for (uint32_t i = 0; i < echoes; i++)
		CHECK_IS(send(SENDS - 2 - i, 1), NIC_OK);
	tail_before = fake_read(REG_TDT);
}

TEST_CARDS(card_starts_with_its_filter)
{
	open_card();
	CHECK_IS(nic->mtu, kind == FAKE_82540EM ? 16124 : 9230);
	CHECK_IS(nic->ring, FAKE_RING - 33);
	CHECK_IS(fake_read(REG_ADDRESS_LOW(0)), 0x00474d02);
	CHECK_IS(fake_read(REG_ADDRESS_HIGH(0)), ADDRESS_VALID | 0x0500);
	CHECK_IS(fake_read(REG_ADDRESS_HIGH(1)), 0);
	CHECK_IS(fake_read(REG_RCTL), RCTL_EN | RCTL_LONG | RCTL_BROADCAST | RCTL_16384 |
	         RCTL_STRIP);
	CHECK_IS(fake_read(REG_RDT), FAKE_RING - 1);
	works();
	CHECK_IS(fake_kernel.reports, 0);
	close_card();
	CHECK_IS(fake_read(REG_RCTL), 0);
}

TEST_CARDS(frames_of_all_sizes_come_whole)
{
	open_card();
	for (uint32_t bytes = 14; bytes <= nic->mtu; bytes += 1 + bytes / 16) {
		CHECK(fake_receive(frame, bytes));
		CHECK_IS(poll(), 1);
		CHECK_IS(got_bytes, bytes);
		CHECK(!memcmp(got, frame, bytes));
	}
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK(fake_receive(frame, nic->mtu));
		CHECK_IS(poll(), 1);
		CHECK(got_bytes == nic->mtu && !memcmp(got, frame, nic->mtu));
	}
	CHECK_IS(nic->counters[NIC_RESETS] + nic->counters[NIC_DROPS_IN], 0);
	close_card();
}

/* A frame of so many bytes is sent; one byte more is refused. */
static void sends_at_most(uint32_t most)
{
	struct nic_piece piece = { frame, most };
	uint64_t drops = nic->counters[NIC_DROPS_OUT];
	uint32_t bytes;

	CHECK_IS(nic->ops->send(nic, &piece, 1, 1), NIC_OK);
	CHECK_IS(fake_send(1, wire, &bytes), 1);
	CHECK_IS(bytes, most);
	CHECK(!memcmp(wire, frame, most));
	piece.length++;
	CHECK_IS(nic->ops->send(nic, &piece, 1, 2), NIC_DOWN);
	CHECK_IS(nic->counters[NIC_DROPS_OUT], drops + 1);
	poll();
	CHECK_IS(n_ended, 1);
}

/* A frame of so many bytes is received; one with one byte more is dropped. */
static void receives_at_most(uint32_t most)
{
	CHECK(fake_receive(frame, most));
	CHECK_IS(poll(), 1);
	CHECK(got_bytes == most && !memcmp(got, frame, most));
	CHECK(fake_receive(frame, most + 1));
	poll();
	CHECK_IS(got_frames, 1);
	CHECK_IS(nic->counters[NIC_DROPS_IN], 1);
}

TEST_CARDS(longest_frame_is_the_data_sheets_or_what_the_command_line_says)
{
	static const uint32_t said[] = { 0, 1514, 9230, 16380, 16381, LONGEST };

	for (uint32_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		uint32_t most = said[i] ? said[i] : kind == FAKE_82540EM ? 16124 : 9230;

		longest = said[i];
		open_card();
		CHECK_IS(nic->mtu, most);
		CHECK_IS(!!(fake_read(REG_RCTL) & RCTL_BAD), most > 16380);
		sends_at_most(most);
		receives_at_most(most);
		CHECK_IS(nic->counters[NIC_RESETS] + fake_kernel.reports, 0);
		close_card();
	}
	longest = 0;
}

/* Frames that fill several buffers come whole, wherever they begin in the ring. */
TEST_CARDS(frames_longer_than_a_buffer_come_whole)
{
	longest = LONGEST;
	open_card();
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t bytes = i % 3 ? LONGEST - i : 64 + i;

		CHECK(fake_receive(frame, bytes));
		CHECK_IS(poll(), 1);
		CHECK(got_bytes == bytes && !memcmp(got, frame, bytes));
	}
	CHECK_IS(nic->counters[NIC_RESETS] + nic->counters[NIC_DROPS_IN], 0);
	close_card();
	longest = 0;
}

/* The card may write the rest of a frame late: until then it does not get its buffers back. */
TEST_CARDS(frame_of_which_a_part_has_come_waits_for_the_rest)
{
	uint32_t tail;

	longest = LONGEST;
	open_card();
	for (uint32_t i = 0; i < 30; i++)
		CHECK(fake_receive(frame, 64));
	CHECK_IS(poll(), 30);
	tail = fake_read(REG_RDT);
	for (uint32_t i = 0; i < 3; i++) {
		memcpy((void *)fake.receive[fake.receive_head].address, frame + i * FAKE_SLOT, FAKE_SLOT);
		CHECK(fake_fill(FAKE_SLOT | RX_DONE));
		CHECK_IS(poll(), 0);
	}
	CHECK_IS(fake_read(REG_RDT), tail);
	memcpy((void *)fake.receive[fake.receive_head].address, frame + 3 * FAKE_SLOT, 100);
	CHECK(fake_fill(100 | RX_DONE | RX_LAST));
	CHECK_IS(poll(), 1);
	CHECK(got_bytes == 3 * FAKE_SLOT + 100 && !memcmp(got, frame, got_bytes));
	CHECK(fake_read(REG_RDT) != tail);
	close_card();
	longest = 0;
}

/* A frame of too many buffers, even of all, one with a gap, and a damaged one. */
TEST_CARDS(long_frames_that_cannot_be_are_dropped)
{
	longest = LONGEST;
	open_card();
	for (uint32_t i = 0; i < 2 * FAKE_RING; i++) {
		CHECK(fake_fill(FAKE_SLOT | RX_DONE));
		CHECK_IS(poll(), 0);
	}
	CHECK(fake_fill(100 | RX_DONE | RX_LAST));
	CHECK(fake_fill((FAKE_SLOT - 1) | RX_DONE));
	CHECK(fake_fill(100 | RX_DONE | RX_LAST));
	CHECK(fake_fill(FAKE_SLOT | RX_DONE));
	CHECK(fake_fill(100 | RX_DONE | RX_LAST | 1UL << 40));
	CHECK_IS(poll(), 3);
	CHECK_IS(nic->counters[NIC_DROPS_IN], 3);
	CHECK_IS(got_frames + nic->counters[NIC_RESETS], 0);
	CHECK(fake_receive(frame, LONGEST));
	CHECK_IS(poll(), 1);
	CHECK_IS(got_bytes, LONGEST);
	works();
	close_card();
	longest = 0;
}

/* Buffers hold no longer frames, and all cards accept the shortest. */
TEST_CARDS(longest_frame_that_cannot_be_is_refused)
{
	static const uint32_t said[] = { 1, 1513, LONGEST + 1, 65549, UINT32_MAX };
	const char *why;

	for (uint32_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		fake.longest = said[i];
		CHECK(fake_open(kind, &why) == 0);
		CHECK(why && strstr(why, "longest= must be 1514 to 65532 bytes"));
		fake_free();
	}
}

/* Buffers start at different offsets in their pages, as an emulated card copies from one place. */
TEST_CARDS(buffers_begin_at_all_places_of_a_page)
{
	uint64_t places = 0;

	open_card();
	for (uint32_t i = 0; i < FAKE_RING; i++) {
		uint64_t at = fake.receive[i].address;

		CHECK_IS(at % 64, 0);
		CHECK(i == 0 || at >= fake.receive[i - 1].address + FAKE_SLOT);
		if (i % 64 == 0)
			places = 0;
		places |= 1UL << (at % 4096 / 64);
		CHECK_IS((uint32_t)__builtin_popcountll(places), i % 64 + 1);
	}
	close_card();
}

TEST_CARDS(as_many_frames_as_it_says_come_at_once)
{
	open_card();
	for (uint32_t round = 0; round < 50; round++) {
		uint32_t before = got_frames;

		for (uint32_t i = 0; i < nic->ring; i++)
			CHECK(fake_receive(frame, 64));
		while (poll())
			;
		CHECK_IS(got_frames, before + nic->ring);
	}
	close_card();
}

TEST_CARDS(frames_that_are_not_for_the_node_or_damaged_are_dropped)
{
	open_card();
	frame[5] ^= 1;
	CHECK(fake_receive(frame, 100));
	frame[5] ^= 1;
	CHECK(fake_receive(frame, 13));
	CHECK(fake_receive(frame, 0));
	CHECK(fake_receive(frame, nic->mtu + 1));
	CHECK(fake_receive(frame, 2 * FAKE_SLOT));     /* two buffers, counted once */
	for (uint32_t bit = 0; bit < 8; bit++) {
		memcpy((void *)fake.receive[fake.receive_head].address, frame, 100);
		CHECK(fake_fill(RX_DONE | RX_LAST | 100 | 1UL << (40 + bit)));
	}
	poll();
	CHECK_IS(got_frames, 3);               /* those of the eight without an error */
	CHECK_IS(nic->counters[NIC_DROPS_IN], 5 + 5);
	CHECK_IS(nic->counters[NIC_RESETS], 0);
	works();
	close_card();
}

static void sends_interrupt_no_more(void)
{
	if (kind == FAKE_82540EM)
		CHECK_IS(fake_read(REG_MASK), CAUSE_SENT);
	else
		CHECK(!(fake_read(REG_VECTORS) & VECTORS_SENT));
}

TEST_CARDS(full_ring_says_so_and_goes_on)
{
	uint32_t given = 0, bytes;

	open_card();
	while (send(given, 3) == NIC_OK)
		given++;
	CHECK_IS(given, (FAKE_RING - 1) / 3);
	nic->ops->interrupts(nic, 1);  /* the end of a send interrupts */
	if (kind == FAKE_82540EM)
		CHECK(fake_read(REG_ALLOW) & CAUSE_SENT);
	else
		CHECK(fake_read(REG_VECTORS) & VECTORS_SENT);
	CHECK_IS(fake_send(1000, wire, &bytes), given);
	CHECK_IS(send(given, 3), NIC_OK);
	CHECK_IS(n_ended, given);
	sends_interrupt_no_more();
	CHECK_IS(send(given + 1, 17), NIC_DOWN);
	CHECK_IS(send(given + 1, 0), NIC_DOWN);
	CHECK_IS(fake_send(1000, wire, &bytes), 1);
	poll();
	for (uint32_t i = 0; i <= given; i++)
		CHECK_IS(ended[i], 1);
	close_card();
}

static void send_all(void)
{
	uint32_t bytes;

	fake_send(1000, wire, &bytes);
}

/* The ring is full, and the card sends all before it is told to interrupt at the end of a send. */
TEST_CARDS(frames_that_leave_before_their_interrupt_is_on_make_room)
{
	uint32_t given = 0;

	open_card();
	nic->ops->interrupts(nic, 1);
	while (given < FAKE_RING - 1)
		CHECK_IS(send(given++, 1), NIC_OK);
	fake_before_write(send_all);
	CHECK_IS(send(given, 1), NIC_OK);
	CHECK_IS(n_ended, given);
	sends_interrupt_no_more();
	close_card();
}

/* Sends three frames from within the first callback of a completed send. */
static void sent_and_send(void *context, uint64_t cookie)
{
	card_sent(context, cookie);
	if (n_ended == 1)
		for (uint64_t next = 1000; next < 1003; next++)
			CHECK_IS(send(next, 1), NIC_OK);
}

/* The ring is full. A send makes room, and a callback sends before it. */
TEST_CARDS(sent_callback_may_send)
{
	uint32_t given = 0, bytes;

	open_card();
	nic->sent = sent_and_send;
	while (send(given, 1) == NIC_OK)
		given++;
	CHECK_IS(fake_send(SENDS, wire, &bytes), given);
	CHECK_IS(send(given, 2), NIC_OK);
	CHECK_IS(n_ended, given);
	CHECK_IS(fake_send(SENDS, wire, &bytes), 4);
	CHECK_IS(bytes, 200);                  /* the last one is the outer one */
	poll();
	for (uint32_t cookie = 0; cookie < SENDS; cookie++)
		CHECK_IS(ended[cookie], cookie <= given || (cookie >= 1000 && cookie < 1003));
	nic->sent = card_sent;
	works();
	close_card();
}

TEST_CARDS(lone_frame_leaves_at_once_and_answers_together)
{
	uint32_t bytes;

	open_card();
	CHECK_IS(send(0, 1), NIC_OK);
	CHECK_IS(fake_read(REG_TDT), 1);
	nic->receive = receive_and_echo;
	echoes = 3;
	CHECK(fake_receive(frame, 64));
	CHECK(fake_receive(frame, 64));
	nic->ops->poll(nic, 1);
	CHECK_IS(tail_before, 1);
	CHECK_IS(fake_read(REG_TDT), 4);
	nic->ops->poll(nic, 1);
	CHECK_IS(tail_before, 4);
	CHECK_IS(fake_read(REG_TDT), 7);
	CHECK_IS(fake_send(100, wire, &bytes), 7);
	close_card();
}

/* An interrupt disables the card's interrupts; the next poll enables them. */
TEST_CARDS(one_interrupt_at_a_time)
{
	open_card();
	CHECK_IS(fake_read(REG_MASK), CAUSE_ALL);
	nic->ops->interrupts(nic, 1);
	CHECK(fake_read(REG_ALLOW) & CAUSE_RECEIVED);
	fake_write(REG_MASK, 0);
	nic->ops->interrupted(nic);
	CHECK_IS(fake_read(REG_MASK), CAUSE_ALL);
	fake_write(REG_ALLOW, 0);
	poll();
	CHECK(fake_read(REG_ALLOW) & CAUSE_RECEIVED);
	fake_write(REG_ALLOW, 0);
	poll();                        /* nothing to do: the card is not accessed */
	nic->ops->interrupts(nic, 1);
	CHECK_IS(fake_read(REG_ALLOW), 0);
	nic->ops->interrupts(nic, 0);
	nic->ops->interrupted(nic);
	poll();
	CHECK_IS(fake_read(REG_ALLOW), 0);
	close_card();
}

/* As long as more frames are left, no interrupt is needed. */
TEST_CARDS(card_does_not_interrupt_while_frames_are_left)
{
	open_card();
	nic->ops->interrupts(nic, 1);
	nic->ops->interrupted(nic);
	fake_write(REG_ALLOW, 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(fake_receive(frame, 64));
	CHECK_IS(nic->ops->poll(nic, 2), 2);
	CHECK_IS(fake_read(REG_ALLOW), 0);
	CHECK_IS(nic->ops->poll(nic, 2), 1);
	CHECK(fake_read(REG_ALLOW) & CAUSE_RECEIVED);
	close_card();
}

TEST(card_without_an_interrupt_line_is_silent)
{
	const char *why;

	fake.routed = false;
	use_card(fake_open(FAKE_82540EM, &why), 0);
	CHECK(nic->silent);
	CHECK_IS(fake_kernel.reports, 1);
	close_card();
}

TEST_CARDS(card_that_does_not_come_out_of_its_reset_is_not_opened)
{
	const char *why;

	fake.stuck = true;
	CHECK(fake_open(kind, &why) == 0);
	CHECK(why != 0);
	fake.stuck = false;
	fake_free();
}

/* ---- nonsense ---- */

static void receive_long(void)   { fake_fill(RX_DONE | RX_LAST | (FAKE_SLOT + 1)); }
static void receive_longest(void) { fake_fill(~0UL); }
static void receive_ahead(void)  { fake_write(REG_RDH, FAKE_RING); }
static void send_ahead(void)     { fake_write(REG_TDH, 0xffff); }

TEST_CARDS(nonsense_in_a_ring_is_counted_said_once_and_recovered_from)
{
	static void (*const kinds[])(void) = {
		receive_long, receive_longest, receive_ahead, send_ahead };

	open_card();
	check_nonsense(kinds, sizeof(kinds) / sizeof(kinds[0]));
	close_card();
}

TEST_CARDS(card_that_hangs_is_reset)
{
	open_card();
	check_hang();
	close_card();
}

TEST_CARDS(card_that_has_forgotten_its_settings_gets_them_again)
{
	open_card();
	nic->ops->interrupts(nic, 1);
	fake_write(REG_ALLOW, 0);
	fake_write(REG_RCTL, 0);
	wait_ms(300);
	CHECK_IS(nic->counters[NIC_RESETS], 1);
	CHECK(fake_read(REG_ALLOW) & CAUSE_RECEIVED);
	works();
	fake_write(REG_TCTL, 0);
	wait_ms(300);
	CHECK_IS(nic->counters[NIC_RESETS], 2);
	works();
	close_card();
}

static void set_gone(bool gone)
{
	fake.gone = gone;
	if (!gone)
		fake_write(REG_CTRL, CTRL_RESET);
}

static void set_stuck(bool stuck)
{
	fake.stuck = stuck;
	fake_write(REG_RCTL, 0);       /* a reason for a reset */
}

TEST_CARDS(card_that_is_gone_holds_no_sends_and_is_tried_again)
{
	open_card();
	check_gone(set_gone, 200000000);
	close_card();
	open_card();
	check_gone(set_stuck, 200000000);
	close_card();
}

static void set_link(bool up)
{
	fake_write(REG_STATUS, up ? STATUS_UP : 0);
}

TEST_CARDS(lost_link_is_said_once)
{
	open_card();
	check_lost_link(set_link);
	close_card();
}

/* A link that was never up is not lost. */
TEST_CARDS(link_that_comes_late_is_not_said_to_be_lost)
{
	open_card();
	fake.slow = true;
	fake_write(REG_RCTL, 0);
	wait_ms(1000);
	CHECK_IS(nic->counters[NIC_RESETS], 1);
	CHECK_IS(send(1, 1), NIC_DOWN);
	CHECK_IS(nic->counters[NIC_LINK_LOSSES], 0);
	CHECK_IS(fake_kernel.reports, 1);
	set_link(true);
	wait_ms(300);
	works();
	set_link(false);
	wait_ms(300);
	CHECK_IS(nic->counters[NIC_LINK_LOSSES], 1);
	CHECK_IS(fake_kernel.reports, 2);
	close_card();
}

/* The cause of an interrupt is read at once, whatever else is pending. */
TEST_CARDS(lost_link_interrupts)
{
	open_card();
	nic->ops->interrupts(nic, 1);
	nic->ops->interrupted(nic);
	set_link(false);
	fake_write(REG_CAUSES, CAUSE_LINK);
	CHECK(fake_receive(frame, 64));
	CHECK_IS(poll(), 1);
	CHECK_IS(nic->counters[NIC_LINK_LOSSES], 1);
	close_card();
}

/* With random writes into its rings every send still ends once, and the card works when it is
 * correct again. */
TEST_CARDS(random_card)
{
	uint64_t state = 20261121;
	uint32_t cookie = 0, bytes;

	open_card();
	for (uint32_t i = 0; i < 60000; i++) {
		uint64_t dice = check_random(&state);
		uint32_t at = (uint32_t)(dice >> 8) % FAKE_RING;

		switch (dice % 8) {
		case 0:
			fake.receive[at].state = check_random(&state) & 0x97ff0000ffffUL;
			break;
		case 1:
			fake.send[at].state = (uint32_t)(dice >> 20) & 7;
			break;
		case 2:
			if (at < 4)
				fake_write(REG_TDH, (uint32_t)(dice >> 20) % 600);
			break;
		case 3:
			fake.receive[at].address = dice;
			break;
		case 4:
			if (cookie < SENDS - 2)
				cookie += send(cookie, 1 + (dice >> 8) % NIC_PIECES) == NIC_OK;
			break;
		case 5:
			fake.send_head = (fake.send_head + (dice >> 8) % 4) % FAKE_RING;
			fake.send[fake.send_head].state = TX_DONE;
			break;
		default:
			fake_fill(RX_DONE | (dice >> 20 & 0x21f00003fffUL));
		}
		if (dice >> 60 < 4)
			poll();
		if (dice >> 60 == 15)
			fake_kernel.ns += 50000000;
	}
	fake_write(REG_RCTL, 0);
	wait_ms(3000);
	works();
	check_ends(cookie);
	CHECK(fake_send(1000, wire, &bytes) == 0);
	close_card();
}
