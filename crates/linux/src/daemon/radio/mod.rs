//! What radios report of WiFi links: access point, channel, signal, rates and losses.
//!
//! Every [`EVERY`], and soon after each event of `nl80211`, [`Radio`] reads the association of each WiFi
//! link. [`station`] turns it into facts for the engine. [`ears`] listens to monitor interfaces, whose frames
//! are the better source of losses and beacons.
//!
//! # Where we differ, and why
//! 1. Without a monitor interface, or while it hears nothing, beacons and signals follow from the driver's
//!    counters. Losses and airtime are then unknown, and access points of one channel are not steered.
//! 2. A kernel without `nl80211` is no fault: a WiFi link is then known by its carrier and its addresses.
//!
//! # Checked by
//! `station::tests`, `ears::tests`; `nl80211::tests` for the kernel's messages.

pub(crate) mod ears;
pub(crate) mod station;

use crate::capture::Aliases;
use crate::daemon::api::inlet::InletSender;
use crate::daemon::api::report::WifiReport;
use crate::daemon::api::setup::Associates;
use crate::daemon::host::Host;
use crate::daemon::links::book::{Links, Step};
use crate::netlink::ReceiveError;
use crate::nl80211::{
    Event, Events, IfType, Interface, Nl80211, Quality, ReadError, SubscribeError, Survey, Wiphy,
};
use ears::{Creates, Ears, Members};
use policy::{Input, LinkId, LinkKind};
use station::{Known, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use units::Instant;

/// Interval between reads.
const EVERY: Duration = Duration::from_millis(500);

/// The radios of the host, as far as links use them.
#[derive(Debug)]
pub(crate) struct Radio {
    kernel: Option<Nl80211>,
    events: Option<Events>,
    known: BTreeMap<LinkId, Known>,
    ears: Ears,
    /// Interfaces whose drivers have reported since the last read that no beacons arrive.
    silent: BTreeSet<u32>,
    /// When to read next. `None`: there is no WiFi link, or no `nl80211`.
    due: Option<Instant>,
}

impl Radio {
    /// Opens the kernel's WiFi stack, if there is one. `monitor`: whether to create monitor interfaces that
    /// are missing, see [`Setup::monitor`]. `plain`: see [`Setup::plain`]. `program`: what joins access
    /// points.
    ///
    /// [`Setup::monitor`]: crate::daemon::api::setup::Setup::monitor
    /// [`Setup::plain`]: crate::daemon::api::setup::Setup::plain
    pub(crate) fn open(
        inlet: InletSender,
        (monitor, plain): (Option<bool>, bool),
        program: Option<&Associates>,
    ) -> Self {
        let aliases = if plain {
            Aliases::none()
        } else {
            Aliases::default()
        };
        let newcomers = program.is_some_and(|program| program.newcomer.is_some());
        Self {
            kernel: Nl80211::open().ok(),
            events: Events::open().ok(),
            known: BTreeMap::new(),
            ears: Ears::new(inlet, aliases, Creates::of(monitor, program.is_some()), newcomers),
            silent: BTreeSet::new(),
            due: None,
        }
    }

    /// Readable when the kernel has reported a change.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.events.as_ref().map(Events::as_raw_fd)
    }

    /// An interface has appeared or changed: reads at the next tick.
    pub(crate) fn look_soon(&mut self, now: Instant) {
        // The module of a radio that was plugged in may have been loaded since the start.
        if self.kernel.is_none() {
            self.kernel = Nl80211::open().ok();
        }
        if self.kernel.is_some() {
            self.due = Some(now);
        }
    }

    /// Takes in the pending events. A report that no beacons arrive is kept, and everything is read again.
    pub(crate) fn read(&mut self, now: Instant) {
        let Some(events) = &mut self.events else { return };
        loop {
            match events.next() {
                Ok(None) => return,
                Ok(Some(Event::Quality(ifindex, Quality::BeaconsLost))) => {
                    self.silent.insert(ifindex);
                    self.due = Some(now);
                }
                // Lost events are as good as any: they mean that something changed.
                Ok(Some(_)) | Err(SubscribeError::Receive(ReceiveError::Overrun)) => self.due = Some(now),
                Err(error) => {
                    tracing::debug!("no more events of radios: {error}");
                    self.events = None;
                    return;
                }
            }
        }
    }

    /// When [`Radio::tick`] next has work.
    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.due
    }

    /// Reads all associations, if it is time.
    pub(crate) fn tick(&mut self, now: Instant, links: &mut Links, host: &mut Host, steps: &mut Vec<Step>) {
        if self.due.take_if(|due| *due <= now).is_none() {
            return;
        }
        let wifi = Vec::from_iter(links.iter().filter_map(|link| {
            let is_wifi = link.spec.kind == LinkKind::Wifi;
            Some((link.id, link.ifindex.filter(|_| is_wifi)?))
        }));
        self.known.retain(|id, _| wifi.iter().any(|(link, _)| link == id));
        if wifi.is_empty() {
            self.ears.close();
            return;
        }
        self.due = Some(now + EVERY);
        if let Err(error) = self.look(now, &wifi, links, host, steps) {
            // A radio may be gone in the middle of a read. The next read shows what is left.
            tracing::debug!("{error}: {}", error.source);
        }
    }

    fn look(
        &mut self,
        now: Instant,
        wifi: &[(LinkId, u32)],
        links: &mut Links,
        host: &mut Host,
        steps: &mut Vec<Step>,
    ) -> Result<(), ReadError> {
        let Some(kernel) = &mut self.kernel else {
            return Ok(());
        };
        let interfaces = kernel.interfaces()?;
        let mut radios: BTreeMap<u32, Members> = BTreeMap::new();
        for &(link, ifindex) in wifi {
            let station =
                |one: &&Interface| one.ifindex == Some(ifindex) && one.kind == Some(IfType::Station);
            let interface = interfaces.iter().find(station);
            let known = self.known.get(&link);
            let Some(seen) = interface.and_then(|interface| seen(kernel, interface, ifindex, known)) else {
                if let Some(known) = self.known.get_mut(&link) {
                    known.lost();
                }
                continue;
            };
            let members = radios.entry(seen.wiphy).or_default();
            members.points.insert(seen.station.mac, link);
            members.own.extend(seen.own);
            if let Some(channel) = seen.channel() {
                links.tuned(link, channel, steps);
            }
            let listens = self.ears.hears(seen.wiphy);
            let known = self.known.entry(link).or_default();
            if self.silent.remove(&ifindex) {
                known.silence(now);
            }
            for fact in known.take(now, seen, listens) {
                host.outlet.tell(Input::Link(link, fact));
            }
        }
        // An interface without an association begins its next one without a report.
        self.silent.clear();
        self.ears.follow(radios, &interfaces, kernel, host);
        Ok(())
    }

    /// What is known of a link, for the report.
    pub(crate) fn report(&self, link: LinkId) -> Option<WifiReport> {
        let known = self.known.get(&link)?;
        let report = known.report()?;
        let no_monitor = known.wiphy().and_then(|wiphy| self.ears.why_deaf(wiphy));
        Some(WifiReport {
            no_monitor: no_monitor.map(str::to_owned),
            ..report
        })
    }
}

/// The association of an interface, if it has one.
fn seen(kernel: &mut Nl80211, interface: &Interface, ifindex: u32, known: Option<&Known>) -> Option<Seen> {
    let station = kernel.stations(ifindex).ok()?.into_iter().next()?;
    // The kernel names the network only where it has joined it itself, without `wpa_supplicant`.
    let ssid = interface
        .ssid
        .clone()
        .or_else(|| known?.ssid_of(station.mac))
        .or_else(|| kernel.network_of(ifindex, station.mac).ok()?);
    let mhz = interface.mhz?;
    // Many drivers have no survey.
    let surveys = kernel.survey(ifindex).unwrap_or_default();
    let survey = surveys.into_iter().find(|survey: &Survey| survey.mhz == mhz);
    Some(Seen {
        wiphy: interface.wiphy,
        own: interface.mac,
        mhz,
        ssid: ssid.unwrap_or_default(),
        station,
        survey,
    })
}

/// The radio with this number.
pub(crate) fn wiphy(kernel: &mut Nl80211, index: u32) -> Option<Wiphy> {
    let radios = kernel.wiphys().ok()?;
    radios.into_iter().find(|wiphy| wiphy.index == index)
}
