//! Why a valid scenario cannot run in virtual time.

use links::air::AirError;
use scenario::Thing;
use thiserror::Error;
use trace::PolicyError;

/// What a plan or a policy asks for that virtual time does not support. Every message names the item and what
/// to change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CastError {
    /// The policy is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The radios of other hosts do not sleep.
    #[error(
        "`{0}` saves power, but beside TCP and with faults only the client's radio does; remove its `power_save`"
    )]
    OtherSleeps(String),
    /// A flow's congestion control has no model.
    #[error("flow `{flow}`: {source}")]
    Control {
        /// The flow.
        flow: String,
        /// Why.
        source: crate::tcp::ControlError,
    },
    /// The engine asked for something that no host can do.
    #[error("policy `{policy}` could not act: {why}; run it in the lab (--world lab)")]
    Unable {
        /// The policy.
        policy: String,
        /// What it asked for.
        why: String,
    },
    /// A cast has no hosts.
    #[error(
        "flow `{0}` is TCP, and a cast of stations has no hosts; play the plan instead, or give it `transport = \"udp\"`"
    )]
    NotUdp(String),
    /// A rate by the signal is chosen only once.
    #[error(
        "`{walker}` walks, but `{link}` chooses a rate by the signal only at the start in a run of datagrams alone; set its `rate_control = \"minstrel\"` or a fixed `rate_mbps`"
    )]
    Walks {
        /// The walker.
        walker: String,
        /// The access point.
        link: String,
    },
    /// A walker's rate by the signal is chosen only once.
    #[error(
        "`{0}` walks, but a radio chooses its rate by the signal only at the start in a run of datagrams alone; give it a fixed `rate_mbps`, or one place"
    )]
    WalksBySignal(String),
    /// Some rates are not a walker's to choose.
    #[error(
        "`{0}` has its own `rate_mbps`, but 802.11n selects its rate by MCS, and the coarse medium has none; remove it, or `ht` and `medium = \"wfq\"`"
    )]
    OwnRate(String),
    /// Datagrams have IPv4 only.
    #[error(
        "flow `{0}` is UDP, which goes over IPv4 only; remove it, or all `families` and `server_families`"
    )]
    DatagramsOverV6(String),
    /// Faults happen to links between hosts.
    #[error("stations without hosts have no faults; remove [[faults]]")]
    Faults,
    /// A relay and the agent's connections to it have IPv4 addresses, as in the lab.
    #[error("`relay` has IPv4 only; remove it, or all `families` and `server_families`")]
    RelayOverV6,
    /// All stations share one propagation model.
    #[error("`{0}` has its own propagation model, but all stations share one; set it in [place]")]
    Propagation(String),
    /// Virtual time has no shadowing.
    #[error("`{0}` has shadowing, which virtual time does not support; remove it, or use --world lab")]
    Shadows(String),
    /// The coarse medium has a time per packet for access points only.
    #[error(
        "flow `{0}` is an upload, but only access points send on the coarse medium; set `direction = \"down\"`, or remove `medium = \"wfq\"`"
    )]
    OnlyDown(String),
    /// There is no power saving on the coarse medium.
    #[error(
        "`{0}` saves power, which the coarse medium does not support; remove `power_save`, or `medium = \"wfq\"`"
    )]
    Sleeps(String),
    /// A sleeping radio wakes for the beacons of one access point only.
    #[error(
        "`{walker}` saves power and has flows over two access points on channel {channel}, but a sleeping radio wakes for the beacons of only one; send them over one of them, or move one to another channel"
    )]
    SleepsTwice {
        /// The walker.
        walker: String,
        /// Channel of both.
        channel: u8,
    },
    /// The configuration of access points and clients is invalid.
    #[error(transparent)]
    Wlan(#[from] links::air::wlan::WlanError),
    /// The configuration of the coarse medium is invalid.
    #[error(transparent)]
    Queue(#[from] links::air::WfqError),
    /// A client's radio follows one standard.
    #[error(
        "channel {channel} has access points of different standards, but a radio follows only one; move one of them to another channel"
    )]
    Standards {
        /// Channel.
        channel: u8,
        /// The access point that differs from the first one there.
        link: String,
    },
    /// Radios join an access point by its beacons, also after a fault.
    #[error(
        "`{0}` has `management = false`, but after a fault that takes it down radios join it by its beacons; remove it, or the fault"
    )]
    Unmanaged(String),
    /// So do sleeping radios, and those that join first.
    #[error(
        "`{walker}` needs the beacons of `{link}`, which has `management = false`; remove that, or `power_save` and `associated = false` of `{walker}`"
    )]
    NeedsBeacons {
        /// The walker.
        walker: String,
        /// The access point.
        link: String,
    },
    /// The coarse medium has no packet model of the backhaul.
    #[error(
        "the backhaul of `{link}` is slower than its share of the coarse medium, and several flows share it; raise its rate to {needed}, or remove `medium = \"wfq\"`"
    )]
    Backhaul {
        /// The access point.
        link: String,
        /// Rate of the air.
        needed: units::Bitrate,
    },
    /// The configuration of the air is invalid.
    #[error(transparent)]
    Air(#[from] AirError),
    /// The configuration of a cell or cable is invalid.
    #[error(transparent)]
    Wires(#[from] links::ConfigError),
}

impl CastError {
    /// The part of the plan that the error is about. `None` if there is no single one.
    pub fn about(&self) -> Option<Thing<'_>> {
        match self {
            Self::NotUdp(flow)
            | Self::OnlyDown(flow)
            | Self::DatagramsOverV6(flow)
            | Self::Control { flow, .. } => Some(Thing::Flow(flow)),
            Self::Walks { walker, .. }
            | Self::WalksBySignal(walker)
            | Self::OwnRate(walker)
            | Self::Sleeps(walker)
            | Self::OtherSleeps(walker)
            | Self::NeedsBeacons { walker, .. }
            | Self::SleepsTwice { walker, .. } => Some(Thing::Walker(walker)),
            Self::Propagation(link)
            | Self::Shadows(link)
            | Self::Unmanaged(link)
            | Self::Standards { link, .. }
            | Self::Backhaul { link, .. } => Some(Thing::Link(link)),
            Self::Faults => Some(Thing::Faults),
            Self::RelayOverV6 => Some(Thing::Relay),
            Self::Unable { .. }
            | Self::Policy(_)
            | Self::Wlan(_)
            | Self::Queue(_)
            | Self::Air(_)
            | Self::Wires(_) => None,
        }
    }
}
