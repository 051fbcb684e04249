//! The sets of links, and what follows from their definition.

use scenario::{Change, Fault, LaneRate, Link, LinkKind, Plan, Target, Window, Work};
use units::{Bitrate, Duration};

use super::connect;
use crate::trial::plans;

/// When a link is cut, after the first flow was to connect, drawn by the seed. However late it connects, the
/// cut is 12 to 17 s after connect.
const CUT: Window = Window {
    from: Duration::from_secs(12).saturating_add(connect::LATEST),
    to: Duration::from_secs(17),
};

/// Length of a run after its cut: the gap may begin up to 3 s after it.
const AFTER_CUT: Duration = Duration::from_secs(5);

/// Payload of a full packet: 1500 B less the headers of IPv4 and of TCP with timestamps.
pub const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// A set of links and the traffic over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its name, as in `slowhand bench NAME`.
    pub name: &'static str,
    text: &'static str,
}

/// A row whose scenario has its name.
macro_rules! row {
    ($name:literal) => {
        Row {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }
    };
}

/// Three equal links with ordinary queues.
pub const EQUAL: Row = row!("window-equal");
/// Three equal links with short queues.
pub const BDP: Row = row!("window-bdp");
/// A fast link and one with a long round-trip time.
pub const LONG: Row = row!("window-long");
/// A link behind a buffer of a second.
pub const DEEP: Row = row!("window-deep");
/// A slow link beside two fast ones.
pub const THIN: Row = row!("window-thin");
/// The client sends.
pub const UPLOAD: Row = row!("window-upload");
/// A link with loss and delay.
pub const LOSSY: Row = row!("window-lossy");

/// All rows.
pub const ALL: [Row; 7] = [EQUAL, BDP, LONG, DEEP, THIN, UPLOAD, LOSSY];

impl Row {
    /// The plan, with this controller at the sender and no cut.
    pub fn plan(self, cc: &str) -> anyhow::Result<Plan> {
        let plan = plans::embedded(self.name, self.text)?;
        Ok(Plan {
            cc: cc.to_owned(),
            ..plan
        })
    }

    /// The links that are cut, one per trial, in turn. On lossy links it is the best of the clean ones.
    fn victims(self, plan: &Plan) -> Vec<usize> {
        match self {
            LOSSY => vec![0],
            _ => fastest(plan),
        }
    }

    /// The plan of trial number `trial` with this seed: a link is cut silently, and the run ends soon after.
    pub fn cut(self, plan: &Plan, trial: usize, seed: u64) -> Plan {
        let victims = self.victims(plan);
        cut(plan, victims[trial % victims.len()], seed)
    }
}

/// The plan with this link cut silently at a moment that the seed draws.
pub fn cut(plan: &Plan, link: usize, seed: u64) -> Plan {
    let connects = plan.flows.first().map_or(Duration::ZERO, |flow| flow.start);
    let window = Window {
        from: connects + CUT.from,
        to: connects + CUT.to,
    };
    let fault = Fault {
        at: window,
        target: Target::Links(vec![link]),
        change: Change::Blackhole,
        lasts: None,
        repeat: None,
    };
    let plan = Plan {
        faults: vec![fault],
        ..plan.clone()
    };
    let at = plan
        .timeline(seed)
        .first()
        .map_or(window.to, |happening| happening.at);
    Plan {
        duration: at + AFTER_CUT,
        ..plan
    }
}

/// The links with the highest rate.
pub fn fastest(plan: &Plan) -> Vec<usize> {
    let rates: Vec<Bitrate> = plan.links.iter().map(|link| rate(plan, link)).collect();
    let highest = rates.iter().max().copied().unwrap_or_default();
    (0..rates.len()).filter(|&link| rates[link] == highest).collect()
}

/// Payload that all links together can carry, in Mb/s.
pub fn payload_limit_mbps(plan: &Plan) -> f64 {
    let sum: f64 = plan.links.iter().map(|link| rate(plan, link).as_mbps_f64()).sum();
    sum * PAYLOAD_SHARE
}

/// A link's rate in the direction of the plan's first flow.
fn rate(plan: &Plan, link: &Link) -> Bitrate {
    let upload = matches!(
        plan.flows.first().map(|flow| flow.work),
        Some(Work::Upload { .. })
    );
    let lane = |lane: &LaneRate| lane.mean();
    match &link.kind {
        LinkKind::Cable(cable) if upload => cable.up.rate,
        LinkKind::Cable(cable) => cable.down.rate,
        LinkKind::Cell(cell) if upload => lane(&cell.up),
        LinkKind::Cell(cell) => lane(&cell.down),
        LinkKind::Wifi(_) => Bitrate::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_plan_of_its_name() {
        for row in ALL {
            assert_eq!(row.plan("bbr").unwrap().name, row.name);
        }
    }

    #[test]
    fn equal_links_are_cut_in_turn_and_otherwise_the_fastest() {
        let victims = |row: Row| {
            let plan = row.plan("reno").unwrap();
            row.victims(&plan)
        };
        assert_eq!(victims(EQUAL), [0, 1, 2]);
        assert_eq!(victims(THIN), [0, 1]);
        assert_eq!(victims(DEEP), [0]);
        assert_eq!(victims(LOSSY), [0]);
    }

    #[test]
    fn the_cut_comes_when_the_seed_says_and_the_run_ends_five_seconds_later() {
        let plan = EQUAL.plan("reno").unwrap();
        for seed in 0..50 {
            let cut = EQUAL.cut(&plan, seed as usize, seed);
            let at = cut.timeline(seed)[0].at;
            assert!((CUT.from..=CUT.to).contains(&at), "{at:?}");
            assert_eq!(cut.duration, at + AFTER_CUT);
        }
    }

    #[test]
    fn the_cut_is_12_to_17_seconds_after_connect_however_late_that_may_be() {
        let mut plan = EQUAL.plan("reno").unwrap();
        for start in [0, 9].map(Duration::from_secs) {
            plan.flows[0].start = start;
            for seed in 0..50 {
                let at = EQUAL.cut(&plan, 0, seed).timeline(seed)[0].at;
                for connect in [start, start + connect::LATEST] {
                    let after = (at - connect).as_secs_f64();
                    assert!((12.0..=17.0).contains(&after), "{after}");
                }
            }
        }
    }

    /// Rate in Mb/s, round-trip time in ms, and queue of each link, as the benchmark is defined.
    #[test]
    fn every_row_is_as_defined() {
        use scenario::QueueLimit::{Bdp, Packets, Time};
        let ms = Duration::from_millis;
        let equal = |queue| vec![(30, 20, queue), (30, 30, queue), (30, 50, queue)];
        let defined = [
            (EQUAL, equal(Packets(200))),
            (BDP, vec![(50, 20, Bdp), (50, 30, Bdp), (50, 50, Bdp)]),
            (LONG, vec![(30, 20, Time(ms(80))), (10, 100, Time(ms(240)))]),
            (DEEP, vec![(20, 20, Time(ms(80))), (12, 60, Time(ms(1_000)))]),
            (
                THIN,
                vec![
                    (30, 20, Time(ms(80))),
                    (30, 30, Time(ms(80))),
                    (3, 50, Time(ms(800))),
                ],
            ),
            (UPLOAD, equal(Packets(200))),
            (LOSSY, equal(Packets(200))),
        ];
        assert_eq!(defined.each_ref().map(|(row, _)| *row), ALL);
        for (row, links) in defined {
            let plan = row.plan("reno").unwrap();
            assert_eq!(plan.links.len(), links.len(), "{}", row.name);
            for (place, (link, (mbps, rtt_ms, queue))) in plan.links.iter().zip(links).enumerate() {
                let LinkKind::Cable(cable) = &link.kind else {
                    panic!("{}: {link:?}", row.name)
                };
                let spoilt = row == LOSSY && place == 1;
                let loss = if spoilt { 0.01 } else { 0.0 };
                let jitter = ms(if spoilt { 10 } else { 0 });
                assert_eq!((cable.rtt, cable.behind), (ms(rtt_ms), None), "{}", row.name);
                for wire in [cable.up, cable.down] {
                    assert_eq!(
                        (wire.rate, wire.queue.limit, wire.jitter),
                        (Bitrate::from_mbps(mbps), queue, jitter),
                        "{}, link {place}",
                        row.name
                    );
                    assert!((wire.loss.as_f64() - loss).abs() < 1e-6, "{}", row.name);
                }
            }
            let is_upload = matches!(plan.flows[0].work, Work::Upload { .. });
            assert_eq!((plan.flows.len(), is_upload), (1, row == UPLOAD), "{}", row.name);
        }
    }

    #[test]
    fn payload_limits_are_those_of_the_design() {
        let limit = |row: Row| payload_limit_mbps(&row.plan("reno").unwrap());
        for (row, mbps) in [
            (EQUAL, 86.9),
            (LONG, 38.6),
            (DEEP, 30.9),
            (THIN, 60.8),
            (UPLOAD, 86.9),
            (LOSSY, 86.9),
            (BDP, 144.8),
        ] {
            assert!((limit(row) - mbps).abs() < 0.05, "{}: {}", row.name, limit(row));
        }
    }
}
