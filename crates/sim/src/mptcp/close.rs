//! The end of a connection's data (DATA_FIN), and the orderly close of its subflows.
//!
//! DATA_FIN leaves on every subflow as soon as all data is assigned, and every later DSS repeats it until the
//! peer has acknowledged it. Once both ends have acknowledged the other's, FIN follows on each subflow.
//! Without MPTCP, FIN follows the last data.
//!
//! # Sources
//! - RFC 8684 §3.3.3; Linux 6.18, `net/mptcp/protocol.c` (`mptcp_check_send_data_fin`,
//!   `mptcp_check_data_fin`, `mptcp_check_data_fin_ack`, `mptcp_set_datafin_timeout`).
//!
//! # Checked by
//! `tests/hosts_protocol.rs`.

use super::connection::Connection;
use super::subflow::{State, Subflow};
use crate::tcp::packet::Packet;
use units::{Duration, Instant};

/// Time until the first repetition of a DATA_FIN that no other packet repeats (`TCP_RTO_MIN`).
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
/// Most doublings of that time. It stays below 120 s (`TCP_RTO_MAX`).
const MOST_DOUBLINGS: u8 = 9;

impl Connection {
    /// Sends DATA_FIN on every subflow, once all data is assigned.
    pub(super) fn send_data_fin(&mut self, now: Instant) {
        if !self.mptcp || !self.is_open() || !self.outgoing.end_data() {
            return;
        }
        self.acknowledge_everywhere();
        if self.retransmit_at.is_none() {
            self.set_retransmission_timer(now);
        }
    }

    /// DATA_FIN alone is not acknowledged in time: repeats it everywhere.
    pub(super) fn repeat_data_fin(&mut self) {
        self.acknowledge_everywhere();
        self.data_fins = (self.data_fins + 1).min(MOST_DOUBLINGS);
    }

    /// Time until DATA_FIN is repeated.
    pub(super) fn data_fin_timeout(&self) -> Duration {
        LEAST_TIMEOUT * (1 << self.data_fins)
    }

    pub(super) fn acknowledge_everywhere(&mut self) {
        let open = self.subflows.iter_mut().filter(|subflow| subflow.is_open());
        open.for_each(|subflow| subflow.receiver.request());
    }

    /// The peer's data ends behind this packet. If all of it has arrived, acknowledges that.
    pub(super) fn heed_data_fin(&mut self, packet: &Packet, at: usize) {
        if packet.data_fin {
            let was_over = self.incoming.is_over();
            self.incoming.ends_at(packet.data + u64::from(packet.bytes));
            if was_over {
                self.subflows[at].receiver.request();
            }
        }
        if self.incoming.take_end() {
            self.acknowledge_everywhere();
        }
    }

    /// Whether both ends have finished, and know it of each other.
    pub(super) fn ends(&self) -> bool {
        self.outgoing.is_done(self.mptcp) && self.incoming.is_over()
    }

    /// Lets FIN follow on every subflow, if it is time.
    pub(super) fn finish_subflows(&mut self) {
        let Some(end) = self.outgoing.end() else {
            return;
        };
        let ready = if self.mptcp {
            self.ends()
        } else {
            self.outgoing.unassigned() == 0
        };
        if ready {
            let is_open = |subflow: &Subflow| subflow.state == State::Open;
            let open = self.subflows.iter_mut().filter(|subflow| is_open(subflow));
            open.for_each(|subflow| subflow.finish(end));
        }
    }
}
