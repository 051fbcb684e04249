// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Sets Congestion Experienced on ECN-capable packets, at a rate per link.
 *
 * Attached by tcx to the ingress of a link, the packet is marked before TCP sees it, so the peer slows down on this path as if
 * a router on it had marked; attached to its egress, so does this host. Which rate a link has is looked up by a slot that user space chose, through the interface's index;
 * the program runs only where it is attached, so an index that is given to another interface finds nothing.
 *
 * Sources
 * - RFC 3168 §5 (only ECT(0) and ECT(1) may become CE), §5.3 (fragments: marking any is right).
 * - net/core/filter.c: bpf_l3_csum_replace, bpf_skb_store_bytes (Linux 6.18).
 *
 * Where we differ, and why
 * 1. Not `bpf_skb_ecn_set_ce`: it silently marks nothing while any AF_PACKET receiver is open on the device, because the
 *    packet is then shared; the helpers used here copy first.
 * 2. Several segments in one packet (GRO, or a TUN with offloads) weigh as many, but are marked together: the header is one.
 *    The receiver answers that as it answers one mark; `segments` counts how many really became CE.
 *
 * Traps
 * - AF_PACKET sits before tc ingress: a sniffer never sees our marks. IpExtInCEPkts and Ip6InCEPkts do.
 * - IPv6 has no header checksum: a device's checksum over the packet (CHECKSUM_COMPLETE) must follow the change. In IPv4 the
 *   header's own checksum absorbs it, and the sum over the packet stays as it was.
 *
 * Checked by golden/mark.csv (the decision, also through this very program) and crates/linux/tests/bpf/marker.rs.
 */
#include "mark.h"
#include "packet.h"

#define SLOTS 256

#define ECN_MASK 3
#define ECN_NOT_ECT 0
#define ECN_CE 3
#define IPV4_CHECKSUM_AT 10
/* In both versions the second byte holds ECN: IPv4's low two bits, and IPv6's in the middle, before the flow label. */
#define ECN_BYTE_AT 1
#define IPV6_ECN_SHIFT 4
#define IPV4_HEADER_BYTES 20

/* Interface index -> slot. Written by user space only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

/* Slot -> rate, 0.32. Written by user space only; acts on the next packet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} rates SEC(".maps");

/* What was seen and done on a slot's link, in packets as the peer sent them. Written by this program only. */
struct mark_tally {
	__u64 sum;	/* the accumulator of mark.h */
	__u64 ect;	/* arrived ECN-capable and unmarked */
	__u64 not_ect;	/* arrived not ECN-capable: never marked */
	__u64 ce;	/* arrived marked already */
	__u64 asked;	/* marks that were due */
	__u64 made;	/* of those, marks that were made */
	__u64 segments; /* packets that are CE because of us: more than `made` where one header stands for several */
	__u64 passed;	/* reached this program, of any protocol, each header once */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct mark_tally);
} tallies SEC(".maps");

/* One arriving packet. */
struct arrival {
	__u32 at; /* where its IP header begins */
	bool ipv6;
	__u8 head[2]; /* its first two bytes */
	__u16 weight; /* how many packets it stands for */
};

static __always_inline __u16 weight_of(struct __sk_buff *ctx, const struct arrival *packet)
{
	__u32 headers = (packet->ipv6 ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES) + TCP_HEADER_BYTES;
	__u32 payload = ctx->len - packet->at - headers;

	if (ctx->gso_segs)
		return ctx->gso_segs;
	if (!ctx->gso_size || ctx->len < packet->at + headers)
		return 1;
	return (payload + ctx->gso_size - 1) / ctx->gso_size; /* a TUN with offloads leaves the count to us */
}

/* Is it IP? */
static __always_inline bool parse(struct __sk_buff *ctx, struct arrival *packet)
{
	packet->ipv6 = ctx->protocol == bpf_htons(ETH_IPV6);
	if (!packet->ipv6 && ctx->protocol != bpf_htons(ETH_IPV4))
		return false;
	packet->at = network_offset(ctx);
	if (bpf_skb_load_bytes(ctx, packet->at, packet->head, sizeof(packet->head)))
		return false;
	packet->weight = weight_of(ctx, packet);
	return true;
}

static __always_inline __u8 ecn_of(const struct arrival *packet)
{
	return (packet->ipv6 ? packet->head[1] >> IPV6_ECN_SHIFT : packet->head[1]) & ECN_MASK;
}

static __always_inline bool mark_ipv4(struct __sk_buff *ctx, const struct arrival *packet)
{
	__u8 marked[2] = { packet->head[0], packet->head[1] | ECN_CE };
	__u16 before, after;

	__builtin_memcpy(&before, packet->head, sizeof(before));
	__builtin_memcpy(&after, marked, sizeof(after));
	return !bpf_l3_csum_replace(ctx, packet->at + IPV4_CHECKSUM_AT, before, after, sizeof(after)) &&
	       !bpf_skb_store_bytes(ctx, packet->at + ECN_BYTE_AT, &marked[1], 1, 0);
}

static __always_inline bool mark_ipv6(struct __sk_buff *ctx, const struct arrival *packet)
{
	__u8 marked = packet->head[1] | ECN_CE << IPV6_ECN_SHIFT;

	return !bpf_skb_store_bytes(ctx, packet->at + ECN_BYTE_AT, &marked, 1, BPF_F_RECOMPUTE_CSUM);
}

/* An ECN-capable packet: is it its turn? */
static __always_inline void consider(struct __sk_buff *ctx, const struct arrival *packet, __u64 rate,
				     struct mark_tally *tally)
{
	__u64 step = mark_step(rate, packet->weight);
	__u32 due = mark_due(__sync_fetch_and_add(&tally->sum, step), step);

	__sync_fetch_and_add(&tally->ect, packet->weight);
	if (!due)
		return;
	__sync_fetch_and_add(&tally->asked, due);
	if (packet->ipv6 ? !mark_ipv6(ctx, packet) : !mark_ipv4(ctx, packet))
		return;
	__sync_fetch_and_add(&tally->made, due);
	__sync_fetch_and_add(&tally->segments, packet->weight);
}

SEC("tcx/ingress")
int marker(struct __sk_buff *ctx)
{
	__u32 ifindex = ctx->ifindex, *slot = bpf_map_lookup_elem(&slots, &ifindex);
	struct mark_tally *tally = slot ? bpf_map_lookup_elem(&tallies, slot) : NULL;
	__u64 *rate = slot ? bpf_map_lookup_elem(&rates, slot) : NULL;
	struct arrival packet = {};

	if (!tally || !rate)
		return PASS;
	__sync_fetch_and_add(&tally->passed, 1);
	if (!parse(ctx, &packet))
		return PASS;
	switch (ecn_of(&packet)) {
	case ECN_NOT_ECT:
		__sync_fetch_and_add(&tally->not_ect, packet.weight);
		break;
	case ECN_CE:
		__sync_fetch_and_add(&tally->ce, packet.weight);
		break;
	default:
		consider(ctx, &packet, *rate, tally);
	}
	return PASS;
}

SLOWHAND_LICENSE;
