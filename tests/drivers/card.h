/*
 * The user of a card, and what tests of all drivers ask of one. The device behind it is
 * that of fake_virtio.c or of fake_e1000.c.
 */
#ifndef TESTS_DRIVERS_CARD_H
#define TESTS_DRIVERS_CARD_H
#include <stdbool.h>
#include <stdint.h>

#include "net/nic.h"
#include "kernel.h"

enum { SENDS = 4096, LOOK_MS = 101, FRAME = 65549 };

extern struct nic *nic;
extern uint8_t frame[FRAME];       /* for the node, with bytes that differ */
extern uint8_t got[FRAME], wire[FRAME + 64];
extern uint32_t got_bytes, got_frames;
extern uint8_t ended[SENDS];       /* how often each cookie came back */
extern uint32_t n_ended;

/* The card receives a frame: fills buffers, tells the driver. False: no room. */
bool fake_receive(const uint8_t *frame, uint32_t bytes);
/* It sends what it was given, at most `most` frames; the last frame's bytes go to
 * `frame`. Returns how many frames. */
uint32_t fake_send(uint32_t most, uint8_t *frame, uint32_t *bytes);
void fake_free(void);          /* all memory that the driver took */

static inline uint32_t poll(void)
{
	return nic->ops->poll(nic, 64);
}

/* A card that was just opened; `header`: bytes that it gets before each frame. */
void use_card(struct nic *opened, uint32_t header);
void close_card(void);
int send(uint64_t cookie, uint32_t pieces);
/* What it is used with: the frame is kept, the cookie counted. */
void card_received(void *context, const uint8_t *bytes, uint32_t n);
void card_sent(void *context, uint64_t cookie);
/* Time goes by in which nothing happens. */
void wait_ms(uint32_t ms);
/* The card works: one frame in, one frame out. */
void works(void);

/* Each kind of nonsense is counted, said once, and recovered from. */
void check_nonsense(void (*const kinds[])(void), uint32_t n);
void check_hang(void);
void check_lost_link(void (*set_link)(bool up));
/* A card that is down is tried again once in a second, for `most_ns`. */
void check_attempts(uint64_t most_ns);
/* One that does not even obey a reset cannot hold sends; and it works when it is back. */
void check_gone(void (*set_gone)(bool gone), uint64_t most_ns);
/* After a card wrote whatever it liked: each of so many sends has ended once. */
void check_ends(uint32_t cookies);

#endif
