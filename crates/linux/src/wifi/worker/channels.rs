//! Which channels a scan has while something is joined.
//!
//! # Where we differ, and why
//! 1. The channels in use are scanned, because that costs nothing. All channels are scanned once a minute, if
//!    the card can be on another one beside them. That happens only while the host sends almost nothing,
//!    because the radio is away from its access points meanwhile.
//!
//! # Checked by
//! `tests`.

use super::Worker;
use crate::rtnl::IfName;
use crate::wifi::point::{Point, Station};
use crate::wifi::view::Stage;
use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

/// Pause between two scans of all channels.
const WIDELY: Duration = Duration::from_secs(60);
/// The host sends almost nothing if it sends fewer packets than this in a second.
const FEW_PACKETS: f64 = 10.0;

/// When all channels were scanned last.
#[derive(Debug, Default)]
pub(super) struct Wide {
    last: Option<Instant>,
    /// Packets sent to all access points, as of the scan before, and when that was.
    sent: Option<(Instant, u32)>,
}

impl Wide {
    /// Whether to scan all channels now. `sent`: packets sent to all access points so far.
    fn is_due(&mut self, now: Instant, sent: u32) -> bool {
        let before = self.sent.replace((now, sent));
        let is_quiet = before.is_some_and(|(then, before)| {
            let most = FEW_PACKETS * now.duration_since(then).as_secs_f64();
            f64::from(sent.wrapping_sub(before)) < most
        });
        let is_due = is_quiet && self.last.is_none_or(|last| now.duration_since(last) >= WIDELY);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

/// The interface of a scan, and its frequencies in MHz. None of them: all.
type Scope = (IfName, BTreeSet<u32>);

impl Worker {
    /// The scan that is due while something is joined.
    pub(super) fn scan_beside(&mut self, now: Instant) -> Result<Option<Scope>, Box<dyn Error>> {
        let Some((name, used)) = in_use(self.points.values()) else {
            return Ok(None);
        };
        let looks_elsewhere = self.looks_elsewhere(now, &used)?;
        Ok(Some((name, if looks_elsewhere { BTreeSet::new() } else { used })))
    }

    fn looks_elsewhere(&mut self, now: Instant, used: &BTreeSet<u32>) -> Result<bool, Box<dyn Error>> {
        let Some(means) = &mut self.means else {
            return Ok(false);
        };
        if !means
            .radio
            .has_free_channel((&mut means.kernel, &mut means.rtnl), &self.plan.names, used)?
        {
            return Ok(false);
        }
        let stations = || self.points.values().filter_map(|point| point.station.as_ref());
        // It would disturb an association in progress.
        if stations().any(|station| !is_joined(station)) {
            return Ok(false);
        }
        let mut sent = 0_u32;
        for station in stations() {
            let counters = means.kernel.stations(station.ifindex)?;
            let packets = counters.iter().map(|one| one.tx_packets);
            sent = packets.fold(sent, u32::wrapping_add);
        }
        Ok(self.scan.wide.is_due(now, sent))
    }
}

/// An interface that is joined, and the frequencies of all that are, in MHz.
pub(super) fn in_use<'p>(points: impl Iterator<Item = &'p Point>) -> Option<(IfName, BTreeSet<u32>)> {
    let joined = points.filter_map(|point| {
        let station = point.station.as_ref().filter(|station| is_joined(station))?;
        Some((station.name, point.bss.mhz))
    });
    let (names, used): (Vec<IfName>, BTreeSet<u32>) = joined.unzip();
    Some((*names.first()?, used))
}

pub(super) fn is_joined(station: &Station) -> bool {
    station.stage == Stage::Joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::bss::{Bss, Offers};
    use units::{Dbm, MacAddr};

    fn point(number: u16, mhz: u32, stage: Option<Stage>) -> Point {
        let now = Instant::now();
        let bss = Bss {
            bssid: MacAddr::local(number.into()),
            ssid: b"first".to_vec(),
            mhz,
            signal: Dbm::from_dbm(-50),
            throughput: None,
            age: units::Duration::ZERO,
            offers: Offers::default(),
        };
        let mut point = Point::new(bss, 0, now);
        point.station = stage.map(|stage| Station {
            name: format!("slow-w{number}").parse().unwrap(),
            block: 0,
            mhz: 2_412,
            sought: 2_412,
            ifindex: number.into(),
            mac: MacAddr::local(9),
            stage,
            since: now,
            returns: false,
            client: None,
            lease: None,
            resolves: None,
        });
        point
    }

    #[test]
    fn the_channels_of_all_joined_access_points_are_scanned() {
        let points = [
            point(1, 2_412, None),
            point(2, 2_437, Some(Stage::Joined)),
            point(3, 5_180, Some(Stage::Joined)),
            point(4, 2_462, Some(Stage::Joining)),
        ];
        let (name, used) = in_use(points.iter()).unwrap();
        assert_eq!(name.as_str(), "slow-w2");
        assert_eq!(used, BTreeSet::from([2_437, 5_180]));
        assert_eq!(in_use(points[..1].iter()), None);
    }

    #[test]
    fn all_channels_are_scanned_once_a_minute_while_almost_nothing_is_sent() {
        let start = Instant::now();
        let mut wide = Wide::default();
        let mut due = |seconds, sent| wide.is_due(start + Duration::from_secs(seconds), sent);
        assert!(!due(0, 9_000), "how much is sent is not known yet");
        assert!(!due(5, 10_000), "a transfer would lose by it");
        assert!(due(10, 10_049));
        assert!(!due(15, 10_049), "only once a minute");
        assert!(!due(69, 10_049));
        assert!(due(70, 10_049));
        assert!(!due(200, 40), "the counters have begun anew");
    }
}
