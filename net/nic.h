/*
 * The interface of a network card's driver: the only function pointers between frames and
 * hardware. Drivers implement it (drivers/, and host/netsim.c for simulated networks).
 * net/link, net/frames and kernel/transport use it.
 *
 * All calls come from one processor with interrupts off, and none blocks. A driver checks
 * everything that its card writes. The link checks everything that comes from the wire: a
 * received frame may contain anything.
 */
#ifndef NET_NIC_H
#define NET_NIC_H
#include <stdint.h>

#define NIC_PIECES        16u      /* most pieces of one frame */
#define NIC_ADDRESS_BYTES 6u
#define NIC_BULK_HEADER   64u      /* first bytes of a frame: a bulk card stores them apart */
#define NIC_BULK_PIECES   6u       /* most pieces of one receive buffer of a bulk card */

enum nic_result {
	NIC_OK   =  0,
	NIC_FULL = -1,             /* ring full: try again after the next sent() */
	NIC_DOWN = -2              /* no carrier, or being reset: the frame is lost */
};

/* Contiguous virtual memory of the sender; the driver translates the address. */
struct nic_piece {
	const void *bytes;
	uint32_t length;
};

/* What every driver counts. */
enum nic_counter {
	NIC_FRAMES_OUT, NIC_BYTES_OUT,
	NIC_FRAMES_IN, NIC_BYTES_IN,
	NIC_DROPS_OUT,             /* frames that could not be sent */
	NIC_DROPS_IN,              /* frames lost for want of a buffer, or received with an error */
	NIC_BAD_DESCRIPTORS,       /* invalid indices and lengths written by the card */
	NIC_RESETS,                /* resets of the card, including failed ones */
	NIC_LINK_LOSSES,           /* times that the carrier was lost */
	NIC_COUNTERS
};

/* Why the card raises no interrupts, so that a timer must poll it. */
enum nic_silence {
	NIC_UNHEARD = 1,           /* its interrupt line is not connected */
	NIC_FAILED  = 2            /* it is down; polls retry the reset from time to time */
};

struct nic;

struct nic_ops {
	const char *name;
	/*
	 * Send one frame, gathered from at most NIC_PIECES pieces. After NIC_OK the caller
	 * must not change the pieces until sent(cookie). That call comes exactly once, even
	 * if the card is reset, and perhaps before send() returns. After any other result
	 * sent() does not come.
	 */
	int (*send)(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie);
	/* Report completed sends and up to `budget` received frames; returns how many frames.
	 * If interrupts are on and the result is below `budget`, anything that arrives later
	 * raises an interrupt. */
	uint32_t (*poll)(struct nic *nic, uint32_t budget);
	/* 1: interrupt at the next arrival. The caller then polls once for earlier arrivals. */
	void (*interrupts)(struct nic *nic, int on);
	/* The card's interrupt was raised: mask it until the next poll. Null: not needed. */
	void (*interrupted)(struct nic *nic);
	/* The card's second interrupt was raised, for link changes and errors: the next poll
	 * finds the cause. Null: the card has none. */
	void (*changed)(struct nic *nic);
	void (*close)(struct nic *nic);
	/*
	 * Bulk cards only, null for others. Post one receive buffer. The card fills buffers in
	 * the order in which they were posted, one frame each. The first NIC_BULK_HEADER bytes
	 * of a frame go to the driver's memory, the next ones into the n pieces (at most
	 * NIC_BULK_PIECES), and any excess to memory that is never read. While no buffer is
	 * posted, frames wait outside the card or are lost. With interrupts on, the card
	 * interrupts when it has filled the last buffer, or one posted with `interrupt`.
	 * NIC_OK, NIC_FULL or NIC_DOWN.
	 */
	int (*post)(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int interrupt);
	/* Withdraw all posted buffers: the card does not write to them after this returns. */
	void (*withdraw)(struct nic *nic);
};

struct nic {
	const struct nic_ops *ops;
	uint32_t mtu;              /* most bytes of a frame, Ethernet header included, CRC not */
	uint32_t ring;             /* slots of the receive ring */
	uint8_t address[NIC_ADDRESS_BYTES];
	uint8_t silent;            /* bits of enum nic_silence; 0: the card interrupts */
	void *context;             /* argument of the three callbacks; the user sets all four */
	/* A frame has arrived; the driver reuses its memory after the call. */
	void (*receive)(void *context, const uint8_t *frame, uint32_t bytes);
	/* The card has read the pieces of the send with this cookie. */
	void (*sent)(void *context, uint64_t cookie);
	/* Bulk cards: the oldest posted buffer now holds a frame of this many bytes and belongs
	 * to the user again; `header` is the frame's header. Null: the card was reset, and all
	 * posted buffers are withdrawn. */
	void (*landed)(void *context, const uint8_t *header, uint32_t bytes);
	uint64_t counters[NIC_COUNTERS];
};

/* Whether a frame is addressed to this card, or is multicast or broadcast. */
static inline int nic_is_for(const struct nic *nic, const uint8_t *frame)
{
	return frame[0] & 1 || __builtin_memcmp(frame, nic->address, NIC_ADDRESS_BYTES) == 0;
}

#endif
