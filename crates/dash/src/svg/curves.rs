//! Curves of a study: distributions over seeds, figures over a swept key, and goodput over time.

use super::axes::{Axis, COLOURS, Scale, range};
use super::canvas::{Align, Canvas, Frame, INK};

pub(crate) const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 62.0;
const RIGHT: f64 = 24.0;
/// Height of the labels below the horizontal axis.
const LABELS: f64 = 54.0;
/// Height of a line of the legend.
const LINE_OF_LEGEND: f64 = 18.0;
/// Longest legend entry, in characters.
const LONGEST_ENTRY: usize = 72;

/// One plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    pub title: String,
    /// What the horizontal axis shows, with its unit.
    pub x: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// Values of the horizontal axis with their labels. Empty: chosen by the points.
    pub ticks: Vec<(f64, String)>,
    /// End of the vertical axis. `None`: chosen by the points.
    pub top: Option<f64>,
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Curve {
    pub name: String,
    pub points: Vec<[f64; 2]>,
    /// Positions on the horizontal axis, each with the least and the largest value there.
    pub spread: Vec<[f64; 3]>,
}

impl Plot {
    /// Renders the plot, and returns its height too.
    pub(crate) fn draw(&self) -> (String, f64) {
        let legend = self.legend();
        let lines = legend.last().map_or(0.0, |(_, _, line)| line + 1.0);
        let height = HEIGHT + lines * LINE_OF_LEGEND;
        let scale = self.scale();
        let mut canvas = Canvas::default();
        canvas.text(LEFT, 30.0, Align::Left, (15.0, INK, true), &self.title);
        scale.draw(&mut canvas, &self.x, &self.y);
        let middle = (self.curves.len() as f64 - 1.0) / 2.0;
        for (place, curve) in self.curves.iter().enumerate() {
            // Spreads of several curves at one value stand side by side.
            spread(&mut canvas, &scale, curve, (place, 3.0 * (place as f64 - middle)));
            draw(&mut canvas, &scale, curve, place);
        }
        for ((name, x, line), place) in legend.into_iter().zip(0..) {
            let y = HEIGHT + line * LINE_OF_LEGEND;
            let ends = ((x, y - 4.0), (x + 18.0, y - 4.0));
            canvas.line(ends.0, ends.1, colour(place), &stroke(place));
            canvas.text(x + 24.0, y, Align::Left, (12.0, INK, false), &name);
        }
        (canvas.finish(WIDTH, height, &self.title), height)
    }

    fn scale(&self) -> Scale {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let spread = self.curves.iter().flat_map(|curve| &curve.spread);
        let heights = spread.flat_map(|[_, low, high]| [*low, *high]);
        let (low, high) = range(heights.chain(points().map(|point| point[1])));
        Scale {
            frame: Frame {
                left: LEFT,
                top: TOP,
                width: WIDTH - LEFT - RIGHT,
                height: HEIGHT - TOP - LABELS,
            },
            x: if self.ticks.is_empty() {
                Axis::round(range(points().map(|point| point[0])))
            } else {
                Axis::at(self.ticks.clone())
            },
            // The axis includes zero, so that heights can be compared.
            y: Axis::round((low.min(0.0), self.top.unwrap_or(high))),
        }
    }

    /// Each entry with its position: pixels from the left, and lines from the top.
    fn legend(&self) -> Vec<(String, f64, f64)> {
        let (mut x, mut line) = (LEFT, 0.0);
        let mut entries = Vec::new();
        for curve in &self.curves {
            let name = shortened(&curve.name);
            let width = 40.0 + 6.8 * name.chars().count() as f64;
            if x + width > WIDTH - RIGHT && x > LEFT {
                (x, line) = (LEFT, line + 1.0);
            }
            entries.push((name, x, line));
            x += width;
        }
        entries
    }
}

fn shortened(name: &str) -> String {
    match name.chars().count() {
        ..=LONGEST_ENTRY => name.to_owned(),
        _ => name.chars().take(LONGEST_ENTRY - 1).chain(['…']).collect(),
    }
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// Curves beyond the number of colours are dashed.
fn stroke(place: usize) -> String {
    let dashes = ["", "7 3", "2 3", "9 3 2 3"][(place / COLOURS.len()) % 4];
    match dashes {
        "" => "stroke-width=\"1.9\"".to_owned(),
        dashes => format!("stroke-width=\"1.9\" stroke-dasharray=\"{dashes}\""),
    }
}

/// Draws the least and the largest values, `aside` pixels beside their position.
fn spread(canvas: &mut Canvas, scale: &Scale, curve: &Curve, (place, aside): (usize, f64)) {
    for &[x, low, high] in &curve.spread {
        let (from, to) = (scale.at([x, low]), scale.at([x, high]));
        let thin = "stroke-width=\"1.4\" stroke-opacity=\"0.65\" class=\"spread\"";
        canvas.line(
            (from.0 + aside, from.1),
            (to.0 + aside, to.1),
            colour(place),
            thin,
        );
    }
}

fn draw(canvas: &mut Canvas, scale: &Scale, curve: &Curve, place: usize) {
    let places: Vec<(f64, f64)> = curve.points.iter().map(|point| scale.at(*point)).collect();
    if !curve.spread.is_empty() {
        places
            .iter()
            .for_each(|at| canvas.circle(*at, 3.0, colour(place), ""));
    }
    let rest = format!(
        "fill=\"none\" stroke=\"{}\" stroke-linejoin=\"round\" {}",
        colour(place),
        stroke(place)
    );
    canvas.path(places, false, &rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(curves: usize) -> Plot {
        let curve = |number: usize| Curve {
            name: format!("a rather long name of a policy {number}"),
            points: vec![[6.0, 1.0], [54.0, 3.0]],
            spread: vec![[6.0, 0.5, 1.5], [54.0, 3.0, 3.0]],
        };
        Plot {
            title: "goodput < x".into(),
            x: "rate".into(),
            y: "Mb/s".into(),
            ticks: vec![(6.0, "6".into()), (54.0, "54".into())],
            top: None,
            curves: (0..curves).map(curve).collect(),
        }
    }

    #[test]
    fn a_curve_has_its_points_its_spread_and_a_legend() {
        let (svg, height) = plot(2).draw();
        assert!(svg.contains("goodput &lt; x") && !svg.contains("NaN"), "{svg}");
        assert_eq!(svg.matches("<path d=\"M").count(), 2);
        assert_eq!(svg.matches("class=\"spread\"").count(), 4);
        assert_eq!(svg.matches("<circle").count(), 4);
        // Both names do not fit into one line.
        assert_eq!(height, HEIGHT + 2.0 * LINE_OF_LEGEND);
    }

    #[test]
    fn curves_of_one_colour_differ_in_their_dashes() {
        let looks: std::collections::BTreeSet<(&str, String)> =
            (0..12).map(|place| (colour(place), stroke(place))).collect();
        assert_eq!(looks.len(), 12);
    }

    #[test]
    fn a_plot_without_points_is_drawn() {
        let (svg, _) = Plot {
            ticks: Vec::new(),
            ..plot(0)
        }
        .draw();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
