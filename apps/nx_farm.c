/*
 * nx_farm [TASKS]: a farm of tasks with NX. Node 0 hands them out in a handler, while it does tasks
 * itself: the request of an idle node interrupts it anywhere.
 *
 *     tools/margay run -n 4 build/apps/nx_farm.elf 500
 *
 * A task counts the steps that the Collatz sequence of a number takes to 1.
 */
#include <nx.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUEST = 1, TASK = 2, NONE = -1 };

static long tasks, given, asked;        /* node 0: all tasks, tasks handed out, the last request */

static long next_task(void)
{
	return given < tasks ? given++ : NONE;
}

/* Serves an idle node: called between two instructions of node 0. */
static void hand_out(long type, long count, long node, long ptype)
{
	long task = next_task();

	(void)type, (void)count, (void)ptype;
	csend(TASK, &task, sizeof(task), node, 0);
	hrecv(REQUEST, &asked, sizeof(asked), hand_out);
}

/* Node 0 takes a task for itself, with handlers masked. */
static long own_task(void)
{
	long task;

	masktrap(1);
	task = next_task();
	masktrap(0);
	return task;
}

static long ask(void)
{
	long task = 0;

	csendrecv(REQUEST, &task, sizeof(task), 0, 0, TASK, &task, sizeof(task));
	return task;
}

static long steps(long number)
{
	long count = 0;

	for (unsigned long n = (unsigned long)number; n > 1; count++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return count;
}

int main(int argc, char *argv[])
{
	long task, sum[2] = { 0, 0 }, work[2];

	tasks = argc > 1 ? atol(argv[1]) : 1000;
	if (mynode() == 0)
		hrecv(REQUEST, &asked, sizeof(asked), hand_out);
	while ((task = mynode() ? ask() : own_task()) != NONE) {
		sum[0] += steps(task + 1);
		sum[1]++;
	}
	gisum(sum, 2, work);
	if (mynode() == 0)
		printf("%ld tasks, %ld steps\n", sum[1], sum[0]);
	return 0;
}
