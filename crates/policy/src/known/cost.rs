//! What a link costs, and what the user allows.
//!
//! [`crate::choose::cost`] acts on it.
//!
//! # Checked by
//! `tests/engine_cost.rs`.

use super::change::Change;
use crate::io::reason::Refused;
use crate::io::{Tariff, Trust};
use units::Bytes;

/// The cost of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    pub(crate) trust: Trust,
    pub(crate) tariff: Tariff,
    /// Bytes used in this metering period.
    used: Bytes,
    /// The interface's counter when `used` was last updated.
    carried: Option<Bytes>,
    /// Why the link may not be used.
    pub(crate) refused: Option<Refused>,
}

/// Which kinds of network the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Allowed {
    open: bool,
    unknown: bool,
}

impl Allowed {
    /// Known networks are always allowed: the user excludes one by its role.
    pub(crate) const fn set(&mut self, trust: Trust, allowed: bool) -> Change {
        match trust {
            Trust::Known => {}
            Trust::Open => self.open = allowed,
            Trust::Unknown => self.unknown = allowed,
        }
        Change::Cost
    }

    const fn allows(self, trust: Trust) -> bool {
        match trust {
            Trust::Known => true,
            Trust::Open => self.open,
            Trust::Unknown => self.unknown,
        }
    }
}

impl Cost {
    pub(crate) const fn is_metered(&self) -> bool {
        matches!(self.tariff, Tariff::Metered { .. })
    }

    pub(crate) const fn period(&mut self, used: Bytes) {
        self.used = used;
    }

    /// Updates the bytes used. A counter that fell has restarted.
    pub(crate) fn carried(&mut self, total: Bytes) {
        let before = self.carried.replace(total).unwrap_or(total);
        self.used += total - before;
    }

    /// Decides again whether the link may be used. Returns whether that changed.
    pub(crate) fn judge(&mut self, allowed: Allowed) -> bool {
        let refused = self.refusal(allowed);
        let changed = refused.is_some() != self.refused.is_some();
        self.refused = refused;
        changed
    }

    fn refusal(&self, allowed: Allowed) -> Option<Refused> {
        if !allowed.allows(self.trust) {
            return Some(Refused::Trust(self.trust));
        }
        match self.tariff {
            Tariff::Metered { cap: Some(cap) } if self.used >= cap => {
                Some(Refused::Cap { used: self.used, cap })
            }
            _ => None,
        }
    }
}
