#include "access.h"
struct fi_ops_atomic mfi_ops_atomic = { .size = sizeof(struct fi_ops_atomic) };
