// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * CLA (Sinky, Hamdaoui, Guizani): LIA, and windows that follow the radio around a hand-off (orders.h).
 *
 * What is more than in the paper: the first slow start of a subflow ends by delay (hystart.h). The paper names the overshoot of slow start among
 * what a hand-off brings, and a sender that is never behind stays in slow start until then. The other three keep to their documents.
 *
 * Where it differs from the paper: the estimates of the round-trip time and of the time-out are not reset at a hand-off, and
 * duplicate acknowledgements are not ignored after it; a struct_ops program reaches neither. README.md says what that costs.
 */
#include "orders.h"

CONTROLLER(cla, take_orders, start_by_delay, lia_increase, halve);
