//! One subflow: handshake, a sender and a receiver, and the data that is assigned to it.
//!
//! # Sources
//! - RFC 8684 §3.1, §3.2 (the handshakes); Linux 6.18, `net/mptcp/subflow.c`, `net/ipv4/tcp_timer.c`
//!   (`tcp_retransmit_timer`: SYNs), `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_nagle_test`),
//!   `net/ipv4/tcp_input.c` (`tcp_sndbuf_expand`).
//!
//! # Where we differ, and why
//! 1. FIN has a number of its own, like a segment. It follows the last data in the subflow's queue.
//! 2. Linux lets a send buffer grow at moments when the window is not filled (`tcp_should_expand_sndbuf`).
//!    Those moments depend on when the socket is served. Here it grows little in slow start. Its peak then
//!    leaves no larger buffer behind than a stock server has (6 MB on three links of 30 Mb/s).
//! 3. A segment shorter than the full size waits only if more data has been written and the subflow has
//!    segments in flight: a stock application that cares turns Nagle off.
//!
//! # Checked by
//! `tests/hosts.rs`.

use super::config::{Config, Path, Shared};
use super::half::Half;
use super::outbox::Outbox;
use super::stamp::Stamp;
use crate::tcp::packet::{Ecn, Kind, Packet, Signal, full_segment};
use crate::tcp::{Payload, Receiver, Segment, Sender, Woken, earlier};
use policy::SubflowId;
use policy::cc::Flow;
use policy::sched::View;
use std::collections::VecDeque;
use units::{Bitrate, Bytes, Duration, Instant};

/// Time until the first retransmission of a SYN or SYN-ACK (`TCP_TIMEOUT_INIT`).
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// Retransmissions of a SYN (`tcp_syn_retries`) and of a SYN-ACK (`tcp_synack_retries`).
const SYN_RETRIES: u8 = 6;
const SYN_ACK_RETRIES: u8 = 5;
/// Retransmissions of a SYN with MP_CAPABLE before one without (`syn_retrans_before_tcp_fallback`).
const CAPABLE_RETRIES: u8 = 2;
/// Memory that a segment takes in a send buffer (`tcp_sndbuf_expand`): a power of two, and the buffer's head.
const SEGMENT_MEMORY: u64 = 4_096 + 256;
/// RTT that stands for an unknown one in the pacing rate.
const UNKNOWN_RTT: Duration = Duration::from_micros(1);
/// Limit of an autotuned send buffer (`tcp_wmem[2]`).
const MOST_SEND_BUFFER: u64 = 4 << 20;

/// Progress of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// SYN or SYN-ACK is on its way, for the `tries`-th time.
    Opening { tries: u8, at: Instant },
    /// Client: the third ACK of a join is not confirmed. It may not carry data yet.
    Unconfirmed { tries: u8, at: Instant },
    /// Established.
    Open,
    /// Gone.
    Closed,
}

/// Data that is assigned and not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    data: u64,
    bytes: u64,
}

/// One subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) id: SubflowId,
    pub(super) port: u16,
    pub(super) path: Path,
    pub(super) state: State,
    /// Whether it is the connection's first.
    pub(super) initial: bool,
    pub(super) sender: Half,
    pub(super) receiver: Receiver,
    queue: VecDeque<Chunk>,
    unsent: u64,
    /// Largest send buffer so far.
    send_buffer: u64,
    /// Whether this end has made the subflow a backup, and whether the peer has.
    pub(super) backup: [bool; 2],
    pub(super) ecn: bool,
    pub(super) mss: u16,
    /// Time-outs of the connection without progress on this subflow, and when it last heard anything then.
    pub(super) stale_count: u8,
    pub(super) stale: bool,
    pub(super) stale_stamp: Instant,
    pub(super) last_heard: Instant,
    /// Options that wait for a packet.
    signals: Vec<Signal>,
    /// FIN follows the last data, and says that it ends at this byte.
    pub(super) fin: Option<u64>,
    fin_sent: bool,
    pub(super) peer_fin: bool,
    syn_sent: Instant,
}

impl Subflow {
    pub(super) fn new(id: SubflowId, port: u16, path: Path, shared: &Shared, now: Instant) -> Self {
        let window = shared.host.config.sender.initial_window;
        Self {
            id,
            port,
            path,
            state: State::Opening { tries: 0, at: now },
            initial: false,
            sender: Half::new(shared.sender(path)),
            receiver: Receiver::new(),
            queue: VecDeque::new(),
            unsent: 0,
            send_buffer: 2 * u64::from(window) * SEGMENT_MEMORY,
            backup: [false; 2],
            ecn: false,
            mss: full_segment(path.family, shared.host.config.mptcp),
            stale_count: 0,
            stale: false,
            stale_stamp: now,
            last_heard: now,
            signals: Vec::new(),
            fin: None,
            fin_sent: false,
            peer_fin: false,
            syn_sent: now,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Unconfirmed { .. })
    }

    /// Whether it may carry data.
    pub(super) fn may_send(&self) -> bool {
        self.state == State::Open && self.fin.is_none()
    }

    pub(super) const fn is_backup(&self) -> bool {
        self.backup[0] || self.backup[1]
    }

    pub(super) const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Bytes assigned and not acknowledged.
    pub(super) fn queued(&self) -> u64 {
        self.sender.bytes() + self.unsent
    }

    pub(super) fn is_drained(&self) -> bool {
        self.sender.unacknowledged() == 0 && self.queue.is_empty()
    }

    /// Limit of its queue: the memory of two windows. In slow start, two windows of payload, and only if the
    /// queue leaves the window unused.
    pub(super) fn send_buffer(&mut self, config: &Config) -> u64 {
        let Some(sender) = self.sender.get() else {
            return config.send_buffer.map_or(self.send_buffer, Bytes::get);
        };
        let cwnd = sender.settled_window();
        let mss = u64::from(self.mss);
        let per_segment = match sender.ssthresh() {
            Some(ssthresh) if cwnd >= ssthresh => SEGMENT_MEMORY,
            _ if self.unsent < mss => mss,
            _ => 0,
        };
        let grown = 2 * u64::from(cwnd) * per_segment;
        self.send_buffer = self.send_buffer.max(grown.min(MOST_SEND_BUFFER));
        config.send_buffer.map_or(self.send_buffer, Bytes::get)
    }

    /// The subflow, as a scheduler sees it.
    pub(super) fn view(&mut self, config: &Config, unsent_limit: Option<Bytes>) -> View {
        let send_buffer = self.send_buffer(config);
        let full = unsent_limit.is_some_and(|limit| self.unsent >= limit.get());
        let (queued, unsent, mss) = (self.queued(), self.unsent, self.mss);
        let (backup, usable) = (self.is_backup(), self.may_send());
        let sender = self.sender.made();
        let round_trip = sender.round_trip();
        View {
            id: self.id,
            srtt: round_trip.srtt().unwrap_or_default(),
            rttvar: round_trip.deviation(),
            cwnd: sender.cwnd(),
            in_flight: sender.scoreboard().in_flight(),
            mss: Bytes::new(mss.into()),
            queued: Bytes::new(if full { send_buffer } else { queued }),
            unsent: Bytes::new(unsent),
            send_buffer: Bytes::new(send_buffer),
            pacing_rate: pacing_rate(sender, mss),
            backup,
            usable,
            stale_count: self.stale_count,
            stale: self.stale,
            holds_oldest: false,
        }
    }

    /// Whether this byte is assigned to it and has not arrived.
    pub(super) fn holds(&self, byte: u64) -> bool {
        let sent = |payload: Payload| (payload.data..payload.data + u64::from(payload.bytes)).contains(&byte);
        let unsent = |chunk: &Chunk| (chunk.data..chunk.data + chunk.bytes).contains(&byte);
        let sender = self.sender.get();
        sender.is_some_and(|sender| sender.scoreboard().waiting().any(sent)) || self.queue.iter().any(unsent)
    }

    /// Assigns data.
    pub(super) fn assign(&mut self, data: u64, bytes: u64) {
        self.unsent += bytes;
        match self.queue.back_mut() {
            Some(last) if last.data + last.bytes == data => last.bytes += bytes,
            _ => self.queue.push_back(Chunk { data, bytes }),
        }
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    /// Ends the data of this subflow.
    pub(super) fn finish(&mut self, end: u64) {
        if self.fin.is_none() {
            self.fin = Some(end);
        }
    }

    /// Whether both ends have finished, and everything has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.fin_sent && self.peer_fin && self.is_drained()
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.queue = VecDeque::new();
        self.unsent = 0;
    }

    /// Cuts the next segment from the queue. `more`: further data has been written.
    fn cut(&mut self, more: bool) -> Option<Payload> {
        let in_flight = self.sender.made().scoreboard().in_flight() > 0;
        let count = self.queue.len();
        let Some(chunk) = self.queue.front_mut() else {
            return self.cut_fin();
        };
        let bytes = chunk.bytes.min(self.mss.into());
        if bytes < u64::from(self.mss) && more && in_flight && count == 1 {
            return None;
        }
        let data = chunk.data;
        (chunk.data, chunk.bytes) = (data + bytes, chunk.bytes - bytes);
        if chunk.bytes == 0 {
            self.queue.pop_front();
            if count == 1 {
                self.queue = VecDeque::new();
            }
        }
        self.unsent -= bytes;
        Some(Payload {
            data,
            bytes: bytes as u16,
            fin: false,
        })
    }

    fn cut_fin(&mut self) -> Option<Payload> {
        let data = self.fin.filter(|_| !self.fin_sent)?;
        self.fin_sent = true;
        Some(Payload {
            data,
            bytes: 0,
            fin: true,
        })
    }

    /// Sends all that is due.
    pub(super) fn transmit(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        if !self.is_open() {
            return;
        }
        if !self.signals.is_empty() {
            self.send_signals(stamp, out);
        }
        if self.state == State::Open {
            self.send_data(now, stamp, out);
        }
        if self.receiver.must_acknowledge(now) {
            let packet = self.acknowledgement(stamp);
            out.send(self.path.link, packet);
        }
    }

    fn send_signals(&mut self, stamp: &Stamp, out: &mut Outbox) {
        for signal in std::mem::take(&mut self.signals) {
            let packet = self.acknowledgement(stamp);
            out.send(self.path.link, Packet { signal, ..packet });
        }
    }

    fn send_data(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        let may_send = match self.sender.get() {
            Some(sender) => sender.has_room(),
            None => !self.queue.is_empty() || self.fin.is_some(),
        };
        if !may_send {
            return;
        }
        if !self.queue.is_empty() {
            self.sender.made().begin_burst(now);
        }
        let mut sent = false;
        while self.sender.made().has_room() {
            let (segment, payload) = match self.sender.made().send_again(now) {
                Some(again) => again,
                None => match self.cut(stamp.more) {
                    Some(payload) => (self.sender.made().send_new(now, payload), payload),
                    None => break,
                },
            };
            sent = true;
            self.put(segment, payload, stamp, out);
        }
        if sent {
            let limited = !self.sender.made().has_room();
            self.sender.made().end_burst(now, limited);
        }
    }

    fn put(&mut self, segment: Segment, payload: Payload, stamp: &Stamp, out: &mut Outbox) {
        let packet = self.acknowledgement_with(stamp, true);
        let ect = self.ecn && !segment.retransmission && payload.bytes > 0;
        out.send(
            self.path.link,
            Packet {
                ecn: if ect { Ecn::Ect } else { Ecn::NotEct },
                cwr: !segment.retransmission && self.sender.made().take_cwr(),
                fin: payload.fin,
                bytes: payload.bytes,
                number: segment.number,
                data: payload.data,
                data_fin: stamp.data_fin == Some(payload.data + u64::from(payload.bytes)),
                ..packet
            },
        );
    }

    /// An ACK of everything that has arrived.
    pub(super) fn acknowledgement(&mut self, stamp: &Stamp) -> Packet {
        self.acknowledgement_with(stamp, false)
    }

    fn acknowledgement_with(&mut self, stamp: &Stamp, has_payload: bool) -> Packet {
        let sacks = self.receiver.acknowledged(stamp.mptcp, has_payload);
        Packet {
            ece: self.receiver.echoes_congestion(),
            ack: self.receiver.next(),
            sacks,
            data: stamp.data_fin.unwrap_or(0),
            data_fin: stamp.data_fin.is_some(),
            ..self.blank(stamp, Kind::Ack)
        }
    }

    /// A packet of this kind without any number.
    fn blank(&self, stamp: &Stamp, kind: Kind) -> Packet {
        Packet {
            conn: stamp.conn,
            port: self.port,
            to_server: stamp.to_server,
            server: self.path.server,
            family: self.path.family,
            kind,
            mptcp: stamp.mptcp,
            window: stamp.window,
            sent: stamp.now,
            echo: self.receiver.echo(),
            data_ack: stamp.data_ack,
            ..Packet::EMPTY
        }
    }

    /// Sends SYN or SYN-ACK. `signal`: the option with it.
    pub(super) fn send_handshake(&mut self, kind: Kind, signal: Signal, stamp: &Stamp, out: &mut Outbox) {
        let tries = match self.state {
            State::Opening { tries, .. } => tries,
            State::Unconfirmed { .. } | State::Open | State::Closed => return,
        };
        let at = stamp.now + SYN_TIMEOUT * (1 << tries.min(6));
        self.state = State::Opening { tries: tries + 1, at };
        if tries == 0 {
            self.syn_sent = stamp.now;
        }
        let packet = Packet {
            ece: self.ecn,
            signal,
            ..self.blank(stamp, kind)
        };
        out.send(self.path.link, packet);
    }

    /// Sends the third ACK. That of a join is repeated until it is confirmed.
    pub(super) fn send_third(&mut self, signal: Signal, stamp: &Stamp, out: &mut Outbox) {
        if let State::Unconfirmed { tries, at } = &mut self.state {
            *at = stamp.now + self.sender.rto() * (1 << (*tries).min(6));
            *tries += 1;
        }
        let packet = self.acknowledgement(stamp);
        out.send(self.path.link, Packet { signal, ..packet });
    }

    /// Sends a zero-window probe.
    pub(super) fn send_window_probe(&mut self, stamp: &Stamp, out: &mut Outbox) {
        let packet = Packet {
            kind: Kind::WindowProbe,
            ..self.acknowledgement(stamp)
        };
        out.send(self.path.link, packet);
    }

    pub(super) fn send_reset(&mut self, stamp: &Stamp, out: &mut Outbox) {
        let packet = self.blank(stamp, Kind::Reset);
        out.send(self.path.link, packet);
    }

    /// The handshake is complete. It has measured the path if no SYN was repeated.
    pub(super) fn opened(&mut self, now: Instant, confirmed: bool) {
        if let State::Opening { tries: 1, .. } = self.state {
            self.sender.measure(now - self.syn_sent);
        }
        self.last_heard = now;
        self.state = if confirmed {
            State::Open
        } else {
            State::Unconfirmed { tries: 0, at: now }
        };
    }

    /// Whether the next SYN asks for MPTCP.
    pub(super) const fn asks_for_mptcp(&self) -> bool {
        !matches!(self.state, State::Opening { tries, .. } if tries > CAPABLE_RETRIES)
    }

    /// Whether the handshake has failed.
    pub(super) const fn gave_up(&self, is_client: bool) -> bool {
        let most = if is_client { SYN_RETRIES } else { SYN_ACK_RETRIES };
        matches!(self.state, State::Opening { tries, .. } | State::Unconfirmed { tries, .. } if tries > most)
    }

    /// Whether a packet of the handshake is due.
    pub(super) fn handshake_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Opening { at, .. } | State::Unconfirmed { at, .. } if at <= now)
    }

    /// When it next has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.state {
            State::Opening { at, .. } => Some(at),
            State::Unconfirmed { at, .. } => Some(at.min(self.receiver.acknowledge_at().unwrap_or(at))),
            State::Open => earlier(self.sender.wake_at(), self.receiver.acknowledge_at()),
            State::Closed => None,
        }
    }

    /// Handles timers that are due. Returns whether the retransmission timer has expired.
    pub(super) fn expire(
        &mut self,
        now: Instant,
        siblings: &[Flow],
        stamp: &Stamp,
        out: &mut Outbox,
    ) -> bool {
        if self.state != State::Open || self.sender.wake_at().is_none_or(|at| at > now) {
            return false;
        }
        match self.sender.made().expire(now, siblings) {
            Woken::Nothing => false,
            Woken::TimedOut => true,
            Woken::Probe => {
                let probe = match self.cut(false) {
                    Some(payload) => Some((self.sender.made().send_new(now, payload), payload)),
                    None => self.sender.made().probe_again(now),
                };
                if let Some((segment, payload)) = probe {
                    self.put(segment, payload, stamp, out);
                }
                false
            }
        }
    }
}

/// Rate at which Linux would pace: twice the window per RTT in slow start, else 1.2 times.
fn pacing_rate(sender: &Sender, mss: u16) -> Bitrate {
    let srtt = sender.round_trip().srtt().unwrap_or_default().max(UNKNOWN_RTT);
    let cwnd = sender.cwnd();
    let starts = sender.ssthresh().is_none_or(|ssthresh| cwnd < ssthresh / 2);
    let tenths = if starts { 20 } else { 12 };
    let bits = u64::from(cwnd) * u64::from(mss) * 8 * tenths / 10;
    let nanos = u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX);
    Bitrate::from_bps(bits.saturating_mul(1_000_000) / (nanos / 1_000).max(1))
}
