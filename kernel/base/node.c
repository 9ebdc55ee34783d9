/*
 * This node's identity and counters: see node.h. Data: node.
 */
#include "node.h"

struct node node;
