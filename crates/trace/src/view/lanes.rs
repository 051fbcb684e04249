//! How each link was used, as stretches of time.

use super::{LaneLevel, LaneSpan};
use crate::{Event, LinkState, SubflowEvent, What};
use std::collections::BTreeMap;

/// One link at one moment: whether it is up, and who has subflows over it, by connection.
#[derive(Default)]
struct Lane {
    up: bool,
    subflows: BTreeMap<u32, Living>,
    since_ms: u64,
}

/// A connection's subflows over one link: a second one may replace the first.
struct Living {
    count: u32,
    /// Whether the latest subflow is a backup.
    backup: bool,
}

impl Lane {
    fn level(&self) -> Option<LaneLevel> {
        let active = self.subflows.values().any(|living| !living.backup);
        match (active, self.subflows.is_empty(), self.up) {
            (true, ..) => Some(LaneLevel::Active),
            (false, false, _) => Some(LaneLevel::Backup),
            (false, true, true) => Some(LaneLevel::Up),
            (false, true, false) => None,
        }
    }

    fn change(&mut self, what: &What) {
        match what {
            What::LinkState { state, .. } => self.up = *state == LinkState::Up,
            What::Subflow {
                conn,
                event: SubflowEvent::Closed,
                ..
            } => {
                self.subflows.entry(*conn).and_modify(|living| living.count -= 1);
                self.subflows.retain(|_, living| living.count > 0);
            }
            What::Subflow {
                conn,
                event: SubflowEvent::Established,
                backup,
                ..
            } => {
                let before = self.subflows.get(conn).map_or(0, |living| living.count);
                let (count, backup) = (before + 1, *backup);
                self.subflows.insert(*conn, Living { count, backup });
            }
            What::Subflow {
                conn,
                event: SubflowEvent::Priority,
                backup,
                ..
            } => {
                let living = self.subflows.entry(*conn);
                living.and_modify(|living| living.backup = *backup);
            }
            _ => {}
        }
    }
}

/// Stretches of constant use, by link and then by time.
pub(super) fn spans(events: &[Event], end_ms: u64, index: &dyn Fn(&str) -> Option<usize>) -> Vec<LaneSpan> {
    let mut lanes = BTreeMap::<usize, Lane>::new();
    let mut out = Vec::new();
    for event in events {
        let link = match &event.what {
            What::LinkState { link, .. } | What::Subflow { link, .. } => index(link),
            _ => None,
        };
        let Some(link) = link else { continue };
        let lane = lanes.entry(link).or_default();
        let before = lane.level();
        lane.change(&event.what);
        if lane.level() != before {
            let now_ms = event.at().as_millis().min(end_ms);
            out.extend(closed(link, lane, before, now_ms));
            lane.since_ms = now_ms;
        }
    }
    out.extend(
        lanes
            .iter()
            .filter_map(|(link, lane)| closed(*link, lane, lane.level(), end_ms)),
    );
    out.sort_by_key(|span| (span.link, span.from_ms));
    out
}

fn closed(link: usize, lane: &Lane, level: Option<LaneLevel>, to_ms: u64) -> Option<LaneSpan> {
    let span = LaneSpan {
        link,
        from_ms: lane.since_ms,
        to_ms,
        level: level?,
    };
    (span.to_ms > span.from_ms).then_some(span)
}
