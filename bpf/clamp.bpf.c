// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Walks over the TCP sockets of one network namespace and sets limits on the subflows of chosen MPTCP connections.
 *
 * Six iterators, each a program of its own:
 * - `clamp`: TCP_WINDOW_CLAMP, the second-best way to bound what the peer may queue (the best is window.bpf.c);
 * - `unsent`: TCP_NOTSENT_LOWAT, how much this host's MPTCP scheduler may put on a subflow beyond what it has sent;
 * - `pacing`: SO_MAX_PACING_RATE, how fast one subflow that paces may send, in bytes a second;
 * - `restore`: these limits back to what the kernel would have, on every subflow of which the peer has agreed to MPTCP, for a start after a crash;
 * - `fallback`: TCP_WINDOW_CLAMP on sockets whose connection fell back to plain TCP, where the user asks for that;
 * - `restore_fallback`: takes off what `fallback` has set.
 *
 * The reader of the iterator decides the namespace: it walks the one that the reading thread is in.
 *
 * Traps
 * - `bpf_skc_to_mptcp_sock` is refused in `iter/tcp`: the connection is found through icsk_ulp_data, by casts.
 * - The clamp has to be on *every* subflow: the kernel shares the largest window among them (mptcp_set_rwin).
 * - Receive autotuning writes each subflow's clamp anew (mptcp_rcv_space_adjust): `clamp` must be run again and again.
 * - The scheduler asks each subflow for its own TCP_NOTSENT_LOWAT (mptcp_subflow_get_send → sk_stream_memory_free →
 *   tcp_stream_memory_free), which neither the MPTCP socket's option nor the sysctl reaches: since 6.9 every subflow is
 *   given UINT_MAX when it joins (mptcp_sockopt_sync_locked), because limits "foul the scheduler". Fouling it is our aim.
 * - A clamp of 0 is refused on an open socket: giving back means writing what autotuning would write.
 * - A connection that fell back may have no token (the kernel had given up asking for MPTCP before it began), and then all have the same: none.
 *   Its one socket is known by its cookie. Its program may have set a clamp of its own, which on an MPTCP socket is refused: such a one is
 *   never raised, and only the very value that we set is taken off.
 *
 * - SO_MAX_PACING_RATE makes a socket pace that did not, and nothing ends that again: only those are capped that pace by themselves (a controller
 *   such as BBR asks for it, or the fq qdisc does it for all).
 *
 * Sources: net/ipv4/tcp_ipv4.c (bpf_iter_tcp_seq_show: the socket is locked), net/core/filter.c (sol_socket_sockopt, sol_tcp_sockopt), net/core/sock.c,
 * net/ipv4/tcp.c (tcp_set_window_clamp), net/mptcp/protocol.c (mptcp_rcv_space_adjust), net/mptcp/ctrl.c (mptcp_active_should_disable), Linux 6.18.
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

/* Connection token -> bytes; 0 gives the limit back. Written by user space only. */
struct limits {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};

struct limits clamps SEC(".maps");
struct limits unsent_limits SEC(".maps");

/* The same of single sockets. */
struct socket_limits {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
};

/* Connection token, and over it the subflow's port here -> bytes a second; 0 gives the cap back. */
struct socket_limits pacing_caps SEC(".maps");

/* Socket cookie -> the clamp of a connection that fell back. For `restore_fallback` cookie 0, which no socket has, says which is to be taken off. */
struct socket_limits fallbacks SEC(".maps");

/* What the reader of an iterator gets, one for each subflow that was looked at closely. */
struct pass_record {
	__u32 token;
	__u32 before; /* the limit that was found, bytes; of `pacing`, bytes a second */
	__u32 after;  /* the limit that the socket has now */
	__s32 error;  /* 0, or what bpf_setsockopt said */
};

/* What the reader of `fallback` gets, one for each socket that is to be bounded. */
struct fallback_record {
	__u64 cookie;
	__u32 before; /* the clamp that was found, bytes */
	__u32 after;  /* the clamp that the socket has now, bytes */
	__s32 error;  /* 0, or what bpf_setsockopt said */
	__u32 unused;
};

/* One subflow under the iterator's hand, its socket locked. */
struct subflow {
	struct sock_common *skc;
	struct tcp_sock *tp;
	struct mptcp_subflow_context *context;
	__u32 token;
};

/* Any socket that a program opened for MPTCP, whatever became of it. */
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

/* Whether the peer has agreed to MPTCP, or is asked to let the subflow join. Where it has not, its program's options are on this very socket. */
static __always_inline bool agreed(const struct subflow *subflow)
{
	return BPF_CORE_READ_BITFIELD(subflow->context, mp_capable) ||
	       BPF_CORE_READ_BITFIELD(subflow->context, mp_join) ||
	       BPF_CORE_READ_BITFIELD(subflow->context, request_join);
}

/* The clamp that receive autotuning would set: what the receive buffer holds of payload. */
static __always_inline __u32 free_clamp(struct tcp_sock *tp)
{
	__u32 buffer = tp->inet_conn.icsk_inet.sk.sk_rcvbuf;

	return (__u64)buffer * tp->scaling_ratio >> 8;
}

/* The unsent limit that the kernel gives a subflow: none since the MPTCP socket has one, before that the sysctl's. */
static __always_inline __u32 free_unsent(void)
{
	return bpf_core_field_exists(struct mptcp_sock, notsent_lowat) ? ~0u : 0;
}

static __always_inline struct sock *socket(struct subflow *subflow)
{
	return &subflow->tp->inet_conn.icsk_inet.sk;
}

/* Bytes a second; more than 32 bits hold is no cap that anybody feels. */
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

/* Sets the clamp of one subflow; 0 gives it back. So it does below. */
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
	/* A lower cap is somebody else's, and stays. */
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
