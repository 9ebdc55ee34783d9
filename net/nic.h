/*
 * The network card, as its driver shows it: the one seam of function pointers
 * between frames and hardware. Drivers implement it (drivers/, and host/netsim.c
 * for simulated networks); net/link and net/frames use it, and in a kernel kernel/transport.
 *
 * All calls come from one processor with interrupts off, and none blocks. What
 * the card does is never trusted by the driver, what the wire does is never
 * trusted by the link: a frame that is handed up may contain anything.
 */
#ifndef NET_NIC_H
#define NET_NIC_H
#include <stdint.h>

#define NIC_PIECES        16u      /* most pieces of one frame */
#define NIC_ADDRESS_BYTES 6u
#define NIC_BULK_HEADER   64u      /* bytes of a frame that a bulk card keeps apart */
#define NIC_BULK_PIECES   6u       /* most pieces of one room on a bulk card */

enum nic_result {
	NIC_OK   =  0,
	NIC_FULL = -1,             /* no room: try again after sent() has been called */
	NIC_DOWN = -2              /* no link, or being reset: the frame is lost */
};

/* Contiguous bytes as the sender maps them; the driver translates. */
struct nic_piece {
	const void *bytes;
	uint32_t length;
};

/* What every driver counts. */
enum nic_counter {
	NIC_FRAMES_OUT, NIC_BYTES_OUT,
	NIC_FRAMES_IN, NIC_BYTES_IN,
	NIC_DROPS_OUT,             /* frames that could not be sent */
	NIC_DROPS_IN,              /* frames that the card had no room for, or was wrong about */
	NIC_BAD_DESCRIPTORS,       /* indices and lengths from the card that cannot be */
	NIC_RESETS,                /* also those that failed */
	NIC_LINK_LOSSES,           /* times that a link went down which was up */
	NIC_COUNTERS
};

/* Why no interrupt of the card comes, and a timer must look at it. */
enum nic_silence {
	NIC_UNHEARD = 1,           /* its line reaches no interrupt controller */
	NIC_FAILED  = 2            /* it is down, and polls try to reset it now and then */
};

struct nic;

struct nic_ops {
	const char *name;
	/*
	 * Send one frame, gathered from at most NIC_PIECES pieces. NIC_OK: the
	 * pieces stay untouched until sent(cookie), which comes exactly once,
	 * perhaps before this call returns, also if the card is reset. Any other
	 * result: sent() does not come.
	 */
	int (*send)(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie);
	/* Completions, and up to `budget` received frames; returns how many frames. With
	 * interrupts on and fewer than `budget`, one comes for what arrives after its last
	 * look. */
	uint32_t (*poll)(struct nic *nic, uint32_t budget);
	/* 1: interrupt at the next arrival; the caller then polls once, for what came before. */
	void (*interrupts)(struct nic *nic, int on);
	/* Its interrupt has come: no further one until it is polled. Null: it needs not
	 * be told. */
	void (*interrupted)(struct nic *nic);
	/* Its other interrupt has come, of its link or its troubles: the next poll looks what
	 * it is. Null: it has none. */
	void (*changed)(struct nic *nic);
	void (*close)(struct nic *nic);
	/*
	 * Of bulk cards only, null for others. Such a card receives into rooms that it is
	 * given one by one and fills in that order, a frame each: the first
	 * NIC_BULK_HEADER bytes go to memory of the driver, the next into at most
	 * NIC_BULK_PIECES pieces, which are written to, and what does not fit to memory
	 * that is not read. Without a room frames wait outside and come later, or are lost.
	 * With interrupts on, one comes when a room is filled that was posted with
	 * `tell`, or the last of all. NIC_OK, NIC_FULL or NIC_DOWN.
	 */
	int (*post)(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int interrupt);
	/* All rooms are gone: when this returns nothing is written to them any more. */
	void (*take_back)(struct nic *nic);
};

struct nic {
	const struct nic_ops *ops;
	uint32_t mtu;              /* most bytes of a frame, Ethernet's header in, its CRC out */
	uint32_t ring;             /* slots for frames until they are polled */
	uint8_t address[NIC_ADDRESS_BYTES];
	uint8_t silent;            /* a bit per reason, of enum nic_silence */
	void *context;             /* of the three callbacks below, which the user of the card sets */
	/* A frame has arrived; it is the driver's again after the call. */
	void (*receive)(void *context, const uint8_t *frame, uint32_t bytes);
	/* The card has read the pieces of the send with this cookie. */
	void (*sent)(void *context, uint64_t cookie);
	/* Bulk cards: the oldest room holds a frame of this many bytes, whose header is
	 * here; it is the user's again. Null: the card was reset, all rooms are gone. */
	void (*landed)(void *context, const uint8_t *header, uint32_t bytes);
	uint64_t counters[NIC_COUNTERS];
};

/* Whether a frame is sent to this card's address, or to several. */
static inline int nic_is_for(const struct nic *nic, const uint8_t *frame)
{
	return frame[0] & 1 || __builtin_memcmp(frame, nic->address, NIC_ADDRESS_BYTES) == 0;
}

#endif
