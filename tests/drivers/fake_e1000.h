/*
 * A model of Intel's gigabit cards in plain memory, with kernel.h around the driver, for
 * test_e1000.c. The driver reads and writes registers in memory; the model checks them when the
 * driver reads the time, and when a test makes it receive or send.
 */
#ifndef TESTS_FAKE_E1000_H
#define TESTS_FAKE_E1000_H
#include <stdbool.h>
#include <stdint.h>

#include "drivers/e1000_regs.h"
#include "drivers/nic_table.h"

enum { FAKE_RING = 256, FAKE_SLOT = 16384 };
enum fake_kind { FAKE_82540EM, FAKE_82574L, FAKE_KINDS };

struct fake {
	struct e1000_receive_descriptor *receive;
	struct e1000_send_descriptor *send;
	uint32_t receive_head, send_head;
	bool gone;                 /* all registers read as ones */
	bool stuck;                /* a reset never completes */
	bool slow;                 /* after a reset the link comes up only when a test sets it */
	bool routed;               /* its interrupt line reaches a processor */
	uint32_t longest;          /* longest frame of the kernel's command line; 0: not given */
	uint32_t resets;
};

extern struct fake fake;

/* A new card, opened by its driver. Null: the driver refused it; `*why` is the reason. */
struct nic *fake_open(enum fake_kind kind, const char **why);

uint32_t fake_read(uint32_t offset);
void fake_write(uint32_t offset, uint32_t value);

/* Calls `then` just before the driver's next write of a register. */
void fake_before_write(void (*then)(void));

/* The card fills the next descriptor, and reports it. False: it has none. */
bool fake_fill(uint64_t state);

#endif
