/*
 * Letters on the screen; full screens scroll. Data: what the screen shows and the position of the
 * next character. A letter is drawn only where it differs from the one shown, so scrolling draws
 * only differences, and never reads the screen.
 */
#include "screen.h"

#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "font.h"

#define LEAST_COLUMNS  80u         /* letters are enlarged while a line still has this many */
#define CELL_WIDTH     (FONT_COLUMNS + 1)
#define CELL_HEIGHT    (FONT_LINES + 2)
#define TAB            8u
#define IDENTITY_END   0x100000000UL /* the first page tables map this much */

#define VGA_COLOUR     0x700u      /* grey on black */
#define VGA_INDEX      0x3d4u      /* CRTC registers of the VGA: index, data */
#define VGA_DATA       0x3d5u
#define VGA_CURSOR     0x0au
#define VGA_CURSOR_OFF 0x20u

static const struct screen_place *screen; /* NULL before screen_start */
static uint8_t *memory;            /* NULL: no screen */
static uint32_t columns, rows;     /* in letters */
static uint32_t scale;             /* enlargement of pixels; a text screen: 0 */
static uint32_t column, row;       /* of the next letter */
static bool     cleared;
static char     (*shown)[SCREEN_COLUMNS]; /* rows of letters; NULL before screen_map */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool find_size(void)
{
	uint32_t width = screen->width, height = screen->height;

	scale = 0;
	if (screen->pixel_bytes) {
		scale = width / (LEAST_COLUMNS * CELL_WIDTH);
		scale += !scale;
		width /= CELL_WIDTH * scale;
		height /= CELL_HEIGHT * scale;
	}
	columns = least(width, SCREEN_COLUMNS);
	rows = least(height, SCREEN_ROWS);
	return columns && rows;
}

void screen_start(const struct screen_place *told)
{
	uint64_t end = told->physical + (uint64_t)told->pitch * told->height;

	screen = told;
	if (screen_is_usable() && end <= IDENTITY_END)
		memory = (uint8_t *)told->physical;
}

bool screen_is_usable(void)
{
	return screen->physical && find_size();
}

void screen_map(void *mapped, void *cells)
{
	memory = mapped;
	shown = cells;
	cleared = false; /* earlier output is only on the serial port */
	column = row = 0;
}

/* White is all ones and black all zeros, in every pixel format. */
static void draw_letter(uint8_t *at, const uint8_t *letter)
{
	uint32_t bytes = screen->pixel_bytes * scale;

	for (uint32_t line = 0; line < FONT_LINES * scale; line++, at += screen->pitch)
		for (uint32_t i = 0; i < FONT_COLUMNS; i++) {
			bool set = letter[line / scale] & 1u << (FONT_COLUMNS - 1 - i);

			memset(at + i * bytes, set ? 0xff : 0, bytes);
		}
}

static void show(uint32_t y, uint32_t x, char c)
{
	if (shown) {
		if (shown[y][x] == c)
			return;
		shown[y][x] = c;
	}
	if (scale)
		draw_letter(memory + (uint64_t)y * CELL_HEIGHT * scale * screen->pitch +
		            x * CELL_WIDTH * scale * screen->pixel_bytes, font[c - FONT_FIRST]);
	else
		((volatile uint16_t *)(memory + y * screen->pitch))[x] = (uint8_t)c | VGA_COLOUR;
}

static void clear(void)
{
	cleared = true;
	if (scale) {
		memset(memory, 0, (uint64_t)screen->pitch * screen->height);
		if (shown)
			memset(shown, ' ', SCREEN_ROWS * SCREEN_COLUMNS);
		return;
	}
	outb(VGA_INDEX, VGA_CURSOR);
	outb(VGA_DATA, VGA_CURSOR_OFF);
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < columns; x++)
			show(y, x, ' ');
}

static void new_line(void)
{
	column = 0;
	if (++row < rows)
		return;
	row = shown ? rows - 1 : 0;
	for (uint32_t y = 0; shown && y < rows; y++)
		for (uint32_t x = 0; x < columns; x++)
			show(y, x, y < row ? shown[y + 1][x] : ' ');
}

/* Puts one letter; a full line continues in the next one. */
static void put(char c)
{
	if (column == columns)
		new_line();
	show(row, column++, c);
}

static void take(uint8_t c)
{
	if (c == '\n')
		new_line();
	else if (c == '\r')
		column = 0;
	else if (c == '\t')
		column = least((column + TAB) & -TAB, columns);
	else if (c >= FONT_FIRST && c < FONT_FIRST + FONT_LETTERS)
		put((char)c);
	else if (c >= 0xc0)                    /* the first byte of a UTF-8 sequence */
		put('?');
}

void screen_write(const void *data, size_t bytes)
{
	const uint8_t *byte = data;

	if (!memory)
		return;
	if (!cleared)
		clear();
	while (bytes--)
		take(*byte++);
}
