/*
 * The far transport's counters.
 */
#ifndef KERNEL_LINK_COUNT_H
#define KERNEL_LINK_COUNT_H

/* Bring node.counters up to date. Interrupts are off. */
void link_frames_count(void);

#endif
