//! `[aps.NAME]`.

use super::air::Hearing;
use super::link::Around;
use super::place::point;
use super::propagation::Spread;
use super::wire::{self, QUEUE};
use super::{dbm, group, nanos, rate};
use crate::convert::letter;
use crate::plan::{AccessPoint, Backhaul, Join, Medium, Point, Queue, QueueLimit, Standard, Turn};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Dbm, Duration};

/// 100 mW: what Europe allows at 2.4 GHz (ETSI EN 300 328), and a usual setting.
const USUAL_POWER: Dbm = Dbm::from_dbm(20);

/// The queue of an access point: 200 packets (nsdi15 §5.2).
const USUAL_QUEUE: QueueLimit = QueueLimit::Packets(200);

pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> AccessPoint {
    let standard = standard(section);
    let channel = channel(section, standard);
    let ad_hoc = ad_hoc(section, around.medium);
    AccessPoint {
        at: place(section, ad_hoc),
        carried_by: None,
        tx_power: section
            .amount("tx_power_dbm", &Quantity::DBM)
            .map_or(USUAL_POWER, dbm),
        standard,
        channel,
        rate: rate::read(section, standard),
        ht: rate::ht(section, standard, channel),
        thresholds: Hearing::own(section, around.hearing, around.medium),
        turn: turn(section, around.medium),
        queue: Queue {
            limit: wire::limit(section, &QUEUE).unwrap_or(USUAL_QUEUE),
            ..Queue::default()
        },
        fq_codel: section
            .choice("aqm", &[("tail-drop", false), ("fq-codel", true)])
            .unwrap_or(false),
        propagation: Spread::read(section).or(around.propagation).complete(standard),
        join: join(section),
        management: management(section, around.medium),
        ad_hoc,
        backhaul: backhaul(section, ad_hoc),
    }
}

/// Its place. Who carries it is known when all walkers are.
fn place(section: &Section<'_>, ad_hoc: bool) -> Point {
    if !section.has("carried_by") {
        return match group::places_members(section) {
            true => Point::default(),
            false => point(section, "at_m"),
        };
    }
    if section.has("at_m") {
        section.note("at_m", "`at_m` contradicts `carried_by`", "keep one of them");
    }
    if !ad_hoc {
        section.note(
            "carried_by",
            "only a peer of an ad hoc network can be carried",
            "add `mode = \"ad-hoc\"`, or give it one place, `at_m = [x, y]`",
        );
    }
    Point::default()
}

fn standard(section: &Section<'_>) -> Standard {
    const KNOWN: [(&str, Standard); 3] = [("a", Standard::A), ("b", Standard::B), ("g", Standard::G)];
    if section.text("standard") == Some("n") {
        section.note(
            "standard",
            "802.11n is configured as an extension of 802.11a or g",
            "use \"a\" (5 GHz) or \"g\" (2.4 GHz), and `ht = { streams = 2 }`",
        );
        return Standard::G;
    }
    if let Some(later @ ("ac" | "ax" | "be")) = section.text("standard") {
        section.note(
            "standard",
            format!("802.11{later} is not modelled yet"),
            "use \"a\" (5 GHz), \"b\" or \"g\" (2.4 GHz)",
        );
        return Standard::G;
    }
    section.choice("standard", &KNOWN).unwrap_or(Standard::G)
}

/// The channels of a standard's band (IEEE 802.11-2020 annex E; 14 is 802.11b's in Japan).
fn channels(standard: Standard) -> (Vec<i64>, &'static str) {
    match standard {
        Standard::B => ((1..=14).collect(), "1 to 14"),
        Standard::G => ((1..=13).collect(), "1 to 13"),
        Standard::A => (
            (36..=64)
                .step_by(4)
                .chain((100..=144).step_by(4))
                .chain((149..=165).step_by(4))
                .collect(),
            "36 to 64, 100 to 144 or 149 to 165, in steps of 4",
        ),
    }
}

fn channel(section: &Section<'_>, standard: Standard) -> u8 {
    let (allowed, spelled) = channels(standard);
    if !section.has("channel") {
        section.missing(
            "channel",
            &format!("`channel`: {spelled} for 802.11{}", letter(standard)),
        );
    }
    let channel = section.count("channel", 1..=165).unwrap_or(allowed[0]);
    if !allowed.contains(&channel) {
        section.note(
            "channel",
            format!(
                "channel {channel} is not in the band of 802.11{}",
                letter(standard)
            ),
            format!("use {spelled}"),
        );
    }
    channel as u8
}

/// Whether it sends management frames.
fn management(section: &Section<'_>, medium: Medium) -> bool {
    let sends = section.flag("management");
    if sends.is_some() && medium == Medium::Wfq {
        section.note(
            "management",
            "`management` has no effect with `medium = \"wfq\"`, which has no frames",
            "remove it, or `medium = \"wfq\"`",
        );
    }
    sends.unwrap_or(true)
}

/// Whether it is a peer of an ad hoc network.
fn ad_hoc(section: &Section<'_>, medium: Medium) -> bool {
    let known = [("infrastructure", false), ("ad-hoc", true)];
    let ad_hoc = section.choice("mode", &known).unwrap_or(false);
    if ad_hoc && medium == Medium::Wfq {
        section.note(
            "mode",
            "`mode` has no effect with `medium = \"wfq\"`, which has no frames",
            "remove it, or `medium = \"wfq\"`",
        );
    }
    ad_hoc
}

/// What it is to the coarse medium.
fn turn(section: &Section<'_>, medium: Medium) -> Option<Turn> {
    let table = section.child("wfq", format!("`wfq` of {}", section.what));
    let Some(table) = table else {
        if medium == Medium::Wfq {
            section.missing(
                "wfq",
                "`wfq = { packet_ms = 1, weight = 1 }`: the airtime of a packet, and the share of the medium",
            );
        }
        return None;
    };
    if medium != Medium::Wfq {
        section.note(
            "wfq",
            "`wfq` has no effect without `medium = \"wfq\"`",
            "remove it, or set `medium = \"wfq\"` at the top of the file",
        );
    }
    if !table.has("packet_ms") {
        table.missing("packet_ms", "`packet_ms = 1`: the airtime of one packet");
    }
    let turn = Turn {
        packet: table
            .amount("packet_ms", &Quantity::PACKET_MS)
            .map_or(Duration::from_millis(1), nanos),
        weight: table.count("weight", 1..=1_000).unwrap_or(1) as u32,
    };
    table.finish();
    Some(turn)
}

fn join(section: &Section<'_>) -> Join {
    let usual = Join::default();
    let time = |key, usual| section.amount(key, &Quantity::MS).map_or(usual, nanos);
    Join {
        scan: time("scan_ms", usual.scan),
        associate: time("associate_ms", usual.associate),
        dhcp: time("dhcp_ms", usual.dhcp),
    }
}

/// The wire behind it. A peer may have none: it is the server itself.
fn backhaul(section: &Section<'_>, ad_hoc: bool) -> Backhaul {
    let Some(wire) = section.child("backhaul", format!("the backhaul of {}", section.what)) else {
        if !ad_hoc {
            section.missing(
                "backhaul",
                "`backhaul = { rate_mbps = 100, rtt_ms = 20 }`: the link from the access point to the server",
            );
        }
        return Backhaul::NONE;
    };
    let (up, down) = wire::rates(&wire);
    let backhaul = Backhaul {
        up,
        down,
        rtt: wire::rtt(&wire),
        queue: wire::queue(&wire, QueueLimit::Bdp),
    };
    wire.finish();
    backhaul
}
