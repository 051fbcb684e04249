// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The arithmetic of couple.h as the kernel's BPF machine computes it, for the golden test: a struct_ops program has no
 * BPF_PROG_TEST_RUN, but one of type `syscall` has. Not part of any controller.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "couple.h"

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

char LICENSE[] SEC("license") = "Dual MIT/GPL";
