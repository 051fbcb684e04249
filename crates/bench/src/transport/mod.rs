//! Benchmarks of TCP and MPTCP between hosts in virtual time: their speed against htsim and ns-3, and a
//! connection's memory.

mod air;
mod memory;
mod speed;

pub use air::run as over_the_air;
pub use memory::run as memory;
pub use speed::{hundred_connections, one_connection};

use links::{CableConfig, LinkConfig, LinkId, NetworkConfig, QueueConfig, QueueLimit};
use policy::Family;
use sim::mptcp::Path;
use units::{Bitrate, Duration};

/// This many cables with tail drop at 100 packets.
fn cables(count: u16, rate: Bitrate, rtt: Duration) -> NetworkConfig {
    let cable = |number| {
        let mut cable = CableConfig::symmetric(&format!("path {number}"), rate, rtt / 2);
        for wire in [&mut cable.up, &mut cable.down] {
            wire.queue = QueueConfig::tail_drop(QueueLimit::Packets(100));
        }
        LinkConfig::Cable(cable)
    };
    NetworkConfig::from((0..count).map(cable).collect::<Vec<_>>())
}

/// The path over this cable.
const fn over(link: u16) -> Path {
    Path::over(LinkId(link), Family::V4)
}
