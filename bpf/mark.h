/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Number of the next packets to mark: error diffusion in integers.
 *
 * `before` is a 32.32 accumulator, to which every ECN-capable packet adds the rate (0.32, where 1 << 32 marks
 * all). Each time its integer part grows, a mark is due. So n packets at one rate get floor(n · rate) marks,
 * evenly spread, plus at most one from the earlier fraction. A changed rate applies to the next packet and
 * loses nothing.
 *
 * Pure: no kernel, no state. The BPF program, its Rust twin (`policy::mark`) and this header compiled by the
 * host's compiler must all give the results in golden/mark.csv.
 */
#ifndef SLOWHAND_MARK_H
#define SLOWHAND_MARK_H

#include <linux/types.h>

/* Amount that `weight` packets add to the accumulator. At most 2^48, so it cannot overflow. */
static inline __u64 mark_step(__u64 rate, __u16 weight)
{
	return rate * weight;
}

/* Number of those packets to mark. Also exact when the accumulator wraps. */
static inline __u32 mark_due(__u64 before, __u64 step)
{
	return (__u32)((before + step) >> 32) - (__u32)(before >> 32);
}

#endif
