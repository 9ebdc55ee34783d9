/*
 * Random numbers.
 */
#ifndef KERNEL_RANDOM_H
#define KERNEL_RANDOM_H
#include <stdint.h>

/* A number that cannot be guessed from outside: from the processor, or else from the clocks. Any
 * context, after time_start. */
uint64_t random_number(void);

#endif
