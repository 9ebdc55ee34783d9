/*
 * CRC32C (the polynomial 0x1EDC6F41, reflected) in plain C, byte by byte, for processors
 * without an instruction for it. The compiler computes the constant table: the checksum is
 * linear, so an entry is the XOR of the entries of its bits. No state.
 */
#include "wire.h"

#define BIT(n, k, value) (((n) >> (k) & 1) ? (value) : 0)
#define E1(n) (BIT(n, 0, 0xf26b8303u) ^ BIT(n, 1, 0xe13b70f7u) ^ BIT(n, 2, 0xc79a971fu) ^ \
	       BIT(n, 3, 0x8ad958cfu) ^ BIT(n, 4, 0x105ec76fu) ^ BIT(n, 5, 0x20bd8edeu) ^ \
	       BIT(n, 6, 0x417b1dbcu) ^ BIT(n, 7, 0x82f63b78u))
#define E4(n)  E1(n), E1((n) + 1), E1((n) + 2), E1((n) + 3)
#define E16(n) E4(n), E4((n) + 4), E4((n) + 8), E4((n) + 12)
#define E64(n) E16(n), E16((n) + 16), E16((n) + 32), E16((n) + 48)

static const uint32_t table[256] = { E64(0), E64(64), E64(128), E64(192) };

uint32_t wire_crc32c(uint32_t crc, const void *bytes, uint64_t n)
{
	const uint8_t *byte = bytes;

	crc = ~crc;
	while (n--)
		crc = table[(crc ^ *byte++) & 0xff] ^ crc >> 8;
	return ~crc;
}
