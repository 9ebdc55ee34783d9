/*
 * A probe with a bulk card that takes buffers: the test says which parts of long messages land in
 * them, and when. It sends nothing.
 */
#ifndef TESTS_BULK_PROBE_H
#define TESTS_BULK_PROBE_H
#include "link_probe.h"

enum { PEER = 1, OTHER = 2, PART = 256, PLACE = 1 << 16 };

struct bulk_card {
	struct nic nic;
	struct nic_piece ring[PLACE / PART]; /* posted buffers */
	uint32_t posted, filled;             /* count of all of them; of those filled or withdrawn */
	uint32_t told;                       /* buffers that interrupt when they are filled */
	uint32_t fails;                      /* so many more posts fail */
	uint8_t memory[PLACE];               /* where long messages go; initially 0 */
};

/* Open and start a probe with this card; also with another link_config.announce. */
void bulk_start(struct probe *p, struct bulk_card *card);
void bulk_start_with(struct probe *p, struct bulk_card *card, uint32_t announce);
/* The buffers that the card has now. */
uint32_t bulk_buffers(const struct bulk_card *card);

/* Frames of PEER, or of another node: the announcement of a message in parts of PART bytes or less;
 * a part of the message with this sequence number. */
struct wire bulk_announcement(uint32_t sequence, uint64_t length);
struct wire bulk_part(uint32_t sequence, uint32_t part, uint32_t bytes);

/* The card writes `bytes` bytes of this value to the next buffer; the link does not know it yet. */
void bulk_fill(struct bulk_card *card, uint32_t value, uint32_t bytes);
/* The link learns that this frame of a node has landed. */
void bulk_tell(struct probe *p, uint32_t node, const struct wire *wire);

#endif
