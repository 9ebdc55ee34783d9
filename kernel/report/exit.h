/*
 * The end of the application, and so of the node. All may wait; none returns.
 */
#ifndef KERNEL_EXIT_H
#define KERNEL_EXIT_H

/* What else ends with the node, named once at boot; lists end with a null. `before`: while other
 * nodes still take this one for running; the counters are complete after that. `after`: when they
 * know that it has ended. Each may wait, and does nothing if it never started. */
void exit_runs(void (*const *before)(void), void (*const *after)(void));

_Noreturn void end_by_exit(unsigned status);    /* status & 255 is the node's */
_Noreturn void end_with_the_job(unsigned status); /* status & 255 is the job's; the launcher ends
                                                   the other nodes */
_Noreturn void end_by_signal(unsigned signal);  /* its report has been printed */

#endif
