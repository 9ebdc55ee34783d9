/*
 * One of Intel's gigabit cards made of plain memory, with kernel.h around its
 * driver: what test_e1000.c plays the device with. Its registers are memory that
 * the driver reads and writes; it looks at them when the driver looks at the time,
 * and when a test makes it receive or send.
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
	bool gone;                 /* answers nothing but ones */
	bool stuck;                /* does not come out of a reset */
	bool slow;                 /* after a reset its link comes when a test says so */
	bool routed;               /* its interrupt line reaches a processor */
	uint32_t longest;          /* frame, as the kernel's command line says; 0: it does not */
	uint32_t resets;
};

extern struct fake fake;

/* A new card, opened by its driver. Null: the driver refused, for `*why`. */
struct nic *fake_open(enum fake_kind kind, const char **why);

uint32_t fake_read(uint32_t offset);
void fake_write(uint32_t offset, uint32_t value);

/* It fills the next descriptor, and says so. False: it has none. */
bool fake_fill(uint64_t state);

#endif
