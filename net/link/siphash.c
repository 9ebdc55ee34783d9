/*
 * SipHash-2-4: see siphash.h. Called by wire.c for every frame of a job with a key.
 */
#include "siphash.h"
#include "wire.h"

static uint64_t rotated(uint64_t x, uint32_t n)
{
	return x << n | x >> (64 - n);
}

static inline __attribute__((always_inline)) void rounds(uint64_t v[4], uint32_t n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] = rotated(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[2] = rotated(v[2], 32);
	}
}

/* Add whole words. The state is copied, so that it stays in registers. */
static void compress(struct siphash *hash, const uint8_t *bytes, uint64_t words)
{
	uint64_t v[4] = { hash->v[0], hash->v[1], hash->v[2], hash->v[3] };

	for (; words--; bytes += 8) {
		uint64_t word = wire_get(bytes, 8);

		v[3] ^= word;
		rounds(v, 2);
		v[0] ^= word;
	}
	for (uint32_t i = 0; i < 4; i++)
		hash->v[i] = v[i];
}

void siphash_start(struct siphash *hash, const uint8_t *key)
{
	uint64_t low = wire_get(key, 8), high = wire_get(key + 8, 8);

	*hash = (struct siphash){ .v = { low ^ 0x736f6d6570736575u, high ^ 0x646f72616e646f6du,
					 low ^ 0x6c7967656e657261u, high ^ 0x7465646279746573u } };
}

void siphash_add(struct siphash *hash, const void *bytes, uint64_t n)
{
	const uint8_t *at = bytes;

	while (n && hash->total % 8) {
		hash->tail |= (uint64_t)*at++ << 8 * (hash->total++ % 8);
		n--;
		if (hash->total % 8 == 0) {
			compress(hash, (const uint8_t *)&hash->tail, 1);
			hash->tail = 0;
		}
	}
	compress(hash, at, n / 8);
	at += n & ~7ull;
	hash->total += n;
	for (uint32_t i = 0; i < n % 8; i++)
		hash->tail |= (uint64_t)at[i] << 8 * i;
}

uint64_t siphash_end(struct siphash *hash)
{
	hash->tail |= hash->total << 56;
	compress(hash, (const uint8_t *)&hash->tail, 1);
	hash->v[2] ^= 0xff;
	rounds(hash->v, 4);
	return hash->v[0] ^ hash->v[1] ^ hash->v[2] ^ hash->v[3];
}
