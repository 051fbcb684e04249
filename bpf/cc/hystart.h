/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HyStart++: slow start ends when the round-trip time grows, before a queue overflows.
 *
 * Nothing here needs the kernel. Source: RFC 9406 section 4.2, with its constants. Differences: it counts
 * segments, not bytes, and L is infinite (the kernel limits the growth per ACK, as in Reno's slow start).
 *
 * The twin of crates/policy/src/cc/hystart.rs. Checked by golden/hystart.csv through
 * crates/linux/tests/cc/hystart.rs.
 */
#ifndef SLOWHAND_CC_HYSTART_H
#define SLOWHAND_CC_HYSTART_H

#include "soft.h"

#define HYSTART_LEAST_US 4000u /* MIN_RTT_THRESH */
#define HYSTART_MOST_US 16000u /* MAX_RTT_THRESH */
#define HYSTART_PART 8         /* MIN_RTT_DIVISOR */
#define HYSTART_SAMPLES 8      /* N_RTT_SAMPLE */
#define HYSTART_SLOWER 4       /* CSS_GROWTH_DIVISOR */
#define HYSTART_ROUNDS 5       /* CSS_ROUNDS */

/* Starts as all zeros. */
struct hystart {
	__u32 last_us;     /* lastRoundMinRTT; 0: none */
	__u32 shortest_us; /* currentRoundMinRTT; 0: none yet */
	__u32 baseline_us; /* cssBaselineMinRtt; 0: not in conservative slow start */
	__u8 samples;      /* rttSampleCount, up to N_RTT_SAMPLE */
	__u8 rounds;       /* completed rounds of conservative slow start */
	__u8 credit;       /* conservative slow start: acknowledged segments not yet turned into growth */
	__u8 zero;
};

/* Starts a new round: everything is acknowledged that was in flight when the last one began. */
CC_INLINE void hystart_round(struct hystart *h)
{
	h->last_us = h->shortest_us;
	h->shortest_us = 0;
	h->samples = 0;
	if (h->baseline_us && h->rounds < HYSTART_ROUNDS)
		h->rounds++;
}

/* The round-trip time plus RttThresh. */
CC_INLINE __u64 hystart_longer(__u32 rtt_us)
{
	__u32 part = rtt_us / HYSTART_PART;

	if (part < HYSTART_LEAST_US)
		part = HYSTART_LEAST_US;
	return (__u64)rtt_us + (part < HYSTART_MOST_US ? part : HYSTART_MOST_US);
}

CC_INLINE void hystart_conserve(struct hystart *h, __u32 baseline_us)
{
	h->baseline_us = baseline_us;
	h->rounds = 0;
	h->credit = 0;
}

/* Processes an ACK with this round-trip time. 0: the ACK gave no sample. */
CC_INLINE void hystart_sample(struct hystart *h, __u32 rtt_us)
{
	if (!rtt_us)
		return;
	if (!h->shortest_us || rtt_us < h->shortest_us)
		h->shortest_us = rtt_us;
	if (h->samples < HYSTART_SAMPLES)
		h->samples++;
	if (h->samples < HYSTART_SAMPLES)
		return;
	if (!h->baseline_us) {
		if (h->last_us && h->shortest_us >= hystart_longer(h->last_us))
			hystart_conserve(h, h->shortest_us);
	} else if (h->shortest_us < h->baseline_us) {
		hystart_conserve(h, 0);
	}
}

/* Number of segments by which the window grows for `acked` segments. */
CC_INLINE __u32 hystart_growth(struct hystart *h, __u32 acked)
{
	__u32 parts;

	if (!h->baseline_us)
		return acked;
	parts = h->credit + acked % HYSTART_SLOWER;
	h->credit = parts % HYSTART_SLOWER;
	return acked / HYSTART_SLOWER + parts / HYSTART_SLOWER;
}

/* Whether slow start is over and congestion avoidance begins. */
CC_INLINE bool hystart_is_over(const struct hystart *h)
{
	return h->rounds >= HYSTART_ROUNDS;
}

#endif
