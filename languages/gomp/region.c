/*
 * Parallel regions, leagues of teams, barriers, and what is done by one thread at a time.
 * Owns the innermost region and the task that runs.
 */
#include "gomp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef void region(void *data);

static struct team outside = { .task.final = false };
struct team *gomp_team = &outside;
struct task *gomp_task = &outside.task;
unsigned gomp_teams = 1, gomp_team_number;
bool gomp_cancellation;

__attribute__((constructor)) static void read_environment(void)
{
	const char *text = getenv("OMP_CANCELLATION");

	gomp_cancellation = text && strcasecmp(text, "true") == 0;
}

void gomp_fatal(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("OpenMP: ", stderr);
	vfprintf(stderr, format, list);
	fputs("\n", stderr);
	va_end(list);
	abort();
}

void *gomp_memory(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		gomp_fatal("no memory for %zu bytes", bytes);
	return memory;
}

void gomp_enter(struct team *team, int level)
{
	*team = (struct team){ .outer = gomp_team, .level = level, .outer_task = gomp_task };
	team->task.final = gomp_task->final;
	gomp_team = team;
	gomp_task = &team->task;
}

void gomp_leave(void)
{
	struct team *team = gomp_team;

	gomp_work_ends();
	gomp_task = team->outer_task;
	gomp_team = team->outer;
}

/* ---- parallel ---- */

void GOMP_parallel(region *run, void *data, unsigned threads, unsigned flags);
void GOMP_parallel_start(region *run, void *data, unsigned threads);
void GOMP_parallel_end(void);
unsigned GOMP_parallel_reductions(region *run, void *data, unsigned threads, unsigned flags);

void GOMP_parallel(region *run, void *data, unsigned threads, unsigned flags)
{
	struct team team;

	(void)threads, (void)flags;
	gomp_enter(&team, gomp_team->level + 1);
	run(data);
	gomp_wait_team();
	gomp_leave();
}

/* Old compilers call the region themselves between these two. */
void GOMP_parallel_start(region *run, void *data, unsigned threads)
{
	(void)run, (void)data, (void)threads;
	gomp_enter(gomp_memory(sizeof(struct team)), gomp_team->level + 1);
}

void GOMP_parallel_end(void)
{
	struct team *team = gomp_team;

	gomp_wait_team();
	gomp_leave();
	free(team);
}

unsigned GOMP_parallel_reductions(region *run, void *data, unsigned threads, unsigned flags)
{
	struct team team;

	(void)threads, (void)flags;
	gomp_enter(&team, gomp_team->level + 1);
	gomp_group_start(NULL);
	gomp_reductions(*(uintptr_t **)data);
	run(data);
	gomp_wait_team();
	gomp_group_end();
	gomp_leave();
	return 1;
}

/* Combined with a loop or sections: the region asks for its part. */
static void combined(region *run, void *data)
{
	run(data);
	gomp_wait_team();
	gomp_leave();
}

static void parallel_loop(region *run, void *data, long from, long to, long step)
{
	struct team team;

	gomp_enter(&team, gomp_team->level + 1);
	team.from = (uint64_t)from;
	team.to = (uint64_t)to;
	team.loop_waits = step > 0 ? from < to : from > to;
	combined(run, data);
}

#define PARALLEL_LOOP(kind) \
	void GOMP_parallel_loop_##kind(region *run, void *data, unsigned threads, long from, \
	                               long to, long step, long chunk, unsigned flags); \
	void GOMP_parallel_loop_##kind(region *run, void *data, unsigned threads, long from, \
	                               long to, long step, long chunk, unsigned flags) \
	{ \
		(void)threads, (void)chunk, (void)flags; \
		parallel_loop(run, data, from, to, step); \
	}
#define PARALLEL_LOOP_RUNTIME(kind) \
	void GOMP_parallel_loop_##kind(region *run, void *data, unsigned threads, long from, \
	                               long to, long step, unsigned flags); \
	void GOMP_parallel_loop_##kind(region *run, void *data, unsigned threads, long from, \
	                               long to, long step, unsigned flags) \
	{ \
		(void)threads, (void)flags; \
		parallel_loop(run, data, from, to, step); \
	}
PARALLEL_LOOP(static)
PARALLEL_LOOP(dynamic)
PARALLEL_LOOP(guided)
PARALLEL_LOOP(nonmonotonic_dynamic)
PARALLEL_LOOP(nonmonotonic_guided)
PARALLEL_LOOP_RUNTIME(runtime)
PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

void GOMP_parallel_sections(region *run, void *data, unsigned threads, unsigned count,
                            unsigned flags);

void GOMP_parallel_sections(region *run, void *data, unsigned threads, unsigned count,
                            unsigned flags)
{
	struct team team;

	(void)threads, (void)flags;
	gomp_enter(&team, gomp_team->level + 1);
	team.sections = count;
	combined(run, data);
}

/* ---- teams: one after the other ---- */

void GOMP_teams_reg(region *run, void *data, unsigned teams, unsigned threads, unsigned flags);
void GOMP_teams(unsigned teams, unsigned threads);
bool GOMP_teams4(unsigned least, unsigned most, unsigned threads, bool first);

void GOMP_teams_reg(region *run, void *data, unsigned teams, unsigned threads, unsigned flags)
{
	(void)threads, (void)flags;
	if (!teams)
		teams = (unsigned)omp_get_max_teams();
	gomp_teams = teams ? teams : 1;
	for (gomp_team_number = 0; gomp_team_number < gomp_teams; gomp_team_number++)
		run(data);
	gomp_teams = 1;
	gomp_team_number = 0;
}

void GOMP_teams(unsigned teams, unsigned threads)
{
	(void)teams, (void)threads;
	gomp_teams = 1;
	gomp_team_number = 0;
}

/* In a target region: true for each team that is to run. */
bool GOMP_teams4(unsigned least, unsigned most, unsigned threads, bool first)
{
	(void)most, (void)threads;
	if (first) {
		gomp_teams = least ? least : 1;
		gomp_team_number = 0;
		return true;
	}
	return gomp_team_number + 1 < gomp_teams ? gomp_team_number++, true : false;
}

/* ---- one thread at a time, and all of them ---- */

void GOMP_barrier(void);
bool GOMP_barrier_cancel(void);
bool GOMP_cancel(int which, bool really);
bool GOMP_cancellation_point(int which);
bool GOMP_single_start(void);
void *GOMP_single_copy_start(void);
void GOMP_single_copy_end(void *data);

void GOMP_barrier(void)
{
	gomp_wait_team();
}

bool GOMP_barrier_cancel(void)
{
	gomp_wait_team();
	return gomp_team->cancelled;
}

bool GOMP_single_start(void)
{
	return true;
}

/* NULL: this thread does the work, and has nothing to copy. */
void *GOMP_single_copy_start(void)
{
	return NULL;
}

void GOMP_single_copy_end(void *data)
{
	(void)data;
}

#define NOTHING(name) void name(void); void name(void) {}
NOTHING(GOMP_critical_start)
NOTHING(GOMP_critical_end)
NOTHING(GOMP_atomic_start)
NOTHING(GOMP_atomic_end)
NOTHING(GOMP_ordered_start)
NOTHING(GOMP_ordered_end)

#define NOTHING_OF(name, type) void name(type); void name(type unused) { (void)unused; }
NOTHING_OF(GOMP_critical_name_start, void **)
NOTHING_OF(GOMP_critical_name_end, void **)

static struct group *cancelled_by(void)
{
	struct group *group = gomp_task->group;

	return group && group->of_worksharing && group->outer ? group->outer : group;
}

bool GOMP_cancellation_point(int which)
{
	struct group *group = gomp_task->group;

	if (!gomp_cancellation)
		return false;
	if (which & (CANCEL_LOOP | CANCEL_SECTIONS))
		return gomp_team->work_cancelled;
	if (which & CANCEL_TASKGROUP && group && (group->cancelled || cancelled_by()->cancelled))
		return true;
	return gomp_team->cancelled;
}

bool GOMP_cancel(int which, bool really)
{
	if (!gomp_cancellation)
		return false;
	if (!really)
		return GOMP_cancellation_point(which);
	if (which & (CANCEL_LOOP | CANCEL_SECTIONS))
		gomp_team->work_cancelled = true;
	else if (which & CANCEL_TASKGROUP && gomp_task->group)
		cancelled_by()->cancelled = true;
	else if (which & CANCEL_PARALLEL)
		gomp_team->cancelled = true;
	return true;
}

/* ---- the error directive ---- */

void GOMP_warning(const char *text, size_t bytes);
_Noreturn void GOMP_error(const char *text, size_t bytes);

static void say(const char *kind, const char *text, size_t bytes)
{
	if (text && bytes == SIZE_MAX)
		fprintf(stderr, "OpenMP: %s%s\n", kind, text);
	else
		fprintf(stderr, "OpenMP: %s%.*s\n", kind, text ? (int)bytes : 0, text ? text : "");
}

void GOMP_warning(const char *text, size_t bytes)
{
	say("error directive: ", text, bytes);
}

void GOMP_error(const char *text, size_t bytes)
{
	say("fatal error directive: ", text, bytes);
	exit(EXIT_FAILURE);
}
