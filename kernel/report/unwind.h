/*
 * Finding the caller of a function without a frame.
 */
#ifndef KERNEL_UNWIND_H
#define KERNEL_UNWIND_H
#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the return address of the application's function at `rip`. True, with its user address in
 * *slot, if the function has no frame pointer at that instruction (a leaf, or its first and last
 * instructions); false if it has one, or nothing is known.
 */
bool unwind_slot(uint64_t rip, uint64_t rsp, uint64_t *slot);

#endif
