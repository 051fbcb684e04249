//! One access point: how far it is joined, and how long it is left alone after a failure.
//!
//! # Where we differ, and why
//! 1. A wrong key is tried again after a minute, then after twice as long, up to an hour: an access point may
//!    lock out a host that insists.

use super::bss::Bss;
use super::dhcp::Client;
use super::grant::Lease;
use super::lease::Port;
use super::view::{PointReport, Stage};
use crate::portal::Api;
use crate::rtnl::IfName;
use policy::LinkId;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use units::{Dbm, MacAddr};

/// First pause after a failure, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));
/// The same after a wrong key.
const KEY_PAUSES: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3_600));
/// How long an association may take.
const JOINS: Duration = Duration::from_secs(15);
/// How long an access point may take to give an address.
const ADDRESSES: Duration = Duration::from_secs(20);
/// How long `wpa_supplicant` tries to get back to a lost access point.
const RETURNS: Duration = Duration::from_secs(5);
/// The same while nothing else is joined, unless it has heard the access point again. Its first scan for it
/// begins after 0.1 s. If that hears nothing, the host is better off with another access point.
const RETURNS_ALONE: Duration = Duration::from_secs(1);

/// Ages in lists are whole seconds, so one beacon may seem to be from two times this far apart.
const AGES: Duration = Duration::from_secs(1);

/// How long an answer is news.
const NEWS: Duration = Duration::from_secs(3);

/// An access point of a network that the user named.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) bss: Bss,
    /// Position of its network in the configuration.
    pub(super) network: usize,
    /// When it was heard last.
    pub(super) heard: Instant,
    /// When its last beacon or answer came, and the signal of the one before.
    answered: Instant,
    before: Option<Dbm>,
    /// Its link, and the name that its interface has.
    pub(super) link: Option<(LinkId, IfName)>,
    pub(super) station: Option<Station>,
    /// Its address on the last visit.
    pub(super) known: Option<Ipv4Addr>,
    /// It was joined, has fallen silent, and was not heard since.
    pub(super) silent: bool,
    failures: u32,
    pause: Option<Instant>,
    /// Why it is not joined.
    pub(super) why: Option<String>,
    /// The failure that was last warned about, until it is joined.
    warned: Option<String>,
}

/// The interface that is, or is to be, joined to an access point.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) name: IfName,
    /// Number of its network block in `wpa_supplicant`.
    pub(super) block: u32,
    /// The frequency in MHz of the association, and that on which the block seeks the access point.
    pub(super) mhz: u32,
    pub(super) sought: u32,
    pub(super) ifindex: u32,
    pub(super) mac: MacAddr,
    pub(super) stage: Stage,
    /// When the stage began.
    pub(super) since: Instant,
    /// It is lost, and `wpa_supplicant` has heard its access point again.
    pub(super) returns: bool,
    pub(super) client: Option<(Client, Port)>,
    pub(super) lease: Option<Lease>,
    /// Whether systemd-resolved sends queries to the servers of the lease. `None`: it does not have them.
    pub(super) resolves: Option<bool>,
}

/// Why an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    WrongKey,
    /// It was joined, and has fallen silent.
    Lost,
    Other,
}

impl Point {
    pub(super) const fn new(bss: Bss, network: usize, heard: Instant) -> Self {
        Self {
            bss,
            network,
            heard,
            answered: heard,
            before: None,
            link: None,
            station: None,
            known: None,
            silent: false,
            failures: 0,
            pause: None,
            why: None,
            warned: None,
        }
    }

    /// Whether it is left alone for now.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.pause.is_some_and(|until| now < until)
    }

    /// Whether an attempt may begin. The engine's wish may come just after the access point was lost. An
    /// attempt that nobody answers keeps the radio from others for as long as it lasts.
    pub(super) fn may_begin(&self, now: Instant) -> bool {
        self.station.is_none() && !self.silent && !self.is_paused(now)
    }

    /// An attempt has failed: leaves it alone for a while, longer each time. Returns whether to warn: not
    /// again about the same failure.
    pub(super) fn failed(&mut self, now: Instant, failure: Failure, why: String) -> bool {
        let is_news = self.warned.as_ref() != Some(&why);
        self.warned = Some(why.clone());
        self.pause_after(now, failure, why);
        is_news
    }

    fn pause_after(&mut self, now: Instant, failure: Failure, why: String) {
        let (first, longest) = match failure {
            Failure::WrongKey => KEY_PAUSES,
            Failure::Other => PAUSES,
            Failure::Lost => {
                (self.silent, self.why) = (true, Some(why));
                // Lists may still have what it sent before.
                self.answered = self.answered.max(now.checked_sub(AGES).unwrap_or(now));
                return;
            }
        };
        let pause = (first * (1 << self.failures.min(10))).min(longest);
        self.failures += 1;
        self.pause = Some(now + pause);
        self.why = Some(format!("{why}; it is tried again after {} s", pause.as_secs()));
    }

    /// A list has it. Lists repeat what was heard before.
    pub(super) fn hear(&mut self, now: Instant, bss: Bss) {
        let answered = now.checked_sub(bss.age).unwrap_or(now);
        if answered < self.answered + AGES {
            return;
        }
        self.before = Some(self.bss.signal);
        (self.bss, self.heard, self.silent) = (bss, now, false);
        self.answered = answered;
    }

    /// Whether it was heard just now, and no attempt to join it has failed.
    pub(super) fn is_news(&self, now: Instant) -> bool {
        now < self.answered + NEWS && self.failures == 0 && !self.silent
    }

    /// Its signal when a channel may be left for it. That takes two beacons or answers, of which the weaker
    /// counts: a single one may be far off the mean.
    pub(super) fn offer(&self, now: Instant) -> Option<Dbm> {
        let before = self.before.filter(|_| self.heard == now && self.failures == 0)?;
        Some(before.min(self.bss.signal))
    }

    /// Whether the last attempts have all failed.
    pub(super) const fn fails_again_and_again(&self) -> bool {
        self.failures >= 3
    }

    /// Lets an attempt begin at once, whatever has failed before, unless it has fallen silent.
    pub(super) fn begin_anew(&mut self) {
        (self.failures, self.pause, self.warned) = (0, None, None);
    }

    /// It was joined.
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.pause, self.why) = (0, None, None);
        self.warned = None;
    }

    /// When its stage has taken too long. `alone`: nothing else is joined.
    pub(super) fn deadline(&self, alone: bool) -> Option<Instant> {
        let station = self.station.as_ref()?;
        let limit = match station.stage {
            Stage::Joining => JOINS,
            Stage::Addressing => ADDRESSES,
            Stage::Lost if alone && !station.returns => RETURNS_ALONE,
            Stage::Lost => RETURNS,
            Stage::Absent | Stage::Heard | Stage::Refused | Stage::Joined => return None,
        };
        Some(station.since + limit)
    }

    /// Why its stage has taken too long.
    pub(super) fn overdue(&self) -> (Failure, String) {
        let stage = self.station.as_ref().map(|station| station.stage);
        match stage {
            Some(Stage::Addressing) => (Failure::Other, "it gives no address (DHCP)".to_owned()),
            Some(Stage::Lost) => (Failure::Lost, "it has fallen silent".to_owned()),
            _ => {
                let why = self.why.clone();
                (
                    Failure::Other,
                    why.unwrap_or_else(|| "it does not answer".to_owned()),
                )
            }
        }
    }

    pub(super) fn report(&self, ssid: &str) -> PointReport {
        let station = self.station.as_ref();
        let unjoined = if self.silent { Stage::Lost } else { Stage::Heard };
        PointReport {
            ssid: ssid.to_owned(),
            bssid: Some(self.bss.bssid),
            mhz: Some(self.bss.mhz),
            signal: Some(self.bss.signal),
            interface: station.map(|station| station.name.to_string()),
            portal: station.and_then(Station::portal).map(str::to_owned),
            resolvers: station.map(Station::resolvers).unwrap_or_default(),
            relay: station.and_then(Station::relay).map(str::to_owned),
            stage: station.map_or(unjoined, |station| station.stage),
            why: self.why.clone(),
        }
    }
}

/// What to do about a captive portal that a network announces. `asks`: its URL is an API, and the daemon asks
/// it.
pub(super) fn announced(interface: &IfName, url: &str, asks: bool) -> String {
    match asks {
        true => format!("its network announces the API of a captive portal ({url}), which slowhand asks"),
        false => format!(
            "its network announces a captive portal ({url}), and nothing checks whether it is open: `slowhand wifi \
             portal {interface}` opens it, and `portal_url` in the configuration adds a check"
        ),
    }
}

impl Station {
    /// URL of the captive portal, if its DHCP server gives one.
    pub(super) fn portal(&self) -> Option<&str> {
        self.client.as_ref()?.0.portal()
    }

    /// The API that says whether this portal is open.
    pub(super) fn portal_api(&self) -> Option<Api> {
        self.portal().and_then(Api::new)
    }

    /// Address or name and port of a relay, if its DHCP server announces one.
    fn relay(&self) -> Option<&str> {
        self.client.as_ref()?.0.relay()
    }

    /// The DNS servers of its lease.
    fn resolvers(&self) -> Vec<Ipv4Addr> {
        self.lease.as_ref().map(Lease::resolvers).unwrap_or_default()
    }

    pub(super) fn enter(&mut self, now: Instant, stage: Stage) {
        (self.stage, self.since, self.returns) = (stage, now, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::bss::Offers;

    fn point(now: Instant) -> Point {
        let bss = Bss {
            bssid: MacAddr::local(1),
            ssid: b"first".to_vec(),
            mhz: 2_437,
            signal: Dbm::from_dbm(-50),
            throughput: None,
            age: Duration::ZERO,
            offers: Offers::default(),
        };
        Point::new(bss, 0, now)
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_end_with_success() {
        let now = Instant::now();
        let mut point = point(now);
        let pause = |point: &mut Point, failure| {
            point.failed(now, failure, "no".into());
            let is_over = |seconds| !point.is_paused(now + Duration::from_secs(seconds));
            (0..=4_000).find(|&seconds| is_over(seconds)).unwrap()
        };
        let other = [0; 8].map(|_| pause(&mut point, Failure::Other));
        assert_eq!(other, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(point.why.as_deref(), Some("no; it is tried again after 300 s"));
        point.succeeded();
        assert!(!point.is_paused(now));
        assert_eq!(pause(&mut point, Failure::Lost), 0, "it may be back at once");
        let key = [0; 7].map(|_| pause(&mut point, Failure::WrongKey));
        assert_eq!(key, [60, 120, 240, 480, 960, 1_920, 3_600]);
    }

    #[test]
    fn each_failure_is_warned_about_once_until_it_is_joined() {
        let now = Instant::now();
        let mut point = point(now);
        let mut warns = |why: Option<&str>| match why {
            Some(why) => point.failed(now, Failure::WrongKey, why.to_owned()),
            None => {
                point.succeeded();
                false
            }
        };
        let told = [
            Some("key"),
            Some("key"),
            Some("key"),
            Some("DHCP"),
            None,
            Some("DHCP"),
        ]
        .map(&mut warns);
        assert_eq!(told, [true, false, false, true, false, true]);
    }

    #[test]
    fn a_silent_access_point_is_lost_until_it_is_heard() {
        let now = Instant::now();
        let mut point = point(now);
        point.failed(now, Failure::Lost, "it has fallen silent".into());
        assert!(!point.is_paused(now), "it may be back at once");
        assert!(!point.may_begin(now), "nobody would answer");
        assert_eq!(point.report("first").stage, Stage::Lost);
        let before = Bss {
            age: Duration::from_secs(1),
            ..point.bss.clone()
        };
        point.hear(now + Duration::from_millis(300), before);
        assert_eq!(point.report("first").stage, Stage::Lost, "it was heard before");
        point.hear(now + Duration::from_secs(2), point.bss.clone());
        assert_eq!(point.report("first").stage, Stage::Heard);
        assert!(point.may_begin(now));
    }

    #[test]
    fn a_channel_is_left_for_the_weaker_of_two_answers() {
        let now = Instant::now();
        let mut point = point(now);
        let mut hears = |at: u64, age: u64, dbm: i32| {
            let bss = Bss {
                signal: Dbm::from_dbm(dbm),
                age: Duration::from_secs(age),
                ..point.bss.clone()
            };
            let at = now + Duration::from_secs(at);
            point.hear(at, bss);
            point.offer(at)
        };
        assert_eq!(hears(1, 1, -60), None, "the first answer again");
        assert_eq!(hears(5, 0, -60), Some(Dbm::from_dbm(-60)));
        assert_eq!(hears(7, 2, -60), None, "the second one again");
        assert_eq!(hears(9, 0, -40), Some(Dbm::from_dbm(-60)));
        point.failed(now, Failure::Other, "no".into());
        assert_eq!(
            point.offer(now + Duration::from_secs(9)),
            None,
            "it cannot be joined"
        );
    }
}
