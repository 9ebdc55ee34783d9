/*
 * Random calls of malloc and related functions, with a pattern in each block that is checked, and
 * mappings. At the end all memory must be in one piece again. Argument: the seed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "libc.h"

enum { BLOCKS = 2000, ROUNDS = 200000, PAGE = 4096 };

static struct block {
	unsigned char *bytes;
	size_t count;
	unsigned char pattern;
} blocks[BLOCKS];
static uint64_t state;
static int wrong;

static size_t random_below(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

static size_t random_size(void)
{
	switch (random_below(8)) {
	case 0:
		return random_below(100000);
	case 1:
		return random_below(5000);
	default:
		return random_below(300);
	}
}

static void expect(const unsigned char *bytes, size_t count, unsigned char pattern)
{
	size_t step = count > PAGE ? 97 : 1;

	for (size_t i = 0; i < count; i += step)
		wrong += bytes[i] != pattern;
	wrong += count && bytes[count - 1] != pattern;
}

/* Every byte that malloc_usable_size reports may be written. */
static void keep(struct block *block, void *bytes, size_t count)
{
	block->bytes = bytes;
	block->count = bytes ? count : 0;
	block->pattern = (unsigned char)random_below(256);
	if (bytes)
		memset(bytes, block->pattern, malloc_usable_size(bytes));
}

static void lengthen(struct block *block, size_t count)
{
	unsigned char *moved = realloc(block->bytes, count + 1);

	if (!moved)
		return;
	expect(moved, block->count < count + 1 ? block->count : count + 1, block->pattern);
	keep(block, moved, count + 1);
}

static void one_round(void)
{
	struct block *block = &blocks[random_below(BLOCKS)];
	size_t count = random_size(), align = (size_t)16 << random_below(9);
	unsigned char *bytes;

	expect(block->bytes, block->count, block->pattern);
	switch (random_below(5)) {
	case 0:
		lengthen(block, count);
		return;
	case 1:
		free(block->bytes);
		bytes = calloc(1, count);
		if (bytes)
			expect(bytes, count, 0);
		break;
	case 2:
		free(block->bytes);
		bytes = aligned_alloc(align, count);
		wrong += ((uintptr_t)bytes & (align - 1)) != 0;
		break;
	case 3:
		free(block->bytes);
		bytes = NULL;
		break;
	default:
		free(block->bytes);
		bytes = malloc(count);
		wrong += ((uintptr_t)bytes & 15) != 0;
	}
	keep(block, bytes, count);
}

static size_t largest(void)
{
	size_t bytes = (size_t)1 << 40;
	void *block;

	while (!(block = malloc(bytes)) && bytes > PAGE)
		bytes -= bytes > 1 << 28 ? bytes / 2 : PAGE;
	free(block);
	return bytes;
}

static void blocks_of_any_size(void)
{
	size_t before = largest(), after;

	for (int i = 0; i < ROUNDS; i++)
		one_round();
	for (int i = 0; i < BLOCKS; i++) {
		expect(blocks[i].bytes, blocks[i].count, blocks[i].pattern);
		free(blocks[i].bytes);
	}
	after = largest();
	TEST("random", !wrong);
	TEST("whole-again", before == after && before > 16 << 20);
}

static char *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int zeros(const char *bytes, size_t count)
{
	while (count && !bytes[count - 1])
		count--;
	return count == 0;
}

/* A range of which some pages are unmapped already. */
static void holes(void)
{
	char *a = map(8 * PAGE), *b;
	int twice = 0;

	a[4 * PAGE] = 7;
	TEST("munmap-holes", !munmap(a + PAGE, PAGE) && !munmap(a + 3 * PAGE, PAGE) &&
	     !munmap(a + 2 * PAGE, 2 * PAGE) && a[4 * PAGE] == 7);
	/* The three pages are free once, although what was in them is overwritten. */
	for (int i = 0; i < 6; i++) {
		b = map(PAGE);
		twice += b == MAP_FAILED || !zeros(b, PAGE) || (i < 3 && b != a + (i + 1) * PAGE);
		memset(b, 1, PAGE);
	}
	TEST("mmap-holes", !twice && a[4 * PAGE] == 7);
	TEST("munmap-all", !munmap(b, (size_t)(a - b) + 8 * PAGE) && !munmap(b, PAGE));
	TEST("munmap-break", munmap((void *)((uintptr_t)sbrk(0) & -(uintptr_t)PAGE), PAGE) == -1 &&
	     errno == EINVAL);
}

/* Only memory can be mapped; its descriptor does not matter. */
static void files(void)
{
	char *a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0, 0);

	TEST("mmap-descriptor", a != MAP_FAILED && !munmap(a, PAGE));
	TEST("mmap-file", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 0, 0) == MAP_FAILED &&
	     errno == ENODEV);
	TEST("mmap-no-file", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED &&
	     errno == EBADF);
}

static void mappings(void)
{
	char *a = map(3 * PAGE), *b = map(1), *c;

	TEST("mmap", a != MAP_FAILED && b != MAP_FAILED && !((uintptr_t)a & (PAGE - 1)) &&
	     zeros(a, 3 * PAGE) && zeros(b, PAGE));
	memset(a, 7, 3 * PAGE);
	memset(b, 8, PAGE);
	TEST("munmap-middle", !munmap(a + PAGE, PAGE) && a[0] == 7 && a[2 * PAGE] == 7);
	c = map(PAGE);
	TEST("mmap-zeroes", c == a + PAGE && zeros(c, PAGE));
	memset(c, 9, PAGE);
	c = mremap(c, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	TEST("mremap-moves", c != MAP_FAILED && c[0] == 9 && c[PAGE - 1] == 9 &&
	     zeros(c + PAGE, PAGE));
	TEST("mremap-not", mremap(b, PAGE, 64 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
	TEST("mremap-shorter", mremap(c, 2 * PAGE, PAGE, 0) == c && c[0] == 9);
	TEST("munmap", !munmap(a, PAGE) && !munmap(a + 2 * PAGE, PAGE) && !munmap(b, PAGE) &&
	     !munmap(c, PAGE));
	TEST("munmap-wrong", munmap(a + 1, PAGE) == -1 && errno == EINVAL);
	TEST("mmap-again", map(3 * PAGE) == a && zeros(a, 3 * PAGE) && !munmap(a, 3 * PAGE));
	TEST("mmap-much", map((size_t)1 << 46) == MAP_FAILED && errno == ENOMEM);
	TEST("mmap-code", mmap(NULL, PAGE, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	     MAP_FAILED && errno == ENOTSUP);
	TEST("mprotect-refused", mprotect(a, PAGE, PROT_READ) == -1 && errno == ENOTSUP);
	TEST("mprotect-same", !mprotect(a, PAGE, PROT_READ | PROT_WRITE));
}

int main(int argc, char **argv)
{
	state = 88172645463325252 + (argc > 1 ? strtoull(argv[1], NULL, 0) : 0) * 977;
	mappings();
	holes();
	files();
	blocks_of_any_size();
	mappings();
	return failed;
}
