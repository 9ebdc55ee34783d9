/*
 * Event queues with a handler: their part of the PtlEQ* calls. Their handlers are called in
 * upcalls (libc-glue/enter.h); the functions here are called by portals_eq.c, in the
 * application's own context. While a handler runs, calls that wait, and those that make or
 * free queues and interfaces, return PTL_FAIL.
 */
#ifndef PORTALS_UPCALL_H
#define PORTALS_UPCALL_H
#include <portals3.h>
#include "libc-glue/enter.h"

/* PtlEQAlloc with a handler. */
int upcall_eq_alloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
		    ptl_handle_eq_t *eq);

/* PtlEQFree and PtlEQGet of such a queue; PTL_EQ_INVALID if `eq` is none. */
int upcall_eq_free(ptl_handle_eq_t eq);
int upcall_eq_get(ptl_handle_eq_t eq, ptl_event_t *event);

/* 1 if upcall_eq_get may find an event. */
int upcall_eq_is_there(ptl_handle_eq_t eq);

/* 1 if `eq` is such a queue. */
int upcall_is_queue(ptl_handle_eq_t eq);

/* Frees all of them: the interface has gone. */
void upcall_forget_queues(void);

#endif
