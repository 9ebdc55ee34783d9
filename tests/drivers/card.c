/*
 * See card.h. Data: the card, the last frame received, counts of sends.
 */
#include "card.h"

#include <string.h>

#include "tests/host/check.h"

struct nic *nic;
uint8_t frame[FRAME], got[FRAME], wire[FRAME + 64];
uint32_t got_bytes, got_frames;
uint8_t ended[SENDS];
uint32_t n_ended;

static uint32_t header_bytes;      /* on the wire, before each frame */

void card_received(void *context, const uint8_t *bytes, uint32_t n)
{
	(void)context;
	memcpy(got, bytes, n);
	got_bytes = n;
	got_frames++;
}

void card_sent(void *context, uint64_t cookie)
{
	(void)context;
	CHECK(cookie < SENDS);
	ended[cookie]++;
	n_ended++;
}

void use_card(struct nic *opened, uint32_t header)
{
	nic = opened;
	header_bytes = header;
	nic->receive = card_received;
	nic->sent = card_sent;
	memset(ended, 0, sizeof(ended));
	n_ended = got_frames = got_bytes = 0;
	for (uint32_t i = 0; i < FRAME; i++)
		frame[i] = (uint8_t)(i * 7 + (i >> 8));
	memcpy(frame, nic->address, NIC_ADDRESS_BYTES);
}

void close_card(void)
{
	nic->ops->close(nic);
	fake_free();
}

int send(uint64_t cookie, uint32_t pieces)
{
	struct nic_piece piece[NIC_PIECES + 1];

	for (uint32_t i = 0; i < pieces; i++)
		piece[i] = (struct nic_piece){ frame + 100 * i, 100 };
	return nic->ops->send(nic, piece, pieces, cookie);
}

void wait_ms(uint32_t ms)
{
	for (; ms >= LOOK_MS; ms -= LOOK_MS) {
		fake_kernel.ns += LOOK_MS * 1000000UL;
		poll();
	}
}

void works(void)
{
	uint32_t before = got_frames, ends = n_ended, bytes;

	CHECK(fake_receive(frame, 500));
	poll();
	CHECK_IS(got_frames, before + 1);
	CHECK_IS(got_bytes, 500);
	CHECK(!memcmp(got, frame, 500));
	CHECK_IS(send(SENDS - 1, 3), NIC_OK);
	CHECK_IS(fake_send(1, wire, &bytes), 1);
	CHECK_IS(bytes, 300 + header_bytes);
	CHECK(!memcmp(wire + header_bytes, frame, 300));
	poll();
	CHECK_IS(n_ended, ends + 1);
}

void check_nonsense(void (*const kinds[])(void), uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < 5; k++)
			CHECK_IS(send(10 * i + k, 2), NIC_OK);
		kinds[i]();
		wait_ms(300);
		CHECK_IS(nic->counters[NIC_BAD_DESCRIPTORS], i + 1);
		CHECK_IS(nic->counters[NIC_RESETS], i + 1);
		for (uint32_t k = 0; k < 5; k++)
			CHECK_IS(ended[10 * i + k], 1);
		works();
	}
	CHECK_IS(fake_kernel.reports, 1);
}

void check_hang(void)
{
	CHECK_IS(send(1, 2), NIC_OK);
	wait_ms(4000);
	CHECK_IS(nic->counters[NIC_RESETS], 0);
	wait_ms(2000);
	CHECK_IS(nic->counters[NIC_RESETS], 1);
	CHECK_IS(ended[1], 1);
	CHECK_IS(nic->counters[NIC_DROPS_OUT], 1);
	works();
	wait_ms(10000);                /* with nothing to send it is not taken for hung */
	CHECK_IS(nic->counters[NIC_RESETS], 1);
	CHECK_IS(fake_kernel.reports, 1);
}

void check_lost_link(void (*set_link)(bool up))
{
	for (int i = 0; i < 3; i++) {
		set_link(false);
		wait_ms(300);
		CHECK_IS(send(1, 2), NIC_DOWN);
		set_link(true);
		wait_ms(300);
		works();
		CHECK_IS(nic->counters[NIC_LINK_LOSSES], i + 1);
	}
	CHECK_IS(fake_kernel.reports, 1);
	CHECK_IS(nic->counters[NIC_RESETS], 0);
}

void check_attempts(uint64_t most_ns)
{
	uint64_t before = nic->counters[NIC_RESETS], start = fake_kernel.ns, attempts;

	wait_ms(5000);
	attempts = nic->counters[NIC_RESETS] - before;
	CHECK(attempts == 4 || attempts == 5);
	CHECK(fake_kernel.ns - start < 5000000000 + attempts * most_ns);
}

void check_gone(void (*set_gone)(bool gone), uint64_t most_ns)
{
	CHECK_IS(send(1, 2), NIC_OK);
	set_gone(true);
	wait_ms(300);
	CHECK(fake_kernel.silenced);
	CHECK_IS(ended[1], 1);
	CHECK_IS(send(2, 2), NIC_DOWN);
	check_attempts(most_ns);
	CHECK_IS(send(2, 2), NIC_DOWN);
	CHECK_IS(nic->silent, NIC_FAILED);     /* only a timer starts the next attempt */
	CHECK_IS(fake_kernel.reports, 2);      /* the reset, and that it failed */
	set_gone(false);
	wait_ms(2000);
	CHECK(!fake_kernel.silenced);
	CHECK_IS(nic->silent, 0);
	CHECK_IS(n_ended, 1);
	works();
}

void check_ends(uint32_t cookies)
{
	CHECK(cookies > 1000);
	for (uint32_t i = 0; i < cookies; i++)
		CHECK_IS(ended[i], 1);
	CHECK(fake_kernel.reports <= 3);
}
