/*
 * What the far transport has counted.
 */
#ifndef KERNEL_LINK_COUNT_H
#define KERNEL_LINK_COUNT_H

/* Bring node.counters up to date. Interrupts are off. */
void link_frames_count(void);

#endif
