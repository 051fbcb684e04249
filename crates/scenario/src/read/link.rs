//! All links, in the order of the file.

use super::air::Hearing;
use super::propagation::Spread;
use super::{Files, cell, names, wifi, wire};
use crate::plan::{Bottleneck, Families, Link, LinkKind, Medium, ServerFamilies, Subnet};
use crate::section::Section;
use std::collections::BTreeSet;
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

pub(super) fn all(root: &Section<'_>, around: &Around<'_>) -> Vec<Link> {
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
    let mut seen = BTreeSet::new();
    let links: Vec<Link> = found
        .iter()
        .map(|(name, section, read)| one(name, section, *read, around, &mut seen))
        .collect();
    let sections = found.iter().map(|(_, section, _)| section);
    std::iter::zip(sections, &links).for_each(|(section, link)| refuse_overlap(section, link, &links));
    links
}

/// Notes it if an access point is where the upper half of another's 40 MHz is.
fn refuse_overlap(section: &Section<'_>, link: &Link, links: &[Link]) {
    let LinkKind::Wifi(ap) = &link.kind else {
        return;
    };
    if let Some(wide) = links.iter().find(|other| upper_half(other) == Some(ap.channel)) {
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

fn one<'n>(
    name: &'n str,
    section: &Section<'_>,
    read: ReadKind,
    around: &Around<'_>,
    seen: &mut BTreeSet<&'n str>,
) -> Link {
    if !seen.insert(name) {
        let what = format!("there are two links named \"{name}\"");
        section.log.note(
            section.at,
            what,
            "give each link a different name, whatever its kind",
        );
    }
    let link = Link {
        name: names::checked(section, section.at, "link", name).to_owned(),
        role: section.choice("role", &roles()).unwrap_or(Role::Primary),
        subnet: subnet(section),
        families: families(section, around.server),
        kind: read(section, around),
    };
    section.finish();
    link
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
