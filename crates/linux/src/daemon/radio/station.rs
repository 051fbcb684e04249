//! Turns the counters of an association into facts for the engine.
//!
//! # Where we differ, and why
//! 1. The driver counts beacons. Each new one becomes a fact with their mean signal, up to [`MOST_BEACONS`]
//!    for one read. A driver that filters beacons does not count them. It watches them itself, and reports
//!    when none arrive. Until then, as many are reported as an access point sends, with the signal of the
//!    frames that arrived.
//! 2. A survey has the busy time of the channel, but not the number of exchanges. The time that stations wait
//!    between them is left out, so the channel looks a little emptier than it is.
//! 3. An interface that moved to another access point of its network is reported as roamed, also where a
//!    read found no association in between. Whoever moved it kept its address. If it did not, the subflows
//!    are new.
//! 4. The engine's PHYs end with 802.11n. For later standards, the closest mode of it is used.
//!
//! # Checked by
//! `tests` below.

use crate::daemon::api::report::{WifiReport, WifiSource};
use crate::nl80211::{LinkRate, Station, Survey, channel_number};
use policy::LinkEvent;
use policy::estimate::bandwidth::Sight;
use policy::estimate::phy::Phy;
use units::wifi::ht::{Band, Guard, Width};
use units::{Bytes, Duration, Instant, MacAddr};

/// The most beacons reported after one read: more than arrive in the engine's window of two seconds.
const MOST_BEACONS: u64 = 24;
/// How long a driver's report holds that no beacons arrive. It comes again while none do. A gap between two
/// reads that is longer says nothing about beacons.
const SILENCE: Duration = Duration::from_secs(2);
/// The usual interval of beacons: 100 time units of 1,024 µs (IEEE 802.11-2020 §9.4.1.3).
const BEACONS_EVERY: Duration = Duration::from_micros(102_400);
/// End of the 2.4 GHz band, in MHz.
const BELOW_5_GHZ_MHZ: u32 = 3_000;

/// One read of an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) wiphy: u32,
    /// This host's address.
    pub(crate) own: Option<MacAddr>,
    /// Centre frequency of the channel.
    pub(crate) mhz: u32,
    pub(crate) ssid: Vec<u8>,
    pub(crate) station: Station,
    /// What the radio measured on the channel.
    pub(crate) survey: Option<Survey>,
}

/// What is known of a link's association.
#[derive(Debug, Default)]
pub(crate) struct Known {
    last: Option<Seen>,
    /// The association before, while there is none.
    ended: Option<Seen>,
    source: WifiSource,
    phy: Option<Phy>,
    /// When the last beacon arrived that a driver did not count, as far as is known.
    uncounted: Option<Instant>,
    /// When the driver reported last that no beacons arrive.
    silent: Option<Instant>,
    /// Totals over all associations: the kernel begins each one with zero.
    received: Bytes,
    busy: Duration,
}

impl Seen {
    /// The number of the channel.
    pub(crate) const fn channel(&self) -> Option<u16> {
        channel_number(self.mhz)
    }

    /// The PHY of the access point. `None`: the oldest of its band.
    fn phy(&self) -> Option<Phy> {
        let rates = [self.station.rx_rate, self.station.tx_rate];
        let modern = |rate: &LinkRate| rate.modern;
        let rate = rates.into_iter().flatten().find(modern)?;
        Some(Phy::Ht {
            band: if self.mhz < BELOW_5_GHZ_MHZ {
                Band::Ghz2
            } else {
                Band::Ghz5
            },
            width: if rate.wide { Width::Mhz40 } else { Width::Mhz20 },
            guard: if rate.short_guard {
                Guard::Short
            } else {
                Guard::Long
            },
        })
    }

    /// Whether the interface of `other` has moved to another access point of its network.
    fn has_roamed_from(&self, other: &Self) -> bool {
        let is_named = !self.ssid.is_empty() && self.ssid == other.ssid;
        let is_ours = (self.wiphy, self.own) == (other.wiphy, other.own);
        is_named && is_ours && self.station.mac != other.station.mac
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.station.mac, self.mhz) == (other.station.mac, other.mhz)
    }
}

impl Known {
    /// The driver reports that no beacons arrive.
    pub(crate) const fn silence(&mut self, now: Instant) {
        self.silent = Some(now);
    }

    /// The number of beacons since the last read that the driver has filtered.
    fn filtered(&mut self, now: Instant) -> u64 {
        if self.silent.is_some_and(|since| now - since < SILENCE) {
            self.uncounted = Some(now);
            return 0;
        }
        let Some(last) = self.uncounted.filter(|last| now - *last < SILENCE) else {
            self.uncounted = Some(now);
            return 1;
        };
        let new = (now - last).as_micros() / BEACONS_EVERY.as_micros();
        self.uncounted = Some(last + Duration::from_micros((new * BEACONS_EVERY.as_micros()) as u64));
        new as u64
    }

    /// Takes in a read, and returns what it tells the engine. `listens`: a monitor interface reports beacons.
    pub(crate) fn take(&mut self, now: Instant, seen: Seen, listens: bool) -> Vec<LinkEvent> {
        let mut facts = Vec::new();
        let before = self.last.take();
        let other = before.as_ref().or(self.ended.as_ref());
        if other.is_some_and(|other| seen.has_roamed_from(other)) {
            facts.push(LinkEvent::Roamed);
        }
        self.ended = None;
        let before = before.filter(|before| before.is_same(&seen));
        let phy = seen.phy().unwrap_or(Phy::of_channel(seen.channel()));
        // The rate of a single frame may be an old one, such as that of a null frame.
        let is_older = before.is_some() && seen.phy().is_none();
        if !is_older && self.phy.replace(phy) != Some(phy) {
            facts.push(LinkEvent::Phy(phy));
        }
        if !listens {
            let new = match seen.station.beacons {
                Some(_) => counted(before.as_ref(), &seen),
                None => self.filtered(now),
            };
            let signal = seen.station.beacon_signal.or(seen.station.signal);
            let heard = signal.map(LinkEvent::Beacon);
            facts.extend((0..new.min(MOST_BEACONS)).filter_map(|_| heard.clone()));
        }
        let (received, busy) = grown(before.as_ref(), &seen);
        self.received += received;
        if let Some(busy) = busy {
            self.busy += busy;
            facts.push(LinkEvent::Survey(Sight {
                received: self.received,
                busy: self.busy,
                exchanges: 0,
            }));
        }
        self.source = if listens {
            WifiSource::Monitor
        } else {
            WifiSource::Statistics
        };
        self.last = Some(seen);
        facts
    }

    /// Takes in that there is no association.
    pub(crate) fn lost(&mut self) {
        (self.uncounted, self.silent) = (None, None);
        self.ended = self.last.take().or(self.ended.take());
    }

    /// The name of this access point's network, if a scan has reported it.
    pub(crate) fn ssid_of(&self, bssid: MacAddr) -> Option<Vec<u8>> {
        let last = self.last.as_ref()?;
        (last.station.mac == bssid && !last.ssid.is_empty()).then(|| last.ssid.clone())
    }

    /// The radio.
    pub(crate) fn wiphy(&self) -> Option<u32> {
        self.last.as_ref().map(|last| last.wiphy)
    }

    pub(crate) fn report(&self) -> Option<WifiReport> {
        let seen = self.last.as_ref()?;
        let station = &seen.station;
        Some(WifiReport {
            bssid: station.mac,
            ssid: String::from_utf8_lossy(&seen.ssid).into_owned(),
            mhz: seen.mhz,
            signal: station.beacon_signal.or(station.signal),
            tx_rate: station.tx_rate.map(|rate| rate.rate),
            tx_packets: station.tx_packets,
            tx_retries: station.tx_retries,
            tx_failed: station.tx_failed,
            source: self.source,
            no_monitor: None,
        })
    }
}

/// The number of beacons since the last read that the driver has counted.
fn counted(before: Option<&Seen>, seen: &Seen) -> u64 {
    let earlier = before.and_then(|before| before.station.beacons);
    let now = seen.station.beacons.unwrap_or_default();
    match earlier {
        Some(earlier) => now.saturating_sub(earlier),
        // The first read of an association: at least one of them was heard just now.
        None => now.min(1),
    }
}

/// Bytes received since the last read, and the time for which the channel was busy. A counter that fell has
/// begun anew.
fn grown(before: Option<&Seen>, seen: &Seen) -> (Bytes, Option<Duration>) {
    let busy = seen.survey.and_then(|survey| survey.busy);
    let Some(before) = before else {
        return (Bytes::ZERO, busy.map(|_| Duration::ZERO));
    };
    let earlier = before.survey.and_then(|survey| survey.busy);
    let received = seen.station.received - before.station.received;
    (
        received,
        busy.map(|busy| busy.saturating_sub(earlier.unwrap_or(busy))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::wifi::Standard;
    use units::{Bitrate, Dbm};

    fn seen(beacons: Option<u64>, received: u64, busy_ms: u64) -> Seen {
        Seen {
            wiphy: 0,
            own: Some(MacAddr::local(9)),
            mhz: 2_437,
            ssid: b"cafe".to_vec(),
            station: Station {
                mac: MacAddr::local(1),
                signal: Some(Dbm::from_dbm(-60)),
                beacon_signal: Some(Dbm::from_dbm(-58)),
                beacons,
                beacon_losses: 0,
                received: Bytes::new(received),
                rx_packets: 0,
                tx_packets: 90,
                tx_retries: 9,
                tx_failed: 1,
                tx_rate: None,
                rx_rate: None,
            },
            survey: Some(Survey {
                mhz: 2_437,
                in_use: true,
                time: None,
                busy: Some(Duration::from_millis(busy_ms)),
            }),
        }
    }

    fn heard(facts: &[LinkEvent]) -> usize {
        let beacon = LinkEvent::Beacon(Dbm::from_dbm(-58));
        facts.iter().filter(|fact| **fact == beacon).count()
    }

    fn survey(facts: &[LinkEvent]) -> Option<(u64, u64)> {
        facts.iter().find_map(|fact| match fact {
            LinkEvent::Survey(sight) => Some((sight.received.get(), sight.busy.as_millis() as u64)),
            _ => None,
        })
    }

    #[test]
    fn each_beacon_that_the_driver_counts_is_told_once() {
        let mut known = Known::default();
        let first = known.take(Instant::ZERO, seen(Some(50), 0, 0), false);
        assert_eq!(heard(&first), 1);
        assert!(first.contains(&LinkEvent::Phy(Phy::Legacy(Standard::G))));
        assert_eq!(heard(&known.take(Instant::ZERO, seen(Some(55), 0, 0), false)), 5);
        assert_eq!(heard(&known.take(Instant::ZERO, seen(Some(55), 0, 0), false)), 0);
        assert_eq!(
            heard(&known.take(Instant::ZERO, seen(Some(5_000), 0, 0), false)),
            24
        );
    }

    #[test]
    fn beacons_that_a_monitor_hears_are_not_told_twice() {
        let mut known = Known::default();
        assert_eq!(heard(&known.take(Instant::ZERO, seen(Some(9), 0, 0), true)), 0);
        assert_eq!(heard(&known.take(Instant::ZERO, seen(None, 0, 0), true)), 0);
        assert_eq!(known.report().unwrap().source, WifiSource::Monitor);
    }

    #[test]
    fn beacons_that_the_driver_filters_count_until_it_reports_silence() {
        let mut known = Known::default();
        let mut read = |ms, silence| {
            if silence {
                known.silence(Instant::from_millis(ms));
            }
            let facts = known.take(Instant::from_millis(ms), seen(None, 0, 0), false);
            let beacons = facts.iter().filter(|fact| matches!(fact, LinkEvent::Beacon(_)));
            beacons.count()
        };
        assert_eq!(read(0, false), 1);
        assert_eq!(read(50, false), 0);
        assert_eq!(read(1_030, false), 10);
        assert_eq!(read(1_500, true), 0);
        assert_eq!(read(2_500, false), 0, "it is too soon to think otherwise");
        assert_eq!(read(3_530, false), 10, "the driver would have reported it again");
        assert_eq!(read(9_000, false), 1, "nobody has looked for long");
    }

    #[test]
    fn totals_grow_over_associations_that_begin_with_zero() {
        let mut known = Known::default();
        assert_eq!(
            survey(&known.take(Instant::ZERO, seen(None, 1_000, 50), false)),
            Some((0, 0))
        );
        assert_eq!(
            survey(&known.take(Instant::ZERO, seen(None, 3_000, 90), false)),
            Some((2_000, 40))
        );
        let mut other = seen(None, 400, 10);
        other.station.mac = MacAddr::local(2);
        assert_eq!(
            survey(&known.take(Instant::ZERO, other.clone(), false)),
            Some((2_000, 40))
        );
        other.station.received = Bytes::new(500);
        assert_eq!(
            survey(&known.take(Instant::ZERO, other, false)),
            Some((2_100, 40))
        );
    }

    #[test]
    fn another_access_point_of_the_network_is_told_as_roaming() {
        let roamed = |facts: &[LinkEvent]| facts.first() == Some(&LinkEvent::Roamed);
        let mut known = Known::default();
        assert!(!roamed(&known.take(Instant::ZERO, seen(Some(1), 0, 0), false)));
        assert!(!roamed(&known.take(Instant::ZERO, seen(Some(2), 0, 0), false)));
        let mut second = seen(Some(1), 0, 0);
        second.station.mac = MacAddr::local(2);
        let facts = known.take(Instant::ZERO, second.clone(), false);
        assert!(roamed(&facts) && heard(&facts) == 1, "{facts:?}");
        assert!(
            !roamed(&known.take(Instant::ZERO, second.clone(), false)),
            "it is told once"
        );
        // A read may find the interface between both.
        known.lost();
        known.lost();
        assert_eq!(known.report(), None);
        assert!(roamed(&known.take(Instant::ZERO, seen(Some(3), 0, 0), false)));
        known.lost();
        assert!(
            !roamed(&known.take(Instant::ZERO, seen(Some(4), 0, 0), false)),
            "it came back"
        );
        let mut other = second;
        other.ssid = b"other".to_vec();
        assert!(
            !roamed(&known.take(Instant::ZERO, other, false)),
            "another network has another address"
        );
    }

    #[test]
    fn a_modern_rate_shows_the_phy_and_an_old_frame_does_not_undo_it() {
        let mut known = Known::default();
        let mut modern = seen(None, 0, 0);
        modern.mhz = 5_180;
        modern.station.rx_rate = Some(LinkRate {
            rate: Bitrate::from_mbps(300),
            modern: true,
            wide: true,
            short_guard: true,
        });
        let ht = LinkEvent::Phy(Phy::Ht {
            band: Band::Ghz5,
            width: Width::Mhz40,
            guard: Guard::Short,
        });
        assert!(known.take(Instant::ZERO, modern.clone(), false).contains(&ht));
        modern.station.rx_rate = None;
        let later = known.take(Instant::ZERO, modern, false);
        assert!(
            !later.iter().any(|fact| matches!(fact, LinkEvent::Phy(_))),
            "{later:?}"
        );
    }

    #[test]
    fn the_report_has_what_the_driver_counts() {
        let mut known = Known::default();
        assert_eq!(known.report(), None);
        known.take(Instant::ZERO, seen(Some(1), 0, 0), false);
        let report = known.report().unwrap();
        assert_eq!(
            (report.bssid, report.ssid.as_str(), report.mhz),
            (MacAddr::local(1), "cafe", 2_437)
        );
        assert_eq!(report.signal, Some(Dbm::from_dbm(-58)));
        assert_eq!(
            (report.tx_packets, report.tx_retries, report.tx_failed),
            (90, 9, 1)
        );
        assert_eq!(report.source, WifiSource::Statistics);
    }
}
