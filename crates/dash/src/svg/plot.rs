//! A figure of a paper. Our results are lines, the published points are rings, and a published value that
//! holds for the whole figure is a dashed line.

use super::axes::{Axis, COLOURS, Scale, range, round_outwards};
use super::canvas::{Align, Canvas, Frame, INK};
use trace::{PaperFigure, PaperSeries};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 96.0;
const RIGHT: f64 = 28.0;

/// Colour of published data.
const PUBLISHED: &str = "#c8102e";
/// Stroke of a published line.
const DASHED: &str = "stroke-width=\"2.2\" stroke-dasharray=\"5 3\"";

/// The figure's units in the picture. The y axis includes zero, so that heights can be compared.
fn scale_of(figure: &PaperFigure) -> Scale {
    let along = |axis: usize| {
        let points = figure.series.iter().flat_map(|series| &series.points);
        range(points.map(move |point| point[axis]))
    };
    let (low, high) = along(1);
    Scale {
        frame: Frame {
            left: LEFT,
            top: TOP,
            width: WIDTH - LEFT - RIGHT,
            height: HEIGHT - TOP - BOTTOM,
        },
        x: Axis::between(along(0)),
        y: Axis::between(round_outwards((low.min(0.0), high))),
    }
}

/// Renders one figure.
pub fn plot(figure: &PaperFigure) -> String {
    let scale = scale_of(figure);
    let mut canvas = Canvas::default();
    canvas.text(LEFT, 32.0, Align::Left, (16.0, INK, true), &figure.title);
    scale.draw(&mut canvas, &figure.x, &figure.y);
    let ours = figure.series.iter().filter(|series| !series.published);
    for (series, colour) in ours.zip(COLOURS.iter().cycle()) {
        curve(&mut canvas, &scale, series, colour);
    }
    for series in figure.series.iter().filter(|series| series.published) {
        marks(&mut canvas, &scale, series);
    }
    legend(&mut canvas, figure);
    canvas.finish(WIDTH, HEIGHT, &figure.title)
}

fn curve(canvas: &mut Canvas, scale: &Scale, series: &PaperSeries, colour: &str) {
    let places: Vec<(f64, f64)> = series.points.iter().map(|point| scale.at(*point)).collect();
    // A long series is a line only. A short one also shows its points.
    if places.len() <= 20 {
        places
            .iter()
            .for_each(|place| canvas.circle(*place, 3.5, colour, ""));
    }
    canvas.path(
        places,
        false,
        &format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\""),
    );
}

fn marks(canvas: &mut Canvas, scale: &Scale, series: &PaperSeries) {
    if series.level {
        let places: Vec<(f64, f64)> = series.points.iter().map(|point| scale.at(*point)).collect();
        return canvas.path(
            places,
            false,
            &format!("fill=\"none\" stroke=\"{PUBLISHED}\" {DASHED}"),
        );
    }
    for point in &series.points {
        let ring = format!("stroke=\"{PUBLISHED}\" stroke-width=\"2.2\"");
        canvas.circle(scale.at(*point), 6.0, "none", &ring);
    }
}

fn legend(canvas: &mut Canvas, figure: &PaperFigure) {
    let mut colours = COLOURS.iter().cycle();
    let (mut x, mut y) = (LEFT, HEIGHT - 34.0);
    for series in &figure.series {
        let width = 30.0 + 6.6 * series.name.chars().count() as f64;
        if x + width > WIDTH - RIGHT {
            (x, y) = (LEFT, y + 18.0);
        }
        if series.level {
            canvas.line((x, y - 4.0), (x + 14.0, y - 4.0), PUBLISHED, DASHED);
        } else if series.published {
            let ring = format!("stroke=\"{PUBLISHED}\" stroke-width=\"2.2\"");
            canvas.circle((x + 6.0, y - 4.0), 5.0, "none", &ring);
        } else {
            let colour = colours.next().expect("a cycle never ends");
            canvas.line((x, y - 4.0), (x + 14.0, y - 4.0), colour, "stroke-width=\"2.4\"");
        }
        canvas.text(x + 20.0, y, Align::Left, (12.0, INK, false), &series.name);
        x += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: Vec<[f64; 2]>) -> PaperFigure {
        let series = |name: &str, published| PaperSeries {
            name: name.into(),
            published,
            level: false,
            points: points.clone(),
        };
        PaperFigure {
            id: "x".into(),
            title: "a < b".into(),
            x: "users".into(),
            y: "%".into(),
            series: vec![series("ours", false), series("published", true)],
        }
    }

    #[test]
    fn our_series_are_lines_and_published_points_are_rings() {
        let svg = plot(&figure(vec![[1.0, 100.0], [2.0, 80.0], [3.0, 64.0]]));
        assert!(svg.starts_with("<svg") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<path d=\"M").count(), 1);
        // Three points and the legend.
        assert_eq!(svg.matches(&format!("stroke=\"{PUBLISHED}\"")).count(), 4);
    }

    #[test]
    fn a_published_level_is_a_dashed_line() {
        let mut figure = figure(vec![[1.0, 3.0], [2.0, 3.0]]);
        figure.series[1].level = true;
        let svg = plot(&figure);
        // The line itself and its legend entry, without rings.
        assert_eq!(svg.matches("stroke-dasharray").count(), 2);
        assert_eq!(svg.matches(&format!("stroke=\"{PUBLISHED}\"")).count(), 2);
        // Our series has two points.
        assert_eq!(svg.matches("<circle").count(), 2);
    }

    #[test]
    fn a_figure_with_one_point_or_none_is_drawn() {
        for points in [vec![], vec![[1.0, 1.0]], vec![[0.0, 0.0], [0.0, 0.0]]] {
            let svg = plot(&figure(points));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
