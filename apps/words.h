/*
 * A table that counts words: open addressing, the words in one growing pool.
 * Used by wordfreq.c only; knows nothing of messages.
 *
 * A table travels between ranks as a sequence of records without padding:
 * count and length (8 bytes each, this machine's byte order), then the word.
 */
#ifndef APPS_WORDS_H
#define APPS_WORDS_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	uint64_t count;            /* 0: this slot is free */
	uint64_t hash;
	size_t start, length;      /* in the pool */
};

struct words {
	struct word *slot;
	size_t slots;              /* a power of two, at most 3/4 of them in use */
	size_t used;
	uint64_t total;            /* sum of all counts */
	char *pool;
	size_t pool_used, pool_size;
};

/* realloc that ends the program when there is no memory. */
static inline void *words_grow(void *old, size_t bytes)
{
	void *grown = realloc(old, bytes);

	if (!grown) {
		fprintf(stderr, "wordfreq: no memory for %zu bytes; give more with --mem\n", bytes);
		exit(1);
	}
	return grown;
}

static inline uint64_t words_hash(const char *word, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

/* The slot of a word, or the free slot where it belongs. */
static inline struct word *words_find(const struct words *words, uint64_t hash,
                                      const char *word, size_t length)
{
	size_t at = hash & (words->slots - 1);

	for (;; at = (at + 1) & (words->slots - 1)) {
		struct word *slot = &words->slot[at];

		if (!slot->count || (slot->hash == hash && slot->length == length &&
		                     !memcmp(words->pool + slot->start, word, length)))
			return slot;
	}
}

static inline void words_double(struct words *words)
{
	struct words old = *words;

	words->slots = old.slots ? 2 * old.slots : 1024;
	words->slot = words_grow(NULL, words->slots * sizeof *words->slot);
	memset(words->slot, 0, words->slots * sizeof *words->slot);
	for (size_t i = 0; i < old.slots; i++) {
		struct word *word = &old.slot[i];

		if (word->count)
			*words_find(words, word->hash, words->pool + word->start, word->length) = *word;
	}
	free(old.slot);
}

static inline size_t words_keep(struct words *words, const char *word, size_t length)
{
	size_t start = words->pool_used;

	if (length > words->pool_size - start) {
		words->pool_size = words->pool_size + words->pool_size / 2 + length + 4096;
		words->pool = words_grow(words->pool, words->pool_size);
	}
	memcpy(words->pool + start, word, length);
	words->pool_used += length;
	return start;
}

/* Counts a word `count` times more. */
static inline void words_add(struct words *words, const char *word, size_t length,
                             uint64_t count)
{
	uint64_t hash = words_hash(word, length);
	struct word *slot;

	if (4 * words->used >= 3 * words->slots)
		words_double(words);
	slot = words_find(words, hash, word, length);
	if (!slot->count) {
		*slot = (struct word){ .hash = hash, .length = length,
		                       .start = words_keep(words, word, length) };
		words->used++;
	}
	slot->count += count;
	words->total += count;
}

/* The whole table as records, in memory of its own; *bytes gets its size. */
static inline char *words_pack(const struct words *words, size_t *bytes)
{
	char *packed, *at;

	*bytes = words->used * 16 + words->pool_used;
	at = packed = words_grow(NULL, *bytes + 1);
	for (size_t i = 0; i < words->slots; i++) {
		const struct word *word = &words->slot[i];
		uint64_t head[2] = { word->count, word->length };

		if (!word->count)
			continue;
		memcpy(at, head, sizeof head);
		memcpy(at + sizeof head, words->pool + word->start, word->length);
		at += sizeof head + word->length;
	}
	return packed;
}

/* Adds a packed table. */
static inline void words_merge(struct words *words, const char *packed, size_t bytes)
{
	for (size_t at = 0; at < bytes; ) {
		uint64_t head[2];

		memcpy(head, packed + at, sizeof head);
		words_add(words, packed + at + sizeof head, head[1], head[0]);
		at += sizeof head + head[1];
	}
}

/* Is `a` to be printed before `b`? The more frequent first, then by the word's bytes. */
static inline int words_before(const struct words *words, const struct word *a,
                               const struct word *b)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order;

	if (a->count != b->count)
		return a->count > b->count;
	order = memcmp(words->pool + a->start, words->pool + b->start, shorter);
	return order ? order < 0 : a->length < b->length;
}

/* Puts the first `most` words in order of words_before into `top`; returns how many. */
static inline size_t words_top(const struct words *words, const struct word **top, size_t most)
{
	size_t found = 0;

	for (size_t i = 0; i < words->slots; i++) {
		const struct word *word = &words->slot[i];
		size_t at = found;

		if (!word->count || (found == most && !words_before(words, word, top[most - 1])))
			continue;
		if (found < most)
			found++;
		else
			at--;
		for (; at > 0 && words_before(words, word, top[at - 1]); at--)
			top[at] = top[at - 1];
		top[at] = word;
	}
	return found;
}
#endif
