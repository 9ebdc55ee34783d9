/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits, for the
 * tag of frames (wire.h). Without the key of 128 bits it cannot be computed. It
 * needs no tables and no nonce. Bytes may be added in pieces of any length. All
 * state is the caller's.
 */
#ifndef NET_LINK_SIPHASH_H
#define NET_LINK_SIPHASH_H
#include <stdint.h>

#define SIPHASH_KEY_BYTES  16u

struct siphash {
	uint64_t v[4];             /* the hash's state */
	uint64_t tail;             /* bytes of an incomplete word, the rest 0 */
	uint64_t total;            /* bytes added so far */
};

void siphash_start(struct siphash *hash, const uint8_t *key);
void siphash_add(struct siphash *hash, const void *bytes, uint64_t n);
uint64_t siphash_end(struct siphash *hash);

#endif
