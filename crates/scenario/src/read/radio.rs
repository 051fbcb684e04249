//! `radio` and `slots` of `[walkers.client]`: one radio for all access points.

use super::walk::Around;
use super::{names, nanos};
use crate::plan::{Division, Link, LinkKind, Medium, SingleRadio, Standard};
use crate::quantity::Quantity;
use crate::section::Section;
use units::Duration;

const RADIOS: [(&str, bool); 2] = [("per-channel", false), ("single", true)];

/// What nsdi15 §7 measured for a change of channel.
const SWITCH: Duration = Duration::from_millis(5);
/// What juggler's table 1 has for a change of network on one channel.
const SAME_CHANNEL: Duration = Duration::from_micros(381);
/// The cycle and the shortest slot of nsdi15 §7. A longer cycle makes senders time out.
const CYCLE: Duration = Duration::from_millis(200);
const LEAST: Duration = Duration::from_millis(10);
/// The exponent of nsdi15 §7, and the largest that is useful.
const ALPHA: u32 = 2;
const LARGEST_ALPHA: i64 = 4;
/// The slice of juggler §3.4.
const SLICE: Duration = Duration::from_millis(100);
const MOST_SLICES: i64 = 1_000;

/// Reads how a walker's radio serves access points. `None`: it has a radio on each channel.
pub(super) fn read(section: &Section<'_>, name: &str, around: Around<'_>) -> Option<SingleRadio> {
    let is_single = section.choice("radio", &RADIOS).unwrap_or(false);
    let slots = section.child("slots", format!("the slots of walker \"{name}\""));
    if !is_single {
        if slots.is_some() {
            section.note(
                "slots",
                "`slots` has no effect on a walker with a radio on each channel",
                "add `radio = \"single\"`, or remove it",
            );
        }
        return None;
    }
    refuse(section, name, around);
    let usual = SingleRadio {
        division: Division::Adaptive {
            cycle: CYCLE,
            alpha: ALPHA,
            least: LEAST,
        },
        switch: SWITCH,
        same_channel: SAME_CHANNEL,
        scan: Duration::ZERO,
    };
    let radio = slots.map(|slots| {
        let radio = divided(&slots, around);
        slots.finish();
        refuse_scan(&slots, &radio, around.links);
        radio
    });
    Some(radio.unwrap_or(usual))
}

/// Notes what a single radio cannot be combined with.
fn refuse(section: &Section<'_>, name: &str, around: Around<'_>) {
    let note = |what: &str, instead: &str| section.note("radio", what, instead);
    if name != "client" {
        note(
            "only the client can have a single radio",
            "move it to [walkers.client], or remove it",
        );
    }
    if around.medium == Medium::Wfq {
        note(
            "a single radio needs frames, which `medium = \"wfq\"` does not have",
            "remove it, or `medium = \"wfq\"`",
        );
    }
    let mut all = around.links.iter().filter_map(|link| match &link.kind {
        LinkKind::Wifi(ap) => Some(ap),
        LinkKind::Cell(_) | LinkKind::Cable(_) => None,
    });
    let Some(first) = all.next() else {
        return note("there are no access points for this radio", "add [aps.NAME]");
    };
    if all.any(|ap| (ap.standard, ap.ht) != (first.standard, first.ht)) {
        note(
            "a single radio needs access points of one standard",
            "give all of them the same `standard` and `ht`, or remove it",
        );
    }
    if section.flag("power_save") == Some(true) {
        section.note(
            "power_save",
            "a single radio saves no power: it leaves a channel only for another one",
            "remove it, or `radio = \"single\"`",
        );
    }
}

/// Notes a scanning slot at 5 GHz, where the channels that it visits do not exist.
fn refuse_scan(slots: &Section<'_>, radio: &SingleRadio, links: &[Link]) {
    let is_a = |link: &Link| matches!(&link.kind, LinkKind::Wifi(ap) if ap.standard == Standard::A);
    if !radio.scan.is_zero() && links.iter().any(is_a) {
        slots.note(
            "scan_ms",
            "the scanning slot visits channels 1, 6 and 11, which 802.11a does not have",
            "remove it, or give access points another `standard`",
        );
    }
}

/// Reads how its time is divided.
fn divided(slots: &Section<'_>, around: Around<'_>) -> SingleRadio {
    let time = |key, usual| slots.amount(key, &Quantity::MS).map_or(usual, nanos);
    let switch = time("switch_ms", SWITCH);
    let is_by_weight = ["slice_ms", "slices", "weights"].iter().any(|key| slots.has(key));
    let division = if is_by_weight {
        by_weight(slots, around, switch)
    } else {
        adaptive(slots)
    };
    SingleRadio {
        division,
        switch,
        same_channel: time("same_channel_ms", SAME_CHANNEL),
        scan: time("scan_ms", Duration::ZERO),
    }
}

fn adaptive(slots: &Section<'_>) -> Division {
    let time = |key, usual| slots.amount(key, &Quantity::SOME_MS).map_or(usual, nanos);
    let cycle = time("cycle_ms", CYCLE);
    if cycle > CYCLE {
        slots.note(
            "cycle_ms",
            "senders time out in such a cycle",
            "give at most 200 ms, or divide by `weights`",
        );
    }
    let least = time("least_ms", LEAST);
    if least > cycle {
        slots.note(
            "least_ms",
            "the shortest slot is longer than the cycle",
            "make it shorter than `cycle_ms`",
        );
    }
    Division::Adaptive {
        cycle,
        alpha: slots
            .count("alpha", 0..=LARGEST_ALPHA)
            .map_or(ALPHA, |alpha| alpha as u32),
        least,
    }
}

fn by_weight(slots: &Section<'_>, around: Around<'_>, switch: Duration) -> Division {
    for key in ["cycle_ms", "alpha", "least_ms"] {
        if slots.has(key) {
            slots.note(
                key,
                format!("`{key}` contradicts slots by weight"),
                "remove it, or `slice_ms` and `weights`",
            );
        }
    }
    let aps = around
        .links
        .iter()
        .filter(|link| matches!(link.kind, LinkKind::Wifi(_)));
    let aps = aps.map(|link| link.name.as_str());
    let mut weights = Vec::new();
    for (name, at, weight) in slots.counts("weights", 1..=MOST_SLICES) {
        let known = names::resolve(slots, at, "access point", name, aps.clone());
        let link = known.and_then(|_| around.links.iter().position(|link| link.name == name));
        weights.extend(link.zip(weight.map(|weight| weight as u32)));
    }
    Division::Weighted {
        slice: slice(slots, switch),
        weights,
        slices: slices(slots, switch, around.run),
    }
}

fn slice(section: &Section<'_>, switch: Duration) -> Duration {
    let slice = section
        .amount("slice_ms", &Quantity::SOME_MS)
        .map_or(SLICE, nanos);
    if slice <= switch {
        section.note(
            "slice_ms",
            "a change of channel takes as long as a slice",
            "make slices longer than `switch_ms`",
        );
    }
    slice
}

/// Reads when slices change.
fn slices(slots: &Section<'_>, switch: Duration, run: Duration) -> Vec<(Duration, Duration)> {
    let tables = slots.tables("slices", "change of the slice");
    let changes: Vec<_> = tables
        .iter()
        .map(|section| change(section, switch, run))
        .collect();
    for (index, pair) in changes.windows(2).enumerate() {
        if pair[1].0 <= pair[0].0 {
            tables[index + 1].note(
                "at_s",
                "the slice changes no later than in the entry before",
                "list changes in the order of time",
            );
        }
    }
    changes
}

fn change(section: &Section<'_>, switch: Duration, run: Duration) -> (Duration, Duration) {
    for key in ["at_s", "slice_ms"] {
        if !section.has(key) {
            section.missing(
                key,
                "`at_s` and `slice_ms`: when slices change, and how long they are then",
            );
        }
    }
    let at = section.amount("at_s", &Quantity::S).map_or(Duration::ZERO, nanos);
    section.before_the_end("at_s", at, run);
    let change = (at, slice(section, switch));
    section.finish();
    change
}
