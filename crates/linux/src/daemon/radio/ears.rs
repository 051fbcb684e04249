//! Monitor interfaces: finds one on each radio in use, or creates it where that is wanted, and listens.
//!
//! # Where we differ, and why
//! 1. A monitor interface of another owner is used as it is, and not brought up.
//! 2. A monitor counts as a source only while frames arrive. Some drivers accept the interface and pass
//!    nothing to it while a station is connected.
//!
//! # Checked by
//! `tests` below; `journal::tests` for the removal; the trial `joins-no-monitor` of `guest`, with a radio
//! that offers none.

use crate::capture::{Aliases, Beacons, Capture, Listener, Reports};
use crate::daemon::api::inlet::InletSender;
use crate::daemon::host::Host;
use crate::daemon::radio::wiphy;
use crate::journal::Change;
use crate::nl80211::able::Able;
use crate::nl80211::{IfType, Interface, Nl80211, Wiphy};
use crate::rtnl::{IfName, Rtnl};
use policy::LinkId;
use std::collections::BTreeMap;
use std::error::Error;
use thiserror::Error;
use units::MacAddr;

/// The links of one radio.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Members {
    /// Their access points.
    pub(crate) points: BTreeMap<MacAddr, LinkId>,
    /// This host's addresses.
    pub(crate) own: Vec<MacAddr>,
}

/// All monitor interfaces in use, by radio.
#[derive(Debug)]
pub(crate) struct Ears {
    inlet: InletSender,
    /// How other stations are called while the daemon runs, whatever access points come and go: a recording
    /// would have one station under two names.
    aliases: Aliases,
    creates: Creates,
    /// Whether access points without a link are reported.
    newcomers: bool,
    open: BTreeMap<u32, Ear>,
    /// Radios without a monitor that can be used, and why, if one was wanted. They are not asked again.
    refused: BTreeMap<u32, Option<String>>,
}

/// Where to create monitor interfaces that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creates {
    /// Nowhere.
    No,
    /// On radios with an interface of ours, if the driver makes it in software.
    Ours,
    /// On all radios in use.
    All,
}

impl Creates {
    /// `wanted`: what the configuration says. `joins`: whether slowhand joins access points by itself.
    pub(crate) const fn of(wanted: Option<bool>, joins: bool) -> Self {
        match wanted {
            Some(true) => Self::All,
            None if joins => Self::Ours,
            Some(false) | None => Self::No,
        }
    }

    /// Whether to create one on this radio.
    fn on(self, wiphy: u32, interfaces: &[Interface]) -> bool {
        let is_ours = |one: &Interface| one.wiphy == wiphy && crate::wifi::is_ours(&one.name);
        match self {
            Self::No => false,
            Self::Ours => interfaces.iter().any(is_ours),
            Self::All => true,
        }
    }

    /// Whether this radio has a monitor interface beside stations. Where nobody has asked for one, it must
    /// not take the place of a station either.
    fn fits(self, wiphy: Option<&Wiphy>) -> Result<(), NoMonitor> {
        let has = |wiphy: &Wiphy| match self {
            Self::Ours => wiphy.software.has(IfType::Monitor),
            Self::No | Self::All => Able::of(wiphy).monitor,
        };
        match wiphy {
            Some(wiphy) if has(wiphy) => Ok(()),
            Some(wiphy) => Err(NoMonitor(wiphy.name.clone())),
            None => Err(NoMonitor("a radio that has gone".to_owned())),
        }
    }
}

/// A radio has no monitor interface, although one was wanted.
#[derive(Debug, Error)]
#[error("the driver of {0} offers no monitor interface")]
struct NoMonitor(String);

#[derive(Debug)]
struct Ear {
    listener: Listener,
    members: Members,
    name: String,
    /// Frames reported until the last read, and whether there were more than before.
    told: u64,
    hears: bool,
}

impl Ears {
    pub(crate) const fn new(inlet: InletSender, aliases: Aliases, creates: Creates, newcomers: bool) -> Self {
        Self {
            inlet,
            aliases,
            creates,
            newcomers,
            open: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Stops to listen. The interfaces stay until the daemon ends.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// Whether frames of this radio's access points arrive.
    pub(crate) fn hears(&self, wiphy: u32) -> bool {
        self.open.get(&wiphy).is_some_and(|ear| ear.hears)
    }

    /// Why a radio has no monitor interface, although one was wanted.
    pub(crate) fn why_deaf(&self, wiphy: u32) -> Option<&str> {
        self.refused.get(&wiphy)?.as_deref()
    }

    /// Listens for these access points, and for no others.
    pub(crate) fn follow(
        &mut self,
        radios: BTreeMap<u32, Members>,
        interfaces: &[Interface],
        kernel: &mut Nl80211,
        host: &mut Host,
    ) {
        let exists = |ear: &Ear| interfaces.iter().any(|one| one.name == ear.name);
        self.open
            .retain(|wiphy, ear| radios.get(wiphy) == Some(&ear.members) && exists(ear));
        self.refused.retain(|index, _| radios.contains_key(index));
        for ear in self.open.values_mut() {
            ear.count();
        }
        for (index, members) in radios {
            if self.open.contains_key(&index) || self.refused.contains_key(&index) {
                continue;
            }
            let existing = existing(interfaces, index);
            if existing.is_none() && !self.creates.on(index, interfaces) {
                continue;
            }
            match self.listen(index, members, existing, kernel, host) {
                Ok(ear) => _ = self.open.insert(index, ear),
                Err(error) if self.creates == Creates::Ours && error.is::<NoMonitor>() => {
                    self.refused.insert(index, None);
                }
                Err(error) => {
                    let what = "listening to access points (the driver's counters are used instead)";
                    host.outlet.trouble(what, error.as_ref());
                    self.refused.insert(index, Some(error.to_string()));
                }
            }
        }
    }

    /// `existing`: the monitor interface that the radio has. One is created otherwise.
    fn listen(
        &self,
        index: u32,
        members: Members,
        existing: Option<&str>,
        kernel: &mut Nl80211,
        host: &mut Host,
    ) -> Result<Ear, Box<dyn Error>> {
        let own = own_name(index)?;
        let name = match existing {
            Some(name) => name.to_owned(),
            None => {
                self.creates.fits(wiphy(kernel, index).as_ref())?;
                host.settings.journal.will(Change::Monitor(own))?;
                kernel.add_monitor(index, own)?;
                own.to_string()
            }
        };
        // A radio that was blocked has set down all its interfaces.
        if name == own.as_str() {
            set_up(own)?;
        }
        let capture = Capture::open(&name, &members.own)?;
        let reports = self.reports(&members);
        let listener = Listener::start(vec![capture], reports, self.inlet.clone())?;
        Ok(Ear {
            listener,
            members,
            name,
            told: 0,
            hears: false,
        })
    }

    /// What a listener for these access points reports.
    fn reports(&self, members: &Members) -> Reports {
        Reports {
            links: members.points.clone(),
            beacons: Beacons::Told,
            aliases: self.aliases.clone(),
            newcomers: self.newcomers,
        }
    }
}

impl Ear {
    fn count(&mut self) {
        let told = self.listener.told();
        self.hears = std::mem::replace(&mut self.told, told) != told;
    }
}

/// The name of a monitor interface of this radio.
fn existing(interfaces: &[Interface], wiphy: u32) -> Option<&str> {
    let fits = |one: &&Interface| one.wiphy == wiphy && one.kind == Some(IfType::Monitor);
    let one = interfaces.iter().find(fits)?;
    (!one.name.is_empty()).then_some(one.name.as_str())
}

/// The name of our own monitor interface on a radio.
fn own_name(wiphy: u32) -> Result<IfName, Box<dyn Error>> {
    Ok(format!("slowhand{wiphy}").parse()?)
}

fn set_up(name: IfName) -> Result<(), Box<dyn Error>> {
    let mut rtnl = Rtnl::open()?;
    match rtnl.link_named(name)? {
        Some(link) if !link.up => Ok(rtnl.set_up(link.ifindex, true)?),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_is_created_where_it_is_wanted_or_where_access_points_are_joined() {
        let on = |name: &str, wiphy| Interface {
            wiphy,
            ifindex: None,
            name: name.to_owned(),
            kind: None,
            mac: None,
            mhz: None,
            ssid: None,
        };
        let interfaces = [on("wlan0", 0), on("wlan1", 1), on("slow-w1", 1)];
        let radios = |wanted, joins| {
            let creates = Creates::of(wanted, joins);
            [0, 1].map(|wiphy| creates.on(wiphy, &interfaces))
        };
        assert_eq!(radios(None, false), [false, false]);
        assert_eq!(radios(None, true), [false, true], "not on the user's own radio");
        assert_eq!(radios(Some(false), true), [false, false]);
        assert_eq!(radios(Some(true), false), [true, true]);
    }

    #[test]
    fn a_station_keeps_its_alias_when_access_points_come_and_go() {
        let (inlet, _) = crate::daemon::inlet().unwrap();
        let ears = Ears::new(inlet, Aliases::default(), Creates::No, false);
        let more = Members {
            points: BTreeMap::from([(MacAddr::local(1), LinkId(0))]),
            own: Vec::new(),
        };
        let station = MacAddr::local(7);
        let [first, second] = [Members::default(), more].map(|members| ears.reports(&members));
        assert_eq!(first.aliases.of(station), second.aliases.of(station));
        assert_eq!((first.links.len(), second.links.len()), (0, 1));
    }

    #[test]
    fn a_monitor_of_the_same_radio_is_used() {
        let interface = |wiphy, name: &str, kind| Interface {
            wiphy,
            ifindex: Some(1),
            name: name.into(),
            kind: Some(kind),
            mac: None,
            mhz: None,
            ssid: None,
        };
        let all = [
            interface(0, "wlan0", IfType::Station),
            interface(1, "mon1", IfType::Monitor),
            interface(0, "mon0", IfType::Monitor),
        ];
        assert_eq!(existing(&all, 0), Some("mon0"));
        assert_eq!(existing(&all[..2], 0), None);
    }
}
