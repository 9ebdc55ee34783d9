/*
 * OpenMP for the one thread of a node: what the files of this folder share. gcc turns
 * each construct of -fopenmp into calls of GOMP_*; here they do what a team of one
 * thread has to do, which for most of them is nothing, or all of the work at once.
 * Nothing is locked: an event handler must not use OpenMP.
 */
#ifndef GOMP_H
#define GOMP_H
#include <omp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What GOMP_cancel and GOMP_cancellation_point are asked about. */
enum { CANCEL_PARALLEL = 1, CANCEL_LOOP = 2, CANCEL_SECTIONS = 4, CANCEL_TASKGROUP = 8 };

/* A taskgroup, or a construct whose reductions tasks take part in. */
struct group {
	struct group *outer;
	uintptr_t *reductions;     /* blocks of the compiler's, chained: reduction.c */
	bool cancelled;
	bool of_worksharing;       /* to cancel the taskgroup means the one around it */
};

/* A task: of a parallel region (implicit), or of a task construct. */
struct task {
	bool final;
	struct group *group;
};

/* A parallel region, a target region, or what is around all of them. */
struct team {
	struct team *outer;
	int level;                 /* parallel regions around, this one included */
	struct task task;          /* its implicit task */
	struct task *outer_task;   /* the task that the region is in */
	uint64_t from, to;         /* a loop that a combined construct has begun ... */
	bool loop_waits;           /* ... and whose iterations are not given out yet */
	unsigned section, sections; /* the last one that was given out; how many */
	void *memory;              /* of the worksharing construct: until its end */
	bool cancelled, work_cancelled;
};

extern struct team *gomp_team;     /* the innermost; never NULL */
extern struct task *gomp_task;     /* the one that runs; never NULL */
extern unsigned gomp_teams, gomp_team_number;   /* of the league */
extern bool gomp_cancellation;     /* OMP_CANCELLATION=true */

void gomp_enter(struct team *team, int level);
void gomp_leave(void);

/* Zeroed memory for the compiler's own use until the worksharing construct ends: *memory
 * says how many bytes, and then where. */
void gomp_work_memory(void **memory);
void gomp_work_ends(void);

void gomp_group_start(struct group *outer);
void gomp_group_end(void);
void gomp_reductions(uintptr_t *blocks);
void gomp_work_reductions(uintptr_t *blocks);   /* in a group of the construct's own */

/* Until no event of a detached task is left to be fulfilled: in all of the team's tasks. */
void gomp_wait_team(void);

void *gomp_memory(size_t bytes);   /* as malloc; ends the program if there is none */
_Noreturn void gomp_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
