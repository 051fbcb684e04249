//! Why an access point is used, demoted or marked.

use crate::io::reason::Steer;
use alloc::format;
use alloc::string::String;
use core::fmt;
use units::Duration;

/// Milliseconds with two decimals.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.as_micros() / 10;
        write!(f, "{}.{:02} ms", hundredths / 100, hundredths % 100)
    }
}

pub(super) fn sentence(steer: Steer) -> String {
    match steer {
        Steer::Efficient { packet_time, best } => format!(
            "a packet takes {} of airtime, and {} at the channel's best access point",
            Millis(packet_time),
            Millis(best)
        ),
        Steer::Poor { packet_time, best } => format!(
            "a packet takes {} of airtime, but only {} at the channel's best access point",
            Millis(packet_time),
            Millis(best)
        ),
        Steer::Short { goodput, alone } => format!(
            "the better access points carry {goodput}, less than the {alone} that this one could, although airtime is left"
        ),
        Steer::NoGain { before, with } => {
            format!("its use gained nothing: goodput was {with} with it and {before} before")
        }
        Steer::Trying { with } => format!("a trial shows whether goodput rises above {with} without it"),
        Steer::Missed { with, without } => {
            format!("without it goodput fell to {without}; with it, goodput was {with}")
        }
        Steer::Marked {
            rate,
            target,
            packet_time,
            best,
        } => format!(
            "{rate} of its packets are marked, towards {target}: a packet takes {} of airtime, and {} at the best",
            Millis(packet_time),
            Millis(best)
        ),
        Steer::OnlyOne { chosen } => format!(
            "one access point at a time: no other takes clearly less airtime than its {} per packet",
            Millis(chosen)
        ),
        Steer::OneAtATime { packet_time, best } => format!(
            "one access point at a time: its packets take {} of airtime, those of the chosen one {}",
            Millis(packet_time),
            Millis(best)
        ),
    }
}
