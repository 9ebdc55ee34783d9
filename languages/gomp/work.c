/*
 * Worksharing: loops, sections and scopes. One thread gets all iterations as one piece,
 * and the sections in their order. The numbers are those of the loop as gcc counts it:
 * from `from` as long as it is before `to`.
 */
#include "gomp.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

static void work_begins(void)
{
	gomp_team->work_cancelled = false;
}

void gomp_work_ends(void)
{
	free(gomp_team->memory);
	gomp_team->memory = NULL;
	gomp_team->loop_waits = false;
	gomp_team->work_cancelled = false;
}

void gomp_work_memory(void **memory)
{
	size_t bytes = (size_t)*memory;

	free(gomp_team->memory);
	gomp_team->memory = gomp_memory(bytes);
	*memory = memset(gomp_team->memory, 0, bytes);
}

static void with(uintptr_t *reductions, void **memory)
{
	work_begins();
	if (reductions)
		gomp_work_reductions(reductions);
	if (memory)
		gomp_work_memory(memory);
}

static bool all(long from, long to, long step, long *first, long *end)
{
	work_begins();
	*first = from;
	*end = to;
	return step > 0 ? from < to : from > to;
}

static bool all_ull(bool up, ull from, ull to, ull *first, ull *end)
{
	work_begins();
	*first = from;
	*end = to;
	return up ? from < to : from > to;
}

/* ---- beginnings ---- */

#define LOOP(kind) \
	bool GOMP_loop_##kind##_start(long from, long to, long step, long chunk, long *first, \
	                              long *end); \
	bool GOMP_loop_##kind##_start(long from, long to, long step, long chunk, long *first, \
	                              long *end) \
	{ \
		(void)chunk; \
		return all(from, to, step, first, end); \
	} \
	bool GOMP_loop_ull_##kind##_start(bool up, ull from, ull to, ull step, ull chunk, \
	                                  ull *first, ull *end); \
	bool GOMP_loop_ull_##kind##_start(bool up, ull from, ull to, ull step, ull chunk, \
	                                  ull *first, ull *end) \
	{ \
		(void)step, (void)chunk; \
		return all_ull(up, from, to, first, end); \
	}
#define LOOP_RUNTIME(kind) \
	bool GOMP_loop_##kind##_start(long from, long to, long step, long *first, long *end); \
	bool GOMP_loop_##kind##_start(long from, long to, long step, long *first, long *end) \
	{ \
		return all(from, to, step, first, end); \
	} \
	bool GOMP_loop_ull_##kind##_start(bool up, ull from, ull to, ull step, ull *first, \
	                                  ull *end); \
	bool GOMP_loop_ull_##kind##_start(bool up, ull from, ull to, ull step, ull *first, \
	                                  ull *end) \
	{ \
		(void)step; \
		return all_ull(up, from, to, first, end); \
	}
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP(ordered_static)
LOOP(ordered_dynamic)
LOOP(ordered_guided)
LOOP_RUNTIME(runtime)
LOOP_RUNTIME(nonmonotonic_runtime)
LOOP_RUNTIME(maybe_nonmonotonic_runtime)
LOOP_RUNTIME(ordered_runtime)

/* With reductions of tasks or memory; without `first` the loop divides its work itself. */
#define LOOP_WITH(name) \
	bool GOMP_##name##_start(long from, long to, long step, long schedule, long chunk, \
	                         long *first, long *end, uintptr_t *reductions, void **memory); \
	bool GOMP_##name##_start(long from, long to, long step, long schedule, long chunk, \
	                         long *first, long *end, uintptr_t *reductions, void **memory) \
	{ \
		(void)schedule, (void)chunk; \
		with(reductions, memory); \
		return !first || all(from, to, step, first, end); \
	}
#define LOOP_ULL_WITH(name) \
	bool GOMP_##name##_start(bool up, ull from, ull to, ull step, long schedule, ull chunk, \
	                         ull *first, ull *end, uintptr_t *reductions, void **memory); \
	bool GOMP_##name##_start(bool up, ull from, ull to, ull step, long schedule, ull chunk, \
	                         ull *first, ull *end, uintptr_t *reductions, void **memory) \
	{ \
		(void)step, (void)schedule, (void)chunk; \
		with(reductions, memory); \
		return !first || all_ull(up, from, to, first, end); \
	}
LOOP_WITH(loop)
LOOP_WITH(loop_ordered)
LOOP_ULL_WITH(loop_ull)
LOOP_ULL_WITH(loop_ull_ordered)

/* ---- what is left after the first piece: what a combined construct began with ---- */

static bool next(uint64_t *first, uint64_t *end)
{
	if (!gomp_team->loop_waits)
		return false;
	gomp_team->loop_waits = false;
	*first = gomp_team->from;
	*end = gomp_team->to;
	return true;
}

#define NEXT(kind) \
	bool GOMP_loop_##kind##_next(long *first, long *end); \
	bool GOMP_loop_##kind##_next(long *first, long *end) \
	{ \
		return next((uint64_t *)first, (uint64_t *)end); \
	} \
	bool GOMP_loop_ull_##kind##_next(ull *first, ull *end); \
	bool GOMP_loop_ull_##kind##_next(ull *first, ull *end) \
	{ \
		(void)first, (void)end; \
		return false; \
	}
NEXT(static)
NEXT(dynamic)
NEXT(guided)
NEXT(runtime)
NEXT(nonmonotonic_dynamic)
NEXT(nonmonotonic_guided)
NEXT(nonmonotonic_runtime)
NEXT(maybe_nonmonotonic_runtime)
NEXT(ordered_static)
NEXT(ordered_dynamic)
NEXT(ordered_guided)
NEXT(ordered_runtime)

/* ---- doacross: in the order of the iterations each waits for what is done ---- */

#define DOACROSS(kind) \
	bool GOMP_loop_doacross_##kind##_start(unsigned loops, long *counts, long chunk, \
	                                       long *first, long *end); \
	bool GOMP_loop_doacross_##kind##_start(unsigned loops, long *counts, long chunk, \
	                                       long *first, long *end) \
	{ \
		(void)loops, (void)chunk; \
		return all(0, counts[0], 1, first, end); \
	} \
	bool GOMP_loop_ull_doacross_##kind##_start(unsigned loops, ull *counts, ull chunk, \
	                                           ull *first, ull *end); \
	bool GOMP_loop_ull_doacross_##kind##_start(unsigned loops, ull *counts, ull chunk, \
	                                           ull *first, ull *end) \
	{ \
		(void)loops, (void)chunk; \
		return all_ull(true, 0, counts[0], first, end); \
	}
DOACROSS(static)
DOACROSS(dynamic)
DOACROSS(guided)

bool GOMP_loop_doacross_runtime_start(unsigned loops, long *counts, long *first, long *end);
bool GOMP_loop_ull_doacross_runtime_start(unsigned loops, ull *counts, ull *first, ull *end);
bool GOMP_loop_doacross_start(unsigned loops, long *counts, long schedule, long chunk,
                              long *first, long *end, uintptr_t *reductions, void **memory);
bool GOMP_loop_ull_doacross_start(unsigned loops, ull *counts, long schedule, ull chunk,
                                  ull *first, ull *end, uintptr_t *reductions, void **memory);
void GOMP_doacross_post(long *counts);
void GOMP_doacross_wait(long first, ...);
void GOMP_doacross_ull_post(ull *counts);
void GOMP_doacross_ull_wait(ull first, ...);

bool GOMP_loop_doacross_runtime_start(unsigned loops, long *counts, long *first, long *end)
{
	(void)loops;
	return all(0, counts[0], 1, first, end);
}

bool GOMP_loop_ull_doacross_runtime_start(unsigned loops, ull *counts, ull *first, ull *end)
{
	(void)loops;
	return all_ull(true, 0, counts[0], first, end);
}

bool GOMP_loop_doacross_start(unsigned loops, long *counts, long schedule, long chunk,
                              long *first, long *end, uintptr_t *reductions, void **memory)
{
	(void)loops, (void)schedule, (void)chunk;
	with(reductions, memory);
	return !first || all(0, counts[0], 1, first, end);
}

bool GOMP_loop_ull_doacross_start(unsigned loops, ull *counts, long schedule, ull chunk,
                                  ull *first, ull *end, uintptr_t *reductions, void **memory)
{
	(void)loops, (void)schedule, (void)chunk;
	with(reductions, memory);
	return !first || all_ull(true, 0, counts[0], first, end);
}

void GOMP_doacross_post(long *counts)
{
	(void)counts;
}

void GOMP_doacross_wait(long first, ...)
{
	(void)first;
}

void GOMP_doacross_ull_post(ull *counts)
{
	(void)counts;
}

void GOMP_doacross_ull_wait(ull first, ...)
{
	(void)first;
}

/* ---- sections: numbered from 1; 0: no more ---- */

unsigned GOMP_sections_start(unsigned count);
unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory);
unsigned GOMP_sections_next(void);
void GOMP_scope_start(uintptr_t *reductions);

unsigned GOMP_sections_next(void)
{
	return gomp_team->section < gomp_team->sections ? ++gomp_team->section : 0;
}

unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
{
	with(reductions, memory);
	gomp_team->section = 0;
	gomp_team->sections = count;
	return GOMP_sections_next();
}

unsigned GOMP_sections_start(unsigned count)
{
	return GOMP_sections2_start(count, NULL, NULL);
}

void GOMP_scope_start(uintptr_t *reductions)
{
	with(reductions, NULL);
}

/* ---- ends ---- */

#define END(kind) \
	void GOMP_##kind##_end(void); \
	void GOMP_##kind##_end(void) \
	{ \
		gomp_work_ends(); \
		gomp_wait_team(); \
	} \
	void GOMP_##kind##_end_nowait(void); \
	void GOMP_##kind##_end_nowait(void) \
	{ \
		gomp_work_ends(); \
	} \
	bool GOMP_##kind##_end_cancel(void); \
	bool GOMP_##kind##_end_cancel(void) \
	{ \
		gomp_work_ends(); \
		gomp_wait_team(); \
		return gomp_team->cancelled; \
	}
END(loop)
END(sections)
