/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Looks at every subflow of the connection that a subflow belongs to.
 *
 * `bpf_skc_to_mptcp_sock` is refused in struct_ops, so the way goes by casts: icsk_ulp_data of a subflow is its
 * mptcp_subflow_context, whose `conn` is the connection, whose `conn_list` links the contexts. Nothing but our own socket is
 * locked meanwhile: what is read of a sibling may be a moment old, or of a sibling that is just leaving (contexts are freed
 * after an RCU grace period, and BPF runs inside one). A value that is wrong for one acknowledgement moves the window by one
 * segment at most; that is tolerated. The walk ends after COUPLE_PATHS contexts whatever the list says.
 *
 * Sources: net/mptcp/subflow.c, net/mptcp/protocol.h (mptcp_for_each_subflow), Linux 6.18.
 */
#ifndef SLOWHAND_CC_SIBLINGS_H
#define SLOWHAND_CC_SIBLINGS_H

#include "couple.h"
#include "hystart.h"
#include "kernel.h"

/* What a controller remembers of one subflow, in icsk_ca_priv; begins as zeros. */
struct memory {
	__s64 credit;          /* parts of 2^31 of a segment that the window is owed */
	__s64 growth;          /* per acknowledged segment, until the round trip is over */
	struct couple_mean mean;
	__u32 round_end;       /* it is over once so many segments were delivered */
	__u32 order_done;
	__u64 acked_at_loss;   /* bytes_acked when the last loss was seen */
	__u64 between_losses;  /* bytes acknowledged between the last two losses */
	__u64 undo_at_loss;    /* both as they were before it, should it turn out to be none */
	__u64 undo_between;
	__u64 orders_seen;     /* CLA: see orders.h */
	struct hystart hystart; /* CLA */
};

CC_INLINE struct memory *memory_of(struct tcp_sock *tp)
{
	return (struct memory *)tp->inet_conn.icsk_ca_priv;
}

/* During PRR the window is on its way to the threshold: that is what the path will have. */
CC_INLINE __u32 window_of(struct tcp_sock *tp)
{
	int state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);

	return state == TCP_CA_RECOVERY || state == TCP_CA_CWR ? tp->snd_ssthresh : tp->snd_cwnd;
}

/* Also what the path remembers; zeros of a subflow whose memory is not ours to read. */
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

/* Can it send, and is it meant to? A backup that has nothing to do would only slow the others down. */
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

/* Path 0 is `own`; the siblings follow. A socket without siblings, MPTCP or not, is alone. */
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
