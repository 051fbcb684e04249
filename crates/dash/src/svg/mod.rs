//! The picture for the README: one SVG without a script. It has a light background of its own, so that it is
//! readable on dark pages.
//!
//! The floor plan is on the left and the bytes moved by each policy on the right. Below are the charts of up
//! to three policies.

mod axes;
mod canvas;
mod chart;
mod curves;
mod place;
mod plot;
mod sheet;

use crate::figures::{Row, megabytes, rows};
use crate::words::sentences;
pub(crate) use curves::{Curve, Plot};
pub use plot::plot;
pub(crate) use sheet::sheet;

use canvas::{Align, Canvas, Frame, INK, SOFT, colours};
use trace::{Comparison, PlayDocument, RunRecord, Track};

const WIDTH: f64 = 920.0;
const MARGIN: f64 = 28.0;
const PLAN_WIDTH: f64 = 480.0;
const CHART_HEIGHT: f64 = 92.0;
const CHART_PITCH: f64 = CHART_HEIGHT + 54.0;
const BAR_PITCH: f64 = 27.0;

/// Renders one static picture of a comparison.
pub fn svg(records: &[RunRecord], document: &PlayDocument) -> String {
    let comparison = Comparison::new(records, document);
    let rows = rows(document);
    let shown = shown(&comparison, &rows);
    let colours = colours(&comparison.plan.links);
    let mut canvas = Canvas::default();

    let mut top = head(&mut canvas, document);
    let bars = Frame {
        left: MARGIN + PLAN_WIDTH + 28.0,
        top,
        width: WIDTH - 2.0 * MARGIN - PLAN_WIDTH - 28.0,
        height: 0.0,
    };
    let bars_end = totals(&mut canvas, bars, &rows);
    let plan = Frame {
        left: MARGIN,
        top,
        width: PLAN_WIDTH,
        height: (bars_end - top).max(190.0),
    };
    place::draw(&mut canvas, plan, &comparison.plan, &colours);
    top = plan.top + plan.height + 18.0;
    top = legend(&mut canvas, top, &comparison, &colours);
    let scale = chart::top_kbps(&shown);
    for track in shown {
        let frame = Frame {
            left: MARGIN,
            top: top + 34.0,
            width: WIDTH - 2.0 * MARGIN,
            height: CHART_HEIGHT,
        };
        chart::draw(&mut canvas, frame, track, &comparison, (scale, &colours));
        top += CHART_PITCH;
    }
    canvas.finish(WIDTH, top + 16.0, &crate::words::headline(document))
}

/// Selects at most three tracks: ours, the stock kernel and hand-over. If one of them did not run, another
/// policy takes its place.
fn shown<'a>(comparison: &'a Comparison, rows: &[Row<'_>]) -> Vec<&'a Track> {
    let preferred = ["slowhand", "mptcp", "handover"];
    let rank = |label: &str| {
        preferred
            .iter()
            .position(|name| *name == label)
            .unwrap_or(preferred.len())
    };
    let mut labels: Vec<&str> = rows
        .iter()
        .filter(|row| !row.run.policy.is_computed())
        .map(|row| &*row.label)
        .collect();
    labels.sort_by_key(|label| rank(label));
    let track = |label: &&str| comparison.tracks.iter().find(|track| track.label == **label);
    labels.iter().filter_map(track).take(3).collect()
}

fn head(canvas: &mut Canvas, document: &PlayDocument) -> f64 {
    let words = sentences(document);
    canvas.text(MARGIN, 50.0, Align::Left, (24.0, INK, true), &words.lead);
    let mut y = 60.0;
    for line in wrapped(&words.others, 112) {
        y += 18.0;
        canvas.text(MARGIN, y, Align::Left, (14.0, SOFT, false), &line);
    }
    y + 24.0
}

/// Breaks text between words into lines of at most about `most` characters.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + word.len() >= most) {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Draws a bar for the bytes that each policy moved, without the single networks. Returns the y coordinate of
/// its end.
fn totals(canvas: &mut Canvas, frame: Frame, rows: &[Row<'_>]) -> f64 {
    let together: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| row.run.policy.only_link().is_none())
        .collect();
    let listed = if together.is_empty() {
        rows.iter().collect()
    } else {
        together
    };
    let most = listed
        .iter()
        .map(|row| row.figures.bytes)
        .max()
        .unwrap_or(1)
        .max(1) as f64;
    let (names, figures) = (164.0, 62.0);
    let mut y = frame.top + 14.0;
    for row in listed {
        let ours = row.run.policy.is_ours();
        canvas.text(frame.left, y, Align::Left, (13.0, INK, ours), &row.label);
        let width = (frame.width - names - figures) * row.figures.bytes as f64 / most;
        let fill = if ours { "#0b62c4" } else { "#a7b0bb" };
        canvas.rect((frame.left + names, y - 11.0, width, 14.0), fill, 3.0);
        canvas.text(
            frame.left + frame.width,
            y,
            Align::Right,
            (13.0, INK, ours),
            &megabytes(row.figures.bytes as f64),
        );
        y += BAR_PITCH;
    }
    y
}

fn legend(canvas: &mut Canvas, top: f64, comparison: &Comparison, colours: &[&str]) -> f64 {
    let (mut x, mut y) = (MARGIN, top + 10.0);
    let stall = std::iter::once(("the application waits", chart::STALL));
    let links = comparison
        .plan
        .links
        .iter()
        .zip(colours)
        .map(|(link, colour)| (&*link.name, *colour));
    for (name, colour) in links.chain(stall) {
        let width = 38.0 + 7.2 * name.chars().count() as f64;
        if x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        canvas.rect((x, y - 10.0, 13.0, 13.0), colour, 3.0);
        canvas.text(x + 19.0, y + 1.0, Align::Left, (13.0, INK, false), name);
        x += width;
    }
    y + 14.0
}
