//! How an ACK with a cumulative number and SACK blocks changes the sender.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_ack_update_rtt`). RFC 3168 §6.1.2 (ECE).
//!
//! # Checked by
//! `tests/hosts.rs`, `tests/hosts_study.rs`.

use super::Sender;
use crate::tcp::config::Growth;
use crate::tcp::scoreboard::{Acked, Heard};
use policy::cc::Flow;
use units::{Duration, Instant};

impl Sender {
    /// Processes an ACK. `siblings`: the connection's other subflows, for coupled controllers. Returns what
    /// it acknowledges, or `None` if it acknowledges segments that were never sent.
    pub fn hear(&mut self, now: Instant, heard: &Heard, siblings: &[Flow]) -> Option<Acked> {
        let acked = self.board.acknowledge(now, heard, self.min_rtt)?;
        self.counts.acknowledged += acked.in_order;
        self.delivered += u64::from(acked.segments);
        self.interval.acknowledged(acked.bytes);
        self.measure_ack(now, heard, &acked);
        if heard.sacks.duplicate {
            self.arrived_twice();
        }
        if acked.advanced {
            self.undo_if_late(heard.echo);
        }
        if heard.congested {
            self.congested(siblings);
        }
        self.detect(now, siblings);
        self.leave();
        if acked.segments > 0 {
            let newly = match self.config.growth {
                Growth::PerSegment => acked.segments,
                Growth::PerAck => u32::from(acked.advanced),
            };
            self.adapt(now, newly, acked.advanced, siblings);
        }
        if acked.advanced {
            self.set_timer(now);
        }
        Some(acked)
    }

    /// Takes the RTT from the segments that were sent once, the earliest for the estimates, the latest for
    /// the minimum. From the timestamp if all were retransmitted.
    fn measure_ack(&mut self, now: Instant, heard: &Heard, acked: &Acked) {
        let stamped = acked.advanced && heard.echo > Instant::ZERO && heard.echo <= now;
        let (first, last) = match acked.once {
            Some(sent) => sent,
            None if stamped => (heard.echo, heard.echo),
            None => return,
        };
        self.last_rtt = now - last;
        if self.config.keeps_round_trips {
            self.round_trips.push((now, self.last_rtt));
        }
        self.shorten_min_rtt();
        self.sample(now - first);
    }

    /// The handshake has measured the path.
    pub fn measure_handshake(&mut self, rtt: Duration) {
        self.last_rtt = rtt;
        self.shorten_min_rtt();
        self.sample(rtt);
    }

    /// A segment that carries new data is about to leave: whether it carries CWR.
    pub const fn take_cwr(&mut self) -> bool {
        let owes = self.owes_cwr;
        self.owes_cwr = false;
        owes
    }
}
