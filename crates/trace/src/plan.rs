//! The scenario as flat records: enough to draw it, nothing that runs it.
//!
//! Metres east (`x_m`) and north (`y_m`) on the plan; seconds since the start of the run.

use crate::Role;
use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What a link is made of.
    LinkKind is "kind of link" {
        /// An access point.
        Wifi = "wifi",
        /// A cellular modem.
        Cell = "cell",
        /// A cable, or anything that behaves like one.
        Cable = "cable",
    }
}

/// A scenario, drawn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// What it shows, in a sentence.
    pub sentence: String,
    /// How long it lasts, in seconds.
    pub duration_s: f64,
    /// Every link, in the scenario's order; pictures colour them by it.
    pub links: Vec<PlanLink>,
    /// Walls, each `[x1, y1, x2, y2]` in metres.
    #[serde(default)]
    pub walls: Vec<[f64; 4]>,
    /// Who walks where; the first one is the client.
    #[serde(default)]
    pub walkers: Vec<Walker>,
    /// What breaks when.
    #[serde(default)]
    pub faults: Vec<PlanFault>,
}

/// A link of the plan. What its kind lacks is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanLink {
    /// The link's name, as in `tcp:<name>`.
    pub name: String,
    /// What it is made of.
    pub kind: LinkKind,
    /// Position of an access point, metres east.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_m: Option<f64>,
    /// Position of an access point, metres north.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_m: Option<f64>,
    /// 802.11 channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// 802.11 standard (`a`, `b`, `g` …) or the cellular generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<String>,
    /// Rate towards the client in Mb/s: of the backhaul for WiFi, the mean for a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// Round-trip time without a queue, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<f64>,
    /// The role the scenario gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

impl PlanLink {
    /// A link of which only name and kind are known.
    pub fn new(name: impl Into<String>, kind: LinkKind) -> Self {
        Self {
            name: name.into(),
            kind,
            x_m: None,
            y_m: None,
            channel: None,
            standard: None,
            rate_mbps: None,
            delay_ms: None,
            role: None,
        }
    }
}

/// Somebody who walks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walker {
    /// Name of the walker.
    pub name: String,
    /// Where the walker is at which time. The path between two points is straight, and times never decrease.
    pub points: Vec<Waypoint>,
}

/// A point of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Waypoint {
    /// Seconds since the start.
    pub t_s: f64,
    /// Metres east.
    pub x_m: f64,
    /// Metres north.
    pub y_m: f64,
}

/// A fault that will happen, and may end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFault {
    /// Seconds since the start.
    pub t_s: f64,
    /// The link it affects.
    pub link: String,
    /// What happens, in a few words ("drops everything", "is back").
    pub what: String,
}
