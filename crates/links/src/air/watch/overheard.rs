//! The frames that a monitor interface shows, as values.

use alloc::sync::Arc;
use units::{Dbm, Duration, Instant, SeqNum};

use super::tim::{Aid, Tim};
use crate::air::io::{StationId, Subtype};
use crate::air::phy::mode::Mode;

/// A frame as a monitor interface shows it. Of an aggregate, each frame is shown separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overheard {
    /// The station that listens.
    pub monitor: StationId,
    /// The sender. If equal to `monitor`, the frame is the listener's own.
    pub from: StationId,
    /// The receiver. `None`: a broadcast frame.
    pub to: Option<StationId>,
    /// Kind of frame.
    pub kind: FrameKind,
    /// When its preamble began.
    pub start: Instant,
    /// When it ended, or when the aggregate that contains it ended.
    pub end: Instant,
    /// How long it reserves the medium after its end: the duration field.
    pub reserves: Duration,
    /// Its modulation.
    pub mode: Mode,
    /// Length of the MPDU, check sum included.
    pub bytes: u32,
    /// Received power; for the listener's own frame, the transmit power.
    pub signal: Dbm,
    /// Number of the aggregate that contains it, the same for all its frames.
    pub aggregate: Option<u32>,
    /// Other contents. The air does not know them; whoever manages networks over it does
    /// ([`crate::air::wlan`]).
    pub says: Says,
}

/// Contents that not every frame of a kind has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Says {
    /// Nothing more.
    #[default]
    Nothing,
    /// Association identifier: in an association response and in a PS-Poll.
    Association(Aid),
    /// Traffic indication map: in a beacon.
    Held(Arc<Tim>),
}

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet, or another frame out of a queue.
    Data {
        /// Its sequence number.
        number: SeqNum,
        /// Whether it was sent before.
        retry: bool,
        /// The caller's token of the packet.
        token: u64,
        /// Its subtype.
        subtype: Subtype,
        /// Traffic class of QoS data. QoS data has sequence numbers for each receiver and class; other frames
        /// share their sender's.
        tid: Option<u8>,
        /// The power-management bit.
        asleep: bool,
        /// The more-data bit.
        more: bool,
    },
    /// An acknowledgement.
    Ack,
    /// The acknowledgement of an aggregate.
    BlockAck {
        /// Its traffic class.
        tid: u8,
        /// Sequence number of the frame that the first bit stands for.
        start: SeqNum,
        /// Which frames from `start` on its sender has received, the first in the lowest bit.
        bitmap: u64,
    },
    /// A request to send.
    Rts,
    /// A CTS.
    Cts,
}
