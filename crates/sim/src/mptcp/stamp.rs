//! What all packets that a connection sends at one moment have in common.

use units::Instant;

/// Common part of a connection's packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) now: Instant,
    pub(super) conn: u32,
    pub(super) to_server: bool,
    pub(super) mptcp: bool,
    /// Next byte of data that this end expects.
    pub(super) data_ack: u64,
    /// Where this end's data ends, while the peer has not acknowledged its DATA_FIN.
    pub(super) data_fin: Option<u64>,
    /// Its receive window, from there.
    pub(super) window: u64,
    /// Whether data has been written that no subflow has yet.
    pub(super) more: bool,
}
