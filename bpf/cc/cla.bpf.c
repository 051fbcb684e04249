// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * CLA (Sinky, Hamdaoui, Guizani): LIA, and windows that follow the radio around a hand-off (orders.h).
 *
 * Where it differs from the paper: the estimates of the round-trip time and of the time-out are not reset at a hand-off, and
 * duplicate acknowledgements are not ignored after it; a struct_ops program reaches neither. README.md says what that costs.
 */
#include "orders.h"

CONTROLLER(cla, take_orders, lia_increase, halve);
