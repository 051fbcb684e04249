//! How long packets took: the table of one-way delays of datagrams, and of round-trip times of TCP, and their
//! distributions.

use super::escape;
use crate::distribution::{Sample, plots};
use crate::figures::Row;
use std::fmt::Write;
use trace::{Flow, TimesMs};

/// Headings after those of the run and the flow.
const HEADS: [&str; 8] = [
    "time",
    "mean ms",
    "median ms",
    "95 %",
    "99 %",
    "longest",
    "jitter ms",
    "lost %",
];

/// Renders the section of distributions. Empty if no run knows such times.
pub(super) fn distributions(rows: &[Row<'_>]) -> String {
    let runs = rows.iter().filter(|row| !row.run.policy.is_computed());
    let samples: Vec<Sample<'_>> = runs
        .map(|row| Sample {
            name: row.label.clone(),
            runs: vec![row.run],
        })
        .collect();
    let figures = plots(&samples)
        .into_iter()
        .map(|plot| format!("<figure>{}</figure>\n", plot.draw().0));
    let figures: String = figures.collect();
    match figures.is_empty() {
        true => figures,
        false => format!(
            "  <section class=\"card\" aria-labelledby=\"packets-title\">\n    <h2 id=\"packets-title\">How long packets took</h2>\n    \
             <p class=\"hint\">Share of the packets that took at most this long. Lines connect the percentiles 0, 5, 10 … 95, 99 and 100.</p>\n    \
             <div class=\"pair\">\n{figures}    </div>\n  </section>"
        ),
    }
}

/// Renders the table. Empty if no run knows such times.
pub(super) fn table(rows: &[Row<'_>]) -> String {
    let runs = rows.iter().filter(|row| !row.run.policy.is_computed());
    let lines: String = runs
        .flat_map(|row| row.run.flows.iter().map(|flow| lines(&row.label, flow)))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let heads = HEADS.map(|head| format!("<th scope=\"col\">{head}</th>"));
    format!(
        "<table><thead><tr><th scope=\"col\">how long packets and replies took</th><th scope=\"col\">flow</th>{}</tr></thead><tbody>\n{lines}</tbody></table>",
        heads.concat()
    )
}

/// One for the datagrams or the requests of a flow, and one for each link that carried its TCP.
fn lines(label: &str, flow: &Flow) -> String {
    let lost = flow.datagrams.and_then(|datagrams| datagrams.lost_percent());
    let one_way = flow
        .delay
        .map(|times| line([label, &flow.name, "one way"], times, flow.jitter_ms, lost));
    let replies = flow
        .reply
        .map(|times| line([label, &flow.name, "request to end of reply"], times, None, None));
    let paths = flow.paths.iter();
    let round_trips = paths.filter_map(|path| {
        let time = format!("round trip over {}", path.link);
        Some(line([label, &flow.name, &time], path.rtt?, None, None))
    });
    one_way.into_iter().chain(replies).chain(round_trips).collect()
}

fn line(names: [&str; 3], times: TimesMs, jitter: Option<f64>, lost: Option<f64>) -> String {
    let [label, flow, time] = names.map(escape);
    let mut out = format!("<tr><th scope=\"row\">{label}</th><td>{flow}</td><td>{time}</td>");
    let times = [
        times.mean_ms,
        times.p50_ms,
        times.p95_ms,
        times.p99_ms,
        times.max_ms,
    ];
    for number in times.map(Some).into_iter().chain([jitter, lost]) {
        let shown = number.map_or_else(String::new, |number| format!("{number:.2}"));
        let _ = write!(out, "<td><span class=\"num\">{shown}</span></td>");
    }
    out + "</tr>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Datagrams, FlowMeter, PathUse};
    use units::Instant;

    #[test]
    fn datagrams_have_one_line_and_tcp_one_for_each_link() {
        let times = TimesMs {
            mean_ms: 1.5,
            p50_ms: 1.25,
            p95_ms: 2.0,
            p99_ms: 2.5,
            max_ms: 3.25,
            cdf_ms: None,
        };
        let entry = |name, paths| FlowMeter::new(name, Instant::ZERO).result(Instant::ZERO, None, paths);
        let call = Flow {
            datagrams: Some(Datagrams {
                sent: 4,
                received: 3,
                lost: 1,
            }),
            delay: Some(times),
            jitter_ms: Some(0.5),
            ..entry("call", Vec::new())
        };
        let shown = lines("a < b", &call);
        assert_eq!(shown.matches("<tr>").count(), 1);
        for cell in [
            "a &lt; b",
            ">call<",
            ">one way<",
            ">1.50<",
            ">3.25<",
            ">0.50<",
            ">25.00<",
        ] {
            assert!(shown.contains(cell), "{cell}: {shown}");
        }
        let path = |link: &str, rtt| PathUse {
            link: link.into(),
            bytes: 1,
            retransmits: 0,
            segments: None,
            ce_marks: 0,
            rtt,
        };
        let paths = vec![
            path("near", Some(times)),
            path("lte", Some(times)),
            path("far", None),
        ];
        let shown = lines("mptcp", &entry("download", paths));
        assert_eq!(shown.matches("<tr>").count(), 2);
        assert!(
            shown.contains(">round trip over lte<") && !shown.contains("far"),
            "{shown}"
        );
        assert_eq!(lines("lab", &entry("download", Vec::new())), "");
    }
}
