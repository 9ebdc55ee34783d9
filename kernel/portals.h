/*
 * The messages' part of the kernel as the rest of it sees it. portals_start,
 * portals_stop and link_interrupt are in node.h.
 */
#ifndef KERNEL_PORTALS_H
#define KERNEL_PORTALS_H

/* Bring node.counters up to date with the process block's. */
void portals_count(void);

#endif
