//! Why a good scenario cannot be played in the virtual world.

use links::air::AirError;
use scenario::Thing;
use thiserror::Error;
use trace::PolicyError;

/// What a plan or a policy asks for that there is not, or not yet in virtual time. Every message names the thing and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CastError {
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Flows of scenarios are datagrams here: [`crate::tcp`] is not on this medium yet.
    #[error(
        "flow `{0}` is TCP, which no scenario has in virtual time yet; give it `transport = \"udp\"` and `over`, or play the scenario in the lab (--world lab)"
    )]
    NotUdp(String),
    /// A rate by the signal is chosen once.
    #[error(
        "`{walker}` walks, and in virtual time `{link}` chooses a rate by the signal once, at the start; give it `rate_control = \"minstrel\"` or one `rate_mbps`"
    )]
    Walks {
        /// Who walks.
        walker: String,
        /// The access point.
        link: String,
    },
    /// Nothing breaks.
    #[error("faults have no effect in virtual time yet; remove [[faults]], or use --world lab")]
    Faults,
    /// The air is one for all.
    #[error("`{0}` has a propagation of its own, and all stations share one air; say it in [place]")]
    Propagation(String),
    /// Signals do not vary with the place.
    #[error("`{0}` has shadowing, which virtual time does not have yet; remove it, or use --world lab")]
    Shadows(String),
    /// The coarse medium has a packet's time for access points only.
    #[error(
        "flow `{0}` goes up, and only access points send on the coarse medium; send it down, or remove `medium = \"wfq\"`"
    )]
    OnlyDown(String),
    /// Nobody sleeps on the coarse medium.
    #[error(
        "`{0}` saves power, and on the coarse medium nobody sleeps; remove `power_save`, or `medium = \"wfq\"`"
    )]
    Sleeps(String),
    /// A radio that sleeps wakes for the beacons of one.
    #[error(
        "`{walker}` saves power and has flows over two access points on channel {channel}, and a radio that sleeps wakes for the beacons of one; send them over one of them, or move one to another channel"
    )]
    SleepsTwice {
        /// Who.
        walker: String,
        /// The channel of both.
        channel: u8,
    },
    /// Access points and their clients were refused.
    #[error(transparent)]
    Wlan(#[from] links::air::wlan::WlanError),
    /// The coarse medium refused it.
    #[error(transparent)]
    Queue(#[from] links::air::WfqError),
    /// A client's radio follows one standard.
    #[error(
        "channel {channel} has access points of different standards, and a radio follows one; move one of them to another channel"
    )]
    Standards {
        /// The channel.
        channel: u8,
        /// The access point that differs from the first one there.
        link: String,
    },
    /// Before the coarse medium wires are not modelled packet by packet.
    #[error(
        "the backhaul of `{link}` is slower than its share of the coarse medium, and several flows share it; raise its rate to {needed}, or remove `medium = \"wfq\"`"
    )]
    Backhaul {
        /// The access point.
        link: String,
        /// The air's rate.
        needed: units::Bitrate,
    },
    /// The air refused it.
    #[error(transparent)]
    Air(#[from] AirError),
    /// The models of cells and cables refused it.
    #[error(transparent)]
    Wires(#[from] links::ConfigError),
}

impl CastError {
    /// What of the plan it is about; `None`: no one thing.
    pub fn about(&self) -> Option<Thing<'_>> {
        match self {
            Self::NotUdp(flow) | Self::OnlyDown(flow) => Some(Thing::Flow(flow)),
            Self::Walks { walker, .. } | Self::Sleeps(walker) | Self::SleepsTwice { walker, .. } => {
                Some(Thing::Walker(walker))
            }
            Self::Propagation(link)
            | Self::Shadows(link)
            | Self::Standards { link, .. }
            | Self::Backhaul { link, .. } => Some(Thing::Link(link)),
            Self::Faults => Some(Thing::Faults),
            Self::Policy(_) | Self::Wlan(_) | Self::Queue(_) | Self::Air(_) | Self::Wires(_) => None,
        }
    }
}
