//! The sender itself: what it knows, and what an acknowledgement does.

mod hand_off;
mod recovery;
mod timers;
mod window;

use super::config::{Config, ConfigError, Estimates};
use super::scoreboard::{Arrival, Scoreboard, Segment};
use policy::cc::{Credit, HandOffStage, HyStart, RoundTrip};
use recovery::{Phase, Undo};
use timers::Timer;
use units::{Duration, Instant};

/// No loss, no order has said where slow start ends.
const ENDLESS: u32 = u32::MAX;

/// What has happened to a sender since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Loss probes.
    pub probes: u64,
    /// Reductions of the window that were taken back, because nothing had been lost.
    pub undone: u64,
    /// Losses that were noticed without a time-out, one for each recovery.
    pub recoveries: u64,
    /// Orders that were obeyed.
    pub orders: u64,
    /// Estimates that began anew.
    pub resets: u64,
    /// Acknowledgements of what came out of order that were no sign of loss.
    pub ignored: u64,
}

/// A window that CLA wants, in segments, and where slow start ends with it.
#[derive(Debug, Clone, Copy)]
struct Order {
    cwnd: u32,
    ssthresh: Option<u32>,
}

/// One subflow's sender, which always has something to send. How to play it: [`crate::tcp`].
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
    counts: Counts,
    board: Scoreboard,
    cwnd: u32,
    ssthresh: u32,
    credit: Credit,
    start: HyStart,
    delivered: u64,
    round_end: u64,
    phase: Phase,
    undo: Option<Undo>,
    round_trip: RoundTrip,
    stage: HandOffStage,
    handed_off: Instant,
    min_rtt: Option<Duration>,
    last_rtt: Duration,
    timer: Option<(Instant, Timer)>,
    /// When what is not yet late will be.
    look_at: Option<Instant>,
    /// When duplicates count again.
    heeds_at: Option<Instant>,
    probed_to: Option<u64>,
    order: Option<Order>,
    /// Bytes per second when the path began to fade.
    faded: Option<f64>,
    /// The same, while the new path's round trip is not known; and the shortest so far, until so much is acknowledged.
    carried: Option<f64>,
    shortest: Option<(Duration, u64)>,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            counts: Counts::default(),
            board: Scoreboard::default(),
            cwnd: config.initial_window,
            ssthresh: config.ssthresh.unwrap_or(ENDLESS),
            credit: Credit::default(),
            start: HyStart::default(),
            delivered: 0,
            round_end: 0,
            phase: Phase::Open,
            undo: None,
            round_trip: RoundTrip::default(),
            stage: HandOffStage::default(),
            handed_off: Instant::ZERO,
            min_rtt: None,
            last_rtt: Duration::ZERO,
            timer: None,
            look_at: None,
            heeds_at: None,
            probed_to: None,
            order: None,
            faded: None,
            carried: None,
            shortest: None,
        })
    }

    /// What has happened so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Congestion window, in segments.
    pub const fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Where slow start ends, in segments; `None` while nothing has said so.
    pub const fn ssthresh(&self) -> Option<u32> {
        if self.ssthresh == ENDLESS {
            None
        } else {
            Some(self.ssthresh)
        }
    }

    /// What it knows of its segments.
    pub const fn scoreboard(&self) -> &Scoreboard {
        &self.board
    }

    /// Its estimates of round trip and time-out.
    pub const fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// The acknowledgement of these arrivals is here; they arrived in this order. Without any it is none, and arrivals of what was never
    /// sent are ignored.
    pub fn acknowledge(&mut self, now: Instant, arrivals: &[Segment]) {
        let before = self.board.first();
        let Some((newly, sent)) = self.take_in(now, arrivals) else {
            return;
        };
        self.delivered += u64::from(newly);
        let advanced = self.board.first() > before;
        self.measure(now, sent);
        self.learn(sent);
        if advanced {
            self.undo_if_late(sent);
        } else if self.is_deaf(now) && newly > 0 {
            self.counts.ignored += 1;
        }
        self.detect(now);
        self.leave();
        if newly > 0 {
            self.adapt(newly, advanced);
        }
        if advanced {
            self.set_timer(now);
        }
    }

    /// How many of them are new, and when the last of them was sent.
    fn take_in(&mut self, now: Instant, arrivals: &[Segment]) -> Option<(u32, Instant)> {
        let (mut newly, mut last) = (0, None);
        for &segment in arrivals {
            match self.board.arrive(now, segment) {
                Arrival::New => newly += 1,
                Arrival::Duplicate => self.arrived_twice(),
                Arrival::NeverSent => continue,
            }
            last = Some(segment.sent);
        }
        last.map(|sent| (newly, sent))
    }

    fn measure(&mut self, now: Instant, sent: Instant) {
        self.last_rtt = now - sent;
        let of_this_path = sent >= self.handed_off;
        let mut of_the_stage = RoundTrip::default();
        match self.config.estimates() {
            Estimates::Anew => self.stage.measure(now, sent, &mut self.round_trip),
            estimates => {
                self.stage.measure(now, sent, &mut of_the_stage);
                if of_this_path || estimates == Estimates::Kept {
                    self.round_trip.sample(self.last_rtt);
                }
            }
        }
        if of_this_path || self.config.estimates() != Estimates::Strictly {
            let shortest = self.min_rtt.map_or(self.last_rtt, |rtt| rtt.min(self.last_rtt));
            self.min_rtt = Some(shortest);
        }
        self.heed(now);
    }

    /// When duplicates count again, if they do not now.
    fn heed(&mut self, now: Instant) {
        let heeds_at = self.stage.heeds_again_at(now);
        self.heeds_at = heeds_at.filter(|_| self.config.ignores_duplicates());
    }

    fn is_deaf(&self, now: Instant) -> bool {
        self.config.ignores_duplicates() && self.stage.ignores_duplicates(now)
    }
}
