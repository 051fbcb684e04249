//! State of the sender, and how an ACK changes it.

mod acks;
mod cubic;
mod hand_off;
mod recovery;
mod timeout;
mod timers;
mod usage;
mod window;

use super::config::{Config, ConfigError, Control, Estimates, Metrics};
use super::scoreboard::{Arrival, Scoreboard, Segment};
use cubic::CubicPath;
use policy::cc::{Credit, Flow, HandOffStage, HyStart, Increase, Interval, MeanWindow, RoundTrip};
use recovery::{Phase, Undo};
use std::sync::Arc;
use timeout::Deviation;
use timers::Timer;
pub use timers::Woken;
pub(crate) use timers::earlier;
use units::{Duration, Instant};
use usage::Usage;

/// Slow-start threshold before any loss or order.
const ENDLESS: u32 = u32::MAX;

/// Counters of a sender since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Loss probes.
    pub probes: u64,
    /// Window reductions that were undone because nothing had been lost.
    pub undone: u64,
    /// Recoveries: losses detected without a time-out.
    pub recoveries: u64,
    /// Orders applied.
    pub orders: u64,
    /// Resets of the estimates.
    pub resets: u64,
    /// ACKs of out-of-order arrivals that were ignored as signs of loss.
    pub ignored: u64,
    /// Window reductions by ECN.
    pub congested: u64,
    /// Bytes acknowledged in order.
    pub acknowledged: u64,
}

/// Window ordered by CLA, in segments, and the slow-start threshold.
#[derive(Debug, Clone, Copy)]
struct Order {
    cwnd: u32,
    ssthresh: Option<u32>,
}

/// Sender of one subflow. [`crate::tcp`] describes how to drive it.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Arc<Config>,
    counts: Counts,
    board: Scoreboard,
    cwnd: u32,
    ssthresh: u32,
    credit: Credit,
    start: HyStart,
    /// Growth per segment of a coupled window, computed once per round trip.
    increase: Increase,
    mean: MeanWindow,
    interval: Interval,
    cubic: Option<Box<CubicPath>>,
    usage: Usage,
    delivered: u64,
    round_end: u64,
    phase: Phase,
    undo: Option<Box<Undo>>,
    /// Whether the next new segment carries CWR.
    owes_cwr: bool,
    round_trip: RoundTrip,
    deviation: Deviation,
    min_rtt: Option<Duration>,
    last_rtt: Duration,
    /// When segments were acknowledged, and the RTT of the latest of them.
    round_trips: Vec<(Instant, Duration)>,
    timer: Option<(Instant, Timer)>,
    /// When to check again for late segments.
    check_late_at: Option<Instant>,
    probed_to: Option<u64>,
    /// State of CLA, if the sender has it.
    cla: Option<Box<Cla>>,
}

/// State of CLA's hand-off stage.
#[derive(Debug, Clone, Default)]
struct Cla {
    stage: HandOffStage,
    handed_off: Instant,
    /// When duplicate ACKs count again.
    duplicates_count_at: Option<Instant>,
    order: Option<Order>,
    /// Rate in bytes per second when the path began to fade.
    faded: Option<f64>,
    /// `faded`, while the new path's RTT is unknown. `shortest` has the minimum RTT so far, and the segment
    /// up to which it is measured.
    carried: Option<f64>,
    shortest: Option<(Duration, u64)>,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::checked(Arc::new(config)))
    }

    /// A sender with a configuration that [`Config::check`] accepts.
    pub(crate) fn checked(config: Arc<Config>) -> Self {
        Self {
            counts: Counts::default(),
            board: Scoreboard::default(),
            cwnd: config.initial_window,
            ssthresh: initial_threshold(&config),
            credit: Credit::default(),
            start: HyStart::default(),
            increase: Increase::default(),
            mean: MeanWindow::default(),
            interval: Interval::default(),
            cubic: (config.control == Control::Cubic).then(Box::default),
            usage: Usage::default(),
            delivered: 0,
            round_end: 0,
            phase: Phase::Open,
            undo: None,
            owes_cwr: false,
            round_trip: seed(config.metrics),
            deviation: Deviation::default(),
            min_rtt: None,
            last_rtt: Duration::ZERO,
            round_trips: Vec::new(),
            timer: None,
            check_late_at: None,
            probed_to: None,
            cla: config.cla.map(|_| Box::default()),
            config,
        }
    }

    /// Counters so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Congestion window, in segments.
    pub const fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Slow-start threshold, in segments. `None` before any loss or order.
    pub const fn ssthresh(&self) -> Option<u32> {
        if self.ssthresh == ENDLESS {
            None
        } else {
            Some(self.ssthresh)
        }
    }

    /// State of the segments.
    pub const fn scoreboard(&self) -> &Scoreboard {
        &self.board
    }

    /// Estimates of RTT and RTO.
    pub const fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// The path, as the controllers of the other subflows of the connection see it.
    pub fn flow(&self) -> Flow {
        let srtt = self.round_trip.srtt().unwrap_or_default();
        Flow {
            cwnd: self.settled_window(),
            srtt_us: srtt.as_micros() as u32,
            mean: self.mean,
            interval: self.interval,
        }
    }

    /// Congestion window in segments. In recovery: what it will be at the end.
    pub const fn settled_window(&self) -> u32 {
        match self.phase {
            Phase::Recovery { .. } | Phase::Loss { .. } => self.ssthresh,
            Phase::Open | Phase::Reduced { .. } => self.cwnd,
        }
    }

    /// Minimum RTT. `None` until the first sample.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// All samples of the RTT, if the configuration asks for them: when each was taken, and the RTT of the
    /// latest segment that was acknowledged then.
    pub fn round_trips(&self) -> &[(Instant, Duration)] {
        &self.round_trips
    }

    /// What this connection leaves to the next one to the same host. `None` without a sample.
    pub fn metrics(&self) -> Option<Metrics> {
        self.round_trip.srtt().map(|srtt| Metrics {
            srtt,
            ssthresh: self.ssthresh(),
        })
    }

    /// Processes the ACK of these arrivals, which are in order of arrival. Does nothing if there are none.
    /// Ignores arrivals of segments that were never sent.
    pub fn acknowledge(&mut self, now: Instant, arrivals: &[Segment]) {
        let before = self.board.first();
        let Some((newly, sent)) = self.process_arrivals(now, arrivals) else {
            return;
        };
        self.delivered += u64::from(newly);
        let advanced = self.board.first() > before;
        self.measure(now, sent);
        self.learn_round_trip(sent);
        if advanced {
            self.undo_if_late(sent);
        } else if self.ignores_duplicates_now(now) && newly > 0 {
            self.counts.ignored += 1;
        }
        self.detect(now, &[]);
        self.leave();
        if newly > 0 {
            self.adapt(now, newly, advanced, &[]);
        }
        if advanced {
            self.set_timer(now);
        }
    }

    /// Processes the arrivals. Returns how many are new, and when the last of them was sent.
    fn process_arrivals(&mut self, now: Instant, arrivals: &[Segment]) -> Option<(u32, Instant)> {
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
        let estimates = self.config.estimates();
        let of_this_path = self.cla.as_ref().is_none_or(|cla| sent >= cla.handed_off);
        if let Some(cla) = &mut self.cla {
            let mut of_the_stage = RoundTrip::default();
            let round_trip = match estimates {
                Estimates::Anew => &mut self.round_trip,
                Estimates::Kept | Estimates::Strictly => &mut of_the_stage,
            };
            cla.stage.measure(now, sent, round_trip);
        }
        let is_taken = match estimates {
            Estimates::Anew => false,
            Estimates::Kept => true,
            Estimates::Strictly => of_this_path,
        };
        if is_taken {
            self.sample(self.last_rtt);
        }
        if of_this_path || estimates != Estimates::Strictly {
            self.shorten_min_rtt();
        }
        self.set_duplicates_count_at(now);
    }

    fn shorten_min_rtt(&mut self) {
        let shortest = self.min_rtt.map_or(self.last_rtt, |rtt| rtt.min(self.last_rtt));
        self.min_rtt = Some(shortest);
    }

    /// Sets the time when duplicate ACKs count again, if they are ignored now.
    fn set_duplicates_count_at(&mut self, now: Instant) {
        let ignores = self.config.ignores_duplicates();
        if let Some(cla) = &mut self.cla {
            cla.duplicates_count_at = cla.stage.heeds_again_at(now).filter(|_| ignores);
        }
    }

    fn ignores_duplicates_now(&self, now: Instant) -> bool {
        let ignores = |cla: &Cla| cla.stage.ignores_duplicates(now);
        self.config.ignores_duplicates() && self.cla.as_deref().is_some_and(ignores)
    }
}

/// Threshold before the first loss.
fn initial_threshold(config: &Config) -> u32 {
    let cached = config.metrics.and_then(|metrics| metrics.ssthresh);
    config.ssthresh.or(cached).unwrap_or(ENDLESS)
}

/// Estimates before the first sample. A cached RTT shortens the first time-out, as in Linux.
fn seed(metrics: Option<Metrics>) -> RoundTrip {
    let mut round_trip = RoundTrip::default();
    if let Some(metrics) = metrics {
        round_trip.sample(metrics.srtt);
    }
    round_trip
}
