//! Cables between two hosts, and what they run.

use links::{CableConfig, LinkConfig, LinkId, NetworkConfig, QueueConfig, QueueLimit};
use policy::Family;
use sim::mptcp::{Config, Path};
use sim::tcp::Control;
use units::{Bitrate, Duration};

/// A cable of this rate in Mb/s and this RTT in ms, with a queue of that many packets.
pub fn cable(rate: u64, rtt: u64, queue: u32) -> CableConfig {
    let delay = Duration::from_micros(rtt * 500);
    let mut cable = CableConfig::symmetric("cable", Bitrate::from_mbps(rate), delay);
    for wire in [&mut cable.up, &mut cable.down] {
        wire.queue = QueueConfig::tail_drop(QueueLimit::Packets(queue));
    }
    cable
}

pub fn links(cables: impl IntoIterator<Item = CableConfig>) -> NetworkConfig {
    let numbered = cables.into_iter().enumerate().map(|(at, mut cable)| {
        cable.name = format!("cable {at}");
        LinkConfig::Cable(cable)
    });
    NetworkConfig::from(numbered.collect::<Vec<_>>())
}

pub fn stock(control: &str, mptcp: bool) -> Config {
    Config::stock(Control::named(control).unwrap(), mptcp)
}

pub const fn v4(link: u16) -> Path {
    Path::over(LinkId(link), Family::V4)
}

pub fn mbps(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8.0 / 1e6 / time.as_secs_f64()
}
