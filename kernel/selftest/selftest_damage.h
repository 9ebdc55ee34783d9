/*
 * The self-tests of a node that damages the shared region; see selftest_damage.c.
 */
#ifndef KERNEL_SELFTEST_DAMAGE_H
#define KERNEL_SELFTEST_DAMAGE_H
#include <stdbool.h>

/* `words` is the text after "damage". On the last node it does not return. False: it needs a region
 * of 3 nodes and "-SEED-COUNT". */
bool damage_test(const char *words);

/* The self-tests `pinned`, `unsent`, `unrung` and `retracted`. False: they need a region of 2 nodes,
 * `retracted` of 3. */
bool pinned_test(void);
bool unsent_test(void);
bool unrung_test(void);
bool retracted_test(void);

#endif
