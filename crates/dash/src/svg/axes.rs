//! Axes of plots: which part of the numbers a plot shows, and the lines and labels of its grid.

use super::canvas::{Align, Canvas, Frame, LINE, SOFT};

/// Colours of curves, after Okabe and Ito's palette for colour-blind readers.
pub(super) const COLOURS: [&str; 6] = ["#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#7b3fa0"];

/// Number of intervals between grid lines, about.
const STEPS: u32 = 5;

/// One axis: its ends, and the values that have a grid line, with their labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Exactly these ends, with [`STEPS`] equal intervals.
    pub(super) fn between((low, high): (f64, f64)) -> Self {
        let tick = |step: u32| low + (high - low) * f64::from(step) / f64::from(STEPS);
        Self {
            low,
            high,
            ticks: (0..=STEPS).map(|step| (tick(step), number(tick(step)))).collect(),
        }
    }

    /// Ends at multiples of a round step, with a line at each multiple.
    pub(super) fn round((low, high): (f64, f64)) -> Self {
        let step = round_step(low, high);
        let ((low, high), digits) = (outwards(low, high, step), digits_of(step));
        let lines = ((high - low) / step).round() as u32;
        let tick = |line: u32| low + step * f64::from(line);
        Self {
            low,
            high,
            ticks: (0..=lines)
                .map(|line| (tick(line), format!("{:.digits$}", tick(line) + 0.0)))
                .collect(),
        }
    }

    /// A line at each of these values, with half a step of room at both ends. Values too close for their
    /// labels have none.
    pub(super) fn at(values: Vec<(f64, String)>) -> Self {
        let (low, high) = range(values.iter().map(|(value, _)| *value));
        let margin = (high - low) * 0.04;
        let every = values.len().div_ceil(12).max(1);
        let ticks = values.into_iter().enumerate();
        Self {
            low: low - margin,
            high: high + margin,
            ticks: ticks
                .map(|(place, (value, label))| match place % every {
                    0 => (value, label),
                    _ => (value, String::new()),
                })
                .collect(),
        }
    }

    fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// Maps numbers to positions in the picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub frame: Frame,
    pub x: Axis,
    pub y: Axis,
}

impl Scale {
    pub(super) fn at(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        (
            self.frame.left + self.frame.width * self.x.part(x),
            self.frame.top + self.frame.height * (1.0 - self.y.part(y)),
        )
    }

    /// Draws the grid, its labels, and what the axes show.
    pub(super) fn draw(&self, canvas: &mut Canvas, x: &str, y: &str) {
        let Frame {
            left,
            top,
            width,
            height,
        } = self.frame;
        canvas.text(left, top - 12.0, Align::Left, (12.0, SOFT, false), y);
        canvas.text(
            left + width,
            top + height + 36.0,
            Align::Right,
            (12.0, SOFT, false),
            x,
        );
        for (value, label) in &self.y.ticks {
            let (_, y) = self.at([self.x.low, *value]);
            canvas.line((left, y), (left + width, y), LINE, "");
            canvas.text(left - 8.0, y + 4.0, Align::Right, (11.0, SOFT, false), label);
        }
        for (value, label) in self.x.ticks.iter().filter(|(_, label)| !label.is_empty()) {
            let (x, _) = self.at([*value, self.y.low]);
            canvas.text(x, top + height + 18.0, Align::Middle, (11.0, SOFT, false), label);
        }
    }
}

/// Smallest and largest of the finite values. Both ends differ: of a single value, the range begins at 0.
pub(super) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low < high {
        (low, high)
    } else {
        (0.0, high.max(1.0))
    }
}

/// Smallest range that contains low..high and ends on multiples of a round step.
pub(super) fn round_outwards((low, high): (f64, f64)) -> (f64, f64) {
    outwards(low, high, round_step(low, high))
}

fn outwards(low: f64, high: f64, step: f64) -> (f64, f64) {
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// 1, 2 or 5 times a power of ten, with about [`STEPS`] of them in the range.
fn round_step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / f64::from(STEPS);
    let unit = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * unit)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(unit)
}

/// Digits after the decimal point that tell multiples of a step apart.
fn digits_of(step: f64) -> usize {
    (-step.log10().floor()).max(0.0) as usize
}

pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn axes_end_on_round_numbers() {
        assert_eq!(round_outwards((0.0, 97.0)), (0.0, 100.0));
        assert_eq!(round_outwards((0.0, 0.031)), (0.0, 0.04));
        assert_eq!(round_outwards((-3.0, 3.0)), (-4.0, 4.0));
        assert_eq!(
            (number(0.1), number(-0.0), number(12.0)),
            ("0.1".into(), "0".into(), "12".into())
        );
    }

    #[test]
    fn a_round_axis_has_a_line_at_each_step() {
        assert_eq!(
            labels(&Axis::round((0.0, 97.0))),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            labels(&Axis::round((11.23, 12.87))),
            ["11.0", "11.5", "12.0", "12.5", "13.0"]
        );
        assert_eq!(
            labels(&Axis::between((0.0, 1.0))),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
    }

    #[test]
    fn an_axis_of_many_values_labels_some_of_them() {
        let values = |count: u32| {
            (0..count)
                .map(|value| (f64::from(value), value.to_string()))
                .collect()
        };
        assert_eq!(labels(&Axis::at(values(3))), ["0", "1", "2"]);
        let many = Axis::at(values(30));
        assert_eq!(labels(&many).iter().filter(|label| !label.is_empty()).count(), 10);
        assert_eq!(range([4.0].into_iter()), (0.0, 4.0));
    }
}
