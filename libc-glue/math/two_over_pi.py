"""Prints the bits of 2/pi that trig.c needs to reduce any long double: an array
of 64-bit words, the first bit behind the binary point on top. Called by make.

Pi is computed by Machin's formula in whole numbers.
"""
BITS = 16384 + 448        # the largest exponent, and a window behind it
GUARD = 64


def inverse_tangent(inverse: int, one: int) -> int:
    """atan(1 / inverse), times one."""
    term = one // inverse
    total, divisor = term, 1
    while term:
        term //= -inverse * inverse
        divisor += 2
        total += term // divisor
    return total


one = 1 << (BITS + GUARD)
pi = 16 * inverse_tangent(5, one) - 4 * inverse_tangent(239, one)
bits = (2 * one << BITS) // pi
print("static const uint64_t two_over_pi[] = {")
for word in range(BITS // 64):
    print(f"\t0x{bits >> (BITS - 64 * (word + 1)) & (1 << 64) - 1:016x},")
print("};")
