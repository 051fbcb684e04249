//! What really happened on the air, written down as JSON Lines.
//!
//! Every 100 ms there is a line for each access point and direction in which anything happened, and one for
//! each channel. [docs/wifi-box.md] explains the keys.
//!
//! [docs/wifi-box.md]: ../../../../docs/wifi-box.md
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` in the guest.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use units::{Bitrate, Dbm, Duration, Instant};

/// Length of a bin.
pub const BIN: Duration = Duration::from_millis(100);

/// The direction of a frame between an access point and the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To the client.
    Down,
    /// To the access point.
    Up,
}

/// One attempt with a data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// 0 for the first one of its frame.
    pub number: u32,
    /// Whether its acknowledgement arrived.
    pub acknowledged: bool,
    /// Whether another frame began in the same slot.
    pub collided: bool,
    /// Whether it was the last one.
    pub last: bool,
    /// Its rate.
    pub rate: Bitrate,
    /// Length of the frame.
    pub bytes: u32,
    /// Busy air.
    pub air: Duration,
    /// The same with the wait for the medium, in the mean.
    pub with_contention: Duration,
}

/// Frames longer than this carry full packets, so that their airtime is comparable.
const FULL: u32 = 1_400;

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    frames: u64,
    first_lost: u64,
    first_collided: u64,
    attempts: u64,
    lost: u64,
    collided: u64,
    given_up: u64,
    dropped: u64,
    bytes: u64,
    kbps: u64,
    air: Duration,
    full: u64,
    full_attempts: u64,
    full_air: Duration,
}

impl Counts {
    fn count(&mut self, attempt: &Attempt) {
        self.attempts += 1;
        self.lost += u64::from(!attempt.acknowledged);
        self.collided += u64::from(attempt.collided);
        self.given_up += u64::from(attempt.last && !attempt.acknowledged);
        self.air += attempt.air;
        if attempt.number == 0 {
            self.frames += 1;
            self.first_lost += u64::from(!attempt.acknowledged);
            self.first_collided += u64::from(attempt.collided);
        }
        if attempt.acknowledged {
            self.bytes += u64::from(attempt.bytes);
        }
        self.kbps += attempt.rate.as_bps() / 1_000;
        if attempt.bytes > FULL {
            self.full += u64::from(attempt.acknowledged);
            self.full_attempts += 1;
            self.full_air += attempt.with_contention;
        }
    }

    fn line(&self, t_s: f64, ap: &str, way: Way) -> Value {
        json!({
            "t_s": t_s, "ap": ap, "way": if way == Way::Down { "down" } else { "up" },
            "frames": self.frames, "first_lost": self.first_lost,
            "first_collided": self.first_collided, "attempts": self.attempts,
            "lost": self.lost, "collided": self.collided, "given_up": self.given_up, "dropped": self.dropped,
            "bytes": self.bytes, "mean_kbps": self.kbps / self.attempts.max(1), "air_us": self.air.as_micros() as u64,
            "full": self.full, "full_attempts": self.full_attempts, "full_air_us": self.full_air.as_micros() as u64,
        })
    }
}

/// The writer of the truth.
#[derive(Debug)]
pub struct Truth<W: Write> {
    out: W,
    names: Vec<String>,
    /// When the current bin began.
    bin: Instant,
    counts: Vec<[Counts; 2]>,
    busy: BTreeMap<u32, Duration>,
    /// How late an event was carried out at most, since the last line about an event.
    late: Duration,
    /// The first error of the writer.
    failed: Option<io::Error>,
}

impl<W: Write> Truth<W> {
    /// A truth about access points of these names, from this time on.
    pub fn new(out: W, names: Vec<String>, now: Instant) -> Self {
        Self {
            out,
            counts: vec![[Counts::default(); 2]; names.len()],
            names,
            bin: now,
            busy: BTreeMap::new(),
            late: Duration::ZERO,
            failed: None,
        }
    }

    /// Records an attempt between an access point and the client.
    pub fn attempt(&mut self, ap: usize, way: Way, attempt: &Attempt) {
        self.counts[ap][way as usize].count(attempt);
    }

    /// Records a frame for which no queue had room.
    pub fn dropped(&mut self, ap: usize, way: Way) {
        self.counts[ap][way as usize].dropped += 1;
    }

    /// Records that a channel was busy.
    pub fn busy(&mut self, mhz: u32, time: Duration) {
        *self.busy.entry(mhz).or_default() += time;
    }

    /// Records how late an event was carried out.
    pub fn late(&mut self, by: Duration) {
        self.late = self.late.max(by);
    }

    /// When the current bin ends.
    pub fn due(&self) -> Instant {
        self.bin + BIN
    }

    /// Writes down all bins that have ended. `signals` has that of each access point at the client.
    pub fn advance(&mut self, now: Instant, signals: impl Fn(usize) -> Dbm) {
        while self.due() <= now {
            let t_s = self.bin.as_secs_f64();
            for ap in 0..self.names.len() {
                for way in [Way::Down, Way::Up] {
                    let counts = std::mem::take(&mut self.counts[ap][way as usize]);
                    if counts.attempts + counts.dropped > 0 {
                        let mut line = counts.line(t_s, &self.names[ap], way);
                        line["signal_dbm"] = signals(ap).as_dbm_f64().into();
                        self.write(&line);
                    }
                }
            }
            for (mhz, busy) in std::mem::take(&mut self.busy) {
                self.write(&json!({"t_s": t_s, "mhz": mhz, "busy_us": busy.as_micros() as u64}));
            }
            self.bin = self.due();
        }
    }

    /// Writes down an event with its figures.
    pub fn event(&mut self, now: Instant, event: &str, figures: &Value) {
        let late = std::mem::take(&mut self.late).as_micros() as u64;
        let line = json!({
            "t_s": now.as_secs_f64(), "event": event, "late_max_us": late, "figures": figures,
        });
        self.write(&line);
        let flushed = self.out.flush();
        self.failed = self.failed.take().or(flushed.err());
    }

    /// The first error of the writer.
    pub fn failed(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    fn write(&mut self, line: &Value) {
        let written = writeln!(self.out, "{line}");
        self.failed = self.failed.take().or(written.err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, acknowledged: bool) -> Attempt {
        Attempt {
            number,
            acknowledged,
            collided: false,
            last: acknowledged,
            rate: Bitrate::from_mbps(54),
            bytes: 1_500,
            air: Duration::from_micros(290),
            with_contention: Duration::from_micros(400),
        }
    }

    #[test]
    fn a_bin_has_what_happened_in_it() {
        let mut truth = Truth::new(Vec::new(), vec!["near".into()], Instant::from_secs(5));
        truth.attempt(0, Way::Down, &attempt(0, false));
        truth.attempt(0, Way::Down, &attempt(1, true));
        truth.attempt(0, Way::Down, &attempt(0, true));
        truth.busy(2_437, Duration::from_millis(1));
        truth.advance(Instant::from_millis(5_099), |_| Dbm::from_dbm(-50));
        assert!(truth.out.is_empty());
        truth.advance(Instant::from_millis(5_350), |_| Dbm::from_dbm(-50));
        assert_eq!(truth.due(), Instant::from_millis(5_400));
        let text = String::from_utf8(truth.out).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        let figures = [
            "frames",
            "first_lost",
            "attempts",
            "lost",
            "bytes",
            "air_us",
            "full",
            "full_air_us",
        ];
        assert_eq!(
            figures.map(|key| lines[0][key].as_u64().unwrap()),
            [2, 1, 3, 1, 3_000, 870, 2, 1_200]
        );
        assert_eq!(
            (lines[0]["way"].as_str(), lines[0]["signal_dbm"].as_f64()),
            (Some("down"), Some(-50.0))
        );
        assert_eq!(lines[1]["busy_us"], 1_000);
    }
}
