/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How many of the next packets are to be marked: error diffusion, in integers.
 *
 * `before` is a 32.32 accumulator, to which every ECN-capable packet adds the rate (0.32, where 1 << 32 marks all). Each time
 * that its integer part grows, a mark is due. So n packets at one rate get floor(n · rate) marks, evenly spread, give or take
 * the fraction that was there before; a changed rate acts on the next packet and loses nothing.
 *
 * Pure: no kernel, no state. The BPF program, its Rust twin (`policy::mark`) and this header compiled by the host's compiler
 * must all give the answers in golden/mark.csv.
 */
#ifndef SLOWHAND_MARK_H
#define SLOWHAND_MARK_H

#include <linux/types.h>

/* What `weight` packets add to the accumulator. At most 2^48: it cannot overflow. */
static inline __u64 mark_step(__u64 rate, __u16 weight)
{
	return rate * weight;
}

/* How many of those packets are to be marked; exact also when the accumulator wraps. */
static inline __u32 mark_due(__u64 before, __u64 step)
{
	return (__u32)((before + step) >> 32) - (__u32)(before >> 32);
}

#endif
