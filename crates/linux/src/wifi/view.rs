//! What the thread shows others: for `status` and `why`.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Dbm, MacAddr};

/// How far an access point is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// No access point of the network is heard.
    Absent,
    /// It is heard, and not joined.
    Heard,
    /// It must not be joined.
    Refused,
    /// It is being associated with.
    Joining,
    /// It is associated, and its network has given no address yet.
    Addressing,
    /// It is joined: an interface has an address.
    Joined,
    /// It has fallen silent or ended the association.
    Lost,
}

impl Stage {
    /// A stable identifier.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Heard => "heard",
            Self::Refused => "refused",
            Self::Joining => "joining",
            Self::Addressing => "addressing",
            Self::Joined => "joined",
            Self::Lost => "lost",
        }
    }
}

/// An access point of a network that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointReport {
    /// Name of the network.
    pub ssid: String,
    /// The access point. `None`: none is heard.
    pub bssid: Option<MacAddr>,
    /// Centre frequency of its channel, in MHz.
    pub mhz: Option<u32>,
    /// Its signal when it was heard last.
    pub signal: Option<Dbm>,
    /// The interface that is joined to it.
    pub interface: Option<String>,
    /// URL of the network's captive portal, if its DHCP server gives one.
    pub portal: Option<String>,
    /// The DNS servers that its DHCP server gives.
    pub resolvers: Vec<Ipv4Addr>,
    /// Address or name and port of a relay, if its DHCP server announces one.
    pub relay: Option<String>,
    /// How far it is joined.
    pub stage: Stage,
    /// Why it is not joined further.
    pub why: Option<String>,
}

/// What is known of all named networks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// Their access points.
    pub points: Vec<PointReport>,
    /// Why nothing can be joined.
    pub trouble: Option<String>,
    /// The user's own interface whose place is taken.
    pub taken_over: Option<String>,
}

/// Reads what the thread last showed.
#[derive(Debug, Clone, Default)]
pub struct Views(Arc<Mutex<View>>);

impl Views {
    /// The latest view.
    pub fn latest(&self) -> View {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn show(&self, view: View) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }
}
