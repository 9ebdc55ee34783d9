/*
* Costs of single instructions and events; see selftest_costs.c.
 */
#ifndef KERNEL_SELFTEST_COSTS_H
#define KERNEL_SELFTEST_COSTS_H
#include <stdatomic.h>
#include <stdint.h>

typedef void costs_say(const char *name, uint64_t picoseconds);

/* Interrupts are off in all of them. */
void costs_alone(costs_say *say);       /* what one node can measure */
void costs_contended(_Atomic uint64_t *shared, costs_say *say); /* on both nodes at once */
void costs_doorbell(uint32_t peer, costs_say *say);             /* of a running node */

#endif
