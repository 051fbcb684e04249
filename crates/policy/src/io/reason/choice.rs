//! Why a link is used, or is a backup.

use super::Steer;
use crate::io::{LinkId, Role};
use units::{Bitrate, Bytes, Db, Dbm, Duration};

/// Why a link is used, or is a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is up, and nothing is known against it.
    Healthy,
    /// It is the best access point of its channel.
    BestOfChannel {
        /// Its present signal.
        signal: Dbm,
        /// The goodput expected a moment from now.
        expected: Bitrate,
    },
    /// It is an access point on an unknown channel, so it is not compared with others.
    ChannelUnknown {
        /// Its present signal.
        signal: Dbm,
        /// The goodput expected a moment from now.
        expected: Bitrate,
    },
    /// It would be a backup, but no link in use is alive.
    LastResort,
    /// The user's role for it makes it a backup.
    Role(Role),
    /// Its signal is too weak, or will be within a second.
    Fading {
        /// Its present signal.
        signal: Dbm,
        /// How fast the signal changes, per second.
        slope: Db,
    },
    /// Another access point of its channel is better.
    WorseOnChannel {
        /// The better one.
        better: LinkId,
    },
    /// It is a secondary, and the primaries are full.
    PrimariesFull {
        /// Goodput of the primaries when they were found full.
        goodput: Bitrate,
        /// Capacity of the primaries at that time.
        capacity: Bitrate,
    },
    /// Its goodput is unknown and the peer takes no more subflows: it replaces the slowest link for a while.
    Trial,
    /// The connection has low traffic, which uses the lowest-latency link.
    LowTraffic {
        /// The lowest-latency link, if it is another one.
        quickest: Option<LinkId>,
        /// Its latency.
        latency: Duration,
    },
    /// It is a slow link of a connection.
    Slow(SlowLink),
    /// The access points of its channel are steered.
    Steer(Steer),
    /// The policy weighs radios by their energy.
    Energy(Energy),
    /// The policy uses one access point at a time.
    Handover(Handover),
    /// The policy is plain TCP over this link.
    PlainTcp,
    /// The policy leaves paths to the kernel.
    KernelPaths,
    /// It will carry the most of all links.
    Foreseen {
        /// What it will carry in the next ten seconds.
        carries: Bytes,
    },
}

/// Why a slow link of a connection is a backup, or is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowLink {
    /// It caused head-of-line blocking.
    Blocks {
        /// Its rate at that time.
        rate: Bitrate,
        /// The rate of all links together.
        sum: Bitrate,
        /// Out-of-order bytes.
        held: Bytes,
    },
    /// It was tried in use, and goodput did not rise enough.
    NoGain {
        /// Goodput with it.
        with: Bitrate,
        /// Goodput without it.
        without: Bitrate,
    },
    /// It was tried in use, and goodput rose.
    Gain {
        /// Goodput with it.
        with: Bitrate,
        /// Goodput without it.
        without: Bitrate,
    },
    /// It is being tried in use.
    Tried {
        /// Goodput without it.
        before: Bitrate,
    },
    /// Its share of the total would be large enough.
    FastEnough {
        /// What it may carry.
        rate: Bitrate,
        /// What the others carry.
        others: Bitrate,
    },
    /// It is the only link of the connection.
    OnlyLink,
    /// The faster links of the connection are gone.
    FasterGone,
}

/// Why the policies that use one path at a time chose this link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// No access point is usable.
    NoAccessPoint,
    /// Its signal is clearly stronger than that of the previous one, which had become weak.
    Stronger,
    /// Most beacons were heard from it.
    MostBeacons {
        /// How many, in two seconds.
        heard: usize,
    },
    /// It is the first usable one, and no beacons are reported.
    FirstUsable,
}

/// Why radios are on that the policies for energy choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Energy {
    /// The radios are being compared.
    Comparing,
    /// No radio can carry data.
    NothingUsable,
    /// It moves the most bits per joule.
    Best {
        /// Bits per joule.
        bits_per_joule: u64,
    },
    /// The same, but associations are too short to turn cellular off.
    ShortAssociations {
        /// The mean duration of associations.
        association: Duration,
        /// How long cellular stays awake anyway.
        tail: Duration,
    },
}

impl Choice {
    /// The identifier of [`Choice::LowTraffic`], for readers of traces.
    pub const LOW_TRAFFIC: &'static str = "low-traffic";

    /// The stable identifier in traces.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::BestOfChannel { .. } => "best-of-channel",
            Self::ChannelUnknown { .. } => "channel-unknown",
            Self::LastResort => "last-resort",
            Self::Role(_) => "role",
            Self::Fading { .. } => "fading",
            Self::WorseOnChannel { .. } => "worse-on-channel",
            Self::PrimariesFull { .. } => "primaries-full",
            Self::Trial => "trial",
            Self::LowTraffic { .. } => Self::LOW_TRAFFIC,
            Self::Slow(slow) => slow.id(),
            Self::Steer(steer) => steer.id(),
            Self::Energy(energy) => energy.id(),
            Self::Handover(handover) => handover.id(),
            Self::PlainTcp => "plain-tcp",
            Self::KernelPaths => "kernel-paths",
            Self::Foreseen { .. } => "foreseen",
        }
    }
}

impl SlowLink {
    const fn id(self) -> &'static str {
        match self {
            Self::Blocks { .. } => "slow-blocks",
            Self::NoGain { .. } => "slow-no-gain",
            Self::Gain { .. } => "slow-gain",
            Self::Tried { .. } => "slow-tried",
            Self::FastEnough { .. } => "slow-fast-enough",
            Self::OnlyLink => "slow-only-link",
            Self::FasterGone => "slow-faster-gone",
        }
    }
}

impl Handover {
    const fn id(self) -> &'static str {
        match self {
            Self::NoAccessPoint => "no-access-point",
            Self::Stronger => "stronger",
            Self::MostBeacons { .. } => "most-beacons",
            Self::FirstUsable => "first-usable",
        }
    }
}

impl Energy {
    const fn id(self) -> &'static str {
        match self {
            Self::Comparing => "energy-comparing",
            Self::NothingUsable => "energy-nothing-usable",
            Self::Best { .. } => "energy-best",
            Self::ShortAssociations { .. } => "energy-short-associations",
        }
    }
}
