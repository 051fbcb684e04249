//! What goes into the links and what comes out of them: the contract that `lab` (real time) and `sim` (virtual time) share.

use units::{Bitrate, Db, Dbm, Duration, SeqNum};

/// One link between the client and the rest of the world; the index of its description in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// The place of a direction in a pair.
pub(crate) fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

/// One IP packet. Its bytes stay in the world; the models see how long it is and hand the token back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The link it travels on.
    pub link: LinkId,
    /// Which way.
    pub direction: Direction,
    /// Length of the IP packet, in bytes.
    pub bytes: u32,
    /// Whether its sender understands ECN (ECT(0), ECT(1) or CE): only then may a queue mark instead of drop.
    pub ect: bool,
    /// The world's name for it.
    pub token: u64,
    /// Its flow, for queues that keep flows apart ([`crate::wifi::WifiConfig::fq_codel`]).
    pub flow: u32,
}

/// Where something stands, in millimetres on the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// East.
    pub x_mm: i64,
    /// North.
    pub y_mm: i64,
}

/// Something that happens to the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A packet enters a link.
    Packet(Packet),
    /// The client's radio moved.
    Moved(Position),
    /// The client wants to be associated with this access point (no effect on cables and cells, which are always attached).
    Associate(LinkId),
    /// The client leaves this access point on purpose.
    Leave(LinkId),
    /// Something breaks or is mended.
    Fault(LinkId, Fault),
}

/// What can be done to a link from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `true`: every packet, also what is queued or in flight, is dropped both ways without a sign; WiFi beacons stop being
    /// counted as proof, but go on. `false`: ends it.
    Blackhole(bool),
    /// `true`: the link is gone and says so at once (carrier lost, access point switched off). `false`: it is back.
    Down(bool),
    /// A new rate of the bottleneck (cable and constant cell; for WiFi, of the backhaul) in each direction; zero holds everything. A
    /// traced cell keeps its trace. Behind a shared bottleneck it is that one's rate.
    Rate {
        /// From the client.
        up: Bitrate,
        /// To the client.
        down: Bitrate,
    },
    /// Extra attenuation of a WiFi link.
    Attenuation(Db),
}

/// Something that the world must carry out or may record. Order is the order in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The packet leaves the link at its other end now.
    Delivered {
        /// The packet as it entered.
        packet: Packet,
        /// The link's queue marked it: the world sets CE before passing it on.
        ce: bool,
    },
    /// The packet is lost.
    Dropped {
        /// The packet as it entered.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// The client heard a beacon of this access point.
    Beacon {
        /// Whose.
        link: LinkId,
        /// How strong it was.
        signal: Dbm,
    },
    /// The client's monitor interface heard a frame of this access point's to the client. Only where one listens.
    Heard {
        /// Whose.
        link: LinkId,
        /// What it showed.
        frame: Heard,
    },
    /// A station has received a datagram of the background ([`crate::Background`]): each one that hears it, of those to everyone.
    Background {
        /// Whose: an index in [`crate::Background::flows`].
        flow: u32,
        /// Length of the IP packet.
        bytes: u32,
    },
    /// The link changed its state towards the client.
    State {
        /// Which.
        link: LinkId,
        /// What it is now.
        state: LinkState,
    },
}

/// A frame that was received well, as a monitor interface shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Sequence number; access points number what they send to the client by itself, as they do QoS data.
    pub number: SeqNum,
    /// The retry bit.
    pub retry: bool,
    /// The rate at which it was sent.
    pub rate: Bitrate,
    /// Length with header and check sum.
    pub bytes: u32,
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The queue's management chose it.
    Aqm,
    /// Random loss of a cable.
    Loss,
    /// Every transmission attempt over the air failed.
    Retries,
    /// The link is not attached (not associated, down, or out of coverage).
    Detached,
    /// A fault swallowed it.
    Fault,
}

/// What a link is towards the client: the same for every kind, as a host's link layer would show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkState {
    /// No carrier.
    Down,
    /// Scanning, authenticating or associating: no carrier yet.
    Joining,
    /// Carrier, but no address yet.
    Carrier,
    /// Carrier and an address: packets pass.
    Up,
}

/// What a link has carried since the start; `airtime` is zero for all but WiFi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets delivered, both ways.
    pub delivered: u64,
    /// Bytes of those packets.
    pub delivered_bytes: u64,
    /// Packets dropped, both ways, for whatever reason.
    pub dropped: u64,
    /// Packets that left with a CE mark of the link's own.
    pub ce_marks: u64,
    /// Transmissions of packets over the air (first attempts and repeats; beacons are not counted).
    pub frames: u64,
    /// Of these, repeats.
    pub retries: u64,
    /// Of these, attempts in which two stations collided.
    pub collisions: u64,
    /// Time on the air: frames with their acknowledgements, and beacons, without the contention before them. What collides shares
    /// its time.
    pub airtime: Duration,
}
