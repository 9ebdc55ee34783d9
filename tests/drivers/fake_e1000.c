/*
 * The fake card, and the kernel's functions that only its driver calls. Data: the one card. The
 * driver allocates its own record, the two rings and the buffers.
 */
#include "fake_e1000.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel/devices/pci.h"
#include "kernel/devices/pic.h"
#include "kernel/devices/time.h"
#include "card.h"

struct fake fake;

static uint8_t registers[E1000_BYTES] __attribute__((aligned(4096)));
static void (*before_write)(void);

uint32_t fake_read(uint32_t offset)
{
	return *(uint32_t *)(registers + offset);
}

void fake_write(uint32_t offset, uint32_t value)
{
	*(uint32_t *)(registers + offset) = value;
}

/* The write is repeated when this returns. */
static void write_faulted(int signal_number)
{
	mprotect(registers, sizeof(registers), PROT_READ | PROT_WRITE);
	signal(signal_number, SIG_DFL);
	before_write();
}

void fake_before_write(void (*then)(void))
{
	before_write = then;
	signal(SIGSEGV, write_faulted);
	mprotect(registers, sizeof(registers), PROT_READ);
}

/* ---- the kernel ---- */

bool pci_msix(const struct pci_device *device, uint32_t entry, uint8_t vector)
{
	(void)device, (void)vector;
	return entry == 0;
}

uint8_t pci_line(const struct pci_device *device)
{
	(void)device;
	return 255;
}

void pci_stay_awake(const struct pci_device *device)
{
	(void)device;
}

bool pic_route(void (*move)(void *context, bool up), void *context, uint8_t hint)
{
	(void)hint;
	move(context, true);
	move(context, false);
	return fake.routed;
}

/* ---- the device ---- */

static void out_of_reset(void)
{
	memset(registers, 0, sizeof(registers));
	fake_write(REG_STATUS, fake.slow ? 0 : STATUS_UP);
	fake_write(REG_EECD, EECD_READ);
	fake.receive_head = fake.send_head = 0;
	fake.resets++;
}

/* The driver reads the time in every loop that waits for the device. */
uint64_t now_ns(void)
{
	if (fake.gone) {
		fake_write(REG_CTRL, ~0u);
		fake_write(REG_STATUS, ~0u);
	} else if (fake_read(REG_CTRL) & CTRL_RESET && !fake.stuck) {
		out_of_reset();
	}
	return fake_kernel.ns += 1000;
}

bool fake_fill(uint64_t state)
{
	if (!(fake_read(REG_RCTL) & RCTL_EN) || fake.receive_head == fake_read(REG_RDT))
		return false;
	fake.receive[fake.receive_head].state = state;
	fake.receive_head = (fake.receive_head + 1) % FAKE_RING;
	fake_write(REG_RDH, fake.receive_head);
	return true;
}

bool fake_receive(const uint8_t *frame, uint32_t bytes)
{
	uint32_t free = (fake_read(REG_RDT) - fake.receive_head) % FAKE_RING;

	if (free < (bytes + FAKE_SLOT - 1) / FAKE_SLOT)
		return false;
	for (;;) {
		uint32_t n = bytes < FAKE_SLOT ? bytes : FAKE_SLOT;

		memcpy((void *)fake.receive[fake.receive_head].address, frame, n);
		frame += n;
		bytes -= n;
		if (!fake_fill(n | RX_DONE | (bytes ? 0 : RX_LAST)))
			return false;
		if (!bytes)
			return true;
	}
}

uint32_t fake_send(uint32_t most, uint8_t *frame, uint32_t *bytes)
{
	uint32_t frames = 0;

	*bytes = 0;
	while (frames < most && fake.send_head != fake_read(REG_TDT) % FAKE_RING) {
		struct e1000_send_descriptor *d = &fake.send[fake.send_head];
		uint32_t n = d->command & 0xffff;

		memcpy(frame + *bytes, (void *)d->address, n);
		*bytes += n;
		if (d->command & TX_REPORT)
			d->state |= TX_DONE;
		fake.send_head = (fake.send_head + 1) % FAKE_RING;
		fake_write(REG_TDH, fake.send_head);
		if (d->command & TX_LAST)
			frames++;
		if (d->command & TX_LAST && fake.send_head != fake_read(REG_TDT) % FAKE_RING &&
		    frames < most)
			*bytes = 0;
	}
	return frames;
}

/* ---- */

struct nic *fake_open(enum fake_kind kind, const char **why)
{
	const struct nic_setup setup = {
		.address = { 2, 0x4d, 0x47, 0, 0, 5 }, .longest = fake.longest };
	struct pci_device pci = { .bar = { { (uint64_t)registers, sizeof(registers) } } };
	bool routed = fake.routed, stuck = fake.stuck;
	struct nic *nic;

	fake = (struct fake){ .routed = routed, .stuck = stuck };
	fake_kernel_start();
	out_of_reset();
	*why = 0;
	nic = kind == FAKE_82540EM ? e1000_nic_open(&pci, &setup, why)
	                           : e1000e_nic_open(&pci, &setup, why);
	fake.receive = fake_kernel.taken[1];
	fake.send = fake_kernel.taken[2];
	return nic;
}

void fake_free(void)
{
	fake_kernel_free();
}
