/*
 * The interface between the C half (portals_c.c) and the C++ half (portals.cc) of one program.
 */
#ifndef PORTALS_H
#define PORTALS_H
#include <portals3.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C: put `text` to the next rank, and wait until it is acknowledged. */
void c_send(ptl_handle_ni_t ni, const char *text);
/* C: calls `function` with `argument` through C stack frames. */
int c_calls(int (*function)(int), int argument);
/* C++: `what` returned `status`; throws if that is not PTL_OK. */
void cxx_check(int status, const char *what);

#ifdef __cplusplus
}
#endif

enum { PORTAL = 4, BITS = 77, LINE = 64 };

#endif
