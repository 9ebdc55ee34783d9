/*
 * The screen, for output, where the loader told of one: text of the BIOS' video
 * card, or pixels. Only nodes without a launcher write to it. Interrupts off.
 */
#ifndef DRIVERS_SCREEN_H
#define DRIVERS_SCREEN_H
#include <stddef.h>

void screen_start(void);   /* on the first page tables: from now on a panic is shown */
void screen_map(void);     /* on the kernel's page tables, before anything is written */

/* Lines end with a newline. What is no printable ASCII is shown as one '?' per
 * character of UTF-8; other control characters than tab and return are left out. */
void screen_write(const void *data, size_t bytes);

#endif
