// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * CLA (Sinky, Hamdaoui, Guizani): LIA, with windows that follow the radio around a hand-off (orders.h).
 *
 * Beyond the paper, the first slow start of a subflow ends by delay (hystart.h). The paper lists the
 * overshoot of slow start among the effects of a hand-off. A sender without a backlog stays in slow start
 * until then. The other three controllers follow their documents.
 *
 * Unlike in the paper, a hand-off does not reset the estimates of the round-trip time and the retransmission
 * time-out. Duplicate ACKs after it are not ignored. A struct_ops program can do neither. README.md says what
 * that costs.
 */
#include "orders.h"

CONTROLLER(cla, take_orders, start_by_delay, lia_increase, halve);
