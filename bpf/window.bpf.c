// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Lowers the window that this host advertises, per MPTCP connection: how far ahead the peer may queue.
 *
 * Attached by tcx to the egress of every link. A segment of a connection whose token is in `caps` leaves with a window of at
 * most that many bytes; it is never raised, and a segment of any other connection is not touched.
 *
 * How the field is read. On a segment that carries a DATA_ACK, the peer adds the field, scaled by the factor that *we* sent in
 * our SYN (`rx_opt.rcv_wscale`), to that DATA_ACK: the result is the edge up to which it may assign data to any of its subflows
 * (RFC 8684 §3.3.1; `ack_update_msk` in net/mptcp/options.c). So the value in `caps` counts bytes of the *connection* that have
 * not been acknowledged in order at data level: in flight on all subflows, queued on them, and held here out of order. The
 * same field also bounds what is in flight on the one subflow that carried it, which the connection's bound implies.
 * The peer's edge never moves left: after a lowering the peer keeps what it was allowed before, and gets there as data
 * is acknowledged, after (old − new) bytes.
 *
 * The peer takes the size from the subflow's own send window, which every segment updates, also one without a DATA_ACK
 * (ADD_ADDR, REMOVE_ADDR, MP_PRIO travel alone): one such segment with a wide window, and the next DATA_ACK opens the edge
 * by megabytes. So every segment that carries any MPTCP option is lowered.
 *
 * A segment that acknowledges nothing new cannot make the subflow's send window smaller (RFC 9293 §3.10.7.4; `tcp_may_update_window`), but its
 * DATA_ACK opens the edge by whatever that window was when the subflow last carried something. The kernel sends one such segment just before
 * it ends a subflow (`mptcp_subflow_shutdown`): of the subflow in `parting`, only the reset leaves.
 *
 * Left alone: SYN (its window is not scaled, and MPTCP not yet agreed), RST, and every segment without an MPTCP option. The last rule
 * is also what leaves a connection alone that fell back to plain TCP, in its handshake or later: nothing of it has such an option (any more).
 * Where the user asks for a bound on those too, clamp.bpf.c sets it.
 *
 * Sources
 * - RFC 8684 §3.3.1 (one receive window, relative to the DATA_ACK), §3.3 (DSS option), RFC 7323 §2.3 (scaling).
 * - net/mptcp/options.c: mptcp_set_rwin, ack_update_msk; net/ipv4/tcp_output.c: __tcp_select_window (Linux 6.18).
 *
 * Where we differ, and why
 * 1. RFC 9293 §3.8.6 discourages shrinking the window. We do it, but no right edge is remembered per subflow: the edge is
 *    data level, stock stacks move the field left all the time, and with such a rule the lever acts too slowly.
 * 2. Never below two segments of our announced MSS, so that delayed ACKs and silly-window avoidance cannot stall the peer.
 *
 * Checked by crates/linux/tests/bpf/window.rs, on a real connection over Ethernet and TUN devices, IPv4 and IPv6.
 */
#include "packet.h"

#define IP_TCP 6

#define TCP_OPTIONS_MAX 40
#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_RST 0x04
#define TCP_WINDOW_AT 14
#define TCP_CHECKSUM_AT 16

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MPTCP 30

/* What user space asks for. Written by user space only. */
struct cap {
	__u32 bytes;   /* that the peer may have unacknowledged at data level */
	__u32 parting; /* the local port of the subflow that is just being ended, or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);   /* the connection's token, as `ip mptcp monitor` and `ss` print it */
	__type(value, struct cap);
} caps SEC(".maps");

/* What was done. User space makes and removes entries; only this program counts in them. */
struct window_tally {
	__u64 segments; /* left with an MPTCP option while a cap was set */
	__u64 lowered;  /* of those, left with a smaller window than the kernel had written */
	__u64 skipped;  /* SYN, RST or without an MPTCP option, or not plain TCP in IP: left alone */
	__u64 kept;     /* did not leave: of a subflow that was just being ended */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct window_tally);
} tallies SEC(".maps");

struct tcp_header {
	__be16 source, dest;
	__be32 seq, ack;
	__u8 offset; /* high four bits: header length in words of four bytes */
	__u8 flags;
	__be16 window, checksum, urgent;
};

/* Where the TCP header begins, or 0: not TCP, a fragment, or behind IPv6 extension headers. */
static __always_inline __u32 tcp_offset(struct __sk_buff *ctx)
{
	__u32 at = network_offset(ctx);
	__u8 ip[10];

	if (bpf_skb_load_bytes(ctx, at, ip, sizeof(ip)))
		return 0;
	if (ctx->protocol == bpf_htons(ETH_IPV4) && ip[9] == IP_TCP && !(ip[6] & 0x1f) && !ip[7])
		return at + (ip[0] & 0x0f) * 4;
	if (ctx->protocol == bpf_htons(ETH_IPV6) && ip[6] == IP_TCP)
		return at + IPV6_HEADER_BYTES;
	return 0;
}

/* A walk over the options of one segment. */
struct walk {
	__u8 options[TCP_OPTIONS_MAX + 4]; /* four zeros behind the last, so that an option can be looked at whole */
	__u32 next;
	bool mptcp;
};

/* A callback and not a loop: the verifier looks at it once instead of once for every length that an option can have. */
static long look_at_next(__u32 step, struct walk *walk)
{
	const __u8 *option;

	if (walk->next >= TCP_OPTIONS_MAX)
		return 1;
	option = walk->options + walk->next;
	walk->mptcp = option[0] == OPTION_MPTCP;
	walk->next += option[0] == OPTION_NOP || option[1] < 2 ? 1 : option[1];
	return walk->mptcp || option[0] == OPTION_END;
}

static __always_inline bool has_mptcp_option(struct __sk_buff *ctx, __u32 at, __u32 length)
{
	struct walk walk = {};

	if (length < 4 || length > TCP_OPTIONS_MAX || bpf_skb_load_bytes(ctx, at, walk.options, length))
		return false;
	bpf_loop(TCP_OPTIONS_MAX, look_at_next, &walk, 0);
	return walk.mptcp;
}

/* May the window of this segment be lowered? */
static __always_inline bool is_ours(struct __sk_buff *ctx, __u32 at, const struct tcp_header *tcp)
{
	if (tcp->flags & (TCP_FLAG_SYN | TCP_FLAG_RST))
		return false;
	return has_mptcp_option(ctx, at + TCP_HEADER_BYTES, (tcp->offset >> 4) * 4 - TCP_HEADER_BYTES);
}

/* The largest field that announces no more than `cap`, and no less than two segments. */
static __always_inline __u32 capped_field(__u32 cap, struct tcp_sock *tp)
{
	__u32 scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale) & 15;
	__u32 least = 2 * tp->advmss;

	if (cap >= least)
		return cap >> scale;
	return (least + (1u << scale) - 1) >> scale;
}

/* True when the segment now leaves with `field`. */
static __always_inline bool lower(struct __sk_buff *ctx, __u32 at, __be16 old, __u32 field)
{
	__be16 new = bpf_htons(field);

	if (bpf_ntohs(old) <= field)
		return false;
	return !bpf_l4_csum_replace(ctx, at + TCP_CHECKSUM_AT, old, new, sizeof(new)) &&
	       !bpf_skb_store_bytes(ctx, at + TCP_WINDOW_AT, &new, sizeof(new), 0);
}

/* What becomes of one segment of a connection whose window is bounded. */
static __always_inline int handle(struct __sk_buff *ctx, __u32 token, const struct cap *cap, struct tcp_sock *tp)
{
	struct window_tally unread = {}, *tally = bpf_map_lookup_elem(&tallies, &token);
	__u32 at = tcp_offset(ctx);
	struct tcp_header tcp;

	if (!tally)
		tally = &unread;
	if (!at || bpf_skb_load_bytes(ctx, at, &tcp, sizeof(tcp)) || !is_ours(ctx, at, &tcp)) {
		__sync_fetch_and_add(&tally->skipped, 1);
		return PASS;
	}
	if (bpf_ntohs(tcp.source) == cap->parting) {
		__sync_fetch_and_add(&tally->kept, 1);
		return DROP;
	}
	__sync_fetch_and_add(&tally->segments, 1);
	if (lower(ctx, at, tcp.window, capped_field(cap->bytes, tp)))
		__sync_fetch_and_add(&tally->lowered, 1);
	return PASS;
}

SEC("tcx/egress")
int window(struct __sk_buff *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct mptcp_sock *msk;
	struct tcp_sock *tp;
	struct cap *cap;
	__u32 token;

	if (!sk)
		return PASS;
	msk = bpf_skc_to_mptcp_sock(sk); /* only of a full socket that is an MPTCP subflow */
	if (!msk)
		return PASS;
	token = msk->token;
	cap = bpf_map_lookup_elem(&caps, &token);
	tp = bpf_skc_to_tcp_sock(sk);
	return cap && tp ? handle(ctx, token, cap, tp) : PASS;
}

SLOWHAND_LICENSE;
