/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collects the state of every subflow of a connection.
 *
 * struct_ops programs may not call `bpf_skc_to_mptcp_sock`, so the connection is found by casts.
 * icsk_ulp_data of a subflow is its mptcp_subflow_context. Its `conn` is the connection, whose `conn_list`
 * links the contexts.
 *
 * Only our own socket is locked meanwhile. What is read of a sibling may be slightly old, or belong to a
 * sibling that is just leaving: contexts are freed after an RCU grace period, and BPF runs inside one. A
 * wrong value at one ACK moves the window by one segment at most, which is acceptable. The walk ends after
 * COUPLE_PATHS contexts, whatever the list contains.
 *
 * Sources: net/mptcp/subflow.c, net/mptcp/protocol.h (mptcp_for_each_subflow), Linux 6.18.
 */
#ifndef SLOWHAND_CC_SIBLINGS_H
#define SLOWHAND_CC_SIBLINGS_H

#include "couple.h"
#include "hystart.h"
#include "kernel.h"

/* State that a controller keeps per subflow, in icsk_ca_priv. Starts as all zeros. */
struct memory {
	__s64 credit;          /* growth not yet applied to the window, in 2^-31 segment */
	__s64 growth;          /* growth per acknowledged segment in this round, in 2^-32 segment */
	struct couple_mean mean;
	__u32 round_end;       /* the round ends at this value of `delivered` */
	__u32 order_done;
	__u64 acked_at_loss;   /* bytes_acked at the last loss */
	__u64 between_losses;  /* bytes acknowledged between the last two losses */
	__u64 undo_at_loss;    /* both values before the loss, in case it is undone */
	__u64 undo_between;
	__u64 orders_seen;     /* CLA: see orders.h */
	struct hystart hystart; /* CLA */
};

CC_INLINE struct memory *memory_of(struct tcp_sock *tp)
{
	return (struct memory *)tp->inet_conn.icsk_ca_priv;
}

/*
 * During PRR the window moves towards the threshold, so the threshold is the window that the path will have.
 */
CC_INLINE __u32 window_of(struct tcp_sock *tp)
{
	int state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);

	return state == TCP_CA_RECOVERY || state == TCP_CA_CWR ? tp->snd_ssthresh : tp->snd_cwnd;
}

/*
 * Also copies the path's loss history. It stays zero if the subflow uses another controller, whose memory we
 * cannot interpret.
 */
CC_INLINE void fill(struct couple_path *path, struct tcp_sock *tp, __u32 cwnd, struct tcp_sock *own)
{
	struct memory *memory = memory_of(tp);

	path->cwnd = cwnd;
	path->srtt_us = tp->srtt_us >> 3;
	if (tp->inet_conn.icsk_ca_ops != own->inet_conn.icsk_ca_ops)
		return;
	path->mean = memory->mean.window;
	path->since_loss = tp->bytes_acked - memory->acked_at_loss;
	path->between_losses = memory->between_losses;
}

/* Whether the subflow can send and is meant to. An idle backup would only slow the others down. */
CC_INLINE bool takes_part(struct mptcp_subflow_context *subflow, struct tcp_sock *tp)
{
	__u8 state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;

	if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT)
		return false;
	return tp->packets_out || !(BPF_CORE_READ_BITFIELD(subflow, backup) ||
				    BPF_CORE_READ_BITFIELD(subflow, request_bkup));
}

CC_INLINE struct mptcp_subflow_context *subflow_of(struct tcp_sock *tp)
{
	return AS_KERNEL(struct mptcp_subflow_context, tp->inet_conn.icsk_ulp_data);
}

CC_INLINE struct mptcp_sock *connection_of(struct tcp_sock *tp)
{
	return AS_KERNEL(struct mptcp_sock, subflow_of(tp)->conn);
}

CC_INLINE struct mptcp_subflow_context *subflow_at(struct list_head *node)
{
	__u64 offset = bpf_core_field_offset(struct mptcp_subflow_context, node);

	return AS_KERNEL(struct mptcp_subflow_context, (void *)((__u64)node - offset));
}

/* Fills `couple`: path 0 is `own`, then its siblings. A socket without siblings, MPTCP or not, is alone. */
CC_INLINE void look_around(struct tcp_sock *own, struct couple *couple)
{
	struct mptcp_sock *connection;
	struct list_head *node;

	fill(&couple->path[0], own, own->snd_cwnd, own);
	couple->count = 1;
	if (!own->is_mptcp)
		return;
	connection = connection_of(own);
	node = connection->conn_list.next;
	COUPLE_LOOP
	for (int i = 0; i < COUPLE_PATHS && node && node != &connection->conn_list; i++) {
		struct mptcp_subflow_context *subflow = subflow_at(node);
		struct tcp_sock *tp = AS_KERNEL(struct tcp_sock, subflow->tcp_sock);
		__u32 at = couple->count;

		node = subflow->node.next;
		if ((void *)tp == (void *)own || at >= COUPLE_PATHS || !takes_part(subflow, tp))
			continue;
		fill(&couple->path[at], tp, window_of(tp), own);
		couple->count = at + 1;
	}
}

#endif
