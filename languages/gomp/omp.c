/*
 * The calls of OpenMP about threads, levels, devices, time and locks. Owns what programs may
 * set; most of it is only remembered.
 */
#include "gomp.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEVELS 255                 /* of parallel regions, that could be active */

static struct {
	int dynamic, levels, device, teams, teams_threads, chunk;
	omp_sched_t schedule;
} chosen = { .levels = 1, .schedule = omp_sched_dynamic, .chunk = 1 };

/* ---- threads ---- */

void omp_set_num_threads(int threads)
{
	(void)threads;
}

int omp_get_num_threads(void)
{
	return 1;
}

int omp_get_max_threads(void)
{
	return 1;
}

int omp_get_thread_num(void)
{
	return 0;
}

int omp_get_num_procs(void)
{
	return 1;
}

int omp_get_thread_limit(void)
{
	return 1;
}

/* No region is active: that takes two threads. */
int omp_in_parallel(void)
{
	return 0;
}

void omp_set_dynamic(int dynamic)
{
	chosen.dynamic = dynamic != 0;
}

int omp_get_dynamic(void)
{
	return chosen.dynamic;
}

void omp_set_nested(int nested)
{
	chosen.levels = nested ? LEVELS : 1;
}

int omp_get_nested(void)
{
	return chosen.levels > 1;
}

void omp_set_schedule(omp_sched_t schedule, int chunk)
{
	unsigned kind = (unsigned)schedule & ~(unsigned)omp_sched_monotonic;

	if (kind < omp_sched_static || kind > omp_sched_auto)
		return;
	chosen.schedule = schedule;
	if (kind == omp_sched_static)
		chosen.chunk = chunk < 1 ? 0 : chunk;
	else if (kind != omp_sched_auto)
		chosen.chunk = chunk < 1 ? 1 : chunk;
}

void omp_get_schedule(omp_sched_t *schedule, int *chunk)
{
	*schedule = chosen.schedule;
	*chunk = chosen.chunk;
}

void omp_set_max_active_levels(int levels)
{
	if (levels >= 0)
		chosen.levels = levels < LEVELS ? levels : LEVELS;
}

int omp_get_max_active_levels(void)
{
	return chosen.levels;
}

int omp_get_supported_active_levels(void)
{
	return LEVELS;
}

int omp_get_level(void)
{
	return gomp_team->level;
}

int omp_get_active_level(void)
{
	return 0;
}

int omp_get_ancestor_thread_num(int level)
{
	return level >= 0 && level <= gomp_team->level ? 0 : -1;
}

int omp_get_team_size(int level)
{
	return level >= 0 && level <= gomp_team->level ? 1 : -1;
}

int omp_in_final(void)
{
	return gomp_task->final;
}

int omp_get_cancellation(void)
{
	return gomp_cancellation;
}

int omp_get_max_task_priority(void)
{
	return 0;
}

/* ---- places: none are named ---- */

omp_proc_bind_t omp_get_proc_bind(void)
{
	return omp_proc_bind_false;
}

int omp_get_num_places(void)
{
	return 0;
}

int omp_get_place_num_procs(int place)
{
	(void)place;
	return 0;
}

void omp_get_place_proc_ids(int place, int *ids)
{
	(void)place, (void)ids;
}

int omp_get_place_num(void)
{
	return -1;
}

int omp_get_partition_num_places(void)
{
	return 0;
}

void omp_get_partition_place_nums(int *places)
{
	(void)places;
}

/* ---- teams and devices ---- */

int omp_get_num_teams(void)
{
	return (int)gomp_teams;
}

int omp_get_team_num(void)
{
	return (int)gomp_team_number;
}

void omp_set_num_teams(int teams)
{
	if (teams >= 0)
		chosen.teams = teams;
}

int omp_get_max_teams(void)
{
	return chosen.teams;
}

void omp_set_teams_thread_limit(int threads)
{
	if (threads >= 0)
		chosen.teams_threads = threads;
}

int omp_get_teams_thread_limit(void)
{
	return chosen.teams_threads;
}

void omp_set_default_device(int device)
{
	chosen.device = device >= 0 ? device : 0;
}

int omp_get_default_device(void)
{
	return chosen.device;
}

int omp_get_num_devices(void)
{
	return 0;
}

int omp_get_device_num(void)
{
	return 0;
}

int omp_get_initial_device(void)
{
	return 0;
}

#undef omp_is_initial_device
int omp_is_initial_device(void)
{
	return 1;
}

int omp_pause_resource(omp_pause_resource_t kind, int device)
{
	(void)kind;
	return device == 0 && gomp_team->level == 0 ? 0 : -1;
}

int omp_pause_resource_all(omp_pause_resource_t kind)
{
	return omp_pause_resource(kind, 0);
}

/* ---- time ---- */

static double seconds(const struct timespec *time)
{
	return (double)time->tv_sec + (double)time->tv_nsec * 1e-9;
}

double omp_get_wtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return seconds(&now);
}

double omp_get_wtick(void)
{
	struct timespec step;

	clock_getres(CLOCK_MONOTONIC, &step);
	return seconds(&step);
}

/* ---- locks: how often each is held ---- */

struct lock { int held; };
_Static_assert(sizeof(struct lock) <= sizeof(omp_lock_t), "fits");

static struct lock *of(void *lock)
{
	return lock;
}

#define INIT(name, type) \
	void omp_init_##name(type *lock) { of(lock)->held = 0; } \
	void omp_init_##name##_with_hint(type *lock, omp_sync_hint_t hint) \
	{ \
		(void)hint; \
		of(lock)->held = 0; \
	} \
	void omp_destroy_##name(type *lock) { (void)lock; }
INIT(lock, omp_lock_t)
INIT(nest_lock, omp_nest_lock_t)

void omp_set_lock(omp_lock_t *lock)
{
	if (of(lock)->held)
		gomp_fatal("omp_set_lock: this thread has the lock already, and there is no other "
			   "that could free it");
	of(lock)->held = 1;
}

void omp_unset_lock(omp_lock_t *lock)
{
	of(lock)->held = 0;
}

int omp_test_lock(omp_lock_t *lock)
{
	return of(lock)->held ? 0 : (of(lock)->held = 1);
}

void omp_set_nest_lock(omp_nest_lock_t *lock)
{
	of(lock)->held++;
}

void omp_unset_nest_lock(omp_nest_lock_t *lock)
{
	of(lock)->held--;
}

int omp_test_nest_lock(omp_nest_lock_t *lock)
{
	return ++of(lock)->held;
}
