/*
 * ptl_linkloss TIMES: two ranks put to each other in turns while the test unplugs their cards, each
 * of them TIMES times. A rank prints when its kernel has counted another loss, which the test
 * awaits before it plugs the card in again; rank 0 prints when messages continue after that. After
 * all of them 100 more turns must succeed. Each prints "ok" at the end.
 */
#include "ptl.h"
#include <margay/counters.h>

enum { MORE_TURNS = 100, END = -1 };

static struct roles roles;
static ptl_handle_md_t md;
static uint64_t losses;            /* of the own link, those printed */

static void look_for_losses(void)
{
	uint64_t counters[COUNTER_COUNT];

	margay_counters(counters, COUNTER_COUNT);
	while (losses < counters[COUNTER_CARD_LINK_LOSSES])
		printf("rank %d: link lost, %lu\n", margay_rank(), (unsigned long)++losses);
	fflush(stdout);
}

static void tell(uint64_t what)
{
	EQUAL(PtlPut(md, PTL_NO_ACK_REQ, margay_process(!margay_rank()), PT, 0, 1, 0, what), PTL_OK);
}

/* Wait for the peer's message, however long that takes. */
static uint64_t hear(void)
{
	ptl_event_t event;
	int which;

	while (PtlEQPoll(&roles.eq, 1, 10, &event, &which) == PTL_EQ_EMPTY)
		look_for_losses();
	look_for_losses();
	EQUAL(event.type, PTL_EVENT_PUT_END);
	EQUAL(event.ni_fail_type, PTL_NI_OK);
	return event.hdr_data;
}

int main(int argc, char **argv)
{
	uint64_t times = argc > 1 ? strtoull(argv[1], 0, 10) : 0, peers = 0;
	int more = 0;

	open_roles(&roles);
	attach(&roles, 1, 0, memory(roles.in, 8, PTL_MD_THRESH_INF,
	                            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, roles.eq), PTL_RETAIN);
	EQUAL(PtlMDBind(roles.job.ni, memory(roles.out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_OK);
	sync_ranks(&roles);
	if (margay_rank() == 0) {
		/* A turn that begins after a counted loss ends when the link is back. */
		for (uint64_t said = END; peers + losses < 2 * times || more++ < MORE_TURNS;) {
			uint64_t known = peers + losses;

			tell(losses);
			peers = hear();
			if (known != said)
				printf("messages go on after %lu losses\n", (unsigned long)known);
			said = known;
			fflush(stdout);
		}
		tell(END);
		EQUAL(peers, times);
	} else {
		while (hear() != (uint64_t)END)
			tell(losses);
	}
	EQUAL(losses, times);
	puts("ok");
	return 0;
}
