//! What the closed loop remembers of each access point, and its means.
//!
//! # Checked by
//! `tests` below: `golden/left-air.csv`; `steer::tests`.

use crate::io::LinkId;
use crate::wifi::steer::AccessPoint;
use crate::wifi::steer::smooth::Smooth;
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

/// What is remembered of one access point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub(super) link: LinkId,
    packet_time: Smooth,
    pub(super) quick: Smooth,
    pub(super) slow: Smooth,
    pub(super) efficient: bool,
    pub(super) promoted: bool,
}

impl Watched {
    pub(super) const fn new(link: LinkId) -> Self {
        Self {
            link,
            packet_time: Smooth::over(Duration::from_secs(1)),
            quick: Smooth::over(Duration::from_millis(300)),
            slow: Smooth::over(Duration::from_secs(1)),
            efficient: false,
            promoted: false,
        }
    }

    pub(super) fn read(&mut self, now: Instant, point: &AccessPoint) {
        let time = u64::try_from(point.packet_time.as_nanos()).unwrap_or(u64::MAX);
        self.packet_time.read(now, time.max(1));
        self.quick.read(now, point.goodput.as_bps());
        self.slow.read(now, point.goodput.as_bps());
    }

    pub(super) fn time(&self) -> Duration {
        Duration::from_nanos(self.packet_time.get())
    }

    /// What it would carry alone in this share of the air.
    pub(super) fn alone(&self, packet: Bytes, air: Ratio) -> Bitrate {
        Bitrate::from_bps(scaled(packet.per(self.time()).as_bps(), air))
    }

    /// The share of the air that its packets take.
    pub(super) fn air(&self, packet: Bytes) -> Ratio {
        Ratio::from_fraction(self.slow.get(), packet.per(self.time()).as_bps())
    }
}

fn scaled(value: u64, share: Ratio) -> u64 {
    ((u128::from(value) * u128::from(share.as_raw())) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `golden/left-air.csv`: packet time, goodput, share of the air. Then alone, taken.
    #[test]
    fn golden_vectors_hold() {
        let rows = include_str!("../../../../../../golden/left-air.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 'p']));
        let mut count = 0;
        for row in rows {
            let numbers: alloc::vec::Vec<u64> =
                row.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
            let mut watched = Watched::new(LinkId(0));
            let point = AccessPoint {
                link: LinkId(0),
                packet_time: Duration::from_micros(numbers[0]),
                goodput: Bitrate::from_bps(numbers[1]),
                rtt: Duration::ZERO,
                base_rtt: Duration::ZERO,
                backup: false,
            };
            watched.read(Instant::ZERO, &point);
            let packet = Bytes::new(1_448);
            let ppm = |share: Ratio| libm::round(share.as_f64() * 1e6) as u64;
            let alone = watched.alone(packet, Ratio::from_ppm(numbers[2] as u32)).as_bps();
            assert!(alone.abs_diff(numbers[3]) <= 1, "{row}: {alone}");
            assert_eq!(ppm(watched.air(packet)), numbers[4], "{row}");
            count += 1;
        }
        assert!(count >= 5, "only {count} vectors");
    }
}
