/*
 * The kernel's polling of its network cards and its waiting (polling.h): no event is slept through,
 * at whatever moment it comes, and the timer is set for the link's deadline.
 */
#include "polling.h"

static void waits(enum control control, enum what what, uint32_t at)
{
	begin(control, what, at);
	if (setjmp(is.asleep)) {
		check_differs(__FILE__, __LINE__, what == FRAME ? "slept over a frame at step" :
			      "slept over a completion at step", at, -1);
		return;
	}
	CHECK(wait_until(is_over, 0, NEVER, "the test"));
}

/* The end of a send is visible only when the card is polled. */
TEST(a_waiting_node_sleeps_over_nothing)
{
	for (uint32_t at = 0; at < STEPS; at++)
		for (int control = CONTROL_INTERRUPT; control <= CONTROL_WATCHDOG; control++) {
			waits((enum control)control, FRAME, at);
			waits((enum control)control, COMPLETION, at);
		}
}

/* As in a wait for the console within the link's own code, where polling is off. */
TEST(frames_that_come_while_polling_is_off_are_read_later)
{
	begin(CONTROL_INTERRUPT, FRAME, NO_STEP);
	CHECK(!wait_until(is_over, 0, is.now + 1000, "the test"));
	busy = true;
	is.at = is.step;
	CHECK(!wait_until(is_over, 0, is.now + 1000, "the test"));
	busy = false;
	CHECK_IS(is.frames, 1);
	if (setjmp(is.asleep)) {
		check_differs(__FILE__, __LINE__, "slept over a frame", 1, 0);
		return;
	}
	CHECK(wait_until(is_over, 0, NEVER, "the test"));
}

TEST(an_application_is_interrupted_by_what_comes)
{
	for (uint32_t at = 0; at < STEPS; at++) {
		begin(CONTROL_INTERRUPT, FRAME, at);
		link_frames_resume();
		while (is.step <= at)
			step();
		is.rests = 0;
		if (is.interrupt) {
			link_frames_arrival(true);
			CHECK_IS(is.rests, 1);  /* its sender needs no timeout */
		}
		CHECK_IS(is.taken, 1);
		CHECK(is.armed);
	}
}

TEST(the_links_time_is_served_while_one_waits)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.deadline = is.now + 500000;
	CHECK(!wait_until(is_over, 0, is.now + 1000000, "the test"));
	CHECK_IS(is.ticks, 1);
}

/* Nor does a node that sometimes receives a frame. */
TEST(an_idle_node_wakes_for_no_timer)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	received_ns = is.now;
	steady = 0;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	received_ns = is.now;
	steady = STEADY;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK(node.counters[COUNTER_HALTS] <= 2);
	CHECK_IS(is.ticks, 0);
}

/* Waits 2 ms without an arrival after a frame, while a retransmission is due soon. */
static uint64_t halts_of_quick(bool only_resends)
{
	uint64_t before = node.counters[COUNTER_HALTS];

	slack_ns = MOST_SLACK_NS;
	received_ns = is.now;
	steady = STEADY;
	is.deadline = is.now + 500000;
	is.only_resends = only_resends;
	CHECK(!wait_until(is_over, 0, is.now + 2000000, "the test"));
	CHECK_IS(slack_ns, SLACK_NS);       /* late by the slack, or no more frames come */
	return node.counters[COUNTER_HALTS] - before;
}

TEST(timer_slack_grows_while_traffic_is_steady)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.pending = 0;
	CHECK_IS(halts_of_quick(true), 1);
	CHECK_IS(halts_of_quick(false), 2);
	for (uint64_t ns = 2 * SLACK_NS; ns < 32 * SLACK_NS; ns *= 2) {
		received_ns = is.now;
		steady = STEADY;
		is.deadline = is.now + 40000000;
		link_frames_alarm(false);       /* nothing has arrived */
		CHECK_IS(slack_ns, ns < MOST_SLACK_NS ? ns : MOST_SLACK_NS);
	}
	link_frames_arrival(true);              /* it computes, and its peer may wait for it */
	CHECK_IS(slack_ns, SLACK_NS);
}

TEST(the_timer_is_set_soon_while_messages_wait)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	slack_ns = MOST_SLACK_NS;
	for (uint32_t delays = 0; delays < 2; delays++) {
		is.delays = delays;
		is.timer = NEVER;
		received_ns = polled_ns = is.now;
		steady = STEADY;
		is.deadline = is.now + 50000;
		set_timer();
		CHECK_IS(is.timer, polled_ns + (delays ? SLACK_NS : MOST_SLACK_NS));
	}
	is.delays = false;
	slack_ns = SLACK_NS;
}

TEST(what_ends_when_the_node_is_about_to_halt_is_not_slept_over)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.pending = 2;
	is.end_at_rest = 1;
	CHECK(!link_frames_rest());
	CHECK(link_frames_rest());
	is.pending = 0;
}

/* Two frames close together are no exchange. */
TEST(two_frames_after_a_pause_wake_for_no_timer)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	is.now += 100 * STEADY_NS;
	for (uint32_t i = 0; i < 2; i++) {
		is.frames++;
		link_frames_poll();
		CHECK(!is_steady());
	}
	is.over = false;
	is.deadline = is.now + 40000000;
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
	is.frames++;
	link_frames_poll();
	CHECK(!is_steady());
	for (uint32_t i = 0; i < 2; i++) {
		is.frames++;
		link_frames_poll();
	}
	CHECK(is_steady());
}

TEST(a_timer_that_is_no_longer_wanted_does_not_wake)
{
	begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
	steady = 0;
	is.deadline = is.now + 40000000;
	ktimer_arm(is.now + 1000000);
	CHECK(!wait_until(is_over, 0, is.now + 30000000, "the test"));
	CHECK_IS(node.counters[COUNTER_HALTS], 1);
}

static void do_one(void)
{
	struct initiator_args args = { .target_nid = 1 };

	link_frames_start_operation(&args);
}

static void look_at_deadline(void)
{
	is.deadline = 1000;                     /* long ago; the tick sets another one */
	link_frames_progress();
	soon();
	link_frames_progress();
}

/* At most 1 ms late: the application computes, and may send before. */
static bool is_set(void)
{
	return is.deadline != NEVER && is.timer <= is.deadline + 1000000;
}

TEST(the_timer_is_set_for_what_the_link_wants)
{
	static void (*const ways[])(void) = { do_one, look_at_deadline };

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		begin(CONTROL_POLL, NOTHING, NO_STEP);
		ways[i]();
		CHECK(is_set());
	}
	for (uint32_t next = 0; next <= 512; next += 512) {
		begin(CONTROL_INTERRUPT, NOTHING, NO_STEP);
		link_frames_ended(2, next);
		CHECK(is_set());
	}
}
