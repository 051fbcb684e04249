//! Explains decisions and the state of each link: a sentence for users, and a word for machines.
//!
//! Decisions are reported as [`crate::Note`]s, with a [`crate::Verb`] and a [`Reason`] for machines.
//! `sentence` renders a reason. This file gives the present state. The words are stable, and listed in
//! docs/decisions.md.
//!
//! No other room of this crate builds sentences for users.
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
//! `tests`: the exact sentence of every reason and state. `tests/engine_explains.rs`: every word is used and
//! documented; `tests/engine_air.rs`, `tests/engine_cost.rs`: the numbers behind them.

mod sentence;
#[cfg(test)]
mod tests;

pub use sentence::Names;

use crate::choose::{low_traffic, slow_links};
use crate::estimate::bandwidth::Limit;
use crate::estimate::delivery::Estimate;
use crate::io::reason::Access;
use crate::io::{ConnId, LinkId, Reason, Role, Uplink, Verb};
use crate::known::air::View;
use crate::known::conn::Conn;
use crate::known::path::{Health, Path};
use crate::known::state::State;
use crate::known::tuning::LEAST_FRAMES;
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
    let sentence = |queue| Reason::Queue(queue).sentence(&state.paths);
    let explained = state.conns.iter().map(|(&conn, known)| ConnExplanation {
        conn,
        window: known.window_reason.map(sentence),
        unsent: known.unsent_reason.map(sentence),
        roles: roles(state, known),
    });
    explained
        .filter(|about| about.window.is_some() || about.unsent.is_some() || !about.roles.is_empty())
        .collect()
}

fn roles(state: &State, conn: &Conn) -> Vec<RoleExplanation> {
    let links = state.paths.keys();
    links
        .filter_map(|&link| {
            let (verb, because) = conn.slow.role(link)?;
            let why = Reason::from(because).sentence(&state.paths);
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
    let sentence = |reason: Reason| reason.sentence(&state.paths);
    if path.spec.role == Role::Never {
        return ("never", "its role is never".to_string());
    }
    if let Some(refused) = path.cost.refused {
        return ("refused", sentence(Reason::Access(Access::Refused(refused))));
    }
    if let Some(held) = path.held {
        return ("held-out", sentence(Reason::Access(Access::Held(held))));
    }
    if !path.carrier {
        return ("down", no_carrier(path));
    }
    if path.usable_since.is_none() && path.uplinks == [Uplink::None; 2] {
        let why = "the main routing table has no default route over it, so slowhand leaves it alone";
        return ("no-uplink", why.to_string());
    }
    if path.usable_since.is_none() {
        return ("no-address", "it has a carrier but no usable address".to_string());
    }
    match path.health {
        Health::Doubted(doubt) => (
            "in-doubt",
            format!("it is silent, and {} probes had no reply yet", doubt.probes),
        ),
        Health::Dead { tries, .. } => ("dead", dead(state, path, tries)),
        Health::Alive => state
            .liveness
            .suspicion(link)
            .map(|suspicion| ("in-doubt", sentence(suspicion.reason(now).into())))
            .or_else(|| of_connections(state, link, path))
            .unwrap_or_else(|| decided(state, path)),
    }
}

/// The state if the connections over a link do not follow the decision about it.
fn of_connections(state: &State, link: LinkId, path: &Path) -> Option<(&'static str, String)> {
    path.decided().filter(|note| note.verb == Verb::Use)?;
    let role = low_traffic::role(state, link).or_else(|| slow_links::role(state, link));
    let (verb, because) = role?;
    Some((verb.id(), Reason::from(because).sentence(&state.paths)))
}

fn no_carrier(path: &Path) -> String {
    match path.signal.mean().filter(|_| path.is_wifi()) {
        Some(signal) if path.asked.is_some() => {
            format!("association was requested; last beacons at {signal}")
        }
        Some(signal) => format!("not associated; last beacons at {signal}"),
        None => "it has no carrier".to_string(),
    }
}

fn dead(state: &State, path: &Path, tries: u32) -> String {
    let cause = path.note.as_ref().map_or_else(
        || "it was found dead".to_string(),
        |note| note.reason.sentence(&state.paths),
    );
    let plural = if tries == 1 { "" } else { "s" };
    format!("{cause}; {tries} probe{plural} since had no reply")
}

fn decided(state: &State, path: &Path) -> (&'static str, String) {
    match path.decided() {
        Some(note) => (note.verb.id(), note.reason.sentence(&state.paths)),
        None => ("idle", "it is up, and no connection needs it".to_string()),
    }
}

/// A caveat for an estimate from few samples.
const fn doubt(delivery: Estimate) -> &'static str {
    if delivery.confidence() < LEAST_FRAMES {
        " (too few to decide)"
    } else {
        ""
    }
}

/// The measurements of its frames and its channel.
fn measured(view: &View) -> Option<String> {
    let frames = match view.delivery {
        Estimate::Silent => None,
        Estimate::Known { delivered, frames } => Some(format!(
            "{delivered} of {frames} frames got through at the first attempt at {}{}",
            view.rate,
            doubt(view.delivery)
        )),
        Estimate::Unattributable { missing, .. } => Some(format!(
            "{missing} frames are missing, perhaps because they were for other stations"
        )),
    };
    let packet = view
        .packet_time
        .map(|time| format!("a packet takes {} µs of airtime", time.as_micros()));
    let limit = view.limit.zip(view.taken).map(|(limit, taken)| {
        let cause = match limit {
            Limit::Idle => "it has little traffic",
            Limit::Air => "its channel is full",
            Limit::Backhaul => "the limit is behind the access point, or the sender",
        };
        format!(
            "{cause}: {taken} of the airtime is taken, and {} more would fit",
            view.room
        )
    });
    let parts: Vec<String> = [frames, packet, limit].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
