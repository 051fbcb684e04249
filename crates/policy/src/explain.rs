//! Explains why each link is used, idle or refused: a sentence for users, and a word for machines.
//!
//! Decisions are reported as [`crate::Note`]s, with a [`crate::Verb`] for machines. This module gives the
//! present state. The words are stable, and listed in ARCHITECTURE.md ("The words of decisions").
//!
//! # Sources
//! - None: no paper says how to explain a decision. The order of the checks is that of what would have to
//!   change first.
//!
//! # Where we differ, and why
//! 1. One word per link, although several may apply: a link that may not be used is `refused` even while it
//!    has no carrier.
//!
//! # Checked by
//! `tests/engine_explains.rs`: every word is used and documented; `tests/engine_air.rs`,
//! `tests/engine_cost.rs`: the numbers behind them.

use crate::choose::{low_traffic, slow_links};
use crate::estimate::bandwidth::Limit;
use crate::estimate::delivery::Estimate;
use crate::io::{ConnId, LinkId, Role, Uplink, Verb};
use crate::known::air::{LEAST_FRAMES, View};
use crate::known::conn::Conn;
use crate::known::path::{Health, Path};
use crate::known::state::State;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use units::Instant;

/// The explanation of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The link.
    pub link: LinkId,
    /// Its name.
    pub name: String,
    /// A stable identifier: one of [`Explanation::STATES`], or the last decision's verb (`use`, `demote`, …).
    pub state: &'static str,
    /// The reason as a sentence.
    pub why: String,
}

impl Explanation {
    /// The states that do not come from a decision.
    pub const STATES: [&str; 9] = [
        "never",
        "refused",
        "down",
        "no-uplink",
        "no-address",
        "in-doubt",
        "held-out",
        "dead",
        "idle",
    ];
}

/// The explanation of one connection whose queues are limited, or that has a slow link: as a backup, on trial
/// in use, or lately better in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnExplanation {
    /// The connection.
    pub conn: ConnId,
    /// The reason for its window with its numbers, if the window is capped.
    pub window: Option<String>,
    /// The reason for the cap on unsent bytes with its numbers, if there is one.
    pub unsent: Option<String>,
    /// Its slow links.
    pub roles: Vec<RoleExplanation>,
}

/// The explanation of a slow link of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleExplanation {
    /// The link.
    pub link: LinkId,
    /// `demote` while it is a backup, `use` while it is tried in use or has paid off in use.
    pub verb: Verb,
    /// The reason as a sentence with its numbers.
    pub why: String,
}

pub(crate) fn connections(state: &State) -> Vec<ConnExplanation> {
    let told = state.conns.iter().map(|(&conn, known)| ConnExplanation {
        conn,
        window: known.why.clone(),
        unsent: known.unsent_why.clone(),
        roles: roles(state, known),
    });
    told.filter(|told| told.window.is_some() || told.unsent.is_some() || !told.roles.is_empty())
        .collect()
}

fn roles(state: &State, conn: &Conn) -> Vec<RoleExplanation> {
    let links = state.paths.keys();
    links
        .filter_map(|&link| {
            let (verb, why) = conn.slow.word(link)?;
            Some(RoleExplanation { link, verb, why })
        })
        .collect()
}

pub(crate) fn all(now: Instant, state: &State) -> Vec<Explanation> {
    state
        .paths
        .iter()
        .map(|(&link, path)| explain(now, state, link, path))
        .collect()
}

fn explain(now: Instant, state: &State, link: LinkId, path: &Path) -> Explanation {
    let (state, mut why) = condition(now, state, link, path);
    if let Some(air) = path.air.as_ref().and_then(|air| measured(&air.view)) {
        why = format!("{why}; {air}");
    }
    Explanation {
        link,
        name: path.spec.name.clone(),
        state,
        why,
    }
}

fn condition(now: Instant, state: &State, link: LinkId, path: &Path) -> (&'static str, String) {
    if path.spec.role == Role::Never {
        return ("never", "its role is never".to_string());
    }
    if let Some(refused) = path.cost.refused {
        return ("refused", refused.why());
    }
    if let Some(held) = path.held {
        return ("held-out", held.why(&state.paths));
    }
    if !path.carrier {
        return ("down", absent(path));
    }
    if path.usable_since.is_none() && path.uplinks == [Uplink::None; 2] {
        let why =
            "no default route leads over it: only its own networks are reached there, as without slowhand";
        return ("no-uplink", why.to_string());
    }
    if path.usable_since.is_none() {
        return ("no-address", "it has a carrier, but no address yet".to_string());
    }
    match path.health {
        Health::Doubted(doubt) => (
            "in-doubt",
            format!("it fell silent; {} probes are out", doubt.probes),
        ),
        Health::Dead { tries, .. } => ("dead", given_up(path, tries)),
        Health::Alive => state
            .liveness
            .word(now, link)
            .map(|why| ("in-doubt", why))
            .or_else(|| of_connections(state, link, path))
            .unwrap_or_else(|| decided(path)),
    }
}

/// The state if the connections over a link do not follow the decision about it.
fn of_connections(state: &State, link: LinkId, path: &Path) -> Option<(&'static str, String)> {
    path.decided().filter(|note| note.verb == Verb::Use)?;
    low_traffic::word(state, link).or_else(|| slow_links::word(state, link))
}

fn absent(path: &Path) -> String {
    match path.signal.mean().filter(|_| path.is_wifi()) {
        Some(signal) if path.asked.is_some() => {
            format!("association was asked for; its last beacons had {signal}")
        }
        Some(signal) => format!("not associated; its last beacons had {signal}"),
        None => "it has no carrier".to_string(),
    }
}

fn given_up(path: &Path, tries: u32) -> String {
    let cause = path
        .note
        .as_ref()
        .map_or("it was found dead", |note| note.why.as_str());
    format!("{cause}; asked {tries} times since whether it is back")
}

fn decided(path: &Path) -> (&'static str, String) {
    match path.decided() {
        Some(note) => (note.verb.id(), note.why.clone()),
        None => ("idle", "it is up; no connection needs it".to_string()),
    }
}

/// A caveat for an estimate from few samples.
const fn doubt(delivery: Estimate) -> &'static str {
    if delivery.confidence() < LEAST_FRAMES {
        " (too few to decide by)"
    } else {
        ""
    }
}

/// What its frames and its channel have shown.
fn measured(view: &View) -> Option<String> {
    let frames = match view.delivery {
        Estimate::Silent => None,
        Estimate::Known { delivered, frames } => Some(format!(
            "{delivered} of {frames} frames got through at their first attempt, at {}{}",
            view.rate,
            doubt(view.delivery)
        )),
        Estimate::Unattributable { missing, .. } => Some(format!(
            "{missing} frames are missing that may have been to other stations"
        )),
    };
    let packet = view
        .packet_time
        .map(|time| format!("a packet takes {} µs of air", time.as_micros()));
    let limit = view.limit.zip(view.taken).map(|(limit, taken)| {
        let held = match limit {
            Limit::Idle => "hardly anything is asked of it",
            Limit::Air => "its air is full",
            Limit::Backhaul => "what lies behind it is the limit, or the sender",
        };
        format!(
            "{held}: {taken} of the air is taken, {} would still fit",
            view.room
        )
    });
    let parts: Vec<String> = [frames, packet, limit].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
