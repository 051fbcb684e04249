// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Iterates over the TCP sockets of one network namespace and sets limits on the subflows of chosen MPTCP
 * connections.
 *
 * Six iterators, each a program of its own:
 * - `clamp`: sets TCP_WINDOW_CLAMP to limit what the peer may queue. It is the second choice after
 *   window.bpf.c.
 * - `unsent`: sets TCP_NOTSENT_LOWAT, which limits what this host's MPTCP scheduler may assign to a subflow
 *   beyond what it has sent.
 * - `pacing`: sets SO_MAX_PACING_RATE, the send rate of one subflow that paces, in bytes per second.
 * - `restore`: resets these limits to the kernel's own values on every subflow whose peer has agreed to
 *   MPTCP, for a start after a crash.
 * - `fallback`: sets TCP_WINDOW_CLAMP on sockets whose connection fell back to plain TCP, if the user asks
 *   for that.
 * - `restore_fallback`: removes the clamp that `fallback` has set.
 *
 * An iterator walks the network namespace of the thread that reads it.
 *
 * Traps
 * - `iter/tcp` programs may not call `bpf_skc_to_mptcp_sock`: the connection is found through icsk_ulp_data,
 *   by casts.
 * - The clamp must be set on *every* subflow: the kernel shares the largest window among them
 *   (mptcp_set_rwin).
 * - Receive autotuning overwrites the clamp of each subflow (mptcp_rcv_space_adjust), so `clamp` must run
 *   repeatedly.
 * - The scheduler checks each subflow's own TCP_NOTSENT_LOWAT (mptcp_subflow_get_send → sk_stream_memory_free
 *   → tcp_stream_memory_free). Neither the MPTCP socket's option nor the sysctl reaches it: since 6.9 every
 *   subflow gets UINT_MAX when it joins (mptcp_sockopt_sync_locked), because limits "foul the scheduler".
 *   That is exactly our aim.
 * - An open socket rejects a clamp of 0. To remove a clamp, write the value that autotuning would write.
 * - A connection that fell back may have no token (the kernel had given up requesting MPTCP before it began),
 *   and all such connections share token 0. Its only socket is identified by its cookie. Its program may have
 *   set a clamp of its own, which an MPTCP socket would refuse. Such a clamp is never raised, and only the
 *   exact value that we set is removed.
 * - SO_MAX_PACING_RATE turns pacing on for a socket without it, and nothing turns it off again. So only
 *   sockets that already pace are capped (a controller such as BBR requests it, or the fq qdisc paces all).
 *
 * Sources: net/ipv4/tcp_ipv4.c (bpf_iter_tcp_seq_show: the socket is locked), net/core/filter.c
 * (sol_socket_sockopt, sol_tcp_sockopt), net/core/sock.c, net/ipv4/tcp.c (tcp_set_window_clamp),
 * net/mptcp/protocol.c (mptcp_rcv_space_adjust), net/mptcp/ctrl.c (mptcp_active_should_disable), Linux 6.18.
 *
 * Checked by crates/linux/tests/bpf/limits.rs, crates/linux/src/daemon/tests/fallback.rs.
 */
#include "kernel.h"

#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47
#define UNCAPPED (~0u)
#define SOL_TCP 6
#define TCP_WINDOW_CLAMP 10
#define TCP_NOTSENT_LOWAT 25

/* Connection token -> limit in bytes. 0 removes the limit. Only user space writes it. */
struct limits {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};

struct limits clamps SEC(".maps");
struct limits unsent_limits SEC(".maps");

/* The same for single sockets. */
struct socket_limits {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
};

/* (local port of the subflow << 32 | connection token) -> cap in bytes per second. 0 removes the cap. */
struct socket_limits pacing_caps SEC(".maps");

/*
 * Socket cookie -> clamp of a connection that fell back. For `restore_fallback`, cookie 0, which no socket
 * has, holds the clamp to remove.
 */
struct socket_limits fallbacks SEC(".maps");

/* Output of an iterator: one record per subflow that had an entry in the map. */
struct pass_record {
	__u32 token;
	__u32 before; /* the limit found, in bytes; for `pacing` in bytes per second */
	__u32 after;  /* the limit afterwards, in the same unit */
	__s32 error;  /* 0, or the error of bpf_setsockopt */
};

/* Output of `fallback`: one record per socket that has a limit. */
struct fallback_record {
	__u64 cookie;
	__u32 before; /* the clamp found, in bytes */
	__u32 after;  /* the clamp afterwards, in bytes */
	__s32 error;  /* 0, or the error of bpf_setsockopt */
	__u32 unused;
};

/* The subflow that the iterator is at, with its socket locked. */
struct subflow {
	struct sock_common *skc;
	struct tcp_sock *tp;
	struct mptcp_subflow_context *context;
	__u32 token;
};

/* Any socket that a program opened for MPTCP, even if it fell back. */
static __always_inline bool socket_of(struct bpf_iter__tcp *ctx, struct subflow *found)
{
	struct mptcp_sock *msk;

	found->skc = ctx->sk_common;
	if (!found->skc)
		return false;
	found->tp = bpf_skc_to_tcp_sock(found->skc);
	if (!found->tp || !found->tp->is_mptcp)
		return false;
	found->context = bpf_rdonly_cast(found->tp->inet_conn.icsk_ulp_data,
					 bpf_core_type_id_kernel(struct mptcp_subflow_context));
	msk = bpf_rdonly_cast(found->context->conn, bpf_core_type_id_kernel(struct mptcp_sock));
	found->token = msk->token;
	return true;
}

static __always_inline bool subflow_of(struct bpf_iter__tcp *ctx, struct subflow *found)
{
	return socket_of(ctx, found) && found->token;
}

/*
 * Whether the peer has agreed to MPTCP, or the subflow is joining. Otherwise the program's own options are on
 * this socket.
 */
static __always_inline bool agreed(const struct subflow *subflow)
{
	return BPF_CORE_READ_BITFIELD(subflow->context, mp_capable) ||
	       BPF_CORE_READ_BITFIELD(subflow->context, mp_join) ||
	       BPF_CORE_READ_BITFIELD(subflow->context, request_join);
}

/* The clamp that receive autotuning would set: the payload that the receive buffer holds. */
static __always_inline __u32 free_clamp(struct tcp_sock *tp)
{
	__u32 buffer = tp->inet_conn.icsk_inet.sk.sk_rcvbuf;

	return (__u64)buffer * tp->scaling_ratio >> 8;
}

/*
 * The unsent limit that the kernel gives a subflow: none if the MPTCP socket has its own, otherwise the
 * sysctl's value.
 */
static __always_inline __u32 free_unsent(void)
{
	return bpf_core_field_exists(struct mptcp_sock, notsent_lowat) ? ~0u : 0;
}

static __always_inline struct sock *socket(struct subflow *subflow)
{
	return &subflow->tp->inet_conn.icsk_inet.sk;
}

/* The cap in bytes per second. A rate that does not fit 32 bits counts as no cap. */
static __always_inline __u32 pacing_cap(struct subflow *subflow)
{
	unsigned long rate = socket(subflow)->sk_max_pacing_rate;

	return rate < UNCAPPED ? rate : UNCAPPED;
}

static __always_inline int set_at(struct subflow *subflow, int level, int option, __u32 value)
{
	return bpf_setsockopt(subflow->skc, level, option, &value, sizeof(value));
}

static __always_inline int set(struct subflow *subflow, int option, __u32 bytes)
{
	return set_at(subflow, SOL_TCP, option, bytes);
}

static __always_inline void report(struct bpf_iter__tcp *ctx, struct pass_record *record)
{
	bpf_seq_write(ctx->meta->seq, record, sizeof(*record));
}

/* Sets the clamp of one subflow. 0 removes it. The functions below do the same. */
static __always_inline void set_clamp(struct bpf_iter__tcp *ctx, struct subflow *subflow, __u32 bytes)
{
	struct pass_record record = { .token = subflow->token, .before = subflow->tp->window_clamp };

	if (!bytes)
		bytes = free_clamp(subflow->tp);
	if (record.before != bytes)
		record.error = set(subflow, TCP_WINDOW_CLAMP, bytes);
	record.after = subflow->tp->window_clamp;
	report(ctx, &record);
}

static __always_inline void set_unsent(struct bpf_iter__tcp *ctx, struct subflow *subflow, __u32 bytes)
{
	struct pass_record record = { .token = subflow->token, .before = subflow->tp->notsent_lowat };

	if (!bytes)
		bytes = free_unsent();
	if (record.before != bytes)
		record.error = set(subflow, TCP_NOTSENT_LOWAT, bytes);
	record.after = subflow->tp->notsent_lowat;
	report(ctx, &record);
}

static __always_inline void set_pacing(struct bpf_iter__tcp *ctx, struct subflow *subflow, __u32 rate)
{
	struct pass_record record = { .token = subflow->token, .before = pacing_cap(subflow) };

	if (!rate)
		rate = UNCAPPED;
	/* A lower cap was set by someone else and stays. */
	if ((record.before > rate || rate == UNCAPPED) && socket(subflow)->sk_pacing_status)
		record.error = set_at(subflow, SOL_SOCKET, SO_MAX_PACING_RATE, rate);
	record.after = pacing_cap(subflow);
	report(ctx, &record);
}

SEC("iter/tcp")
int clamp(struct bpf_iter__tcp *ctx)
{
	struct subflow subflow;
	__u32 *bytes;

	if (!subflow_of(ctx, &subflow))
		return 0;
	bytes = bpf_map_lookup_elem(&clamps, &subflow.token);
	if (bytes)
		set_clamp(ctx, &subflow, *bytes);
	return 0;
}

SEC("iter/tcp")
int unsent(struct bpf_iter__tcp *ctx)
{
	struct subflow subflow;
	__u32 *bytes;

	if (!subflow_of(ctx, &subflow))
		return 0;
	bytes = bpf_map_lookup_elem(&unsent_limits, &subflow.token);
	if (bytes)
		set_unsent(ctx, &subflow, *bytes);
	return 0;
}

SEC("iter/tcp")
int pacing(struct bpf_iter__tcp *ctx)
{
	struct subflow subflow;
	__u32 *rate;
	__u64 key;

	if (!subflow_of(ctx, &subflow))
		return 0;
	key = (__u64)subflow.skc->skc_num << 32 | subflow.token;
	rate = bpf_map_lookup_elem(&pacing_caps, &key);
	if (rate)
		set_pacing(ctx, &subflow, *rate);
	return 0;
}

SEC("iter/tcp")
int restore(struct bpf_iter__tcp *ctx)
{
	struct subflow subflow;

	if (!subflow_of(ctx, &subflow) || !agreed(&subflow))
		return 0;
	if (subflow.tp->window_clamp < free_clamp(subflow.tp))
		set_clamp(ctx, &subflow, 0);
	if (subflow.tp->notsent_lowat != free_unsent())
		set_unsent(ctx, &subflow, 0);
	if (pacing_cap(&subflow) != UNCAPPED)
		set_pacing(ctx, &subflow, 0);
	return 0;
}

SEC("iter/tcp")
int fallback(struct bpf_iter__tcp *ctx)
{
	struct fallback_record record = {};
	struct subflow socket;
	__u32 *bytes;

	if (!socket_of(ctx, &socket))
		return 0;
	record.cookie = bpf_get_socket_cookie(socket.skc);
	bytes = bpf_map_lookup_elem(&fallbacks, &record.cookie);
	if (!bytes)
		return 0;
	record.before = socket.tp->window_clamp;
	if (record.before > *bytes)
		record.error = set(&socket, TCP_WINDOW_CLAMP, *bytes);
	record.after = socket.tp->window_clamp;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

SEC("iter/tcp")
int restore_fallback(struct bpf_iter__tcp *ctx)
{
	__u64 nobody = 0;
	__u32 *bytes = bpf_map_lookup_elem(&fallbacks, &nobody);
	struct subflow socket;

	if (bytes && socket_of(ctx, &socket) && socket.tp->window_clamp == *bytes)
		set_clamp(ctx, &socket, 0);
	return 0;
}

SLOWHAND_LICENSE;
