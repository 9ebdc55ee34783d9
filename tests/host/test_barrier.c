/*
 * BARRIER messages that a correct sender cannot have sent (net/portals/barrier.c) are dropped and
 * counted, and do not affect later barriers.
 */
#include "../../net/portals/deliver.h"
#include "world.h"

enum { FIRST = 40, SIZE = 6, ME = FIRST + 2 };

static struct world w;

static void open_job(uint32_t launched)
{
	world_open(&w, &small_limits);
	w.views[0].nid = ME;
	w.views[0].job = (struct barrier_job){ .first_nid = FIRST, .processes = SIZE,
	                                       .launched = launched };
}

static void close_job(void)
{
	w.views[0].nid = 0;
	world_close(&w);
}

/* By both ways of delivery; the counter shows the result. */
static int comes(struct message message)
{
	static int turn;
	struct message answer;
	struct grant grant;

	message.operation = MESSAGE_BARRIER;
	if (turn++ % 2)
		return deliver_begin(&w.views[0], &message, message.source_nid, &grant, &answer);
	return deliver_inline(&w.views[0], &message, 0, &grant, &answer, 0);
}

static struct message round_from(uint32_t rank, uint32_t round)
{
	return (struct message){ .source_nid = FIRST + rank, .source_pid = 1,
	                         .target_nid = ME, .target_pid = 1, .pt_index = round };
}

static uint64_t arrived(uint32_t news)
{
	return w.views[0].block->barrier[news];
}

TEST(a_round_is_believed_of_its_sender_only)
{
	static const uint32_t senders[] = { 1, 0, 4 };  /* to rank 2 of 6, in rounds 0, 1, 2 */
	uint64_t dropped = 0;

	open_job(1);
	for (uint32_t round = 0; round < BLOCK_BARRIER_ROUNDS; round++)
		for (uint32_t rank = 0; rank < SIZE + 2; rank++) {
			int mine = round < 3 && rank == senders[round];

			CHECK_IS(comes(round_from(rank, round)), mine ? DELIVER_OK : DELIVER_DROPPED);
			dropped += !mine;
		}
	for (uint32_t news = 0; news < BLOCK_BARRIER_NEWS; news++)
		CHECK_IS(arrived(news), news < 3);
	CHECK_IS(status(&w, 0, STAT_DROPPED), dropped);
	close_job();
}

TEST(a_node_before_the_first_of_the_job_is_none)
{
	struct message message = round_from(1, 0);

	open_job(1);
	message.source_nid = FIRST - 1;
	CHECK_IS(comes(message), DELIVER_DROPPED);
	message.source_nid = UINT32_MAX;
	CHECK_IS(comes(message), DELIVER_DROPPED);
	CHECK_IS(arrived(0), 0);
	close_job();
}

TEST(a_barrier_ahead_and_no_more)
{
	open_job(1);
	for (uint64_t entered = 0; entered < 5; entered++) {
		w.views[0].job.entered = entered;
		CHECK_IS(comes(round_from(1, 0)), DELIVER_OK);
		CHECK_IS(comes(round_from(1, 0)), DELIVER_DROPPED);
		CHECK_IS(arrived(0), entered + 1);
	}
	close_job();
}

TEST(no_process_fails_the_barriers_of_a_launched_job)
{
	open_job(1);
	for (uint32_t rank = 0; rank < SIZE; rank++)
		for (uint32_t news = BLOCK_BARRIER_ROUNDS; news < BLOCK_BARRIER_NEWS + 1; news++)
			CHECK_IS(comes(round_from(rank, news)), DELIVER_DROPPED);
	CHECK_IS(comes(round_from(1, UINT32_MAX)), DELIVER_DROPPED);
	CHECK_IS(arrived(BLOCK_BARRIER_FAILED) + arrived(BLOCK_BARRIER_PING), 0);
	close_job();
}

TEST(boards_tell_each_other_of_failure)
{
	open_job(0);
	CHECK_IS(comes(round_from(5, BLOCK_BARRIER_FAILED)), DELIVER_OK);
	CHECK_IS(comes(round_from(SIZE, BLOCK_BARRIER_FAILED)), DELIVER_DROPPED);
	CHECK_IS(arrived(BLOCK_BARRIER_FAILED), 1);
	close_job();
}

TEST(a_round_is_believed_between_processes_of_the_job_only)
{
	struct message message = round_from(1, 0);

	open_job(1);
	message.source_pid = 2;
	CHECK_IS(comes(message), DELIVER_DROPPED);
	message.source_pid = 1, message.target_pid = 2;
	CHECK_IS(comes(message), DELIVER_DROPPED);
	CHECK_IS(arrived(0), 0);
	close_job();
}
