//! Results of checks for captive portals, and which links are held out because of them.
//!
//! [`crate::alive::portal`] requests checks and decides.

use crate::io::{Checked, LinkId};
use alloc::collections::BTreeMap;
use units::{Duration, Instant};

/// Interval between checks while they pass.
const WHILE_OPEN: Duration = Duration::from_secs(300);
/// Interval while the link is held out, or may have to be.
pub(crate) const WHILE_HELD: Duration = Duration::from_secs(30);
/// Time to the next check after the first one without a reply.
const AGAIN: Duration = Duration::from_secs(5);
/// Checks without a reply after which a link is held out.
pub(crate) const LEAST_FAILURES: u32 = 2;

/// Results of the checks of all links.
#[derive(Debug, Default)]
pub(crate) struct Portals {
    pub(crate) doors: BTreeMap<LinkId, Door>,
}

/// Results of the checks of one link.
#[derive(Debug, Default)]
pub(crate) struct Door {
    /// When the check was requested whose result has not arrived.
    pub(crate) asked: Option<Instant>,
    pub(crate) next: Option<Instant>,
    /// The latest result.
    pub(crate) last: Option<(Checked, Instant)>,
    pub(crate) failures: u32,
}

impl Portals {
    /// Records that the world can check this link, and that a check is useful now.
    pub(crate) fn checkable(&mut self, link: LinkId) {
        self.doors.entry(link).or_default();
        self.hurry(link);
    }

    /// Drops a link that leads to another network, or is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.doors.remove(&link);
    }

    /// Makes a check due at once, because there is evidence against the link.
    pub(crate) fn hurry(&mut self, link: LinkId) {
        if let Some(door) = self.doors.get_mut(&link) {
            door.next = None;
        }
    }

    /// Records a result.
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
}
