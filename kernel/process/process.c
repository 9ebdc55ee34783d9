/*
 * The process of this node: see process.h. Data: process_boot.
 */
#include "process.h"

struct process process_boot;
