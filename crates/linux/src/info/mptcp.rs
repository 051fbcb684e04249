//! `struct mptcp_info`.

use super::Fields;
use crate::mptcp_pm::Token;
use std::time::Duration;
use units::Bytes;

const FLAG_FALLBACK: u32 = 1;
const FLAG_REMOTE_KEY_RECEIVED: u32 = 2;

/// A connection's `struct mptcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MptcpInfo {
    /// Subflows in addition to the first.
    pub subflows: u8,
    /// Addresses that we announced.
    pub add_addr_signal: u8,
    /// Addresses of the peer that we accepted.
    pub add_addr_accepted: u8,
    /// Limit of [`subflows`](Self::subflows).
    pub subflows_max: u8,
    /// Endpoints to announce.
    pub add_addr_signal_max: u8,
    /// Limit of [`add_addr_accepted`](Self::add_addr_accepted).
    pub add_addr_accepted_max: u8,
    /// It fell back to plain TCP.
    pub fallback: bool,
    /// The peer's key was received, so the peer supports MPTCP.
    pub remote_key_received: bool,
    /// Its token.
    pub token: Option<Token>,
    /// Data sequence number of the next byte to be sent.
    pub write_seq: u64,
    /// Data sequence number of the first byte that the peer has not acknowledged.
    pub snd_una: u64,
    /// Data sequence number of the next byte expected from the peer.
    pub rcv_nxt: u64,
    /// Local addresses in use.
    pub local_addr_used: u8,
    /// Endpoints for subflows.
    pub local_addr_max: u8,
    /// Checksums are on.
    pub csum_enabled: bool,
    /// Reinjections: how often data was sent again on another subflow (Linux 6.5, as are the following
    /// fields).
    pub retransmits: u32,
    /// Reinjected payload.
    pub bytes_retrans: Bytes,
    /// Payload sent.
    pub bytes_sent: Bytes,
    /// Payload that arrived in order.
    pub bytes_received: Bytes,
    /// Payload that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Subflows, the first included (Linux 6.9).
    pub subflows_total: u8,
    /// Time since data was last sent (Linux 6.10, as are the following fields).
    pub last_data_sent: Duration,
    /// Time since data last arrived.
    pub last_data_recv: Duration,
    /// Time since a data ACK last arrived.
    pub last_ack_recv: Duration,
}

impl MptcpInfo {
    /// Length of the structure as of Linux 6.18, in bytes.
    pub const LEN: usize = 96;

    /// Parses a structure of any length.
    pub fn parse(bytes: &[u8]) -> Self {
        let f = Fields(bytes);
        let flags = f.u32(8);
        Self {
            subflows: f.u8(0),
            add_addr_signal: f.u8(1),
            add_addr_accepted: f.u8(2),
            subflows_max: f.u8(3),
            add_addr_signal_max: f.u8(4),
            add_addr_accepted_max: f.u8(5),
            fallback: flags & FLAG_FALLBACK != 0,
            remote_key_received: flags & FLAG_REMOTE_KEY_RECEIVED != 0,
            token: Some(f.u32(12)).filter(|&token| token != 0).map(Token),
            write_seq: f.u64(16),
            snd_una: f.u64(24),
            rcv_nxt: f.u64(32),
            local_addr_used: f.u8(40),
            local_addr_max: f.u8(41),
            csum_enabled: f.u8(42) != 0,
            retransmits: f.u32(44),
            bytes_retrans: Bytes::new(f.u64(48)),
            bytes_sent: Bytes::new(f.u64(56)),
            bytes_received: Bytes::new(f.u64(64)),
            bytes_acked: Bytes::new(f.u64(72)),
            subflows_total: f.u8(80),
            last_data_sent: Duration::from_millis(f.u32(84).into()),
            last_data_recv: Duration::from_millis(f.u32(88).into()),
            last_ack_recv: Duration::from_millis(f.u32(92).into()),
        }
    }
}
