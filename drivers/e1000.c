/*
 * The driver of Intel's 82540EM (QEMU: -device e1000): the functions that e1000_card.c leaves to
 * each card. Frames of up to 16 KB. It is a conventional PCI card, whose interrupt line goes
 * through the legacy interrupt controllers. Runs at boot, and when the card is reset.
 */
#include "kernel/devices/pci.h"
#include "kernel/devices/pic.h"
#include "kernel/devices/time.h"
#include "e1000_card.h"

#define FRAME_MOST   16124u        /* SDM 13.4.22: with the CRC 16128 */
#define RECEIVE_KB   32u           /* of the 64 KB packet buffer: two frames each way */
#define GAPS         (10u | 8u << 10 | 6u << 20) /* SDM 13.4.34, for copper */
#define SETTLE_NS    5000000UL     /* SDM 14.3: reading its EEPROM again */

static bool reset(struct e1000 *e)
{
	uint64_t settled;

	e1000_write(e, REG_PACKETS, RECEIVE_KB);       /* counts after the reset */
	e1000_write(e, REG_CTRL, e1000_read(e, REG_CTRL) | CTRL_RESET);
	settled = deadline_in(SETTLE_NS);
	while (now_ns() < settled)
		;
	return e1000_await(e, REG_CTRL, CTRL_RESET, false);
}

static void prepare(struct e1000 *e)
{
	e1000_write(e, REG_GAPS, GAPS);
	e1000_write(e, REG_RXDCTL, DCTL_EACH);
	e1000_write(e, REG_TXDCTL, DCTL_EACH);
}

static void sends_interrupt(struct e1000 *e, bool on)
{
	e->causes = on ? e->causes | CAUSE_SENT : e->causes & ~CAUSE_SENT;
	if (!e->masked)
		e1000_write(e, on ? REG_ALLOW : REG_MASK, CAUSE_SENT);
}

static const struct e1000_model model = {
	.mtu = FRAME_MOST, .causes = CAUSE_RECEIVED | CAUSE_LINK,
	.reset = reset, .prepare = prepare, .sends_interrupt = sends_interrupt,
};

static const struct nic_ops ops = {
	.name = "e1000", .send = e1000_send, .poll = e1000_poll, .interrupts = e1000_interrupts,
	.interrupted = e1000_interrupted, .close = e1000_close,
};

/* Raises or lowers the line, for pic_route. */
static void move_line(void *context, bool up)
{
	struct e1000 *e = context;

	if (up) {
		e1000_write(e, REG_ALLOW, CAUSE_RECEIVED);
		e1000_write(e, REG_RAISE, CAUSE_RECEIVED);
	} else {
		e1000_write(e, REG_MASK, CAUSE_ALL);
	}
	e1000_read(e, up ? REG_STATUS : REG_CAUSES);
}

struct nic *e1000_nic_open(const struct pci_device *pci, const struct nic_setup *setup,
                           const char **why)
{
	struct e1000 *e = e1000_open(&model, &ops, pci, setup, why);

	if (!e)
		return 0;
	if (!pic_route(move_line, e, pci_line(pci))) {
		e->nic.silent = NIC_UNHEARD;
		watch_say(&e->watch, WATCH_SILENT, "its interrupt line is not connected; a timer polls it");
	}
	return &e->nic;
}
