/*
 * The driver of Intel's 82574L (QEMU: -device e1000e): the functions that e1000_card.c leaves to
 * each card. Frames of up to 9 KB (QEMU's takes 16 KiB: struct nic_setup, `longest`), one MSI-X
 * interrupt for all causes. Runs at boot, and when the card is reset.
 */
#include "kernel/devices/pci.h"
#include "e1000_card.h"

#define FRAME_MOST   9230u         /* 82574 1.5: with the CRC 9234 */
#define GAPS         (8u | 8u << 10 | 6u << 20) /* 82574 10.2.6.3 */
#define ENTRY        0u            /* of the MSI-X table */

/* 82574 4.6.1, 5.2: the card ends its transfers, is reset, and reads its EEPROM. */
static bool reset(struct e1000 *e)
{
	uint32_t control = e1000_read(e, REG_CTRL);

	e1000_write(e, REG_CTRL, control | CTRL_NO_MASTER);
	e1000_await(e, REG_STATUS, STATUS_MASTER, false);      /* the reset ends them anyway */
	e1000_write(e, REG_CTRL, control | CTRL_RESET);
	return e1000_await(e, REG_CTRL, CTRL_RESET, false) &&
	       e1000_await(e, REG_EECD, EECD_READ, true);
}

static void set_bits(struct e1000 *e, uint32_t offset, uint32_t clear, uint32_t set)
{
	e1000_write(e, offset, (e1000_read(e, offset) & ~clear) | set);
}

static void prepare(struct e1000 *e)
{
	set_bits(e, REG_PCIE, 0, PCIE_MUST);
	set_bits(e, REG_PCIE2, 0, PCIE2_MUST);
	set_bits(e, REG_TARC, TARC_MUST_NOT, TARC_MUST | TARC_QUEUE);
	e1000_write(e, REG_GAPS, GAPS);
	e1000_write(e, REG_RXDCTL, DCTL_EACH);
	e1000_write(e, REG_TXDCTL, DCTL_EACH | DCTL_COUNT);
	e1000_write(e, REG_FILTERS, FILTERS_NO_ACK);
	e1000_write(e, REG_QUEUES, 0);
	/* Interrupts are masked by the driver, never by the card. QEMU holds back an interrupt
	 * within 128 us of another unless CTRL_EXT_TIMERS is set. */
	set_bits(e, REG_CTRL_EXT, 0, CTRL_EXT_DRIVER | CTRL_EXT_TIMERS | CTRL_EXT_PBA);
	e1000_write(e, REG_AUTO_CLEAR, 0);
	e1000_write(e, REG_AUTO_MASK, 0);
	e1000_write(e, REG_VECTORS, VECTORS_RECEIVED | VECTORS_OTHER);
	for (uint32_t i = 0; i < VECTORS; i++)
		e1000_write(e, REG_VECTOR_RATE(i), 0);
}

static void sends_interrupt(struct e1000 *e, bool on)
{
	e1000_write(e, REG_VECTORS,
	            VECTORS_RECEIVED | VECTORS_OTHER | (on ? VECTORS_SENT : 0));
	e1000_read(e, REG_STATUS);     /* the card has taken it when this read ends */
}

static const struct e1000_model model = {
	.mtu = FRAME_MOST, .causes = CAUSES_82574,
	.reset = reset, .prepare = prepare, .sends_interrupt = sends_interrupt,
};

static void close(struct nic *nic)
{
	struct e1000 *e = (struct e1000 *)nic;

	e1000_close(nic);
	set_bits(e, REG_CTRL_EXT, CTRL_EXT_DRIVER, 0);
}

static const struct nic_ops ops = {
	.name = "e1000e", .send = e1000_send, .poll = e1000_poll, .interrupts = e1000_interrupts,
	.interrupted = e1000_interrupted, .close = close,
};

struct nic *e1000e_nic_open(const struct pci_device *pci, const struct nic_setup *setup,
                            const char **why)
{
	struct e1000 *e;

	pci_stay_awake(pci);
	if (!pci_msix(pci, ENTRY, setup->vector)) {
		*why = "it has no MSI-X interrupt";
		return 0;
	}
	e = e1000_open(&model, &ops, pci, setup, why);
	return e ? &e->nic : 0;
}
