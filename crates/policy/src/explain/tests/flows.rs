//! Sentences about flows that cannot use several links.

use super::*;

pub(super) fn flows() -> Vec<Row> {
    let flow = |assigned, sentence| (Reason::Flow(FlowId(7), assigned), sentence);
    Vec::from([
        flow(
            Assigned::Active,
            "flow 7 uses this link, on which new connections start",
        ),
        flow(
            Assigned::Requested,
            "flow 7 uses this link, as its program or a rule asks",
        ),
        flow(
            Assigned::RequestedHasNoAddress,
            "flow 7 uses this link: the one for which its program or a rule asks cannot carry it",
        ),
        flow(
            Assigned::Spread,
            "flow 7 uses this link: peers are spread evenly over all networks",
        ),
        flow(Assigned::Waits, "flow 7 waits until its network can carry it"),
        flow(
            Assigned::NetworkGone,
            "flow 7 ends: its network is gone, and its peer knows it by that address",
        ),
        flow(
            Assigned::TooMany,
            "flow 7 uses this link, and is not watched: too many flows are open",
        ),
        flow(
            Assigned::RepliesHere {
                silence: Duration::from_millis(90),
            },
            "flow 7 moves to this link: its server replied here, and not over the former one for 90 ms",
        ),
        flow(
            Assigned::Unanswered {
                silence: Duration::from_millis(450),
            },
            "flow 7 moves to this link: it had no reply over the former one for 450 ms",
        ),
        flow(Assigned::Moved, "flow 7 moves to this link, as the user asked"),
    ])
}
