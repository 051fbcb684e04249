//! Why a flow has its network, waits, or ends.

/// Why a flow has its network, waits, or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// It starts where new connections start.
    Active,
    /// Its application requested this network.
    Requested,
    /// The network that its application requested has no address.
    RequestedHasNoAddress,
    /// Peers are spread evenly.
    Spread,
    /// It waits, since no network has an address.
    Waits,
    /// It ends, since its network is gone.
    NetworkGone,
    /// It ends, since too many flows are open.
    TooMany,
}

impl Assigned {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Active => "flow-active",
            Self::Requested => "flow-requested",
            Self::RequestedHasNoAddress => "flow-no-address",
            Self::Spread => "flow-spread",
            Self::Waits => "flow-waits",
            Self::NetworkGone => "flow-network-gone",
            Self::TooMany => "flow-too-many",
        }
    }
}
