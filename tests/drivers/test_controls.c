/*
 * Interrupts of an application that computes, for each --control (polling.h): none without
 * messages, and with the watchdog only after a long time without a poll; but the kernel always
 * polls the card in the end.
 */
#include "polling.h"

/* The application, with interrupts on. */
static void compute(uint64_t ns)
{
	for (uint64_t end = is.now + ns; is.now < end; is.now += TURN_NS) {
		step();
		if (is.interrupt)
			interrupt(true);
		if (is.timer <= is.now)
			alarm(true);
	}
}

/* It has waited for the last time, and nothing is pending. */
static void begin_to_compute(enum control control, enum what what, uint32_t at)
{
	begin(control, NOTHING, NO_STEP);
	is.pending = 0;
	CHECK(!wait_until(is_over, 0, is.now + 1000, "the test"));
	is.timer = NEVER;
	link_frames_resume();
	is.step = is.arrivals = is.alarms = 0;
	is.what = what;
	is.at = at;
}

TEST(nothing_interrupts_a_node_that_computes)
{
	for (int control = CONTROL_INTERRUPT; control <= CONTROL_WATCHDOG; control++) {
		begin_to_compute((enum control)control, NOTHING, NO_STEP);
		compute(100 * WATCHDOG_NS);
		CHECK_IS(is.arrivals + is.alarms, 0);
	}
}

TEST(poll_is_not_interrupted_by_what_comes)
{
	begin_to_compute(CONTROL_POLL, NOTHING, NO_STEP);
	frame_comes();
	compute(100 * WATCHDOG_NS);
	CHECK_IS(is.arrivals + is.alarms + is.taken, 0);
	link_frames_progress();
	CHECK_IS(is.taken, 1);
}

TEST(the_watchdog_interrupts_after_a_long_time_without_a_poll)
{
	begin_to_compute(CONTROL_WATCHDOG, NOTHING, NO_STEP);
	for (uint32_t frame = 1; frame <= 3; frame++) {
		compute(2 * WATCHDOG_NS);
		frame_comes();
		compute(2 * TURN_NS);
		CHECK_IS(is.taken, frame);
		CHECK_IS(is.arrivals, frame);
		CHECK_IS(is.alarms, 0);
	}
}

/* A frame soon after a poll waits for the next poll, or until the last poll is long ago. */
TEST(the_watchdog_does_not_interrupt_soon_after_a_poll)
{
	begin_to_compute(CONTROL_WATCHDOG, NOTHING, NO_STEP);
	link_frames_progress();
	frame_comes();
	compute(WATCHDOG_NS / 2);
	CHECK_IS(is.taken, 0);
	link_frames_progress();
	CHECK_IS(is.taken, 1);
	frame_comes();
	compute(WATCHDOG_NS - 10 * TURN_NS);
	CHECK_IS(is.taken, 1);
	compute(20 * TURN_NS);
	CHECK_IS(is.taken, 2);
	CHECK_IS(is.arrivals, 1);
}

TEST(the_watchdog_interrupts_once_and_rests_without_frames)
{
	enum { POLLS = 100, EACH_NS = WATCHDOG_NS / 4 };

	begin_to_compute(CONTROL_WATCHDOG, NOTHING, NO_STEP);
	for (uint32_t i = 0; i < POLLS; i++) {
		link_frames_progress();
		frame_comes();
		compute(EACH_NS);
	}
	CHECK_IS(is.taken, POLLS - 1);
	CHECK_IS(is.arrivals, 1);
	CHECK(is.alarms <= POLLS * EACH_NS / WATCHDOG_NS);
	is.alarms = 0;
	for (uint32_t i = 0; i < POLLS; i++) {
		link_frames_progress();
		compute(EACH_NS);
	}
	CHECK(is.alarms <= 2);
	CHECK(is.armed);
}

/* The application computes, and has just received a frame (the card's interrupts are off) or
 * not. */
TEST(the_watchdog_misses_nothing)
{
	for (uint32_t at = 0; at < STEPS; at++)
		for (uint32_t before = 0; before < 3; before++) {
			begin_to_compute(CONTROL_WATCHDOG, FRAME, at);
			for (uint32_t i = 0; i < before; i++) {
				frame_comes();
				compute(5 * TURN_NS);
				if (i)
					link_frames_progress();
			}
			while (is.step <= at)
				compute(TURN_NS);
			compute(2 * WATCHDOG_NS);
			CHECK_IS(is.taken, before + 1);
			compute(2 * WATCHDOG_NS);
			CHECK(is.armed);
		}
}

/* More frames than one poll takes: no interrupt comes for the rest. */
TEST(the_watchdog_comes_back_to_what_a_look_has_left)
{
	begin_to_compute(CONTROL_WATCHDOG, NOTHING, NO_STEP);
	is.frames = BUDGET;
	link_frames_progress();
	CHECK(!alert);
	CHECK(is.timer <= polled_ns + WATCHDOG_NS);
}
