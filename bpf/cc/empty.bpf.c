// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A controller that does nothing, to measure the cost of calling one apart from the cost of its work. Not for
 * use: the window never grows.
 */
#include "kernel.h"

SEC("struct_ops") void BPF_PROG(empty_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops") __u32 BPF_PROG(empty_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops") __u32 BPF_PROG(empty_undo, struct sock *sk)
{
	return 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops empty = {
	.name = "slow_empty",
	.flags = TCP_CONG_NON_RESTRICTED,
	.ssthresh = (void *)empty_ssthresh,
	.cong_avoid = (void *)empty_avoid,
	.undo_cwnd = (void *)empty_undo,
};

SLOWHAND_LICENSE;
