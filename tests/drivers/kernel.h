/*
 * The kernel around a driver that is tested on the host: memory, time, the console. What
 * only one driver calls is beside its card; so is now_ns, as devices work while drivers
 * look at the time.
 */
#ifndef TESTS_DRIVERS_KERNEL_H
#define TESTS_DRIVERS_KERNEL_H
#include <stdbool.h>
#include <stdint.h>

struct fake_kernel {
	uint64_t ns;               /* the time; each look at it takes a microsecond */
	uint32_t reports;          /* lines on the console */
	bool silenced;             /* the card is cut off from memory */
	void *taken[16];           /* memory, in the order in which the driver takes it */
	uint32_t n_taken;
};

extern struct fake_kernel fake_kernel;

void fake_kernel_start(void);
void fake_kernel_free(void);   /* all memory that the driver took */

#endif
