/*
 * The letters of a graphics screen.
 */
#ifndef KERNEL_FONT_H
#define KERNEL_FONT_H
#include <stdint.h>

#define FONT_FIRST   ' '           /* printable ASCII from here on */
#define FONT_LETTERS 95u
#define FONT_COLUMNS 5u            /* pixels; the leftmost is the highest of five bits */
#define FONT_LINES   8u

extern const uint8_t font[FONT_LETTERS][FONT_LINES];

#endif
