// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * OLIA (Khalili et al.): as LIA, but abandons congested paths altogether when it can. The arithmetic and its
 * sources are in couple.h.
 */
#include "control.h"

CONTROLLER(olia, no_orders, tcp_slow_start, olia_increase, halve);
