//! Holds out links that lead to a captive portal, or to a next hop and no further.
//!
//! The world checks a link by asking a known URL over it ([`crate::Action::Check`]). A link that is held out gets no new connection, no default route and no
//! join while another link can be used. What it carries already stays.
//!
//! | the check | follows |
//! |---|---|
//! | passes | nothing, or the link is taken back |
//! | gets another reply than the expected one | held out: a portal |
//! | gets no reply twice in a row, while it passes over another link | held out: the next hop may live, and nothing beyond it |
//!
//! # Sources
//! - RFC 8952 §2: a captive portal answers in place of the host that was asked for.
//! - NetworkManager.conf(5), `[connectivity]`: a URI, an expected response, and an interval of 300 s.
//!
//! # Where we differ, and why
//! 1. From NetworkManager: a link that is held out is checked every 30 s, since a user who has logged in waits for it.
//! 2. A link is never held out alone: with nothing else to use, all links count as open. A URL that has ceased to give the expected response must
//!    not take a host off the net.
//! 3. A metered link is checked once, when new connections go over it for the first time, and while it is held out.
//!
//! # Checked by
//! `tests::portal`; `daemon::tests::portal` on a real kernel.

use crate::io::{Action, Checked, LinkId, Verb};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// From one check to the next while it passes.
const WHILE_OPEN: Duration = Duration::from_secs(300);
/// The same while the link is held out, or may have to be.
const WHILE_HELD: Duration = Duration::from_secs(30);
/// After the first check without a reply.
const AGAIN: Duration = Duration::from_secs(5);
/// No result by then is none.
const OVERDUE: Duration = Duration::from_secs(30);
/// A check of another link that passed this long ago still tells that the URL works.
const FRESH: Duration = Duration::from_secs(330);
/// Checks without a reply that hold a link out.
const LEAST_FAILURES: u32 = 2;

/// Why a link is held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// A captive portal answers.
    Portal,
    /// Nothing answers, while the check passes over this link.
    Nothing(LinkId),
}

impl Held {
    /// A sentence.
    pub(crate) fn why(self, paths: &BTreeMap<LinkId, Path>) -> String {
        let every = WHILE_HELD.as_secs();
        match self {
            Self::Portal => format!(
                "a captive portal answers in place of the Internet: log in over this link; it is checked every {every} s"
            ),
            Self::Nothing(other) => {
                let name = paths
                    .get(&other)
                    .map_or("another link", |path| path.spec.name.as_str());
                format!(
                    "the check for the Internet gets no reply over it, and passes over {name}; it is checked every {every} s"
                )
            }
        }
    }
}

/// What checks have found.
#[derive(Debug, Default)]
pub(crate) struct Portals {
    doors: BTreeMap<LinkId, Door>,
}

#[derive(Debug, Default)]
struct Door {
    /// When the check was asked for whose result has not come.
    asked: Option<Instant>,
    next: Option<Instant>,
    /// The latest result.
    last: Option<(Checked, Instant)>,
    failures: u32,
}

impl Door {
    fn has_passed_lately(&self, now: Instant) -> bool {
        matches!(self.last, Some((Checked::Passed, at)) if now - at < FRESH)
    }
}

impl Portals {
    /// The world can check this link, and now is a good time.
    pub(crate) fn checkable(&mut self, link: LinkId) {
        self.doors.entry(link).or_default();
        self.hurry(link);
    }

    /// It leads to another network, or is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.doors.remove(&link);
    }

    /// Something speaks against the link: it is checked at once.
    pub(crate) fn hurry(&mut self, link: LinkId) {
        if let Some(door) = self.doors.get_mut(&link) {
            door.next = None;
        }
    }

    /// A result.
    pub(crate) fn checked(&mut self, now: Instant, link: LinkId, checked: Checked) {
        let Some(door) = self.doors.get_mut(&link) else {
            return;
        };
        door.asked = None;
        door.last = Some((checked, now));
        door.failures = if checked == Checked::Failed {
            door.failures.saturating_add(1)
        } else {
            0
        };
        let pause = match checked {
            Checked::Passed => WHILE_OPEN,
            Checked::Failed if door.failures < LEAST_FAILURES => AGAIN,
            Checked::Portal | Checked::Failed => WHILE_HELD,
        };
        door.next = Some(now + pause);
    }

    /// What speaks against a link.
    fn held(&self, now: Instant, link: LinkId) -> Option<Held> {
        let door = self.doors.get(&link)?;
        match door.last? {
            (Checked::Passed, _) => None,
            (Checked::Portal, _) => Some(Held::Portal),
            (Checked::Failed, _) if door.failures < LEAST_FAILURES => None,
            (Checked::Failed, _) => {
                let mut others = self.doors.iter().filter(|(other, _)| **other != link);
                let passed = others.find(|(_, door)| door.has_passed_lately(now));
                passed.map(|(&other, _)| Held::Nothing(other))
            }
        }
    }

    fn is_due(&self, now: Instant, link: LinkId, path: &Path, has_route: bool) -> bool {
        let Some(door) = self.doors.get(&link) else {
            return false;
        };
        let is_waiting = door.asked.is_some_and(|at| now - at < OVERDUE);
        let is_time = door.next.is_none_or(|at| now >= at);
        let is_open = matches!(door.last, Some((Checked::Passed, _)));
        let may_cost = !path.cost.is_metered() || (has_route || door.last.is_some()) && !is_open;
        !is_waiting && is_time && may_cost
    }
}

/// Asks for the checks that are due, and holds out or takes back what follows.
pub(crate) fn look(now: Instant, state: &mut State) {
    let usable = |path: &Path| path.is_usable() && path.is_allowed();
    let due: Vec<LinkId> = state
        .paths
        .iter()
        .filter(|(link, path)| {
            usable(path)
                && state
                    .portals
                    .is_due(now, **link, path, state.route() == Some(**link))
        })
        .map(|(&link, _)| link)
        .collect();
    for link in due {
        if let Some(door) = state.portals.doors.get_mut(&link) {
            door.asked = Some(now);
        }
        state.push(Action::Check(link));
    }
    let held: Vec<(LinkId, Option<Held>)> = state
        .paths
        .iter()
        .map(|(&link, path)| (link, state.portals.held(now, link).filter(|_| usable(path))))
        .collect();
    let is_other_way = held
        .iter()
        .any(|(link, held)| held.is_none() && state.paths[link].is_sound());
    for (link, held) in held {
        hold(state, link, held.filter(|_| is_other_way));
    }
}

fn hold(state: &mut State, link: LinkId, held: Option<Held>) {
    let Some(path) = state.paths.get_mut(&link) else {
        return;
    };
    let before = core::mem::replace(&mut path.held, held);
    match (before, held) {
        (None, Some(held)) => {
            let why = held.why(&state.paths);
            state.note(Some(link), None, Verb::Refuse, why);
        }
        (Some(_), None) => {
            let passes = matches!(
                state.portals.doors.get(&link).and_then(|door| door.last),
                Some((Checked::Passed, _))
            );
            let why = if passes {
                "the check for the Internet passes over it again"
            } else {
                "the check for the Internet does not pass over it, but nothing else can be used"
            };
            state.note(Some(link), None, Verb::Retry, String::from(why));
        }
        _ => {}
    }
}
