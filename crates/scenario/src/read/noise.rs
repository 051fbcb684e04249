//! `[noises.NAME]`: what is on the air and no WiFi.

use super::place::point;
use super::{dbm, names, nanos};
use crate::plan::{Link, LinkKind, Noise};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Dbm, Duration};

/// A microwave oven within one channel (Taher et al. 2008), on for half of each period of the mains at 50 Hz
/// (ITU-R SM.2210).
const OVEN_POWER: Dbm = Dbm::from_dbm(20);
const OVEN_HALF: Duration = Duration::from_millis(10);

pub(super) fn all(root: &Section<'_>, links: &[Link]) -> Vec<Noise> {
    let named = root.named("noises", "noise");
    named
        .iter()
        .map(|(name, section)| one(name, section, links))
        .collect()
}

fn one(name: &str, section: &Section<'_>, links: &[Link]) -> Noise {
    if links.iter().any(|link| link.name == name) {
        let what = format!("a link already has the name \"{name}\"");
        section.log.note(section.at, what, "give the noise another name");
    }
    if !section.has("channel") {
        section.missing("channel", "`channel = 6`: the channel that it interferes with");
    }
    let time = |key| section.amount(key, &Quantity::SOME_MS).map_or(OVEN_HALF, nanos);
    let noise = Noise {
        name: names::checked(section, section.at, "noise", name).to_owned(),
        at: point(section, "at_m"),
        channel: section.count("channel", 1..=165).unwrap_or(1) as u8,
        power: section
            .amount("tx_power_dbm", &Quantity::DBM)
            .map_or(OVEN_POWER, dbm),
        on: time("on_ms"),
        off: time("off_ms"),
        random: section.flag("random").unwrap_or(false),
    };
    let disturbs = |link: &Link| matches!(&link.kind, LinkKind::Wifi(ap) if ap.channel == noise.channel);
    if section.has("channel") && !links.iter().any(disturbs) {
        let what = format!("no access point is on channel {}", noise.channel);
        section.note("channel", what, "give the channel of an access point");
    }
    section.finish();
    noise
}
