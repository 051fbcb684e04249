// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The arithmetic of couple.h and hystart.h as the kernel's BPF machine computes it, for the golden test: a struct_ops program has no
 * BPF_PROG_TEST_RUN, but one of type `syscall` has. Not part of any controller.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "couple.h"
#include "hystart.h"

/* One vector, and the answers. */
struct golden {
	struct couple couple;
	__u32 own;
	__u32 left;
	__s64 growth;
};

/* One program each: together they would not fit the stack. */
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

/* One acknowledgement in slow start. */
struct golden_ack {
	struct hystart hystart;
	__u32 begins; /* a round */
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

char LICENSE[] SEC("license") = "Dual MIT/GPL";
