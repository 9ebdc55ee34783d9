/*
 * Where raw frames come from and go to; see selftest_places.c.
 */
#ifndef KERNEL_SELFTEST_PLACES_H
#define KERNEL_SELFTEST_PLACES_H
#include <stdbool.h>
#include <stdint.h>

#include "net/nic.h"

#define PLACES_MOST  (1u << 20)    /* bytes that frames come from and go to, at most */
#define PLACES_BYTES (2 * PLACES_MOST)
#define PLACES_TELL  8u            /* the last of so many rooms interrupts: a power of two */

/* The middle of this process's segment, where no program has put anything yet: an offset, a
 * multiple of 2 MiB. 0: so many bytes do not fit there. */
uint64_t places_middle(uint64_t bytes);

/* Frames come from so many bytes of this memory (of PLACES_BYTES), one behind the other, over and
 * over, and go to as many. With 0 all come from its beginning. */
void places_start(uint8_t *memory, uint32_t bytes);

/* The payload of the next frame. */
uint8_t *places_source(uint32_t bytes);

/* Fills what frames come from, when that is its beginning, for the frame with this number. */
void places_fill(uint64_t sequence, uint32_t bytes);

/* Whether a payload is that of the frame with this number. */
bool places_check(uint64_t sequence, const uint8_t *payload, uint32_t bytes);

/* Copies the payload of a frame to its place. */
void places_copy(const uint8_t *payload, uint32_t bytes);

/* A bulk card gets as many rooms as it takes, for the payload of frames of so many bytes, and each
 * anew when it is filled: then `landed` is called. */
void places_open_rooms(struct nic *nic, uint32_t bytes,
                       void (*landed)(void *context, const uint8_t *header, uint32_t bytes));

/* Nothing lands any more. */
void places_close_rooms(struct nic *nic);

#endif
