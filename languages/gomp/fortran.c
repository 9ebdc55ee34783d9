/*
 * The calls of Fortran's omp_lib: arguments by reference, texts with their lengths, and for
 * default integers of 8 bytes names with _8.
 */
#include "gomp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t i4;
typedef int64_t i8;

/* 8 bytes in 4: the largest or the smallest, if it does not fit. */
static int fit(i8 value)
{
	return value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : (int)value;
}

#define ASKS(name) i4 name##_(void); i4 name##_(void) { return (i4)name(); }
#define ASKS_OF(name) \
	i4 name##_(const i4 *of); \
	i4 name##_(const i4 *of) { return name(*of); } \
	i4 name##_8_(const i8 *of); \
	i4 name##_8_(const i8 *of) { return name(fit(*of)); }
#define TELLS(name) \
	void name##_(const i4 *value); \
	void name##_(const i4 *value) { name(*value); } \
	void name##_8_(const i8 *value); \
	void name##_8_(const i8 *value) { name(fit(*value)); }
#define TELLS_TRUTH(name) \
	void name##_(const i4 *value); \
	void name##_(const i4 *value) { name(*value != 0); } \
	void name##_8_(const i8 *value); \
	void name##_8_(const i8 *value) { name(*value != 0); }
#define LOCK(name, type) void name##_(type *lock); void name##_(type *lock) { name(lock); }
#define TESTS_LOCK(name, type) \
	i4 name##_(type *lock); \
	i4 name##_(type *lock) { return name(lock); }

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ASKS(omp_get_dynamic)
ASKS(omp_get_nested)
ASKS(omp_in_parallel)
ASKS(omp_get_max_threads)
ASKS(omp_get_num_procs)
ASKS(omp_get_num_threads)
ASKS(omp_get_thread_num)
ASKS(omp_get_thread_limit)
ASKS(omp_get_max_active_levels)
ASKS(omp_get_supported_active_levels)
ASKS(omp_get_level)
ASKS(omp_get_active_level)
ASKS(omp_in_final)
ASKS(omp_get_max_teams)
ASKS(omp_get_teams_thread_limit)
ASKS(omp_get_cancellation)
ASKS(omp_get_proc_bind)
ASKS(omp_get_num_places)
ASKS(omp_get_place_num)
ASKS(omp_get_partition_num_places)
ASKS(omp_get_default_device)
ASKS(omp_get_num_devices)
ASKS(omp_get_num_teams)
ASKS(omp_get_team_num)
ASKS(omp_is_initial_device)
ASKS(omp_get_initial_device)
ASKS(omp_get_device_num)
ASKS(omp_get_max_task_priority)
ASKS_OF(omp_get_ancestor_thread_num)
ASKS_OF(omp_get_team_size)
ASKS_OF(omp_get_place_num_procs)
TELLS(omp_set_num_threads)
TELLS(omp_set_max_active_levels)
TELLS(omp_set_num_teams)
TELLS(omp_set_teams_thread_limit)
TELLS(omp_set_default_device)
TELLS(omp_display_env)
TELLS_TRUTH(omp_set_dynamic)
TELLS_TRUTH(omp_set_nested)
LOCK(omp_init_lock, omp_lock_t)
LOCK(omp_destroy_lock, omp_lock_t)
LOCK(omp_set_lock, omp_lock_t)
LOCK(omp_unset_lock, omp_lock_t)
TESTS_LOCK(omp_test_lock, omp_lock_t)
LOCK(omp_init_nest_lock, omp_nest_lock_t)
LOCK(omp_destroy_nest_lock, omp_nest_lock_t)
LOCK(omp_set_nest_lock, omp_nest_lock_t)
LOCK(omp_unset_nest_lock, omp_nest_lock_t)
TESTS_LOCK(omp_test_nest_lock, omp_nest_lock_t)

void omp_init_lock_with_hint_(omp_lock_t *lock, const i4 *hint);
void omp_init_nest_lock_with_hint_(omp_nest_lock_t *lock, const i4 *hint);
double omp_get_wtime_(void);
double omp_get_wtick_(void);
void omp_set_schedule_(const i4 *kind, const i4 *chunk);
void omp_set_schedule_8_(const i4 *kind, const i8 *chunk);
void omp_get_schedule_(i4 *kind, i4 *chunk);
void omp_get_schedule_8_(i4 *kind, i8 *chunk);
void omp_get_place_proc_ids_(const i4 *place, i4 *ids);
void omp_get_place_proc_ids_8_(const i8 *place, i8 *ids);
void omp_get_partition_place_nums_(i4 *places);
void omp_get_partition_place_nums_8_(i8 *places);
void omp_fulfill_event_(intptr_t event);
void omp_set_affinity_format_(const char *format, size_t bytes);
i4 omp_get_affinity_format_(char *to, size_t bytes);
void omp_display_affinity_(const char *format, size_t bytes);
i4 omp_capture_affinity_(char *to, const char *format, size_t to_bytes, size_t bytes);
i4 omp_pause_resource_(const i4 *kind, const i4 *device);
i4 omp_pause_resource_all_(const i4 *kind);
intptr_t omp_init_allocator_(const intptr_t *space, const i4 *count,
                             const omp_alloctrait_t *traits);
intptr_t omp_init_allocator_8_(const intptr_t *space, const i8 *count,
                               const omp_alloctrait_t *traits);
void omp_destroy_allocator_(const intptr_t *allocator);
void omp_set_default_allocator_(const intptr_t *allocator);
intptr_t omp_get_default_allocator_(void);

void omp_init_lock_with_hint_(omp_lock_t *lock, const i4 *hint)
{
	omp_init_lock_with_hint(lock, (omp_sync_hint_t)*hint);
}

void omp_init_nest_lock_with_hint_(omp_nest_lock_t *lock, const i4 *hint)
{
	omp_init_nest_lock_with_hint(lock, (omp_sync_hint_t)*hint);
}

double omp_get_wtime_(void)
{
	return omp_get_wtime();
}

double omp_get_wtick_(void)
{
	return omp_get_wtick();
}

void omp_set_schedule_(const i4 *kind, const i4 *chunk)
{
	omp_set_schedule((omp_sched_t)*kind, *chunk);
}

void omp_set_schedule_8_(const i4 *kind, const i8 *chunk)
{
	omp_set_schedule((omp_sched_t)*kind, fit(*chunk));
}

void omp_get_schedule_(i4 *kind, i4 *chunk)
{
	omp_sched_t schedule;

	omp_get_schedule(&schedule, chunk);
	*kind = (i4)schedule;
}

void omp_get_schedule_8_(i4 *kind, i8 *chunk)
{
	i4 small;

	omp_get_schedule_(kind, &small);
	*chunk = small;
}

/* There are no places: nothing is stored. */
void omp_get_place_proc_ids_(const i4 *place, i4 *ids)
{
	(void)place, (void)ids;
}

void omp_get_place_proc_ids_8_(const i8 *place, i8 *ids)
{
	(void)place, (void)ids;
}

void omp_get_partition_place_nums_(i4 *places)
{
	(void)places;
}

void omp_get_partition_place_nums_8_(i8 *places)
{
	(void)places;
}

void omp_fulfill_event_(intptr_t event)
{
	omp_fulfill_event((omp_event_handle_t)event);
}

/* ---- texts: no end in Fortran, and blanks behind them ---- */

static char *c_text(const char *text, size_t bytes)
{
	char *copy;

	while (bytes && text[bytes - 1] == ' ')
		bytes--;
	copy = gomp_memory(bytes + 1);
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	return copy;
}

static void blanks_behind(char *text, size_t used, size_t bytes)
{
	if (used < bytes)
		memset(text + used, ' ', bytes - used);
}

void omp_set_affinity_format_(const char *format, size_t bytes)
{
	char *text = c_text(format, bytes);

	omp_set_affinity_format(text);
	free(text);
}

i4 omp_get_affinity_format_(char *to, size_t bytes)
{
	size_t whole = omp_get_affinity_format(NULL, 0);
	char *text = gomp_memory(whole + 1);

	omp_get_affinity_format(text, whole + 1);
	memcpy(to, text, whole < bytes ? whole : bytes);
	blanks_behind(to, whole, bytes);
	free(text);
	return (i4)whole;
}

void omp_display_affinity_(const char *format, size_t bytes)
{
	char *text = c_text(format, bytes);

	omp_display_affinity(text);
	free(text);
}

i4 omp_capture_affinity_(char *to, const char *format, size_t to_bytes, size_t bytes)
{
	char *text = c_text(format, bytes);
	size_t whole = omp_capture_affinity(NULL, 0, text);
	char *made = gomp_memory(whole + 1);

	omp_capture_affinity(made, whole + 1, text);
	memcpy(to, made, whole < to_bytes ? whole : to_bytes);
	blanks_behind(to, whole, to_bytes);
	free(made);
	free(text);
	return (i4)whole;
}

/* ---- resources and allocators ---- */

i4 omp_pause_resource_(const i4 *kind, const i4 *device)
{
	return omp_pause_resource((omp_pause_resource_t)*kind, *device);
}

i4 omp_pause_resource_all_(const i4 *kind)
{
	return omp_pause_resource_all((omp_pause_resource_t)*kind);
}

intptr_t omp_init_allocator_(const intptr_t *space, const i4 *count,
                             const omp_alloctrait_t *traits)
{
	return (intptr_t)omp_init_allocator((omp_memspace_handle_t)*space, *count, traits);
}

intptr_t omp_init_allocator_8_(const intptr_t *space, const i8 *count,
                               const omp_alloctrait_t *traits)
{
	return (intptr_t)omp_init_allocator((omp_memspace_handle_t)*space, fit(*count), traits);
}

void omp_destroy_allocator_(const intptr_t *allocator)
{
	omp_destroy_allocator((omp_allocator_handle_t)*allocator);
}

void omp_set_default_allocator_(const intptr_t *allocator)
{
	omp_set_default_allocator((omp_allocator_handle_t)*allocator);
}

intptr_t omp_get_default_allocator_(void)
{
	return (intptr_t)omp_get_default_allocator();
}
