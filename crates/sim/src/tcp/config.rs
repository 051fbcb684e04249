//! What can be chosen of a sender.

use policy::cc::Controller;
use thiserror::Error;

/// Payload of a segment, in bytes: 1,500 without the headers of IPv4 and of TCP with timestamps.
pub const MSS: u32 = 1_448;
/// What a sender begins with, in segments (RFC 6928 §2).
pub const INITIAL_WINDOW: u32 = 10;
/// No window can be larger, in segments: the gibibyte that RFC 7323 §2.3 allows.
pub const MAX_WINDOW: u32 = (1 << 30) / MSS;
/// No window may be reduced to less, in segments (RFC 5681 §3.1).
const LEAST_THRESHOLD: u32 = 2;

/// A sender as it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How its window grows in congestion avoidance, and what is left of it after a loss.
    pub controller: Controller,
    /// How its first slow start ends.
    pub slow_start: SlowStart,
    /// How it notices losses.
    pub detection: Detection,
    /// What CLA does with it when its path fades and when it is handed off; `None`: nobody tells it anything.
    pub cla: Option<Steps>,
    /// Its first window, in segments.
    pub initial_window: u32,
    /// Where its first slow start ends, in segments; `None`: at a loss, or as `slow_start` says.
    pub ssthresh: Option<u32>,
}

impl Config {
    /// A sender as Linux begins it, that is told nothing of its path.
    pub const fn new(controller: Controller) -> Self {
        Self {
            controller,
            slow_start: SlowStart::Standard,
            detection: Detection::Linux,
            cla: None,
            initial_window: INITIAL_WINDOW,
            ssthresh: None,
        }
    }

    /// A sender with CLA, as `bpf/cc/cla.bpf.c` has it, but for these steps at a hand-off: LIA, and a first slow start that ends by delay.
    pub const fn cla(steps: Steps) -> Self {
        Self {
            slow_start: SlowStart::HyStart,
            cla: Some(steps),
            ..Self::new(Controller::Lia)
        }
    }

    /// Whether a sender can begin so.
    pub const fn check(&self) -> Result<(), ConfigError> {
        if self.initial_window == 0 || self.initial_window > MAX_WINDOW {
            return Err(ConfigError::InitialWindow(self.initial_window));
        }
        match self.ssthresh {
            Some(ssthresh) if ssthresh < LEAST_THRESHOLD => Err(ConfigError::Threshold(ssthresh)),
            _ => Ok(()),
        }
    }

    /// What becomes of its estimates at a hand-off.
    pub(super) const fn estimates(&self) -> Estimates {
        match self.cla {
            None => Estimates::Kept,
            Some(steps) => steps.estimates,
        }
    }

    /// Whether it ever ignores duplicates.
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

/// Why a sender cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Nothing could be sent, or more than TCP can number.
    #[error("an initial window of {0} segments; give it at least 1 and at most {MAX_WINDOW}")]
    InitialWindow(u32),
    /// No loss leaves so little.
    #[error(
        "a slow-start threshold of {0} segments; give it at least {LEAST_THRESHOLD}, or none for a slow start without an end"
    )]
    Threshold(u32),
}

/// How the first slow start ends, where no threshold is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// At the first loss (RFC 5681 §3.1).
    Standard,
    /// When the round trip grows (RFC 9406).
    HyStart,
}

/// How losses are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// As Linux: RACK, loss probes, time-outs, and what turns out to have been no loss is undone.
    Linux,
    /// Three segments behind it, or a time-out; nothing is undone.
    ThreeDuplicates,
}

/// What becomes of the estimates of round trip and time-out at a hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimates {
    /// They follow the new path, as a kernel's do.
    Kept,
    /// They begin anew.
    Anew,
    /// They do, segments that were sent before are not measured, and a timer that runs is set anew.
    Strictly,
}

/// What a sender does at a hand-off, besides obeying CLA's orders at the next acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Its estimates.
    pub estimates: Estimates,
    /// Duplicates are no sign of loss for one time-out of the new path.
    pub ignores_duplicates: bool,
    /// What is ordered is there at once, unless a loss is being repaired.
    pub window_at_once: bool,
    /// What is ordered.
    pub ordered: Ordered,
}

impl Steps {
    /// What CLA does in the kernel with a subflow that stays: nothing.
    pub const KERNEL: Self = Self::ordering(Ordered::Nothing);

    /// The whole of the paper's hand-off stage.
    pub const WHOLE: Self = Self {
        estimates: Estimates::Anew,
        ignores_duplicates: true,
        window_at_once: true,
        ordered: Ordered::ByThePathBefore,
    };

    /// An order at the next acknowledgement, and nothing else.
    pub const fn ordering(ordered: Ordered) -> Self {
        Self {
            estimates: Estimates::Kept,
            ignores_duplicates: false,
            window_at_once: false,
            ordered,
        }
    }
}

/// What a sender is ordered when there is another path under its subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    /// As `crates/linux/src/cla/advisor.rs`: what the fading path was lowered to stays.
    Nothing,
    /// A threshold of twice what the path before carried, by the new path's round trip, once that is known.
    ThresholdOnceKnown,
    /// The window of the paper (`BDP_UB`), and such a threshold by the round trip of the path before.
    ByThePathBefore,
}
