/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel structures that the controllers read, reduced to the fields that they read.
 *
 * `preserve_access_index` makes every access a CO-RE relocation: the loader looks the field up by name in the
 * running kernel's BTF. The offsets here therefore mean nothing, and no vmlinux.h is needed. Separate from
 * ../kernel.h so that this directory can be used alone.
 *
 * Sources: include/linux/tcp.h, include/net/{sock,inet_connection_sock,tcp}.h, net/mptcp/protocol.h, Linux
 * 6.18.
 */
#ifndef SLOWHAND_CC_KERNEL_H
#define SLOWHAND_CC_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8

/* include/uapi/linux/tcp.h: enum tcp_ca_state */
#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3

/* include/net/tcp.h */
#define TCP_CA_NAME_MAX 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NON_RESTRICTED 0x1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct sock_common {
	volatile unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_ulp_data;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct tcp_rack {
	__u32 rtt_us; /* of the most recently sent segment among those just acknowledged */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_rack rack;
	__u32 packets_out;
	__u32 max_packets_out;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 srtt_us; /* times 8 */
	__u64 bytes_acked;
	__u32 delivered;
	__u8 is_cwnd_limited : 1;
	bool is_mptcp;
};

struct mptcp_sock {
	struct inet_connection_sock sk;
	__u32 token;
	struct list_head conn_list;
};

struct mptcp_subflow_context {
	struct list_head node;
	__u32 backup : 1;
	__u32 request_bkup : 1;
	__s16 local_id; /* -1: none yet; unsigned and a byte before 6.8 */
	__u8 remote_id;
	struct sock *tcp_sock;
	struct sock *conn;
};

struct tcp_congestion_ops {
	char name[TCP_CA_NAME_MAX];
	__u32 flags;
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
};

#pragma clang attribute pop

/* Reads `obj` as the kernel type `type_id`. An invalid read gives zeros instead of a fault. */
extern void *bpf_rdonly_cast(const void *obj, __u32 type_id) __ksym;
/* Reno's slow start. Returns the rest of `acked`. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define AS_KERNEL(type, address) ((type *)bpf_rdonly_cast(address, bpf_core_type_id_kernel(type)))

/*
 * "Dual MIT/GPL" is the licence string of the kernel for code that may call kfuncs and is also offered under
 * MIT.
 */
#define SLOWHAND_LICENSE char LICENSE[] SEC("license") = "Dual MIT/GPL"

#endif
