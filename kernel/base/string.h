/*
 * Memory and string functions of the kernel; the standard's contracts.
 */
#ifndef KERNEL_STRING_H
#define KERNEL_STRING_H
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

/* FNV-1a of 32 bits: its offset basis and its prime. */
static inline uint32_t string_hash(const char *text, size_t bytes)
{
	uint32_t hash = 2166136261u;

	while (bytes--)
		hash = (hash ^ (uint8_t)*text++) * 16777619u;
	return hash;
}

#endif
