/*
 * malloc, for one thread, in the memory below the break. A chunk is a head of one word (its size
 * and two flags) and a block. Sizes are multiples of 16. A free chunk repeats its size in its last
 * word, so that neighbours can be merged.
 *
 * Small blocks that are freed go into a list of their size, unmerged, and are reused from there:
 * most calls do no more. When nothing fits, they are merged with their neighbours before the break
 * is moved. Other free chunks are in bins by size; the memory after the last chunk is the top. Owns
 * all of these lists. Replaces musl's malloc, which takes several times as long.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "linux.h"
#include "syscall.h"

enum { USED = 1, BEFORE_USED = 2, FLAGS = 15 };

#define UNIT        16u
#define SMALLEST    32u                  /* a free chunk holds its size, two links, its size */
#define SMALL       1024u                /* chunks up to here have lists of their own */
#define BINS        256u
#define LARGEST     ((size_t)1 << 46)
#define GROWTH      (128u << 10)         /* least step of the break */
#define LOOKS       32                   /* most chunks searched in a bin with many sizes */

struct chunk {
	size_t before;                   /* size of the chunk before if free, else its block's end */
	size_t head;                     /* size and flags; what follows is the block, */
	struct chunk *next, *previous;   /* or if it is free its neighbours in the bin */
};
#define BLOCK offsetof(struct chunk, next)

static struct chunk *quick[SMALL / UNIT + 1];
static struct chunk *bins[BINS];
static uint64_t filled[BINS / 64];       /* a bit for each bin that is not empty */
static struct chunk *top;                /* has no head; null before the first call */
static char *top_end;
static char *touched;                    /* memory of the top is zero from here on */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

static inline size_t size_of(const struct chunk *c)
{
	return c->head & ~(size_t)FLAGS;
}

static inline struct chunk *at(const void *c, size_t bytes)
{
	return (struct chunk *)((char *)c + bytes);
}

static inline struct chunk *chunk_of(void *block)
{
	return (struct chunk *)((char *)block - BLOCK);
}

static inline void *block_of(struct chunk *c)
{
	return (char *)c + BLOCK;
}

/* Size of the chunk for a block; the block may use the next chunk's first word. */
static inline size_t chunk_bytes(size_t bytes)
{
	size_t size = (bytes + sizeof(size_t) + UNIT - 1) & -(size_t)UNIT;

	return size < SMALLEST ? SMALLEST : size;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static _Noreturn void broken(void)
{
	static const char text[] = "margay: free: this is no block of malloc, or it was freed before\n";

	glue_say(text);
	abort();
}

/* ---- bins ---- */

/* One for each size up to SMALL, then four for each power of two. */
static inline unsigned bin_of(size_t size)
{
	unsigned power;

	if (size < SMALL)
		return (unsigned)(size / UNIT);
	power = 63 - (unsigned)__builtin_clzl(size);
	return SMALL / UNIT + (power - 10) * 4 + (unsigned)(size >> (power - 2) & 3);
}

static void put(struct chunk *c, size_t size)
{
	unsigned bin = bin_of(size);

	c->previous = NULL;
	c->next = bins[bin];
	if (c->next)
		c->next->previous = c;
	bins[bin] = c;
	filled[bin / 64] |= 1UL << (bin & 63);
}

static void take(struct chunk *c)
{
	unsigned bin = bin_of(size_of(c));

	if (c->next)
		c->next->previous = c->previous;
	if (c->previous) {
		c->previous->next = c->next;
	} else {
		bins[bin] = c->next;
		if (!c->next)
			filled[bin / 64] &= ~(1UL << (bin & 63));
	}
}

static struct chunk *find(size_t size)
{
	unsigned bin = bin_of(size), word;
	struct chunk *c = bins[bin];
	uint64_t bits;

	for (int i = 0; c && i < LOOKS; i++, c = c->next)
		if (size_of(c) >= size)
			return c;
	bin++;                           /* from here on each chunk is large enough */
	word = bin / 64;
	bits = filled[word] & ~0UL << (bin & 63);
	while (!bits && ++word < BINS / 64)
		bits = filled[word];
	return bits ? bins[word * 64 + (unsigned)__builtin_ctzl(bits)] : NULL;
}

/* ---- chunks ---- */

/* Frees a chunk: merges it with free neighbours, and puts it into its bin. */
static void release(struct chunk *c)
{
	size_t size = size_of(c);
	struct chunk *after = at(c, size);

	if (!(c->head & BEFORE_USED)) {
		size += c->before;
		c = at(c, -c->before);
		take(c);
	}
	if (after == top) {
		top = c;
		return;
	}
	if (!(after->head & USED)) {
		take(after);
		size += size_of(after);
		after = at(c, size);
	}
	c->head = size | BEFORE_USED;    /* two free chunks are never neighbours */
	after->before = size;
	after->head &= ~(size_t)BEFORE_USED;
	put(c, size);
}

/* Allocates `size` bytes of a chunk of `have` bytes; the rest becomes free. */
static void use(struct chunk *c, size_t size, size_t have)
{
	struct chunk *after = at(c, size);

	if (have - size < SMALLEST) {
		size = have;
		after = at(c, size);
		if (after != top)
			after->head |= BEFORE_USED;
	} else {
		after->head = (have - size) | USED | BEFORE_USED;
		release(after);
	}
	c->head = size | USED | (c->head & BEFORE_USED);
}

static void join_small(void)
{
	for (unsigned i = 0; i <= SMALL / UNIT; i++)
		while (quick[i]) {
			struct chunk *c = quick[i];

			quick[i] = c->next;
			release(c);
		}
}

#define TOP_REST sizeof(size_t)          /* the last block's last word */

static inline size_t top_bytes(void)
{
	return (size_t)(top_end - (char *)top);
}

void malloc_give_back(void)
{
	if (!top)
		return;
	join_small();
	top_end = (char *)linux_brk((uintptr_t)top + TOP_REST);
}

/* Moves the break, so that the top has `size` bytes. */
static int grow(size_t size)
{
	uintptr_t end, wanted;

	if (!top) {
		end = ((uintptr_t)linux_brk(0) + UNIT - 1) & -(uintptr_t)UNIT;
		top = (struct chunk *)end;
		top_end = touched = (char *)end;
	}
	wanted = (uintptr_t)top + size;
	end = wanted + GROWTH;
	if ((uintptr_t)linux_brk(end) != end && (uintptr_t)linux_brk(wanted) != wanted)
		return 0;
	top_end = (char *)linux_brk(0);
	return 1;
}


/* Cuts a chunk from the top, which has room for it and for a word after it. */
static struct chunk *from_top(size_t size)
{
	struct chunk *c = top;

	c->head = size | USED | BEFORE_USED;
	top = at(c, size);
	return c;
}

static struct chunk *allocate(size_t size)
{
	struct chunk *c = find(size);

	if (!c && top_bytes() < size + TOP_REST) {
		join_small();
		c = find(size);
	}
	if (c) {
		take(c);
		use(c, size, size_of(c));
		return c;
	}
	if (top_bytes() < size + TOP_REST && !grow(size + TOP_REST))
		return NULL;
	return from_top(size);
}

/* ---- the functions ---- */

void *__libc_malloc(size_t bytes)
{
	struct chunk *c;
	size_t size;

	if (bytes > LARGEST)
		return no_memory();
	size = chunk_bytes(bytes);
	if (size <= SMALL) {
		c = quick[size / UNIT];
		if (c) {
			quick[size / UNIT] = c->next;
			return block_of(c);
		}
	}
	c = allocate(size);
	if (!c)
		return no_memory();
	if ((char *)top + TOP_REST > touched)
		touched = (char *)top + TOP_REST;
	return block_of(c);
}

void __libc_free(void *block)
{
	struct chunk *c = chunk_of(block);
	size_t size;

	if (!block)
		return;
	size = size_of(c);
	if (((uintptr_t)block & FLAGS) || !(c->head & USED) || size < SMALLEST)
		broken();
	if (size > SMALL) {
		release(c);
		return;
	}
	if (quick[size / UNIT] == c)
		broken();
	c->next = quick[size / UNIT];
	quick[size / UNIT] = c;
}

void *__libc_calloc(size_t count, size_t bytes)
{
	char *clean = touched;
	void *block;

	if (__builtin_mul_overflow(count, bytes, &bytes))
		return no_memory();
	block = __libc_malloc(bytes);
	if (!block)
		return NULL;
	if ((char *)block < clean || !clean)
		memset(block, 0, bytes);
	return block;
}

/* Lengthens a chunk in place, if what follows it is free. */
static int lengthen(struct chunk *c, size_t size)
{
	size_t have = size_of(c);
	struct chunk *after = at(c, have);

	if (after == top) {
		if (top_bytes() < size - have + TOP_REST && !grow(size - have + TOP_REST))
			return 0;
		top = at(c, size);
		if ((char *)top + TOP_REST > touched)
			touched = (char *)top + TOP_REST;
		c->head += size - have;
		return 1;
	}
	if ((after->head & USED) || have + size_of(after) < size)
		return 0;
	take(after);
	use(c, size, have + size_of(after));
	return 1;
}

void *__libc_realloc(void *block, size_t bytes)
{
	struct chunk *c = chunk_of(block);
	size_t size, have;
	void *moved;

	if (!block)
		return __libc_malloc(bytes);
	if (bytes > LARGEST)
		return no_memory();
	size = chunk_bytes(bytes);
	have = size_of(c);
	if (size <= have) {
		use(c, size, have);
		return block;
	}
	if (lengthen(c, size))
		return block;
	moved = __libc_malloc(bytes);
	if (!moved)
		return NULL;
	memcpy(moved, block, have - sizeof(size_t));
	__libc_free(block);
	return moved;
}

static void *aligned(size_t align, size_t bytes)
{
	struct chunk *c, *inner;
	size_t size, have;
	void *block;

	if (align == 0 || (align & (align - 1))) {
		errno = EINVAL;
		return NULL;
	}
	if (align <= UNIT)
		return __libc_malloc(bytes);
	if (bytes > LARGEST || align > LARGEST)
		return no_memory();
	size = chunk_bytes(bytes);
	block = __libc_malloc(size + align + SMALLEST);
	if (!block)
		return NULL;
	c = chunk_of(block);
	have = size_of(c);
	block = (void *)(((uintptr_t)block + align - 1) & -align);
	inner = chunk_of(block);
	if (inner != c) {
		if ((size_t)((char *)inner - (char *)c) < SMALLEST)
			inner = at(inner, align);
		have -= (size_t)((char *)inner - (char *)c);
		inner->head = have | USED | BEFORE_USED;
		c->head -= have;
		release(c);
	}
	use(inner, size, have);
	return block_of(inner);
}

/* An application may have its own malloc: musl then still uses these. */
__attribute__((weak, alias("__libc_malloc"))) void *malloc(size_t bytes);
__attribute__((weak, alias("__libc_calloc"))) void *calloc(size_t count, size_t bytes);
__attribute__((weak, alias("__libc_realloc"))) void *realloc(void *block, size_t bytes);
__attribute__((weak, alias("__libc_free"))) void free(void *block);
__attribute__((weak, alias("aligned"))) void *aligned_alloc(size_t align, size_t bytes);

__attribute__((weak)) size_t malloc_usable_size(void *block)
{
	return block ? size_of(chunk_of(block)) - sizeof(size_t) : 0;
}
