/*
 * qsort: a merge sort, which is stable. C demands no stability, and musl's sort has none, but
 * glibc's is stable and programs rely on that: HDF5's ranks deadlock if their lists of chunks are
 * sorted differently. musl's sort is used only if there is no memory for half of the elements.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 1024      /* arrays of at most this many bytes use the stack */

typedef int compare(const void *a, const void *b, void *with);

/* musl's function below its qsort. */
void __qsort_r(void *base, size_t count, size_t size, compare *order, void *with);

struct sort {
	char *spare;            /* room for half of the elements */
	size_t size;            /* of one */
	compare *order;
	void *with;
};

static void merge_sort(const struct sort *sort, char *base, size_t count)
{
	size_t size = sort->size, half = count / 2;
	char *middle = base + half * size, *end = base + count * size;
	char *left = sort->spare, *left_end = left + half * size, *right = middle, *to = base;

	if (count < 2)
		return;
	merge_sort(sort, base, half);
	merge_sort(sort, middle, count - half);
	if (sort->order(middle - size, middle, sort->with) <= 0)
		return;
	memcpy(left, base, half * size);
	for (; left < left_end; to += size)
		if (right < end && sort->order(left, right, sort->with) > 0) {
			memcpy(to, right, size);
			right += size;
		} else {
			memcpy(to, left, size);
			left += size;
		}
}

void qsort_r(void *base, size_t count, size_t size, compare *order, void *with)
{
	_Alignas(max_align_t) char room[SMALL / 2];
	struct sort sort = { room, size, order, with };
	size_t spare;

	if (count < 2 || size == 0)
		return;
	if (__builtin_mul_overflow(count / 2, size, &spare))
		abort();                /* no such array exists */
	if (spare > sizeof(room))
		sort.spare = malloc(spare);
	if (!sort.spare) {
		__qsort_r(base, count, size, order, with);
		return;
	}
	merge_sort(&sort, base, count);
	if (sort.spare != room)
		free(sort.spare);
}

static int call(const void *a, const void *b, void *with)
{
	int (*const *order)(const void *, const void *) = with;

	return (*order)(a, b);
}

void qsort(void *base, size_t count, size_t size, int (*order)(const void *, const void *))
{
	qsort_r(base, count, size, call, &order);
}
