//! Goodput of a WiFi link, and what limits it: its air, or something behind the access point.
//!
//! A client cannot see an access point's queue. It sees how much it receives and how much of the air is
//! taken, by anyone. If data arrives and hardly any air is left, the air is the limit, and steering other
//! clients off the channel helps. If data arrives and air is left, the queue is elsewhere: in the backhaul,
//! or in the sender's window.
//!
//! # Sources
//! - nsdi15 §5.2, figure 4: the two scenarios to tell apart. §5.1: `1 / T` is the maximum that an access
//!   point can carry alone.
//! - The project's first study of steering: air counts as full from 97 % up, with means over 1 s.
//!
//! # Where we differ, and why
//! 1. "Taken" includes the contention without which no frame gets the air: busy time alone reaches 76 % with
//!    one saturated 802.11g sender at 54 Mb/s. If several stations contend, their waiting times overlap, and
//!    the sum is limited to one.
//! 2. Both verdicts have a hysteresis: the decisions they feed must not flap.
//!
//! # Checked by
//! `tests/engine_air.rs`: through the engine ([`crate::LinkEvent::Survey`]). `tests` below.
//! `tests/bandwidth_links.rs`: access points of `links`, saturated, behind a slow backhaul, beside others,
//! idle. `golden/bandwidth.csv`.

pub use crate::io::air::Sight;

use super::airtime::Contention;
use super::tuning::LEAST_OBSERVED;
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

/// Time constant of the means, in seconds.
const MEMORY_S: f64 = 1.0;
/// Taken share at which the air becomes full, and the share below which it is no longer full.
const FULL: [f64; 2] = [0.97, 0.90];
/// Share of the link's rate alone at which it becomes busy, and the share below which it is idle again.
const BUSY: [f64; 2] = [0.05, 0.025];

/// What limits a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Nothing: it has hardly any traffic.
    Idle,
    /// The air of its channel is full.
    Air,
    /// Air is left: the limit is its backhaul, or the sender.
    Backhaul,
}

/// Goodput of one link, and use of its channel's air.
#[derive(Debug, Clone)]
pub struct Bandwidth {
    /// Idle time per exchange.
    contention: Duration,
    began: Option<Instant>,
    at: Instant,
    last: Sight,
    goodput_bps: f64,
    taken: f64,
    limit: Limit,
}

impl Bandwidth {
    /// Creates the estimator of a link whose channel has these contention rules.
    pub fn new(contention: &Contention) -> Self {
        Self {
            contention: contention.first(),
            began: None,
            at: Instant::ZERO,
            last: Sight::default(),
            goodput_bps: 0.0,
            taken: 0.0,
            limit: Limit::Idle,
        }
    }

    /// Takes in the counters. `airtime` is that of a full packet of `packet` bytes, `None` if nothing gets
    /// through.
    pub fn read(&mut self, now: Instant, sight: Sight, packet: Bytes, airtime: Option<Duration>) {
        let since = now - self.at;
        let Some(began) = self.began else {
            (self.began, self.at, self.last) = (Some(now), now, sight);
            return;
        };
        if since.is_zero() {
            return;
        }
        let received = sight.received - self.last.received;
        let taken = self.taken_since(sight).as_nanos() as f64 / since.as_nanos() as f64;
        // Until the memory is full, this is the mean over everything.
        let of_all = since.as_secs_f64() / (now - began).as_secs_f64();
        let share = of_all.max(-libm::expm1(-since.as_secs_f64() / MEMORY_S));
        self.goodput_bps += (received.per(since).as_bps() as f64 - self.goodput_bps) * share;
        self.taken += (taken.min(1.0) - self.taken) * share;
        (self.at, self.last) = (now, sight);
        self.judge(alone(packet, airtime));
    }

    fn taken_since(&self, sight: Sight) -> Duration {
        let exchanges = sight.exchanges.saturating_sub(self.last.exchanges);
        let waited = self.contention.as_nanos() * u128::from(exchanges);
        let waited = Duration::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX));
        sight.busy.saturating_sub(self.last.busy).saturating_add(waited)
    }

    fn judge(&mut self, alone: Bitrate) {
        let busy = BUSY[usize::from(self.limit != Limit::Idle)];
        let full = FULL[usize::from(self.limit == Limit::Air)];
        self.limit = if self.goodput_bps <= busy * alone.as_bps() as f64 {
            Limit::Idle
        } else if self.taken >= full {
            Limit::Air
        } else {
            Limit::Backhaul
        };
    }

    /// Mean receive rate.
    pub fn goodput(&self) -> Bitrate {
        Bitrate::from_bps(self.goodput_bps as u64)
    }

    /// Share of the channel's air that is taken, contention included.
    pub fn taken(&self) -> Ratio {
        Ratio::clamped(self.taken)
    }

    /// What limits the link. `None` in its first half second.
    pub fn limit(&self) -> Option<Limit> {
        self.began
            .filter(|&began| self.at - began >= LEAST_OBSERVED)
            .map(|_| self.limit)
    }

    /// Rate that the link could carry in addition, in the air that is left.
    pub fn room(&self, packet: Bytes, airtime: Option<Duration>) -> Bitrate {
        let left = alone(packet, airtime).as_bps() as f64 * (1.0 - self.taken);
        Bitrate::from_bps(left.max(0.0) as u64)
    }
}

/// Rate of the link with all the air. Zero if nothing gets through.
fn alone(packet: Bytes, airtime: Option<Duration>) -> Bitrate {
    airtime.map_or(Bitrate::ZERO, |airtime| packet.per(airtime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::airtime::{Exchange, Form};
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use units::wifi::Standard;

    const PACKET: Bytes = Bytes::new(1_500);

    fn airtime() -> Option<Duration> {
        let exchange = Exchange::legacy(Standard::G, Bitrate::from_mbps(54), 1_500);
        exchange.airtime(Form::PerDelivered, Ratio::ZERO)
    }

    /// Adds `ours` and `theirs` packets per second for `seconds`, with ten samples per second.
    fn exchange_packets(bandwidth: &mut Bandwidth, sight: &mut Sight, seconds: u64, ours: u64, theirs: u64) {
        let from = bandwidth.at;
        for n in 1..=seconds * 10 {
            sight.received += PACKET * (ours / 10);
            sight.exchanges += (ours + theirs) / 10;
            sight.busy += Duration::from_micros(298) * ((ours + theirs) / 10) as u32;
            bandwidth.read(
                from + Duration::from_millis(100) * n as u32,
                *sight,
                PACKET,
                airtime(),
            );
        }
    }

    fn fresh() -> (Bandwidth, Sight) {
        let mut bandwidth = Bandwidth::new(&Contention::dcf(Standard::G));
        bandwidth.read(Instant::from_secs(1), Sight::default(), PACKET, airtime());
        (bandwidth, Sight::default())
    }

    #[test]
    fn a_saturated_link_is_limited_by_its_air() {
        // 393.5 µs per packet: 2,541 packets per second.
        let (mut bandwidth, mut sight) = fresh();
        exchange_packets(&mut bandwidth, &mut sight, 3, 2_540, 0);
        assert_eq!(bandwidth.limit(), Some(Limit::Air));
        assert!(
            bandwidth.taken() >= Ratio::from_ppm(990_000),
            "{}",
            bandwidth.taken()
        );
        assert!(bandwidth.room(PACKET, airtime()) < Bitrate::from_kbps(400));
    }

    #[test]
    fn a_slow_backhaul_leaves_air() {
        let (mut bandwidth, mut sight) = fresh();
        exchange_packets(&mut bandwidth, &mut sight, 3, 830, 0);
        assert_eq!(bandwidth.limit(), Some(Limit::Backhaul));
        let goodput = bandwidth.goodput().as_mbps_f64();
        assert!((9.9..10.0).contains(&goodput), "{goodput}");
        // A third of 30.5 Mb/s is used.
        let room = bandwidth.room(PACKET, airtime()).as_mbps_f64();
        assert!((20.0..21.0).contains(&room), "{room}");
    }

    #[test]
    fn others_can_fill_the_air() {
        let (mut bandwidth, mut sight) = fresh();
        exchange_packets(&mut bandwidth, &mut sight, 3, 830, 1_700);
        assert_eq!(bandwidth.limit(), Some(Limit::Air));
        exchange_packets(&mut bandwidth, &mut sight, 5, 0, 2_530);
        assert_eq!(bandwidth.limit(), Some(Limit::Idle));
    }

    #[test]
    fn a_verdict_does_not_flap() {
        let (mut bandwidth, mut sight) = fresh();
        exchange_packets(&mut bandwidth, &mut sight, 3, 2_540, 0);
        exchange_packets(&mut bandwidth, &mut sight, 3, 2_340, 0);
        assert_eq!(bandwidth.limit(), Some(Limit::Air), "92 % is not enough to leave");
        exchange_packets(&mut bandwidth, &mut sight, 5, 2_200, 0);
        assert_eq!(bandwidth.limit(), Some(Limit::Backhaul));
        exchange_packets(&mut bandwidth, &mut sight, 5, 2_340, 0);
        assert_eq!(
            bandwidth.limit(),
            Some(Limit::Backhaul),
            "92 % is not enough to enter"
        );
    }

    #[test]
    fn there_is_no_verdict_at_first() {
        let (mut bandwidth, mut sight) = fresh();
        assert_eq!(bandwidth.limit(), None);
        exchange_packets(&mut bandwidth, &mut sight, 1, 2_540, 0);
        assert_eq!(bandwidth.limit(), Some(Limit::Air));
    }

    #[test]
    fn golden_vectors_hold() {
        let text = include_str!("../../../../golden/bandwidth.csv");
        let rows = text.lines().filter(|line| !line.starts_with(['#', 's']));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let number = |at: usize| cells[at].parse::<u64>().ok();
            let standard = if cells[0] == "b" { Standard::B } else { Standard::G };
            let mut bandwidth = Bandwidth::new(&Contention::dcf(standard));
            let sight = Sight {
                received: Bytes::new(number(1).unwrap()),
                busy: Duration::from_micros(number(2).unwrap()),
                exchanges: number(3).unwrap(),
            };
            let airtime = number(4).map(Duration::from_nanos);
            bandwidth.read(Instant::ZERO, Sight::default(), PACKET, airtime);
            bandwidth.read(Instant::from_secs(1), sight, PACKET, airtime);
            let taken_ppm = libm::round(bandwidth.taken().as_f64() * 1e6) as u64;
            let got = [
                bandwidth.goodput().as_bps(),
                taken_ppm,
                bandwidth.room(PACKET, airtime).as_bps(),
            ];
            let limit = match bandwidth.limit().unwrap() {
                Limit::Idle => "idle",
                Limit::Air => "air",
                Limit::Backhaul => "backhaul",
            };
            assert_eq!(
                (got.map(Some), limit),
                ([number(5), number(6), number(7)], cells[8]),
                "{row}"
            );
            count += 1;
        }
        assert!(count >= 8, "only {count} vectors");
    }

    proptest! {
        #[test]
        fn any_counters_give_bounded_answers(readings in proptest::collection::vec(any::<(u32, u64, u64, u64, Option<u64>)>(), 0..50)) {
            let mut bandwidth = Bandwidth::new(&Contention::dcf(Standard::B));
            let mut now = Instant::ZERO;
            for (later, received, busy, exchanges, airtime) in readings {
                now += Duration::from_nanos(later.into());
                let sight = Sight { received: Bytes::new(received), busy: Duration::from_nanos(busy), exchanges };
                bandwidth.read(now, sight, PACKET, airtime.map(Duration::from_nanos));
                prop_assert!(bandwidth.taken() <= Ratio::ONE);
                prop_assert!(bandwidth.goodput_bps.is_finite() && bandwidth.goodput_bps >= 0.0);
                let _ = bandwidth.room(PACKET, airtime.map(Duration::from_nanos));
            }
        }

        #[test]
        fn a_busier_channel_never_leaves_more(
            readings in proptest::collection::vec((1_u64..2_000, 0_u64..10_000_000, 0_u64..2_000_000, 0_u64..4_000), 2..40), more_us in 0_u64..1_000_000,
        ) {
            let told = |more_us: u64| {
                let (mut bandwidth, mut sight) = fresh();
                let mut now = Instant::from_secs(1);
                for &(later_ms, bytes, busy_us, exchanges) in &readings {
                    now += Duration::from_millis(later_ms);
                    sight.received += Bytes::new(bytes);
                    sight.busy += Duration::from_micros(busy_us + more_us);
                    sight.exchanges += exchanges;
                    bandwidth.read(now, sight, PACKET, airtime());
                }
                bandwidth
            };
            let (calm, busy) = (told(0), told(more_us));
            prop_assert_eq!(calm.goodput(), busy.goodput());
            prop_assert!(calm.taken() <= busy.taken());
            prop_assert!(calm.room(PACKET, airtime()) >= busy.room(PACKET, airtime()));
        }

        #[test]
        fn twice_as_much_is_twice_the_goodput(readings in proptest::collection::vec((1_u64..2_000, 0_u64..10_000_000), 2..40)) {
            let goodput = |factor: u64| {
                let (mut bandwidth, mut sight) = fresh();
                let mut now = Instant::from_secs(1);
                for &(later_ms, bytes) in &readings {
                    now += Duration::from_millis(later_ms);
                    sight.received += Bytes::new(bytes * factor);
                    bandwidth.read(now, sight, PACKET, airtime());
                }
                bandwidth.goodput().as_bps()
            };
            // Each sample is rounded down to whole bits per second.
            prop_assert!((goodput(1) * 2).abs_diff(goodput(2)) <= 100, "{} {}", goodput(1), goodput(2));
        }
    }
}
