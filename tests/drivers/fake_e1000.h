/*
 * One of Intel's gigabit cards made of plain memory, and the kernel around its
 * driver: what test_e1000.c plays the device with. Its registers are memory that
 * the driver reads and writes; it looks at them when the driver looks at the time,
 * and when a test makes it receive or send.
 */
#ifndef TESTS_FAKE_E1000_H
#define TESTS_FAKE_E1000_H
#include <stdbool.h>
#include <stdint.h>

#include "../../drivers/e1000_regs.h"
#include "../../drivers/nic_table.h"

enum { FAKE_RING = 256, FAKE_SLOT = 16384 };
enum fake_kind { FAKE_82540EM, FAKE_82574L, FAKE_KINDS };

struct fake {
	struct e1000_receive_descriptor *receive;
	struct e1000_send_descriptor *send;
	uint32_t receive_head, send_head;
	uint64_t ns;               /* the time; each look at it takes a microsecond */
	bool gone;                 /* answers nothing but ones */
	bool stuck;                /* does not come out of a reset */
	bool routed;               /* its interrupt line reaches somebody */
	uint32_t resets;
	uint32_t reports;          /* lines on the console */
};

extern struct fake fake;

/* A new card, opened by its driver. Null: the driver refused, for `*why`. */
struct nic *fake_open(enum fake_kind kind, const char **why);
void fake_free(void);          /* all memory that the driver took */

uint32_t fake_read(uint32_t offset);
void fake_write(uint32_t offset, uint32_t value);

/* The card receives a frame: fills buffers, tells the driver. False: no room. */
bool fake_receive(const uint8_t *frame, uint32_t bytes);
/* It fills the next descriptor, and says so. False: it has none. */
bool fake_fill(uint64_t state);
/* It sends what it was given, at most `most` frames; the last frame's bytes go to
 * `frame`. Returns how many frames. */
uint32_t fake_send(uint32_t most, uint8_t *frame, uint32_t *bytes);

#endif
