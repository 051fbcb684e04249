// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Sets Congestion Experienced on ECN-capable packets, at a rate per link.
 *
 * If the program is attached by tcx to the ingress of a link, it marks a packet before TCP sees it. The peer
 * then slows down on this path as if a router on it had marked the packet. If it is attached to the egress,
 * this host slows down. User space assigns each link a slot for its rate, found by the interface index. The
 * program runs only where it is attached, so an index that is reused by another interface finds nothing.
 *
 * Sources
 * - RFC 3168 §5 (only ECT(0) and ECT(1) may become CE), §5.3 (marking any fragment is correct).
 * - net/core/filter.c: bpf_l3_csum_replace, bpf_skb_store_bytes (Linux 6.18).
 *
 * Where we differ, and why
 * 1. Not `bpf_skb_ecn_set_ce`: it silently marks nothing while any AF_PACKET receiver is open on the device,
 *    because the packet is then shared. The helpers used here copy it first.
 * 2. If one packet holds several segments (GRO, or a TUN with offloads), it counts as that many. All are
 *    marked together in the one header. The receiver responds as to one mark. `segments` counts how many
 *    really became CE.
 *
 * Traps
 * - AF_PACKET taps come before tc ingress, so a sniffer never sees our marks. IpExtInCEPkts and Ip6InCEPkts
 *   count them.
 * - IPv6 has no header checksum: a device's checksum over the packet (CHECKSUM_COMPLETE) must be updated. In
 *   IPv4 the header checksum absorbs the change, and the sum over the packet stays the same.
 *
 * Checked by golden/mark.csv (the decision, also through this very program) and
 * crates/linux/tests/bpf/marker.rs.
 */
#include "mark.h"
#include "packet.h"

#define SLOTS 256

#define ECN_MASK 3
#define ECN_NOT_ECT 0
#define ECN_CE 3
#define IPV4_CHECKSUM_AT 10
/*
 * In both versions the second byte holds the ECN field: the low two bits in IPv4, the two bits before the
 * flow label in IPv6.
 */
#define ECN_BYTE_AT 1
#define IPV6_ECN_SHIFT 4
#define IPV4_HEADER_BYTES 20

/* Interface index -> slot. Only user space writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

/* Slot -> rate, 0.32. Only user space writes it. A change applies to the next packet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} rates SEC(".maps");

/* Counters of a slot's link, in packets as the peer sent them. Only this program writes them. */
struct mark_tally {
	__u64 sum;	/* the accumulator of mark.h */
	__u64 ect;	/* arrived ECN-capable and unmarked */
	__u64 not_ect;	/* arrived not ECN-capable: never marked */
	__u64 ce;	/* arrived with CE set */
	__u64 asked;	/* marks that were due */
	__u64 made;	/* marks of these that were set */
	__u64 segments; /* packets that became CE; more than `made` if one header stands for several packets */
	__u64 passed;	/* packets of any protocol that reached this program; each header counts once */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct mark_tally);
} tallies SEC(".maps");

/* An arriving packet. */
struct arrival {
	__u32 at; /* offset of the IP header */
	bool ipv6;
	__u8 head[2]; /* first two bytes of the IP header */
	__u16 weight; /* number of packets that it holds */
};

static __always_inline __u16 weight_of(struct __sk_buff *ctx, const struct arrival *packet)
{
	__u32 headers = (packet->ipv6 ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES) + TCP_HEADER_BYTES;
	__u32 payload = ctx->len - packet->at - headers;

	if (ctx->gso_segs)
		return ctx->gso_segs;
	if (!ctx->gso_size || ctx->len < packet->at + headers)
		return 1;
	return (payload + ctx->gso_size - 1) / ctx->gso_size; /* a TUN with offloads does not set gso_segs */
}

/* Fills `packet` if it is IP. */
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

/* Counts an ECN-capable packet and marks it if a mark is due. */
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
