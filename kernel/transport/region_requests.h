/*
 * Requests of the launcher to a running node.
 */
#ifndef KERNEL_REGION_REQUESTS_H
#define KERNEL_REGION_REQUESTS_H

/* Serves the requests in region_node.requests, if any. Called on the way
 * back to the application after a doorbell, and by every wait. May wait. */
void region_requests_serve(void);

#endif
