/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Window growth and window after a loss for one path of a multipath connection: LIA, OLIA, BALIA.
 *
 * Growth is per newly acknowledged segment in congestion avoidance, in units of 2^-32 segment. Nothing here
 * needs the kernel, so the same file runs in BPF and on the host.
 *
 * Sources: RFC 5681 (Reno), RFC 6356 section 3 (LIA), draft-khalili-mptcp-congestion-control-05 section 2
 * (OLIA), draft-walid-mptcp-congestion-control-04 section 3 (BALIA). The cla paper prints LIA's alpha without
 * the square of the sum: cla_printed_increase, for golden vectors only.
 *
 * The twin of crates/policy/src/cc/{reno,lia,olia,balia}.rs, which document the deviations from the papers.
 * Checked by golden/cc.csv, golden/credit.csv and golden/mean.csv through
 * crates/linux/tests/cc/{golden,credit,mean}.rs.
 */
#ifndef SLOWHAND_CC_COUPLE_H
#define SLOWHAND_CC_COUPLE_H

#include "soft.h"

/* Maximum number of paths considered per connection. */
#define COUPLE_PATHS 8
/* Unit of mean windows: 2^-16 segment. */
#define COUPLE_SEGMENT (1u << 16)
/* Weight of one round trip in a mean, and the maximum weight of all. */
#define COUPLE_ROUND 16u
#define COUPLE_ROUNDS (1u << 20)

#ifdef __bpf__
/* An unrolled loop is eight times the code, and no faster. */
#define COUPLE_LOOP _Pragma("clang loop unroll(disable)")
#else
#define COUPLE_LOOP
#endif

#define COUPLE_EACH(i, couple)                                          \
	COUPLE_LOOP                                                     \
	for (__u32 i = 0; i < COUPLE_PATHS && i < (couple)->count; i++) \
		if (couple_counts(&(couple)->path[i]))

/* One path of the connection. */
struct couple_path {
	__u32 cwnd;           /* window in segments; in recovery the slow-start threshold */
	__u32 srtt_us;        /* smoothed round-trip time; 0: none yet, path is ignored */
	__u64 mean;           /* LIA: mean window over the last losses, in 2^-16 segment; 0: none yet */
	__u64 since_loss;     /* OLIA: bytes acknowledged since the last loss */
	__u64 between_losses; /* OLIA: bytes acknowledged between the last two losses */
};

/* All paths of the connection, `count` of them. */
struct couple {
	__u32 count;
	struct couple_path path[COUPLE_PATHS];
};

CC_INLINE bool couple_counts(const struct couple_path *path)
{
	return path->srtt_us && path->cwnd;
}

/* Always true. The verifier checks each global function on its own and needs the test. */
CC_INLINE bool couple_has(const struct couple *couple, __u32 own)
{
	return couple && own < COUPLE_PATHS;
}

/* Segments per microsecond. */
CC_INLINE soft couple_rate(const struct couple_path *path)
{
	return soft_over(soft_of(path->cwnd), soft_of(path->srtt_us));
}

CC_INLINE __s64 reno_increase(const struct couple *couple, __u32 own)
{
	__u32 cwnd = couple->path[own].cwnd;

	return soft_to_q32(soft_over(SOFT_ONE, soft_of(cwnd ? cwnd : 1)));
}

CC_INLINE __u32 reno_after_loss(const struct couple *couple, __u32 own)
{
	__u32 cwnd = couple->path[own].cwnd;

	return cwnd < 4 ? 2 : cwnd / 2;
}

/* Window of a path in equilibrium: its mean, limited to a factor of four from the current window. */
CC_INLINE soft couple_balance(const struct couple_path *path)
{
	soft now = soft_of(path->cwnd), four = soft_of(4), mean = soft_of(path->mean);

	if (!path->mean)
		return now;
	mean = soft_over(mean, soft_of(COUPLE_SEGMENT));
	return soft_least(soft_most(mean, soft_over(now, four)), soft_times(now, four));
}

/* LIA: the terms of alpha, with g = w/rtt^2 per path. */
struct lia_view {
	soft best;    /* the largest g */
	soft sum;     /* of all g */
	soft squares; /* of all g^2 */
	soft total;   /* the sum of w/rtt */
	__u32 paths;
	bool measured; /* at least one path has a mean window */
};

CC_INLINE void lia_look(const struct couple *couple, struct lia_view *view)
{
	view->best = view->sum = view->squares = view->total = SOFT_ZERO;
	COUPLE_EACH(i, couple) {
		const struct couple_path *path = &couple->path[i];
		soft rtt = soft_of(path->srtt_us);
		soft rate = soft_over(couple_balance(path), rtt), g = soft_over(rate, rtt);

		view->best = soft_most(view->best, g);
		view->sum = soft_plus(view->sum, g);
		view->squares = soft_plus(view->squares, soft_times(g, g));
		view->total = soft_plus(view->total, rate);
		view->measured |= path->mean != 0;
		view->paths++;
	}
}

/*
 * LIA: alpha / w_tot = max(w/rtt^2) / (sum of w/rtt)^2. Mean windows are never exact, so with them the
 * maximum is replaced by a mean of all g weighted by g.
 */
CC_INLINE soft lia_common(const struct lia_view *view)
{
	soft best = view->measured ? soft_over(view->squares, view->sum) : view->best;

	return soft_over(soft_over(best, view->total), view->total);
}

CC_FUNCTION __s64 lia_increase(const struct couple *couple, __u32 own)
{
	struct lia_view view = {};
	__s64 alone, coupled;

	if (!couple_has(couple, own))
		return 0;
	alone = reno_increase(couple, own);
	if (!couple_counts(&couple->path[own]))
		return alone;
	lia_look(couple, &view);
	if (view.paths == 1)
		return alone;
	coupled = soft_to_q32(lia_common(&view));
	return coupled < alone ? coupled : alone;
}

CC_FUNCTION __s64 cla_printed_increase(const struct couple *couple, __u32 own)
{
	struct lia_view view = {};
	__s64 alone, coupled;
	soft per_second;

	if (!couple_has(couple, own))
		return 0;
	alone = reno_increase(couple, own);
	if (!couple_counts(&couple->path[own]))
		return alone;
	lia_look(couple, &view);
	per_second = soft_times(view.total, soft_of(1000000));
	coupled = soft_to_q32(soft_times(lia_common(&view), per_second));
	return coupled < alone ? coupled : alone;
}

/* OLIA: the threshold above which a value counts as equal to `most`. */
CC_INLINE soft olia_threshold(soft most)
{
	return soft_over(soft_times(most, soft_of(63)), soft_of(64));
}

/* OLIA: l / rtt^2, where l is the larger of the two intervals. */
CC_INLINE soft olia_quality(const struct couple_path *path)
{
	bool since = path->since_loss > path->between_losses;
	soft length = soft_of(since ? path->since_loss : path->between_losses);
	soft rtt = soft_of(path->srtt_us);

	return soft_over(soft_over(length, rtt), rtt);
}

/* OLIA: sums and maxima over all paths, and the quality of each path. */
struct olia_view {
	soft quality[COUPLE_PATHS];
	soft total;
	soft best;    /* threshold of the best paths */
	soft largest; /* threshold of the largest windows */
	__u32 paths;
};

CC_INLINE void olia_look(const struct couple *couple, struct olia_view *view)
{
	soft best = SOFT_ZERO, largest = SOFT_ZERO;

	view->total = SOFT_ZERO;
	COUPLE_EACH(i, couple) {
		const struct couple_path *path = &couple->path[i];

		view->quality[i] = olia_quality(path);
		view->total = soft_plus(view->total, couple_rate(path));
		best = soft_most(best, view->quality[i]);
		largest = soft_most(largest, soft_of(path->cwnd));
		view->paths++;
	}
	view->best = olia_threshold(best);
	view->largest = olia_threshold(largest);
}

/* 1 / (paths * members) of a segment per window, in units of 2^-32 segment. */
CC_INLINE __s64 olia_share(__u32 paths, __u32 members, __u32 cwnd)
{
	soft share = soft_over(SOFT_ONE, soft_of(paths * members));

	return soft_to_q32(soft_over(share, soft_of(cwnd)));
}

/* OLIA: alpha / w. The best paths with small windows gain what the paths with the largest windows lose. */
CC_INLINE __s64 olia_opportunity(const struct couple *couple, __u32 own, const struct olia_view *view)
{
	__u32 collected = 0, large = 0, cwnd = couple->path[own].cwnd;
	bool own_is_large = soft_of(cwnd) >= view->largest;

	COUPLE_EACH(i, couple) {
		bool is_large = soft_of(couple->path[i].cwnd) >= view->largest;

		if (is_large)
			large++;
		else if (view->quality[i] >= view->best)
			collected++;
	}
	if (!collected)
		return 0;
	if (own_is_large)
		return -olia_share(view->paths, large, cwnd);
	if (view->quality[own] >= view->best)
		return olia_share(view->paths, collected, cwnd);
	return 0;
}

CC_FUNCTION __s64 olia_increase(const struct couple *couple, __u32 own)
{
	const struct couple_path *path;
	struct olia_view view = {};
	soft kelly;

	if (!couple_has(couple, own))
		return 0;
	path = &couple->path[own];
	if (!couple_counts(path))
		return reno_increase(couple, own);
	olia_look(couple, &view);
	kelly = soft_over(couple_rate(path), soft_of(path->srtt_us));
	kelly = soft_over(soft_over(kelly, view.total), view.total);
	return (__s64)soft_to_q32(kelly) + olia_opportunity(couple, own, &view);
}

/* BALIA's a: the rate of the fastest path relative to this one. */
CC_INLINE soft balia_imbalance(const struct couple *couple, __u32 own, soft *total)
{
	soft fastest = SOFT_ZERO;

	*total = SOFT_ZERO;
	COUPLE_EACH(i, couple) {
		soft rate = couple_rate(&couple->path[i]);

		fastest = soft_most(fastest, rate);
		*total = soft_plus(*total, rate);
	}
	return soft_over(fastest, couple_rate(&couple->path[own]));
}

CC_FUNCTION __s64 balia_increase(const struct couple *couple, __u32 own)
{
	const struct couple_path *path;
	soft a, total, kelly, lift;

	if (!couple_has(couple, own))
		return 0;
	path = &couple->path[own];
	if (!couple_counts(path))
		return reno_increase(couple, own);
	a = balia_imbalance(couple, own, &total);
	kelly = soft_over(couple_rate(path), soft_of(path->srtt_us));
	kelly = soft_over(soft_over(kelly, total), total);
	lift = soft_times(soft_plus(SOFT_ONE, a), soft_plus(soft_of(4), a));
	return soft_to_q32(soft_times(kelly, soft_over(lift, soft_of(10))));
}

CC_FUNCTION __u32 balia_after_loss(const struct couple *couple, __u32 own)
{
	__u32 cwnd, left;
	soft a, total, half_of;

	if (!couple_has(couple, own))
		return 0;
	if (!couple_counts(&couple->path[own]))
		return reno_after_loss(couple, own);
	cwnd = couple->path[own].cwnd;
	/* A loss removes min(a, 3/2) / 2 of the window: 1/2 to 3/4 of it, as a >= 1. */
	a = balia_imbalance(couple, own, &total);
	half_of = soft_over(soft_least(a, soft_over(soft_of(3), soft_of(2))), soft_of(2));
	left = cwnd - (__u32)((cwnd * soft_to_q32(half_of)) >> 32);
	return left < 2 ? 2 : left;
}

/* Mean window of a path over round trips. A loss reduces the weight of the earlier ones by an eighth. */
struct couple_mean {
	__u64 window; /* in 2^-16 segment */
	__u32 weight; /* in sixteenths of a round trip */
};

/* Adds a round trip with this window. */
CC_INLINE void couple_mean_add(struct couple_mean *mean, __u32 cwnd)
{
	const __u32 most = (1u << 27) - 1; /* sums stay within 64 bits */
	__u64 window = (__u64)(cwnd < most ? cwnd : most) * COUPLE_SEGMENT;
	__u32 weight = mean->weight + COUPLE_ROUND;

	if (weight > COUPLE_ROUNDS)
		weight = COUPLE_ROUNDS;
	mean->window = (mean->window * (weight - COUPLE_ROUND) + window * COUPLE_ROUND) / weight;
	mean->weight = weight;
}

CC_INLINE void couple_mean_lost(struct couple_mean *mean)
{
	mean->weight -= mean->weight / 8;
}

/*
 * Accumulates fractions of segments, and returns by how many whole segments the window changes now. `credit`
 * is in units of 2^-31 segment.
 */
CC_INLINE __s32 credit_add(__s64 *credit, __s64 increase, __u32 acked)
{
	const __u32 most = 1u << 29; /* upper limit of packets in flight; increase * acked fits 64 bits */
	__s64 parts = increase * (acked < most ? acked : most), sum;
	__s32 whole;

	/* Rounds towards zero, as Rust's division does. BPF here has no signed division. */
	sum = *credit + ((parts + (__s64)((__u64)parts >> 63)) >> 1);
	whole = sum >> 31;
	*credit = sum & 0x7fffffff;
	return whole;
}

#endif
