//! Several plots in one picture, two beside each other.

use super::curves::{Plot, WIDTH};
use std::fmt::Write;

const GAP: f64 = 16.0;

/// Renders the plots, in rows of two. `title` describes them for screen readers.
pub(crate) fn sheet(plots: &[Plot], title: &str) -> String {
    let (mut body, mut top) = (String::new(), 0.0);
    for row in plots.chunks(2) {
        let drawn: Vec<(String, f64)> = row.iter().map(Plot::draw).collect();
        for ((svg, _), left) in drawn.iter().zip([0.0, WIDTH + GAP]) {
            let _ = writeln!(body, "<g transform=\"translate({left:.0} {top:.0})\">{svg}</g>");
        }
        top += drawn.iter().map(|(_, height)| *height).fold(0.0, f64::max) + GAP;
    }
    let columns = plots.len().clamp(1, 2) as f64;
    let (width, height) = (columns * (WIDTH + GAP) - GAP, (top - GAP).max(0.0));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n{body}</svg>\n",
        title = super::canvas::escape(title),
    )
}
