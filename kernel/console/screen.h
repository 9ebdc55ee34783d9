/*
 * Output to the screen, if the loader told of one: text mode of the BIOS' video card, or pixels.
 * Only nodes without a launcher write to it. Interrupts off.
 */
#ifndef KERNEL_SCREEN_H
#define KERNEL_SCREEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_COLUMNS 160u        /* at most, in letters */
#define SCREEN_ROWS    64u
#define SCREEN_CELLS   (SCREEN_COLUMNS * SCREEN_ROWS)

/* The screen that the loader told of. */
struct screen_place {
	uint64_t physical;         /* of the first pixel or character; 0: there is no screen */
	uint32_t pitch;            /* bytes from line to line */
	uint32_t width, height;    /* pixels; of a text screen characters */
	uint32_t pixel_bytes;      /* 0: a text screen, two bytes per character */
};

/* Call on the first page tables: from now on a panic is shown. `told` must stay valid. */
void screen_start(const struct screen_place *told);

/* Whether letters fit on it. */
bool screen_is_usable(void);

/* Call on the kernel's page tables, before anything is written, if it is usable. `memory`: where
 * its memory is mapped; `cells`: SCREEN_CELLS bytes of zeros for what it shows. */
void screen_map(void *memory, void *cells);

/* Lines end with a newline. Anything but printable ASCII is shown as one '?' for each character of
 * UTF-8; control characters other than tab and return are left out. */
void screen_write(const void *data, size_t bytes);

#endif
