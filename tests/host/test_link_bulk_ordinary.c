/*
 * Which of its two cards a link uses for parts of long messages.
 */
#include "bulk_probe.h"

static struct probe probe;
static struct bulk_card card;

/* Without announcements of its own there is no memory to set parts aside. */
TEST(link_that_announces_nothing_posts_nothing)
{
	struct wire wire = bulk_announcement(0, 2 * PART);

	bulk_start_with(&probe, &card, 0);
	probe_give(&probe, PEER, &wire, 0);
	CHECK_IS(bulk_buffers(&card), 0);
	CHECK_IS(probe.sent[probe.n_sent - 1].kind, WIRE_KIND_GRANT);
	CHECK_IS(probe.sent[probe.n_sent - 1].ordinary, 1);
	link_ended(probe.link, probe.now, PEER, 0);
	probe_close(&probe, 1);
}

/* A part for which a buffer is posted is not accepted by the ordinary card, as the bulk card may
 * write to its place at any time. */
TEST(link_takes_no_part_by_the_wrong_card)
{
	struct wire wire = bulk_announcement(0, 600);

	bulk_start(&probe, &card);
	probe_give(&probe, PEER, &wire, 7);
	wire = bulk_part(0, 0, PART);
	probe_give(&probe, PEER, &wire, 0);
	TOLD(&probe, "b");
	CHECK_IS(link_counter(probe.link, LINK_DUPLICATES), 1);
	CHECK_IS(link_counter(probe.link, LINK_COPIED), 0);
	link_ended(probe.link, probe.now, PEER, 0);
	probe_close(&probe, 1);
}
