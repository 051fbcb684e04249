// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * LIA (RFC 6356): together the subflows take what a single TCP connection would take on the best path. The
 * arithmetic and its sources are in couple.h.
 */
#include "control.h"

CONTROLLER(lia, no_orders, tcp_slow_start, lia_increase, halve);
