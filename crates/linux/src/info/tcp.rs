//! `struct tcp_info`.

use super::Fields;
use std::time::Duration;
use units::{Bitrate, Bytes};

/// State of a TCP socket. MPTCP sockets use the same states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum TcpState {
    /// Data flows both ways.
    Established = 1,
    /// Our SYN is sent.
    SynSent,
    /// The peer's SYN is received.
    SynRecv,
    /// Our FIN is sent.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// Closed, waiting for late packets.
    TimeWait,
    /// Closed.
    #[default]
    Close,
    /// The peer's FIN is received.
    CloseWait,
    /// Both FINs are sent and ours is not acknowledged.
    LastAck,
    /// Waiting for connections.
    Listen,
    /// Both FINs crossed.
    Closing,
    /// A connection request that is not yet accepted.
    NewSynRecv,
}

impl TcpState {
    const ALL: [Self; 12] = [
        Self::Established,
        Self::SynSent,
        Self::SynRecv,
        Self::FinWait1,
        Self::FinWait2,
        Self::TimeWait,
        Self::Close,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::Closing,
        Self::NewSynRecv,
    ];

    /// Converts the kernel's number. An unknown one is treated as closed.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1..=12 => Self::ALL[code as usize - 1],
            _ => Self::Close,
        }
    }

    /// Whether the handshake is complete and data may still arrive.
    pub const fn connected(self) -> bool {
        matches!(
            self,
            Self::Established | Self::FinWait1 | Self::FinWait2 | Self::CloseWait
        )
    }
}

/// Congestion-control state after the latest ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CaState {
    /// Normal operation.
    #[default]
    Open,
    /// Segments or ACKs arrive out of order.
    Disorder,
    /// The window was reduced because of congestion marks.
    Cwr,
    /// Lost segments are being retransmitted.
    Recovery,
    /// A retransmission time-out occurred.
    Loss,
}

impl CaState {
    const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            4 => Self::Loss,
            _ => Self::Open,
        }
    }
}

/// Options that both ends negotiated (`TCPI_OPT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions(pub u8);

impl TcpOptions {
    /// Timestamps.
    pub const fn timestamps(self) -> bool {
        self.0 & 1 != 0
    }

    /// Selective acknowledgements.
    pub const fn sack(self) -> bool {
        self.0 & 2 != 0
    }

    /// Explicit congestion notification (ECN).
    pub const fn ecn(self) -> bool {
        self.0 & 8 != 0
    }

    /// At least one packet marked as ECN-capable arrived.
    pub const fn ecn_seen(self) -> bool {
        self.0 & 16 != 0
    }
}

/// A subflow's or connection's `struct tcp_info`.
///
/// Counters start at the handshake. `bytes_received` and `last_data_recv` count in-order data only. During
/// loss recovery they stop while [`segs_in`](Self::segs_in) continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// TCP state.
    pub state: TcpState,
    /// Congestion-control state.
    pub ca_state: CaState,
    /// Consecutive retransmission time-outs.
    pub retransmits: u8,
    /// Consecutive zero-window probes.
    pub probes: u8,
    /// Doublings of the retransmission time-out.
    pub backoff: u8,
    /// Negotiated options.
    pub options: TcpOptions,
    /// Window scale of the peer's window.
    pub snd_wscale: u8,
    /// Window scale of our window.
    pub rcv_wscale: u8,
    /// Whether the application limited [`delivery_rate`](Self::delivery_rate).
    pub app_limited: bool,
    /// Retransmission time-out.
    pub rto: Duration,
    /// Delayed-ACK time-out.
    pub ato: Duration,
    /// Payload of the largest segment we send, in bytes.
    pub snd_mss: u32,
    /// Payload of the largest recent segment received, in bytes.
    pub rcv_mss: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Of these, selectively acknowledged.
    pub sacked: u32,
    /// Of these, presumed lost.
    pub lost: u32,
    /// Of these, retransmitted.
    pub retrans: u32,
    /// Time since we last sent data.
    pub last_data_sent: Duration,
    /// Time since in-order data last arrived.
    pub last_data_recv: Duration,
    /// Time since an ACK last arrived.
    pub last_ack_recv: Duration,
    /// Path MTU, in bytes.
    pub pmtu: u32,
    /// Limit to which our window may grow, in bytes.
    pub rcv_ssthresh: u32,
    /// Smoothed round-trip time, or zero before the first sample.
    pub rtt: Duration,
    /// Mean deviation of the round-trip time.
    pub rttvar: Duration,
    /// Slow-start threshold, in segments, or `None` if it is not set.
    pub snd_ssthresh: Option<u32>,
    /// Congestion window, in segments.
    pub snd_cwnd: u32,
    /// Tolerated reordering, in segments.
    pub reordering: u32,
    /// Round-trip time estimated by the receiver, or `None` before the first sample.
    pub rcv_rtt: Option<Duration>,
    /// What the application read during the latest receiver round trip.
    pub rcv_space: Bytes,
    /// Retransmitted segments.
    pub total_retrans: u32,
    /// Pacing rate, or `None` if unlimited.
    pub pacing_rate: Option<Bitrate>,
    /// Payload that the peer acknowledged, plus one for our SYN if we opened the connection.
    pub bytes_acked: Bytes,
    /// Payload that arrived in order.
    pub bytes_received: Bytes,
    /// Segments sent, ACKs included.
    pub segs_out: u32,
    /// Segments that arrived, ACKs, duplicates and out-of-order ones included.
    pub segs_in: u32,
    /// Payload written and not yet sent.
    pub notsent: Bytes,
    /// Smallest round-trip time of the last minutes, or `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Segments with payload that arrived.
    pub data_segs_in: u32,
    /// Segments with payload that were sent.
    pub data_segs_out: u32,
    /// Recent delivery rate of payload.
    pub delivery_rate: Bitrate,
    /// Time during which there was data to send.
    pub busy_time: Duration,
    /// Part of `busy_time` in which the peer's window was the limit.
    pub rwnd_limited: Duration,
    /// Part of `busy_time` in which our send buffer was the limit.
    pub sndbuf_limited: Duration,
    /// Segments delivered, retransmissions included.
    pub delivered: u32,
    /// Of these, acknowledged with a congestion mark. A receiver echoes one mark until it is answered, so
    /// this does not count marks.
    pub delivered_ce: u32,
    /// Payload sent, retransmissions included.
    pub bytes_sent: Bytes,
    /// Retransmitted payload.
    pub bytes_retrans: Bytes,
    /// Retransmissions that the peer already had.
    pub dsack_dups: u32,
    /// How often reordering was detected.
    pub reord_seen: u32,
    /// Segments that arrived out of order.
    pub rcv_ooopack: u32,
    /// The peer's announced window, in bytes.
    pub snd_wnd: u32,
    /// Our announced window, in bytes.
    pub rcv_wnd: u32,
    /// How often time-outs caused a rehash to another path.
    pub rehash: u32,
    /// Retransmission time-outs.
    pub total_rto: u16,
    /// Runs of retransmission time-outs from which the connection recovered.
    pub total_rto_recoveries: u16,
    /// Time spent in such runs.
    pub total_rto_time: Duration,
    /// Segments that arrived with a congestion mark (Linux 6.18).
    pub received_ce: u32,
}

impl TcpInfo {
    /// Length of the structure as of Linux 6.18, in bytes.
    pub const LEN: usize = 280;

    /// Parses a structure of any length.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut info = Self::default();
        let fields = Fields(bytes);
        info.read_state(fields);
        info.read_segments(fields);
        info.read_times(fields);
        info.read_counters(fields);
        info.read_rates(fields);
        info
    }

    fn read_state(&mut self, f: Fields<'_>) {
        self.state = TcpState::from_code(f.u8(0));
        self.ca_state = CaState::from_code(f.u8(1));
        self.retransmits = f.u8(2);
        self.probes = f.u8(3);
        self.backoff = f.u8(4);
        self.options = TcpOptions(f.u8(5));
        // Bit fields begin at the low end on little-endian machines and at the high end on big-endian ones.
        let (low, high) = (f.u8(6) & 0xf, f.u8(6) >> 4);
        let little = cfg!(target_endian = "little");
        (self.snd_wscale, self.rcv_wscale) = if little { (low, high) } else { (high, low) };
        self.app_limited = f.u8(7) & if little { 1 } else { 0x80 } != 0;
    }

    fn read_segments(&mut self, f: Fields<'_>) {
        self.snd_mss = f.u32(16);
        self.rcv_mss = f.u32(20);
        self.unacked = f.u32(24);
        self.sacked = f.u32(28);
        self.lost = f.u32(32);
        self.retrans = f.u32(36);
        self.pmtu = f.u32(60);
        self.rcv_ssthresh = f.u32(64);
        self.snd_ssthresh = Some(f.u32(76)).filter(|&segments| segments < NO_SSTHRESH);
        self.snd_cwnd = f.u32(80);
        self.reordering = f.u32(88);
        self.snd_wnd = f.u32(228);
        self.rcv_wnd = f.u32(232);
    }

    fn read_times(&mut self, f: Fields<'_>) {
        self.rto = micros(f.u32(8));
        self.ato = micros(f.u32(12));
        self.last_data_sent = millis(f.u32(44));
        self.last_data_recv = millis(f.u32(52));
        self.last_ack_recv = millis(f.u32(56));
        self.rtt = micros(f.u32(68));
        self.rttvar = micros(f.u32(72));
        self.rcv_rtt = Some(f.u32(92)).filter(|&us| us != 0).map(micros);
        self.min_rtt = Some(f.u32(148))
            .filter(|&us| us != 0 && us != u32::MAX)
            .map(micros);
        self.busy_time = Duration::from_micros(f.u64(168));
        self.rwnd_limited = Duration::from_micros(f.u64(176));
        self.sndbuf_limited = Duration::from_micros(f.u64(184));
        self.total_rto_time = millis(f.u32(244));
    }

    fn read_counters(&mut self, f: Fields<'_>) {
        self.rcv_space = Bytes::new(f.u32(96).into());
        self.total_retrans = f.u32(100);
        self.bytes_acked = Bytes::new(f.u64(120));
        self.bytes_received = Bytes::new(f.u64(128));
        self.segs_out = f.u32(136);
        self.segs_in = f.u32(140);
        self.notsent = Bytes::new(f.u32(144).into());
        self.data_segs_in = f.u32(152);
        self.data_segs_out = f.u32(156);
        self.delivered = f.u32(192);
        self.delivered_ce = f.u32(196);
        self.bytes_sent = Bytes::new(f.u64(200));
        self.bytes_retrans = Bytes::new(f.u64(208));
        self.dsack_dups = f.u32(216);
        self.reord_seen = f.u32(220);
        self.rcv_ooopack = f.u32(224);
        self.rehash = f.u32(236);
        self.total_rto = f.u16(240);
        self.total_rto_recoveries = f.u16(242);
        self.received_ce = f.u32(248);
    }

    fn read_rates(&mut self, f: Fields<'_>) {
        self.pacing_rate = Some(f.u64(104)).filter(|&rate| rate != u64::MAX).map(per_second);
        self.delivery_rate = per_second(f.u64(160));
    }
}

/// `TCP_INFINITE_SSTHRESH`.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

const fn micros(us: u32) -> Duration {
    Duration::from_micros(us as u64)
}

const fn millis(ms: u32) -> Duration {
    Duration::from_millis(ms as u64)
}

const fn per_second(bytes: u64) -> Bitrate {
    Bitrate::from_bps(bytes.saturating_mul(8))
}
