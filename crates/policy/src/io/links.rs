//! Links: what they are, what the user wants of them, and what can happen to them.

use super::air::{Frame, Phy, Sight};
use super::ids::HostId;
use super::power;
use alloc::string::String;
use units::{Bytes, Dbm, Duration};

/// What a link is made of: decides how patient the brain is, and what it can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// An 802.11 association with one access point.
    Wifi,
    /// A modem.
    Cellular,
    /// A cable or anything that behaves like one.
    Cable,
}

/// What the user wants of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Joined and used.
    #[default]
    Primary,
    /// Joined as backup; carries data while the primaries are full.
    Secondary,
    /// Joined as backup; used only when no primary or secondary delivers.
    Backup,
    /// Never touched.
    Never,
}

/// What is known of a link when it appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpec {
    /// The name that users know it by.
    pub name: String,
    /// What it is made of.
    pub kind: LinkKind,
    /// What the user wants of it.
    pub role: Role,
    /// WiFi: the channel; links of one channel share one air. Without it a link has an air of its own.
    pub channel: Option<u16>,
}

/// What can happen to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// It can be seen (an access point in range, a modem, a cable); not necessarily usable yet. Said again,
    /// it is declared to be something else from now on.
    Appeared(LinkSpec),
    /// It will not come back under this number.
    Gone,
    /// Its carrier came (associated, plugged in) or went.
    Carrier(bool),
    /// It has an address and a gateway now, or has lost them. Said again, it has another address.
    Usable(bool),
    /// How the user's default routes of this family rank it. Until told, [`Uplink::Declared`].
    Uplink(Family, Uplink),
    /// A beacon was heard; the client need not be associated.
    Beacon(Dbm),
    /// Packets that the interface has received so far, of any kind: any increase is a proof of life, and none
    /// is what settles a doubt.
    Received {
        /// The interface's counter.
        packets: u64,
    },
    /// A probe that the brain asked for was answered after this long.
    ProbeAnswered {
        /// Which one.
        probe: u32,
        /// From sending to the answer.
        rtt: Duration,
    },
    /// A probe could not be sent, so that no answer to it proves nothing.
    ProbeFailed {
        /// Which one.
        probe: u32,
    },
    /// About a host that programs of this host reach over the link, or that resolves names for it.
    Host(HostId, HostEvent),
    /// Packets that the interface has sent and received so far, without probes and their replies.
    Traffic {
        /// The interface's counter, less the probes.
        sent: u64,
        /// The interface's counter, less the replies.
        received: u64,
    },
    /// The world can check whether the link leads to the Internet ([`crate::Action::Check`]), and now is a
    /// good time.
    Checkable,
    /// What a check found.
    Checked(Checked),
    /// WiFi: a frame of its access point's was heard well, whoever it was for (a monitor interface). Taken in
    /// at once; what follows from it is decided at the next look, so a world may tell many before it ticks.
    Frame(Frame),
    /// WiFi: how its access point sends. Until told, as its channel suggests.
    Phy(Phy),
    /// WiFi: counters of the link and of its channel, as a driver's survey has them.
    Survey(Sight),
    /// WiFi: the radio has been on another channel; what was sent meanwhile does not count as lost.
    Away,
    /// Whose network it is. Until told, one that the user knows.
    Trust(Trust),
    /// What its use costs. Until told, nothing.
    Tariff(Tariff),
    /// A metering period begins now, and this much of it is used already (the engine has no calendar).
    Period {
        /// By whomever.
        used: Bytes,
    },
    /// Bytes that the interface has carried so far, both ways: what a metered link is billed for.
    Carried(Bytes),
    /// What its radio draws. Until told, what Huang et al. measured for its kind.
    Draws(power::Radio),
    /// What it would carry in the ten seconds that begin now if it were used: only a simulated or recorded
    /// world knows.
    Foreseen(Bytes),
}

/// What can happen to a host, as the sockets of programs show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// It resolves names for the link.
    Resolves {
        /// Whether it is the link's own next hop: its reply says nothing of what lies beyond.
        near: bool,
    },
    /// It lies beyond the next hop, and segments of it have arrived over the link.
    Heard,
    /// It lies beyond the next hop, and a program waits for its reply although the kernel has retransmitted.
    Unanswered,
}

/// What a check of a link found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checked {
    /// The expected reply: the link leads to the Internet.
    Passed,
    /// Another reply: a captive portal stands in the way.
    Portal,
    /// No reply.
    Failed,
}

/// A version of IP. Routes, and so the link on which new connections begin, may differ between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];
}

/// How the user's own default routes rank a link in one family. The least is the one that the kernel takes by
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Uplink {
    /// A default route of this metric leads over it.
    Metric(u32),
    /// None does, but its gateway is known from elsewhere, as from slowhand's configuration.
    #[default]
    Declared,
    /// Nothing leads out over it: new connections must not begin there.
    None,
}

/// Whose network a link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Trust {
    /// The user has configured it, or owns it.
    #[default]
    Known,
    /// Anybody may join it, and anybody may listen.
    Open,
    /// It has a key, but the user has never named it.
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
        /// `None`: no cap, but the user would rather use another.
        cap: Option<Bytes>,
    },
}
