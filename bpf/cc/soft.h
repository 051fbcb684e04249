/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Non-negative real numbers as a 32-bit mantissa and an exponent: `mantissa * 2^exponent` with the top bit of
 * the mantissa set, or zero.
 *
 * Each operation is accurate to one part in 2^31 and always rounds down. Windows and round-trip times of any
 * size can be squared and summed. Nothing here needs the kernel, so the same file runs in BPF and on the
 * host.
 *
 * The twin of crates/policy/src/cc/soft.rs, which gives the same numbers. Checked by golden/cc.csv through
 * crates/linux/tests/cc/golden.rs.
 *
 * Choices made for BPF
 * - A number is one signed word, exponent above mantissa. Words then compare as numbers do, and functions can
 *   return them.
 * - In BPF the operations are global functions: the verifier checks each one once, instead of every path
 *   through each call.
 * - Leading zeros are found by halving: BPF has no instruction for it, and clang 14 crashes on the builtin.
 */
#ifndef SLOWHAND_CC_SOFT_H
#define SLOWHAND_CC_SOFT_H

#include <linux/types.h>
#include <stdbool.h>

/* Not `__always_inline`: linux/stddef.h and libbpf define it differently. */
#define CC_INLINE static inline __attribute__((always_inline))

#ifdef __bpf__
#define CC_FUNCTION __attribute__((noinline))
#else
#define CC_FUNCTION static inline
#endif

typedef __s64 soft;

/* Below every other number, and far enough from both ends of the range that exponents can be subtracted. */
#define SOFT_ZERO ((soft)(-(1ll << 62)))
#define SOFT_ONE soft_pack(1ull << 31, -31)

/* The top bit of `mantissa` must be bit 31. */
CC_INLINE soft soft_pack(__u64 mantissa, __s32 exponent)
{
	return ((__u64)exponent << 32) | mantissa;
}

CC_INLINE __u64 soft_mantissa(soft a)
{
	return (__u32)a;
}

CC_INLINE __s32 soft_exponent(soft a)
{
	return a >> 32;
}

/* Converts an integer, rounded down to 32 significant bits. */
CC_FUNCTION soft soft_of(__u64 value)
{
	int exponent = 32;

	if (!value)
		return SOFT_ZERO;
	if (!(value >> 32)) {
		value <<= 32;
		exponent -= 32;
	}
	if (!(value >> 48)) {
		value <<= 16;
		exponent -= 16;
	}
	if (!(value >> 56)) {
		value <<= 8;
		exponent -= 8;
	}
	if (!(value >> 60)) {
		value <<= 4;
		exponent -= 4;
	}
	if (!(value >> 62)) {
		value <<= 2;
		exponent -= 2;
	}
	if (!(value >> 63)) {
		value <<= 1;
		exponent -= 1;
	}
	return soft_pack(value >> 32, exponent);
}

/* a * b */
CC_FUNCTION soft soft_times(soft a, soft b)
{
	__u64 product = soft_mantissa(a) * soft_mantissa(b);
	int shift = 31 + (product >> 63);

	if (!product)
		return SOFT_ZERO;
	return soft_pack(product >> shift, soft_exponent(a) + soft_exponent(b) + shift);
}

/* a / b. Zero if either is zero: a path without a round-trip time has no rate. */
CC_FUNCTION soft soft_over(soft a, soft b)
{
	__u64 quotient;
	int shift;

	if (a == SOFT_ZERO || b == SOFT_ZERO)
		return SOFT_ZERO;
	quotient = (soft_mantissa(a) << 32) / soft_mantissa(b);
	shift = quotient >> 32;
	return soft_pack(quotient >> shift, soft_exponent(a) - soft_exponent(b) - 32 + shift);
}

CC_INLINE soft soft_most(soft a, soft b)
{
	return a >= b ? a : b;
}

CC_INLINE soft soft_least(soft a, soft b)
{
	return a >= b ? b : a;
}

/* a + b */
CC_FUNCTION soft soft_plus(soft a, soft b)
{
	soft big = soft_most(a, b), small = soft_least(a, b);
	__u32 apart = soft_exponent(big) - soft_exponent(small);
	__u64 sum;
	int shift;

	if (small == SOFT_ZERO || apart >= 32)
		return big;
	/* 31 spare bits keep what the smaller number would lose. */
	sum = (soft_mantissa(big) << 31) + ((soft_mantissa(small) << 31) >> apart);
	shift = 31 + (sum >> 63);
	return soft_pack(sum >> shift, soft_exponent(big) - 31 + shift);
}

/* Converts to units of 2^-32, rounded down, at most 2^32: the growth of a window per acknowledged segment. */
CC_FUNCTION __u64 soft_to_q32(soft a)
{
	__u32 right = -32 - soft_exponent(a);

	if (a == SOFT_ZERO)
		return 0;
	if (soft_exponent(a) >= -31)
		return 1ull << 32;
	return right < 32 ? soft_mantissa(a) >> right : 0;
}

#endif
