//! The accuracy of the estimator on a sender with known loss.

use super::synthetic::{Load, Sender, Setting, US};
use super::*;
use alloc::vec;
use units::MacAddr;

const FAST: Bitrate = Bitrate::from_mbps(54);
const SLOW: Bitrate = Bitrate::from_mbps(6);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A sender with one receiver, us, and an estimator.
pub(super) fn pair(seed: u64, aggregate: usize, q: f64, frames_per_window: u64) -> (Delivery, Sender) {
    let setting = Setting {
        loads: vec![ours(aggregate, q)],
        spacing: Duration::from_nanos(500_000_000 / frames_per_window),
        ack_loss: Ratio::ZERO,
        bare_retries: Ratio::ZERO,
    };
    (Delivery::new(Config::HT), Sender::new(seed, setting))
}

fn ours(aggregate: usize, q: f64) -> Load {
    Load {
        to: US,
        tid: Some(0),
        aggregate,
        rate: FAST,
        turns: 2,
        to_us: Ratio::clamped(q),
        to_receiver: Ratio::clamped(q),
        counted: true,
    }
}

/// Errors of an estimate over many windows.
#[derive(Debug, Default)]
struct Errors {
    windows: f64,
    /// Mean distance from the window's own realised ratio.
    realised: f64,
    /// Mean distance from the true probability, and what counting alone costs.
    truth: f64,
    counting: f64,
    /// Mean of the estimate less the realised ratio.
    bias: f64,
    fewest: usize,
}

fn errors(config: Config, seed: u64, setting: Setting, q: f64, windows: u64) -> Errors {
    let mut delivery = Delivery::new(config);
    let mut sender = Sender::new(seed, setting);
    let mut errors = Errors {
        fewest: usize::MAX,
        ..Errors::default()
    };
    for window in 1..=windows {
        let until = Instant::from_secs(2) + config.window * window as u32;
        sender.run(until, |now, frame| delivery.hear(now, frame));
        let Estimate::Known { delivered, .. } = delivery.estimate(until) else {
            panic!("window {window}: {:?}", delivery.estimate(until))
        };
        let (realised, n) = sender.truth.realised(until - config.window, until);
        errors.take(delivered.as_f64(), realised, n, q);
    }
    errors.mean()
}

impl Errors {
    fn take(&mut self, estimate: f64, realised: f64, n: usize, q: f64) {
        self.windows += 1.0;
        self.realised += (estimate - realised).abs();
        self.truth += (estimate - (1.0 - q)).abs();
        self.counting += (2.0 * q * (1.0 - q) / (core::f64::consts::PI * n as f64)).sqrt();
        self.bias += estimate - realised;
        self.fewest = self.fewest.min(n);
    }

    fn mean(mut self) -> Self {
        for sum in [
            &mut self.realised,
            &mut self.truth,
            &mut self.counting,
            &mut self.bias,
        ] {
            *sum /= self.windows;
        }
        self
    }

    fn must_follow_what_happened(&self, what: &str) {
        println!("{what}: {self:.5?}");
        assert!(self.windows >= 1_000.0 && self.fewest >= 250, "{what}: {self:?}");
        assert!(self.realised <= 0.015, "{what}: mean error {self:?}");
        assert!(self.bias.abs() <= 0.005, "{what}: bias {self:?}");
    }

    fn must_hold(&self, what: &str) {
        self.must_follow_what_happened(what);
        assert!(
            self.truth <= 1.1 * self.counting + 1e-12,
            "{what}: against the truth {self:?}"
        );
    }
}

const LOSSES: [f64; 8] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
const WINDOWS: u64 = 1_000;

fn alone(load: Load, spacing_us: u64) -> Setting {
    Setting {
        loads: vec![load],
        spacing: Duration::from_micros(spacing_us),
        ack_loss: Ratio::ZERO,
        bare_retries: Ratio::ZERO,
    }
}

/// Frames to another station, which hears one in five badly whatever we hear.
fn theirs(number: u32, tid: Option<u8>, rate: Bitrate, to_us: f64) -> Load {
    Load {
        to: MacAddr::local(number),
        tid,
        rate,
        turns: 1,
        to_receiver: Ratio::from_fraction(1, 5),
        counted: false,
        ..ours(1, to_us)
    }
}

/// Rate in 100 kb/s, frames in an aggregate, microseconds from frame to frame: from short frames of 802.11a to full aggregates of 802.11n.
const STREAMS: [(u64, usize, u64); 7] = [
    (60, 1, 700),
    (240, 1, 600),
    (540, 1, 400),
    (540, 2, 350),
    (1_300, 16, 600),
    (3_000, 32, 250),
    (6_000, 64, 200),
];

#[test]
fn estimates_are_as_good_as_counting_allows() {
    for q in LOSSES {
        for (hundred_kbps, aggregate, spacing_us) in STREAMS {
            let rate = Bitrate::from_kbps(hundred_kbps * 100);
            let load = Load {
                rate,
                ..ours(aggregate, q)
            };
            errors(Config::HT, 11, alone(load, spacing_us), q, WINDOWS)
                .must_hold(&format!("q {q}, {rate}, aggregates of {aggregate}"));
        }
    }
}

/// Rate control at work: frames of one counter go at three rates in turn, and are lost as that rate is. There is no one true
/// probability then, since frames that get through more often begin more often.
#[test]
fn changing_rates_mix_as_their_frames_do() {
    for spread in [0.0, 0.1, 0.2] {
        let q = 0.3;
        let at = |kbps, loss| Load {
            rate: Bitrate::from_kbps(kbps),
            ..ours(1, loss)
        };
        let loads = vec![at(24_000, q - spread), at(36_000, q), at(54_000, q + spread)];
        let setting = Setting {
            loads,
            ..alone(ours(1, q), 500)
        };
        errors(Config::HT, 18, setting, q, WINDOWS).must_follow_what_happened(&format!("q {q} ± {spread}"));
    }
}

#[test]
fn others_with_counters_of_their_own_change_nothing() {
    for q in LOSSES {
        for aggregate in [1, 8, 64] {
            let load = Load {
                turns: 15,
                ..ours(aggregate, q)
            };
            let mut setting = alone(load, 150);
            setting
                .loads
                .extend((10..40).map(|n| theirs(n, Some(0), SLOW, 0.5)));
            let what = format!("q {q}, aggregates of {aggregate}, beside 30 stations");
            errors(Config::HT, 12, setting, q, WINDOWS).must_hold(&what);
        }
    }
}

#[test]
fn others_at_our_rate_on_the_same_counter_change_nothing() {
    for q in LOSSES {
        let us = Load {
            tid: None,
            ..ours(1, q)
        };
        let mut setting = alone(us, 500);
        setting.loads.push(Load {
            counted: true,
            ..theirs(10, None, FAST, q)
        });
        errors(Config::LEGACY, 13, setting, q, WINDOWS).must_hold(&format!("q {q}, one counter, one rate"));
    }
}

#[test]
fn everybodys_frames_tell_how_we_hear_an_access_point_that_serves_others() {
    for q in LOSSES {
        let station = |n| Load {
            counted: true,
            aggregate: 4,
            ..theirs(n, Some(0), FAST, q)
        };
        let setting = Setting {
            loads: (10..20).map(station).collect(),
            ..alone(ours(1, q), 400)
        };
        let config = Config {
            scope: Scope::Everybody,
            ..Config::HT
        };
        errors(config, 14, setting, q, WINDOWS).must_hold(&format!("q {q}, not joined"));
    }
}

#[test]
fn lost_acknowledgements_change_nothing() {
    for (q, aggregate) in [(0.1, 1), (0.5, 16)] {
        let setting = Setting {
            ack_loss: Ratio::from_fraction(1, 20),
            ..alone(ours(aggregate, q), 500)
        };
        errors(Config::HT, 15, setting, q, WINDOWS).must_hold(&format!("q {q}, ACKs lost"));
    }
}

#[test]
fn others_at_another_rate_on_the_same_counter_are_never_mistaken_for_losses() {
    let mut setting = alone(
        Load {
            tid: None,
            ..ours(1, 0.1)
        },
        500,
    );
    setting.loads.push(theirs(10, None, SLOW, 0.5));
    let mut delivery = Delivery::new(Config::LEGACY);
    let mut sender = Sender::new(16, setting);
    for window in 3..203 {
        let until = ms(500 * window);
        sender.run(until, |now, frame| delivery.hear(now, frame));
        let (realised, _) = sender.truth.realised(until - Config::LEGACY.window, until);
        let Estimate::Unattributable {
            at_least, at_most, ..
        } = delivery.estimate(until)
        else {
            panic!("{:?}", delivery.estimate(until))
        };
        let bounds = at_least.as_f64() - 0.01..=at_most.as_f64() + 0.01;
        assert!(bounds.contains(&realised), "{realised} outside {bounds:?}");
    }
}

#[test]
fn without_the_retry_bit_the_estimate_is_too_good_by_the_share_of_bare_retries() {
    for (q, bare) in [(0.1, 0.5), (0.3, 0.5), (0.3, 1.0)] {
        let setting = Setting {
            bare_retries: Ratio::clamped(bare),
            ..alone(ours(1, q), 500)
        };
        let errors = errors(Config::HT, 17, setting, q, WINDOWS);
        println!("q {q}, {bare} of the retries bare: bias {:.4}", errors.bias);
        // A frame delivered by a retry, nearly q of all, counts as first if the attempt that arrived was a bare one.
        assert!((errors.bias - q * bare).abs() < 0.01, "{errors:?}");
    }
}
