/*
 * Memory that raw frames come from and go to; see selftest_places.c.
 */
#ifndef KERNEL_SELFTEST_PLACES_H
#define KERNEL_SELFTEST_PLACES_H
#include <stdbool.h>
#include <stdint.h>

#include "net/nic.h"

#define PLACES_MOST  (1u << 20)    /* bytes that frames come from and go to, at most */
#define PLACES_BYTES (2 * PLACES_MOST)
#define PLACES_TELL  8u            /* the last of this many buffers interrupts: a power of two */

/* The middle of this process's segment, which no program has used yet: an offset, a multiple of 2
 * MiB. 0: `bytes` bytes do not fit there. */
uint64_t places_middle(uint64_t bytes);

/* Frames come from `bytes` bytes of this memory (of PLACES_BYTES), consecutively and with
 * wrap-around, and go to as many. With 0 all come from its beginning. */
void places_start(uint8_t *memory, uint32_t bytes);

/* The payload of the next frame. */
uint8_t *places_source(uint32_t bytes);

/* Fills the memory that frames come from, if the next one starts there, for this frame number. */
void places_fill(uint64_t sequence, uint32_t bytes);

/* Whether a payload is that of the frame with this number. */
bool places_check(uint64_t sequence, const uint8_t *payload, uint32_t bytes);

/* Copies the payload of a frame to its place. */
void places_copy(const uint8_t *payload, uint32_t bytes);

/* Gives a bulk card as many buffers as it takes, for payloads of `bytes` bytes, and each again when
 * it is filled: then `landed` is called. */
void places_open_rooms(struct nic *nic, uint32_t bytes,
                       void (*landed)(void *context, const uint8_t *header, uint32_t bytes));

/* Nothing lands any more. */
void places_close_rooms(struct nic *nic);

#endif
