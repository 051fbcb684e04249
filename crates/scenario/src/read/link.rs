//! All links, in the order of the file.

use super::air::Hearing;
use super::group::{self, Known, Places};
use super::propagation::Spread;
use super::{Files, cell, names, wifi, wire};
use crate::plan::{Bottleneck, Families, Link, LinkKind, Medium, Members, Scatter, ServerFamilies, Subnet};
use crate::section::Section;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use trace::Role;
use units::wifi::ht::{Band, Width};

/// What the rest of the file says that links need.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub bottlenecks: &'a [Bottleneck],
    pub propagation: Spread,
    pub medium: Medium,
    pub hearing: Hearing,
    pub server: ServerFamilies,
    pub files: Files<'a>,
}

/// Reads what is special about one kind of link.
pub(super) type ReadKind = fn(&Section<'_>, &Around<'_>) -> LinkKind;

/// The tables of each kind, what messages call one of them, and who reads it.
pub(super) const KINDS: [(&str, &str, ReadKind); 3] = [
    ("aps", "access point", |section, around| {
        LinkKind::Wifi(wifi::read(section, around))
    }),
    ("cells", "cell", |section, around| {
        LinkKind::Cell(cell::read(section, around))
    }),
    ("cables", "cable", |section, around| {
        LinkKind::Cable(wire::cable(section, around))
    }),
];

/// The links of a file, and its groups of access points.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub links: Vec<Link>,
    pub groups: Vec<Known>,
    pub scatters: Vec<Scatter>,
    /// Index of the first link of each name.
    pub by_name: BTreeMap<String, usize>,
}

pub(super) fn all(root: &Section<'_>, around: &Around<'_>) -> Links {
    let mut found: Vec<(&str, Section<'_>, ReadKind)> = Vec::new();
    for (key, kind, read) in KINDS {
        found.extend(
            root.named(key, kind)
                .into_iter()
                .map(|(name, section)| (name, section, read)),
        );
    }
    found.sort_by_key(|(_, section, _)| section.at);
    if found.is_empty() {
        root.log.note(
            root.at,
            "the client has no link",
            "add at least one [aps.NAME], [cells.NAME] or [cables.NAME]",
        );
    }
    let mut all = Links::default();
    let first_of: Vec<usize> = found
        .iter()
        .map(|(name, section, read)| all.add(name, section, *read, around))
        .collect();
    refuse_same_names(&found, &all);
    for (place, link) in all.links.iter().enumerate() {
        all.by_name.entry(link.name.clone()).or_insert(place);
    }
    let mut wide: BTreeMap<u8, &Link> = BTreeMap::new();
    for link in &all.links {
        if let Some(channel) = upper_half(link) {
            wide.entry(channel).or_insert(link);
        }
    }
    for ((_, section, _), first) in found.iter().zip(first_of) {
        refuse_overlap(section, &all.links[first], &wide);
    }
    all
}

impl Links {
    /// Adds a link, or a group of them. Returns the index of the first.
    fn add(&mut self, name: &str, section: &Section<'_>, read: ReadKind, around: &Around<'_>) -> usize {
        let link = Link {
            name: names::checked(section, section.at, "link", name).to_owned(),
            role: section.choice("role", &roles()).unwrap_or(Role::Primary),
            subnet: subnet(section),
            families: families(section, around.server),
            kind: read(section, around),
        };
        let group = match link.kind {
            LinkKind::Wifi(_) => group::read(section, name, &["at_m", "carried_by"]),
            LinkKind::Cell(_) | LinkKind::Cable(_) => None,
        };
        section.finish();
        let first = self.links.len();
        let Some(group) = group else {
            self.links.push(link);
            return first;
        };
        for (member, name) in group.names(name).enumerate() {
            let mut link = Link { name, ..link.clone() };
            if let (LinkKind::Wifi(ap), Some(place)) = (&mut link.kind, group.place(member)) {
                ap.at = place;
            }
            self.links.push(link);
        }
        let members = first..self.links.len();
        if let Places::Scatter { from, to } = group.places {
            self.scatters.push(Scatter {
                name: format!("aps.{name}"),
                members: Members::AccessPoints(members.clone()),
                from,
                to,
            });
        }
        self.groups.push(Known {
            name: name.to_owned(),
            members,
        });
        first
    }
}

/// Notes names that two links have, whatever their kinds.
fn refuse_same_names(found: &[(&str, Section<'_>, ReadKind)], all: &Links) {
    let groups: BTreeSet<&str> = all.groups.iter().map(|group| group.name.as_str()).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let is_member = |name: &str| {
        let base = name.rsplit_once('-').map(|(base, _)| base);
        let links = || all.links.iter().filter(|link| link.name == name);
        base.is_some_and(|base| groups.contains(base)) && links().count() > 1
    };
    for (name, section, _) in found {
        if !seen.insert(name) || is_member(name) {
            let what = format!("there are two links named \"{name}\"");
            let instead = "give each link a different name, whatever its kind";
            section.log.note(section.at, what, instead);
        }
    }
}

/// Notes it if an access point is where the upper half of another's 40 MHz is. `wide` has the others by the
/// channel of their upper half.
fn refuse_overlap(section: &Section<'_>, link: &Link, wide: &BTreeMap<u8, &Link>) {
    let LinkKind::Wifi(ap) = &link.kind else {
        return;
    };
    if let Some(wide) = wide.get(&ap.channel) {
        let (name, channel) = (&wide.name, ap.channel);
        section.note(
            "channel",
            format!("channel {channel} is the upper half of the 40 MHz channel of \"{name}\""),
            format!("move one of them, or give \"{name}\" `width_mhz = 20`"),
        );
    }
}

fn upper_half(link: &Link) -> Option<u8> {
    match &link.kind {
        LinkKind::Wifi(ap) if ap.ht?.width == Width::Mhz40 => Band::of(ap.standard).upper_half(ap.channel),
        LinkKind::Wifi(_) | LinkKind::Cell(_) | LinkKind::Cable(_) => None,
    }
}

fn roles() -> Vec<(&'static str, Role)> {
    Role::ALL.iter().map(|role| (role.as_str(), *role)).collect()
}

const FAMILIES: [(&str, Families); 3] = [
    ("ipv4", Families::V4),
    ("ipv6", Families::V6),
    ("both", Families::Both),
];

/// Notes it if a link cannot reach the server.
fn families(section: &Section<'_>, server: ServerFamilies) -> Families {
    let families = section.choice("families", &FAMILIES).unwrap_or_default();
    if server.over(families).is_none() {
        section.log.note(
            section.at,
            "the link and the server have no version of IP in common",
            "give the link `families`, or the scenario `server_families`, that fit",
        );
    }
    families
}

fn subnet(section: &Section<'_>) -> Option<Subnet> {
    let text = section.text("subnet")?;
    let subnet = parse_subnet(text);
    if subnet.is_none() {
        section.note(
            "subnet",
            format!(
                "\"{}\" is not a network address",
                text.chars().take(40).collect::<String>()
            ),
            "give an IPv4 network and its prefix length, 8 to 30, such as \"192.168.1.0/24\"",
        );
    }
    subnet
}

fn parse_subnet(text: &str) -> Option<Subnet> {
    let (network, prefix) = text.split_once('/')?;
    let network: Ipv4Addr = network.parse().ok()?;
    let prefix: u8 = prefix.parse().ok().filter(|prefix| (8..=30).contains(prefix))?;
    let host_bits = network.to_bits() & (u32::MAX >> prefix);
    (host_bits == 0).then_some(Subnet { network, prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_no_host_bits() {
        assert_eq!(
            parse_subnet("192.168.1.0/24").unwrap().to_string(),
            "192.168.1.0/24"
        );
        for bad in [
            "192.168.1.1/24",
            "192.168.1.0",
            "10.0.0.0/31",
            "10.0.0.0/7",
            "x/8",
            "::/64",
        ] {
            assert_eq!(parse_subnet(bad), None, "{bad}");
        }
    }
}
