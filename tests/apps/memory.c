/*
 * memory touch:     allocates 4800 MB, writes and reads a word in each 64 MB of it memory exhaust:
 * allocates until malloc returns NULL, frees all, and repeats that memory stack KB:  uses this much
 * stack
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MB = 1 << 20 };

static int touch(void)
{
	size_t bytes = 4800UL * MB;
	volatile uint64_t *word = malloc(bytes);

	if (!word)
		return 1;
	for (size_t at = 0; at < bytes / 8; at += 8 * MB)
		word[at] = at ^ 0x5555;
	for (size_t at = 0; at < bytes / 8; at += 8 * MB)
		if (word[at] != (at ^ 0x5555))
			return 2;
	printf("%zu MB\n", bytes / MB);
	return 0;
}

/* Blocks of half a megabyte, in a list; returns how many there were. */
static size_t exhaust(void)
{
	void **list = NULL, **block;
	size_t count = 0;

	while ((block = malloc(MB / 2))) {
		block[0] = list;
		block[MB / 16 - 1] = list;
		list = block;
		count++;
	}
	while ((block = list)) {
		list = block[0];
		free(block);
	}
	return count;
}

static __attribute__((noinline)) int stack(long kb)
{
	volatile char frame[1024];

	memset((char *)frame, (int)kb, sizeof frame);
	return kb > 1 ? stack(kb - 1) + frame[512] : 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "touch") == 0)
		return touch();
	if (argc > 2 && strcmp(argv[1], "stack") == 0)
		return printf("%d\n", stack(atol(argv[2]))) < 0;
	size_t first = exhaust(), again = exhaust();

	printf("%zu MB in all\n", first / 2);
	return again < first - 1;
}
