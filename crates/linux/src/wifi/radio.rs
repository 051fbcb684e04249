//! The radio that joins access points, and what it can do beside what others do with it.

use super::{Setup, station};
use crate::nl80211::able::{self, Able};
use crate::nl80211::rfkill::{self, Switch};
use crate::nl80211::{Frequency, IfType, Interface, Nl80211, ReadError, StationError, Wiphy, channel_number};
use crate::rtnl::{IfName, LinkError, Rtnl};
use policy::reach::Capacity;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use thiserror::Error;
use units::MacAddr;

/// The radio in use.
#[derive(Debug)]
pub(super) struct Radio {
    wiphy: Wiphy,
    /// The address that it was built with.
    pub(super) mac: MacAddr,
    /// For addresses of interfaces: see [`station::draw`].
    drawn: Option<u64>,
}

/// Why there is no radio to use.
#[derive(Debug, Error)]
pub(super) enum RadioError {
    #[error("{}: {}", .0, .0.source)]
    Read(#[from] ReadError),
    #[error("there is no radio; plug one in, or check `slowhand doctor`")]
    None,
    #[error(
        "there is no radio `{0}`; `grep . /sys/class/ieee80211/*/macaddress` lists names and hardware addresses"
    )]
    NotNamed(String),
    #[error(
        "there are several radios ({0}); set `radio` in [wifi] to one of them, or to its hardware address"
    )]
    Several(String),
    #[error("radio {0} has no station interfaces; use another card")]
    NoStations(String),
    #[error("radio {0} is blocked; run `rfkill unblock wifi`")]
    Blocked(String),
    #[error("a switch on the device turns radio {0} off; turn it on there")]
    TurnedOff(String),
    #[error("radio {0} has gone; plug it in again")]
    Gone(String),
}

impl Radio {
    /// The radio that the user named, or the only one.
    pub(super) fn find(kernel: &mut Nl80211, setup: &Setup) -> Result<Self, RadioError> {
        let all = kernel.wiphys()?;
        let wiphy = pick(&all, setup.radio.as_deref(), mac_of)?;
        if Able::of(wiphy).stations == 0 {
            return Err(RadioError::NoStations(wiphy.name.clone()));
        }
        is_on(&wiphy.name, &rfkill::switches(Path::new("/")))?;
        Ok(Self {
            mac: mac_of(&wiphy.name).unwrap_or(MacAddr::local(wiphy.index)),
            wiphy: wiphy.clone(),
            drawn: setup.drawn,
        })
    }

    /// Whether it is still there and on.
    pub(super) fn is_usable(&self, kernel: &mut Nl80211) -> Result<(), RadioError> {
        let is_it = |wiphy: &Wiphy| wiphy.index == self.wiphy.index;
        if !kernel.wiphys()?.iter().any(is_it) {
            return Err(RadioError::Gone(self.wiphy.name.clone()));
        }
        is_on(&self.wiphy.name, &rfkill::switches(Path::new("/")))
    }

    /// What is left of it beside the interfaces of others, and the channels that these hold.
    pub(super) fn left(
        &self,
        (kernel, rtnl): (&mut Nl80211, &mut Rtnl),
        ours: &[IfName],
    ) -> Result<(Capacity, Vec<u16>), Box<dyn Error>> {
        let types = Vec::from_iter(self.up(kernel, rtnl, ours)?.iter().filter_map(|one| one.kind));
        let (stations, channels) = able::places_beside(&self.wiphy, &types);
        let capacity = Capacity {
            stations: (stations as usize).min(ours.len()),
            channels: channels.max(1) as usize,
        };
        let busy = self.others(kernel, ours)?;
        let held = busy.iter().filter_map(|one| channel_number(one.mhz?)).collect();
        Ok((capacity, held))
    }

    /// Names of the interfaces of others that take places of the driver.
    pub(super) fn rivals(&self, kernel: &mut Nl80211, rtnl: &mut Rtnl, ours: &[IfName]) -> Vec<String> {
        let up = self.up(kernel, rtnl, ours).unwrap_or_default();
        up.into_iter().map(|one| one.name).collect()
    }

    /// The station interface of others that has the only place of the driver. While there is a place: those
    /// that are down, and may get it. Empty: the driver allows several, or another interface has it.
    pub(super) fn holders(
        &self,
        kernel: &mut Nl80211,
        rtnl: &mut Rtnl,
        ours: &[IfName],
    ) -> Result<Vec<Holder>, Box<dyn Error>> {
        let up = self.up(kernel, rtnl, ours)?;
        let mut all = kernel.interfaces()?;
        all.retain(|one| one.wiphy == self.wiphy.index && !is_one_of(ours, one));
        Ok(holders(&self.wiphy, &up, &all))
    }

    /// Interfaces of others that are up. The driver counts them, whether they are joined or not.
    fn up(
        &self,
        kernel: &mut Nl80211,
        rtnl: &mut Rtnl,
        ours: &[IfName],
    ) -> Result<Vec<Interface>, Box<dyn Error>> {
        let links = rtnl.links()?;
        let is_up = |one: &Interface| {
            let mut links = links.iter();
            links.any(|link| Some(link.ifindex) == one.ifindex && link.up)
        };
        let mut all = kernel.interfaces()?;
        all.retain(|one| {
            let counts = one.kind.is_some_and(|kind| !self.wiphy.software.has(kind));
            one.wiphy == self.wiphy.index && !is_one_of(ours, one) && counts && is_up(one)
        });
        Ok(all)
    }

    /// Its channels, with what the rules of the present country allow there.
    pub(super) fn frequencies(&self, kernel: &mut Nl80211) -> Result<Vec<Frequency>, ReadError> {
        let mut all = kernel.wiphys()?.into_iter();
        let own = all.find(|wiphy| wiphy.index == self.wiphy.index);
        Ok(own.map(|wiphy| wiphy.frequencies).unwrap_or_default())
    }

    /// Channels on which it can be beside interfaces of others that are up.
    fn channels_beside(&self, up: &[Interface]) -> usize {
        let types = Vec::from_iter(up.iter().filter_map(|one| one.kind));
        able::places_beside(&self.wiphy, &types).1.max(1) as usize
    }

    /// Frequencies in MHz that others use, if they leave no channel for anything else. A scan of other
    /// channels finds nothing to join then, and costs the user's connection.
    pub(super) fn bound_to(
        &self,
        (kernel, rtnl): (&mut Nl80211, &mut Rtnl),
        ours: &[IfName],
    ) -> Result<Option<BTreeSet<u32>>, Box<dyn Error>> {
        let busy = self.others(kernel, ours)?;
        let all: BTreeSet<u32> = busy.iter().filter_map(|one| one.mhz).collect();
        let channels = self.channels_beside(&self.up(kernel, rtnl, ours)?);
        Ok((all.len() >= channels).then_some(all))
    }

    /// Whether it can be on another channel beside these frequencies in MHz and those of others.
    pub(super) fn has_free_channel(
        &self,
        (kernel, rtnl): (&mut Nl80211, &mut Rtnl),
        ours: &[IfName],
        used: &BTreeSet<u32>,
    ) -> Result<bool, Box<dyn Error>> {
        let channels = self.channels_beside(&self.up(kernel, rtnl, ours)?);
        if channels <= used.len() {
            return Ok(false);
        }
        let busy = self.others(kernel, ours)?;
        let all: BTreeSet<u32> = busy
            .iter()
            .filter_map(|one| one.mhz)
            .chain(used.iter().copied())
            .collect();
        Ok(all.len() < channels)
    }

    /// Interfaces of others that are on a channel. One without a channel is down or idle, and holds none.
    fn others(&self, kernel: &mut Nl80211, ours: &[IfName]) -> Result<Vec<Interface>, ReadError> {
        let mut all = kernel.interfaces()?;
        all.retain(|one| {
            let is_busy = one.kind != Some(IfType::Monitor) && one.mhz.is_some();
            one.wiphy == self.wiphy.index && !is_one_of(ours, one) && is_busy
        });
        Ok(all)
    }

    /// Whether another program is about to choose its only channel: a station interface of others is up, and
    /// on no channel.
    pub(super) fn is_awaited(
        &self,
        kernel: &mut Nl80211,
        rtnl: &mut Rtnl,
        ours: &[IfName],
    ) -> Result<bool, Box<dyn Error>> {
        let up = self.up(kernel, rtnl, ours)?;
        let mut stations = up.iter().filter(|one| one.kind == Some(IfType::Station));
        Ok(self.channels_beside(&up) == 1 && stations.any(|one| one.mhz.is_none()))
    }
}

/// A station interface of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) name: IfName,
    pub(super) ifindex: u32,
    pub(super) up: bool,
}

/// Those of all interfaces that have or may get the only place of a driver. `up`: those that are up.
fn holders(wiphy: &Wiphy, up: &[Interface], all: &[Interface]) -> Vec<Holder> {
    if Able::of(wiphy).stations != 1 {
        return Vec::new();
    }
    let of = |one: &Interface, up| {
        Some(Holder {
            name: one.name.parse().ok()?,
            ifindex: one.ifindex?,
            up,
        })
    };
    let types = Vec::from_iter(up.iter().filter_map(|one| one.kind));
    if able::stations_beside(wiphy, &types) == 0 {
        return holder(wiphy, up)
            .and_then(|one| of(one, true))
            .into_iter()
            .collect();
    }
    let stations = all.iter().filter(|one| one.kind == Some(IfType::Station));
    stations.filter_map(|one| of(one, false)).collect()
}

/// Of these interfaces, the station that has the only place of a driver.
fn holder<'i>(wiphy: &Wiphy, up: &'i [Interface]) -> Option<&'i Interface> {
    let left_without = |left_out: Option<&Interface>| {
        let stay = up.iter().filter(|one| Some(*one) != left_out);
        able::stations_beside(wiphy, &Vec::from_iter(stay.filter_map(|one| one.kind)))
    };
    let mut stations = up.iter().filter(|one| one.kind == Some(IfType::Station));
    stations.find(|one| left_without(Some(one)) > 0)
}

fn is_one_of(ours: &[IfName], one: &Interface) -> bool {
    ours.iter().any(|name| name.as_str() == one.name)
}

/// Whether no switch turns this radio off.
fn is_on(name: &str, switches: &[Switch]) -> Result<(), RadioError> {
    let mut of_it = switches.iter().filter(|switch| switch.name == name);
    match of_it.find(|switch| switch.soft || switch.hard) {
        Some(switch) if switch.hard => Err(RadioError::TurnedOff(name.to_owned())),
        Some(_) => Err(RadioError::Blocked(name.to_owned())),
        None => Ok(()),
    }
}

/// The address that a radio was built with.
fn mac_of(name: &str) -> Option<MacAddr> {
    let text = fs::read_to_string(format!("/sys/class/ieee80211/{name}/macaddress")).ok()?;
    super::bss::mac(text.trim())
}

/// The radio of this name or hardware address, or the only one. A radio that is unplugged has another name
/// when it comes back, but the same address.
fn pick<'w>(
    all: &'w [Wiphy],
    name: Option<&str>,
    mac_of: impl Fn(&str) -> Option<MacAddr>,
) -> Result<&'w Wiphy, RadioError> {
    match (all, name) {
        ([], _) => Err(RadioError::None),
        (_, Some(name)) => {
            let mac = super::bss::mac(name);
            let is_it = |wiphy: &&Wiphy| match mac {
                Some(mac) => mac_of(&wiphy.name) == Some(mac),
                None => wiphy.name == name,
            };
            let found = all.iter().find(is_it);
            found.ok_or_else(|| RadioError::NotNamed(name.to_owned()))
        }
        ([only], None) => Ok(only),
        (_, None) => {
            let names = Vec::from_iter(all.iter().map(|wiphy| wiphy.name.as_str()));
            Err(RadioError::Several(names.join(", ")))
        }
    }
}

/// Creates a station interface.
pub(super) fn create(
    kernel: &mut Nl80211,
    radio: &Radio,
    name: IfName,
    network: (&[u8], MacAddr),
) -> Result<MacAddr, StationError> {
    let mac = station::address(radio.mac, network, radio.drawn);
    kernel.add_station(radio.wiphy.index, name, mac)?;
    Ok(mac)
}

/// The driver does not let an interface be up.
#[derive(Debug, Error)]
#[error("the driver refuses the interface {name} ({why}){beside}")]
pub(super) struct Refused {
    pub(super) name: IfName,
    pub(super) why: String,
    pub(super) beside: String,
}

/// Sets an interface up. The driver counts its places only now.
pub(super) fn set_up(
    (kernel, rtnl): (&mut Nl80211, &mut Rtnl),
    radio: &Radio,
    (name, ifindex): (IfName, u32),
    ours: &[IfName],
) -> Result<(), Refused> {
    let why = match rtnl.set_up(ifindex, true) {
        Ok(()) => return Ok(()),
        Err(LinkError::Kernel { source, .. }) => source.to_string(),
        Err(other) => other.to_string(),
    };
    let rivals = radio.rivals(kernel, rtnl, ours);
    Err(Refused {
        name,
        why,
        beside: beside(&rivals),
    })
}

/// Which interfaces may have taken the place, and the remedy.
pub(super) fn beside(rivals: &[String]) -> String {
    let Some(first) = rivals.first() else {
        return String::new();
    };
    let all = rivals.join(", ");
    format!(" beside {all}; `ip link set {first} down` may free a place")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nl80211::{Combination, Limit, Types};

    fn wiphy(name: &str) -> Wiphy {
        Wiphy {
            name: name.into(),
            ..Wiphy::default()
        }
    }

    #[test]
    fn a_refused_interface_names_those_that_have_its_place() {
        let said = |rivals: &[&str]| {
            let rivals = Vec::from_iter(rivals.iter().map(|name| (*name).to_owned()));
            let refused = Refused {
                name: "slow-w2".parse().unwrap(),
                why: "Device or resource busy".into(),
                beside: beside(&rivals),
            };
            refused.to_string()
        };
        let alone = "the driver refuses the interface slow-w2 (Device or resource busy)";
        assert_eq!(said(&[]), alone);
        let remedy = "beside wlan0, mesh0; `ip link set wlan0 down` may free a place";
        assert_eq!(said(&["wlan0", "mesh0"]), format!("{alone} {remedy}"));
    }

    #[test]
    fn the_only_place_is_that_of_a_station_beside_which_none_is_left() {
        let limit = |most, types: &[IfType]| Limit {
            most,
            types: Types::of(types),
        };
        let combination = |limits: Vec<Limit>, most| Combination {
            limits,
            most,
            channels: 1,
        };
        let of = |limits, most| Wiphy {
            types: Types::of(&[IfType::Station, IfType::AccessPoint]),
            combinations: vec![combination(limits, most)],
            ..Wiphy::default()
        };
        let up = |name: &str, ifindex, kind| Interface {
            wiphy: 0,
            ifindex: Some(ifindex),
            name: name.into(),
            kind: Some(kind),
            mac: None,
            mhz: None,
            ssid: None,
        };
        let (wlan0, ap0) = (up("wlan0", 3, IfType::Station), up("ap0", 4, IfType::AccessPoint));
        let separate = || vec![limit(1, &[IfType::Station]), limit(1, &[IfType::AccessPoint])];
        let found = |wiphy: &Wiphy, up: &[Interface], all: &[Interface]| {
            let found = holders(wiphy, up, all).into_iter();
            found.map(|one| (one.name.to_string(), one.up)).next()
        };
        let name = |wiphy: &Wiphy, up: &[Interface]| found(wiphy, up, &[]).map(|(name, _)| name);
        let one = of(separate(), 2);
        assert_eq!(name(&one, &[]), None);
        assert_eq!(name(&one, std::slice::from_ref(&ap0)), None, "there is a place");
        assert_eq!(
            name(&one, &[ap0.clone(), wlan0.clone()]).as_deref(),
            Some("wlan0")
        );
        assert_eq!(
            found(&one, std::slice::from_ref(&ap0), &[ap0.clone(), wlan0.clone()]),
            Some(("wlan0".to_owned(), false)),
            "it is down, and may get the place"
        );
        let two = of(vec![limit(2, &[IfType::Station])], 2);
        assert_eq!(name(&two, &[wlan0.clone(), up("mine", 5, IfType::Station)]), None);
        assert_eq!(
            found(&two, &[], std::slice::from_ref(&wlan0)),
            None,
            "there is a place for both"
        );
        let shared = of(vec![limit(1, &[IfType::Station, IfType::AccessPoint])], 1);
        assert_eq!(name(&shared, &[ap0]), None, "an access point has it");
        assert_eq!(name(&shared, &[wlan0]).as_deref(), Some("wlan0"));
    }

    #[test]
    fn a_switch_turns_off_its_own_radio_only() {
        let switch = |name: &str, soft, hard| Switch {
            name: name.into(),
            soft,
            hard,
        };
        let said = |switches: &[Switch]| is_on("phy0", switches).map_err(|error| error.to_string());
        assert_eq!(said(&[]), Ok(()));
        assert_eq!(
            said(&[switch("phy1", true, true), switch("phy0", false, false)]),
            Ok(())
        );
        let blocked = "radio phy0 is blocked; run `rfkill unblock wifi`";
        assert_eq!(said(&[switch("phy0", true, false)]), Err(blocked.into()));
        let off = "a switch on the device turns radio phy0 off; turn it on there";
        assert_eq!(said(&[switch("phy0", true, true)]), Err(off.into()));
    }

    #[test]
    fn the_only_radio_needs_no_name_and_several_need_one() {
        let (one, two) = ([wiphy("phy0")], [wiphy("phy0"), wiphy("phy1")]);
        let said = |all: &[Wiphy], name| {
            let mac_of = |name: &str| (name == "phy1").then_some(MacAddr::local(1));
            let picked = pick(all, name, mac_of).map(|wiphy| wiphy.name.clone());
            picked.map_err(|error| error.to_string())
        };
        assert_eq!(said(&one, None), Ok("phy0".into()));
        assert_eq!(said(&two, Some("phy1")), Ok("phy1".into()));
        let its_address = MacAddr::local(1).to_string();
        assert_eq!(said(&two, Some(&its_address)), Ok("phy1".into()));
        let several = "there are several radios (phy0, phy1); \
                       set `radio` in [wifi] to one of them, or to its hardware address";
        assert_eq!(said(&two, None), Err(several.into()));
        let not_named = "there is no radio `phy9`; \
                         `grep . /sys/class/ieee80211/*/macaddress` lists names and hardware addresses";
        assert_eq!(said(&two, Some("phy9")), Err(not_named.into()));
        assert!(said(&[], None).is_err());
    }
}
