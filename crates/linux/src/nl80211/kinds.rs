//! Types of WiFi interfaces.

use crate::netlink::Attr;

/// Type of an interface (`NL80211_IFTYPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Kind {
    /// Joins an access point.
    Station = 2,
    /// Is an access point.
    AccessPoint = 3,
    /// Hears every frame.
    Monitor = 6,
    /// Joins a WiFi Direct group.
    P2pClient = 8,
    /// Is the owner of a WiFi Direct group.
    P2pOwner = 9,
    /// Any other type.
    Other = 0,
}

impl Kind {
    /// The type with this number.
    pub const fn of(number: u32) -> Self {
        match number {
            2 => Self::Station,
            3 => Self::AccessPoint,
            6 => Self::Monitor,
            8 => Self::P2pClient,
            9 => Self::P2pOwner,
            _ => Self::Other,
        }
    }
}

/// A set of interface types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u32);

impl Kinds {
    /// The set of these types.
    pub fn of(kinds: &[Kind]) -> Self {
        Self(kinds.iter().fold(0, |set, &kind| set | 1 << kind as u16))
    }

    /// Whether this type is in it.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u16 & 1 == 1
    }

    /// From an attribute with an empty attribute for each type.
    pub(super) fn parse(attr: &Attr<'_>) -> Self {
        let numbers = attr.attrs().filter(|kind| kind.kind < 32);
        Self(numbers.fold(0, |set, kind| set | 1 << kind.kind))
    }
}
