/*
 * Joining the shared region.
 */
#ifndef KERNEL_REGION_START_H
#define KERNEL_REGION_START_H

/* Finds the shared memory and checks its header; fills node.region, own, block.
 * Panics if there is none: the command line said link=shm. */
void region_start(void);

#endif
