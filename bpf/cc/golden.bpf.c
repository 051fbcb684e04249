// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs the arithmetic of couple.h and hystart.h in the kernel's BPF machine for the golden tests. A
 * struct_ops program has no BPF_PROG_TEST_RUN, but one of type `syscall` has. Not part of any controller.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "couple.h"
#include "hystart.h"

/* One test vector and its results. */
struct golden {
	struct couple couple;
	__u32 own;
	__u32 left;
	__s64 growth;
};

/* One program per controller: together they would not fit the stack. */
#define ANSWER(id, increase, after_loss)                      \
	SEC("syscall") int id(struct golden *golden)          \
	{                                                     \
		struct couple couple = golden->couple;        \
		__u32 own = golden->own & (COUPLE_PATHS - 1); \
                                                              \
		golden->growth = increase(&couple, own);      \
		golden->left = after_loss(&couple, own);      \
		return 1;                                     \
	}

ANSWER(reno, reno_increase, reno_after_loss)
ANSWER(lia, lia_increase, reno_after_loss)
ANSWER(cla_printed, cla_printed_increase, reno_after_loss)
ANSWER(olia, olia_increase, reno_after_loss)
ANSWER(balia, balia_increase, balia_after_loss)

/* One ACK in slow start. */
struct golden_ack {
	struct hystart hystart;
	__u32 begins; /* nonzero: a round begins */
	__u32 rtt_us;
	__u32 acked;
	__u32 grown;
};

SEC("syscall") int slow_start(struct golden_ack *ack)
{
	struct hystart hystart = ack->hystart;

	if (ack->begins)
		hystart_round(&hystart);
	hystart_sample(&hystart, ack->rtt_us);
	ack->grown = hystart_growth(&hystart, ack->acked);
	ack->hystart = hystart;
	return hystart_is_over(&hystart);
}

/* One ACK in congestion avoidance. */
struct golden_credit {
	__s64 credit;
	__s64 increase;
	__u32 acked;
	__s32 change;
};

SEC("syscall") int credit(struct golden_credit *ack)
{
	__s64 credit = ack->credit;

	ack->change = credit_add(&credit, ack->increase, ack->acked);
	ack->credit = credit;
	return 1;
}

/* Events that change a path's mean window. */
struct golden_mean {
	struct couple_mean mean;
	__u32 cwnd;
	__u32 happened; /* bits: 1 = a round trip, 2 = a loss after it */
};

SEC("syscall") int mean(struct golden_mean *golden)
{
	struct couple_mean mean = golden->mean;

	if (golden->happened & 1)
		couple_mean_add(&mean, golden->cwnd);
	if (golden->happened & 2)
		couple_mean_lost(&mean);
	golden->mean = mean;
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
