/*
 * The node's network cards. Interrupts are off in all of it.
 */
#ifndef KERNEL_CARDS_H
#define KERNEL_CARDS_H
#include <stdint.h>

#define CARDS_MOST 4u

struct nic;

/* Opens `wanted` cards, with the addresses of this node. Panics if one is missing
 * or cannot be used. Once, at boot: takes all memory that the cards will ever use. */
void cards_start(uint32_t wanted);

/* How many there are, and one of them. */
uint32_t cards_number(void);
struct nic *card(uint32_t number);

/* A user of the card other than the message link is done: restores its callbacks and interrupts to
 * those in `before`. */
void cards_give_back(struct nic *nic, const struct nic *before);

/* Handles a card's interrupt: the card stays quiet until it is polled, by the code after the halt,
 * or by link_frames_arrival. */
void cards_interrupt(uint32_t vector);

/* Adds what the cards have counted since the last call to the node's counters. */
void cards_count(void);

/* Once, before the node ends: no card reads or writes memory any more. */
void cards_stop(void);

#endif
