/*
 * The end of the application, and so of the node. All may wait; none returns.
 */
#ifndef KERNEL_EXIT_H
#define KERNEL_EXIT_H

/* Sets the functions that also run at the end of the node, once at boot; lists end with a null.
 * `before` run while other nodes still take this one for running; the counters are complete after
 * that. `after` run once they know that it has ended. Each may wait, and does nothing if its part
 * never started. */
void exit_runs(void (*const *before)(void), void (*const *after)(void));

_Noreturn void end_by_exit(unsigned status);    /* status & 255 is the node's */
_Noreturn void end_with_the_job(unsigned status); /* status & 255 is the job's; the launcher ends
                                                   the other nodes */
_Noreturn void end_by_signal(unsigned signal);  /* its report has been printed */

#endif
