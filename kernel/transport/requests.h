/*
 * What the launcher asks of a running node.
 */
#ifndef KERNEL_REQUESTS_H
#define KERNEL_REQUESTS_H

/* Serves what region_node.requests asks for, if anything. Called on the way
 * back to the application after a doorbell, and by every wait. May wait. */
void requests_serve(void);

#endif
