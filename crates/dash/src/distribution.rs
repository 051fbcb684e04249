//! Distributions of delays and round-trip times, as curves of the share of packets over their time.

use crate::svg::{Curve, Plot};
use trace::{Flow, PathUse, Run};

/// More curves than this in one plot cannot be told apart.
const MOST_CURVES: usize = 12;
/// Times at which a sum of distributions is computed at most.
const MOST_TIMES: usize = 240;

/// Runs whose packets count together, with the name of their curves.
#[derive(Debug)]
pub(crate) struct Sample<'r> {
    pub name: String,
    pub runs: Vec<&'r Run>,
}

/// A distribution, and how much it counts beside others.
type Part = (f64, Vec<[f64; 2]>);

/// The one of each flow's delays, and the one of its round-trip times. Empty if no run knows such times.
pub(crate) fn plots(samples: &[Sample<'_>]) -> Vec<Plot> {
    let delays = curves(samples, |flow| {
        let of = |flow: &Flow| Some((flow.datagrams?.received as f64, flow.delay?.distribution()));
        of(flow).into_iter().collect()
    });
    let round_trips = curves(samples, |flow| {
        let of = |path: &PathUse| Some((path.bytes as f64, path.rtt?.distribution()));
        flow.paths.iter().filter_map(of).collect()
    });
    let all = [
        (
            "One-way delay of datagrams",
            "share of the datagrams, at most this",
            delays,
        ),
        (
            "Round-trip time of TCP",
            "share of the samples, at most this",
            round_trips,
        ),
    ];
    let known = all.into_iter().filter(|(_, _, curves)| !curves.is_empty());
    known
        .map(|(title, y, curves)| Plot {
            title: title.to_owned(),
            x: "time, ms".to_owned(),
            y: y.to_owned(),
            ticks: Vec::new(),
            top: Some(1.0),
            curves,
        })
        .collect()
}

/// One for each flow of each sample, or for each sample with all flows together if those would be too many.
fn curves(samples: &[Sample<'_>], of: impl Fn(&Flow) -> Vec<Part>) -> Vec<Curve> {
    let one = |sample: &Sample<'_>, name: Option<&str>| {
        let flows = sample.runs.iter().flat_map(|run| &run.flows);
        let own = flows.filter(|flow| name.is_none_or(|name| flow.name == name));
        let parts: Vec<Part> = own.flat_map(&of).filter(|(_, part)| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| Curve {
            name: match name {
                Some(flow) => format!("{}, {flow}", sample.name),
                None => sample.name.clone(),
            },
            points: sum(&parts),
            spread: Vec::new(),
        })
    };
    let each = samples.iter().flat_map(|sample| {
        let flows = sample.runs.first().map_or(&[][..], |run| &run.flows);
        flows.iter().filter_map(|flow| one(sample, Some(&flow.name)))
    });
    let each: Vec<Curve> = each.take(MOST_CURVES + 1).collect();
    if each.len() <= MOST_CURVES {
        return each;
    }
    let together = samples.iter().filter_map(|sample| one(sample, None));
    together.take(MOST_CURVES).collect()
}

/// The distribution of all packets of these parts.
fn sum(parts: &[Part]) -> Vec<[f64; 2]> {
    let weights: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let corners = parts.iter().flat_map(|(_, part)| part);
    let mut times: Vec<f64> = corners.map(|corner| corner[0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let every = times.len().div_ceil(MOST_TIMES).max(1);
    let last = times.len() - 1;
    let kept = times.into_iter().enumerate();
    let kept = kept.filter(|(place, _)| place % every == 0 || *place == last);
    kept.map(|(_, time)| {
        let shares = parts.iter().map(|(weight, part)| weight * share(part, time));
        [time, shares.sum::<f64>() / weights.max(f64::MIN_POSITIVE)]
    })
    .collect()
}

/// Share of a distribution up to this time, linear between its corners.
fn share(part: &[[f64; 2]], time: f64) -> f64 {
    let behind = part.partition_point(|corner| corner[0] <= time);
    let Some(&[from, low]) = behind.checked_sub(1).and_then(|before| part.get(before)) else {
        return 0.0;
    };
    match part.get(behind) {
        Some(&[to, high]) => low + (high - low) * (time - from) / (to - from),
        None => low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Datagrams, PolicyName, TimesMs};

    /// Times that are uniform from 0 to this.
    fn flow(name: &str, received: u64, most_ms: f64) -> Flow {
        let cdf_ms = std::array::from_fn(|step| step as f64 * most_ms / 20.0);
        Flow {
            name: name.into(),
            datagrams: Some(Datagrams {
                sent: received,
                received,
                lost: 0,
            }),
            delay: Some(TimesMs {
                p99_ms: most_ms * 0.99,
                cdf_ms: Some(cdf_ms),
                ..TimesMs::default()
            }),
            ..Flow::default()
        }
    }

    fn run(flows: Vec<Flow>) -> Run {
        Run::of_flows(PolicyName::Mptcp, 1, 1.0, flows)
    }

    fn sample<'r>(runs: &[&'r Run]) -> Sample<'r> {
        Sample {
            name: "mptcp".into(),
            runs: runs.to_vec(),
        }
    }

    #[test]
    fn a_flow_has_the_packets_of_all_its_runs_by_their_number() {
        let (few, many) = (
            run(vec![flow("call", 1, 100.0)]),
            run(vec![flow("call", 3, 10.0)]),
        );
        let [plot] = &plots(&[sample(&[&few, &many])])[..] else {
            panic!("there are no round trips");
        };
        let [curve] = &plot.curves[..] else {
            panic!("{plot:?}");
        };
        assert_eq!(curve.name, "mptcp, call");
        let at = |ms: f64| curve.points.iter().find(|point| point[0] == ms).unwrap()[1];
        // All of the many, and a tenth of the few.
        assert!((at(10.0) - (0.75 + 0.025)).abs() < 1e-9, "{}", at(10.0));
        assert!((at(5.0) - (0.375 + 0.0125)).abs() < 1e-9, "{}", at(5.0));
        assert_eq!(at(100.0), 1.0);
        assert!(curve.points.is_sorted_by(|one, next| one[1] <= next[1]));
    }

    #[test]
    fn too_many_flows_are_drawn_together() {
        let flows = |count: usize| {
            (0..count)
                .map(|number| flow(&format!("f{number}"), 1, 1.0))
                .collect()
        };
        let curves = |count| {
            let run = run(flows(count));
            plots(&[sample(&[&run])])[0].curves.len()
        };
        assert_eq!([12, 13].map(curves), [12, 1]);
        assert!(plots(&[sample(&[&run(vec![Flow::default()])])]).is_empty());
    }
}
