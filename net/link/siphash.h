/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits, for the
 * tag of frames (wire.h). Without the key of 128 bits one can neither compute it
 * nor find another input that has it. It has no tables and needs no nonce. Bytes
 * may be added in pieces of any length. No state but the caller's.
 */
#ifndef NET_LINK_SIPHASH_H
#define NET_LINK_SIPHASH_H
#include <stdint.h>

#define SIPHASH_KEY_BYTES  16u

struct siphash {
	uint64_t v[4];
	uint64_t tail;             /* bytes of a word that is not yet full, the rest 0 */
	uint64_t total;            /* bytes so far */
};

void siphash_start(struct siphash *hash, const uint8_t *key);
void siphash_add(struct siphash *hash, const void *bytes, uint64_t n);
uint64_t siphash_end(struct siphash *hash);

#endif
