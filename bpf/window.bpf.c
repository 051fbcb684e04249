// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Lowers the window that this host advertises, per MPTCP connection. It limits how far ahead the peer may
 * queue.
 *
 * Attached by tcx to the egress of every link. A segment of a connection whose token is in `caps` leaves with
 * a window of at most that many bytes. The window is never raised, and a segment of any other connection is
 * left unchanged.
 *
 * How the peer reads the field. If a segment carries a DATA_ACK, the peer scales the field by the factor in
 * *our* SYN (`rx_opt.rcv_wscale`) and adds it to that DATA_ACK. The sum is the edge up to which it may assign
 * data to any of its subflows (RFC 8684 §3.3.1, `ack_update_msk` in net/mptcp/options.c). So the value in
 * `caps` counts bytes of the *connection* that are not acknowledged in order at data level. They are in
 * flight on all subflows, queued on them, or held here out of order. The same field also limits the bytes in
 * flight on the subflow that carried it, which the connection's limit implies. The peer's edge never moves
 * left. After the cap is lowered, the peer keeps its earlier allowance until (old − new) bytes are
 * acknowledged.
 *
 * The peer takes the size from the subflow's own send window. Every segment updates that window, even one
 * without a DATA_ACK (ADD_ADDR, REMOVE_ADDR and MP_PRIO travel alone). After one such segment with a wide
 * window, the next DATA_ACK opens the edge by megabytes. So the window is lowered in every segment with an
 * MPTCP option.
 *
 * A segment that acknowledges nothing new cannot shrink the subflow's send window (RFC 9293 §3.10.7.4,
 * `tcp_may_update_window`). Its DATA_ACK still opens the edge by the window that the subflow last carried.
 * Two cases need care:
 * - The kernel sends such a segment just before it ends a subflow (`mptcp_subflow_shutdown`). From the
 *   subflow in `parting`, only the reset leaves.
 * - When a link is lost, the kernel sends such segments over the remaining subflows, mostly over one that has
 *   long been idle, a backup. If the older window is more than a quarter wider, the segment leaves without
 *   its DATA_ACK. Otherwise the peer would queue megabytes of new data before it retransmits what was lost.
 *
 * The peer misses nothing. Data that arrives over the subflow is acknowledged by a segment that acknowledges
 * something new. The end of a connection changes its state, and outside of the established state no DATA_ACK
 * is removed.
 *
 * Left unchanged: SYN (its window is not scaled, and MPTCP is not yet agreed), RST, and every segment without
 * an MPTCP option. The last rule also leaves alone a connection that fell back to plain TCP, in its handshake
 * or later: none of its segments has such an option. If the user asks for a limit on those too, clamp.bpf.c
 * sets it.
 *
 * Sources
 * - RFC 8684 §3.3.1 (one receive window, relative to the DATA_ACK), §3.3 (DSS option), RFC 7323 §2.3
 *   (scaling).
 * - net/mptcp/options.c: mptcp_set_rwin, ack_update_msk; net/ipv4/tcp_output.c: __tcp_select_window (Linux
 *   6.18).
 *
 * Where we differ, and why
 * 1. RFC 9293 §3.8.6 discourages shrinking the window. We do it, and remember no right edge per subflow. The
 *    edge is at data level, and stock stacks often move the field left. With a remembered edge the limit
 *    would act too slowly.
 * 2. Never below two segments of our announced MSS, so that delayed ACKs and silly-window avoidance cannot
 *    stall the peer.
 *
 * Checked by crates/linux/tests/bpf/window.rs, on a real connection over Ethernet and TUN devices, IPv4 and
 * IPv6.
 */
#include "packet.h"

#define IP_TCP 6

#define TCP_OPTIONS_MAX 40
#define TCP_FLAG_FIN 0x01
#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_RST 0x04
#define TCP_WINDOW_AT 14
#define TCP_CHECKSUM_AT 16

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MPTCP 30

/*
 * The option with a DATA_ACK: the high four bits of its third byte are the subtype, the fourth byte holds the
 * flags.
 */
#define MPTCP_DSS 2
#define DSS_FLAG_ACK 0x01
#define DSS_FLAG_MAP 0x04
#define DSS_FLAG_FIN 0x10
#define DSS_ACK_32_BYTES 8
#define DSS_ACK_64_BYTES 12

#define TCP_ESTABLISHED 1 /* state of the connection: neither side has begun to close */

/* Settings of a connection. Only user space writes them. */
struct cap {
	__u32 bytes;   /* limit on the peer's unacknowledged bytes at data level */
	__u32 parting; /* local port of the subflow that is being closed, or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);   /* the connection's token, as `ip mptcp monitor` and `ss` print it */
	__type(value, struct cap);
} caps SEC(".maps");

/* Counters of a connection. User space creates and deletes entries, only this program counts. */
struct window_tally {
	__u64 segments; /* segments sent with an MPTCP option while a cap was set */
	__u64 lowered;  /* of these, segments with a smaller window than the kernel had written */
	__u64 skipped;  /* left unchanged: SYN, RST, no MPTCP option, or not plain TCP in IP */
	__u64 kept;     /* dropped: from a subflow that is being closed */
	__u64 muted;    /* sent without DATA_ACK: the peer would have added an older, wider window */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct window_tally);
} tallies SEC(".maps");

/*
 * Interface index -> number of packets that reached this program. User space creates and deletes entries,
 * only this program counts.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} passed SEC(".maps");

/*
 * The last segment of a subflow from which the peer took its send window. The peer ignores the window of a
 * segment that is neither newer nor wider.
 */
struct shown {
	__u32 seq, ack;
	__u32 field;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct shown);
} shown_by SEC(".maps");

/* Larger than any window field. */
#define FIELD_UNKNOWN 0x10000

struct tcp_header {
	__be16 source, dest;
	__be32 seq, ack;
	__u8 offset; /* high four bits: header length in 32-bit words */
	__u8 flags;
	__be16 window, checksum, urgent;
};

/* Offset of the TCP header. 0 if not TCP, a fragment, or behind IPv6 extension headers. */
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

/* Iterator over the TCP options of one segment. */
struct walk {
	__u8 options[TCP_OPTIONS_MAX + 4]; /* four zeros behind the last, so that an option can be read whole */
	__u32 next;
	__u32 at; /* offset of the last option read */
	bool mptcp;
};

/* A callback, not a loop: the verifier checks it once, instead of once for every possible option length. */
static long look_at_next(__u32 step, struct walk *walk)
{
	const __u8 *option;

	if (walk->next >= TCP_OPTIONS_MAX)
		return 1;
	option = walk->options + walk->next;
	walk->at = walk->next;
	walk->mptcp = option[0] == OPTION_MPTCP;
	walk->next += option[0] == OPTION_NOP || option[1] < 2 ? 1 : option[1];
	return walk->mptcp || option[0] == OPTION_END;
}

/* One segment and its first MPTCP option. */
struct segment {
	__u32 at; /* offset of the TCP header */
	struct tcp_header tcp;
	__u8 option[4];
	__u32 option_at;
	bool has_payload;
};

/* Fills the option of `segment`. Returns whether there is one. */
static __always_inline bool find_mptcp_option(struct __sk_buff *ctx, struct segment *segment)
{
	__u32 header = (segment->tcp.offset >> 4) * 4, length = header - TCP_HEADER_BYTES, found;
	struct walk walk = {};

	if (length < 4 || length > TCP_OPTIONS_MAX)
		return false;
	if (bpf_skb_load_bytes(ctx, segment->at + TCP_HEADER_BYTES, walk.options, length))
		return false;
	bpf_loop(TCP_OPTIONS_MAX, look_at_next, &walk, 0);
	if (!walk.mptcp)
		return false;
	found = walk.at;
	if (found >= TCP_OPTIONS_MAX)
		return false;
	__builtin_memcpy(segment->option, walk.options + found, sizeof(segment->option));
	segment->option_at = segment->at + TCP_HEADER_BYTES + found;
	segment->has_payload = ctx->len > segment->at + header;
	return true;
}

/* Whether the window of this segment may be lowered. */
static __always_inline bool is_ours(struct __sk_buff *ctx, struct segment *segment)
{
	if (segment->tcp.flags & (TCP_FLAG_SYN | TCP_FLAG_RST))
		return false;
	return find_mptcp_option(ctx, segment);
}

/* Whether the segment carries only a DATA_ACK, which can be removed. */
static __always_inline bool only_acknowledges(const struct segment *segment)
{
	__u8 flags = segment->option[3] & (DSS_FLAG_ACK | DSS_FLAG_MAP | DSS_FLAG_FIN);
	__u8 bytes = segment->option[1];

	return segment->option[2] >> 4 == MPTCP_DSS && flags == DSS_FLAG_ACK && !segment->has_payload &&
	       !(segment->tcp.flags & TCP_FLAG_FIN) && (bytes == DSS_ACK_32_BYTES || bytes == DSS_ACK_64_BYTES);
}

/*
 * Whether the peer will use an older window, more than a quarter wider, when it reads this segment. Also
 * records the window that the peer uses from now on.
 *
 * The cap usually falls in small steps. If it falls in one large step, DATA_ACKs may also be removed from a
 * subflow in use, until its next segment that acknowledges something new.
 */
static __always_inline bool is_overruled(struct bpf_sock *sk, const struct segment *segment, __u32 field)
{
	__u32 seq = bpf_ntohl(segment->tcp.seq), ack = bpf_ntohl(segment->tcp.ack);
	struct shown unread = { seq, ack, only_acknowledges(segment) ? FIELD_UNKNOWN : field };
	struct shown *shown = bpf_sk_storage_get(&shown_by, sk, &unread, BPF_SK_STORAGE_GET_F_CREATE);

	if (!shown)
		return false;
	if ((__s32)(ack - shown->ack) > 0 || (__s32)(seq - shown->seq) > 0 ||
	    (seq == shown->seq && field > shown->field)) {
		shown->seq = seq;
		shown->ack = ack;
		shown->field = field;
	}
	return field + field / 4 < shown->field;
}

/* Overwrites the option with NOPs. */
static __always_inline bool mute(struct __sk_buff *ctx, const struct segment *segment)
{
	const __u8 nothing[DSS_ACK_64_BYTES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	__u32 bytes = segment->option[1];
	__u8 old[DSS_ACK_64_BYTES];
	__s64 change;

	if (bytes == DSS_ACK_64_BYTES) {
		if (bpf_skb_load_bytes(ctx, segment->option_at, old, DSS_ACK_64_BYTES))
			return false;
		change = bpf_csum_diff((__be32 *)old, DSS_ACK_64_BYTES, (__be32 *)nothing, DSS_ACK_64_BYTES, 0);
	} else {
		bytes = DSS_ACK_32_BYTES;
		if (bpf_skb_load_bytes(ctx, segment->option_at, old, DSS_ACK_32_BYTES))
			return false;
		change = bpf_csum_diff((__be32 *)old, DSS_ACK_32_BYTES, (__be32 *)nothing, DSS_ACK_32_BYTES, 0);
	}
	return change >= 0 && !bpf_l4_csum_replace(ctx, segment->at + TCP_CHECKSUM_AT, 0, change, 0) &&
	       !bpf_skb_store_bytes(ctx, segment->option_at, nothing, bytes, 0);
}

/* The largest field that announces no more than `cap`, but at least two segments. */
static __always_inline __u32 capped_field(__u32 cap, struct tcp_sock *tp)
{
	__u32 scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale) & 15;
	__u32 least = 2 * tp->advmss;

	if (cap >= least)
		return cap >> scale;
	return (least + (1u << scale) - 1) >> scale;
}

/* Returns whether the window was lowered to `field`. */
static __always_inline bool lower(struct __sk_buff *ctx, __u32 at, __be16 old, __u32 field)
{
	__be16 new = bpf_htons(field);

	if (bpf_ntohs(old) <= field)
		return false;
	return !bpf_l4_csum_replace(ctx, at + TCP_CHECKSUM_AT, old, new, sizeof(new)) &&
	       !bpf_skb_store_bytes(ctx, at + TCP_WINDOW_AT, &new, sizeof(new), 0);
}

/* The subflow of a segment, and its connection. */
struct subflow {
	struct bpf_sock *sk;
	struct tcp_sock *tp;
	struct mptcp_sock *msk;
};

/* Handles one segment of a connection with a cap. */
static __always_inline int handle(struct __sk_buff *ctx, __u32 token, const struct cap *cap, const struct subflow *of)
{
	struct window_tally unread = {}, *tally = bpf_map_lookup_elem(&tallies, &token);
	struct segment segment = { .at = tcp_offset(ctx) };
	__u32 field;

	if (!tally)
		tally = &unread;
	if (!segment.at || bpf_skb_load_bytes(ctx, segment.at, &segment.tcp, sizeof(segment.tcp)) || !is_ours(ctx, &segment)) {
		__sync_fetch_and_add(&tally->skipped, 1);
		return PASS;
	}
	if (bpf_ntohs(segment.tcp.source) == cap->parting) {
		__sync_fetch_and_add(&tally->kept, 1);
		return DROP;
	}
	__sync_fetch_and_add(&tally->segments, 1);
	field = capped_field(cap->bytes, of->tp);
	if (lower(ctx, segment.at, segment.tcp.window, field))
		__sync_fetch_and_add(&tally->lowered, 1);
	else
		field = bpf_ntohs(segment.tcp.window);
	if (is_overruled(of->sk, &segment, field) && only_acknowledges(&segment) &&
	    of->msk->sk.icsk_inet.sk.__sk_common.skc_state == TCP_ESTABLISHED && mute(ctx, &segment))
		__sync_fetch_and_add(&tally->muted, 1);
	return PASS;
}

SEC("tcx/egress")
int window(struct __sk_buff *ctx)
{
	struct subflow of = { .sk = ctx->sk };
	__u32 token, ifindex = ctx->ifindex;
	__u64 *count = bpf_map_lookup_elem(&passed, &ifindex);
	struct cap *cap;

	if (count)
		__sync_fetch_and_add(count, 1);
	if (!of.sk)
		return PASS;
	of.msk = bpf_skc_to_mptcp_sock(of.sk); /* NULL unless it is a full socket and an MPTCP subflow */
	if (!of.msk)
		return PASS;
	token = of.msk->token;
	cap = bpf_map_lookup_elem(&caps, &token);
	of.tp = bpf_skc_to_tcp_sock(of.sk);
	of.sk = bpf_sk_fullsock(of.sk);
	return cap && of.tp && of.sk ? handle(ctx, token, cap, &of) : PASS;
}

SLOWHAND_LICENSE;
