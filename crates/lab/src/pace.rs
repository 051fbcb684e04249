//! Paces an application that offers data at a limited rate, in blocks.
//!
//! It writes the bytes of one grain of time at once. An application that writes each byte as soon as it may
//! writes some 300 bytes at a time at 20 Mb/s. These become segments of that size, and windows count
//! segments. The connection's queues and windows would then describe the writer more than the network.

use crate::clock::Clock;
use units::{Bitrate, Duration, Instant};

/// How many bytes an application may hand to the kernel by now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    rate: Option<Bitrate>,
    started: Instant,
    given: u64,
}

/// Time whose bytes a limited application writes at once.
const GRAIN: Duration = Duration::from_millis(5);

impl Pace {
    /// Allows at most `bytes_per_s` from `now` on; 0 means no limit.
    pub(crate) fn new(now: Instant, bytes_per_s: u64) -> Self {
        let rate = (bytes_per_s > 0).then(|| Bitrate::from_bps(bytes_per_s.saturating_mul(8)));
        Self {
            rate,
            started: now,
            given: 0,
        }
    }

    /// Waits until the bytes of one grain, or `most`, may go. Returns how many bytes may go, at most `most`.
    pub(crate) fn wait(&mut self, clock: Clock, most: u64) -> u64 {
        let Some(rate) = self.rate else { return most };
        let block = (rate * GRAIN).get().clamp(1, most.max(1));
        loop {
            let earned = (rate * clock.now().since(self.started))
                .get()
                .saturating_sub(self.given);
            if earned >= block {
                let take = earned.min(most);
                self.given += take;
                return take;
            }
            std::thread::sleep(GRAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_application_writes_blocks() {
        let clock = Clock::start();
        let rate = Bitrate::from_mbps(20);
        let mut pace = Pace::new(clock.now(), rate.as_bps() / 8);
        let block = (rate * GRAIN).get();
        let written: Vec<u64> = (0..20).map(|_| pace.wait(clock, 1 << 20)).collect();
        assert!(written.iter().all(|&bytes| bytes >= block), "{written:?}");
        let most = rate * clock.now().since(Instant::ZERO);
        assert!(written.iter().sum::<u64>() <= most.get());
        // A smaller buffer fills before its grain is over.
        assert!(pace.wait(clock, 100) <= 100);
    }

    #[test]
    fn without_a_limit_everything_is_sent() {
        let clock = Clock::start();
        assert_eq!(Pace::new(clock.now(), 0).wait(clock, 7), 7);
    }
}
