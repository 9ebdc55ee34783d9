/*
 * The kernel around a driver that is tested on the host: memory, time, the console. Functions that
 * only one driver calls are with its card; so is now_ns, as devices run while drivers read the
 * time.
 */
#ifndef TESTS_DRIVERS_KERNEL_H
#define TESTS_DRIVERS_KERNEL_H
#include <stdbool.h>
#include <stdint.h>

struct fake_kernel {
	uint64_t ns;               /* the time; each reading takes a microsecond */
	uint32_t reports;          /* lines on the console */
	bool silenced;             /* the card's bus mastering is off */
	void *taken[16];           /* memory, in the order of allocation */
	uint32_t n_taken;
};

extern struct fake_kernel fake_kernel;

void fake_kernel_start(void);
void fake_kernel_free(void);   /* all memory that the driver allocated */

#endif
