/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Orders from user space that set the window of single subflows: CLA's two stages.
 *
 * Before a hand-off the window of the fading path is lowered and the windows of the others are raised, once
 * per fading. After it the window of the path is set to what its links can hold (BDP_UB). User space knows
 * the radio and decides. This file only executes an order, once, at the subflow's next ACK outside of loss
 * recovery.
 *
 * An order applies to the subflows of one connection whose local (or remote) address has a given id. It also
 * applies to subflows that join later under that id, until user space deletes it. A sender that is not the
 * mobile knows the mobile's address as a remote one.
 *
 * To give an order, write `orders`, then a new number to `orders_given`. Until that number changes, an ACK
 * costs one lookup.
 */
#ifndef SLOWHAND_CC_ORDERS_H
#define SLOWHAND_CC_ORDERS_H

#include "control.h"

/* Matches `struct OrderKey` in crates/linux/src/bpf/cc/orders.rs. */
struct order_key {
	__u32 token;
	__u8 address_id;
	__u8 remote; /* 0: id of a local address, 1: of a remote address */
	__u16 zero;
};

/* Matches `struct Order` in the same file. */
struct order {
	__u32 serial;   /* a new value: execute again */
	__u32 cwnd;     /* segments */
	__u32 ssthresh; /* segments; 0: unchanged */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct order_key);
	__type(value, struct order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} orders_given SEC(".maps");

CC_INLINE struct order *order_for(struct tcp_sock *tp)
{
	struct mptcp_subflow_context *subflow = subflow_of(tp);
	struct order_key key = { .token = connection_of(tp)->token };
	struct order *order;

	key.address_id = BPF_CORE_READ_BITFIELD(subflow, local_id);
	order = bpf_map_lookup_elem(&orders, &key);
	if (order)
		return order;
	key.address_id = subflow->remote_id;
	key.remote = 1;
	return bpf_map_lookup_elem(&orders, &key);
}

CC_INLINE void obey(struct tcp_sock *tp, const struct order *order)
{
	struct memory *memory = memory_of(tp);

	if (order->serial == memory->order_done)
		return;
	memory->order_done = order->serial;
	memory->credit = 0;
	memory->mean = (struct couple_mean){};
	memory->round_end = tp->delivered;
	if (order->ssthresh)
		tp->snd_ssthresh = order->ssthresh;
	set_cwnd(tp, order->cwnd);
}

CC_INLINE void take_orders(struct tcp_sock *tp)
{
	struct memory *memory = memory_of(tp);
	struct order *order;
	__u32 first = 0;
	__u64 *given = bpf_map_lookup_elem(&orders_given, &first);

	if (!given || *given == memory->orders_seen || !tp->is_mptcp)
		return;
	memory->orders_seen = *given;
	order = order_for(tp);
	if (order)
		obey(tp, order);
}

#endif
