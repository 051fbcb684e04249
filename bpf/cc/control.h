/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What all controllers share: slow start, window growth in whole segments, and the record of losses.
 *
 * A controller consists of one rule for growth and one for losses (couple.h). `CONTROLLER` turns them into
 * programs.
 *
 * Sources: net/ipv4/tcp_cong.c (tcp_reno_cong_avoid), include/net/tcp.h (tcp_is_cwnd_limited),
 * net/ipv4/bpf_tcp_ca.c (which fields may be written), Linux 6.18.
 */
#ifndef SLOWHAND_CC_CONTROL_H
#define SLOWHAND_CC_CONTROL_H

#include "siblings.h"

/* The smallest window: the least that a loss leaves (RFC 5681). */
#define LEAST_CWND 2

/*
 * Whether cwnd limits this path. If the application or the receive window limits it, cwnd is untested and may
 * not grow.
 */
CC_INLINE bool is_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

CC_INLINE void set_cwnd(struct tcp_sock *tp, __u32 cwnd)
{
	__u32 most = tp->snd_cwnd_clamp;

	if (cwnd > most)
		cwnd = most;
	tp->snd_cwnd = cwnd < LEAST_CWND ? LEAST_CWND : cwnd;
}

CC_INLINE void grow(struct tcp_sock *tp, __u32 acked)
{
	struct memory *memory = memory_of(tp);
	__s64 credit = memory->credit;
	__s32 change = credit_add(&credit, memory->growth, acked);

	memory->credit = credit;
	if (change)
		set_cwnd(tp, tp->snd_cwnd + change);
}

/*
 * Whether everything is delivered that was in flight at the start of this round. Growth is computed once per
 * round trip, as in RFC 6356 section 4.1. In between, no window changes by more than a segment, and most ACKs
 * cost next to nothing.
 */
CC_INLINE bool is_round_over(struct tcp_sock *tp)
{
	return (__s32)(tp->delivered - memory_of(tp)->round_end) >= 0;
}

/*
 * The first slow start, which ends by delay. A later one ends at the threshold set by a loss or an order (RFC
 * 9406 section 4.3). Returns the part of `acked` that is left for congestion avoidance.
 */
CC_INLINE __u32 start_by_delay(struct tcp_sock *tp, __u32 acked)
{
	struct memory *memory = memory_of(tp);
	struct hystart hystart = memory->hystart;

	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		return tcp_slow_start(tp, acked);
	if (is_round_over(tp)) {
		hystart_round(&hystart);
		memory->round_end = tp->delivered + tp->packets_out;
	}
	hystart_sample(&hystart, tp->rack.rtt_us);
	set_cwnd(tp, tp->snd_cwnd + hystart_growth(&hystart, acked));
	memory->hystart = hystart;
	if (hystart_is_over(&hystart)) {
		tp->snd_ssthresh = tp->snd_cwnd;
		memory->round_end = tp->delivered;
	}
	return 0;
}

CC_INLINE void begin_round(struct tcp_sock *tp)
{
	struct memory *memory = memory_of(tp);
	struct couple_mean mean = memory->mean;

	couple_mean_add(&mean, tp->snd_cwnd);
	memory->mean = mean;
	memory->round_end = tp->delivered + tp->packets_out;
}

CC_INLINE void remember_loss(struct tcp_sock *tp)
{
	struct memory *memory = memory_of(tp);
	struct couple_mean mean = memory->mean;

	couple_mean_lost(&mean);
	memory->mean = mean;
	memory->round_end = tp->delivered;

	memory->undo_at_loss = memory->acked_at_loss;
	memory->undo_between = memory->between_losses;
	memory->between_losses = tp->bytes_acked - memory->acked_at_loss;
	memory->acked_at_loss = tp->bytes_acked;
}

CC_INLINE void forget_loss(struct tcp_sock *tp)
{
	struct memory *memory = memory_of(tp);

	memory->acked_at_loss = memory->undo_at_loss;
	memory->between_losses = memory->undo_between;
}

CC_INLINE void begin(struct tcp_sock *tp)
{
	struct memory *memory = memory_of(tp);

	*memory = (struct memory){ .acked_at_loss = tp->bytes_acked,
				   .undo_at_loss = tp->bytes_acked,
				   .round_end = tp->delivered };
}

/* Reno's halving, for this path alone. */
CC_INLINE __u32 halve(struct tcp_sock *tp)
{
	struct couple couple = { .count = 1, .path = { { .cwnd = tp->snd_cwnd } } };

	return reno_after_loss(&couple, 0);
}

CC_INLINE void no_orders(struct tcp_sock *tp)
{
}

/*
 * Defines the programs of a controller and its tcp_congestion_ops, called `slow_<id>` unless the loader gives
 * it another name. `orders(tp)` runs first at each ACK. `start(tp, acked)` performs slow start and returns
 * what is left of `acked`. `increase(couple, own)` is a function of couple.h. `loss(tp)` returns the window
 * after a loss.
 */
#define CONTROLLER(id, orders, start, increase, loss)                                        \
	SEC("struct_ops") void BPF_PROG(id##_init, struct sock *sk)                          \
	{                                                                                    \
		begin((struct tcp_sock *)sk);                                                \
	}                                                                                    \
	SEC("struct_ops") void BPF_PROG(id##_avoid, struct sock *sk, __u32 ack, __u32 acked) \
	{                                                                                    \
		struct tcp_sock *tp = (struct tcp_sock *)sk;                                 \
                                                                                             \
		orders(tp);                                                                  \
		if (!is_cwnd_limited(tp))                                                    \
			return;                                                              \
		if (tp->snd_cwnd < tp->snd_ssthresh)                                         \
			acked = start(tp, acked);                                            \
		if (!acked)                                                                  \
			return;                                                              \
		if (is_round_over(tp)) {                                                     \
			struct couple couple = {};                                           \
                                                                                             \
			begin_round(tp);                                                     \
			look_around(tp, &couple);                                            \
			memory_of(tp)->growth = increase(&couple, 0);                        \
		}                                                                            \
		grow(tp, acked);                                                             \
	}                                                                                    \
	SEC("struct_ops") __u32 BPF_PROG(id##_ssthresh, struct sock *sk)                     \
	{                                                                                    \
		struct tcp_sock *tp = (struct tcp_sock *)sk;                                 \
                                                                                             \
		remember_loss(tp);                                                           \
		return loss(tp);                                                             \
	}                                                                                    \
	SEC("struct_ops") __u32 BPF_PROG(id##_undo, struct sock *sk)                         \
	{                                                                                    \
		forget_loss((struct tcp_sock *)sk);                                          \
		return tcp_reno_undo_cwnd(sk);                                               \
	}                                                                                    \
	SEC(".struct_ops.link")                                                              \
	struct tcp_congestion_ops id = {                                                     \
		.name = "slow_" #id,                                                         \
		.flags = TCP_CONG_NON_RESTRICTED,                                            \
		.init = (void *)id##_init,                                                   \
		.ssthresh = (void *)id##_ssthresh,                                           \
		.cong_avoid = (void *)id##_avoid,                                            \
		.undo_cwnd = (void *)id##_undo,                                              \
	};                                                                                   \
	SLOWHAND_LICENSE

#endif
