/*
 * Tasks: each runs when it is met, so that all it depends on has run. The exception are
 * detached tasks, which end only when their event is fulfilled: a task that depends on
 * others is kept for later while the event of such a one is open. Owns the list of open
 * events and kept tasks.
 */
#include "gomp.h"

#include <alloca.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

/* gcc's flags of a task */
enum { FINAL = 1 << 1, DEPENDS = 1 << 3, UP = 1 << 8, GRAINSIZE = 1 << 9, NO_GROUP = 1 << 11,
       REDUCTION = 1 << 12, DETACHED = 1 << 13, STRICT = 1 << 14 };

typedef void body(void *data);
typedef void copier(void *to, void *from);
typedef unsigned long long ull;

/* An open event, or a task that is kept. */
struct open {
	struct open *next;
	struct task *parent;       /* NULL: it has ended */
	struct group *group;
	struct team *team;
	bool depends, ended, fulfilled;
	body *run;                 /* of a kept task; NULL: an event */
	void *data;
	bool final;
};

static struct open *opened;        /* in the order of their tasks */
static sem_t something_new;        /* an event was fulfilled */

static void add(struct open *open)
{
	struct open **end = &opened;

	while (*end)
		end = &(*end)->next;
	open->next = NULL;
	*end = open;
}

static void take_out(struct open *open)
{
	struct open **at = &opened;

	while (*at != open)
		at = &(*at)->next;
	*at = open->next;
}

/* Runs the body as a task of its own. */
static void run_task(body *run, void *data, bool final, struct group *group)
{
	struct task task = { .final = final || gomp_task->final, .group = group };
	struct task *parent = gomp_task;

	gomp_task = &task;
	run(data);
	gomp_task = parent;
	for (struct open *open = opened; open; open = open->next)
		if (open->parent == &task)
			open->parent = NULL;
}

/* Before `end` in the list: is there what a task of this parent may depend on? */
static bool must_wait(const struct task *parent, const struct open *end)
{
	for (struct open *open = opened; open != end; open = open->next)
		if (open->depends && open->parent == parent)
			return true;
	return false;
}

/* Runs kept tasks that need not wait any more. */
static void run_kept(void)
{
	struct open *open = opened;

	while (open) {
		if (!open->run || must_wait(open->parent, open)) {
			open = open->next;
			continue;
		}
		take_out(open);
		run_task(open->run, open->data, open->final, open->group);
		free(open);
		open = opened;         /* the task may have changed the list */
	}
}

static void close_event(struct open *open)
{
	if (!open->ended || !open->fulfilled)
		return;
	take_out(open);
	free(open);
	run_kept();
}

void omp_fulfill_event(omp_event_handle_t event)
{
	struct open *open = opened;

	while (open && (uintptr_t)open != (uintptr_t)event)
		open = open->next;
	if (!open || open->run || open->fulfilled)
		gomp_fatal("omp_fulfill_event: there is no such event, or it is fulfilled already");
	open->fulfilled = true;
	close_event(open);
	sem_post(&something_new);
}

/* Waits as long as something is open that `matters`. The semaphore ends the program with
 * its reason if no handler could fulfil an event. */
#define WAIT_WHILE(matters) \
	for (struct open *at = opened; at;) \
		if (matters) { \
			sem_wait(&something_new); \
			at = opened; \
		} else { \
			at = at->next; \
		}

void gomp_wait_team(void)
{
	WAIT_WHILE(at->team == gomp_team)
}

void GOMP_taskwait(void);
void GOMP_taskwait_depend(void **depend);
void GOMP_taskyield(void);
void GOMP_taskgroup_start(void);
void GOMP_taskgroup_end(void);

void GOMP_taskwait(void)
{
	WAIT_WHILE(at->parent == gomp_task)
}

void GOMP_taskwait_depend(void **depend)
{
	(void)depend;
	WAIT_WHILE(at->depends && at->parent == gomp_task)
}

void GOMP_taskyield(void)
{
}

static bool is_cancelled(void)
{
	struct group *group = gomp_task->group;

	return gomp_team->cancelled ||
	       (group && (group->cancelled ||
			  (group->of_worksharing && group->outer && group->outer->cancelled)));
}

static void *aligned(void *memory, long alignment)
{
	uintptr_t mask = (uintptr_t)(alignment > 0 ? alignment : 1) - 1;

	return (void *)(((uintptr_t)memory + mask) & ~mask);
}

static void fill(void *to, void *from, copier *copy, long bytes)
{
	if (copy)
		copy(to, from);
	else
		memcpy(to, from, (size_t)bytes);
}

/* An event, or a task that is kept with its data; the latter lies behind it. */
static struct open *new_open(size_t bytes)
{
	struct open *open = gomp_memory(sizeof(*open) + bytes);

	*open = (struct open){ .parent = gomp_task, .group = gomp_task->group, .team = gomp_team };
	return open;
}

static void keep(body *run, void *data, copier *copy, long bytes, long alignment, bool final)
{
	struct open *open = new_open((size_t)(bytes + alignment));

	open->run = run;
	open->data = aligned(open + 1, alignment);
	open->final = final;
	open->depends = true;
	fill(open->data, data, copy, bytes);
	add(open);
}

static void run_now(body *run, void *data, copier *copy, long bytes, long alignment, bool final)
{
	void *own = data;

	if (copy) {
		own = aligned(alloca((size_t)(bytes + alignment)), alignment);
		copy(own, data);
	}
	run_task(run, own, final, gomp_task->group);
}

void GOMP_task(body *run, void *data, copier *copy, long bytes, long alignment, bool deferred,
               unsigned flags, void **depend, int priority, void *detach);

void GOMP_task(body *run, void *data, copier *copy, long bytes, long alignment, bool deferred,
               unsigned flags, void **depend, int priority, void *detach)
{
	struct open *event = NULL;

	(void)priority;
	if (is_cancelled())
		return;
	if (flags & DEPENDS && must_wait(gomp_task, NULL)) {
		if (deferred && !(flags & DETACHED)) {
			keep(run, data, copy, bytes, alignment, flags & FINAL);
			return;
		}
		GOMP_taskwait_depend(depend);
	}
	if (flags & DETACHED) {
		event = new_open(0);
		event->depends = flags & DEPENDS;
		add(event);
		*(void **)detach = event;
		if (data)
			*(void **)data = event;
	}
	run_now(run, data, copy, bytes, alignment, flags & FINAL);
	if (event) {
		event->ended = true;
		close_event(event);
	}
}

/* ---- taskloop ---- */

/* How the iterations are divided: `longer` tasks of one iteration more than the others, then
 * those; or, strict, the last one has what is left. */
struct division {
	ull tasks, each, longer, last;
};

static struct division divided(ull iterations, ull wish, unsigned flags)
{
	ull tasks = wish ? wish : 1;

	if (flags & GRAINSIZE && flags & STRICT && wish < iterations) {
		ull rest = iterations % wish;

		return (struct division){ iterations / wish + (rest != 0), wish, 0, rest };
	}
	if (flags & GRAINSIZE)
		tasks = iterations / tasks;
	if (tasks > iterations)
		tasks = iterations;
	if (!tasks)
		tasks = 1;
	return (struct division){ tasks, iterations / tasks, iterations % tasks, 0 };
}

/* The first two words of a task's data are its iterations; the third, of the loop's, its
 * reductions. */
static void taskloop(body *run, void *data, copier *copy, long bytes, long alignment,
                     unsigned flags, ull wish, ull from, ull step, ull iterations)
{
	uintptr_t *reductions = ((uintptr_t **)data)[2];
	bool grouped = !(flags & NO_GROUP);
	struct division by;
	void *own = data;

	if (!iterations || gomp_team->cancelled || (!grouped && is_cancelled())) {
		if (grouped && flags & REDUCTION)
			reductions[2] = 0;     /* nothing was registered */
		return;
	}
	if (copy)
		own = aligned(alloca((size_t)(bytes + alignment)), alignment);
	if (grouped) {
		gomp_group_start(gomp_task->group);
		if (flags & REDUCTION)
			gomp_reductions(reductions);
	}
	by = divided(iterations, wish, flags);
	for (ull i = 0; i < by.tasks; i++) {
		ull count = by.each + (i < by.longer);

		if (by.last && i + 1 == by.tasks)
			count = by.last;
		if (copy)
			copy(own, data);
		((ull *)own)[0] = from;
		from += count * step;
		((ull *)own)[1] = from;
		if (!is_cancelled())
			run_task(run, own, flags & FINAL, gomp_task->group);
	}
	if (grouped)
		GOMP_taskgroup_end();
}

void GOMP_taskloop(body *run, void *data, copier *copy, long bytes, long alignment,
                   unsigned flags, unsigned long wish, int priority, long from, long to,
                   long step);
void GOMP_taskloop_ull(body *run, void *data, copier *copy, long bytes, long alignment,
                       unsigned flags, unsigned long wish, int priority, ull from, ull to,
                       ull step);

void GOMP_taskloop(body *run, void *data, copier *copy, long bytes, long alignment,
                   unsigned flags, unsigned long wish, int priority, long from, long to,
                   long step)
{
	ull count = 0;

	(void)priority;
	if (step > 0 && from < to)
		count = ((ull)to - (ull)from + (ull)step - 1) / (ull)step;
	if (step < 0 && from > to)
		count = ((ull)from - (ull)to - (ull)step - 1) / -(ull)step;
	taskloop(run, data, copy, bytes, alignment, flags, wish, (ull)from, (ull)step, count);
}

void GOMP_taskloop_ull(body *run, void *data, copier *copy, long bytes, long alignment,
                       unsigned flags, unsigned long wish, int priority, ull from, ull to,
                       ull step)
{
	ull count = 0;

	(void)priority;
	if (flags & UP && from < to)
		count = (to - from + step - 1) / step;
	if (!(flags & UP) && from > to)
		count = (from - to - step - 1) / -step;
	taskloop(run, data, copy, bytes, alignment, flags, wish, from, step, count);
}

/* ---- taskgroup ---- */

void GOMP_taskgroup_start(void)
{
	gomp_group_start(gomp_task->group);
}

void GOMP_taskgroup_end(void)
{
	WAIT_WHILE(at->group == gomp_task->group)
	gomp_group_end();
}
