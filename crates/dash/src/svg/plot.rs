//! A figure of a paper. Our results are lines, the published points are rings, and a published value that
//! holds for the whole figure is a dashed line.

use super::canvas::{Align, Canvas, Frame, INK, LINE, SOFT};
use trace::{PaperFigure, PaperSeries};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 96.0;
const RIGHT: f64 = 28.0;

/// Colours of our series, after Okabe and Ito's palette for colour-blind readers.
const COLOURS: [&str; 6] = ["#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#7b3fa0"];
/// Colour of published data.
const PUBLISHED: &str = "#c8102e";
/// Stroke of a published line.
const DASHED: &str = "stroke-width=\"2.2\" stroke-dasharray=\"5 3\"";
/// Number of intervals between grid lines.
const STEPS: u32 = 5;

/// Maps the figure's units to positions in the picture.
struct Scale {
    frame: Frame,
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn of(figure: &PaperFigure) -> Self {
        let points = || figure.series.iter().flat_map(|series| &series.points);
        let range = |axis: usize| {
            let values = points()
                .map(move |point| point[axis])
                .filter(|value| value.is_finite());
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            if low < high {
                (low, high)
            } else {
                (0.0, high.max(1.0))
            }
        };
        // The y axis includes zero, so that heights can be compared.
        let (low, high) = range(1);
        Self {
            frame: Frame {
                left: LEFT,
                top: TOP,
                width: WIDTH - LEFT - RIGHT,
                height: HEIGHT - TOP - BOTTOM,
            },
            x: range(0),
            y: round_outwards(low.min(0.0), high),
        }
    }

    fn at(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        (
            self.frame.left + self.frame.width * part(x, self.x),
            self.frame.top + self.frame.height * (1.0 - part(y, self.y)),
        )
    }
}

/// Smallest range that contains low..high and ends on multiples of a step of 1, 2 or 5 times a power of ten.
fn round_outwards(low: f64, high: f64) -> (f64, f64) {
    let rough = (high - low) / f64::from(STEPS);
    let unit = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * unit)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(unit);
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// Renders one figure.
pub fn plot(figure: &PaperFigure) -> String {
    let scale = Scale::of(figure);
    let mut canvas = Canvas::default();
    canvas.text(LEFT, 32.0, Align::Left, (16.0, INK, true), &figure.title);
    axes(&mut canvas, &scale, figure);
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

fn axes(canvas: &mut Canvas, scale: &Scale, figure: &PaperFigure) {
    let Frame {
        left,
        top,
        width,
        height,
    } = scale.frame;
    canvas.text(left, top - 12.0, Align::Left, (12.0, SOFT, false), &figure.y);
    canvas.text(
        left + width,
        top + height + 36.0,
        Align::Right,
        (12.0, SOFT, false),
        &figure.x,
    );
    for step in 0..=STEPS {
        let part = f64::from(step) / f64::from(STEPS);
        let between = |(low, high): (f64, f64)| low + (high - low) * part;
        let (x, y) = scale.at([between(scale.x), between(scale.y)]);
        canvas.line((left, y), (left + width, y), LINE, "");
        canvas.text(
            left - 8.0,
            y + 4.0,
            Align::Right,
            (11.0, SOFT, false),
            &number(between(scale.y)),
        );
        canvas.text(
            x,
            top + height + 18.0,
            Align::Middle,
            (11.0, SOFT, false),
            &number(between(scale.x)),
        );
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
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
    fn axes_end_on_round_numbers() {
        assert_eq!(round_outwards(0.0, 97.0), (0.0, 100.0));
        assert_eq!(round_outwards(0.0, 0.031), (0.0, 0.04));
        assert_eq!(round_outwards(-3.0, 3.0), (-4.0, 4.0));
        assert_eq!(
            (number(0.1), number(-0.0), number(12.0)),
            ("0.1".into(), "0".into(), "12".into())
        );
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
