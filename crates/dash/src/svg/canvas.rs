//! Writes SVG elements. All lengths are in pixels of the picture.

use std::fmt::Write;
use trace::{LinkKind, PlanLink};

pub(super) const INK: &str = "#17202b";
pub(super) const SOFT: &str = "#566170";
pub(super) const LINE: &str = "#d9dde3";

/// Colours of WiFi links and cables in order, after Okabe and Ito's palette for colour-blind readers.
/// Cellular links use greys. The page uses the same colours.
const COLOURED: [&str; 7] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#b8a200", "#7b3fa0",
];
const GREYS: [&str; 2] = ["#6b7280", "#a7adb7"];

/// One colour per link.
pub(super) fn colours(links: &[PlanLink]) -> Vec<&'static str> {
    let (mut next, mut grey) = (COLOURED.iter().cycle(), GREYS.iter().cycle());
    let colour = |link: &PlanLink| match link.kind {
        LinkKind::Cell => grey.next(),
        LinkKind::Wifi | LinkKind::Cable => next.next(),
    };
    links
        .iter()
        .map(colour)
        .map(|colour| *colour.expect("a cycle never ends"))
        .collect()
}

/// Rectangular part of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Horizontal anchor of a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// SVG elements in drawing order: later ones cover earlier ones.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    /// Draws a text. The tuple holds its size, colour and whether it is bold.
    pub(super) fn text(
        &mut self,
        x: f64,
        y: f64,
        align: Align,
        (size, fill, bold): (f64, &str, bool),
        text: &str,
    ) {
        let anchor = match align {
            Align::Left => "start",
            Align::Middle => "middle",
            Align::Right => "end",
        };
        let weight = if bold { 650 } else { 400 };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" font-weight=\"{weight}\" \
             fill=\"{fill}\" stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            escape(text)
        );
    }

    pub(super) fn rect(&mut self, (x, y, width, height): (f64, f64, f64, f64), fill: &str, radius: f64) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\" fill=\"{fill}\"/>"
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, rest: &str) {
        let _ = writeln!(
            self.body,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{stroke}\" {rest}/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: &str, rest: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" {rest}/>"
        );
    }

    /// Draws a path through these points. `rest` holds further attributes, such as the fill.
    pub(super) fn path(&mut self, points: impl IntoIterator<Item = (f64, f64)>, close: bool, rest: &str) {
        let mut d = String::new();
        for (x, y) in points {
            let _ = write!(d, "{}{x:.1},{y:.1}", if d.is_empty() { 'M' } else { 'L' });
        }
        let end = if close { "Z" } else { "" };
        let _ = writeln!(self.body, "<path d=\"{d}{end}\" {rest}/>");
    }

    /// Draws an icon given in its own coordinates, moved to a position.
    pub(super) fn icon(&mut self, (x, y): (f64, f64), d: &str) {
        let _ = writeln!(
            self.body,
            "<path transform=\"translate({x:.1} {y:.1})\" d=\"{d}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"2.4\" \
             stroke-linecap=\"round\" stroke-linejoin=\"round\"/>"
        );
    }

    /// Wraps the elements into a picture on a white card. `title` describes it for screen readers.
    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\">\n\
             <title>{title}</title>\n\
             <defs><pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
             <rect width=\"6\" height=\"6\" fill=\"#f9d9de\"/><rect width=\"2.2\" height=\"6\" fill=\"#c8102e\"/></pattern></defs>\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"14\" fill=\"#fff\" stroke=\"{LINE}\"/>\n{}</svg>\n",
            width - 1.0,
            height - 1.0,
            self.body
        )
    }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
