/*
 * Allocators: all of their memory is malloc's. Of their traits count alignment, the size of
 * the pool, and what is done when there is no room.
 */
#include "gomp.h"

#include <stdlib.h>
#include <string.h>

#define PREDEFINED 8                   /* handles up to here are OpenMP's own */

struct allocator {
	size_t alignment, pool, used;
	uintptr_t fallback;
	omp_allocator_handle_t other;      /* omp_atv_allocator_fb */
};

/* In front of each piece. */
struct piece {
	void *memory;                      /* of malloc */
	size_t bytes;
	struct allocator *owner;           /* NULL: a predefined one */
};

static omp_allocator_handle_t standard = omp_default_mem_alloc;

static struct allocator *own(omp_allocator_handle_t handle)
{
	return (uintptr_t)handle > PREDEFINED ? (struct allocator *)handle : NULL;
}

static bool is_power(uintptr_t value)
{
	return value && !(value & (value - 1));
}

omp_allocator_handle_t omp_init_allocator(omp_memspace_handle_t space, int count,
                                          const omp_alloctrait_t traits[])
{
	struct allocator made = { .pool = SIZE_MAX, .fallback = omp_atv_default_mem_fb };
	struct allocator *allocator;

	if (space > omp_low_lat_mem_space)
		return omp_null_allocator;
	for (int i = 0; i < count; i++) {
		uintptr_t value = traits[i].value;

		if (value == (uintptr_t)omp_atv_default)
			continue;
		switch (traits[i].key) {
		case omp_atk_alignment:
			if (!is_power(value))
				return omp_null_allocator;
			made.alignment = value;
			break;
		case omp_atk_pool_size:
			made.pool = value;
			break;
		case omp_atk_fallback:
			made.fallback = value;
			break;
		case omp_atk_fb_data:
			made.other = (omp_allocator_handle_t)value;
			break;
		case omp_atk_pinned:
			if (value == omp_atv_true)
				return omp_null_allocator;
			break;
		default:
			break;
		}
	}
	allocator = malloc(sizeof(*allocator));
	if (allocator)
		*allocator = made;
	return (omp_allocator_handle_t)(uintptr_t)allocator;
}

void omp_destroy_allocator(omp_allocator_handle_t allocator)
{
	free(own(allocator));
}

void omp_set_default_allocator(omp_allocator_handle_t allocator)
{
	standard = allocator == omp_null_allocator ? omp_default_mem_alloc : allocator;
}

omp_allocator_handle_t omp_get_default_allocator(void)
{
	return standard;
}

static void *piece_of(size_t alignment, size_t bytes, struct allocator *owner)
{
	size_t room;
	struct piece *piece;
	void *memory;

	if (owner && owner->alignment > alignment)
		alignment = owner->alignment;
	if (alignment < _Alignof(max_align_t))
		alignment = _Alignof(max_align_t);
	if (__builtin_add_overflow(bytes, sizeof(*piece) + alignment, &room) ||
	    (owner && (bytes > owner->pool || owner->used > owner->pool - bytes)))
		return NULL;
	memory = malloc(room);
	if (!memory)
		return NULL;
	piece = (struct piece *)(((uintptr_t)memory + sizeof(*piece) + alignment - 1) & -alignment);
	piece[-1] = (struct piece){ .memory = memory, .bytes = bytes, .owner = owner };
	if (owner)
		owner->used += bytes;
	return piece;
}

void *omp_aligned_alloc(size_t alignment, size_t bytes, omp_allocator_handle_t allocator)
{
	struct allocator *owner = own(allocator == omp_null_allocator ? standard : allocator);
	void *memory;

	if (!bytes || !is_power(alignment))
		return NULL;
	memory = piece_of(alignment, bytes, owner);
	if (memory || !owner || owner->fallback == omp_atv_null_fb)
		return memory;
	if (owner->fallback == omp_atv_abort_fb)
		gomp_fatal("an allocator has no %zu bytes left", bytes);
	if (owner->fallback == omp_atv_allocator_fb)
		return omp_aligned_alloc(alignment, bytes, owner->other);
	return piece_of(alignment > owner->alignment ? alignment : owner->alignment, bytes, NULL);
}

void *omp_alloc(size_t bytes, omp_allocator_handle_t allocator)
{
	return omp_aligned_alloc(1, bytes, allocator);
}

void *omp_aligned_calloc(size_t alignment, size_t count, size_t size,
                         omp_allocator_handle_t allocator)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	memory = omp_aligned_alloc(alignment, bytes, allocator);
	return memory ? memset(memory, 0, bytes) : NULL;
}

void *omp_calloc(size_t count, size_t size, omp_allocator_handle_t allocator)
{
	return omp_aligned_calloc(1, count, size, allocator);
}

/* What the allocator is does not matter: the piece knows it. */
void omp_free(void *memory, omp_allocator_handle_t allocator)
{
	struct piece *piece = memory;

	(void)allocator;
	if (!piece)
		return;
	if (piece[-1].owner)
		piece[-1].owner->used -= piece[-1].bytes;
	free(piece[-1].memory);
}

void *omp_realloc(void *memory, size_t bytes, omp_allocator_handle_t allocator,
                  omp_allocator_handle_t of_old)
{
	struct piece *old = memory;
	void *now;

	if (!old)
		return omp_alloc(bytes, allocator);
	if (!bytes) {
		omp_free(memory, of_old);
		return NULL;
	}
	if (allocator == omp_null_allocator && old[-1].owner)
		allocator = (omp_allocator_handle_t)(uintptr_t)old[-1].owner;
	now = omp_alloc(bytes, allocator);
	if (now) {
		memcpy(now, memory, bytes < old[-1].bytes ? bytes : old[-1].bytes);
		omp_free(memory, of_old);
	}
	return now;
}

void *GOMP_alloc(size_t alignment, size_t bytes, uintptr_t allocator);
void GOMP_free(void *memory, uintptr_t allocator);

/* The allocate clause: there is memory, or the program ends. */
void *GOMP_alloc(size_t alignment, size_t bytes, uintptr_t allocator)
{
	void *memory = omp_aligned_alloc(alignment, bytes ? bytes : 1,
					 (omp_allocator_handle_t)allocator);

	if (!memory)
		gomp_fatal("no memory for %zu bytes", bytes);
	return memory;
}

void GOMP_free(void *memory, uintptr_t allocator)
{
	omp_free(memory, (omp_allocator_handle_t)allocator);
}
