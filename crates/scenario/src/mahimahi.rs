//! Rate traces in the format of Mahimahi.
//!
//! One line for each delivery opportunity of one packet (1,500 bytes): whole milliseconds since the start, never decreasing. After
//! the last one the trace begins again, so that the last line is also its period.
//!
//! # Sources
//! - Netravali et al.: Mahimahi, USENIX ATC 2015, and `mm-link(1)`: the format; an opportunity that finds no packet is wasted.
//!
//! # Where we differ, and why
//! 1. An empty line or a trace without time is refused: in a scenario it is a broken file, not a dead link.
//! 2. An opportunity carries 1,500 bytes, the packet of our links; Mahimahi's own packets are 1,504 with its framing.

use crate::source::Problem;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// What one opportunity carries.
pub const OPPORTUNITY: Bytes = Bytes::new(1_500);

/// When a link can deliver a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    path: String,
    times_ms: Arc<[u32]>,
}

impl RateTrace {
    /// Reads the text of the file called `name` in messages; `path` is how the scenario calls it.
    pub(crate) fn parse(name: &str, path: &str, text: &str) -> Result<Self, Problem> {
        let mut times_ms = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let digits = line.trim_end_matches(['\n', '\r']);
            let last = times_ms.last().copied();
            let time =
                time(digits, last).map_err(|wrong| wrong.problem(name, text, start..start + digits.len()))?;
            times_ms.push(time);
            start += line.len();
        }
        let empty = Wrong::new(
            "the trace never delivers",
            "give one time in milliseconds a line, the last above 0",
        );
        match times_ms.last() {
            None | Some(0) => Err(empty.problem(name, text, text.len()..text.len())),
            Some(_) => Ok(Self {
                path: path.to_owned(),
                times_ms: times_ms.into(),
            }),
        }
    }

    /// The file, as the scenario names it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The opportunities of one period, in milliseconds since its start.
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// The opportunities of one period, since its start.
    pub fn times(&self) -> impl Iterator<Item = Duration> {
        self.times_ms
            .iter()
            .map(|&ms| Duration::from_millis(u64::from(ms)))
    }

    /// After this long it begins again.
    pub fn period(&self) -> Duration {
        Duration::from_millis(u64::from(self.times_ms[self.times_ms.len() - 1]))
    }

    /// The mean rate.
    pub fn mean(&self) -> Bitrate {
        (OPPORTUNITY * self.times_ms.len() as u64).per(self.period())
    }

    /// The longest time without an opportunity, the step from one period to the next included.
    pub fn longest_gap(&self) -> Duration {
        let steps = self.times_ms.windows(2).map(|pair| pair[1] - pair[0]);
        let longest = steps.chain([self.times_ms[0]]).max().unwrap_or(0);
        Duration::from_millis(u64::from(longest))
    }
}

/// What is wrong with a line, and what would be right.
struct Wrong {
    what: String,
    instead: String,
}

impl Wrong {
    fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            instead: instead.into(),
        }
    }

    fn problem(self, name: &str, text: &str, span: std::ops::Range<usize>) -> Problem {
        Problem::new(name, text, span, self.what, self.instead)
    }
}

/// A trace may last a day.
const LONGEST_MS: u32 = 86_400_000;

fn time(digits: &str, last: Option<u32>) -> Result<u32, Wrong> {
    const FORM: &str = "a line is the time of one delivery in whole milliseconds, such as 17";
    if digits.is_empty() {
        return Err(Wrong::new("the line is empty", FORM));
    }
    let shown: String = digits.chars().take(40).collect();
    if digits.starts_with('-') && digits[1..].bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Wrong::new(format!("{shown} is negative"), FORM));
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Wrong::new(format!("`{shown}` is not a time"), FORM));
    }
    let time = digits.parse().ok().filter(|&time| time <= LONGEST_MS);
    match (time, last) {
        (None, _) => Err(Wrong::new(
            format!("{shown} ms is more than a day"),
            "cut the trace: it is repeated anyway",
        )),
        (Some(time), Some(last)) if time < last => Err(Wrong::new(
            format!("{time} comes after {last}: time runs backwards"),
            "sort the trace: times may be equal, but never decrease",
        )),
        (Some(time), _) => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(text: &str) -> String {
        let problem = RateTrace::parse("lte.down", "lte.down", text).unwrap_err();
        format!(
            "{}:{}:{}: {}; {}",
            problem.spot.file, problem.spot.line, problem.spot.column, problem.what, problem.instead
        )
    }

    #[test]
    fn rate_period_and_gap_follow_from_the_times() {
        let trace = RateTrace::parse("t", "t", "0\n1\n1\n4\n6\n10\r\n").unwrap();
        assert_eq!(trace.period(), Duration::from_millis(10));
        assert_eq!(trace.mean(), Bitrate::from_bps(6 * 12_000 * 100));
        assert_eq!(trace.longest_gap(), Duration::from_millis(4));
        assert_eq!(trace.times().nth(3), Some(Duration::from_millis(4)));
    }

    #[test]
    fn bad_lines_are_named() {
        let form = "a line is the time of one delivery in whole milliseconds, such as 17";
        let table = [
            ("1\nabc\n", format!("lte.down:2:1: `abc` is not a time; {form}")),
            ("1\n\n2\n", format!("lte.down:2:1: the line is empty; {form}")),
            ("-4\n", format!("lte.down:1:1: -4 is negative; {form}")),
            ("1.5\n", format!("lte.down:1:1: `1.5` is not a time; {form}")),
            (
                "5\n4\n",
                "lte.down:2:1: 4 comes after 5: time runs backwards; sort the trace: times may be equal, but never decrease".into(),
            ),
            (
                "99999999999\n",
                "lte.down:1:1: 99999999999 ms is more than a day; cut the trace: it is repeated anyway".into(),
            ),
            (
                "",
                "lte.down:1:1: the trace never delivers; give one time in milliseconds a line, the last above 0".into(),
            ),
            (
                "0\n0\n",
                "lte.down:3:1: the trace never delivers; give one time in milliseconds a line, the last above 0".into(),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(message(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9\\-a\n\r é]{0,40}") {
            if let Ok(trace) = RateTrace::parse("t", "t", &text) {
                prop_assert!(trace.times_ms().is_sorted());
                prop_assert!(trace.period() > Duration::ZERO);
            }
        }
    }
}
