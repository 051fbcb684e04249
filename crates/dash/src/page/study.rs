//! The page of many runs: their distributions or curves, and the figures as a table. It has no script.

use super::{STYLE, escape, eyebrow, footer};
use crate::study::{Figures, Study};
use std::fmt::Write;
use trace::PlayDocument;

/// Style of what only this page has.
const MORE: &str = "svg { max-width: 100%; height: auto; }\n\
    .plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 16px; }\n\
    figure { margin: 0; }\ntd.text, th.text { text-align: left; }";

/// Renders a self-contained page for runs of several seeds or values. `about` says what the scenario shows.
pub fn study(document: &PlayDocument, about: &str) -> String {
    let study = Study::of(document);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>slowhand: {}</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}\n{MORE}</style></head>\n<body>\n\
         <header class=\"top\"><p class=\"eyebrow\">{}</p><h1>{}</h1><p class=\"about\">{}</p></header>\n<main>\n",
        escape(&document.scenario),
        escape(&eyebrow(document)),
        escape(&study.headline()),
        escape(about),
    );
    out.push_str("<section class=\"card\"><h2>Figures of the runs</h2><div class=\"plots\">\n");
    for plot in study.plots() {
        let _ = writeln!(out, "<figure>{}</figure>", plot.draw().0);
    }
    out.push_str(
        "</div></section>\n<section class=\"card\"><h2>The figures</h2><p class=\"hint\">Each row is a flow of the runs that differ \
         in their seed only: means over them, each with the most, and goodput with the least, too. In the pictures, goodput is that of all \
         flows together, the stall the longest of any flow, the first byte that of the flow which waited longest, \
         and the mean delay that of all datagrams received. The 99 % delay, the jitter and the times of replies are the largest of any flow. The mean round trip is that \
         of TCP over all links, by their bytes. Collided frames are those of all stations, and idle air is that of the busiest channel.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The figures\">\n",
    );
    out.push_str(&table(&study.table()));
    let _ = write!(
        out,
        "</div></section>\n</main>\n<footer>{}</footer>\n</body></html>\n",
        escape(&footer(document))
    );
    out
}

fn table(figures: &Figures) -> String {
    let class = |column: usize| {
        if column < figures.texts {
            " class=\"text\""
        } else {
            ""
        }
    };
    let mut out = String::from("<table><thead><tr>");
    for (column, name) in figures.header.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &figures.rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table>\n"
}
