/*
 * The bytes of files in memory: pages of one store, indexed by trees whose nodes are pages of page
 * numbers. A tree grows upwards with its file. A page that was never written is absent and reads as
 * zeros.
 */
#ifndef KERNEL_FILES_MEMFS_TREE_H
#define KERNEL_FILES_MEMFS_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: an empty file. */
struct memfs_tree {
	uint32_t root;             /* page at the top, 0: none */
	uint32_t height;           /* levels of page numbers above the bytes */
	uint32_t pages;            /* that it takes */
	uint64_t bytes;
};

/* The store takes `bytes` of memory. At boot. */
void tree_start(uint64_t bytes);
uint32_t tree_pages_all(void);
uint32_t tree_pages_free(void);

/* A page of zeros that is not given back; null if there is none. */
void *tree_take_page(void);

/* How many bytes there were; how many there was memory for; cut off behind `bytes`. */
uint64_t tree_get(struct memfs_tree *tree, uint64_t offset, void *to, uint64_t bytes);
uint64_t tree_set(struct memfs_tree *tree, uint64_t offset, const void *from, uint64_t bytes);
void tree_shorten(struct memfs_tree *tree, uint64_t bytes);

/* Page `index` of the file; null if it is absent, or could not be made (`make`). */
void *tree_page(struct memfs_tree *tree, uint64_t index, bool make);

#endif
