/*
 * Replaces musl's file of this name: an exception that leaves the function undoes
 * the call, so that the next one calls it again (std::call_once). musl.sh copies this
 * file into musl's source.
 */
#include "pthread_impl.h"

enum { NEVER, BEGUN, DONE };

static void finish(pthread_once_t **control)
{
	if (**control == BEGUN)
		**control = NEVER;              /* the function did not return */
}

int __pthread_once(pthread_once_t *control, void (*function)(void))
{
	/* Called by the function itself, or by a handler while it runs: this waits for ever. */
	while (*control == BEGUN)
		__wait(control, 0, BEGUN, 1);
	if (*control == NEVER) {
		__attribute__((cleanup(finish))) pthread_once_t *undone = control;

		*control = BEGUN;
		function();
		*control = DONE;
	}
	return 0;
}

weak_alias(__pthread_once, pthread_once);
