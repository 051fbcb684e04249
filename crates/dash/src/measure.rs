//! The figures of a run that pages of many runs draw.

use trace::{Datagrams, Run, StationUse};

/// A figure of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    /// Computes the figure. `None` if the run does not have it.
    pub of: fn(&Run) -> Option<f64>,
}

const fn figure(name: &'static str, unit: &'static str, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, unit, of }
}

/// Figures in the order in which they are shown.
pub(crate) const FIGURES: [Figure; 12] = [
    figure("goodput", "Mb/s", |run| Some(run.goodput_mbps())),
    figure("longest stall", "ms", |run| Some(run.longest_stall_ms())),
    figure("first byte", "ms", last_first_byte),
    figure("lost datagrams", "%", lost_percent),
    figure("mean delay", "ms", mean_delay_ms),
    figure("99 % delay", "ms", |run| {
        let known = run.flows.iter().filter_map(|flow| flow.delay);
        known.map(|delay| delay.p99_ms).reduce(f64::max)
    }),
    figure("jitter", "ms", |run| {
        let known = run.flows.iter().filter_map(|flow| flow.jitter_ms);
        known.reduce(f64::max)
    }),
    figure("mean round trip", "ms", mean_round_trip_ms),
    figure("median reply", "ms", |run| {
        let known = run.flows.iter().filter_map(|flow| flow.reply);
        known.map(|reply| reply.p50_ms).reduce(f64::max)
    }),
    figure("99 % reply", "ms", |run| {
        let known = run.flows.iter().filter_map(|flow| flow.reply);
        known.map(|reply| reply.p99_ms).reduce(f64::max)
    }),
    figure("collided frames", "%", collided_percent),
    figure("idle air", "%", |run| {
        let known = run.channels.iter().map(|channel| channel.idle_share * 100.0);
        known.reduce(f64::min)
    }),
];

/// Mean of these values by their weights. `None` without any weight.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (weights, sum) = values.fold((0.0, 0.0), |(weights, sum), (weight, value)| {
        (weights + weight, sum + weight * value)
    });
    (weights > 0.0).then(|| sum / weights)
}

/// One-way, of all datagrams received.
fn mean_delay_ms(run: &Run) -> Option<f64> {
    let flows = run.flows.iter();
    mean(flows.filter_map(|flow| Some((flow.datagrams?.received as f64, flow.delay?.mean_ms))))
}

/// Of all paths of TCP, by the bytes that they carried.
fn mean_round_trip_ms(run: &Run) -> Option<f64> {
    let paths = run.flows.iter().flat_map(|flow| &flow.paths);
    mean(paths.filter_map(|path| Some((path.bytes as f64, path.rtt?.mean_ms))))
}

/// Frames of all stations that were not received while another station was on the air, in percent.
fn collided_percent(run: &Run) -> Option<f64> {
    let of = |station: &StationUse| (station.attempts as f64, station.collision_probability * 100.0);
    mean(run.stations.iter().map(of))
}

/// Datagrams that were lost, in percent, of all flows together.
fn lost_percent(run: &Run) -> Option<f64> {
    let flows = run.flows.iter().filter_map(|flow| flow.datagrams);
    let sum = flows.reduce(|sum, flow| Datagrams {
        sent: sum.sent + flow.sent,
        received: sum.received + flow.received,
        lost: sum.lost + flow.lost,
    });
    sum?.lost_percent()
}

/// Time until every flow has its first byte, in ms.
fn last_first_byte(run: &Run) -> Option<f64> {
    let times = run.flows.iter().map(|flow| flow.first_byte_ms);
    let times: Option<Vec<f64>> = times.collect();
    times?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{ChannelUse, Flow, PathUse, PolicyName, TimesMs};

    fn value(run: &Run, name: &str) -> Option<f64> {
        let figure = FIGURES.iter().find(|figure| figure.name == name);
        (figure.unwrap_or_else(|| panic!("{name}")).of)(run)
    }

    fn times(mean_ms: f64, p99_ms: f64) -> TimesMs {
        TimesMs {
            mean_ms,
            p99_ms,
            ..TimesMs::default()
        }
    }

    #[test]
    fn figures_of_the_air_and_of_packets() {
        let datagrams = |received, delay| Flow {
            datagrams: Some(Datagrams {
                sent: received,
                received,
                lost: 0,
            }),
            delay: Some(delay),
            jitter_ms: Some(delay.mean_ms / 2.0),
            ..Flow::default()
        };
        let path = |bytes, mean_ms| PathUse {
            link: "ap".into(),
            bytes,
            retransmits: 0,
            segments: None,
            ce_marks: 0,
            rtt: Some(times(mean_ms, 0.0)),
        };
        let tcp = Flow {
            reply: Some(times(50.0, 80.0)),
            paths: vec![path(300, 10.0), path(100, 30.0)],
            ..Flow::default()
        };
        let flows = vec![
            datagrams(30, times(1.0, 9.0)),
            datagrams(10, times(5.0, 7.0)),
            tcp,
        ];
        let mut run = Run::of_flows(PolicyName::Mptcp, 1, 1.0, flows);
        for name in ["collided frames", "idle air"] {
            assert_eq!(value(&run, name), None, "{name}");
        }
        let station = |attempts, collision_probability| StationUse {
            name: "ap".into(),
            attempts,
            failures: 0,
            collision_probability,
            airtime_share: 0.5,
        };
        run.stations = vec![station(300, 0.1), station(100, 0.5)];
        let channel = |channel, idle_share| ChannelUse { channel, idle_share };
        run.channels = vec![channel(36, 0.75), channel(40, 0.25)];
        for (name, expected) in [
            ("mean delay", 2.0),
            ("99 % delay", 9.0),
            ("jitter", 2.5),
            ("mean round trip", 15.0),
            ("99 % reply", 80.0),
            ("collided frames", 20.0),
            ("idle air", 25.0),
        ] {
            assert_eq!(value(&run, name), Some(expected), "{name}");
        }
    }
}
