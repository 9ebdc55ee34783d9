/*
 * The end of the application, and so of the node. All may wait; none returns.
 */
#ifndef KERNEL_EXIT_H
#define KERNEL_EXIT_H

_Noreturn void end_by_exit(unsigned status);    /* status & 255 is the node's */
_Noreturn void end_with_the_job(unsigned status); /* status & 255 is the job's; the launcher ends
                                                   the other nodes */
_Noreturn void end_by_signal(unsigned signal);  /* its report has been printed */

#endif
