//! Sending half of a subflow, which exists once the subflow has something to send. Most subflows only receive
//! or are idle, and a sender takes more memory than all the rest of a subflow.

use crate::tcp::{Config, Sender};
use std::sync::Arc;
use units::{Duration, Instant};

/// Minimum that a time-out adds to the RTT.
const LEAST: Duration = Duration::from_millis(200);

/// Sending half.
#[derive(Debug)]
pub(super) struct Half {
    config: Arc<Config>,
    /// RTT of the handshake. Zero if it was not measured.
    handshake_ns: u64,
    sender: Option<Box<Sender>>,
}

impl Half {
    pub(super) const fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            handshake_ns: 0,
            sender: None,
        }
    }

    /// The handshake has measured the path.
    pub(super) fn measure(&mut self, rtt: Duration) {
        self.handshake_ns = rtt.as_nanos() as u64;
        // A scheduler that saw the subflow during the handshake has made its sender.
        if let Some(sender) = &mut self.sender {
            sender.measure_handshake(rtt);
        }
    }

    const fn handshake(&self) -> Duration {
        Duration::from_nanos(self.handshake_ns)
    }

    /// The sender, if it exists.
    pub(super) fn get(&self) -> Option<&Sender> {
        self.sender.as_deref()
    }

    /// The sender. Creates it if there is none.
    #[inline]
    pub(super) fn made(&mut self) -> &mut Sender {
        self.sender
            .get_or_insert_with(|| make(&self.config, self.handshake_ns))
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.get()?.wake_at()
    }

    pub(super) fn srtt(&self) -> Duration {
        let srtt = self.get().and_then(|sender| sender.round_trip().srtt());
        srtt.unwrap_or(self.handshake())
    }

    pub(super) fn min_rtt(&self) -> Duration {
        let min_rtt = self.get().and_then(Sender::min_rtt);
        min_rtt.unwrap_or(self.handshake())
    }

    pub(super) fn rto(&self) -> Duration {
        self.get().map_or(self.handshake() + LEAST, Sender::rto)
    }

    pub(super) fn cwnd(&self) -> u32 {
        self.get().map_or(self.config.initial_window, Sender::cwnd)
    }

    /// Bytes sent and not acknowledged in order.
    pub(super) fn bytes(&self) -> u64 {
        self.get().map_or(0, |sender| sender.scoreboard().bytes())
    }

    /// Segments sent for the first time.
    pub(super) fn numbered(&self) -> u64 {
        self.get().map_or(0, |sender| sender.scoreboard().end())
    }

    /// Segments sent and not acknowledged in order.
    pub(super) fn unacknowledged(&self) -> u64 {
        let count = |sender: &Sender| sender.scoreboard().end() - sender.scoreboard().first();
        self.get().map_or(0, count)
    }
}

/// Makes a sender. It is a separate function so that the check for an existing one is inlined.
#[cold]
fn make(config: &Arc<Config>, handshake_ns: u64) -> Box<Sender> {
    let mut sender = Sender::checked(config.clone());
    if handshake_ns > 0 {
        sender.measure_handshake(Duration::from_nanos(handshake_ns));
    }
    Box::new(sender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::cc::Controller;

    #[test]
    fn a_sender_knows_the_handshake_whenever_it_was_made() {
        let rtt = Duration::from_millis(20);
        for made_early in [false, true] {
            let mut half = Half::new(Arc::new(Config::new(Controller::Reno)));
            if made_early {
                assert_eq!(half.made().round_trip().srtt(), None);
            }
            half.measure(rtt);
            assert_eq!(
                half.made().round_trip().srtt(),
                Some(rtt),
                "made early: {made_early}"
            );
            assert_eq!(half.made().min_rtt(), Some(rtt));
        }
    }
}
