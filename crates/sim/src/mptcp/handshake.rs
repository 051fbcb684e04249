//! Handshakes: MP_CAPABLE, MP_JOIN, their repetition and their failure.
//!
//! # Sources
//! - RFC 8684 §3.1, §3.2; Linux 6.18, `net/mptcp/subflow.c` (`subflow_check_req`, `subflow_syn_recv_sock`:
//!   the limit of joins is checked at the third ACK), `net/mptcp/options.c` (`check_fully_established`).
//!
//! # Where we differ, and why
//! 1. Keys and HMACs have their lengths, but no values.
//!
//! # Checked by
//! `tests/hosts.rs`.

use super::config::Path;
use super::connection::{Connection, Phase, Role, reset_for};
use super::outbox::{Event, Outbox};
use super::subflow::{State, Subflow};
use crate::tcp::packet::{Kind, Packet, Signal, full_segment};
use policy::JoinFailure;
use units::Instant;

impl Connection {
    /// Client: sends the first SYN of a subflow.
    pub(super) fn connect(&mut self, now: Instant, path: Path, backup: bool, out: &mut Outbox) {
        let port = self.next_port;
        self.next_port += 1;
        let mut subflow = Subflow::new(out.number_subflow(), port, path, &self.shared, now);
        subflow.initial = port == 0;
        subflow.backup[0] = backup;
        subflow.ecn = self.shared.host.config.ecn;
        self.add(subflow);
        self.send_syn(now, self.subflows.len() - 1, out);
    }

    fn send_syn(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let stamp = self.stamp(now);
        let subflow = &mut self.subflows[at];
        let signal = subflow.handshake_signal(self.mptcp && subflow.asks_for_mptcp());
        subflow.send_handshake(Kind::Syn, signal, &stamp, out);
    }

    fn send_syn_ack(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let stamp = self.stamp(now);
        let subflow = &mut self.subflows[at];
        let signal = subflow.handshake_signal(self.mptcp);
        subflow.send_handshake(Kind::SynAck, signal, &stamp, out);
    }

    fn send_third(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let stamp = self.stamp(now);
        let subflow = &mut self.subflows[at];
        let signal = subflow.handshake_signal(self.mptcp);
        subflow.send_third(signal, &stamp, out);
    }

    /// Sends a packet of the handshake again if it is due, or gives up.
    pub(super) fn repeat_handshake(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let Some(subflow) = self.subflows.get(at).filter(|subflow| subflow.handshake_due(now)) else {
            return;
        };
        let is_client = self.role == Role::Client;
        if subflow.gave_up(is_client) {
            return self.fail(now, at, JoinFailure::Timeout, out);
        }
        match subflow.state {
            State::Unconfirmed { .. } => self.send_third(now, at, out),
            State::Opening { .. } if is_client => self.send_syn(now, at, out),
            State::Opening { .. } => self.send_syn_ack(now, at, out),
            State::Open | State::Closed => {}
        }
    }

    /// Removes a subflow that could not be opened. Reports why if it was a join.
    fn fail(&mut self, now: Instant, at: usize, reason: JoinFailure, out: &mut Outbox) {
        let (conn, path) = (self.id, self.subflows[at].path);
        let is_join = self.role == Role::Client && !self.subflows[at].initial;
        if is_join && matches!(self.subflows[at].state, State::Opening { .. }) {
            out.report(Event::JoinFailed { conn, path, reason });
        }
        self.remove(now, at, out);
    }

    /// Handles a SYN, for the first time or again.
    pub(super) fn heed_syn(
        &mut self,
        now: Instant,
        path: Path,
        packet: &Packet,
        at: Option<usize>,
        out: &mut Outbox,
    ) {
        if self.role == Role::Client {
            return;
        }
        if let Some(at) = at {
            return self.send_syn_ack(now, at, out);
        }
        let mut path = path;
        let initial = match packet.signal {
            Signal::Join { address, .. } => {
                path.client = address;
                false
            }
            _ => true,
        };
        let refused = if initial {
            self.subflows.iter().any(|subflow| subflow.initial)
        } else {
            !self.mptcp || self.phase == Phase::Closed
        };
        if refused {
            let stamp = self.stamp(now);
            return out.send(path.link, reset_for(packet, &stamp));
        }
        if initial {
            self.mptcp &= packet.signal == Signal::Capable;
        }
        let mut subflow = Subflow::new(out.number_subflow(), packet.port, path, &self.shared, now);
        subflow.initial = initial;
        subflow.mss = full_segment(path.family, self.mptcp);
        subflow.ecn = self.shared.host.config.ecn && packet.ece;
        subflow.backup[1] = matches!(packet.signal, Signal::Join { backup: true, .. });
        subflow.receiver.begin(packet);
        self.outgoing.acknowledge(packet.data_ack, packet.window);
        self.add(subflow);
        self.send_syn_ack(now, self.subflows.len() - 1, out);
    }

    pub(super) fn heed_syn_ack(&mut self, now: Instant, packet: &Packet, at: usize, out: &mut Outbox) {
        let subflow = &mut self.subflows[at];
        if !matches!(subflow.state, State::Opening { .. }) {
            return self.send_third(now, at, out);
        }
        subflow.receiver.begin(packet);
        subflow.ecn &= packet.ece;
        subflow.backup[1] = matches!(packet.signal, Signal::Join { backup: true, .. });
        subflow.opened(now, subflow.initial);
        self.outgoing.acknowledge(packet.data_ack, packet.window);
        if self.subflows[at].initial {
            self.mptcp &= packet.signal == Signal::Capable;
            self.subflows[at].mss = full_segment(self.subflows[at].path.family, self.mptcp);
            self.begin(out);
        }
        self.report_opened(at, out);
        self.send_third(now, at, out);
    }

    /// Records and reports that the connection is established.
    fn begin(&mut self, out: &mut Outbox) {
        self.phase = Phase::Open;
        out.report(Event::Opened {
            conn: self.id,
            mptcp: self.mptcp,
        });
    }

    fn report_opened(&self, at: usize, out: &mut Outbox) {
        let subflow = &self.subflows[at];
        out.report(Event::SubflowOpened {
            conn: self.id,
            subflow: subflow.id,
            path: subflow.path,
            initial: subflow.initial,
            backup: subflow.is_backup(),
        });
    }

    /// An ACK may complete a handshake. Returns whether the subflow is established.
    pub(super) fn confirm(&mut self, now: Instant, packet: &Packet, at: usize, out: &mut Outbox) -> bool {
        match (self.role, self.subflows[at].state) {
            (_, State::Closed) | (Role::Client, State::Opening { .. }) => return false,
            (Role::Server, State::Opening { .. }) => return self.accept_third(now, packet, at, out),
            (_, State::Unconfirmed { .. }) => self.subflows[at].state = State::Open,
            (_, State::Open) => {
                if self.role == Role::Server && matches!(packet.signal, Signal::Join { .. }) {
                    self.subflows[at].receiver.request();
                }
            }
        }
        if self.role == Role::Client && self.phase == Phase::Open && self.mptcp {
            self.become_joinable(now, out);
        }
        true
    }

    fn become_joinable(&mut self, now: Instant, out: &mut Outbox) {
        self.phase = Phase::Joinable;
        out.report(Event::Joinable { conn: self.id });
        for (path, backup) in std::mem::take(&mut self.waiting) {
            self.connect(now, path, backup, out);
        }
    }

    /// Server: the third ACK. A join beyond the limit is refused only now.
    fn accept_third(&mut self, now: Instant, packet: &Packet, at: usize, out: &mut Outbox) -> bool {
        if !self.subflows[at].initial {
            if self.joins >= self.shared.host.config.most_joins {
                let stamp = self.stamp(now);
                out.send(self.subflows[at].path.link, reset_for(packet, &stamp));
                self.remove(now, at, out);
                return false;
            }
            self.joins += 1;
            self.subflows[at].receiver.request();
        }
        self.subflows[at].opened(now, true);
        if self.subflows[at].initial {
            self.begin(out);
            if self.mptcp {
                self.phase = Phase::Joinable;
            }
        }
        self.report_opened(at, out);
        true
    }

    pub(super) fn heed_reset(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        self.fail(now, at, JoinFailure::Refused, out);
    }
}
