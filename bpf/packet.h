/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs on links share: verdicts, protocols, and the offset of the IP header. */
#ifndef SLOWHAND_PACKET_H
#define SLOWHAND_PACKET_H

#include "kernel.h"

#define PASS (-1) /* TCX_NEXT: the next program decides, without one the packet continues */
#define DROP 2    /* TCX_DROP */

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define IPV6_HEADER_BYTES 40
#define TCP_HEADER_BYTES 20

/* Offset of the IP header: 0 on a TUN, 14 on Ethernet, more behind a VLAN tag. */
static __always_inline __u32 network_offset(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	return skb->network_header - (__u32)(skb->data - skb->head);
}

#endif
