// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * BALIA (draft-walid): a compromise between LIA's responsiveness and OLIA's friendliness. The arithmetic and
 * its sources are in couple.h.
 */
#include "control.h"

CC_INLINE __u32 balia_loss(struct tcp_sock *tp)
{
	struct couple couple = {};

	look_around(tp, &couple);
	return balia_after_loss(&couple, 0);
}

CONTROLLER(balia, no_orders, tcp_slow_start, balia_increase, balia_loss);
