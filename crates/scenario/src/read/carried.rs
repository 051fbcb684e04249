//! `carried_by`: a walker takes the peer of an ad hoc network along.

use super::link::Links;
use super::names;
use crate::plan::{LinkKind, Walker};
use crate::section::Section;

/// Finds the walkers that carry access points.
pub(super) fn resolve(root: &Section<'_>, links: &mut Links, walkers: &[Walker]) {
    for (name, section) in root.named("aps", "access point") {
        let Some(carrier) = section.text("carried_by") else {
            continue;
        };
        let at = section.place_of("carried_by");
        let names = walkers.iter().map(|walker| walker.name.as_str());
        let Some(by) = names::resolve(&section, at, "walker", carrier, names) else {
            continue;
        };
        if by == 0 {
            section.note(
                "carried_by",
                "the client cannot carry a peer of its own",
                "give the name of another walker",
            );
            continue;
        }
        let group = links.groups.iter().find(|group| group.name == name);
        let only = || links.by_name.get(name).map_or(0..0, |&link| link..link + 1);
        let members = group.map_or_else(only, |group| group.members.clone());
        for link in &mut links.links[members] {
            if let LinkKind::Wifi(ap) = &mut link.kind {
                ap.carried_by = Some(by);
            }
        }
    }
}
