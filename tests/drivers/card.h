/*
 * The user of a card, and checks that the tests of all drivers share. The device is that of
 * fake_virtio.c or fake_e1000.c.
 */
#ifndef TESTS_DRIVERS_CARD_H
#define TESTS_DRIVERS_CARD_H
#include <stdbool.h>
#include <stdint.h>

#include "net/nic.h"
#include "kernel.h"

enum { SENDS = 4096, LOOK_MS = 101, FRAME = 65549 };

extern struct nic *nic;
extern uint8_t frame[FRAME];       /* addressed to the node, with varying bytes */
extern uint8_t got[FRAME], wire[FRAME + 64];
extern uint32_t got_bytes, got_frames;
extern uint8_t ended[SENDS];       /* how often each cookie was returned */
extern uint32_t n_ended;

/* The card receives a frame: fills buffers and reports it to the driver. False: no buffer. */
bool fake_receive(const uint8_t *frame, uint32_t bytes);
/* The card sends the frames it was given, at most `most`; the last frame's bytes go to `frame`.
 * Returns the number of frames. */
uint32_t fake_send(uint32_t most, uint8_t *frame, uint32_t *bytes);
void fake_free(void);          /* all memory that the driver allocated */

static inline uint32_t poll(void)
{
	return nic->ops->poll(nic, 64);
}

/* Start with a card that was just opened; `header`: bytes that it expects before each frame. */
void use_card(struct nic *opened, uint32_t header);
void close_card(void);
int send(uint64_t cookie, uint32_t pieces);
/* Callbacks of the card: keep the frame, count the cookie. */
void card_received(void *context, const uint8_t *bytes, uint32_t n);
void card_sent(void *context, uint64_t cookie);
/* Time passes without events. */
void wait_ms(uint32_t ms);
/* The card works: one frame in, one frame out. */
void works(void);

/* Each kind of nonsense is counted, reported once, and recovered from. */
void check_nonsense(void (*const kinds[])(void), uint32_t n);
void check_hang(void);
void check_lost_link(void (*set_link)(bool up));
/* The driver retries a card that is down once per second, for `most_ns`. */
void check_attempts(uint64_t most_ns);
/* A card that fails even to reset cannot hold sends; it works again when it is back. */
void check_gone(void (*set_gone)(bool gone), uint64_t most_ns);
/* After random writes of the card each of so many sends has ended once. */
void check_ends(uint32_t cookies);

#endif
