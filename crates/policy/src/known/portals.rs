//! Results of checks for captive portals, and which links are held out because of them.
//!
//! [`crate::alive::portal`] requests checks and decides.

use super::tuning::{LEAST_FAILURES, PORTAL_AGAIN, WHILE_HELD, WHILE_OPEN};
use crate::io::{Checked, LinkId};
use alloc::collections::BTreeMap;
use units::Instant;

/// Results of the checks of all links.
#[derive(Debug, Default)]
pub(crate) struct Portals {
    pub(crate) doors: BTreeMap<LinkId, Door>,
}

/// Results of the checks of one link.
#[derive(Debug, Default)]
pub(crate) struct Door {
    /// When its first check was requested.
    pub(crate) first_asked: Option<Instant>,
    /// When a check first passed.
    pub(crate) first_passed: Option<Instant>,
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

    /// The link has another address: results of checks are void. That one has passed still counts.
    pub(crate) fn begin_anew(&mut self, link: LinkId) {
        if let Some(door) = self.doors.get_mut(&link) {
            *door = Door {
                first_asked: door.first_asked,
                first_passed: door.first_passed,
                ..Door::default()
            };
        }
    }

    /// Drops a link that leads to another network, or is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.doors.remove(&link);
    }

    /// Whether the last check of a link has passed, or none shows anything.
    pub(crate) fn is_open(&self, link: LinkId) -> bool {
        let door = self.doors.get(&link);
        door.is_none_or(|door| matches!(door.last, Some((Checked::Passed | Checked::Unknown, _))))
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
        if checked == Checked::Passed {
            door.first_passed.get_or_insert(now);
        }
        door.failures = match checked {
            Checked::Failed | Checked::Unknown => door.failures.saturating_add(1),
            Checked::Passed | Checked::Portal => 0,
        };
        let is_first = door.failures < LEAST_FAILURES;
        // A single reply that was lost opens no portal.
        let was_portal = matches!(door.last, Some((Checked::Portal, _)));
        let stays = checked == Checked::Unknown && is_first && was_portal;
        if !stays {
            door.last = Some((checked, now));
        }
        let pause = match checked {
            Checked::Failed if is_first => PORTAL_AGAIN,
            Checked::Unknown if stays => PORTAL_AGAIN,
            Checked::Passed | Checked::Unknown => WHILE_OPEN,
            Checked::Portal | Checked::Failed => WHILE_HELD,
        };
        door.next = Some(now + pause);
    }
}
