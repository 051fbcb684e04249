//! Floor plan: walls, access points, the walk.

use super::canvas::{Align, Canvas, Frame, INK, SOFT};
use trace::{LinkKind, Plan, PlanLink, Walker};

const EDGE: f64 = 24.0;
/// Height above the plan for links without a position.
const AWAY: f64 = 46.0;

/// Maps metres to positions in the picture. North is up.
struct Map {
    frame: Frame,
    left_m: f64,
    high_m: f64,
    scale: f64,
}

impl Map {
    fn new(frame: Frame, plan: &Plan) -> Self {
        let points: Vec<(f64, f64)> = everything(plan).collect();
        let (left_m, right_m) = range(points.iter().map(|point| point.0));
        let (low_m, high_m) = range(points.iter().map(|point| point.1));
        let wide = (frame.width - 2.0 * EDGE) / (right_m - left_m).max(1.0);
        let tall = (frame.height - 2.0 * EDGE) / (high_m - low_m).max(1.0);
        let scale = wide.min(tall);
        let spare = (frame.height - 2.0 * EDGE - (high_m - low_m) * scale) / 2.0;
        let frame = Frame {
            top: frame.top + spare,
            ..frame
        };
        Self {
            frame,
            left_m,
            high_m,
            scale,
        }
    }

    fn at(&self, x_m: f64, y_m: f64) -> (f64, f64) {
        let x = self.frame.left + EDGE + (x_m - self.left_m) * self.scale;
        (x, self.frame.top + EDGE + (self.high_m - y_m) * self.scale)
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high { (0.0, 40.0) } else { (low, high) }
}

fn everything(plan: &Plan) -> impl Iterator<Item = (f64, f64)> + '_ {
    let links = plan.links.iter().filter_map(|link| link.x_m.zip(link.y_m));
    let walls = plan
        .walls
        .iter()
        .flat_map(|[x1, y1, x2, y2]| [(*x1, *y1), (*x2, *y2)]);
    let walks = plan
        .walkers
        .iter()
        .flat_map(|walker| walker.points.iter().map(|point| (point.x_m, point.y_m)));
    links.chain(walls).chain(walks)
}

pub(super) fn draw(canvas: &mut Canvas, frame: Frame, plan: &Plan, colours: &[&str]) {
    let away: Vec<usize> = (0..plan.links.len())
        .filter(|index| plan.links[*index].x_m.is_none())
        .collect();
    let reserved = if away.is_empty() { 0.0 } else { AWAY };
    let floor = Frame {
        top: frame.top + reserved,
        height: frame.height - reserved,
        ..frame
    };
    let map = Map::new(floor, plan);
    for [x1, y1, x2, y2] in &plan.walls {
        canvas.line(
            map.at(*x1, *y1),
            map.at(*x2, *y2),
            "#b3bcc7",
            "stroke-width=\"3\" stroke-linecap=\"round\"",
        );
    }
    plan.walkers
        .iter()
        .for_each(|walker| walked(canvas, &map, walker));
    for (index, link) in plan.links.iter().enumerate() {
        let place = match link.x_m.zip(link.y_m) {
            Some((x_m, y_m)) => map.at(x_m, y_m),
            None => beside(frame, &away, index),
        };
        mark(canvas, place, link, colours[index]);
    }
}

/// Position of a link without coordinates: along the upper edge.
fn beside(frame: Frame, away: &[usize], index: usize) -> (f64, f64) {
    let rank = away.iter().position(|other| *other == index).unwrap_or(0) as f64 + 1.0;
    (
        frame.left + frame.width * rank / (away.len() as f64 + 1.0),
        frame.top + 12.0,
    )
}

fn walked(canvas: &mut Canvas, map: &Map, walker: &Walker) {
    let points: Vec<(f64, f64)> = walker
        .points
        .iter()
        .map(|point| map.at(point.x_m, point.y_m))
        .collect();
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return;
    };
    let style = "fill=\"none\" stroke=\"#17202b\" stroke-width=\"2\" stroke-dasharray=\"2 5\" stroke-linecap=\"round\"";
    canvas.path(points.iter().copied(), false, style);
    canvas.circle(first, 7.0, INK, "stroke=\"#fff\" stroke-width=\"2.5\"");
    canvas.circle(last, 4.0, "#fff", "stroke=\"#17202b\" stroke-width=\"2\"");
    let seconds = walker.points.last().map_or(0.0, |point| point.t_s);
    canvas.text(
        last.0,
        last.1 + 17.0,
        Align::Middle,
        (11.0, SOFT, false),
        &format!("{seconds:.0} s"),
    );
}

fn mark(canvas: &mut Canvas, place: (f64, f64), link: &PlanLink, colour: &str) {
    let icon = match link.kind {
        LinkKind::Wifi => "M-8-3A11.5 11.5 0 0 1 8-3M-4.8 1A7 7 0 0 1 4.8 1M0 5h.01",
        LinkKind::Cell => "M-6 6V3.5M-2 6V.5M2 6V-3M6 6V-7",
        LinkKind::Cable => "M-7 4H-3V-4H3V4H7M0-4V-7",
    };
    canvas.circle(place, 14.0, colour, "");
    canvas.icon(place, icon);
    let beside = link.x_m.is_none();
    let (x, y) = if beside {
        (place.0 + 19.0, place.1 + 4.0)
    } else {
        (place.0, place.1 - 18.0)
    };
    let align = if beside { Align::Left } else { Align::Middle };
    canvas.text(x, y, align, (13.0, INK, true), &link.name);
}
