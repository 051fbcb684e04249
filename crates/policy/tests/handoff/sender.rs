//! A sender that always has something to send: windows from `policy::cc`, and around them what Linux does with losses and time-outs.
//!
//! # Sources
//! - RFC 6298 §5 (the timer), RFC 6937 (proportional rate reduction), RFC 8985 §7 (the loss probe), RFC 3522 and RFC 2883 (what shows that a
//!   segment was sent again for nothing: the timestamp of its first transmission, or its second arrival).
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_try_undo_*`), `tcp_output.c`
//!   (`tcp_schedule_loss_probe`); `bpf/cc/control.h` and `orders.h` for CLA.
//!
//! # Where we differ, and why
//! 1. No F-RTO: timestamps prove a false time-out with the same acknowledgement.
//! 2. A loss probe is new data always, and comes only where it is sooner than the time-out.

mod orders;
mod time;

use super::board::{Board, Segment};
use crate::model::Repair;
use policy::cc::{Controller, Credit, Flow, HandOffStage, HyStart, RoundTrip};
use units::{Duration, Instant};

/// What a segment carries.
pub const MSS: u32 = 1_448;
const FIRST_WINDOW: u32 = 10;
/// No loss, no order has said where slow start ends.
const ENDLESS: u32 = u32::MAX;

/// How losses are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// As Linux: RACK, loss probes, and what turns out to have been no loss is undone.
    Linux,
    /// Three segments behind it, or a time-out.
    Plain,
}

/// What becomes of the estimates at a hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimates {
    Kept,
    /// They begin anew.
    Anew,
    /// And segments that were sent before it are not measured, and a timer that runs is set anew.
    Strictly,
}

/// What a sender does at a hand-off, besides CLA's orders at the next acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    pub estimates: Estimates,
    /// Duplicates are ignored for one time-out.
    pub deaf: bool,
    /// The window is there at once, unless a loss is being repaired.
    pub at_once: bool,
    pub ordered: Ordered,
}

/// What is ordered when there is another path under the subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    /// As `crates/linux/src/cla/advisor.rs`: what the fading path was lowered to stays.
    Nothing,
    /// A threshold by the new path's round trip, once that is known.
    ThresholdOnceKnown,
    /// `BDP_UB`, and a threshold by the round trip of the path before.
    ByThePathBefore,
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nobody tells it anything.
    Reno,
    Cla(Steps),
}

impl Kind {
    pub const fn estimates(self) -> Estimates {
        match self {
            Self::Reno => Estimates::Kept,
            Self::Cla(steps) => steps.estimates,
        }
    }

    pub const fn is_deaf(self) -> bool {
        matches!(self, Self::Cla(Steps { deaf: true, .. }))
    }
}

/// What has happened to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub again: u64,
    pub timeouts: u64,
    pub probes: u64,
    pub undone: u64,
    pub recoveries: u64,
    pub orders: u64,
    /// Estimates that began anew.
    pub resets: u64,
    /// Acknowledgements of what came out of order that were no sign of loss.
    pub ignored: u64,
}

enum Phase {
    Open,
    Recovery { until: u64, repair: Repair },
    Loss { until: u64 },
}

/// As before the last loss.
struct Undo {
    cwnd: u32,
    ssthresh: u32,
    /// When something was first sent again for it.
    since: Option<Instant>,
    /// Transmissions of what is not known to have arrived twice.
    unproven: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Timer {
    Rto,
    Probe,
}

struct Order {
    cwnd: u32,
    ssthresh: Option<u32>,
}

/// One subflow's sender.
pub struct Sender {
    kind: Kind,
    detection: Detection,
    pub counts: Counts,
    board: Board,
    cwnd: u32,
    ssthresh: u32,
    credit: Credit,
    start: HyStart,
    delivered: u64,
    round_end: u64,
    phase: Phase,
    undo: Option<Undo>,
    /// Estimates that live through a hand-off, those that do not, and those of what was sent since.
    lasting: RoundTrip,
    anew: RoundTrip,
    strict: RoundTrip,
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
    pub fn new(kind: Kind, detection: Detection) -> Self {
        Self {
            kind,
            detection,
            counts: Counts::default(),
            board: Board::new(),
            cwnd: FIRST_WINDOW,
            ssthresh: ENDLESS,
            credit: Credit::default(),
            start: HyStart::default(),
            delivered: 0,
            round_end: 0,
            phase: Phase::Open,
            undo: None,
            lasting: RoundTrip::default(),
            anew: RoundTrip::default(),
            strict: RoundTrip::default(),
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
        }
    }

    /// A subflow over a path that is new to it begins with this window, and its slow start ends at this threshold.
    pub fn begin_with(&mut self, cwnd: u32, ssthresh: u32) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// Everything that has been sent, and arrived in order.
    pub const fn acknowledged(&self) -> u64 {
        self.board.first()
    }

    pub const fn has_seen_reordering(&self) -> bool {
        self.board.seen_reordering()
    }

    const fn round_trip(&self) -> &RoundTrip {
        match self.kind.estimates() {
            Estimates::Kept => &self.lasting,
            Estimates::Anew => &self.anew,
            Estimates::Strictly => &self.strict,
        }
    }

    fn controller(&self) -> (Controller, [Flow; 1]) {
        let controller = match self.kind {
            Kind::Reno => Controller::Reno,
            Kind::Cla(_) => Controller::Lia,
        };
        let srtt = self.round_trip().srtt().unwrap_or_default();
        let flow = Flow {
            cwnd: self.cwnd,
            srtt_us: srtt.as_micros() as u32,
            ..Flow::default()
        };
        (controller, [flow])
    }

    /// These transmissions have arrived, in this order.
    pub fn acknowledge(&mut self, now: Instant, arrivals: &[Segment]) {
        let (before, mut newly) = (self.board.first(), 0);
        for &segment in arrivals {
            if self.board.arrive(now, segment) {
                newly += 1;
            } else {
                self.arrived_twice();
            }
        }
        let sent = arrivals.last().expect("an acknowledgement of something").sent;
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

    fn measure(&mut self, now: Instant, sent: Instant) {
        self.last_rtt = now - sent;
        self.lasting.sample(self.last_rtt);
        self.stage.measure(now, sent, &mut self.anew);
        let of_this_path = sent >= self.handed_off;
        if of_this_path {
            self.strict.sample(self.last_rtt);
        }
        if of_this_path || self.kind.estimates() != Estimates::Strictly {
            let shortest = self.min_rtt.map_or(self.last_rtt, |rtt| rtt.min(self.last_rtt));
            self.min_rtt = Some(shortest);
        }
        self.heeds_at = self.stage.heeds_again_at(now).filter(|_| self.kind.is_deaf());
    }

    fn is_deaf(&self, now: Instant) -> bool {
        self.kind.is_deaf() && self.stage.ignores_duplicates(now)
    }

    /// Marks what is lost; how many.
    fn detect(&mut self, now: Instant) -> u32 {
        self.look_at = None;
        if self.is_deaf(now) {
            return 0;
        }
        let marked = match self.detection {
            Detection::Plain => self.board.mark_behind(),
            Detection::Linux => {
                let repairs = !matches!(self.phase, Phase::Open);
                let srtt = self.round_trip().srtt().unwrap_or_default();
                let window = self.board.reordering_window(repairs, self.min_rtt, srtt);
                let (marked, look_at) = self.board.mark_late(now, window);
                self.look_at = look_at;
                marked
            }
        };
        if marked > 0 && matches!(self.phase, Phase::Open) {
            self.reduce();
            self.counts.recoveries += 1;
            self.phase = Phase::Recovery {
                until: self.board.end(),
                repair: Repair::new(self.cwnd),
            };
        }
        marked
    }

    /// A loss, the first of its round trip.
    fn reduce(&mut self) {
        self.undo = Some(Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            since: None,
            unproven: 0,
        });
        let (controller, flows) = self.controller();
        self.ssthresh = controller.after_loss(0, &flows);
    }

    /// The repair of a loss may be over.
    fn leave(&mut self) {
        let first = self.board.first();
        match self.phase {
            Phase::Recovery { until, .. } if first >= until => {
                self.cwnd = self.ssthresh;
                self.board.recovered();
                self.phase = Phase::Open;
            }
            Phase::Loss { until } if first >= until => self.phase = Phase::Open,
            Phase::Open | Phase::Recovery { .. } | Phase::Loss { .. } => {}
        }
        self.probed_to = self.probed_to.filter(|&probed| first < probed);
    }

    /// The window after an acknowledgement of so many segments.
    fn adapt(&mut self, newly: u32, advanced: bool) {
        if let Phase::Recovery { repair, .. } = &mut self.phase {
            let in_flight = self.board.in_flight();
            self.cwnd = in_flight + repair.may_send(newly, self.ssthresh, in_flight);
        } else if advanced {
            self.obey();
            self.grow(newly);
        }
    }

    /// As `obey` in `bpf/cc/orders.h`.
    fn obey(&mut self) {
        if let Some(order) = self.order.take() {
            self.counts.orders += 1;
            self.credit = Credit::default();
            self.round_end = self.delivered;
            self.ssthresh = order.ssthresh.unwrap_or(self.ssthresh);
            self.cwnd = order.cwnd;
        }
    }

    fn grow(&mut self, newly: u32) {
        let acked = if self.cwnd < self.ssthresh {
            self.slow_start(newly)
        } else {
            newly
        };
        if acked > 0 {
            let (controller, flows) = self.controller();
            let more = self.credit.add(controller.increase(0, &flows), acked);
            self.cwnd = self.cwnd.saturating_add_signed(more).max(2);
        }
    }

    /// What is left for congestion avoidance; as `start_by_delay` in `bpf/cc/control.h` for CLA.
    fn slow_start(&mut self, acked: u32) -> u32 {
        if self.kind == Kind::Reno || self.ssthresh < ENDLESS {
            let grown = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            return acked - grown;
        }
        if self.delivered >= self.round_end {
            self.start.round();
            self.round_end = self.delivered + self.board.end() - self.board.first();
        }
        self.start.sample(self.last_rtt.as_micros() as u32);
        self.cwnd += self.start.growth(acked);
        if self.start.is_over() {
            self.ssthresh = self.cwnd;
        }
        0
    }
}

/// What was no loss.
impl Sender {
    fn arrived_twice(&mut self) {
        self.board.arrived_twice();
        let Some(undo) = &mut self.undo else {
            return;
        };
        if undo.unproven > 0 {
            undo.unproven -= 1;
            if undo.unproven == 0 {
                self.undo();
            }
        }
    }

    /// What fills the first hole was sent at `sent`: if that was before the repair began, there was nothing to repair.
    fn undo_if_late(&mut self, sent: Instant) {
        let Some(undo) = &self.undo else {
            return;
        };
        let late = undo.since.is_none_or(|since| sent < since);
        let waits = undo.since.is_some_and(|since| self.board.waits_for_repair(since));
        let undone = match self.phase {
            Phase::Open => false,
            Phase::Recovery { .. } => late && !waits,
            Phase::Loss { .. } => late,
        };
        if undone {
            self.undo();
        }
    }

    fn undo(&mut self) {
        if self.detection == Detection::Plain {
            return;
        }
        if let Some(undo) = self.undo.take() {
            self.counts.undone += 1;
            self.cwnd = self.cwnd.max(undo.cwnd);
            self.ssthresh = self.ssthresh.max(undo.ssthresh);
            self.board.unmark();
            self.phase = Phase::Open;
        }
    }
}
