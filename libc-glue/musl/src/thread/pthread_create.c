/*
 * Replaces musl's file of this name: a process has one thread. Starting another fails as on a
 * system that has reached its limit; ending the only one ends the process. musl.sh copies this file
 * into musl's source.
 */
#include "pthread_impl.h"
#include <stdlib.h>

static void nothing(void)
{
}
weak_alias(nothing, __pthread_tsd_run_dtors);

int __pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
		     void *(*entry)(void *), void *restrict argument)
{
	(void)thread, (void)attributes, (void)entry, (void)argument;
	margay_linux(SYS_clone, 0, 0, 0, 0, 0, 0);      /* reports once that there are no threads */
	return EAGAIN;
}

void __do_cleanup_push(struct __ptcb *entry)
{
	struct pthread *self = __pthread_self();

	entry->__next = self->cancelbuf;
	self->cancelbuf = entry;
}

void __do_cleanup_pop(struct __ptcb *entry)
{
	__pthread_self()->cancelbuf = entry->__next;
}

_Noreturn void __pthread_exit(void *result)
{
	struct pthread *self = __pthread_self();

	self->result = result;
	while (self->cancelbuf) {
		struct __ptcb *entry = self->cancelbuf;

		self->cancelbuf = entry->__next;
		entry->__f(entry->__x);
	}
	__pthread_tsd_run_dtors();
	exit(0);
}

weak_alias(__pthread_create, pthread_create);
weak_alias(__pthread_exit, pthread_exit);
