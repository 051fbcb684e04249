//! Configuration of a sender.

use policy::cc::Controller;
use thiserror::Error;
use units::Duration;

/// Payload of a segment, in bytes: 1,500 minus the headers of IPv4 and of TCP with timestamps.
pub const MSS: u32 = 1_448;
/// Initial window, in segments (RFC 6928 §2).
pub const INITIAL_WINDOW: u32 = 10;
/// Largest possible window, in segments: the 1 GiB that RFC 7323 §2.3 allows.
pub const MAX_WINDOW: u32 = (1 << 30) / MSS;
/// Smallest threshold after a loss, in segments (RFC 5681 §3.1).
const LEAST_THRESHOLD: u32 = 2;

/// Configuration of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Rule for window growth in congestion avoidance and for the window after a loss.
    pub control: Control,
    /// What the window grows by.
    pub growth: Growth,
    /// How the retransmission time-out follows from the samples of the RTT.
    pub timeout: Timeout,
    /// How the first slow start ends.
    pub slow_start: SlowStart,
    /// Loss detection.
    pub detection: Detection,
    /// Steps of CLA when the path fades and at a hand-off. `None`: the sender receives no orders.
    pub cla: Option<Steps>,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Slow-start threshold, in segments. `None`: the first slow start ends at a loss, or as `slow_start`
    /// says.
    pub ssthresh: Option<u32>,
    /// Whether a window is reduced after the sender was idle (RFC 7661, `tcp_slow_start_after_idle`).
    pub restarts_after_idle: bool,
    /// What an earlier connection to the same host has left (Linux's metrics cache). `None`: nothing is
    /// known, or the cache is off (`tcp_no_metrics_save`).
    pub metrics: Option<Metrics>,
    /// Whether it keeps all samples of the RTT ([`super::Sender::round_trips`]). They take memory until the
    /// sender is gone.
    pub keeps_round_trips: bool,
}

impl Config {
    /// A sender with Linux's defaults and without CLA.
    pub const fn new(controller: Controller) -> Self {
        Self {
            control: Control::Coupled(controller),
            growth: Growth::PerSegment,
            timeout: Timeout::Floored,
            slow_start: SlowStart::Standard,
            detection: Detection::Linux,
            cla: None,
            initial_window: INITIAL_WINDOW,
            ssthresh: None,
            restarts_after_idle: true,
            metrics: None,
            keeps_round_trips: false,
        }
    }

    /// A sender of a host: as [`Config::new`], with Linux's own estimator of the time-out.
    pub const fn host(control: Control) -> Self {
        Self {
            control,
            slow_start: match control {
                Control::Coupled(_) => SlowStart::Standard,
                Control::Cubic => SlowStart::DelayOrTrain,
            },
            timeout: Timeout::Linux,
            ..Self::new(Controller::Reno)
        }
    }

    /// A sender with CLA as in `bpf/cc/cla.bpf.c` (LIA, and a first slow start that ends by delay), but with
    /// these steps at a hand-off.
    pub const fn cla(steps: Steps) -> Self {
        Self {
            slow_start: SlowStart::HyStart,
            cla: Some(steps),
            ..Self::new(Controller::Lia)
        }
    }

    /// Checks that a sender can start with this configuration.
    pub const fn check(&self) -> Result<(), ConfigError> {
        if self.initial_window == 0 || self.initial_window > MAX_WINDOW {
            return Err(ConfigError::InitialWindow(self.initial_window));
        }
        match self.ssthresh {
            Some(ssthresh) if ssthresh < LEAST_THRESHOLD => Err(ConfigError::Threshold(ssthresh)),
            _ => Ok(()),
        }
    }

    /// How a hand-off changes the estimates.
    pub(super) const fn estimates(&self) -> Estimates {
        match self.cla {
            None => Estimates::Kept,
            Some(steps) => steps.estimates,
        }
    }

    /// Whether the sender ever ignores duplicate ACKs.
    pub(super) const fn ignores_duplicates(&self) -> bool {
        matches!(
            self.cla,
            Some(Steps {
                ignores_duplicates: true,
                ..
            })
        )
    }
}

/// Why a configuration is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// With this window the sender could send nothing, or more than TCP can number.
    #[error("an initial window of {0} segments; give it at least 1 and at most {MAX_WINDOW}")]
    InitialWindow(u32),
    /// No loss leaves a threshold this small.
    #[error(
        "a slow-start threshold of {0} segments; give it at least {LEAST_THRESHOLD}, or none for an unlimited slow start"
    )]
    Threshold(u32),
}

/// Rule for window growth in congestion avoidance and for the window after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A rule of windows alone, coupled to the connection's other subflows or not.
    Coupled(Controller),
    /// CUBIC, which also needs the time. Uncoupled.
    Cubic,
}

impl Control {
    /// The rule with this name: `reno`, `cubic`, `lia`, `olia` or `balia`.
    pub fn named(name: &str) -> Result<Self, ControlError> {
        Ok(match name {
            "reno" => Self::Coupled(Controller::Reno),
            "cubic" => Self::Cubic,
            "lia" => Self::Coupled(Controller::Lia),
            "olia" => Self::Coupled(Controller::Olia),
            "balia" => Self::Coupled(Controller::Balia),
            "bbr" => return Err(ControlError::Bbr),
            "cla" => return Err(ControlError::Cla),
            _ => return Err(ControlError::Unknown(name.into())),
        })
    }

    /// Whether the rule needs the windows of the connection's other subflows.
    pub const fn is_coupled(self) -> bool {
        !matches!(self, Self::Cubic | Self::Coupled(Controller::Reno))
    }
}

impl From<Controller> for Control {
    fn from(controller: Controller) -> Self {
        Self::Coupled(controller)
    }
}

/// Why virtual time has no congestion control of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ControlError {
    /// There is no model of BBR.
    #[error(
        "congestion control bbr has no model in virtual time; choose reno, cubic, lia, olia or balia, or run the scenario in the lab"
    )]
    Bbr,
    /// Senders in virtual time do not hear signals.
    #[error(
        "congestion control cla follows the client's signal, which senders in virtual time do not know; choose reno, cubic, lia, olia or balia, or run the scenario in the lab"
    )]
    Cla,
    /// No such name.
    #[error("unknown congestion control {0}; choose reno, cubic, lia, olia or balia")]
    Unknown(String),
}

/// What the window grows by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By segments acknowledged, as in Linux.
    PerSegment,
    /// By ACKs that advance, as in ns-3's NewReno: half as fast with delayed ACKs.
    PerAck,
}

/// How the retransmission time-out follows from the samples of the RTT. The maximum is 120 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// RFC 6298's estimates. Four times the deviation counts as at least 200 ms.
    Floored,
    /// Linux's estimates: as above, but the deviation rises at once with the largest one of a round trip, and
    /// falls slowly (`tcp_rtt_estimator`).
    Linux,
    /// RFC 6298's estimates and its minimum of one second in total.
    Rfc6298,
}

/// What a finished connection leaves to the next one to the same host (`net/ipv4/tcp_metrics.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metrics {
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Slow-start threshold, in segments, if a loss has set one.
    pub ssthresh: Option<u32>,
}

/// How the first slow start ends, if no threshold is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// At the first loss (RFC 5681 §3.1).
    Standard,
    /// When the RTT grows (RFC 9406).
    HyStart,
    /// When the RTT grows, or a train of ACKs lasts for half an RTT, as in Linux's CUBIC.
    DelayOrTrain,
}

/// Loss detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// As Linux: RACK, loss probes and time-outs. A reduction is undone if nothing was lost.
    Linux,
    /// A segment is lost if three segments behind it have arrived, or after a time-out. Nothing is undone.
    ThreeDuplicates,
}

/// How a hand-off changes the estimates of RTT and RTO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimates {
    /// They follow the new path gradually, as in a kernel.
    Kept,
    /// They are reset.
    Anew,
    /// They are reset, segments sent before the hand-off give no sample, and a running timer is restarted.
    Strictly,
}

/// Steps of a sender at a hand-off, apart from applying CLA's orders at the next ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// How the estimates change.
    pub estimates: Estimates,
    /// Whether duplicate ACKs are ignored for one RTO of the new path.
    pub ignores_duplicates: bool,
    /// Whether an order applies at once, unless a recovery is in progress.
    pub window_at_once: bool,
    /// The order.
    pub ordered: Ordered,
}

impl Steps {
    /// CLA in the kernel for a subflow that stays: no steps.
    pub const KERNEL: Self = Self::ordering(Ordered::Nothing);

    /// The paper's whole hand-off stage.
    pub const WHOLE: Self = Self {
        estimates: Estimates::Anew,
        ignores_duplicates: true,
        window_at_once: true,
        ordered: Ordered::ByThePathBefore,
    };

    /// An order at the next ACK, and no other steps.
    pub const fn ordering(ordered: Ordered) -> Self {
        Self {
            estimates: Estimates::Kept,
            ignores_duplicates: false,
            window_at_once: false,
            ordered,
        }
    }
}

/// Order for a sender whose subflow has a new path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    /// No order, as in `crates/linux/src/cla/advisor.rs`: the window to which the fading path was lowered
    /// stays.
    Nothing,
    /// A threshold of twice the old path's rate times the new path's RTT, once that RTT is known.
    ThresholdOnceKnown,
    /// The paper's window (`BDP_UB`), and a threshold of twice the old path's rate times the old path's RTT.
    ByThePathBefore,
}
