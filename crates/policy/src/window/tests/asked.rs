//! The estimated capacity of the links while the application asks for less.

use super::*;

/// One connection over links of 50 ms without a queue.
struct Links {
    window: Window,
    now: Instant,
    received: Bytes,
}

fn shown(mbps: u64) -> Need {
    let queued = false;
    Need {
        queued,
        ..need(mbps, 50)
    }
}

impl Links {
    fn new() -> Self {
        Self {
            window: Window::default(),
            now: Instant::ZERO,
            received: Bytes::from_kib(1_024),
        }
    }

    /// After five seconds at 90 Mb/s, and two at 9 Mb/s in which the 90 were not forgotten yet.
    fn busy_before() -> Self {
        let mut links = Self::new();
        links.bring(5, 90, shown(90));
        links.bring(2, 9, shown(90));
        links
    }

    /// Data arrives at this rate, and `need` says what was shown lately.
    fn bring(&mut self, seconds: u64, mbps: u64, need: Need) {
        (0..seconds * 20).for_each(|_| self.step(Bitrate::from_mbps(mbps), need));
    }

    fn step(&mut self, rate: Bitrate, need: Need) {
        let step = Duration::from_millis(50);
        self.now += step;
        self.received += rate * step;
        let received = self.received;
        self.window.update(self.now, Need { received, ..need });
    }

    fn believed(&self) -> Bitrate {
        self.window.capacity()
    }
}

#[test]
fn low_traffic_does_not_lower_the_capacity() {
    let mut links = Links::busy_before();
    let before = links.window.bound();
    links.bring(60, 9, shown(9));
    assert_eq!(links.believed(), Bitrate::from_mbps(90));
    assert_eq!(links.window.bound(), before);
    links.bring(1, 120, shown(120));
    assert_eq!(links.believed(), Bitrate::from_mbps(120));
}

#[test]
fn busy_links_that_become_slower_lower_the_capacity() {
    let mut links = Links::busy_before();
    links.bring(3, 60, shown(60));
    assert_eq!(links.believed(), Bitrate::from_mbps(60));
}

#[test]
fn a_queue_lowers_the_capacity_for_good() {
    let mut links = Links::busy_before();
    let queued = true;
    links.bring(3, 9, Need { queued, ..shown(9) });
    assert_eq!(links.believed(), Bitrate::from_mbps(9));
    links.bring(60, 9, shown(9));
    assert_eq!(links.believed(), Bitrate::from_mbps(9));
}

#[test]
fn a_link_that_is_gone_has_no_capacity() {
    let mut links = Links::busy_before();
    links.bring(10, 9, shown(9));
    assert_eq!(links.believed(), Bitrate::from_mbps(90));
    links.bring(1, 6, Need { links: 2, ..shown(6) });
    assert_eq!(links.believed(), Bitrate::from_mbps(6));
}

#[test]
fn a_falling_signal_lowers_the_capacity_at_once() {
    let mut links = Links::busy_before();
    let sinking = true;
    links.bring(3, 9, Need { sinking, ..shown(9) });
    assert_eq!(links.believed(), Bitrate::from_mbps(9));
}

#[test]
fn demand_that_starts_low_and_then_rises_is_not_limited() {
    let mut links = Links::new();
    let rtt = Duration::from_millis(80);
    links.bring(120, 9, Need { rtt, ..shown(9) });
    // From now on the sender fills any window, up to 60 Mb/s.
    let full = Bitrate::from_mbps(60);
    for _ in 0..10 * 20 {
        let rate = links.window.bound().unwrap().per(rtt).min(full);
        links.step(
            rate,
            Need {
                rate,
                rtt,
                ..shown(0)
            },
        );
    }
    assert_eq!(links.believed(), full);
}
