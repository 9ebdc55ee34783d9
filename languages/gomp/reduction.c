/*
 * Taskgroups, and the reductions in which tasks take part. The compiler describes the
 * variables of a construct by a block of words, and finds each task's own copy of one by
 * GOMP_task_reduction_remap; with one thread there is one copy for all tasks.
 */
#include "gomp.h"

#include <stdlib.h>
#include <string.h>

/* The words of a block. */
enum {
	VARIABLES,     /* how many */
	BYTES,         /* of all of them, for a thread */
	MEMORY,        /* in: its alignment; out: the copies, zeroed */
	ALLOCATOR,
	NEXT,          /* the next block; the last one's is set to the construct around it */
	LAST,          /* this is the construct's last block */
	END,           /* of the memory */
	FIRST          /* the first variable: its address, its offset, and a word to spare */
};
#define WORDS 3

void gomp_group_start(struct group *outer)
{
	struct group *group = gomp_memory(sizeof(*group));

	*group = (struct group){ .outer = outer, .reductions = outer ? outer->reductions : NULL };
	gomp_task->group = group;
}

void gomp_group_end(void)
{
	struct group *group = gomp_task->group;

	gomp_task->group = group->outer;
	free(group);
}

void gomp_reductions(uintptr_t *blocks)
{
	struct group *group = gomp_task->group;
	uintptr_t *block = blocks;

	for (;; block = (uintptr_t *)block[NEXT]) {
		size_t alignment = block[MEMORY] > sizeof(void *) ? block[MEMORY] : sizeof(void *);
		size_t bytes = (block[BYTES] + alignment - 1) / alignment * alignment;
		void *memory = aligned_alloc(alignment, bytes ? bytes : alignment);

		if (!memory)
			gomp_fatal("no memory for %zu bytes", bytes);
		block[MEMORY] = (uintptr_t)memset(memory, 0, bytes);
		block[END] = block[MEMORY] + block[BYTES];
		block[LAST] = !block[NEXT];
		if (!block[NEXT])
			break;
	}
	block[NEXT] = (uintptr_t)group->reductions;
	group->reductions = blocks;
}

void gomp_work_reductions(uintptr_t *blocks)
{
	gomp_group_start(gomp_task->group);
	gomp_task->group->of_worksharing = true;
	gomp_reductions(blocks);
}

void GOMP_taskgroup_reduction_register(uintptr_t *blocks);
void GOMP_taskgroup_reduction_unregister(uintptr_t *blocks);
void GOMP_workshare_task_reduction_unregister(bool cancelled);
void GOMP_task_reduction_remap(size_t count, size_t originals, void **at);
void GOMP_taskgroup_end(void);

void GOMP_taskgroup_reduction_register(uintptr_t *blocks)
{
	gomp_reductions(blocks);
}

void GOMP_taskgroup_reduction_unregister(uintptr_t *blocks)
{
	for (uintptr_t *block = blocks; block;) {
		free((void *)block[MEMORY]);
		block = block[LAST] ? NULL : (uintptr_t *)block[NEXT];
	}
}

void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
	uintptr_t *blocks = gomp_task->group->reductions;

	GOMP_taskgroup_end();
	GOMP_taskgroup_reduction_unregister(blocks);
	if (!cancelled)
		gomp_wait_team();
}

/* The copy of a variable that is named by its own address, or that of the copy itself, as in a
 * task within a task; and the variable. False if it is not in the block. */
static bool is_in(const uintptr_t *block, uintptr_t address, void **copy, void **variable)
{
	for (size_t i = 0; i < block[VARIABLES]; i++) {
		const uintptr_t *words = block + FIRST + i * WORDS;
		uintptr_t here = block[MEMORY] + words[1];

		if (words[0] == address || here == address) {
			*copy = (void *)here;
			*variable = (void *)words[0];
			return true;
		}
	}
	return false;
}

void GOMP_task_reduction_remap(size_t count, size_t originals, void **at)
{
	for (size_t i = 0; i < count; i++) {
		const uintptr_t *block = gomp_task->group ? gomp_task->group->reductions : NULL;
		void *variable = NULL;

		while (block && !is_in(block, (uintptr_t)at[i], &at[i], &variable))
			block = (const uintptr_t *)block[NEXT];
		if (!block)
			gomp_fatal("in_reduction: no construct around this task reduces %p", at[i]);
		if (i < originals)
			at[count + i] = variable;
	}
}
