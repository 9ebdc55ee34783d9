/*
 * Placing and starting the application. Once each, at boot, in this order.
 */
#ifndef KERNEL_APPLICATION_H
#define KERNEL_APPLICATION_H

/* Decides where the segment is, maps it, copies the image into it. */
void application_load(void);

/* Enters the application. */
_Noreturn void application_start(void);

#endif
