//! The frames that a monitor interface shows, as values.

use alloc::sync::Arc;
use units::{Dbm, Duration, Instant, SeqNum};

use super::tim::{Aid, Tim};
use crate::air::io::{StationId, Subtype};
use crate::air::phy::mode::Mode;

/// A frame as a monitor interface shows it; of an aggregate, each frame of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overheard {
    /// Who listens.
    pub monitor: StationId,
    /// Who sent it; equal to `monitor`: it is the listener's own.
    pub from: StationId,
    /// For whom; `None`: for everybody.
    pub to: Option<StationId>,
    /// What it is.
    pub kind: FrameKind,
    /// When its preamble began.
    pub start: Instant,
    /// When it ended, or the aggregate that it is part of.
    pub end: Instant,
    /// How long it reserves the medium after its end: the duration field.
    pub reserves: Duration,
    /// How it was modulated.
    pub mode: Mode,
    /// Length of the MPDU, check sum included.
    pub bytes: u32,
    /// The power at which it arrived; the transmit power of a frame of one's own.
    pub signal: Dbm,
    /// The aggregate that it is part of, the same number for all of one.
    pub aggregate: Option<u32>,
    /// What else it says: the air does not know, those who manage networks by it do ([`crate::air::wlan`]).
    pub says: Says,
}

/// What a frame says that not every frame of its kind says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Says {
    /// Nothing more.
    #[default]
    Nothing,
    /// An association's identifier: the answer that lets somebody in, and a PS-Poll.
    Association(Aid),
    /// For whom packets are held: a beacon.
    Held(Arc<Tim>),
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet, or another frame out of a queue.
    Data {
        /// Its sequence number.
        number: SeqNum,
        /// Whether it was sent before.
        retry: bool,
        /// The world's name for the packet.
        token: u64,
        /// What kind of frame it is.
        subtype: Subtype,
        /// The traffic class of QoS data, whose numbers are those of its receiver and class; others share their sender's.
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
        /// The frame that the first bit is about.
        start: SeqNum,
        /// Which frames from there on its sender has, the first in the lowest bit.
        bitmap: u64,
    },
    /// A request to send.
    Rts,
    /// Leave to send.
    Cts,
}
