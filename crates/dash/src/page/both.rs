//! One scenario in both worlds: for each policy, its goodput in virtual time beside that in the lab.

use super::escape;
use crate::svg::{Curve, Plot};
use std::fmt::Write;
use trace::{Comparison, Track, World};

/// Points of a curve: more are finer than the picture.
const POINTS: usize = 240;

/// Shortest time over which goodput is averaged, in ms: with less, the pauses of a single packet show.
const SHORTEST_STEP_MS: u64 = 500;

/// Renders the section. Empty unless the comparison has both worlds.
pub(super) fn section(comparison: &Comparison) -> String {
    if comparison.world != World::Both {
        return String::new();
    }
    let mut out = String::from(
        "  <section class=\"card\" aria-labelledby=\"both-title\">\n    <h2 id=\"both-title\">Virtual time beside the lab</h2>\n    \
         <p class=\"hint\">Goodput of the applications and throughput of each link over time, on the same scale.</p>\n",
    );
    for (sim, lab) in pairs(comparison) {
        let tracks = [sim, lab];
        let top = top_mbps(comparison, &tracks);
        let _ = writeln!(
            out,
            "    <h3>{}</h3>\n    <div class=\"pair\">",
            escape(&sim.policy)
        );
        for track in tracks {
            let plot = plot(comparison, track, &tracks, top);
            let _ = writeln!(out, "<figure>{}</figure>", plot.draw().0);
        }
        out.push_str("    </div>\n");
    }
    out + "  </section>"
}

/// Tracks of one policy in virtual time and in the lab.
fn pairs(comparison: &Comparison) -> impl Iterator<Item = (&Track, &Track)> {
    let of = |world| {
        let tracks = comparison.tracks.iter();
        tracks.filter(move |track| track.world == Some(world))
    };
    of(World::Sim).filter_map(move |sim| Some((sim, of(World::Lab).find(|lab| lab.policy == sim.policy)?)))
}

fn plot(comparison: &Comparison, track: &Track, both: &[&Track], top: f64) -> Plot {
    let world = match track.world {
        Some(World::Sim) => "virtual time",
        _ => "the lab",
    };
    let is_used = |link: usize| {
        both.iter()
            .any(|track| track.paths.iter().any(|path| path.link == link))
    };
    // The lab does not know which link carried a datagram.
    let is_known = both.iter().all(|track| knows_links(track));
    let used = (0..comparison.plan.links.len()).filter(|link| is_known && is_used(*link));
    let of_link = |link: usize| {
        let path = track.paths.iter().find(|path| path.link == link);
        Curve {
            name: comparison.plan.links[link].name.clone(),
            points: path.map_or_else(Vec::new, |path| averaged(comparison, &path.kbps)),
            spread: Vec::new(),
        }
    };
    let all = Curve {
        name: "all flows".to_owned(),
        points: averaged(comparison, &track.goodput_kbps),
        spread: Vec::new(),
    };
    let seconds = comparison.duration_ms.div_ceil(1_000);
    let every = seconds.div_ceil(6).max(1);
    Plot {
        title: format!(
            "{}: {:.2} Mb/s in {world}",
            track.policy, track.figures.goodput_mbps
        ),
        x: "time, s".to_owned(),
        y: "Mb/s".to_owned(),
        ticks: (0..=seconds)
            .step_by(every as usize)
            .map(|second| (second as f64, second.to_string()))
            .chain([(seconds as f64, String::new())])
            .collect(),
        top: Some(top),
        curves: [all].into_iter().chain(used.map(of_link)).collect(),
    }
}

/// Whether most of what the applications read is ascribed to links.
fn knows_links(track: &Track) -> bool {
    let of_paths: u64 = track.paths.iter().flat_map(|path| &path.kbps).sum();
    2 * of_paths >= track.goodput_kbps.iter().sum()
}

fn top_mbps(comparison: &Comparison, tracks: &[&Track]) -> f64 {
    let series = tracks.iter().flat_map(|track| {
        track
            .paths
            .iter()
            .map(|path| &path.kbps)
            .chain([&track.goodput_kbps])
    });
    let points = series.flat_map(|kbps| averaged(comparison, kbps));
    points.map(|[_, mbps]| mbps).fold(0.1, f64::max)
}

/// Means in Mb/s at the middles of steps, in seconds.
fn averaged(comparison: &Comparison, kbps: &[u64]) -> Vec<[f64; 2]> {
    let bins = kbps.len().div_ceil(POINTS).max(1);
    let width = bins.max(SHORTEST_STEP_MS.div_ceil(comparison.bin_ms.max(1)) as usize);
    let bin_s = comparison.bin_ms as f64 / 1e3;
    let step = |(place, bins): (usize, &[u64])| {
        let sum: u64 = bins.iter().sum();
        let middle = (place * width) as f64 + bins.len() as f64 / 2.0;
        [middle * bin_s, sum as f64 / bins.len() as f64 / 1e3]
    };
    kbps.chunks(width).enumerate().map(step).collect()
}
