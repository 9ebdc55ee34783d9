/*
 * What the launcher asks of a running node.
 */
#ifndef KERNEL_REGION_REQUESTS_H
#define KERNEL_REGION_REQUESTS_H

/* Serves what region_node.requests asks for, if anything. Called on the way
 * back to the application after a doorbell, and by every wait. May wait. */
void region_requests_serve(void);

#endif
