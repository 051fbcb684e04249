//! Links: their kinds, the roles that the user gives them, and their events.

use super::air::{Frame, Phy, Sight};
use super::ids::HostId;
use super::power;
use alloc::string::String;
use units::{Bytes, Dbm, Duration};

/// The technology of a link: decides how long the engine waits and what it can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// An 802.11 association with one access point.
    Wifi,
    /// A modem.
    Cellular,
    /// A cable, or anything that behaves like one.
    Cable,
}

/// The role that the user gives a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Joined and used.
    #[default]
    Primary,
    /// Joined as backup. Carries data while the primaries are full.
    Secondary,
    /// Joined as backup. Used only when no primary or secondary delivers.
    Backup,
    /// Never used.
    Never,
}

/// What is known of a link when it appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpec {
    /// The name under which users know it.
    pub name: String,
    /// Its technology.
    pub kind: LinkKind,
    /// The user's role for it.
    pub role: Role,
    /// WiFi: the channel. Links of one channel share its airtime. Without a channel, a link has a medium of
    /// its own.
    pub channel: Option<u16>,
}

/// What can happen to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is present (an access point in range, a modem, a cable), but not necessarily usable yet. A repeat
    /// replaces its specification.
    Appeared(LinkSpec),
    /// It is gone, and will not return under this number.
    Gone,
    /// Its carrier came (associated, plugged in) or went.
    Carrier(bool),
    /// Whether it has an address and a gateway. A repeat means that the address changed.
    Usable(bool),
    /// Whether it has an address and a gateway in this family. Comes before `Usable(true)`, and alone when
    /// the link loses one of two families. `Usable(false)` ends both.
    Address(Family, bool),
    /// How the user's default routes of this family rank it. The default is [`Uplink::Declared`].
    Uplink(Family, Uplink),
    /// A beacon was heard. The client need not be associated.
    Beacon(Dbm),
    /// Packets that the interface has received so far, of any kind. An increase proves that the link is
    /// alive. Without an increase, a doubt is decided.
    Received {
        /// The interface's counter.
        packets: u64,
    },
    /// A probe that the engine requested was answered.
    ProbeAnswered {
        /// The probe.
        probe: u32,
        /// From sending to the reply.
        rtt: Duration,
    },
    /// A probe could not be sent, so that a missing reply proves nothing.
    ProbeFailed {
        /// The probe.
        probe: u32,
    },
    /// An event of a host that programs of this host reach over the link, or that resolves names for it.
    Host(HostId, HostEvent),
    /// Packets that the interface has sent and received so far, without probes and their replies.
    Traffic {
        /// The interface's counter, without probes.
        sent: u64,
        /// The interface's counter, without replies to probes.
        received: u64,
    },
    /// The world can check whether the link leads to the Internet ([`crate::Action::Check`]), and a check is
    /// useful now.
    Checkable,
    /// The result of a check.
    Checked(Checked),
    /// WiFi: a frame of its access point was received with a good signal by a monitor interface, whoever its
    /// receiver was. It is recorded at once and used at the next tick, so a world may report many before it
    /// ticks.
    Frame(Frame),
    /// WiFi: the PHY of its access point. The default follows from its channel.
    Phy(Phy),
    /// WiFi: counters of the link and its channel, from a driver's survey.
    Survey(Sight),
    /// WiFi: the interface moved to another access point of its network and kept its address. A hand-off
    /// without a new subflow (cla §IV): what was measured over the other access point is void.
    Roamed,
    /// WiFi: the radio was on another channel. Frames sent meanwhile do not count as lost.
    Away,
    /// Whose network it is. The default is one that the user knows.
    Trust(Trust),
    /// What its use costs. The default is nothing.
    Tariff(Tariff),
    /// A metering period starts now, and this much of it is used already. The engine has no calendar.
    Period {
        /// Bytes used in this metering period, by whichever program or host.
        used: Bytes,
    },
    /// Bytes that the interface has carried so far, in both directions. A metered link is billed for these.
    Carried(Bytes),
    /// What its radio draws. The default is what Huang et al. measured for its kind.
    Draws(power::Radio),
    /// What it would carry in the next ten seconds if it were used. Only a simulated or recorded world knows
    /// this.
    Foreseen(Bytes),
}

/// What can happen to a host, as the sockets of programs show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// It resolves names for the link.
    Resolves {
        /// Whether it is the link's next hop: its reply proves nothing about what lies beyond.
        near: bool,
    },
    /// It lies beyond the next hop, and segments from it arrived over the link.
    Heard,
    /// It lies beyond the next hop, and a program waits for its reply although the kernel has retransmitted.
    Unanswered,
}

/// The result of a check of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checked {
    /// The expected reply, or the network says that its captive portal is open: the link leads to the
    /// Internet.
    Passed,
    /// Another reply, or the network says that its captive portal is closed.
    Portal,
    /// No reply from a host that other links reach.
    Failed,
    /// Nothing was found out, for example because a captive portal does not say whether it is open.
    Unknown,
}

/// A version of IP. Routes may differ between the two, and so may the link on which new connections start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both families.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];
}

/// How the user's own default routes rank a link in one family. The kernel chooses the least by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Uplink {
    /// A default route with this metric leads over it.
    Metric(u32),
    /// It has no default route, but its gateway is known from elsewhere, such as slowhand's configuration.
    #[default]
    Declared,
    /// Nothing leads out over it: new connections must not start there.
    None,
}

/// Whose network a link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Trust {
    /// The user has configured it or owns it.
    #[default]
    Known,
    /// Anybody may join it and anybody may listen.
    Open,
    /// It has a key, but is not in the user's configuration.
    Unknown,
}

/// What the use of a link costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tariff {
    /// Nothing.
    #[default]
    Flat,
    /// By the byte, up to the cap in each metering period.
    Metered {
        /// `None`: no cap, but other links are preferred.
        cap: Option<Bytes>,
    },
}
