//! The web page: one file that works without a network. The figures are a table, and a script draws the
//! charts.
//!
//! `page.html` is the frame, `style.css` the style in light and dark, and `js/` the script. The data is
//! embedded as one line of JSON.

mod air;
mod both;
mod delays;
mod plots;
mod study;

pub use plots::{Plots, plots};
pub use study::study;

use crate::figures::{BUFFERED, COLUMNS, Row, rows};
use crate::words::sentences;
use std::fmt::Write;
use trace::{Comparison, PlayDocument, RunRecord};

const FRAME: &str = include_str!("page.html");
pub(crate) const STYLE: &str = include_str!("style.css");

/// Each script needs only those before it.
const SCRIPTS: [&str; 10] = [
    include_str!("js/dom.js"),
    include_str!("js/model.js"),
    include_str!("js/clock.js"),
    include_str!("js/tip.js"),
    include_str!("js/chart.js"),
    include_str!("js/levels.js"),
    include_str!("js/rows.js"),
    include_str!("js/race.js"),
    include_str!("js/plan.js"),
    include_str!("js/main.js"),
];

/// Renders a self-contained page for a comparison or a single run. Runs without a record appear with their
/// figures only.
pub fn page(records: &[RunRecord], document: &PlayDocument) -> String {
    let mut comparison = Comparison::new(records, document);
    let rows = rows(document);
    comparison
        .tracks
        .sort_by_key(|track| rows.iter().position(|row| row.label == track.label));
    let head = sentences(document);
    fill(|key| match key {
        "title" => escape(&format!("slowhand: {}", document.scenario)),
        "style" => STYLE.to_owned(),
        "eyebrow" => escape(&eyebrow(document)),
        "lead" => escape(&head.lead),
        "others" => escape(&head.others),
        "about" => escape(&comparison.plan.sentence),
        "both" => both::section(&comparison),
        "distributions" => delays::distributions(&rows),
        "table" => table(&rows),
        "buffered" => buffered(&rows),
        "delays" => delays::table(&rows),
        "air" => air::tables(&rows),
        "notes" => notes(&rows),
        "footer" => escape(&footer(document)),
        "data" => in_script(&comparison.to_json()),
        "script" => format!("\"use strict\";\n(() => {{\n{}}})();", SCRIPTS.concat()),
        other => unreachable!("page.html asks for {other}"),
    })
}

/// Replaces each `{{key}}` of the frame. Inserted text is not scanned for keys.
fn fill(value: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(256 * 1024);
    let mut rest = FRAME;
    while let Some((before, after)) = rest.split_once("{{") {
        let (key, after) = after.split_once("}}").expect("page.html closes its braces");
        out.push_str(before);
        out.push_str(&value(key));
        rest = after;
    }
    out + rest
}

fn eyebrow(document: &PlayDocument) -> String {
    let place = match document.world {
        trace::World::Lab => "real Linux kernel, modelled links",
        trace::World::Sim => "simulated",
        trace::World::Linux => "this host's own links",
        trace::World::Both => "simulated, and on the real Linux kernel over modelled links",
    };
    format!("slowhand, {}, {place}", document.scenario)
}

fn footer(document: &PlayDocument) -> String {
    let mut text = format!(
        "Scenario {}, world {}, seed {}.",
        document.scenario, document.world, document.seed
    );
    if let Some((run, cc)) = document
        .runs
        .first()
        .and_then(|run| Some((run, run.cc.as_deref()?)))
    {
        let server = match run.server.as_str() {
            "stock" => "a stock server",
            "legacy" => "a server without MPTCP",
            _ => "a server that runs slowhand",
        };
        let _ = write!(text, " Sender's congestion controller: {cc}; {server}.");
    }
    let _ = write!(text, " Ran for {:.0} s.", document.wall_s);
    text
}

fn table(rows: &[Row<'_>]) -> String {
    let mut out = String::from("<table><thead><tr><th scope=\"col\">policy</th>");
    for column in COLUMNS {
        let _ = write!(out, "<th scope=\"col\">{column}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let most = rows
        .iter()
        .map(|row| row.figures.goodput_mbps)
        .fold(f64::MIN_POSITIVE, f64::max);
    for row in rows {
        table_row(&mut out, row, row.figures.goodput_mbps / most);
    }
    out + "</tbody></table>"
}

fn table_row(out: &mut String, row: &Row<'_>, share: f64) {
    let class = match (row.run.policy.is_ours(), row.run.policy.is_computed()) {
        (true, _) => "ours",
        (_, true) => "computed",
        _ => "",
    };
    let _ = write!(
        out,
        "<tr class=\"{class}\"><th scope=\"row\">{}</th>",
        escape(&row.label)
    );
    for (column, cell) in row.cells().iter().enumerate() {
        let class = if row.alarming(column) {
            " class=\"worst\""
        } else {
            ""
        };
        let meter = if column == 1 { meter(share) } else { String::new() };
        let _ = write!(
            out,
            "<td{class}>{meter}<span class=\"num\">{}</span></td>",
            escape(cell)
        );
    }
    out.push_str("</tr>\n");
}

/// Table of mean buffer levels. Empty if no run recorded them.
fn buffered(rows: &[Row<'_>]) -> String {
    let recorded = rows.iter().filter_map(|row| Some((row, row.buffered()?)));
    let lines: String = recorded
        .map(|(row, cells)| {
            let cells = cells.map(|cell| format!("<td><span class=\"num\">{}</span></td>", escape(&cell)));
            format!(
                "<tr><th scope=\"row\">{}</th>{}</tr>\n",
                escape(&row.label),
                cells.concat()
            )
        })
        .collect();
    let heads = BUFFERED.map(|head| format!("<th scope=\"col\">{head}</th>"));
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "<table><thead><tr><th scope=\"col\">buffered (means)</th>{}</tr></thead><tbody>\n{lines}</tbody></table>",
            heads.concat()
        ),
    }
}

fn meter(share: f64) -> String {
    format!(
        "<span class=\"meter\" aria-hidden=\"true\"><i style=\"width:{:.0}%\"></i></span>",
        share * 100.0
    )
}

fn notes(rows: &[Row<'_>]) -> String {
    let runs = rows.iter().filter(|row| !row.run.policy.is_computed());
    let items: Vec<String> = runs
        .flat_map(|row| {
            row.run
                .notes
                .iter()
                .map(|note| format!("<li>{}: {}</li>", escape(&row.label), escape(note)))
        })
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"notes\">{}</ul>", items.concat()),
    }
}

/// Escapes text for HTML, in elements and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Escapes JSON for a script element, so that no name from a scenario can close the element.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
