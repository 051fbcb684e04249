//! Congestion marks on a link, in the document of `status`.

use linux::daemon::MarkReport;
use serde::{Deserialize, Serialize};

/// Counts of marks on a link in one direction, since the first mark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    /// Share of packets to mark now, 0 to 1.
    pub rate: f64,
    /// Packets that could be marked (ECT).
    pub ect: u64,
    /// Packets that could not be marked.
    pub not_ect: u64,
    /// Packets that arrived already marked.
    pub ce: u64,
    /// Marks requested.
    pub asked: u64,
    /// Marks made.
    pub made: u64,
}

impl From<MarkReport> for Marks {
    fn from(MarkReport { rate, counters }: MarkReport) -> Self {
        Self {
            rate: rate.as_f64(),
            ect: counters.ect,
            not_ect: counters.not_ect,
            ce: counters.ce,
            asked: counters.asked,
            made: counters.made,
        }
    }
}
