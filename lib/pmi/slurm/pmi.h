/*
 * The name by which programs for Slurm include PMI's header.
 */
#include <pmi.h>
