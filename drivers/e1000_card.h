/*
 * What the drivers of Intel's gigabit cards share: rings, sending, receiving,
 * interrupts, recovery. e1000.c and e1000e.c hold what is each card's own.
 */
#ifndef DRIVERS_E1000_CARD_H
#define DRIVERS_E1000_CARD_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/devices/pci.h"
#include "e1000_regs.h"
#include "nic_table.h"
#include "watch.h"

#define E1000_RING 256u            /* descriptors of each ring */

struct e1000;

/* How the cards differ. */
struct e1000_model {
	uint32_t mtu;              /* most bytes of a frame, without its CRC, by its data sheet */
	uint32_t causes;           /* unmasked when an interrupt is wanted */
	/* After everything was stopped: resets the card to its first state. False: it does not come
	 * back. */
	bool (*reset)(struct e1000 *e);
	/* After a reset, before the rings are set: the model's own registers. */
	void (*prepare)(struct e1000 *e);
	/* An interrupt also when something has been sent, or not. */
	void (*sends_interrupt)(struct e1000 *e, bool on);
};

/* State of a send descriptor that begins a frame. */
struct e1000_frame {
	uint64_t cookie;
	uint32_t descriptors;
};

struct e1000 {
	struct nic nic;            /* first: ops get a pointer to it */
	const struct e1000_model *model;
	struct pci_device pci;     /* to cut it off from memory */
	volatile uint8_t *registers; /* E1000_BYTES */
	struct watch watch;

	struct e1000_receive_descriptor *receive; /* E1000_RING of them */
	uint8_t *slots;            /* their buffers */
	uint64_t slots_physical;
	uint32_t slot_apart;       /* distance of two of them */
	uint32_t receive_next;     /* next descriptor to read */
	uint32_t receive_kept;     /* descriptors read and not yet returned */
	uint32_t begun;            /* slots before receive_next that hold the beginning of its frame */
	bool torn;                 /* that frame is dropped */

	struct e1000_send_descriptor *send; /* E1000_RING of them */
	struct e1000_frame frame[E1000_RING];
	uint32_t send_next;        /* descriptor to fill */
	uint32_t send_first;       /* oldest that is under way */
	uint32_t send_free;        /* free descriptors */
	uint32_t waited_for;       /* free descriptors that a refused send() needs; 0: none */
	bool receiving;            /* frames are being handed up; frames sent meanwhile ... */
	bool tail_due;             /* ... wait for the write of the tail */

	uint32_t causes;           /* unmasked when an interrupt is wanted */
	bool armed;                /* an interrupt is wanted */
	bool masked;               /* the card may not interrupt */
};

static inline uint32_t e1000_read(const struct e1000 *e, uint32_t offset)
{
	return *(volatile uint32_t *)(e->registers + offset);
}

static inline void e1000_write(struct e1000 *e, uint32_t offset, uint32_t value)
{
	*(volatile uint32_t *)(e->registers + offset) = value;
}

/* Waits until these bits of a register are all 0, or all 1; false: not within BIT_NS. */
bool e1000_await(const struct e1000 *e, uint32_t offset, uint32_t bits, bool ones);

/* Takes the memory of a card, and starts it. Null: `*why` says what is wrong. */
struct e1000 *e1000_open(const struct e1000_model *model, const struct nic_ops *ops,
                         const struct pci_device *pci, const struct nic_setup *setup,
                         const char **why);

/* Functions that both models put into their nic_ops. */
int e1000_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie);
uint32_t e1000_poll(struct nic *nic, uint32_t budget);
void e1000_interrupts(struct nic *nic, int on);
void e1000_interrupted(struct nic *nic);
void e1000_close(struct nic *nic);

#endif
