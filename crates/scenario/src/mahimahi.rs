//! Rate traces in the format of Mahimahi.
//!
//! One line for each delivery opportunity of one packet (1,500 bytes): whole milliseconds since the start,
//! never decreasing. After the last one the trace restarts, so the last line is also its period.
//!
//! # Sources
//! - Netravali et al.: Mahimahi, USENIX ATC 2015, and `mm-link(1)`: the format; an opportunity that finds no
//!   packet is wasted.
//!
//! # Where we differ, and why
//! 1. An empty line or a trace without time is refused: in a scenario it is a broken file, not a dead link.
//! 2. An opportunity carries 1,500 bytes, the packet of our links; Mahimahi's own packets are 1,504 with its
//!    framing.

mod shape;

use crate::format::Format;
use crate::source::Problem;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// What one opportunity carries.
pub const OPPORTUNITY: Bytes = Bytes::new(1_500);

/// A trace with a lower mean most likely has another unit of time. GPRS, the slowest, has 20 to 50 kb/s.
const IMPLAUSIBLE: Bitrate = Bitrate::from_kbps(20);

/// When a link can deliver a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    path: String,
    times_ms: Arc<[u32]>,
}

impl RateTrace {
    /// Parses the content of the file called `name` in messages; `path` is its name in the scenario. Messages
    /// show none of the content.
    pub(crate) fn parse(name: &str, path: &str, content: &[u8]) -> Result<Self, Problem> {
        let at_line = |line: usize, wrong: LineError| Problem::at_line(name, line, wrong.what, wrong.instead);
        if let Some(format) = Format::of(content) {
            let what = format!("the file is {format}, not a rate trace");
            let wrong = LineError::new(what, format.remedy("a rate trace of Mahimahi"));
            return Err(at_line(1, wrong));
        }
        let (mut times_ms, mut last) = (Vec::new(), None);
        // Editors put a byte order mark before UTF-8 text.
        let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
        let body = content.strip_suffix(b"\n").unwrap_or(content);
        let lines = body.split(|&byte| byte == b'\n').enumerate();
        for (index, line) in lines.filter(|_| !content.is_empty()) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let time = time(line, last).map_err(|wrong| {
                let wrong = shape::of(content).map_or(wrong, |shape| shape.wrong());
                at_line(index + 1, wrong)
            })?;
            times_ms.push(time);
            last = Some(time);
        }
        match last {
            None | Some(0) => Err(at_line(
                times_ms.len().max(1),
                LineError::new(
                    "the trace delivers nothing",
                    "give one time in milliseconds on each line, the last above 0",
                ),
            )),
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

    /// Why its times are most likely not milliseconds, if they are not: no cellular network is that slow.
    pub fn doubt(&self) -> Option<String> {
        let mean = self.mean();
        (self.times_ms.len() > 1 && mean < IMPLAUSIBLE).then(|| {
            format!("{mean} on average, which is unusual; times must be in milliseconds, so divide by 1000 if these are microseconds")
        })
    }

    /// The mean rate.
    pub fn mean(&self) -> Bitrate {
        (OPPORTUNITY * self.times_ms.len() as u64).per(self.period())
    }

    /// The most opportunities within one millisecond. The end of a period is the start of the next one.
    pub fn largest_burst(&self) -> usize {
        let (first, last) = (self.times_ms[0], self.times_ms[self.times_ms.len() - 1]);
        let at = |ms| self.times_ms.iter().filter(|&&time| time == ms).count();
        let seam = at(last) + if first == 0 { at(0) } else { 0 };
        let same = self.times_ms.chunk_by(|one, next| one == next);
        same.map(<[u32]>::len).fold(seam, usize::max)
    }

    /// The longest time without an opportunity, the step from one period to the next included.
    pub fn longest_gap(&self) -> Duration {
        let steps = self.times_ms.windows(2).map(|pair| pair[1] - pair[0]);
        let longest = steps.chain([self.times_ms[0]]).max().unwrap_or(0);
        Duration::from_millis(u64::from(longest))
    }
}

/// What is wrong with a line, and what would be right.
struct LineError {
    what: String,
    instead: String,
}

impl LineError {
    fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            instead: instead.into(),
        }
    }
}

/// A trace may last a day.
const LONGEST_MS: u32 = 86_400_000;

const FORM: &str = "write the time of one delivery in whole milliseconds, such as 17";

fn time(digits: &[u8], last: Option<u32>) -> Result<u32, LineError> {
    if digits.is_empty() {
        return Err(LineError::new("the line is empty", FORM));
    }
    if let [b'-', rest @ ..] = digits
        && rest.iter().all(u8::is_ascii_digit)
    {
        return Err(LineError::new("this time is negative", FORM));
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(LineError::new("this is not a time", FORM));
    }
    let time = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    match (time.filter(|&time| time <= LONGEST_MS), last) {
        (None, _) => Err(LineError::new(
            "this time exceeds one day",
            "shorten the trace, as it repeats anyway",
        )),
        (Some(time), Some(last)) if time < last => Err(LineError::new(
            "this time is earlier than the one on the line above",
            "sort the trace: times may be equal, but never decrease",
        )),
        (Some(time), _) => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is said, and the remedy, in one line.
    fn message(content: impl AsRef<[u8]>) -> String {
        let problem = RateTrace::parse("lte.down", "lte.down", content.as_ref()).unwrap_err();
        problem.to_string().replacen("\n |\n = help: ", "; ", 1)
    }

    #[test]
    fn rate_period_and_gap_follow_from_the_times() {
        let trace = RateTrace::parse("t", "t", b"0\n1\n1\n4\n6\n10\r\n").unwrap();
        assert_eq!(trace.period(), Duration::from_millis(10));
        assert_eq!(trace.mean(), Bitrate::from_bps(6 * 12_000 * 100));
        assert_eq!(trace.longest_gap(), Duration::from_millis(4));
        // Two at 1 ms, and two where the periods meet: at 10 ms and at 0.
        assert_eq!(trace.largest_burst(), 2);
        let seam = RateTrace::parse("t", "t", b"0\n1\n1\n10\n10\n").unwrap();
        assert_eq!(seam.largest_burst(), 3);
        assert_eq!(trace.times().nth(3), Some(Duration::from_millis(4)));
        let marked = RateTrace::parse("t", "t", "\u{feff}0\n5".as_bytes()).unwrap();
        assert_eq!(marked.times_ms(), [0, 5]);
    }

    #[test]
    fn bad_lines_are_named_and_not_shown() {
        let table = [
            ("1\nabc\n", format!("lte.down:2:1: this is not a time; {FORM}")),
            ("1\n\n2\n", format!("lte.down:2:1: the line is empty; {FORM}")),
            ("-4\n", format!("lte.down:1:1: this time is negative; {FORM}")),
            (
                "5\n4\n",
                "lte.down:2:1: this time is earlier than the one on the line above; sort the trace: times may be equal, but never decrease".into(),
            ),
            (
                "5\n99999999\n",
                "lte.down:2:1: the times exceed one day; if they are microseconds, divide them by 1000, otherwise shorten the trace, as it repeats anyway".into(),
            ),
            (
                "",
                "lte.down:1:1: the trace delivers nothing; give one time in milliseconds on each line, the last above 0".into(),
            ),
            (
                "0\n0\n",
                "lte.down:2:1: the trace delivers nothing; give one time in milliseconds on each line, the last above 0".into(),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(message(text), expected, "{text:?}");
        }
    }

    #[test]
    fn errors_show_no_content_of_other_files() {
        let secret = "root:$6$salt$hash:19000:0:99999:7:::";
        for text in [
            format!("{secret}\n"),
            format!("1\n2\n{secret}\n"),
            format!("time\n{secret} {secret}\n"),
            "8154711\n".repeat(2) + "4242\n",
            format!("\u{fffd}{secret}"),
        ] {
            let said = message(&text);
            for part in ["root", "salt", "hash", "19000", "8154711", "4242"] {
                assert!(!said.contains(part), "{said}");
            }
            assert!(said.starts_with("lte.down:") && !said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn a_trace_that_looks_like_microseconds_gets_a_warning() {
        let doubt = |step: u32| {
            let times: String = (1..=100).map(|packet| format!("{}\n", packet * step)).collect();
            RateTrace::parse("t", "t", times.as_bytes()).unwrap().doubt()
        };
        assert_eq!(doubt(1), None, "12 Mb/s");
        assert_eq!(doubt(500), None, "24 kb/s");
        assert_eq!(
            doubt(1_000).as_deref(),
            Some(
                "12.0 kb/s on average, which is unusual; times must be in milliseconds, so divide by 1000 if these are microseconds"
            )
        );
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_without_panic(text in "[0-9\\-a\n\r é]{0,40}") {
            if let Ok(trace) = RateTrace::parse("t", "t", text.as_bytes()) {
                prop_assert!(trace.times_ms().is_sorted());
                prop_assert!(trace.period() > Duration::ZERO);
            }
        }
    }
}
