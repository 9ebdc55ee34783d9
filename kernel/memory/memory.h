/*
 * The kernel's address space and the memory that it takes for itself.
 * Its layout is in kernel/base/layout.h.
 *
 * Everything here is called while booting, interrupts off, unless it says otherwise.
 */
#ifndef KERNEL_MEMORY_H
#define KERNEL_MEMORY_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/base/layout.h"

enum map_kind {
	MAP_MEMORY,
	MAP_DEVICE,                /* uncached */
	MAP_PIXELS                 /* write combining */
};

/* Builds the tables and switches to them. */
void memory_start(void);

/* A supervisor pointer to physical memory, read and write, never executable;
 * valid for ever. Mapping the same memory twice is harmless. */
void *map_physical(uint64_t physical, uint64_t bytes, enum map_kind kind);

/* Whether map_physical can map this range, whatever else it maps: for addresses that firmware gives,
 * which may be anything. */
bool memory_is_addressable(uint64_t physical, uint64_t bytes);

/* Zeroed memory of the kernel's own, identity mapped (pointer = physical
 * address), for ever; panics when there is none. `align` is a power of two of
 * at least 4096. Counted in COUNTER_KERNEL_BYTES. */
void *memory_take(uint64_t bytes, uint64_t align);

/* The same, not zeroed and not counted: memory of the application's files. */
void *memory_take_unset(uint64_t bytes);

/* The same, mapped twice in a row: an access past the end continues at the beginning. `bytes` is a
 * multiple of 4096. */
void *memory_take_twice(uint64_t bytes, uint64_t *physical);

/* The physical address of memory that a device may read or write: the kernel's
 * own, the segment by any of its names, and what map_physical returned. Any
 * context. The range must lie in one of these. */
uint64_t memory_physical(const void *pointer);

/* Maps [physical, physical + bytes) at APP_EVENTS, for the application to read.
 * Both are multiples of 4096. Call once. */
void memory_map_events(uint64_t physical, uint64_t bytes);

/* Maps the process's segment (physical, bytes and offsets are set) for the application,
 * and sets both aliases. Call once. */
void memory_map_segment(void);

/* The kernel touched the shifted alias at `address`, which was not mapped. Maps it; true on
 * success. From the page fault handler, any context; takes no memory. */
bool memory_map_shifted(uint64_t address);

/* Maps one page of zeros at `times` consecutive addresses, read only; at APP_PAGES the application
 * can read them, too. `times` is a multiple of 512. Call once. */
const volatile uint8_t *memory_repeat_page(uint64_t times);

/* The largest contiguous piece of free memory, 2 MiB aligned, for a segment
 * without a region. Call once. */
void memory_largest(uint64_t *physical, uint64_t *bytes);

#endif
