//! A relay cuts every link in two: a part of the RTT lies behind it, on one wire that all links share.

use crate::plan::{Link, LinkKind, Plan, Relay};
use links::{CableConfig, LinkConfig, QueueConfig, QueueLimit, Wire};
use units::{Bitrate, Duration, Ratio};

/// Name of the wire between a relay and the server.
const NAME: &str = "relay";

/// The wire between the relay and the server, if the plan has a relay.
pub fn relay_wire(plan: &Plan) -> Option<CableConfig> {
    let relay = plan.relay?;
    let lane = Wire {
        rate: relay.rate,
        delay: relay.rtt / 2,
        jitter: Duration::ZERO,
        loss: Ratio::ZERO,
        queue: QueueConfig::default(),
    };
    Some(CableConfig {
        name: NAME.to_owned(),
        up: lane,
        down: lane,
        behind: None,
    })
}

/// The part of a link in front of the relay. Its queues hold what they hold without a relay.
pub(super) fn in_front(mut config: LinkConfig, link: &Link, relay: Relay) -> LinkConfig {
    let (rtt, behind) = (link.rtt(), relay.rtt / 2);
    let shorten = |delay: &mut Duration| *delay = delay.saturating_sub(behind);
    match (&mut config, &link.kind) {
        (LinkConfig::Cable(cable), _) => {
            for lane in [&mut cable.up, &mut cable.down] {
                shorten(&mut lane.delay);
                keep(&mut lane.queue, lane.rate, rtt);
            }
        }
        (LinkConfig::Cell(cell), LinkKind::Cell(plan)) => {
            for (lane, rate) in [(&mut cell.up, &plan.up), (&mut cell.down, &plan.down)] {
                shorten(&mut lane.delay);
                keep(&mut lane.queue, rate.mean(), rtt);
            }
        }
        (LinkConfig::Wifi(ap), _) => {
            shorten(&mut ap.backhaul.delay);
            let rate = ap.backhaul.down;
            keep(&mut ap.backhaul.queue, rate, rtt);
        }
        (LinkConfig::Cell(_), _) => unreachable!("a cell's model is made from a cell"),
    }
    config
}

/// Sets the default limit of a queue by this round trip.
fn keep(queue: &mut QueueConfig, rate: Bitrate, rtt: Duration) {
    if queue.limit == QueueLimit::Bdp {
        queue.limit = QueueLimit::product(rate, rtt);
    }
}
