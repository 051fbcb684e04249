//! Throughput per link over time, stacked, with the stalls.

use super::canvas::{Align, Canvas, Frame, INK, LINE, SOFT};
use crate::figures::{megabytes, stall};
use trace::{Comparison, FaultMark, Span, Track};

pub(super) const STALL: &str = "#c8102e";
const AXIS: f64 = 34.0;

/// Rate at the top of every chart: a round number that at most 0.5 % of the steps exceed. All charts share
/// it, so that they can be compared.
pub(super) fn top_kbps(tracks: &[&Track]) -> f64 {
    let mut sums: Vec<u64> = tracks
        .iter()
        .flat_map(|track| (0..track.goodput_kbps.len()).map(|step| sum(track, step)))
        .collect();
    sums.sort_unstable();
    let high = sums
        .get(sums.len() * 995 / 1_000)
        .copied()
        .unwrap_or(0)
        .max(1_000);
    (high as f64 / 10_000.0).ceil() * 10_000.0
}

fn sum(track: &Track, step: usize) -> u64 {
    match track.paths.is_empty() {
        true => track.goodput_kbps[step],
        false => track.paths.iter().map(|path| path.kbps[step]).sum(),
    }
}

/// Maps time and rate to positions in the picture.
struct Scale {
    frame: Frame,
    duration_ms: f64,
    top_kbps: f64,
}

impl Scale {
    fn x(&self, ms: f64) -> f64 {
        self.frame.left + AXIS + (self.frame.width - AXIS) * (ms / self.duration_ms).min(1.0)
    }

    fn y(&self, kbps: f64) -> f64 {
        self.frame.top + self.frame.height * (1.0 - kbps.min(self.top_kbps) / self.top_kbps)
    }
}

pub(super) fn draw(
    canvas: &mut Canvas,
    frame: Frame,
    track: &Track,
    comparison: &Comparison,
    (top_kbps, colours): (f64, &[&str]),
) {
    let scale = Scale {
        frame,
        duration_ms: comparison.duration_ms.max(1) as f64,
        top_kbps,
    };
    caption(canvas, &scale, track);
    axes(canvas, &scale);
    stack(canvas, &scale, track, comparison.bin_ms, colours);
    track.stalls.iter().for_each(|span| stalled(canvas, &scale, span));
    track
        .faults
        .iter()
        .for_each(|fault| faulted(canvas, &scale, fault, &comparison.plan.links[fault.link].name));
}

fn caption(canvas: &mut Canvas, scale: &Scale, track: &Track) {
    let Frame { left, top, width, .. } = scale.frame;
    canvas.text(left, top - 14.0, Align::Left, (15.0, INK, true), &track.label);
    let figures = &track.figures;
    let waits = figures.longest_stall_ms.map_or_else(String::new, |ms| match ms {
        0.0 => ", no stall".to_owned(),
        ms => format!(
            ", longest stall {}, in all {}",
            stall(ms),
            stall(figures.stall_total_ms.unwrap_or(ms))
        ),
    });
    let text = format!(
        "{}, {:.1} Mb/s{waits}",
        megabytes(figures.bytes as f64),
        figures.goodput_mbps
    );
    let colour = if figures.longest_stall_ms.is_some_and(|ms| ms > 0.0) {
        STALL
    } else {
        INK
    };
    canvas.text(
        left + width,
        top - 14.0,
        Align::Right,
        (13.0, colour, false),
        &text,
    );
}

fn axes(canvas: &mut Canvas, scale: &Scale) {
    let (left, right) = (scale.x(0.0), scale.x(scale.duration_ms));
    for half in 0..=2 {
        let kbps = scale.top_kbps * f64::from(half) / 2.0;
        canvas.line((left, scale.y(kbps)), (right, scale.y(kbps)), LINE, "");
        let label = if half == 2 {
            format!("{:.0} Mb/s", kbps / 1e3)
        } else {
            format!("{:.0}", kbps / 1e3)
        };
        let align = if half == 2 { Align::Left } else { Align::Right };
        let x = if half == 2 { scale.frame.left } else { left - 6.0 };
        canvas.text(
            x,
            scale.y(kbps) + if half == 2 { -2.0 } else { 4.0 },
            align,
            (11.0, SOFT, false),
            &label,
        );
    }
    let bottom = scale.frame.top + scale.frame.height + 14.0;
    for sixth in 0..=6 {
        let ms = scale.duration_ms * f64::from(sixth) / 6.0;
        let align = match sixth {
            0 => Align::Left,
            6 => Align::Right,
            _ => Align::Middle,
        };
        canvas.text(
            scale.x(ms),
            bottom,
            align,
            (11.0, SOFT, false),
            &format!("{:.0} s", ms / 1e3),
        );
    }
}

/// Draws the rates as stacked areas. Each point is the mean of neighbouring steps, because the picture shows
/// nothing finer than about 300 ms.
fn stack(canvas: &mut Canvas, scale: &Scale, track: &Track, bin_ms: u64, colours: &[&str]) {
    let each = (track.goodput_kbps.len() / 240).max(1);
    let layers: Vec<(&str, &[u64])> = match track.paths.is_empty() {
        true => vec![("#8a93a0", &track.goodput_kbps)],
        false => track
            .paths
            .iter()
            .map(|path| (colours[path.link], &path.kbps[..]))
            .collect(),
    };
    let mut floor = vec![0.0; track.goodput_kbps.len().div_ceil(each)];
    for (colour, kbps) in layers {
        let means = kbps
            .chunks(each)
            .map(|part| part.iter().sum::<u64>() as f64 / part.len() as f64);
        let roof: Vec<f64> = floor.iter().zip(means).map(|(base, mean)| base + mean).collect();
        let at = |(step, kbps): (usize, &f64)| {
            (
                scale.x((step as f64 + 0.5) * (each as u64 * bin_ms) as f64),
                scale.y(*kbps),
            )
        };
        let outline = roof
            .iter()
            .enumerate()
            .map(at)
            .chain(floor.iter().enumerate().rev().map(at));
        canvas.path(
            outline,
            true,
            &format!("fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"0.5\""),
        );
        floor = roof;
    }
}

fn stalled(canvas: &mut Canvas, scale: &Scale, span: &Span) {
    let left = scale.x(span.from_ms as f64);
    let width = (scale.x(span.to_ms as f64) - left).max(1.5);
    let Frame { top, height, .. } = scale.frame;
    canvas.rect((left, top, width, height), "url(#wait)", 0.0);
    canvas.rect((left, top - 3.0, width, 3.0), STALL, 0.0);
}

fn faulted(canvas: &mut Canvas, scale: &Scale, fault: &FaultMark, link: &str) {
    let x = scale.x(fault.t_ms as f64);
    let Frame { top, height, .. } = scale.frame;
    canvas.line((x, top), (x, top + height), INK, "stroke-dasharray=\"3 3\"");
    let late = fault.t_ms as f64 > scale.duration_ms * 0.7;
    let (at, align) = if late {
        (x - 4.0, Align::Right)
    } else {
        (x + 4.0, Align::Left)
    };
    canvas.text(
        at,
        top + height - 5.0,
        align,
        (11.0, INK, false),
        &format!("{link} {}", fault.what),
    );
}
