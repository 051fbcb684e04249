//! An application that offers no more than a rate.

use crate::clock::Clock;
use units::{Bitrate, Duration, Instant};

/// What an application may hand to the kernel by now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    rate: Option<Bitrate>,
    started: Instant,
    given: u64,
}

/// How finely a limited application offers its bytes.
const GRAIN: Duration = Duration::from_millis(5);

impl Pace {
    /// At most `bytes_per_s` from `now` on; 0 is no limit.
    pub(crate) fn new(now: Instant, bytes_per_s: u64) -> Self {
        let rate = (bytes_per_s > 0).then(|| Bitrate::from_bps(bytes_per_s.saturating_mul(8)));
        Self {
            rate,
            started: now,
            given: 0,
        }
    }

    /// Waits until at least one byte may go; returns how many may, at most `most`.
    pub(crate) fn wait(&mut self, clock: Clock, most: u64) -> u64 {
        let Some(rate) = self.rate else { return most };
        loop {
            let earned = (rate * clock.now().since(self.started))
                .get()
                .saturating_sub(self.given);
            if earned > 0 {
                let take = earned.min(most);
                self.given += take;
                return take;
            }
            std::thread::sleep(GRAIN);
        }
    }
}
