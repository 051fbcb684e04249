/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel structures that our programs read, reduced to the fields that they read.
 *
 * `preserve_access_index` makes every access a CO-RE relocation: the loader looks the field up by name in the
 * running kernel's BTF. The offsets here therefore mean nothing, and no vmlinux.h is needed at build time. If
 * the running kernel lacks a field, the load fails, which the loader reports as "this kernel has no MPTCP".
 *
 * Sources: include/linux/{skbuff,tcp}.h, include/net/{sock,inet_sock,inet_connection_sock}.h,
 * net/mptcp/protocol.h, net/ipv4/tcp_ipv4.c (bpf_iter__tcp), Linux 6.18.
 */
#ifndef SLOWHAND_KERNEL_H
#define SLOWHAND_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff {
	unsigned char *head;
	unsigned char *data;
	__u16 network_header;
};

struct sock_common {
	__u16 skc_family;
	__u16 skc_num;
	volatile unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
	int sk_rcvbuf;
	__u32 sk_pacing_status;
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	void *icsk_ulp_data;
};

struct tcp_options_received {
	__u16 rcv_wscale : 4;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u16 advmss;
	__u8 scaling_ratio;
	__u32 notsent_lowat;
	__u32 window_clamp;
	struct tcp_options_received rx_opt;
	bool is_mptcp;
};

struct mptcp_sock {
	struct inet_connection_sock sk;
	__u32 token;
	__u32 notsent_lowat; /* since 6.9 */
};

struct mptcp_subflow_context {
	__u32 request_join : 1, mp_capable : 1, mp_join : 1;
	struct sock *conn;
};

struct seq_file {
	__u64 index;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

/* The kernel's own context of a `__sk_buff`. Costs nothing at run time. */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
/* Reads `obj` as the kernel type `type_id`. An invalid read gives zeros instead of a fault. */
extern void *bpf_rdonly_cast(const void *obj, __u32 type_id) __ksym;

/*
 * "Dual MIT/GPL" is the licence string of the kernel for code that may call kfuncs and is also offered under
 * MIT.
 */
#define SLOWHAND_LICENSE char LICENSE[] SEC("license") = "Dual MIT/GPL"

#endif
