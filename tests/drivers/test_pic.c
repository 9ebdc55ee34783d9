/*
 * The legacy interrupt controllers' driver against two 8259A made of plain memory: masks, vectors,
 * finding a line, the order of ends, spurious interrupts, masked inputs. The model implements fully
 * nested mode as in the data sheet (231468-003); the processor's port instructions are replaced
 * here.
 */
#define KERNEL_X86_H               /* replaced by the two functions below */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/host/check.h"

enum { MASTER_PORT = 0x20, SLAVE_PORT = 0xa0, LEVEL_PORT = 0x4d0, CASCADE_INPUT = 2, NO_VECTOR = -1 };

struct chip {
	uint8_t lines;             /* state of the inputs, a bit each */
	uint8_t latched;           /* edges not yet acknowledged */
	uint8_t level;             /* inputs that are level triggered */
	uint8_t masks, service;
	uint8_t base;              /* vector of input 0 */
	uint8_t words;             /* how many of ICW2 to ICW4 are still expected */
	uint8_t cascade;           /* ICW3 */
	bool mode_8086, shows_service;
	uint32_t ends;             /* EOIs that found something in service */
};

static struct chip chips[2];       /* first, second */
static bool external;              /* the local APIC passes their interrupts on */
static uint32_t ends_in_vain;

static uint8_t asks(const struct chip *chip)
{
	return (uint8_t)(chip->lines & (chip->level | chip->latched));
}

/* The second one's output is connected to the first one's input 2. */
static bool has_request(const struct chip *chip)
{
	uint8_t open = asks(chip) & (uint8_t)~chip->masks;

	/* fully nested: no interrupt of the same or lower priority while one is in service */
	return open && (!chip->service || (open & -open) < (chip->service & -chip->service));
}

static void settle(void)
{
	uint8_t bit = 1u << CASCADE_INPUT;
	bool before = chips[0].lines & bit, now = has_request(&chips[1]);

	chips[0].lines = (uint8_t)((chips[0].lines & ~bit) | (now ? bit : 0));
	if (now && !before)
		chips[0].latched |= bit;
}

static void line(uint32_t input, bool up)
{
	struct chip *chip = &chips[input / 8];
	uint8_t bit = (uint8_t)(1u << input % 8);

	if (up && !(chip->lines & bit))
		chip->latched |= bit;
	chip->lines = (uint8_t)(up ? chip->lines | bit : chip->lines & ~bit);
	settle();
}

/* Acknowledge at one chip: without a request the result is input 7, and nothing is in service. */
static int acknowledge(struct chip *chip)
{
	uint8_t open = asks(chip) & (uint8_t)~chip->masks, bit = (uint8_t)(open & -open);

	if (!open)
		return 7;
	chip->service |= bit;
	chip->latched &= (uint8_t)~bit;
	return __builtin_ctz(bit);
}

/* The processor accepts an interrupt; `withdrawn`: the device's line falls before the
 * acknowledge cycle, too late for the line between the controllers. */
static int take(bool withdrawn)
{
	int vector;

	settle();
	if (!external || !has_request(&chips[0]))
		return NO_VECTOR;
	if (withdrawn) {
		chips[0].lines &= 1u << CASCADE_INPUT;
		chips[1].lines = 0;
	}
	vector = chips[0].base + acknowledge(&chips[0]);
	if (vector == chips[0].base + CASCADE_INPUT)
		vector = chips[1].base + acknowledge(&chips[1]);
	settle();
	return vector;
}

static void initialise(struct chip *chip, uint8_t value)
{
	if (chip->words == 3)
		chip->base = value;
	else if (chip->words == 2)
		chip->cascade = value;
	else
		chip->mode_8086 = value & 1;
	chip->words--;
}

static void command(struct chip *chip, uint8_t value)
{
	if (value & 0x10) {                /* ICW1 */
		CHECK_IS(value, 0x11);
		chip->words = 3;
		chip->masks = chip->service = chip->latched = 0;
		chip->shows_service = false;
	} else if (value & 0x08) {         /* OCW3 */
		chip->shows_service = value & 1;
	} else {                           /* OCW2 */
		CHECK_IS(value, 0x20);
		ends_in_vain += !chip->service;
		chip->ends += chip->service != 0;
		chip->service &= (uint8_t)(chip->service - 1);
	}
}

static inline void outb(uint16_t port, uint8_t value)
{
	struct chip *chip = &chips[(port & ~1) == SLAVE_PORT];

	if ((port & ~1) == LEVEL_PORT) {
		chips[port & 1].level = value;
	} else if ((port & ~1) != MASTER_PORT && (port & ~1) != SLAVE_PORT) {
		CHECK(!"a port of the controllers");
	} else if (!(port & 1)) {
		command(chip, value);
	} else if (chip->words) {
		initialise(chip, value);
	} else {
		chip->masks = value;
	}
	settle();
}

static inline uint8_t inb(uint16_t port)
{
	const struct chip *chip = &chips[(port & ~1) == SLAVE_PORT];

	if ((port & ~1) == LEVEL_PORT)
		return chips[port & 1].level;
	if (port & 1)
		return chip->masks;
	return chip->shows_service ? chip->service : asks(chip);
}

#include "kernel/devices/pic.c"

void apic_open_legacy(void)
{
	external = true;
}

/* ---- the tests ---- */

static uint32_t wired;             /* inputs that the device's line reaches, a bit each */

static void move(void *context, bool up)
{
	(void)context;
	for (uint32_t input = 0; input < INPUTS; input++)
		if (wired >> input & 1)
			line(input, up);
}

static void begin(void)
{
	memset(chips, 0, sizeof(chips));
	chips[0].masks = chips[1].masks = 0;
	external = false;
	ends_in_vain = opened = wired = 0;
	pic_start();
}

static bool route(uint32_t inputs, uint8_t hint)
{
	wired = inputs;
	return pic_route(move, 0, hint);
}

static void nothing_in_service(void)
{
	CHECK_IS(chips[0].service | chips[1].service, 0);
	CHECK_IS(ends_in_vain, 0);
}

TEST(controllers_start_masked_and_away_from_exceptions)
{
	begin();
	CHECK_IS(chips[0].base, VECTOR_PIC);
	CHECK_IS(chips[1].base, VECTOR_PIC + 8);
	CHECK_IS(chips[0].masks & chips[1].masks, 0xff);
	CHECK_IS(chips[0].cascade, 1 << CASCADE_INPUT);
	CHECK_IS(chips[1].cascade, CASCADE_INPUT);
	CHECK(chips[0].mode_8086 && chips[1].mode_8086 && !external);
	for (uint32_t input = 0; input < INPUTS; input++)
		if (input != CASCADE_INPUT)
			line(input, true);
	external = true;
	CHECK_IS(take(false), NO_VECTOR);
}

TEST(a_line_is_found_by_moving_it)
{
	for (uint32_t input = 0; input < INPUTS; input++) {
		bool can = !(NOT_PCI >> input & 1);
		uint32_t open = 1u << input | (input >= 8 ? 1u << CASCADE_INPUT : 0);

		begin();
		CHECK_IS(route(1u << input, 255), can);
		CHECK_IS(external, can);
		CHECK_IS(chips[0].masks | chips[1].masks << 8, can ? 0xffff & ~open : 0xffff);
		CHECK_IS(chips[0].level | chips[1].level << 8, can ? 1u << input : 0);
	}
}

TEST(a_hint_is_believed_only_if_the_line_moves_it)
{
	begin();
	CHECK(!route(0, 11));                           /* it is connected to no input */
	CHECK(!route(1u << 10 | 1u << 11, 255));        /* or to two, with no hint */
	CHECK(!route(1u << 10 | 1u << 11, 5));
	CHECK(route(1u << 10 | 1u << 11, 11));
	CHECK_IS(opened, 1u << 11);
	CHECK(route(1u << 9, 0));                       /* the clock's input, which is impossible */
	line(5, true);
	CHECK(!route(1u << 5, 5));                      /* another device holds it active */
	CHECK_IS(opened, 1u << 11 | 1u << 9);
}

TEST(an_interrupt_is_ended_at_both_controllers)
{
	static const uint8_t inputs_of[] = { 5, 7, 11, 15 };

	for (uint32_t i = 0; i < sizeof(inputs_of); i++) {
		uint32_t input = inputs_of[i], vector = VECTOR_PIC + input;

		begin();
		CHECK(route(1u << input, 255));
		for (int again = 0; again < 2; again++) {
			line(input, true);
			CHECK_IS(take(false), vector);
			if (again)                              /* it is a real one nevertheless */
				line(input, false);
			CHECK(pic_begin(vector));
			CHECK_IS(take(false), NO_VECTOR);       /* none while it is in service */
			line(input, false);
			pic_end(vector);
			CHECK_IS(take(false), NO_VECTOR);
		}
		nothing_in_service();
	}
}

TEST(a_line_that_stays_up_interrupts_again)
{
	begin();
	CHECK(route(1u << 11, 11));
	line(11, true);
	for (int again = 0; again < 3; again++) {
		CHECK_IS(take(false), VECTOR_PIC + 11);
		CHECK(pic_begin(VECTOR_PIC + 11));
		pic_end(VECTOR_PIC + 11);
	}
	pic_close(VECTOR_PIC + 11);
	CHECK_IS(take(false), NO_VECTOR);
	CHECK_IS(chips[0].masks & chips[1].masks, 0xff);
	nothing_in_service();
}

/* A request that is withdrawn before the acknowledge cycle becomes input 7 of that controller. */
TEST(interrupts_that_were_none_leave_nothing_in_service)
{
	static const struct { uint8_t input, says; } rows[] = { { 5, 7 }, { 7, 7 }, { 11, 15 }, { 15, 15 } };

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		CHECK(route(1u << rows[i].input, 255));
		line(rows[i].input, true);
		CHECK_IS(take(true), VECTOR_PIC + rows[i].says);
		CHECK(!pic_begin(VECTOR_PIC + rows[i].says));
		nothing_in_service();
		line(rows[i].input, true);              /* the next one is accepted */
		CHECK_IS(take(false), VECTOR_PIC + rows[i].input);
		CHECK(pic_begin(VECTOR_PIC + rows[i].input));
		pic_end(VECTOR_PIC + rows[i].input);
		nothing_in_service();
	}
}

TEST(a_closed_input_leaves_the_others_open)
{
	begin();
	CHECK(route(1u << 10, 255));
	CHECK(route(1u << 11, 255));
	CHECK(route(1u << 5, 255));
	pic_close(VECTOR_PIC + 10);
	line(10, true);
	CHECK_IS(take(false), NO_VECTOR);
	line(11, true);
	CHECK_IS(take(false), VECTOR_PIC + 11);
	CHECK(pic_begin(VECTOR_PIC + 11));
	line(11, false);
	pic_end(VECTOR_PIC + 11);
	pic_close(VECTOR_PIC + 11);
	CHECK(chips[0].masks & 1u << CASCADE_INPUT);
	line(5, true);
	CHECK_IS(take(false), VECTOR_PIC + 5);
	CHECK(pic_begin(VECTOR_PIC + 5));
	pic_end(VECTOR_PIC + 5);
	nothing_in_service();
}

/* As line_interrupt in kernel/transport/cards.c masks it: between begin and end. */
TEST(an_input_that_is_closed_while_in_service_is_ended)
{
	begin();
	CHECK(route(1u << 11, 255));
	line(11, true);
	CHECK_IS(take(false), VECTOR_PIC + 11);
	CHECK(pic_begin(VECTOR_PIC + 11));
	pic_close(VECTOR_PIC + 11);
	pic_end(VECTOR_PIC + 11);
	CHECK_IS(take(false), NO_VECTOR);
	nothing_in_service();
}
