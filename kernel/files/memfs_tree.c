/*
 * Pages and trees of them: see memfs_tree.h. Data: the pages.
 */
#include "memfs_tree.h"

#include "kernel/base/string.h"
#include "kernel/memory/memory.h"

#define NUMBERS     1024u          /* page numbers in a page */
#define HEIGHT_MOST 4u

static uint8_t *memory;            /* page n is at n * PAGE_BYTES; page 0 is unused */
static uint32_t pages, fresh = 1;  /* pages in all; first page never used */
static uint32_t free_first, free_number; /* freed pages: each begins with the number of the next */

void tree_start(uint64_t bytes)
{
	pages = (uint32_t)(bytes / PAGE_BYTES);
	memory = memory_take_unset(pages * PAGE_BYTES);
}

uint32_t tree_pages_all(void)
{
	return pages - 1;
}

uint32_t tree_pages_free(void)
{
	return pages - fresh + free_number;
}

/* ---- pages ---- */

static void *page(uint32_t number)
{
	return memory + number * PAGE_BYTES;
}

/* Takes a page of zeros; 0: none is free. */
static uint32_t page_take(void)
{
	uint32_t number = free_first;

	if (number) {
		free_first = *(uint32_t *)page(number);
		free_number--;
	} else if (fresh < pages) {
		number = fresh++;
	} else {
		return 0;
	}
	memset(page(number), 0, PAGE_BYTES);
	return number;
}

void *tree_take_page(void)
{
	uint32_t number = page_take();

	return number ? page(number) : NULL;
}

static void page_give(uint32_t number)
{
	*(uint32_t *)page(number) = free_first;
	free_first = number;
	free_number++;
}

/* ---- bytes ---- */

static uint64_t pages_below(uint32_t height)
{
	uint64_t n = 1;

	while (height--)
		n *= NUMBERS;
	return n;
}

/* The file's page `index`: 0 if it is absent, or could not be made (`make`). */
static uint32_t page_of(struct memfs_tree *tree, uint64_t index, bool make)
{
	uint32_t *at = &tree->root, height;

	while (index >= pages_below(tree->height) || !tree->root) {
		uint32_t above;

		if (!make || (tree->root && tree->height == HEIGHT_MOST))
			return 0;
		if (!tree->root && index >= pages_below(tree->height)) {
			tree->height++;
			if (tree->height > HEIGHT_MOST)
				return 0;
			continue;
		}
		above = page_take();
		if (!above)
			return 0;
		tree->pages++;
		if (!tree->root) {
			tree->root = above;
			break;
		}
		*(uint32_t *)page(above) = tree->root;
		tree->root = above;
		tree->height++;
	}
	for (height = tree->height; height; height--) {
		uint32_t *numbers = page(*at);
		uint64_t below = pages_below(height - 1);

		at = &numbers[index / below % NUMBERS];
		if (!*at) {
			uint32_t taken = make ? page_take() : 0;

			if (!taken)
				return 0;
			*at = taken;
			tree->pages++;
		}
	}
	return *at;
}

/* Frees the pages of a tree from page `first` of the file on. True: all of them. */
static bool trim(struct memfs_tree *tree, uint32_t *at, uint32_t height, uint64_t first)
{
	uint32_t *numbers = page(*at);
	uint64_t below = height ? pages_below(height - 1) : 0;
	bool all = first == 0;

	for (uint32_t i = 0; height && i < NUMBERS; i++) {
		uint64_t begins = i * below;

		if (numbers[i] && begins + below > first)
			trim(tree, &numbers[i], height - 1, begins < first ? first - begins : 0);
	}
	if (!all)
		return false;
	page_give(*at);
	tree->pages--;
	*at = 0;
	return true;
}

void tree_shorten(struct memfs_tree *tree, uint64_t bytes)
{
	uint64_t first = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	uint32_t last = bytes % PAGE_BYTES ? page_of(tree, bytes / PAGE_BYTES, false) : 0;

	if (last)                  /* old bytes must not come back when the file grows */
		memset((uint8_t *)page(last) + bytes % PAGE_BYTES, 0,
		       PAGE_BYTES - bytes % PAGE_BYTES);
	if (tree->root && trim(tree, &tree->root, tree->height, first))
		tree->height = 0;
	tree->bytes = bytes;
}

uint64_t tree_get(struct memfs_tree *tree, uint64_t offset, void *to, uint64_t bytes)
{
	uint64_t done = 0;

	if (offset >= tree->bytes)
		return 0;
	if (bytes > tree->bytes - offset)
		bytes = tree->bytes - offset;
	while (done < bytes) {
		uint64_t within = (offset + done) % PAGE_BYTES, n = PAGE_BYTES - within;
		uint32_t number = page_of(tree, (offset + done) / PAGE_BYTES, false);

		if (n > bytes - done)
			n = bytes - done;
		if (number)
			memcpy((uint8_t *)to + done, (uint8_t *)page(number) + within, n);
		else
			memset((uint8_t *)to + done, 0, n);
		done += n;
	}
	return done;
}

/* Returns how many bytes there was memory for. */
uint64_t tree_set(struct memfs_tree *tree, uint64_t offset, const void *from, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		uint64_t within = (offset + done) % PAGE_BYTES, n = PAGE_BYTES - within;
		uint32_t number = page_of(tree, (offset + done) / PAGE_BYTES, true);

		if (!number)
			break;
		if (n > bytes - done)
			n = bytes - done;
		memcpy((uint8_t *)page(number) + within, (const uint8_t *)from + done, n);
		done += n;
	}
	if (done && offset + done > tree->bytes)
		tree->bytes = offset + done;
	return done;
}

void *tree_page(struct memfs_tree *tree, uint64_t index, bool make)
{
	uint32_t number = page_of(tree, index, make);

	return number ? page(number) : NULL;
}
